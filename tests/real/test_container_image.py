"""The image of daemonset/Containerfile: what is in it, how large it is, and how it starts."""

import json
import os
import re
from importlib.metadata import requires

import pytest

import hostagent
from tests.real import imagerun

#: Of the base and what hostagent needs in it: bytes of the image at most.
MOST = 1.5
#: Seconds of processor time that `hostagent --version` takes at most in a container whose root file system cannot be written.
START_S = 0.6
_SIZES = """
import json, os
site = next(path for path in __import__("sys").path if path.endswith("site-packages"))
found = {}
for folder, _, names in os.walk("/opt/hostagent"):
    part = os.path.relpath(folder, site).split("/")[0]
    kind = "ours" if part in ("hostagent", "hostagent_checks") or part.startswith("hostagent-") else "needed"
    found[kind] = found.get(kind, 0) + sum(os.lstat(os.path.join(folder, name)).st_size for name in names)
print(json.dumps(found))
"""
pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="containers of root: run 'sudo make test'")]


def test_the_file_names_no_registry_and_no_processor():
    text = imagerun.CONTAINERFILE.read_text()
    assert imagerun.base_name() == "python:3.13-slim"
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}", "${BASE}"]
    assert not re.search(r"x86|amd64|aarch64|--mount|<<", text), "every builder and every processor takes it"
    assert f"ARG VERSION={hostagent.__version__}\n" in text


def test_the_build_sees_what_it_copies_and_little_else():
    """Every line of COPY finds its source behind the ignore file, and recordings that are not shipped stay away."""
    seen = imagerun.context()
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", imagerun.CONTAINERFILE.read_text(), re.MULTILINE):
        for source in line.split():
            assert any(one == source or one.startswith(f"{source}/") for one in seen), source
    assert sum((imagerun.ROOT / one).stat().st_size for one in seen) < 16 * 2**20
    assert len([one for one in seen if one.startswith("tests/")]) == 3


def within(program, *arguments, options=()):
    done = imagerun.podman("run", "--rm", "--network=none", *options, f"--entrypoint={program}", imagerun.image(), *arguments)
    return done.stdout


@pytest.mark.full
def test_it_is_small():
    """Half as much again as base and dependencies at most; what no run needs is not in it."""
    base = imagerun.inspected(f"localhost/{imagerun.base_name()}")["Size"]
    sizes = json.loads(within("/opt/hostagent/bin/python", "-c", _SIZES))
    assert imagerun.inspected(imagerun.IMAGE)["Size"] <= MOST * (base + sizes["needed"])
    names = set(within("sh", "-c", "ls /opt/hostagent/lib/python3*/site-packages").split())
    installed = {
        re.sub("[-_.]+", "-", name.rpartition(".dist-info")[0].rpartition("-")[0]).lower() for name in names if ".dist-info" in name
    }
    wanted = {re.split(r"[ ;<>=\[]", one)[0].lower().replace(".", "-") for one in requires("hostagent") if "extra ==" not in one}
    of_those = {"certifi", "charset-normalizer", "hpack", "hyperframe", "idna", "urllib3"}
    assert installed - {"hostagent"} - wanted == of_those, "no pip, setuptools, hatchling"
    assert wanted - installed <= {"tomli", "backports-zstd"}, "newer Pythons have both"
    assert within("sh", "-c", "command -v gcc cc make rpmbuild; ls /var/lib/apt/lists; true").strip() == ""


@pytest.mark.full
def test_it_says_what_it_is():
    found = imagerun.inspected(imagerun.image())
    labels = {name.rpartition(".")[2]: text for name, text in found["Labels"].items() if name.startswith("org.opencontainers.image.")}
    assert (labels["version"], labels["revision"]) == (hostagent.__version__, imagerun.REVISION)
    assert imagerun.REVISION[:12] in imagerun.podman("run", "--rm", "--network=none", imagerun.IMAGE, "--version").stdout
    assert labels["licenses"] == "Apache-2.0"
    assert found["User"] == "65532:65532"
    assert found["Config"]["Entrypoint"] == ["/opt/hostagent/bin/hostagent"]
    assert not [one for one in found["Config"]["Env"] if re.search("NVIDIA|PIP|CERT|PROXY", one, re.IGNORECASE)]


@pytest.mark.full
def test_all_modules_are_compiled_so_that_it_starts_fast_where_nothing_can_be_written():
    script = f"""
import glob, os, resource, subprocess, sys
left = [one for one in glob.glob('/opt/hostagent/lib/**/*.py', recursive=True)
        if not glob.glob(f'{{os.path.dirname(one)}}/__pycache__/{{os.path.basename(one)[:-3]}}.*.pyc')]
assert not left, left
traced = subprocess.run([sys.executable, '-v', '-m', 'hostagent', '--version'], capture_output=True, text=True)
assert 'hostagent' in traced.stdout, traced.stderr[-500:]
print([line for line in traced.stderr.splitlines() if 'code object from' in line and '.pyc' not in line and 'matches' not in line])
before = resource.getrusage(resource.RUSAGE_CHILDREN)
subprocess.run(['/opt/hostagent/bin/hostagent', '--version'], check=True, stdout=subprocess.DEVNULL)
after = resource.getrusage(resource.RUSAGE_CHILDREN)
assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < {START_S}
"""
    said = within("/opt/hostagent/bin/python", "-c", script, options=("--read-only", "--read-only-tmpfs=false"))
    assert said.strip() == "[]", "none was compiled from its source"


@pytest.mark.full
def test_rpm_and_libudev_work_in_it():
    assert within("rpm", "--version").startswith("RPM version")
    assert (
        within("/opt/hostagent/bin/python", "-c", "import pyudev; print(pyudev.Monitor.from_netlink(pyudev.Context()).fileno() > 0)")
        == "True\n"
    )


@pytest.mark.full
@pytest.mark.parametrize("options", [(), ("--read-only", "--read-only-tmpfs=false", "--cap-drop=ALL", "--security-opt=no-new-privileges")])
def test_it_runs_as_nobody_in_particular_and_leaves_nothing_behind(options):
    name = f"hostagent-test-{os.getpid()}"
    try:
        done = imagerun.podman(
            "run", f"--name={name}", "--passwd=false", "--network=none", *options, imagerun.image(), "demo", "gpu-off-the-bus", check=False
        )
        assert done.returncode == 0, done.stderr
        assert "NOT READY  GPU 4" in done.stdout
        assert imagerun.podman("diff", name).stdout.split("\n") == ["C /etc", ""], "podman's own files, such as /etc/hosts"
    finally:
        imagerun.podman("rm", "--force", name)
