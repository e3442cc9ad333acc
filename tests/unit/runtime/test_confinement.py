"""SELinux on containers, by each runtime's configuration and flags."""

import pytest

from hostagent.core.typed import build
from hostagent.core.unread import Unread
from hostagent.domains.runtime.read_confinement import read_confinement
from hostagent.facts.os import Os
from hostagent.facts.runtime import Runtime
from hostagent.testing import host

V2, V3 = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"


def read(kind, text="", argv=(), mode="enforcing", files=()):
    path = {"containerd": "/etc/containerd/config.toml", "docker": "/etc/docker/daemon.json", "crio": "/etc/crio/crio.conf"}[kind]
    fields = {"key": kind, "kind": kind, "in_use": True, "config_files": [path]}
    known = {
        Os: build(Os, {"selinux": mode}, "", lambda field: Unread("not-recorded", field)),
        Runtime: (build(Runtime, fields, "", lambda field: Unread("not-recorded", field)),),
    }
    program = {"containerd": "containerd", "docker": "dockerd", "crio": "crio"}[kind]
    process = {"pid": 5, "name": program, "argv": list(argv), "started_at": 1.0, "unit": f"{kind}.service"}
    asked = {f"read {path} 307200": text.encode(), "processes": [process] if argv else [], **dict(files)}
    return read_confinement(host(asked), known.__getitem__)


@pytest.mark.parametrize(
    ("kind", "text", "argv", "enabled"),
    [
        ("containerd", "", (), False),
        ("containerd", f'[plugins."{V3}"]\nenable_selinux = true\n', (), True),
        ("containerd", f'version = 2\n[plugins."{V2}"]\nenable_selinux = true\n', (), True),
        ("containerd", f'version = 2\n[plugins."{V2}"]\nenable_selinux = false\n', (), False),
        ("docker", "{}", (), False),
        ("docker", '{"selinux-enabled": true}', (), True),
        ("docker", "{}", ("dockerd", "--selinux-enabled", "-H", "fd://"), True),
        ("crio", "", (), True),
        ("crio", "[crio.runtime]\nselinux = false\n", (), False),
    ],
)
def test_who_labels_containers(kind, text, argv, enabled):
    (found,) = read(kind, text, argv).runtimes
    assert (found.key, found.enabled) == (kind, enabled)


@pytest.mark.parametrize("mode", ["permissive", "disabled"])
def test_a_host_that_does_not_enforce_is_not_looked_into(mode):
    found = read("crio", mode=mode)
    assert {found.runtimes.why, found.gpu_devices.why, found.gpu_policy.why} == {"absent"}


def test_flags_that_may_not_be_read_are_no_defaults():
    (found,) = read("docker", "{}", files={"processes": Unread("denied", "no")}).runtimes
    assert found.enabled.why == "denied"
    (old,) = read("docker", "{}", files={"processes": Unread("not-recorded", "no")}).runtimes
    assert old.enabled is False


def test_what_allows_the_devices():
    assert read("crio").gpu_policy is False
    labels = {"/etc/selinux/targeted/contexts/files/file_contexts.local": "/dev/nvidia.*    system_u:object_r:container_file_t:s0\n"}
    assert read("crio", files=labels).gpu_policy is True
    stat = {"kind": "dir", "mode": 448, "uid": 0, "gid": 0, "size": 1, "mtime": 1.0, "major": 0, "minor": 0}
    store = "/var/lib/selinux/targeted/active/modules"
    module = {f"stat {store}": stat, f"stat {store}/400/nvidia-container": stat}
    assert read("crio", files=module).gpu_policy is True
    denied = {f"stat {store}": stat, f"stat {store}/100/nvidia-container": Unread("denied", "no")}
    assert read("crio", files=denied).gpu_policy.why == "denied"
    assert read("crio", files={"/sys/fs/selinux/booleans/container_use_xserver_devices": "1 1"}).gpu_devices is True
