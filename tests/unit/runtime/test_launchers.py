"""Who starts containers for jobs, read from a host made of a dictionary: kubelets and what they ask, and what brings GPUs."""

import json

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.read_launchers import read_launchers
from hostagent.domains.runtime.read_unit_flags import unit_flags
from hostagent.domains.system.read_services import read_services
from hostagent.facts.host import Machine, Process, Services
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Runtime
from hostagent.testing import host

UNREAD = Unread("not-recorded", "not asked")
UNIT = "[Unit]\n[Service]\nExecStart=/usr/bin/kubelet {}\n[Install]\nWantedBy=multi-user.target\n"
WANTS = "/etc/systemd/system/multi-user.target.wants"


def read(files, processes=(), kind="live", runtimes=(), sockets=UNREAD, *, platform=UNREAD):
    source = host({"processes": [], **files}, kind)
    machine = Machine(**(dict.fromkeys(Machine.__dataclass_fields__, UNREAD) | {"processes": processes, "listening_sockets": sockets}))
    facts = {Machine: machine, Services: read_services(source, lambda _: None), Runtime: runtimes, Platform: platform}
    return read_launchers(source, facts.__getitem__)


def enabled(name, text):
    return {f"/usr/lib/systemd/system/{name}.service": text, f"{WANTS}/{name}.service": ("link", f"/usr/lib/systemd/system/{name}.service")}


def kubelet(*argv, name="kubelet", unit="kubelet"):
    return (Process(7, name, argv, 1.0, f"{unit}.service"),)


def of(found):
    (one,) = found.kubelets
    return one.endpoint, one.runtime


@pytest.mark.parametrize(
    ("argv", "runtime"),
    [
        (("kubelet", "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"), "containerd"),
        (("kubelet", "--container-runtime-endpoint", "unix:///var/run/crio/crio.sock"), "crio"),
        (("kubelet", "--container-runtime-endpoint=/var/run/crio/crio.sock"), "crio"),
        (("kubelet", "--container-runtime-endpoint=unix:///var/run/cri-dockerd.sock"), "docker"),
        (("kubelet",), "containerd"),
    ],
)
def test_a_running_kubelet_says_its_endpoint_by_its_flags(argv, runtime):
    assert of(read({}, kubelet(*argv)))[1] == runtime


def test_a_flag_wins_over_the_file_and_a_drop_in_of_its_directory_over_both_files():
    files = {"/c.yaml": "containerRuntimeEndpoint: unix:///run/crio/crio.sock\ncgroupDriver: systemd\n"}
    (one,) = read(files, kubelet("kubelet", "--config=/c.yaml")).kubelets
    assert (one.runtime, one.cgroup_driver) == ("crio", "systemd")
    (one,) = read(files, kubelet("kubelet", "--config=/c.yaml", "--container-runtime-endpoint=/run/cri-dockerd.sock")).kubelets
    assert one.runtime == "docker"
    files["/d/40-node.conf"] = json.dumps(
        {"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock", "cgroupDriver": "cgroupfs"}
    )
    (one,) = read(files, kubelet("kubelet", "--config=/c.yaml", "--config-dir=/d")).kubelets
    assert (one.runtime, one.cgroup_driver) == ("containerd", "cgroupfs")


def test_a_kubelet_that_is_down_is_in_use_where_its_unit_is_enabled():
    assert of(read(enabled("kubelet", UNIT.format("--container-runtime-endpoint=unix:///run/crio/crio.sock")))) == (
        "/run/crio/crio.sock",
        "crio",
    )
    flags = {
        "/var/lib/kubelet/kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/cri-dockerd.sock --x=y"\n'
    }
    drop_in = {
        "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": "[Service]\nEnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n"
    }
    assert of(read({**enabled("kubelet", UNIT.format("$KUBELET_KUBEADM_ARGS")), **drop_in, **flags})) == ("/run/cri-dockerd.sock", "docker")


def test_one_that_is_neither_enabled_nor_runs_is_not_in_use():
    assert read({"/usr/lib/systemd/system/kubelet.service": UNIT.format("")}).kubelets == ()


@pytest.mark.parametrize("kind", ["live", "image"])
def test_before_it_has_joined_a_cluster_nothing_says_its_endpoint(kind):
    assert of(read(enabled("kubelet", UNIT.format("")), kind=kind)) == ("", "")


def test_a_distribution_has_its_own_place_unless_it_is_told_another():
    assert of(read({}, kubelet("/usr/local/bin/k3s", "agent", name="k3s-agent", unit="k3s-agent")))[1] == "k3s"
    assert of(read({}, kubelet("/usr/local/bin/k3s", "server", "--docker", name="k3s-server", unit="k3s")))[1] == "docker"
    told = {"/etc/rancher/k3s/config.yaml": "container-runtime-endpoint: unix:///run/containerd/containerd.sock\n"}
    assert of(read(told, kubelet("/usr/local/bin/k3s", "agent", name="k3s-agent", unit="k3s-agent")))[1] == "containerd"
    assert of(read({}, kubelet("/var/lib/rancher/rke2/bin/kubelet", unit="rke2-agent")))[1] == "rke2"
    assert of(read({}, kubelet("/var/lib/k0s/bin/kubelet", unit="k0scontroller")))[1] == "k0s"


@pytest.mark.parametrize(("sockets", "heard"), [(("/var/run/cri-dockerd.sock",), True), (("/run/docker.sock",), False)])
def test_behind_cri_dockerd_somebody_has_to_listen(sockets, heard):
    argv = ("kubelet", "--container-runtime-endpoint=unix:///var/run/cri-dockerd.sock")
    (one,) = read({"sockets": []}, kubelet(*argv), sockets=sockets).kubelets
    assert one.shim_listens is heard


@pytest.mark.parametrize("argv", [("kubelet",), ("/usr/local/bin/k3s", "server", "--docker")])
def test_a_runtime_itself_and_k3s_need_no_cri_dockerd(argv):
    name = "kubelet" if argv == ("kubelet",) else "k3s"
    (one,) = read({}, kubelet(*argv, name="kubelet" if name == "kubelet" else "k3s-server", unit=name)).kubelets
    assert one.shim_listens.why == "not-supported"


def test_an_endpoint_of_nobody_that_is_known_is_unread():
    assert of(read({}, kubelet("kubelet", "--container-runtime-endpoint=/run/other.sock")))[1].why == "error"


def test_what_may_be_a_kubelet_leaves_it_open():
    hidden = Process(7, "kubelet", (), 1.0, Unread("denied", "who runs it"))
    assert read({}, (hidden,)).kubelets.why == "denied"


def test_a_configuration_that_cannot_be_read_leaves_the_endpoint_open():
    found = read({"/c.yaml": Unread("denied", "/c.yaml")}, kubelet("kubelet", "--config=/c.yaml"))
    assert of(found)[0].why == "denied"


def test_beside_a_flag_no_file_matters():
    argv = ("kubelet", "--config=/c.yaml", "--container-runtime-endpoint=/run/crio/crio.sock", "--cgroup-driver=systemd")
    (one,) = read({"/c.yaml": Unread("denied", "/c.yaml")}, kubelet(*argv)).kubelets
    assert (one.runtime, one.cgroup_driver) == ("crio", "systemd")


def test_only_sockets_and_libraries_with_bytes_count():
    files = {
        "/var/lib/kubelet/device-plugins/nvidia-gpu.sock": "a file",
        "/home/kubernetes/bin/nvidia/lib64/libcuda.so.580.159.03": "",
        "/home/kubernetes/bin/nvidia/lib64/libcuda.so.580.159.04": "\x7fELF",
    }
    found = read(files)
    assert found.plugin_sockets == ()
    assert found.mounted_libraries == ("/home/kubernetes/bin/nvidia/lib64/libcuda.so.580.159.04",)


def test_an_empty_exec_start_clears_those_before_it():
    text = UNIT.format("--config=/old") + "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet \\\n  --config /new --token x\n"
    files = enabled("kubelet", text)
    services = read_services(host({"processes": [], **files}), lambda _: None)
    assert unit_flags(host(files), services.unit("kubelet")) == ("--config", "/new")


@pytest.mark.parametrize(("unit", "found"), [("docker", True), ("snap.docker.dockerd", False)])
def test_dockers_snap_sees_no_hook_of_the_host(unit, found):
    there = {"kind": "file", "mode": 0o755, "uid": 0, "gid": 0, "size": 9, "mtime": 0.0, "major": 0, "minor": 0}
    files = {"stat /usr/bin/nvidia-container-runtime-hook": there}
    assert read(files, (Process(9, "dockerd", ("dockerd",), 1.0, f"{unit}.service"),)).docker_hook is found
