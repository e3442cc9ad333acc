"""Network controllers, from a dictionary as a host."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.topology.read_nics import read_nics
from hostagent.domains.topology.read_pci import DEVICES
from hostagent.domains.topology.read_topology import read_topology
from hostagent.snapshot.redact import Redactor
from hostagent.testing import host

ADDRESS = "0000:1a:00.0"


def function(address=ADDRESS, kind="0x020000", driver="mlx5_core", **files):
    given = {
        "class": kind, "vendor": "0x15b3", "device": "0x1021", "numa_node": "0", "local_cpulist": "0-55",
        "current_link_speed": "32.0 GT/s PCIe", "current_link_width": "16", "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16",
        **files,
    }  # fmt: skip
    found = {f"{DEVICES}/{address}/{name}": text if isinstance(text, tuple | Unread) else f"{text}\n" for name, text in given.items()}
    return found | ({f"{DEVICES}/{address}/driver": ("link", f"../../../bus/pci/drivers/{driver}")} if driver else {})


def only(files):
    (one,) = read_nics(host(files), None)
    return one


@pytest.mark.parametrize("kind", ["0x020000", "0x020700", "0x028000"])
def test_every_function_of_the_network_class_is_one(kind):
    one = only(function(kind=kind) | function("0000:1b:00.0", kind="0x030200") | function("0000:1c:00.0", kind="0x010802"))
    assert (one.pci, one.vendor_id, one.device_id, one.bound_to, one.virtual_of) == (ADDRESS, "0x15b3", "0x1021", "mlx5_core", "")
    assert (one.netdevs, one.rdma, one.link_width, one.link_speed_max) == ((), (), 16, "32.0 GT/s PCIe")


def test_interfaces_and_rdma_devices():
    files = {f"{DEVICES}/{ADDRESS}/{name}": "" for name in ("net/ens1f0np0/address", "net/ens1f1np1/address", "infiniband/mlx5_0/fw_ver")}
    one = only(function() | files)
    assert (one.netdevs, one.rdma) == (("ens1f0np0", "ens1f1np1"), ("mlx5_0",))


def test_the_interface_of_a_virtio_device():
    one = only(function(driver="virtio-pci") | {f"{DEVICES}/{ADDRESS}/virtio3/net/enp1s0/address": ""})
    assert one.netdevs == ("enp1s0",)


def test_both_ends_of_the_link_count():
    above = "/sys/devices/pci0000:17/0000:17:01.0"
    files = {path.replace(f"{DEVICES}/{ADDRESS}", f"{above}/{ADDRESS}"): text for path, text in function().items()}
    files |= {
        f"{DEVICES}/{ADDRESS}": ("link", f"{above}/{ADDRESS}"),
        f"{above}/max_link_width": "8\n",
        f"{above}/max_link_speed": "16.0 GT/s PCIe\n",
    }
    one = only(files)
    assert (one.link_width_max, one.link_speed_max) == (8, "16.0 GT/s PCIe")
    assert only(files | {f"{above}/max_link_speed": "Unknown\n"}).link_speed_max == "32.0 GT/s PCIe"
    assert only(files | {f"{above}/max_link_speed": Unread("denied", "permission denied")}).link_speed_max.why == "denied"


def test_a_virtual_function_has_the_place_of_its_card_and_no_link():
    virtual = "0000:1a:00.2"
    files = function() | {f"{DEVICES}/{virtual}/{name}": f"{text}\n" for name, text in (("class", "0x020000"), ("device", "0x101e"))}
    files[f"{DEVICES}/{virtual}/physfn"] = ("link", f"../{ADDRESS}")
    source = host(files)
    _, one = read_nics(source, None)
    assert (one.virtual_of, one.numa_node, one.local_cpus, one.vendor_id, one.device_id) == (ADDRESS, 0, "0-55", "0x15b3", "0x101e")
    assert one.link_width.why == "not-supported"
    assert not any(virtual in path and "link_" in path for _, path, *_ in source._answers)


def test_a_virtual_function_whose_card_is_not_there_is_asked_itself():
    files = function(numa_node="1") | {f"{DEVICES}/{ADDRESS}/physfn": ("link", "../0000:19:00.0")}
    one = only(files)
    assert (one.virtual_of, one.numa_node, one.link_width.why) == ("0000:19:00.0", 1, "not-supported")


@pytest.mark.parametrize(("name", "why"), [("numa_node", "denied"), ("local_cpulist", "denied"), ("physfn", "denied"), ("vendor", "error")])
def test_what_cannot_be_read_is_unread_and_the_rest_is_there(name, why):
    one = only(function() | {f"{DEVICES}/{ADDRESS}/{name}": Unread(why, "x"), f"readlink {DEVICES}/{ADDRESS}/{name}": Unread(why, "x")})
    field = {"local_cpulist": "local_cpus", "physfn": "virtual_of", "vendor": "vendor_id"}.get(name, name)
    assert getattr(one, field).why == why
    assert one.device_id == "0x1021"


def test_a_class_that_cannot_be_read_may_be_a_nic():
    assert read_nics(host(function(**{"class": Unread("denied", "x")})), None).why == "denied"
    assert read_nics(host(function(**{"class": Unread("absent", "gone")})), None) == ()


def test_no_pci_is_no_nic():
    assert read_nics(host({"/etc/hostname": "x"}), None) == ()


def test_gpus_and_nics_have_a_place():
    above = "/sys/devices/pci0000:16/0000:16:01.0"
    files = {}
    for address, kind, vendor in (
        (ADDRESS, "0x020000", "0x15b3"),
        ("0000:1b:00.0", "0x030200", "0x10de"),
        ("0000:1c:00.0", "0x030000", "0x1a03"),
    ):
        files |= {f"{above}/{address}/class": f"{kind}\n", f"{above}/{address}/vendor": f"{vendor}\n"}
        files[f"{DEVICES}/{address}"] = ("link", f"{above}/{address}")
    places = read_topology(host(files), None).places
    assert [(one.pci, one.root, one.bridges) for one in places] == [
        (ADDRESS, "pci0000:16", ("0000:16:01.0",)),
        ("0000:1b:00.0", "pci0000:16", ("0000:16:01.0",)),
    ]


@pytest.mark.parametrize("name", ["enx0242ac110002", "ibx506b4b0300c8d2e0", "rocex506b4b0300c8d2e0"])
def test_a_name_that_is_made_of_an_address_is_a_pseudonym_in_a_snapshot(name):
    masked = Redactor(b"key", ()).text(name)
    assert masked != name
    assert len(masked) == len(name)
    assert Redactor(b"key", ()).text("enP2p1s0 mlx5_0 ibp24s0") == "enP2p1s0 mlx5_0 ibp24s0"
