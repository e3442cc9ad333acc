"""Pages, watches and changes as a real API server answers them."""

import contextlib
import os

import pytest
import requests

from hostagent.kube.access import access_to
from hostagent.kube.api import CONFLICT, GONE, INVALID, NOT_FOUND, Api, ApiError

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="files of root alone are obeyed: run 'sudo make test'")]
NODES, LEASES = "/api/v1/nodes", "/apis/coordination.k8s.io/v1/namespaces/default/leases"
MARK = "example.com/api"


@pytest.fixture
def api(cluster, tmp_path):
    access = access_to(str(cluster.kubeconfig(tmp_path / "kubeconfig")), "tests")
    with contextlib.closing(Api(access, "hostagent/1")) as found:
        yield found


@pytest.fixture
def node(cluster):
    """A new node that the selector `MARK`=its name picks, gone after the test."""
    names = []

    def made(name):
        names.append(name)
        return cluster.node(name, metadata={"labels": {MARK: name.partition("-")[0]}})

    yield made
    for name in names:
        cluster.ask("DELETE", f"{NODES}/{name}")


def refusal(call):
    with pytest.raises(ApiError) as raised:
        call()
    return raised.value


def names(items):
    return [one["metadata"]["name"] for one in items]


@pytest.mark.parametrize("form", ["whole", "metadata"])
def test_pages_are_the_whole_list(api, node, form):
    wanted = [f"pages-{number}" for number in range(7)]
    for name in wanted:
        node(name)
    pages = list(api.pages(NODES, limit=3, selector=f"{MARK} in (pages,none)", form=form))
    assert [len(page.items) for page in pages] == [3, 3, 1]
    assert names(one for page in pages for one in page.items) == wanted
    assert len({page.resource_version for page in pages}) == 1, "all are of one moment"
    assert all(("status" in one) is (form == "whole") for page in pages for one in page.items)
    assert set(wanted) <= set(names(one for page in api.pages(NODES, limit=500, form=form) for one in page.items))
    (empty,) = api.pages(NODES, limit=3, selector=f"{MARK}=none", form=form)
    assert empty.items == []


@pytest.mark.parametrize("form", ["whole", "metadata"])
def test_a_watch_has_every_change_in_order(api, cluster, node, form):
    (page,) = api.pages(NODES, limit=3, selector=f"{MARK}=watch", form=form)
    node(f"watch-{form}")
    patched = api.patch(f"{NODES}/watch-{form}", {"metadata": {"annotations": {MARK: "x"}}}, "merge")
    cluster.admin("DELETE", f"{NODES}/watch-{form}")
    found = list(api.watch(NODES, page.resource_version, selector=f"{MARK}=watch", form=form, timeout_s=1))
    kinds = [one.type for one in found]
    assert (kinds[0], kinds[-1], set(kinds[1:-1])) == ("ADDED", "DELETED", {"MODIFIED"})
    versions = [one.object["metadata"]["resourceVersion"] for one in found]
    assert patched["metadata"]["resourceVersion"] in versions
    assert versions == sorted(versions, key=int)


def test_a_watch_of_what_the_server_has_forgotten_is_gone(api, cluster, node):
    """Of Events, which the server reads from etcd: it has a cache of nodes, which holds the newest minutes whatever etcd holds."""
    client = next(one for one in cluster.parts["etcd"].argv if one.startswith("http://"))
    version = node("compact")["metadata"]["resourceVersion"]
    assert requests.post(f"{client}/v3/kv/compaction", json={"revision": version}, timeout=10).ok
    error = refusal(lambda: list(api.watch("/api/v1/events", "1", timeout_s=5)))
    assert error.code == GONE


@pytest.mark.parametrize("place", ["", "/status"])
def test_a_change_of_another_or_a_newer_node_is_refused(api, node, place):
    metadata = node("changed")["metadata"]
    path, kind = f"{NODES}/changed{place}", "strategic" if place else "merge"
    written = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "annotations": {MARK: "x"}}
    fresh = api.patch(path, {"metadata": written}, kind)
    assert (fresh["kind"], fresh["metadata"]["annotations"][MARK]) == ("PartialObjectMetadata", "x")
    assert refusal(lambda: api.patch(path, {"metadata": {**written, "annotations": {MARK: "y"}}}, kind)).code == CONFLICT
    other = {"uid": "0c2e8a3e-0000-4000-8000-000000000000", "annotations": {MARK: "z"}}
    error = refusal(lambda: api.patch(path, {"metadata": other}, kind))
    assert (error.code, set(error.fields)) == (INVALID, {"metadata.uid"})
    error = refusal(lambda: api.patch(f"{NODES}/absent{place}", {"metadata": written}, kind))
    assert error.code == NOT_FOUND
    assert api.get(f"{NODES}/changed", form="metadata")["metadata"]["annotations"][MARK] == "x"


def test_an_object_is_created_once_and_replaced_as_of_its_version(api, cluster):
    body = {"metadata": {"name": "api"}, "spec": {"holderIdentity": "a"}}
    cluster.ask("DELETE", f"{LEASES}/api")
    first = api.create(LEASES, body)
    error = refusal(lambda: api.create(LEASES, body))
    assert error.code == CONFLICT
    assert api.replace(f"{LEASES}/api", {**first, "spec": {"holderIdentity": "b"}})["spec"] == {"holderIdentity": "b"}
    error = refusal(lambda: api.replace(f"{LEASES}/api", first))
    assert error.code == CONFLICT


def test_a_kind_that_the_server_does_not_have_is_404(api):
    """Its body is text."""
    path = "/apis/readiness.example.com/v1alpha1/rules"
    assert refusal(lambda: list(api.pages(path, limit=5))).code == NOT_FOUND
    assert refusal(lambda: api.watch(path, "1")).code == NOT_FOUND
