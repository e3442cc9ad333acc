"""Which platform a host is: two marks, never one; and what follows for the remedies of its checks."""

from dataclasses import fields, replace

import pytest

from hostagent.core.tables.platforms import owners_way
from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.driver.owned import library_platform
from hostagent.domains.system.read_os import read_os
from hostagent.domains.system.read_platform import read_platform
from hostagent.engine import catalogue
from hostagent.engine.evaluate import evaluate
from hostagent.facts.driver import Driver, Library
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.platform import Part, Platform
from hostagent.facts.toolkit import Toolkit
from hostagent.host.source import Source
from hostagent.profiles import profile
from hostagent.testing import TreeBackend
from tests.firsts import told

LOADED = profile.load("default", site_file="/nonexistent")
CHECKS = {one.id: one for one in catalogue.load(LOADED.profile.catalogues)}


def host(*paths, id_="ubuntu", release="6.8.0-87-generic", variant="", **answers):
    """Each path is a file with a word in it."""
    answer = {"hostname": "a", "release": release, "machine": "x86_64", "boot_id": "b", "now": 1.0, "uid": 0}
    return {"host": answer, "os_release": {"id": id_, "variant_id": variant}, **dict.fromkeys(paths, "x"), **answers}


def board(vendor, product="x"):
    return {"/sys/class/dmi/id/sys_vendor": f"{vendor}\n", "/sys/class/dmi/id/product_name": f"{product}\n"}


def platform(files, kind="live"):
    source = Source(TreeBackend(files, kind))
    return read_platform(source, lambda _: read_os(source, lambda _: None))


@pytest.mark.parametrize(
    ("files", "name", "owner"),
    [
        (host("/home/kubernetes/bin/x", id_="cos"), "GKE node", "provider"),
        (host("/home/kubernetes/kubelet-config.yaml", **board("Google")), "GKE node", "provider"),
        (host("/etc/eks/nvidia-kmod-load.sh", id_="amzn", **board("Amazon EC2")), "EKS AMI", "image"),
        (host("/usr/bin/nodeadm", id_="amzn"), "EKS AMI", "image"),
        (host("/opt/azure/containers/provision.sh", **board("Microsoft Corporation")), "AKS node image", "image"),
        (host("/etc/dgx-release", **board("NVIDIA")), "DGX OS", "host"),
        (host("/dev/dxg", release="5.15.167.4-microsoft-standard-WSL2"), "WSL2", "provider"),
        (host("/etc/.ignition-result.json", id_="rhel"), "Red Hat CoreOS", "image"),
        (host("/run/ostree-booted", id_="rhel"), "", "host"),
        (host("/etc/nv_tegra_release", release="5.15.148-tegra"), "Jetson Linux", "image"),
        (host("/usr/bin/apiclient", id_="bottlerocket"), "Bottlerocket", "image"),
        (host("/etc/cri/conf.d/cri.toml", id_="talos"), "Talos Linux", "image"),
        (host("/usr/share/flatcar/release", id_="flatcar"), "Flatcar Container Linux", "image"),
        (host("/run/ostree-booted", id_="rhcos"), "Red Hat CoreOS", "image"),
        (host("/run/ostree-booted", id_="fedora", variant="coreos"), "CoreOS", "image"),
        (host("/usr/sbin/transactional-update", id_="sl-micro"), "SUSE Linux Micro", "image"),
        (host("/snap/core24", id_="ubuntu-core"), "Ubuntu Core", "image"),
        (host(), "", "host"),
        (host(id_="cos"), "", "host"),
        (host("/etc/eks/nvidia-kmod-load.sh", id_="debian"), "", "host"),
        (host("/dev/dxg"), "", "host"),
        (host("/home/kubernetes/bin/kubelet", id_="rocky"), "", "host"),
        (host("/run/ostree-booted", id_="fedora"), "", "host"),
    ],
)
def test_a_platform_is_recognised_by_two_marks(files, name, owner):
    found = platform(files)
    assert found.name == name
    assert found.driver.owner == owner


@pytest.mark.parametrize(
    "files",
    [
        host("/etc/eks/nvidia-kmod-load.sh/x", id_="amzn"),
        host(**{"/etc/eks/release": ""}, id_="amzn"),
        host("/home/kubernetes/bin/nvidia/x", **board("Google")),
        host("/opt/azure/containers/x"),
        host(**{"/etc/dgx-release": ""}),
        host("/home/kubernetes/kubelet-config.yaml", **board("Dell Inc.")),
        host("/etc/eks/bootstrap.sh", **board("Google")),
    ],
)
def test_a_host_of_an_ordinary_system_is_of_no_platform_by_a_directory_an_empty_mark_or_on_anothers_board(files):
    assert platform(files).name == ""


@pytest.mark.parametrize(
    ("files", "virtual"),
    [
        (board("QEMU", "Standard PC (Q35 + ICH9, 2009)"), "vm"),
        (board("Microsoft Corporation", "Virtual Machine"), "vm"),
        (board("Microsoft Corporation", "C2080"), ""),
        (board("Amazon EC2", "p5.48xlarge"), "vm"),
        (board("Supermicro", "SYS-821GE-TNHR"), ""),
        ({}, ""),
        ({"/run/systemd/container": "lxc", "readlink /proc/1/ns/pid": "pid:[4026533420]"}, "container"),
        ({"/run/systemd/container": "lxc", "readlink /proc/1/ns/pid": "pid:[4026531836]"}, ""),
        ({"/run/systemd/container": "docker", "readlink /proc/1/ns/pid": "pid:[4026533420]"}, "container"),
        ({"/run/systemd/container": "docker", "readlink /proc/1/ns/pid": "pid:[4026531836]"}, ""),
        ({"/run/systemd/container": "wsl", **board("QEMU")}, "vm"),
    ],
)
def test_what_a_host_runs_in(files, virtual):
    assert platform(host(**files)).virtual == virtual


def test_what_a_host_runs_in_is_open_where_the_board_or_the_namespace_cannot_be_read():
    denied = Unread("denied", "stat")
    assert platform(host(**{"read /sys/class/dmi/id/sys_vendor": denied})).virtual == denied
    assert platform(host(**{"/run/systemd/container": "lxc", "readlink /proc/1/ns/pid": denied})).virtual == denied


NAMESPACE, FIRST = {"/proc/2/stat": "2 (sh) S 1 2 1 0 -1 4194304 0 0\n"}, {"/proc/2/stat": "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0\n"}
HOSTS = "# Kubernetes-managed hosts file.\n127.0.0.1 localhost\n"


@pytest.mark.parametrize(
    ("files", "is_one"),
    [
        ({}, False),
        ({"/.dockerenv": "", **NAMESPACE}, True),
        ({"/run/.containerenv": "", **NAMESPACE}, True),
        ({"/run/secrets/kubernetes.io/serviceaccount/token": "x", **NAMESPACE}, True),
        ({"/etc/hosts": HOSTS, **NAMESPACE}, True),
        ({"/etc/hosts": "127.0.0.1 localhost\n", **NAMESPACE}, False),
        ({"/.dockerenv": "", **FIRST}, False),
    ],
)
def test_an_applications_container_is_one_by_a_mark_and_by_its_processes(files, is_one):
    found = platform(host(**files))
    assert (found.contained, found.in_container, found.virtual) == (is_one, is_one, "")


def test_a_container_in_a_virtual_machine_is_both():
    found = platform(host(**{"/.dockerenv": "", **NAMESPACE, **board("QEMU", "Standard PC (Q35 + ICH9, 2009)")}))
    assert (found.virtual, found.in_container) == ("vm", True)


def test_where_the_kernels_own_threads_are_seen_no_mark_is_asked_for():
    found = platform(host(**{"/.dockerenv": "", "read /etc/hosts": Unread("denied", "read"), **FIRST}))
    assert found.contained is False


def test_whether_it_is_a_container_is_open_where_the_namespace_cannot_be_seen():
    found = platform(host(**{"/.dockerenv": "", "/proc/2/stat": Unread("denied", "read")}))
    assert (found.contained.why, found.in_container) == ("denied", False)


@pytest.mark.parametrize(
    ("files", "part"),
    [
        (host(), Part("", "host")),
        (host("/run/mellanox/drivers/.driver-ready"), Part("/run/mellanox/drivers", "operator")),
        (host("/run/mellanox/drivers/usr/x"), Part("", "host")),
        (host("/home/kubernetes/bin/x", id_="cos"), Part("", "provider")),
        (host("/etc/eks/nvidia-kmod-load.sh", id_="amzn", **board("Amazon EC2")), Part("", "image")),
        (host("/home/kubernetes/bin/x", "/run/mellanox/drivers/.driver-ready", id_="cos"), Part("/run/mellanox/drivers", "operator")),
    ],
)
def test_whose_the_rdma_drivers_are(files, part):
    assert platform(files).rdma == part


def test_the_way_of_the_network_operator_is_not_that_of_the_gpu_operator():
    assert "NicClusterPolicy" in " ".join(owners_way("", "operator", "rdma"))


def test_what_the_profile_gives_to_the_operator_is_the_operators_though_its_container_left_nothing():
    loaded = profile.load("gpu-operator-26.3", site_file="/nonexistent")
    driver = replace(Driver(*[Unread("absent")] * len(fields(Driver))), loaded=False)
    facts = HostFacts({Driver: driver, Platform: platform(host())})
    (one,) = evaluate([CHECKS["driver.loaded"]], facts, loaded.profile)
    assert "ClusterPolicy" in told(one.remedy)


def test_the_operators_parts_are_its_own_on_every_platform():
    found = platform(
        host(
            "/usr/bin/nodeadm",
            "/run/nvidia/driver/usr/bin/nvidia-smi",
            "/usr/local/nvidia/toolkit/libnvidia-container.so.1.19.0",
            id_="amzn",
        )
    )
    assert found.operator == ("driver", "toolkit")
    assert (found.driver.owner, found.libraries.place, found.toolkit.owner, found.runtime.owner) == (
        "operator",
        "/run/nvidia/driver",
        "operator",
        "operator",
    )
    assert platform(host("/usr/local/nvidia/toolkit/x")).operator == (), "a directory proves nothing"


def test_a_mark_that_nobody_could_look_for_leaves_the_platform_open():
    found = platform(host(**{"stat /etc/dgx-release": Unread("denied", "stat")}))
    assert found.name.why == "denied"


def made(kind, **values):
    """A fact of which nothing but `values` was read."""
    return kind(**{**dict.fromkeys((one.name for one in fields(kind)), Unread("absent")), **values})


def finding(part, name="EKS AMI", **toolkit):
    owned = made(Platform, name=name, driver=part, toolkit=part, runtime=part)
    facts = HostFacts({Platform: owned, Toolkit: made(Toolkit, **{"operator_version": "1.17.0", **toolkit})})
    return evaluate([CHECKS["toolkit.known_vulnerability"]], facts, LOADED.profile)[0]


def test_a_remedy_is_what_its_reader_may_do():
    own = told(finding(Part("", "host")).remedy)
    assert "toolkit.version of the GPU Operator" in own
    assert told(finding(Part("", "image")).remedy) == (
        f"Replace the node with one from a corrected image: EKS AMI provides this part. Until then: {own}"
    )
    assert "ClusterPolicy" in told(finding(Part("", "operator")).remedy)
    assert own not in told(finding(Part("", "provider")).remedy)
    assert told(finding(Unread("denied")).remedy) == own


def test_what_has_no_known_place_is_not_judged():
    one = finding(Part("?", "provider"), "WSL2")
    assert (one.outcome, one.code, one.message) == ("skip", "no-place", "does not apply (where WSL2 keeps the toolkit is not known)")


def test_a_check_of_a_part_passes_no_more_where_nobody_could_tell_whose_it_is():
    """It may lie elsewhere: what was looked at proves nothing. A failure stays one."""
    gap = finding(Unread("denied", "stat", "stat /dev/dxg"), operator_version="", version="99.0")
    assert (gap.outcome, gap.code, gap.unread) == ("unknown", "unread-denied", "stat /dev/dxg")
    assert finding(Unread("denied", "stat")).outcome == "fail"
    assert finding(Part("", "host"), operator_version="", version="99.0").outcome == "pass"


def test_what_a_platform_brings_is_what_lies_in_its_place_and_is_whole():
    place = "/home/kubernetes/bin/nvidia/lib64"
    one = made(Platform, name="GKE node", libraries=Part(place, "provider"))

    def brought(path, fault=""):
        library = Library("libcuda.so.1", path, "580.178.04", cached=False, package="", fault=fault)
        return library_platform(one, made(Driver, libraries=(library,)))

    assert brought(f"{place}/libcuda.so.580.178.04") == "GKE node"
    assert brought(f"{place}/libcuda.so.580.178.04", "no library") == ""
    assert brought("/usr/lib64/libcuda.so.580.178.04") == ""
    assert library_platform(one, made(Driver, libraries=())) == ""
    assert library_platform(replace(one, libraries=Part("", "host")), made(Driver)) == ""
    assert library_platform(replace(one, libraries=Part("?", "provider")), made(Driver)) == ""
    with pytest.raises(UnreadError):
        library_platform(one, made(Driver))


def test_where_the_place_is_not_known_the_operators_directory_makes_none_known():
    found = platform(host("/dev/dxg", "/run/nvidia/driver/usr/x", release="6.6.87.2-microsoft-standard-WSL2"))
    assert (found.driver.place, found.driver.owner, found.gpus.place) == ("?", "provider", "?")


def test_of_a_driver_container_that_is_gone_the_profile_says_whose_the_driver_is():
    owned = made(Platform, name="", driver=Part("", "host"))
    facts = HostFacts({Platform: owned, Driver: made(Driver, loaded=False)})
    for name, word in (("default", "modprobe nvidia"), ("gpu-operator-26.3", "nvidia-driver-daemonset"), ("gke", "ask its provider")):
        wanted = profile.load(name, site_file="/nonexistent").profile
        assert word in told(evaluate([CHECKS["driver.loaded"]], facts, wanted)[0].remedy)
