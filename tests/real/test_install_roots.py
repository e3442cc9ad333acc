"""A whole installation below a root: from nothing, up, down, and back."""

import pytest

from tests.real.installing import TOOLKIT, Host, changed
from tests.real.installroots import tree

pytestmark = pytest.mark.alone

#: Of each distribution: the driver as an administrator installs it by hand.
BY_HAND = {
    "debian": (
        "nvidia-driver-cuda",
        "nvidia-kernel-open-dkms",
        "libcuda1",
        "libnvidia-ml1",
        "nvidia-persistenced",
        "nvidia-modprobe",
        "firmware-nvidia-gsp",
        "nvidia-kernel-support",
    ),
    "ubuntu": ("libnvidia-compute{end}", "nvidia-utils{end}", "nvidia-dkms{end}-open", "nvidia-kernel-source{end}-open", "nvidia-modprobe"),
}


def with_driver(root, version):
    """The driver of `version` from NVIDIA's repository, and the headers that its module needs."""
    root.use_repositories()
    branch = version.partition(".")[0]
    end = f"-{branch}" if branch < "590" else ""
    full = f"{version}-1{'ubuntu1' if root.distribution == 'ubuntu' else ''}"
    names = [f"{name.format(end=end)}={full}" for name in BY_HAND[root.distribution]]
    root.apt("install", f"linux-headers-{root.kernel}", *names)


def installed(host, *words):
    done = host.install(*words)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def taken_back(host, before):
    done = host.call("rollback", "--yes")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    after = host.state()
    assert {
        key: changed(before[key], after[key]) if key in ("etc", "packages") else (before[key], after[key])
        for key in before
        if before[key] != after[key]
    } == {}


def driver_versions(root):
    return {
        version.partition("-")[0].split()[-1]
        for name, version in root.packages().items()
        if name.startswith(("nvidia-dkms", "nvidia-kernel-open", "libcuda1", "libnvidia-compute"))
    }


@pytest.mark.parametrize("distribution", ["debian", "ubuntu"])
def test_from_nothing_the_host_is_as_planned_and_a_second_run_changes_nothing_and_rollback_takes_all_back(make_root, distribution):
    root = make_root(distribution)
    host = Host(root)
    before, files = host.state(), tree(root.path)
    assert host.failing() != []
    steps = host.todo()
    assert host.call("install", "--dry-run").returncode == 0
    assert changed(files, tree(root.path)) == []
    done = host.install()
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert [step for step in steps if f"{step}: " not in done.stderr] == []
    assert host.failing() == []
    files, runs = tree(root.path), host.runs()
    assert host.install().returncode == 0
    assert changed(files, tree(root.path)) == []
    assert host.runs() == runs
    taken_back(host, before)


@pytest.mark.parametrize(("distribution", "version"), [("debian", "570.211.01"), ("ubuntu", "570.211.01"), ("debian", "595.58.03")])
def test_another_branch_becomes_580_and_rollback_brings_it_back_without_a_network(make_root, distribution, version):
    root = make_root(distribution)
    with_driver(root, version)
    host = Host(root, more="driver: {version: '580.*', install: '580'}\n")
    before = host.state()
    installed(host, "--only", "driver")
    assert driver_versions(root) == {"580.178.04"}
    for name in ("cuda", "toolkit", "archive"):
        root.publish(name, lambda *_: True)
    taken_back(host, before)
    assert driver_versions(root) == {version}


def test_toolkit_1_18_becomes_1_19_0_and_rollback_brings_it_back(make_root):
    root = make_root("debian")
    root.use_repositories()
    root.apt("install", *(f"{name}=1.18.2-1" for name in TOOLKIT))
    host = Host(root)
    before = host.state()
    installed(host, "--only", "toolkit")
    assert {root.packages()[name] for name in TOOLKIT} == {"hi 1.19.0-1"}
    assert [name for name in before["packages"] if name not in root.packages()] == []
    taken_back(host, before)
