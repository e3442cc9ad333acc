"""Which cluster a command talks to: the order of places, the merge of several kubeconfigs, and what is reported where there is none."""

import json
import os

import pytest

from hostagent.core.errors import HostagentError
from hostagent.kube.access import access_to, is_at_hand, namespace_of


def written(path, names, current="", user="u", **cluster):
    """A kubeconfig with a context, a cluster and a user of each name; the server is that of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    server = {"server": f"https://{path.parent.name}.example", "certificate-authority": "ca.crt", **cluster}
    document = {
        **({"current-context": current} if current else {}),
        "contexts": [{"name": one, "context": {"cluster": one, "user": user}} for one in names],
        "clusters": [{"name": one, "cluster": server} for one in names],
        "users": [{"name": user, "user": {"tokenFile": "token"}}],
    }
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def places(tmp_path):
    """Every place has one: arguments and environment of `access_to`."""
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("t")
    written(tmp_path / "home" / ".kube" / "config", ["a"], "a")
    environment = {
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "KUBECONFIG": written(tmp_path / "listed" / "config", ["a", "b"], "a"),
        "HOME": str(tmp_path / "home"),
    }
    return written(tmp_path / "given" / "config", ["a", "b"], "a"), environment, str(account)


def test_the_first_place_of_the_order_counts(places):
    given, environment, account = places
    server = lambda path, context="": access_to(path, context, environment, account)().server  # noqa: E731
    assert server(given) == "https://given.example"
    assert server("") == "https://listed.example", "as for kubectl, also in a pod"
    environment["KUBECONFIG"] = os.pathsep
    assert server("") == "https://10.0.0.1:443"
    with pytest.raises(HostagentError, match="only: a"):  # a pod has no contexts: the file of HOME is asked
        server("", "b")
    del environment["KUBERNETES_SERVICE_HOST"]
    assert server("") == "https://.kube.example"


def test_a_cluster_is_at_hand_where_one_of_these_places_has_it(places, tmp_path):
    _, environment, account = places
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HOME"):
        assert is_at_hand({name: environment[name]}, account), name
    assert not is_at_hand({"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": ""}, account)
    assert not is_at_hand({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, str(tmp_path)), "no account"


def test_of_several_files_the_first_with_a_name_counts_and_paths_are_those_of_its_file(tmp_path):
    files = [
        written(tmp_path / "first" / "config", ["one"]),
        str(tmp_path / "absent"),
        written(tmp_path / "second" / "config", ["one", "two"], "two", user="v"),
        written(tmp_path / "third" / "config", ["two"], "one"),
    ]
    (tmp_path / "empty").write_text("")
    (tmp_path / "empty").chmod(0o600)
    environment = {"KUBECONFIG": os.pathsep.join((str(tmp_path / "empty"), *files))}
    current, other = access_to("", "", environment)(), access_to("", "one", environment)()
    second, first = tmp_path / "second", tmp_path / "first"
    assert (current.server, current.ca, current.token_file) == ("https://second.example", f"{second}/ca.crt", f"{second}/token")
    assert (other.server, other.ca, other.token_file) == ("https://first.example", f"{first}/ca.crt", f"{first}/token")


def test_files_are_read_anew_each_time(tmp_path):
    path = written(tmp_path / "x" / "config", ["a", "b"], "a", server="https://before.example")
    access = access_to(path, "")
    assert access().server == "https://before.example"
    written(tmp_path / "x" / "config", ["a"], "a", server="https://after.example")
    assert access().server == "https://after.example"


@pytest.mark.parametrize("where", ["given", "listed"])
def test_an_unknown_context_names_those_that_there_are(places, where):
    given, environment, account = places
    with pytest.raises(HostagentError) as raised:
        access_to(given if where == "given" else "", "c", environment, account)()
    assert f"{where}/config is no kubeconfig with the context 'c': found no context 'c', only: a, b" in raised.value.message


@pytest.mark.parametrize(("listed", "place"), [("/absent/one:/absent/two", "/absent/one, /absent/two"), ("", "/absent/home/.kube/config")])
def test_none_at_all_is_an_error_with_a_next_step(listed, place):
    with pytest.raises(HostagentError) as raised:
        access_to("", "", {"KUBECONFIG": listed, "HOME": "/absent/home"})
    assert raised.value.message.startswith("found no kubeconfig (")
    assert place in raised.value.message
    assert "--kubeconfig FILE" in raised.value.next_step


def named(path, namespace):
    with open(path) as stream:
        document = json.load(stream)
    document["contexts"][0]["context"]["namespace"] = namespace
    with open(path, "w") as stream:
        json.dump(document, stream)
    return path


def test_the_namespace_is_that_of_the_context(tmp_path):
    path = named(written(tmp_path / "config", ["a", "b"], "a"), "team")
    assert (namespace_of(path, ""), namespace_of(path, "b")) == ("team", "")


def test_a_namespace_that_is_no_text_is_an_error(tmp_path):
    path = named(written(tmp_path / "config", ["a"], "a"), 7)
    with pytest.raises(HostagentError, match="namespace"):
        namespace_of(path, "")


@pytest.mark.parametrize(("text", "expected"), [("team\n", "team"), (None, ""), ("\xff", "")])
def test_the_namespace_of_a_pod_is_in_its_account(places, text, expected):
    _, environment, account = places
    del environment["KUBECONFIG"]
    if text is not None:
        with open(f"{account}/namespace", "w", encoding="latin-1") as stream:
            stream.write(text)
    assert namespace_of("", "", environment, account) == expected
