"""What NCCL would choose on a host: network, interface, HCAs, GPUDirect. Network, HCAs and GPUDirect by its rules alone: nobody can be asked."""

import json
from dataclasses import fields, replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.nccl import report as told
from hostagent.domains.nccl.choice import choice
from hostagent.domains.nccl.devices import addresses, bootstraps, version, winning
from hostagent.domains.nccl.interfaces import bootstrap
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kernel import Kernel
from hostagent.facts.nccl import Nccl, NcclLibrary, NcclPlugin, NcclSetting
from hostagent.facts.network import Address, Netdev, Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Rdma, RdmaPort
from hostagent.facts.topology import Nic, NumaNode, PciPlace, Topology
from hostagent.testing import without_one_field

NOT_NAMED = Unread("not-recorded", "not named")
DENIED = Unread("denied", "open")
OFI = NcclPlugin(
    "/opt/amazon/ofi-nccl/lib/libnccl-net.so", ("libnccl-net.so", "libnccl-net-ofi.so"), "linker", ("net", "tuner"), ("libfabric.so.1",), ()
)
SHARP = NcclPlugin(
    "/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so", ("libnccl-net.so",), "LD_LIBRARY_PATH", ("net", "collnet"), (), ()
)
FASTRAK = NcclPlugin("/usr/local/nvidia/tcpxo/libnccl-net.so", ("libnccl-net.so",), "linker", ("net",), (), ())
UNKNOWN = NcclPlugin("/opt/x/libnccl-net-x.so", ("libnccl-net-x.so",), "linker", ("net",), (), ())


def made(fact, **given):
    return fact(**{field.name: NOT_NAMED for field in fields(fact)} | given)


def port(number, **given):
    own = {"name": f"mlx5_{number}:1", "device": f"mlx5_{number}", "number": 1, "pci": f"0000:{16 * number + 24:02x}:00.0", "virtual_of": "", "driver": "mlx5_core", "state": "ACTIVE", "link_layer": "InfiniBand"}  # fmt: skip
    return made(RdmaPort, **own | given)


def efa(number):
    return port(number, name=f"rdmap{number}s0:1", device=f"rdmap{number}s0", driver="efa", link_layer="Unspecified")


def gpu(number, **given):
    own = {"pci": f"0000:{16 * number + 27:02x}:00.0", "numa_node": 0, "device_id": "0x2330", "name": "NVIDIA H100 80GB HBM3", "bound_to": "nvidia", "compute_capability": "9.0", "nvlinks": ()}  # fmt: skip
    return made(Gpu, **own | given)


def netdev(name, index, *addresses, state="up"):
    return made(Netdev, name=name, index=index, state=state, flags=0x1003, addresses=tuple(Address(one, 24) for one in addresses))


NETWORK = made(
    Network, netdevs=(netdev("lo", 1, "127.0.0.1", state="unknown"), netdev("eth0", 2, "10.0.0.5"), netdev("cali1", 3, "10.1.0.5"))
)


def nccl(*settings, plugins=(), number="2.28.9"):
    rows = tuple(NcclSetting(*one.split("=", 1), True, "/etc/nccl.conf", line, True) for line, one in enumerate(settings, 1))
    libraries = (NcclLibrary("/usr/lib/libnccl.so.2", "linker", number, "12.9"),) if number else ()
    return Nccl(libraries, tuple(plugins), rows, False, ())


def host(*settings, ports=None, gpus=None, plugins=(), number="2.28.9", **given):
    """Two GPUs, each below a switch with its card."""
    ports = (port(0), port(1)) if ports is None else ports
    gpus = (gpu(0), gpu(1)) if gpus is None else gpus
    nics = tuple(made(Nic, pci=one.pci, numa_node=0, rdma=(one.device,), virtual_of="") for one in ports)
    bus = {one.pci: int(one.pci[5:7], 16) // 16 for one in (*ports, *gpus)}
    places = tuple(PciPlace(pci, "pci0000:00", (f"0000:00:0{number}.0", f"0000:{16 * number + 1:02x}:00.0", f"0000:{16 * number + 2:02x}:0{index % 8}.0")) for index, (pci, number) in enumerate(bus.items()))  # fmt: skip
    facts = {
        Nccl: nccl(*settings, plugins=plugins, number=number), Network: NETWORK, RdmaPort: ports, Gpu: gpus, Nic: nics,
        Topology: made(Topology, numa_nodes=(NumaNode(0, "0", 1, (), ()),), places=places), Platform: made(Platform, virtual=""),
        Kernel: made(Kernel, release="6.8.0-1", loaded_modules=()), Driver: made(Driver, flavour="open"),
        Rdma: made(Rdma, peer_memory="", library="", managers=(), registers_dmabuf=Unread("absent")),
    }  # fmt: skip
    return HostFacts({**facts, **{{"network": Network, "topology": Topology, "rdma": Rdma, "platform": Platform}[name]: value for name, value in given.items()}})  # fmt: skip


def chosen(*settings, **given):
    facts = host(*settings, **given)
    found = told.write(facts)
    jsonschema.Draft202012Validator(told.schema()).validate(json.loads(json.dumps(found)))
    one = choice(facts)
    return one.network, one.gdr


RDMA_PORTS = ("mlx5_0:1", "mlx5_1:1")


def test_a_healthy_host_takes_ib_with_gpudirect():
    assert told.write(host())["choice"] == {
        "network": "IB",
        "interface": "eth0",
        "hcas": list(RDMA_PORTS),
        "gdr": "yes",
        "why": "NCCL's own IB opens 2 ports",
    }


#: settings, what else, network, GPUDirect
ROWS = [
    (("NCCL_IB_DISABLE=1",), {}, "Socket", ""),
    (("NCCL_IB_DISABLE=0",), {}, "IB", "yes"),
    (("NCCL_NET=Socket",), {}, "Socket", ""),
    (("NCCL_NET=socket",), {}, "Socket", ""),
    (("NCCL_NET=ib",), {}, "IB", "yes"),
    (("NCCL_NET=IB", "NCCL_IB_DISABLE=1"), {}, "", ""),
    (("NCCL_NET=none-such",), {}, "", ""),
    (("NCCL_NET=",), {}, "", ""),
    (("NCCL_IB_HCA=mlx5_9",), {}, "Socket", ""),
    ((), {"ports": ()}, "Socket", ""),
    ((), {"ports": (port(0, state="DOWN"),)}, "Socket", ""),
    (("NCCL_SOCKET_IFNAME=eth9",), {}, "", ""),
    ((), {"plugins": (SHARP,)}, "IBext", "yes"),
    (("NCCL_IB_DISABLE=1",), {"plugins": (SHARP,)}, "IBext", "yes"),  # it is no setting of the plug-in
    (("NCCL_IBEXT_DISABLE=1",), {"plugins": (SHARP,)}, "IB", "yes"),
    (("NCCL_NET=IB",), {"plugins": (SHARP,)}, "IB", "yes"),
    (("NCCL_NET=IBext_v8",), {"plugins": (SHARP,)}, "IBext", "yes"),
    (("NCCL_NET=IBext_v8",), {}, "", ""),
    (("NCCL_NET_PLUGIN=none",), {"plugins": (SHARP,)}, "IB", "yes"),
    (("NCCL_NET_PLUGIN=",), {"plugins": (SHARP,)}, "IB", "yes"),
    (("NCCL_NET_PLUGIN=",), {"plugins": (SHARP,), "number": "2.23.4"}, "IBext", "yes"),
    (("NCCL_NET_PLUGIN=ofi",), {"plugins": (SHARP,)}, "IB", "yes"),
    (("NCCL_NET_PLUGIN=a,ofi",), {"plugins": (OFI,), "ports": (efa(0), efa(1)), "rdma": made(Rdma, peer_memory="usable", library="")}, "Libfabric", "yes"),
    (("NCCL_NET_PLUGIN=" + SHARP.path,), {"plugins": (replace(SHARP, place="directory"),)}, "IBext", "yes"),
    ((), {"plugins": (replace(SHARP, place="directory"),)}, "IB", "yes"),
    ((), {"plugins": (replace(SHARP, missing=("libucs.so.0",)),)}, "IB", "yes"),
    ((), {"plugins": (replace(SHARP, kinds=("tuner",)),)}, "IB", "yes"),
    ((), {"plugins": (OFI,), "ports": (efa(0), efa(1))}, "Libfabric", "yes"),
    ((), {"ports": (efa(0), efa(1))}, "Socket", ""),
    (("FI_PROVIDER=tcp",), {"plugins": (OFI,), "ports": (efa(0), efa(1))}, "Libfabric", ""),
    (("FI_PROVIDER=efa",), {"plugins": (OFI,), "ports": (efa(0), efa(1))}, "Libfabric", "yes"),
    (("NCCL_NET=AWS Libfabric",), {"plugins": (OFI,), "ports": (efa(0), efa(1))}, "Libfabric", "yes"),
    ((), {"plugins": (FASTRAK,)}, "FasTrak", ""),
    (("NCCL_NET_GDR_LEVEL=LOC",), {}, "IB", "no"),
    (("NCCL_NET_GDR_LEVEL=loc",), {}, "IB", "yes"),  # ignored
    (("NCCL_NET_GDR_LEVEL=1",), {}, "IB", "yes"),
    (("NCCL_NET_GDR_READ=0",), {}, "IB", "mixed"),
    (("NCCL_DMABUF_ENABLE=0",), {}, "IB", "no"),
    (("NCCL_DMABUF_ENABLE=0",), {"rdma": made(Rdma, peer_memory="usable", library="")}, "IB", "yes"),
    ((), {"rdma": made(Rdma, peer_memory="loaded", library="/usr/lib/libibverbs.so.1", registers_dmabuf=False)}, "IB", "no"),
    ((), {"gpus": (gpu(0), gpu(2))}, "IB", "mixed"),  # the second one's card is across the host bridge
    (("NCCL_NET_GDR_LEVEL=PHB",), {"gpus": (gpu(0), gpu(2))}, "IB", "yes"),
    (("NCCL_IB_HCA==mlx5_1",), {"gpus": (gpu(0),)}, "IB", "no"),
    ((), {"gpus": (gpu(0, compute_capability="7.5"), gpu(1, compute_capability="7.5"))}, "IB", "mixed"),
    ((), {"gpus": (gpu(0, compute_capability="7.5"),)}, "IB", "yes"),
    ((), {"gpus": (gpu(0), gpu(1, bound_to="vfio-pci"))}, "IB", "yes"),
    ((), {"gpus": (gpu(0, device_id="0x2684", name="NVIDIA GeForce RTX 4090"),)}, "IB", "no"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "given", "network", "gdr"), ROWS)
def test_settings_plugins_and_cards_decide(settings, given, network, gdr):
    assert chosen(*settings, **given) == (network, gdr)


GRACE = {"device_id": "0x2342"}


@pytest.mark.parametrize(
    ("number", "settings", "gdr"),
    [
        ("2.23.4", (), "no"),
        ("2.26.2", (), "no"),
        ("2.27.3", (), "yes"),
        ("2.28.9", ("NCCL_NET_GDR_LEVEL=2",), "yes"),
        ("2.29.7", (), "yes"),
        ("2.29.7", ("NCCL_NET_GDR_LEVEL=2",), "no"),
        ("2.29.7", ("NCCL_NET_GDR_C2C=0",), "no"),
        ("2.28.9", ("NCCL_NET_GDR_LEVEL=LOC",), "no"),
    ],
)
def test_on_grace_the_cards_of_the_cpu_are_near_from_2_27_on(number, settings, gdr):
    places = tuple(PciPlace(pci, root, ()) for pci, root in ((port(0).pci, "pci0000:00"), (gpu(0).pci, "pci0009:00")))
    topology = made(Topology, numa_nodes=(NumaNode(0, "0", 1, (), ()),), places=places)
    assert chosen(*settings, number=number, ports=(port(0),), gpus=(gpu(0, **GRACE),), topology=topology) == ("IB", gdr)


@pytest.mark.parametrize(
    ("given", "part", "why"),
    [
        ({"ports": (port(0, state=DENIED),)}, "network", "denied"),
        ({"plugins": (replace(SHARP, missing=DENIED),)}, "network", "denied"),
        ({"plugins": (OFI,)}, "network", "not-supported"),
        ({"gpus": ()}, "gdr", "absent"),
        ({"platform": made(Platform, virtual="vm"), "gpus": (gpu(2),)}, "gdr", "not-supported"),
        ({"rdma": made(Rdma, peer_memory=DENIED, library=""), "number": "2.28.9"}, "gdr", ""),
    ],
)
def test_what_is_not_known_is_unread_and_leaves_the_rest(given, part, why):
    one = choice(host(**given))
    found = getattr(one, part)
    assert (found.why if isinstance(found, Unread) else "") == why
    assert one.interface == "eth0"


def parts(facts):
    one = choice(facts)
    return {name: getattr(one, name) for name in ("network", "interface", "hcas", "gdr")}


WHOLE = {
    "ib": {},
    "efa": {"plugins": (OFI,), "ports": (efa(0), efa(1)), "rdma": made(Rdma, peer_memory="usable", library="")},
    "tuner": {"plugins": (replace(SHARP, kinds=("tuner",)),)},
    "lacking": {"plugins": (replace(SHARP, missing=("libucs.so.0",)),)},
    "geforce": {"gpus": (gpu(0, device_id="0x2684", name="NVIDIA GeForce RTX 4090"),)},
    "down": {"ports": (port(0, state="DOWN"), port(1, link_layer="Unspecified"))},
    "settings": {"settings": ("NCCL_IB_HCA==mlx5_0", "NCCL_NET_GDR_LEVEL=LOC", "NCCL_SOCKET_IFNAME=eth")},
    "old": {"number": "2.18.3"},
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_lost_leaves_a_part_as_it_is_or_unread_and_makes_it_nothing_else(name):
    given = dict(WHOLE[name])
    facts = host(*given.pop("settings", ()), **given)
    whole, lost = parts(facts), set()
    for kind in (Nccl, Network, RdmaPort, Gpu, Nic, Topology, Platform, Kernel, Driver, Rdma):
        value = facts.of(kind)
        for path, changed in ((kind.__name__, DENIED), *without_one_field(value)):
            found = parts(HostFacts({**facts._values, kind.__name__: changed}))
            for part, was in whole.items():
                if isinstance(found[part], Unread):
                    lost.add(part)
                else:
                    assert found[part] == was, (kind.__name__, path, part)
    assert lost >= {"network", "interface", "hcas"}


def test_a_plugin_that_nobody_knows_is_taken_and_not_described():
    one = choice(host("NCCL_NET_PLUGIN=x", plugins=(UNKNOWN,)))
    assert (one.network, one.hcas.why, one.gdr.why) == ("libnccl-net-x.so", "not-supported", "not-supported")
    assert choice(host("NCCL_NET_PLUGIN=x", "NCCL_NET=X", plugins=(UNKNOWN,))).network.why == "not-supported"
    assert choice(host("NCCL_NET_PLUGIN=x", "NCCL_NET=IB", plugins=(UNKNOWN,))).network == "IB"


def test_without_any_nccl_nothing_is_chosen():
    one = choice(host(number=""))
    assert {part.why for part in (one.network, one.interface, one.hcas, one.gdr)} == {"absent"}
    assert choice(host("NCCL_NET=Socket", number="")).network == "Socket", "a setting is there for what jobs bring"


def test_the_first_library_says_the_version_and_what_wins_counts():
    libraries = (NcclLibrary("/a", "linker", "2.21.5", "12.4"), NcclLibrary("/b", "python", "2.28.9", "12.9"))
    rows = (
        NcclSetting("NCCL_NET", "IB", True, "environment", 0, True),
        NcclSetting("NCCL_NET", "Socket", True, "/etc/nccl.conf", 1, False),
        NcclSetting("NCCL_X_TOKEN", "", False, "/etc/nccl.conf", 2, True),
    )
    one = Nccl(libraries, (), rows, True, ())
    assert (version(one), winning(one)) == ((2, 21, 5), {"NCCL_NET": "IB"})
    assert version(replace(one, libraries=())) is None
    assert version(replace(one, libraries=(replace(libraries[0], version="none"),))).why == "error"
    assert version(replace(one, libraries=DENIED)).why == "denied"
    written = told.write(HostFacts({Nccl: one}))["settings"]
    assert [
        (each["value"] if isinstance(each["value"], str) else each["value"]["unread"], each["from"], each["line"]) for each in written
    ] == [
        ("IB", "environment", 0),
        ("Socket", "/etc/nccl.conf", 1),
        ("not-recorded", "/etc/nccl.conf", 2),
    ]


def test_an_address_of_nobody_leaves_open_what_it_may_change():
    later, first = netdev("zzz0", 9), netdev("ib0", 8)
    netdevs = (*NETWORK.netdevs, replace(later, addresses=DENIED))
    assert [one.interface for one in bootstraps(replace(NETWORK, netdevs=netdevs), {}, (2, 28, 9))] == ["eth0"]
    both = replace(NETWORK, netdevs=(*netdevs, replace(first, addresses=DENIED)))
    assert [one.interface for one in bootstraps(both, {}, (2, 28, 9))] == ["eth0", "ib0"]
    assert choice(host(network=both)).interface.why == "error"
    with pytest.raises(UnreadError):
        bootstraps(both, {"NCCL_COMM_ID": "10.0.0.9:1"}, (2, 28, 9))
    with pytest.raises(UnreadError):
        bootstraps(replace(NETWORK, netdevs=(replace(first, addresses=DENIED),)), {}, (2, 28, 9))


NETDEVS = st.lists(
    st.tuples(st.sampled_from(("ib0", "eth0", "docker0", "virbr0", "cali1", "lo", "ib7")), st.booleans(), st.booleans()),
    unique_by=lambda one: one[0],
)


@given(
    NETDEVS, st.sampled_from(({}, {"NCCL_SOCKET_IFNAME": "^docker0"}, {"NCCL_SOCKET_IFNAME": "eth,ib"}, {"NCCL_SOCKET_FAMILY": "AF_INET6"}))
)
def test_it_is_all_that_some_address_could_make_of_it(netdevs, settings):
    made = [netdev(name, index, f"10.0.{index}.1", state="up" if runs else "down") for index, (name, _, runs) in enumerate(netdevs, 1)]
    here = [replace(one, addresses=DENIED) if is_open else one for one, (_, is_open, _) in zip(made, netdevs, strict=True)]
    left = [one.name for one, (_, is_open, _) in zip(made, netdevs, strict=True) if is_open]
    if left and len(left) == len(here):
        return
    wanted = set()
    for name in ("", *left):
        for value in ("10.9.0.1", "fd00::1"):
            tried = [replace(one, addresses=(Address(value, 32),) if one.name == name else ()) if one.name in left else one for one in here]
            wanted.add(bootstrap(addresses(replace(NETWORK, netdevs=tuple(tried))), settings, (2, 28, 9)).interface)
    found = bootstraps(replace(NETWORK, netdevs=tuple(here)), settings, (2, 28, 9))
    assert {one.interface for one in found} == wanted
    assert len(found) == len(wanted)


def test_thousands_of_interfaces_whose_addresses_nobody_knows_end_soon():
    """A node of many pods, seen from one of them."""
    many = tuple(replace(netdev(f"cali{index}", index), addresses=DENIED) for index in range(2, 4000))
    found = bootstraps(replace(NETWORK, netdevs=(*many, netdev("eth0", 4001, "10.0.0.5"))), {}, (2, 28, 9))
    assert (found[0].interface, len(found)) == ("eth0", 3999)


def test_plugins_are_told_with_what_they_are():
    found = told.write(host(plugins=(OFI, replace(SHARP, kinds=DENIED, missing=("libucs.so.0",)))))["plugins"]
    assert found == [
        {"path": OFI.path, "kind": "net,tuner", "missing": []},
        {"path": SHARP.path, "kind": {"unread": "denied", "detail": "open"}, "missing": ["libucs.so.0"]},
    ]
