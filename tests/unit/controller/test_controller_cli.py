"""The command lines of ``hostagent controller`` and ``hostagent kubernetes``: a mistake is reported at the start, before the server is asked;
what the server says is reported without a secret.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys

import pytest

from hostagent.cli.clusteroptions import NODE_SELECTOR
from tests.apiserver import Api, config, make_keys

SECRET = "Zq7hunter2Xw9KdZq7"


def start(folder, *arguments, **environment):
    argv = [sys.executable, "-m", "hostagent", *map(str, arguments)]
    kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY")}
    options = {"cwd": folder, "env": {**kept, "HOME": str(folder), **environment}, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(argv, text=True, **options)


def run(folder, *arguments, **environment):
    """Exit code, and all that was printed."""
    with start(folder, *arguments, **environment) as process:
        out, error = process.communicate(timeout=60)
    assert "Traceback" not in error
    assert "\n.\n" not in error, "an empty next step is no line"
    return process.returncode, out + error


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def folder(tmp_path, keys):
    (tmp_path / "ca.crt").write_bytes((keys / "server.crt").read_bytes())
    return tmp_path


DOMAIN = "wanted a domain of your own, such as hostagent.dev"
LIMIT = "wanted a number of nodes or a percentage, such as 10 or 20%"
MISTAKES = [
    ("controller --prefix a_b", f"found --prefix 'a_b', {DOMAIN}"),
    ("controller --prefix node.kubernetes.io", f"found --prefix 'node.kubernetes.io', {DOMAIN}"),
    ("controller --namespace Host_Agent", "found --namespace 'Host_Agent', wanted the name of a namespace"),
    ("controller --max-silent 101%", f"--max-silent: found '101%', {LIMIT}"),
    ("controller --max-silent -1", f"--max-silent: found '-1', {LIMIT}"),
    ("controller --max-tainted 20?%", f"--max-tainted: found '20 %', {LIMIT}"),
    ("controller --stale-after 0", "'--stale-after': 0.0 is not in the range 5<=x<=86400"),
    ("controller --stale-after soon", "'--stale-after': 'soon' is not a valid number of seconds"),
    ("controller --node-selector gpu=true,", "found --node-selector 'gpu=true,', wanted a label selector, such as pool=gpu"),
    ("controller --taints maybe", "'maybe' is not one of 'auto', 'on', 'off'"),
    ("controller --context other", "is no kubeconfig with the context 'other': found no context 'other', only: c"),
    ("controller --listen localhost:9477", "found --listen 'localhost:9477', wanted ADDRESS:PORT"),
    ("kubernetes clean", "found both or none of --node and --all, wanted one of them"),
    ("kubernetes clean --all --node n", "found both or none of --node and --all, wanted one of them"),
    ("kubernetes clean --all --prefix kubernetes.io", f"found --prefix 'kubernetes.io', {DOMAIN}"),
    ("kubernetes why n --prefix /", f"found --prefix '/', {DOMAIN}"),
    ("kubernetes why", "Missing argument 'NODE'"),
    ("kubernetes wy", "no command 'wy'; did you mean why?"),
    ("kubernetes why n --context other", "is no kubeconfig with the context 'other': found no context 'other', only: c"),
]


@pytest.mark.parametrize(("words", "error"), MISTAKES, ids=[words for words, _ in MISTAKES])
def test_a_mistake_is_reported_at_the_start(folder, words, error):
    """The kubeconfig names a server that would take the connection."""
    with socket.create_server(("127.0.0.1", 0)) as line:
        line.settimeout(0)
        (folder / ".kube").mkdir()
        server = Where(f"https://127.0.0.1:{line.getsockname()[1]}")
        config(folder, server, {"token": "t"}).rename(folder / ".kube/config")
        code, text = run(folder, *(word.replace("?", " ") for word in words.split()))
        with pytest.raises(BlockingIOError):
            line.accept()
    assert code == 2
    assert error in " ".join(text.split())


class Where:
    def __init__(self, url):
        self.url = url


KUBECONFIGS = {
    "absent": (None, "no such file or directory"),
    "a folder": ("/", "found something that is not a file, wanted a file"),
    "no YAML": ("a: [", "it is no YAML that is read here"),
    "another document": ("[]", "is no kubeconfig with a current context"),
    "empty": ("", "is no kubeconfig with a current context"),
    "a token in two lines": (json.dumps({"token": f"{SECRET}\n{SECRET}"}), "is no kubeconfig with a current context"),
}


@pytest.mark.parametrize(
    ("how", "command"),
    [*((how, "controller") for how in KUBECONFIGS), ("absent", "kubernetes why n"), ("absent", "kubernetes clean --all")],
)
def test_a_kubeconfig_that_cannot_be_used_is_named(folder, how, command):
    content, error = KUBECONFIGS[how]
    path = folder / "admin.conf"
    if content == "/":
        path.mkdir()
    elif content is not None:
        path.write_text(content)
        path.chmod(0o600)
    code, text = run(folder, *command.split(), "--kubeconfig", "admin.conf")
    assert code == 2
    assert "admin.conf" in text
    assert error in text
    assert "See the --help of this command about --kubeconfig." in text
    assert SECRET not in text


def test_without_any_kubeconfig_it_says_where_it_looked(folder):
    code, text = run(folder, "controller")
    assert (code, text.splitlines()[-1]) == (2, "Give --kubeconfig FILE, or set KUBECONFIG.")
    assert f"found no kubeconfig (KUBECONFIG is empty: {folder}/.kube/config)" in text


def test_an_address_that_is_taken(folder, keys):
    with Api(keys, (200, {}, {})) as api, socket.create_server(("127.0.0.1", 0)) as line:
        place = f"127.0.0.1:{line.getsockname()[1]}"
        code, text = run(folder, "controller", "--kubeconfig", config(folder, api, {"token": "t"}), "--listen", place)
        assert api.asked == []
    assert code == 2
    assert f"{place} cannot be listened on: address already in use" in text


def accepted(selector):
    with contextlib.suppress(Exception):
        return NODE_SELECTOR(lambda: None).__click_params__[0].callback(None, None, selector) == selector
    return False


def test_selectors_as_kubernetes_reads_them():
    name = "x" * 63
    good = (
        "a",
        "!a",
        "a=b",
        "a==b",
        "a!=b",
        "a=",
        "a in (b)",
        "a  notin ( b , c )",
        "a in ()",
        "x.y/z=1",
        " a , !b,c>1",
        name,
        f"a={name}",
        f"{name}x.dev/a=b",
        f"{'a.' * 126}b/c",
    )
    assert [one for one in good if not accepted(one)] == []
    bad = (
        f"{'a.' * 126}bc/c",
        "a,",
        ",a",
        "=a",
        "a b",
        "a in b",
        "a in (b",
        "-a",
        "a=b=c",
        "a/b/c",
        "a>b",
        "x_y/z",
        "a=b c",
        "é",
        "a;b",
        f"{name}x",
        f"a={name}x",
        "a" * 5000,
    )
    assert [one for one in bad if accepted(one)] == []


# -- what the server says

REFUSALS = {
    "as it is": {"message": f"token {SECRET} is unknown"},
    "in another field": {"message": "no", "reason": SECRET, "details": {"causes": [{"field": SECRET, "message": SECRET}], "name": SECRET}},
    "in its answer": f"<html>{SECRET}</html>".encode(),
}


@pytest.mark.parametrize("how", REFUSALS)
@pytest.mark.parametrize("command", ["kubernetes why n", "kubernetes clean --all"])
def test_a_refusal_is_reported_without_the_token(folder, keys, command, how):
    with Api(keys, (403, {}, REFUSALS[how])) as api:
        code, text = run(folder, *command.split(), "--kubeconfig", config(folder, api, {"token": SECRET}))
    assert code == 2
    assert "Error: the API server answers 403" in text
    assert SECRET[:8] not in text


@pytest.mark.parametrize("answer", [{}, {"metadata": 7}, {"metadata": {"name": "n"}}])
@pytest.mark.parametrize("command", ["kubernetes why n", "kubernetes clean --node n"])
def test_an_answer_that_is_no_node(folder, keys, command, answer):
    with Api(keys, (200, {}, answer)) as api:
        code, text = run(folder, *command.split(), "--kubeconfig", config(folder, api, {"token": SECRET}))
    assert (code, text) == (2, "Error: the answer of the API server is no node.\n")


NOT_FOUND = {"kind": "Status", "reason": "NotFound", "message": 'nodes "n" not found'}


def test_no_such_node(folder, keys):
    with Api(keys, (404, {}, NOT_FOUND)) as api:
        code, text = run(folder, "kubernetes", "why", "n", "--kubeconfig", config(folder, api, {"token": SECRET}))
    assert (code, text) == (2, "Error: found no node 'n'.\nSee 'kubectl get nodes'.\n")


def test_a_404_of_a_proxy_is_no_node_that_is_not_there(folder, keys):
    with Api(keys, (404, {}, {"error": "no such route"})) as api:
        code, text = run(folder, "kubernetes", "why", "n", "--kubeconfig", config(folder, api, {"token": SECRET}))
    assert (code, text) == (2, "Error: the API server answers 404.\n")


def listed(*items):
    return 200, {}, {"kind": "NodeList", "metadata": {"resourceVersion": "9"}, "items": list(items)}


def test_clean_looks_again_at_a_node_that_was_made_anew_and_passes_over_one_that_is_gone(folder, keys):
    """Between its list and its patch."""
    metadata = {"name": "n", "uid": "u1", "resourceVersion": "1", "labels": {"hostagent.dev/ready": "true"}}
    anew = {"metadata": {**metadata, "uid": "u2", "resourceVersion": "5"}}
    another = 422, {}, {"message": "no", "details": {"causes": [{"field": "metadata.uid"}]}}
    first = [listed({"metadata": metadata}, {"metadata": {**metadata, "name": "m"}}), another, (200, {}, anew), (200, {}, anew)]
    with Api(keys, *first, (409, {}, {}), (404, {}, NOT_FOUND), listed()) as api:
        code, text = run(folder, "kubernetes", "clean", "--all", "--kubeconfig", config(folder, api, {"token": "t"}))
    assert (code, text.splitlines()) == (0, ["n: removed 1 label", "m: the node is gone", "nothing of hostagent is left"])
    assert [body["metadata"]["uid"] for _, _, body, _ in api.asked if body] == ["u1", "u2", "u1"]


@pytest.mark.parametrize("options", [(), ("--no-leader-elect", "--log-format", "json"), ("--dry-run",)], ids=" ".join)
def test_the_controller_reports_what_the_server_refuses_without_the_token_and_ends_with_0(folder, keys, options):
    """Its lists, its watches and its lease are all refused. It waits for a server that is of another mind."""
    with Api(keys, (403, {}, {"message": f"{SECRET} may not", "reason": SECRET, "details": {"causes": [{"field": SECRET}]}})) as api:
        given = ("--kubeconfig", config(folder, api, {"token": SECRET}), "--listen", "", "--stale-after", 60, *options)
        with start(folder, "controller", *given) as process:
            lines = []
            while len(lines) < 2 or "answers 403" not in lines[-1]:
                lines.append(process.stderr.readline())
                assert lines[-1], lines
            process.terminate()
            out, rest = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "--stale-after is 60 s: heartbeats of a healthy agent can be 720 s apart" in lines[0]
    assert "may not" in "".join(lines)
    assert SECRET[:8] not in "".join((out, rest, *lines))
    assert "Traceback" not in rest


def test_the_usual_stale_after_gets_no_warning(folder, keys):
    with (
        Api(keys, (403, {}, {"message": "no"})) as api,
        start(folder, "controller", "--kubeconfig", config(folder, api, {"token": "t"}), "--listen", "", "--stale-after", 750) as process,
    ):
        first = process.stderr.readline()
        process.terminate()
        process.communicate(timeout=30)
    assert "the lease is not renewed: the API server answers 403: no" in first
