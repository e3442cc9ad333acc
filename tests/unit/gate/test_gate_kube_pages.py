"""Nodes in pages over an API server in this process: what is asked, in which order, how often, and what each failure ends in."""

import pytest

from hostagent.core.errors import HostagentError
from hostagent.gate import Request
from hostagent.gate.backends.kubernetes import Kubernetes
from hostagent.gate.search import SearchOptions, search
from hostagent.kube.api import ApiError
from tests.gate_summaries import NOW
from tests.kubenodes import GPU, PREFIX, Server, label, node, pod, selects

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"


class Waits(list):
    def __call__(self, seconds):
        self.append(seconds)


def cluster(server, nodes=1, gpus=8, *, read_all=False, waits=None, **request):
    return Kubernetes(lambda: server, Request(nodes, gpus, **request), PREFIX, read_all, waits if waits is not None else Waits())


def asked(server, nodes=1, gpus=8, *, read_all=False, **request):
    wanted = Request(nodes, gpus, **request)
    return search(
        wanted, Kubernetes(lambda: server, wanted, PREFIX, read_all, Waits()), SearchOptions("kubernetes", "nodes", PREFIX, read_all)
    )


def many(count, begin=0):
    return [node(f"n{number:04d}") for number in range(begin, begin + count)]


def names(made):
    return [one.node for page in made.pages() for one in page]


def refused(answer):
    return {one.node: [reason.code for reason in one.reasons] for one in answer.refused}


def failure(call):
    with pytest.raises(HostagentError) as raised:
        call()
    return str(raised.value)


def test_a_job_is_placed_where_gpus_are_free():
    answer = asked(Server([node("a"), node("b")], [pod("a", 1)]))
    assert answer.nodes == ("b",)


def test_a_node_that_pods_fill_has_no_free_gpus():
    assert refused(asked(Server([node("a")], [pod("a", 1)]))) == {"a": ["NoFreeGpus"]}


def test_a_node_without_a_place_for_one_more_pod_is_refused():
    made = node("a", [(("status", "allocatable"), {GPU: "8", "pods": "2"})])
    assert refused(asked(Server([made], [pod("a"), pod("a")]))) == {"a": ["NoFreePods"]}


def test_a_node_with_one_place_left_takes_the_job():
    made = node("a", [(("status", "allocatable"), {GPU: "8", "pods": "2"})])
    assert asked(Server([made], [pod("a")])).nodes == ("a",)


def test_a_node_that_changes_its_labels_while_others_are_read_is_no_silent_refusal():
    server = Server([node("n1")])
    made = cluster(server)
    pages = made.pages()
    server.nodes[0] = label(server.nodes[0], f"{PREFIX}/ready", None)
    next(pages)  # of those that are ready: none
    server.nodes[0] = label(server.nodes[0], f"{PREFIX}/ready", "true")
    assert list(pages) == [[], []]
    assert made.not_examined() == 1
    assert made.incomplete == "1 node came or changed while the others were read"


def test_two_nodes_with_one_host_name_are_one_to_an_affinity():
    twins = [node("n1"), label(node("n2"), "kubernetes.io/hostname", "n1")]
    answer = asked(Server(twins), nodes=2)
    assert refused(answer)["n2"] == ["Selector"]
    assert not answer.placeable


def test_nodes_with_the_kubelets_label_come_first():
    made = [label(node("n1"), "kubernetes.io/hostname", None), node("n2"), node("n3")]
    assert asked(Server(made), nodes=2).nodes == ("n2", "n3")
    assert asked(Server(made), nodes=3).nodes == ("n1", "n2", "n3")


def test_reading_stops_when_the_job_can_be_placed():
    server = Server(many(1000))
    answer = asked(server, nodes=4)
    assert (answer.placeable, answer.examined.nodes, answer.examined.not_examined) == (True, 250, 750)


def test_all_reads_to_the_last_page():
    answer = asked(Server(many(600)), nodes=4, read_all=True)
    assert (answer.placeable, answer.examined.nodes, answer.examined.not_examined) == (True, 600, 0)


def test_a_refusal_has_read_every_node():
    nodes = [node("a"), label(node("b"), f"{PREFIX}/ready", "false"), label(node("c"), f"{PREFIX}/ready", None)]
    answer = asked(Server(nodes), gpus=9)
    assert (answer.examined.nodes, answer.examined.not_examined) == (3, 0)


def test_nodes_that_may_serve_come_before_those_that_explain():
    later = [label(node("b"), f"{PREFIX}/ready", "false"), label(node("c"), f"{PREFIX}/ready", None)]
    assert names(cluster(Server([*later, node("a")]))) == ["a", "c", "b"]


def test_a_node_without_labels_serves():
    made = node("a")
    made["metadata"]["labels"] = {}
    assert asked(Server([made])).nodes == ("a",)


@pytest.mark.parametrize(("count", "name"), [(1, "ready"), (2, "multi-node-ready")])
def test_the_label_that_is_asked_for_is_that_of_the_job(count, name):
    server = Server()
    names(cluster(server, nodes=count))
    key = f"{PREFIX}/{name}"
    assert server.selectors() == [f"{key}=true", f"!{key}", f"{key},{key}!=true"]


def test_product_and_capability_only_say_what_is_read_first():
    other = label(node("a"), f"{PREFIX}/gpu-product", None)
    server = Server([other, node("b")])
    assert names(cluster(server, product="NVIDIA-H100-80GB-HBM3")) == ["b", "a"]


def test_no_node_is_in_two_lists_with_two_terms():
    nodes = [label(label(node(f"n{p}{c}"), f"{PREFIX}/gpu-product", p), f"{PREFIX}/compute-capability", c) for p in "xyz" for c in "89"]
    server = Server(nodes)
    found = names(cluster(server, product="x", compute_capability="9"))
    listed = sum(len([one for one in nodes if selects(selector, one["metadata"]["labels"])]) for selector in server.selectors())
    assert (found[0], sorted(found), listed) == ("nx9", sorted(one["metadata"]["name"] for one in nodes), len(nodes))


def test_the_jobs_own_labels_are_asked_of_the_server():
    server = Server([label(node("a"), "pool", "train"), label(node("b"), "pool", "eval")])
    answer = asked(server, nodes=1, gpus=9, node_selector=("pool=train",))
    assert (sorted(refused(answer)), all(one.endswith(",pool=train") for one in server.selectors())) == (["a"], True)


def test_all_says_which_nodes_the_jobs_own_labels_leave_out():
    server = Server([label(node("a"), "pool", "train"), label(node("b"), "pool", "eval")])
    answer = asked(server, read_all=True, node_selector=("pool=train",))
    assert (answer.nodes, refused(answer)) == (("a",), {"b": ["Selector"]})


def test_no_list_of_whole_nodes_is_without_a_selector():
    server = Server(many(3))
    asked(server, nodes=4)
    assert all(server.selectors())


GONE = ApiError("the provided continue parameter is too old", 410)


def test_a_list_that_has_gone_is_read_again_and_each_node_counts_once():
    server = Server(many(600))
    server.faults = [(f"{NODES} 500", GONE)]
    found = names(made := cluster(server))
    assert (found, made.incomplete) == (sorted(set(found)), "")


def test_a_list_that_is_gone_twice_says_that_not_everything_was_read():
    server = Server(many(600))
    server.faults = [(f"{NODES} 500", GONE), (f"{NODES} 500", GONE)]
    answer = asked(server, gpus=9)
    assert "NotEverythingRead" in [one.code for one in answer.reasons]


def test_a_node_that_is_deleted_while_pages_are_read_is_no_failure():
    server = Server(many(600))
    pages = cluster(server).pages()
    next(pages)
    del server.nodes[300:]
    assert sum(len(page) for page in pages) == 50


@pytest.mark.parametrize("code", [429, 500, 503, 504])
def test_a_busy_server_is_asked_again(code):
    server, waits = Server(many(2)), Waits()
    server.faults = [(NODES, ApiError("busy", code, retry_after_s=3.0)), (NODES, ApiError("busy", code))]
    assert (len(names(cluster(server, waits=waits))), waits) == (2, [3.0, 1.0])


def test_a_server_that_stays_busy_is_an_error():
    server = Server(many(2))
    server.faults = [(NODES, ApiError("busy", 503))] * 9
    assert "busy" in failure(lambda: names(cluster(server)))


def test_a_wait_that_the_server_asks_for_is_cut():
    server, waits = Server(many(2)), Waits()
    server.faults = [(NODES, ApiError("busy", 429, retry_after_s=3600.0))]
    names(cluster(server, waits=waits))
    assert waits == [10.0]


def test_without_the_right_to_list_nodes_the_rule_is_named():
    server = Server(many(2))
    server.faults = [(NODES, ApiError("forbidden", 403))]
    said = failure(lambda: names(cluster(server)))
    assert ('resources: ["nodes"], verbs: ["list"]' in said, "--ignore-running" in said) == (True, False)


def test_a_failure_that_is_none_of_rights_names_no_rule():
    server = Server(many(2))
    server.faults = [(NODES, ApiError("unauthorized", 401))]
    assert "verbs" not in failure(lambda: names(cluster(server)))


def test_without_the_right_to_list_pods_the_rule_and_the_way_round_are_named():
    server = Server(many(2))
    server.faults = [(PODS, ApiError("forbidden", 403))] * 99
    said = failure(lambda: asked(server))
    assert ('resources: ["pods"], verbs: ["list"]' in said, "--ignore-running" in said) == (True, True)


def test_ignore_running_asks_for_no_pods_and_every_answer_says_so():
    server = Server(many(2), [pod("n0000", 8), pod("n0001", 8)])
    placed, not_placed = asked(server, ignore_running=True), asked(server, gpus=9, ignore_running=True)
    assert not [listing for listing, _ in server.asked if listing.path == PODS]
    assert placed.placeable
    assert all("--ignore-running" in one.warnings[0] for one in (placed, not_placed))


def test_up_to_64_nodes_are_asked_for_their_pods_one_by_one():
    server = Server(many(64), [pod(f"n{number:04d}", 1) for number in range(64)])
    assert not asked(server).placeable
    fields = [listing.fields for listing, _ in server.asked if listing.path == PODS]
    assert sorted(fields) == [f"spec.nodeName=n{n:04d},status.phase!=Succeeded,status.phase!=Failed" for n in range(64)]


def test_of_more_nodes_all_pods_are_listed_once():
    server = Server(many(200), [pod(f"n{number:04d}", 1) for number in range(200)])
    assert not asked(server).placeable
    whole = [listing for listing, _ in server.asked if listing.path == PODS and listing.fields.startswith("spec.nodeName!=")]
    assert len(whole) == 1


def test_a_list_of_pods_that_has_gone_is_read_again_and_each_pod_counts_once():
    server = Server(many(100), [pod(f"n{number % 100:04d}", 3) for number in range(600)])
    made = cluster(server, gpus=2)
    candidates = [one for page in made.pages() for one in page]
    server.faults = [(f"{PODS} 500", GONE)]
    assert {one.gpus for one in made.free(candidates).values()} == {8 - 6 * 3}


def test_a_list_of_pods_that_is_gone_twice_is_an_error():
    server = Server(many(100), [pod("n0000", 3)] * 600)
    made = cluster(server)
    candidates = [one for page in made.pages() for one in page]
    server.faults = [(f"{PODS} 500", GONE)] * 2
    assert "changed too much" in failure(lambda: made.free(candidates))


@pytest.mark.parametrize("version", ["v1.27.16", "v1.27", "1.9.0", "v0.99.0", "v1.27.3-gke.100"])
def test_before_1_28_several_nodes_are_refused_with_the_version_found(version):
    assert version in failure(lambda: cluster(Server(version=version), nodes=2))


@pytest.mark.parametrize("version", ["v1.28.0", "v1.28+", "v1.31.2-gke.100", "v1.100.0", "v2.0.0", "v1.35.4+k3s1", "1.28.0-rc.1"])
def test_from_1_28_on_several_nodes_are_taken(version):
    assert asked(Server(many(2), version=version), nodes=2).placeable


def test_before_1_28_one_node_is_taken():
    assert asked(Server(many(2), version="v1.20.2")).placeable


@pytest.mark.parametrize("version", ["", "latest", "v1", "v1.x", {}, {"gitVersion": 7}, "v1.28\nx"])
def test_what_is_no_version_is_no_api_server(version):
    assert "version" in failure(lambda: cluster(Server(version=version)))


def test_an_answer_without_a_date_is_an_error():
    assert "Date" in failure(lambda: cluster(Server(date=None)))


def test_the_clock_is_that_of_the_server():
    assert not asked(Server(many(1), date=NOW + 841)).placeable


def slices(*nodes, driver="gpu.nvidia.com"):
    return [{"spec": {"driver": driver, "nodeName": one}} for one in nodes]


def bare(name):
    return node(name, [(("status", "allocatable"), {"pods": "110"})])


def test_gpus_of_dynamic_resource_allocation_are_found_by_their_slices():
    server = Server([bare("a"), bare("b"), bare("c")])
    server.slices = [*slices("a"), *slices("c", driver="other.example.com"), {"nodeName": "b", "driverName": "gpu.nvidia.com"}]
    assert refused(asked(server)) == {"a": ["Dra"], "b": ["Dra"], "c": ["NoFreeGpus"]}


def test_slices_are_read_once_and_only_for_a_node_without_gpus():
    def lists(nodes):
        server = Server(nodes)
        server.slices = slices("a")
        asked(server, gpus=9)
        return sum(listing.path == "/apis/resource.k8s.io/v1/resourceslices" for listing, _ in server.asked)

    assert (lists([bare("a"), bare("b")]), lists([node("a")])) == (1, 0)


def test_a_server_without_slices_says_nothing_of_them():
    assert not asked(Server([bare("a")])).warnings


def test_slices_that_may_not_be_read_are_a_warning_with_the_rule():
    server = Server([bare("a")])
    server.slices = slices("a")
    server.faults = [("/apis/resource.k8s.io/v1/resourceslices", ApiError("forbidden", 403))]
    answer = asked(server)
    assert (refused(answer), "resourceslices" in answer.warnings[0]) == ({"a": ["NoFreeGpus"]}, True)


def test_a_node_without_a_name_is_an_error():
    assert "name" in failure(lambda: names(cluster(Server([{"metadata": {"labels": {f"{PREFIX}/ready": "true"}}}]))))


def test_connections_are_closed():
    server = Server(many(20))
    made = cluster(server, nodes=4)
    made.free([one for page in made.pages() for one in page])
    made.close()
    assert server.closed


def test_the_same_pages_give_the_same_answer():
    nodes, pods = many(300), [pod(f"n{number:04d}", 4) for number in range(0, 300, 2)]
    assert asked(Server(nodes, pods), nodes=4) == asked(Server(nodes, pods), nodes=4)
