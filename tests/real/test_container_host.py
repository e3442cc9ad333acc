"""The image on a booted host: a systemd that runs, and runc, which starts the pod's container there as each overlay asks for it.

The host is that of tests/real/test_daemon_systemd.py: stubs of NVIDIA's library and of libibverbs, made classes of devices.
"""

import json
import os
import shutil
import subprocess

import pytest

from tests.real import imagerun, installroots
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually
from tests.real.machine import Machine
from tests.real.test_container_pod import PROFILES, judged
from tests.real.test_daemon_systemd import machine  # noqa: F401  a fixture
from tests.trees import fabrics

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="boots a machine: run 'sudo make test'"),
    pytest.mark.full,
]
#: nspawn shows a machine parts of sysfs alone, and whoever comes from outside takes it for a made tree.
_SYSFS = """
mkdir -p /run/groups && mount --bind /sys/fs/cgroup /run/groups && mount -t sysfs sysfs /sys
for one in bus/pci class module; do mount --bind /opt/made/sys/$one /sys/$one; done
mount --bind /run/groups /sys/fs/cgroup
"""
_CHECK = ("check", "--host-root=/host", "--profile=/etc/hostagent/profile.yaml")


@pytest.fixture
def host(machine):  # noqa: F811
    machine.run("sh", "-ec", _SYSFS)
    machine.run("mkdir", "-p", "/run/hostagent", "/var/lib/hostagent-daemon")
    return machine


def in_pod(overlay, booted, *arguments):
    """What hostagent prints in the container that runc starts on the host; by default the daemon, as the manifest has it, for one pass."""
    pod = imagerun.Pod(overlay, booted.root, booted.root / "opt/kubelet", PROFILES[overlay])
    shutil.rmtree(booted.root / "opt/pod", ignore_errors=True)
    imagerun.bundle(pod, booted.root / "opt/pod", *(arguments or (*pod.arguments(), "--once")))
    shutil.copy(need_real("runc", "apt-get install podman runc"), booted.root / "opt/runc")
    done = booted.run("/opt/runc", "run", "--bundle=/opt/pod", "agent", check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def outside(booted, overlay, *options):
    """The same host, through the same directory, in no container."""
    (booted.root / "opt/profile.yaml").write_text(PROFILES[overlay])
    script = f"mkdir -p /mnt/host; mountpoint -q /mnt/host || mount --rbind / /mnt/host; exec hostagent check --host-root=/mnt/host --profile=/opt/profile.yaml {' '.join(options)}"
    return booted.run("sh", "-c", script, check=False).stdout


def test_the_privileged_pod_finds_what_a_check_of_that_host_finds(host):
    seen, wanted = json.loads(in_pod("observe", host, *_CHECK, "--json")), json.loads(outside(host, "observe", "--json"))
    assert judged(seen) == judged(wanted)
    assert seen["verdict"] == wanted["verdict"]
    assert not seen["simulated"]
    mine, theirs = (
        json.loads(text) for text in (in_pod("observe", host, *_CHECK, "--format=summary"), outside(host, "observe", "--format=summary"))
    )
    assert mine["coverage"] == theirs["coverage"] == "full"
    assert mine["fabric"] == theirs["fabric"]


def test_the_other_one_says_what_it_does_not_see(host):
    found = json.loads(in_pod("observe-unprivileged", host, *_CHECK, "--json"))
    assert json.loads(in_pod("observe-unprivileged", host, *_CHECK, "--format=summary"))["coverage"] == "host-only.no-network"
    wanted = judged(json.loads(outside(host, "observe", "--json")))
    assert judged(found)["nvswitch.unused_packages", ""] == wanted["nvswitch.unused_packages", ""], "rpm was asked"
    assert wanted["nvswitch.unused_packages", ""][0] == "warn"
    differing = {key for key, one in judged(found).items() if one != wanted[key]}
    assert "pass" not in {judged(found)[key][0] for key in differing}, "what it does not see is not fine"


@pytest.mark.parametrize("overlay", PROFILES)
def test_the_daemon_tells_the_host_what_it_found(host, overlay):
    in_pod(overlay, host)
    told = json.loads(host.inside("/run/hostagent/state.json").read_text())
    assert told["measured"] == json.loads(outside(host, overlay, "--json"))["verdict"]
    assert {one.name for one in host.inside("/run/hostagent").iterdir()} >= {"state.json", "summary.json", "report.json"}
    assert host.inside("/var/lib/hostagent-daemon/record.json").exists()
    status = host.run("hostagent", "status", check=False).stdout
    assert ("no answer from NVML" in status) == (overlay == "observe-unprivileged")
    assert "profile file" not in status, "those lie in the pod"


#: The devices of a made host in the place of this machine's, and interfaces of the kernel's own with their names.
_ROCE = """
mkdir -p /run/groups && mount --bind /sys/fs/cgroup /run/groups && mount -t sysfs sysfs /sys
for one in devices class module bus/pci; do mount --bind /opt/made/sys/$one /sys/$one; done
mount --bind /run/groups /sys/fs/cgroup
cp -a /opt/made/dev/nvidia* /opt/made/dev/infiniband /dev/
mkdir -p /run/hostagent /var/lib/hostagent-daemon
"""


@pytest.fixture
def roce(tmp_path):
    """A booted host with the RoCE cards of a made one. Its kernel has interfaces of these names that know no lossless priorities."""
    with installroots.place() as where:
        made, root = where / "made", where / "root"
        fabrics.roce(made)
        subprocess.run(["cp", "-a", "--reflink=auto", installroots.base() / "base", root], check=True)
        for one in ("lib/x86_64-linux-gnu", "share/nvidia"):
            shutil.copytree(made / "usr" / one, root / "usr" / one, symlinks=True, dirs_exist_ok=True)
        found = Machine(root, ((made, "/opt/made"),))
        with found.up():
            found.run("sh", "-ec", _ROCE)
            with subprocess.Popen(["setpriv", "--pdeathsig=KILL", "unshare", "--net", "cat"], stdin=subprocess.PIPE) as others:
                cables(found, others.pid, {path.name: (path / "mtu").read_text().strip() for path in (made / "sys/class/net").iterdir()})
                yield found


def cables(booted, others, mtus):
    """Interfaces of the host with these names; their other ends are in the network of the process `others`."""
    eventually(lambda: os.readlink(f"/proc/{others}/ns/net") != os.readlink("/proc/self/ns/net"))
    program = need_real("ip", "apt-get install iproute2")

    def ip(process, *words):
        subprocess.run(["nsenter", f"--target={process}", "--net", program, *words], check=True)

    for at, (name, mtu) in enumerate(sorted(mtus.items())):
        if name != "lo":
            ip(
                others,
                "link",
                "add",
                f"peer{at}",
                "mtu",
                mtu,
                "type",
                "veth",
                "peer",
                "name",
                name,
                "mtu",
                mtu,
                "netns",
                str(booted._first),
            )
            ip(others, "link", "set", f"peer{at}", "up")
            ip(booted._first, "addr", "add", f"10.0.{at}.1/24", "dev", name)
            ip(booted._first, "link", "set", name, "up")


def test_the_fabric_class_of_a_roce_host_is_known_to_the_privileged_pod_alone(roce):
    """By the host's network, which is not the pod's."""
    mine = json.loads(in_pod("observe", roce, *_CHECK, "--format=summary"))
    theirs = json.loads(outside(roce, "observe", "--format=summary"))
    assert mine["fabric"] == theirs["fabric"]
    assert isinstance(mine["fabric"]["class"], str)
    assert mine["fabric"]["inputs"]["link_layer"] == "Ethernet"
    assert mine["coverage"] == theirs["coverage"] == "full"
    blind = json.loads(in_pod("observe-unprivileged", roce, *_CHECK, "--format=summary"))
    assert blind["coverage"] == "host-only.no-network"
    assert "unread" in blind["fabric"]["class"]
    assert blind["verdict"]["multi_node"] not in ("ready", "degraded")
