"""What the tools' answers say."""

import pytest

from hostagent.core.unread import Unread
from hostagent.setup.request import Flags, request_of
from hostagent.setup.tools import ToolOutput, answered, asks

ABSENT = ToolOutput("", Unread("absent", "no program"))
HUNG = ToolOutput("/bin/x", Unread("timeout", "/bin/x: no end in 5 s"))


def said(stdout, code=0, path="/bin/x", stderr=""):
    return ToolOutput(path, {"exit_code": code, "stdout": stdout, "stderr": stderr})


def tools(names=(), **answers):
    known = dict.fromkeys(("gpus", "driver", "cuda", "dpkg", "dpkg-state", "rpm", "ctk"), ABSENT)
    return answered({**known, **{name.replace("_", "-"): one for name, one in answers.items()}}, names)


def test_where_nobody_was_asked_nobody_says_a_word():
    found = answered({})
    assert (found.driver, found.cuda, found.toolkit, found.docker, found.kubernetes) == (None, None, (), None, None)


def test_a_tool_that_is_not_there_has_no_path_and_says_so():
    found = tools().driver
    assert (found.path, found.versions, found.problem, found.gpus) == ("", (), "no program", 0)


@pytest.mark.parametrize(
    ("listed", "queried", "versions", "gpus", "silent"),
    [
        ("GPU 0: H100\n", "580.95.05\n", ("580.95.05",), 1, ()),
        ("GPU 0: H100\nGPU 1: H100\n", "580.95.05 \r\n580.95.05\n", ("580.95.05", "580.95.05"), 2, ()),
        ("GPU 0: H100\nGPU 1: H100\n", "580.95.05\n[N/A]\n", ("580.95.05",), 2, ("GPU 1",)),
        ("GPU 0: H100\nGPU 3: H100\n", "[N/A]\n580.95.05\n", ("580.95.05",), 2, ("GPU 0",)),
        ("GPU 0: a\nGPU 1: b\nGPU 2: c\n", "580.95.05\n", ("580.95.05",), 3, ("2 of 3 GPUs",)),
        ("fine\n", "580.95.05\n", ("580.95.05",), 1, ()),
        ("GPU 0: H100\n", "580garbage\n", (), 1, ("GPU 0",)),
        ("GPU 0: H100\n", "\n", (), 1, ("1 of 1 GPUs",)),
        ("", "[Unknown Error]", (), 1, ("GPU 0",)),
        ("", "", (), 0, ()),
    ],
)
def test_every_gpu_is_looked_at(listed, queried, versions, gpus, silent):
    found = tools(gpus=said(listed), driver=said(queried)).driver
    assert (found.versions, found.gpus, found.silent) == (versions, gpus, silent)
    assert bool(found.problem) == (not versions)


@pytest.mark.parametrize("listed", [said("GPU 0: H100\n", 9), HUNG, said("", -11)])
def test_where_the_list_fails_no_gpu_is_visible(listed):
    found = tools(gpus=listed, driver=said("580.95.05\n")).driver
    assert (found.versions, found.gpus) == (("580.95.05",), 0)
    assert found.problem


def test_where_no_version_comes_there_is_none():
    found = tools(gpus=said("GPU 0: H100\n"), driver=said("580.95.05\n", 1)).driver
    assert (found.versions, found.gpus, found.silent, found.problem) == ((), 1, ("1 of 1 GPUs",), "it failed with exit code 1")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n", "13.0"),
        ("release 13", "13"),
        ("Cuda compilation tools, V13.0.88", ""),
        ("", ""),
        ("release x.y", ""),
    ],
)
def test_the_compiler_says_its_release(text, version):
    found = tools(cuda=said(text)).cuda
    assert found.versions == ((version,) if version else ())
    assert found.problem == ("" if version else "it printed no version")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.19.0-1", "1.19.0"),
        ("1:1.19.0-1", "1.19.0"),
        ("1.19.0~rc.1-1", "1.19.0~rc.1"),
        ("1.19.0-rc.1", "1.19.0~rc.1"),
        ("v1.19", "1.19"),
        ("1", ""),
        ("", ""),
        ("rubbish", ""),
        ("package nvidia-container-toolkit-1.19.0 is not installed", ""),
    ],
)
def test_a_package_has_an_upstream_version(text, version):
    for name, number in (("dpkg", 0), ("rpm", 1)):
        found = tools(**{name: said(text)}).toolkit[number]
        assert found.versions == ((version,) if version else ())


@pytest.mark.parametrize(
    ("state", "versions"),
    [("installed", ("1.19.0",)), ("config-files", ()), ("not-installed", ()), ("1.19.0-1", ("1.19.0",)), ("", ("1.19.0",))],
)
def test_a_package_that_was_removed_is_not_there(state, versions):
    assert tools(dpkg=said("1.19.0-1"), dpkg_state=said(state)).toolkit[0].versions == versions


def test_that_a_package_is_not_there_is_an_answer_and_a_failure_is_none():
    assert tools(dpkg=said("", 1), rpm=said("package nvidia-container-toolkit is not installed\n", 1)).toolkit[1].problem == ""
    assert tools(dpkg=said("", 2)).toolkit[0].problem == "it failed with exit code 2"
    assert tools(dpkg=HUNG).toolkit[0].problem == "/bin/x: no end in 5 s"
    assert tools(dpkg=said("1.19.0-1", 2)).toolkit[0].versions == ()


def test_the_toolkits_own_program_says_its_version_on_the_first_line():
    text = "NVIDIA Container Toolkit CLI version 1.18.2\ncommit: 1.99.0\n"
    assert tools(ctk=said(text)).toolkit[2].versions == ("1.18.2",)


@pytest.mark.parametrize(
    ("text", "code", "versions"),
    [
        ('{"io.containerd.runc.v2":{"path":"runc"},"nvidia":{"path":"nvidia-container-runtime"}}', 0, ("nvidia",)),
        ('{"nvidia":{}}', 1, ()),
        ('{"runc":{"path":"nvidia"}}', 0, ()),
        ("null", 0, ()),
        ('["nvidia"]', 0, ()),
        ("[" * 100_000, 0, ()),
        ('rubbish "nvidia"', 0, ()),
    ],
)
def test_docker_has_a_runtime_by_that_name(text, code, versions):
    assert tools(docker=said(text, code)).docker.versions == versions


def test_a_client_without_a_daemon_has_no_answer_whatever_its_exit_code():
    """That of 26 calls it a success."""
    why = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    assert tools(docker=said("null\n", 0, stderr=f"WARNING: x\n{why}\n\n")).docker.problem == f"it reached no daemon: {why}"
    assert tools(docker=said("null\n", 1, stderr=why)).docker.problem == f"it failed with exit code 1: {why}"
    assert tools(docker=said("null\n")).docker.problem == "it reached no daemon"
    assert tools(docker=said("{}")).docker.problem == ""


def test_what_a_tool_says_of_its_failure_is_cut():
    found = tools(ctk=said("", 1, stderr="x" * 1000)).toolkit[2].problem
    assert found == f"it failed with exit code 1: {'x' * 160}…"


@pytest.mark.parametrize(
    ("text", "names", "gpus", "node"),
    [
        ("a\t0\nb\t8\n", (), 8, ()),
        ("a\t0\nb\t8\n", ("a",), 0, ("a",)),
        ("a\t0\nb\t8\n", ("x", "b"), 8, ("b",)),
        ("a\t4\nb\t8\n", ("x",), 12, ()),
        ("a\t\nb\t\n", (), 0, ()),
        ("0\n8\n", (), 8, ()),
        ("a\t1k\nb\t99999999999999\nc\t-3\n", (), 0, ()),
        ("", (), 0, ()),
        ('{"items": [{"metadata": {"name": "a"}, "status": {"allocatable": {"nvidia.com/gpu": "8"}}}]}', ("a",), 8, ("a",)),
        ('{"items": [{}]}', ("a",), 0, ()),
        ("{" * 100_000, (), 0, ()),
    ],
)
def test_kubernetes_is_asked_about_this_node_where_its_name_is_known(text, names, gpus, node):
    found = tools(names, kubernetes=said(text)).kubernetes
    assert (found.gpus, found.versions) == (gpus, node)


def test_a_cluster_that_does_not_answer_has_no_gpus():
    found = tools(kubernetes=said("a\t8\n", 1)).kubernetes
    assert (found.gpus, found.problem) == (0, "it failed with exit code 1")


def test_only_what_the_backend_needs_is_asked():
    docker, kubernetes = (asks(request_of(Flags(backend=one), {})) for one in ("local-docker", "k8s"))
    assert set(docker) - set(kubernetes) == {"docker"}
    assert set(kubernetes) - set(docker) == {"kubernetes"}


def test_the_compiler_is_looked_for_at_its_path_first_and_by_the_older_generation_nowhere_else():
    later, older = (asks(request_of(Flags(exact=one), {"NVIDIA_CUDA_PATH": "/opt/a b"}))["cuda"] for one in (False, True))
    assert (later.places, later.only_places) == (("/opt/a b/bin/nvcc", "/usr/local/cuda/bin/nvcc"), False)
    assert (older.places, older.only_places) == (("/opt/a b/bin/nvcc",), True)
