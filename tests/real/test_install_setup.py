"""``hostagent setup --install`` in the place of TAO's script, on a host that it runs on: what it installs, says, and takes back."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

from hostagent.core.tables.platforms import OPERATOR_TOOLKIT
from tests.real.conftest import need_module, need_real
from tests.real.dockerrun import client, machine
from tests.real.installing import Host, changed
from tests.real.installroots import clone, place, tree
from tests.real.liveroot import Live
from tests.real.stubparts import smi
from tests.tao_page import kept, scene

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts need root")]
#: An ordinary user, who may read the Python that the tests run on.
_CAPS = "+dac_read_search,+dac_override"
ORDINARY = ("setpriv", "--reuid=ann", "--clear-groups", f"--inh-caps={_CAPS}", f"--ambient-caps={_CAPS}")
#: The kernel that the tests run on loads no modules: the driver is somebody else's here, and there.
PROFILE = "driver: {owner: provider}\ngpus: {required: false}\n"
SITE = "etc/hostagent/profile.yaml"
#: What systemd would start: the daemon of Docker's stub; the others are told of.
_SYSTEMCTL = """#!/bin/sh
case $1 in --root=/) exec /usr/lib/made/systemctl "$@" ;; esac
echo "$@" >>/run/systemctl
case "$*" in
  *enable*docker*) /usr/lib/made/systemctl --root=/ enable docker ;;
esac
case "$*" in
  *stop*docker*|*restart*docker*|*disable*docker*) kill $(cat /run/docker.pid) 2>/dev/null; rm -f /run/docker.pid ;;
esac
case "$*" in
  *--now*docker*|start*docker*|restart*docker*)
    if [ ! -e /run/docker.pid ]; then setsid /usr/sbin/dockerd infinity >/dev/null 2>&1 </dev/null & echo $! >/run/docker.pid; fi ;;
esac
exit 0
"""
READY = [
    "OK: NVIDIA driver 580.178.04 >= 580",
    "OK: CUDA Toolkit 13.0 >= 13.0",
    "OK: NVIDIA Container Toolkit 1.19.0 >= 1.19.0",
    "OK: Docker NVIDIA runtime configured",
    "INFO: detected Debian GNU/Linux 12 (bookworm) (family=debian, manager=apt-get)",
]


@contextmanager
def up(*packages):
    """A Debian root with a driver and a GPU that it serves, and these packages."""
    need_real("mmdebstrap", "sudo bash tests/real/install.sh")
    need_module("ansible_runner", "pip install -e '.[dev]'")
    with place() as where:
        root = clone("debian", where)
        root.apt("install", f"linux-image-{os.uname().release}", *packages)
        root.run("useradd", "--create-home", "ann")
        made = Live(root, more=PROFILE)
        (root.path / "usr/bin/systemctl").write_text(_SYSTEMCTL)
        for path, text in smi().items():
            (root.path / path.lstrip("/")).write_bytes(text)
            (root.path / path.lstrip("/")).chmod(0o755)
        (root.path / SITE).parent.mkdir()
        (root.path / SITE).write_text(made.profile.read_text())
        made.gpu()
        made.module("nvidia", "580.178.04")
        with made.up():
            yield made


@pytest.fixture(scope="module")
def host():
    with up() as made:
        yield made


def called(host, *argv, **more):
    done = subprocess.run(host.enter(*argv), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def setup(host, *words, variables=()):
    return called(host, "env", *variables, sys.executable, "-m", "hostagent", "setup", *words)


@pytest.mark.parametrize("words", [(), ("--check-only", "--json"), ("--backend", "k8s"), ("--print-preflight",), ("--exact", "-y")])
def test_a_look_changes_nothing(words, host):
    before = tree(host.root.path)
    code, out, err = setup(host, *words)
    assert code in (0, 1)
    assert ("OK: NVIDIA driver" in out, err) == ("--print-preflight" not in words, "")
    assert changed(before, tree(host.root.path)) == []


def test_nothing_is_touched_where_nobody_agrees(host):
    before = tree(host.root.path)
    code, out, err = setup(host, "--install")
    assert (code, out) == (1, "")
    assert "neither --yes nor a terminal" in err
    assert changed(before, tree(host.root.path)) == []


def test_an_ordinary_user_without_sudo_is_told_the_scripts_line(host):
    argv = (*ORDINARY, sys.executable, "-m", "hostagent", "setup", "--install", "--yes")
    assert called(host, *argv) == (1, "", "MISSING: passwordless sudo/root is required for runtime installation.\n")


SUDO = """#!/bin/sh
printf '%s\\n' "$@" >>/tmp/sudo
[ "$*" = "-n true" ] && exit 0
shift 4
exec "$@"
"""


def test_sudo_gets_the_command_line_and_the_scripts_variables_as_they_are(host):
    """And a sudo that makes nobody root is asked once."""
    path = host.root.path / "usr/local/bin/sudo"
    path.write_text(SUDO)
    path.chmod(0o755)
    try:
        words = ("--install", "--yes", "--backend", "kubernetes")
        variables = ("PATH=/usr/local/bin:/usr/bin", "NVIDIA_CUDA_PACKAGE=a b\n'c\"", "OTHER=1")
        user = (*ORDINARY, "env", *variables)
        code, out, err = called(host, *user, sys.executable, "-m", "hostagent", "setup", *words)
        assert (code, out) == (1, "")
        assert "wanted root" in err
        said = (host.root.path / "tmp/sudo").read_text()
        assert "NVIDIA_CUDA_PACKAGE=a b\n'c\"\n" in said
        assert said.endswith("setup\n--install\n--yes\n--backend\nkubernetes\n")
        assert "OTHER" not in said
        assert said.count("-u\nroot\n") == 1
    finally:
        path.unlink()


REFUSED = {
    ("NVIDIA_CUDA_PACKAGE=cuda-toolkit-99-0", "DOCKER_PACKAGE=docker-none"): (
        "The repositories do not offer the CUDA toolkit that is wanted",
        "The repositories do not offer Docker",
    ),
    ("SUDO_USER=nobody-here",): ("The user who is to use Docker does not exist on this host",),
}


@pytest.mark.parametrize("variables", REFUSED)
def test_what_is_refused_says_why_and_what_to_do_and_changes_nothing(host, variables):
    packages, etc = host.root.packages(), tree(host.root.path, "etc")
    code, out, err = setup(host, "--install", "--yes", variables=variables)
    assert code == 1
    lines = out.splitlines()
    for headline in REFUSED[variables]:
        said = f"MISSING: installation refused: {headline}"
        assert said in lines, out + err
        assert lines[lines.index(said) + 1].startswith("         ")
    assert "Run with --install" not in out
    assert (host.root.packages(), tree(host.root.path, "etc")) == (packages, etc)


def told(host, headline, step):
    """What setup --install says to a host that must stay as it is; it does."""
    before = tree(host.root.path)
    code, out, err = setup(host, "--install", "--yes", variables=("SUDO_USER=ann",))
    lines = out.splitlines()
    assert (code, lines[0]) == (1, READY[0]), out + err
    said = lines.index(f"MISSING: installation refused: {headline}")
    assert lines[said + 1] == f"         {step}"
    assert changed(before, tree(host.root.path)) == []
    assert host.runs() == []
    return out


def test_a_part_of_another_owner_is_refused_and_the_host_stays_as_it_is(host):
    """The GPU Operator's toolkit is where its pod puts it."""
    theirs = host.root.path / OPERATOR_TOOLKIT.lstrip("/")
    theirs.mkdir(parents=True)
    try:
        (theirs / "libnvidia-container.so.1").touch()
        step = "Change spec.toolkit of the ClusterPolicy: the GPU Operator writes this configuration."
        out = told(host, "The runtime of this host belongs to the GPU Operator", step)
        assert "MISSING: installation refused: The toolkit of this host belongs to the GPU Operator" in out
    finally:
        shutil.rmtree(theirs.parent)


def test_a_docker_that_a_restart_would_take_containers_from_is_refused_and_the_host_stays_as_it_is():
    with up("docker.io") as serving:
        shim = serving.root.path / "usr/bin/containerd-shim-runc-v2"
        shim.write_text("#!/bin/sh\nexec <&- >&- 2>&-\nwhile :; do sleep 1000; done\n")
        shim.chmod(0o755)
        serving.sh("systemctl start docker; setsid containerd-shim-runc-v2 -namespace moby -id c1 & echo $! >/run/shim.pid")
        daemon = serving.sh("cat /run/docker.pid")
        step = 'Stop the containers, or set "live-restore": true in daemon.json and reload dockerd.'
        out = told(serving, "A restart of docker would stop containers", step)
        assert "MISSING: Docker NVIDIA runtime not configured or Docker unreachable" in out.splitlines()
        assert serving.sh("kill -0 $(cat /run/docker.pid) $(cat /run/shim.pid); cat /run/docker.pid") == daemon


def listed(text, place):
    """The runtimes that a real client lists of a real dockerd that started over this daemon.json."""
    with machine(place) as elsewhere:
        elsewhere.start(text)
        return elsewhere.runtimes()


def test_the_shim_installs_what_the_script_wants_once_and_rollback_takes_it_back(host, tmp_path):
    client()
    host.sh("mkdir /root/bank")
    code, out, err = setup(host, "--write-shim", "/root/bank")
    assert code == 0, err
    shim = out.splitlines()[0]
    before = host.state()

    def script(*words):
        return called(host, "env", "-i", "SUDO_USER=ann", "NVIDIA_CUDA_PACKAGE=cuda-toolkit-13-0", "bash", shim, *words)

    code, out, err = script("--install", "--yes")
    assert code == 0, out + err[-4000:]
    assert out.splitlines()[: len(READY)] == READY
    assert "MISSING" not in out
    assert scene(out, err) == kept("setup-install")
    assert "ann" in host.sh("getent group docker")
    assert listed(host.sh("cat /etc/docker/daemon.json"), tmp_path)["nvidia"] == {"path": "/usr/bin/nvidia-container-runtime"}
    assert host.sh("ls /run/hostagent/state.json 2>/dev/null || true") == ""
    installed = host.state()
    code, out, err = script("--install", "--yes")
    assert (code, out.splitlines()[: len(READY)]) == (0, READY), out + err[-2000:]
    assert "NOTHING TO DO" in err
    assert scene(out, err) == kept("setup-again")
    assert (host.state(), host.runs()) == (installed, ["1"])
    assert script("--check-only")[0] == 0
    done = called(host, sys.executable, "-m", "hostagent", "rollback", "--yes")
    assert done[0] == 0, done
    assert done[1].rstrip() == kept("setup-rollback")
    assert host.sh("ls /run/docker.pid 2>/dev/null || true") == ""
    after = host.state()
    assert {
        key: changed(before[key], after[key]) if isinstance(before[key], dict) else after[key]
        for key in before
        if before[key] != after[key]
    } == {}


def test_an_image_gets_the_driver_too_and_gives_all_of_it_back():
    """Its GPU is visible once it runs."""
    need_real("mmdebstrap", "sudo bash tests/real/install.sh")
    need_module("ansible_runner", "pip install -e '.[dev]'")
    with place() as where:
        image = Host(clone("debian", where), more="gpus: {required: false}\n")
        before = image.state()
        words = ("--root", str(image.root.path), "--kernel", image.root.kernel, "--profile", str(image.profile), "--install", "--yes")
        program = [sys.executable, "-m", "hostagent", "setup", *words]
        done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 1, done.stderr[-3000:]
        assert done.stdout.splitlines()[:5] == ["MISSING: visible GPU with NVIDIA driver >= 580 (detected: none)", *READY[1:]]
        assert "installation" not in done.stdout
        packages = image.root.packages()
        assert {packages[name] for name in ("nvidia-driver-cuda", "nvidia-kernel-open-dkms")} == {"hi 580.178.04-1"}
        again = subprocess.run([*program, "--json"], capture_output=True, text=True, timeout=300, check=False)
        assert json.loads(again.stdout)["setup"]["lines"] == done.stdout.splitlines()
        assert "NOTHING TO DO" in again.stderr
        assert image.call("rollback", "--yes").returncode == 0
        after = image.state()
        assert {key for key in before if before[key] != after[key]} == set()
