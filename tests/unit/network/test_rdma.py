"""The RDMA stack of a host, from a dictionary as a host."""

from dataclasses import fields

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.network.read_rdma import parse_limits, read_rdma
from hostagent.facts.kernel import Kernel
from hostagent.facts.rdma import HandleLimit
from hostagent.testing import host

NOT_NAMED = Unread("not-recorded", "not named")
RELEASE = "6.8.0-90-generic"
INDEX = f"/lib/modules/{RELEASE}/modules.dep"
ON_DISK = "updates/dkms/mlx5_core.ko.zst: updates/dkms/mlx_compat.ko.zst\n"
IN_TREE = "kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.zst:\n"
VERSION = "/sys/module/mlx5_core/version"
READY = "/run/mellanox/drivers/.driver-ready"


def stack(files=(), loaded=("mlx5_core", "mlx5_ib"), devices=("mlx5_0",)):
    kernel = Kernel(**{field.name: NOT_NAMED for field in fields(Kernel)} | {"loaded_modules": loaded, "release": RELEASE})
    given = {"rdma devices": list(devices), **{f"rdma device {name}": {"manages_nvlink": False} for name in devices}}
    return read_rdma(host(given | dict(files)), {Kernel: kernel}.__getitem__)


def test_a_host_without_rdma():
    found = stack(loaded=(), devices=())
    assert (found.devices, found.managers, found.nodes, found.limits, found.stacks) == ((), (), (), (), ())
    assert (found.netns_mode.why, found.library, found.peer_memory, found.driver_version) == ("absent", "", "", "")


def test_devices_nodes_mode_and_library():
    found = stack({
        "/dev/infiniband/uverbs0": "", "/dev/infiniband/rdma_cm": "", "/sys/module/ib_core/parameters/netns_mode": "N\n",
        "rdma library": {"path": "/usr/lib/libibverbs.so.1", "dmabuf": True}, "rdma device mlx5_1": {"manages_nvlink": True},
        "rdma devices": ["mlx5_0", "mlx5_1"],
    })  # fmt: skip
    assert (found.devices, found.managers, found.nodes) == (("mlx5_0", "mlx5_1"), ("mlx5_1",), ("rdma_cm", "uverbs0"))
    assert (found.netns_mode, found.library, found.registers_dmabuf) == ("exclusive", "/usr/lib/libibverbs.so.1", True)


def test_a_device_of_which_nobody_knows_what_it_is():
    assert stack({"rdma device mlx5_0": {"manages_nvlink": {"unread": ["denied", "vpd"]}}}).managers.why == "denied"
    assert stack({"rdma device mlx5_0": {"manages_nvlink": "no"}}).managers.why == "error"
    assert stack({"rdma library": {"path": 5, "dmabuf": 5}}).registers_dmabuf.why == "error"


@pytest.mark.parametrize(
    ("files", "loaded", "word"),
    [
        ((), (), ""),
        ((), ("nvidia_peermem",), "loaded"),
        ((), ("nv_peer_mem",), "loaded"),
        (("/sys/module/nvidia_peermem/version",), ("nvidia_peermem",), "usable"),
        (("/sys/kernel/mm/memory_peers/nv_mem/version",), ("nvidia_peermem",), "usable"),
        (("/sys/kernel/mm/memory_peers/nv_mem_nc/version",), (), "usable"),
    ],
)
def test_peer_memory_is_usable_and_not_only_loaded(files, loaded, word):
    assert stack(dict.fromkeys(files, "1.0\n"), loaded=loaded).peer_memory == word


def test_peer_memory_is_unread_where_nobody_may_look():
    assert stack(loaded=NOT_NAMED).peer_memory.why == "not-recorded"
    assert stack({"stat /sys/module/nvidia_peermem/version": Unread("denied", "no")}).peer_memory.why == "denied"


@pytest.mark.parametrize(
    ("files", "stacks"),
    [
        ({INDEX: IN_TREE}, ("inbox",)),
        ({INDEX: ON_DISK, VERSION: "24.10-1.1.4\n"}, ("DOCA-OFED",)),
        ({INDEX: ON_DISK}, ("inbox", "DOCA-OFED")),  # the initramfs had the kernel's own
        ({INDEX: IN_TREE, VERSION: "24.10-1.1.4\n"}, ("DOCA-OFED",)),
        ({INDEX: IN_TREE, VERSION: "24.10-1.1.4\n", READY: ""}, ("Network Operator",)),
        ({INDEX: ON_DISK, VERSION: "24.10-1.1.4\n", READY: ""}, ("DOCA-OFED", "Network Operator")),
        ({VERSION: "24.10-1.1.4\n"}, ("DOCA-OFED",)),
    ],
)
def test_who_brings_the_modules(files, stacks):
    assert stack(files).stacks == stacks


def test_amazons_package_is_the_providers():
    files = {INDEX: "extra/efa.ko.xz: kernel/drivers/infiniband/core/ib_core.ko\n", "/sys/module/efa/version": "2.13.0g\n"}
    assert stack(files, loaded=("efa",)).stacks == ("provider",)
    assert stack({INDEX: "kernel/drivers/infiniband/hw/efa/efa.ko:\n"}, loaded=("efa",)).stacks == ("inbox",)


def test_an_image_has_what_its_disk_has():
    assert stack({INDEX: ON_DISK}, loaded=Unread("not-running", "an image")).stacks == ("DOCA-OFED",)
    assert stack({INDEX: IN_TREE}, loaded=Unread("not-running", "an image")).stacks == ()


def test_stacks_are_unread_where_the_modules_are():
    assert stack(loaded=NOT_NAMED).stacks.why == "not-recorded"
    assert stack({INDEX: Unread("error", "no")}).stacks.why == "error"


def test_limits_of_control_groups():
    path = "/sys/fs/cgroup/kubepods.slice/rdma.max"
    found = stack(
        {path: "mlx5_0 hca_handle=3 hca_object=max\n", "/sys/fs/cgroup/docker/rdma.max": "mlx5_0 hca_handle=max hca_object=max\n"}
    )
    assert found.limits == (HandleLimit("kubepods.slice", "mlx5_0", 3, -1),)
    assert stack({path: Unread("denied", "no")}).limits.why == "denied"
    assert stack({path: "mlx5_0 hca_handle=few\n"}).limits.why == "error"
    assert parse_limits("\n \nmlx5_0\n", "a") == ()
