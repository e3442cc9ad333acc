"""RDMA devices of a host as the kernel shows them: ports, GID and P_Key tables, counters, nodes, and what libibverbs says of them.

Formats: Linux kernel, ABI/stable/sysfs-class-infiniband, drivers/infiniband/core/sysfs.c and core/cache.c (the order of RoCE's GIDs).
Values of a ConnectX-7 are those of ibv_devinfo and show_gids in deepseek-ai/DeepEP issue 38 and NVIDIA/nccl issue 1131.
Tables are shorter than real ones, which have 128 P_Keys and up to 256 GIDs. Where the kernel answers EINVAL, a slot of types is missing
and one of ndevs is empty.
"""

import ipaddress
from dataclasses import dataclass

from tests import stub_verbs
from tests.trees import netdevs
from tests.trees.system import load
from tests.trees.tree import Tree

_CLASS = "/sys/class/infiniband"
_VERBS_MAJOR, _MISC = 231, 10
_SLOTS, _PKEYS = 16, 8
V1, V2 = "IB/RoCE v1", "RoCE v2"
_EMPTY = ":".join(["0000"] * 8)
#: sysfs' words of the rates of published ports.
NDR, HDR, EDR, NONE = "400 Gb/sec (4X NDR)", "200 Gb/sec (4X HDR)", "100 Gb/sec (4X EDR)", "10 Gb/sec (4X SDR)"
#: What a RoCE port of mlx5 says while it is down.
ROCE_DOWN = "40 Gb/sec (4X QDR)"
_COUNTERS = (
    "link_error_recovery", "symbol_error", "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
    "port_xmit_discards", "port_rcv_data", "port_xmit_data",
)  # fmt: skip
#: The modules of the stack that comes with the kernel.
MODULES = ("ib_core", "ib_uverbs", "ib_umad", "rdma_cm", "rdma_ucm", "ib_ipoib", "mlx5_core", "mlx5_ib")


@dataclass(frozen=True)
class Hca:
    """A device with one port. `gids` None: made of the interface's addresses; rows are (value, type, interface)."""

    name: str
    layer: str = "InfiniBand"
    rate: str = NDR
    state: str = "4: ACTIVE"
    physical: str = "5: LinkUp"
    lid: int = 0
    sm_lid: int = 0
    pkeys: tuple[int, ...] = (0xFFFF,)
    gids: "tuple[tuple[str, str, str], ...] | None" = None
    firmware: str = "28.42.1000"
    board: str = "MT_0000000838"
    type: str = "MT4129"
    node_type: str = "1: CA"
    guid: str = ""  # a088:c203:007e:1dba, made of the address of its function where it is ""
    mtu: int = 4096  # active, of libibverbs; 0 where it says nothing
    max_mtu: int = 4096
    link_downed: "int | None" = 0  # None: no counters
    over: tuple[str, ...] = ()  # interfaces whose addresses are GIDs beside its own: VLANs, a bond
    traffic_class: str = ""  # OFED's words: "Global tclass=106"


def add(tree: Tree, one: Hca, address: str, directory: str = "", *, netdev: str = "", mac: str = "") -> None:
    """A device of the PCI function `address`, whose place in sysfs is `directory`; without it one made of software (rxe)."""
    home = f"{directory}/infiniband/{one.name}" if directory else f"/sys/devices/virtual/infiniband/{one.name}"
    guid = one.guid or node_guid(mac or hardware(address))
    tree.link(f"{_CLASS}/{one.name}", f"../../{home.removeprefix('/sys/')}")
    files = {
        "node_type": one.node_type, "node_guid": guid, "sys_image_guid": guid, "fw_ver": one.firmware, "hw_rev": "0",
        "node_desc": f"{tree.text('/etc/hostname').strip() if tree.at('/etc/hostname').exists() else 'node'} {one.name}",
        **({"board_id": one.board} if one.board else {}), **({"hca_type": one.type} if one.type else {}),
    }  # fmt: skip
    for name, text in files.items():
        tree.write(f"{home}/{name}", f"{text}\n")
    tree.write(f"{home}/uevent", f"NAME={one.name}\n")
    tree.link(f"{home}/subsystem", f"{'../' * (home.count('/') - 1)}class/infiniband")
    if directory:
        tree.link(f"{home}/device", f"../../../{directory.rpartition('/')[2]}")
    _port(tree, one, f"{home}/ports/1", guid, netdev)
    if one.traffic_class:
        tree.write(f"{home}/tc/1/traffic_class", f"{one.traffic_class}\n")
    _verbs(tree, one, directory or "/sys/devices/virtual")


def node_guid(mac: str) -> str:
    """Mellanox's GUID of a function with this hardware address."""
    part = mac.replace(":", "")
    whole = f"{part[:6]}0300{part[6:]}"
    return ":".join(whole[at : at + 4] for at in range(0, 16, 4))


def hardware(address: str, prefix: str = "a0:88:c2") -> str:
    """A hardware address for the PCI function, of Mellanox unless `prefix` is another's."""
    domain, bus, rest = address.split(":")
    slot, function = rest.split(".")
    return f"{prefix}:{int(domain, 16) & 255:02x}:{bus}:{int(slot, 16) << 3 | int(function):02x}"


def _port(tree: Tree, one: Hca, place: str, guid: str, netdev: str) -> None:
    files = {
        "state": one.state, "phys_state": one.physical, "rate": one.rate, "link_layer": one.layer, "lid": f"0x{one.lid:x}",
        "sm_lid": f"0x{one.sm_lid:x}", "sm_sl": "0", "lid_mask_count": "0", "cap_mask": "0x04010000" if one.layer == "Ethernet" else "0xa751e848",
    }  # fmt: skip
    for name, text in files.items():
        tree.write(f"{place}/{name}", f"{text}\n")
    for at in range(1 if one.layer != "InfiniBand" else _PKEYS):
        tree.write(f"{place}/pkeys/{at}", f"0x{one.pkeys[at] if at < len(one.pkeys) else 0:04x}\n")
    set_gids(tree, one.name, one.gids if one.gids is not None else _gids(tree, one, guid, netdev), place=place)
    if one.link_downed is not None:
        for name in _COUNTERS:
            tree.write(f"{place}/counters/{name}", "0\n")
        tree.write(f"{place}/counters/link_downed", f"{one.link_downed}\n")


def _gids(tree: Tree, one: Hca, guid: str, netdev: str) -> tuple[tuple[str, str, str], ...]:
    """InfiniBand and EFA have one, of the GUID; RoCE two for each address, the link-local one first."""
    if one.layer != "Ethernet":
        return ((f"fe80:0000:0000:0000:{guid}", V1, ""),)
    names = [name for name in (netdev, *one.over) if name]
    rows = []
    for name in names:
        local = netdevs.link_local(tree.text(f"/sys/class/net/{name}/address").strip()).exploded
        addresses = [local, *(f"0000:0000:0000:0000:0000:ffff:{_hex(text)}" for of, text in tree.addresses if of == name)]
        rows += [(value, kind, name) for value in addresses for kind in (V1, V2)]
    return tuple(rows)


def _hex(text: str) -> str:
    digits = ipaddress.IPv4Interface(text).ip.packed.hex()
    return f"{digits[:4]}:{digits[4:]}"


def set_gids(tree: Tree, device: str, rows: "tuple[tuple[str, str, str], ...]", *, slots: int = _SLOTS, place: str = "") -> None:
    """The GID table."""
    place = place or f"{_CLASS}/{device}/ports/1"
    for name in ("gids", "gid_attrs"):
        if tree.at(f"{place}/{name}").exists():
            tree.remove(f"{place}/{name}")
    for at in range(max(slots, len(rows))):
        tree.write(f"{place}/gids/{at}", f"{rows[at][0] if at < len(rows) else _EMPTY}\n")
    tree.directory(f"{place}/gid_attrs/types")
    tree.directory(f"{place}/gid_attrs/ndevs")
    for at, (_, kind, netdev) in enumerate(rows):
        tree.write(f"{place}/gid_attrs/types/{at}", f"{kind}\n")
        tree.write(f"{place}/gid_attrs/ndevs/{at}", f"{netdev}\n" if netdev else "")


def _verbs(tree: Tree, one: Hca, directory: str) -> None:
    """The device's nodes, and what ibv_query_port says of its port."""
    verbs = "/sys/class/infiniband_verbs"
    number = len(list(tree.at(verbs).glob("uverbs*"))) if tree.at(verbs).exists() else 0
    home = f"{directory}/infiniband_verbs/uverbs{number}"
    for name, text in (("ibdev", one.name), ("abi_version", "1"), ("dev", f"{_VERBS_MAJOR}:{192 + number}")):
        tree.write(f"{home}/{name}", f"{text}\n")
    tree.write(f"{verbs}/abi_version", "6\n")
    tree.link(f"{verbs}/uverbs{number}", f"../../{home.removeprefix('/sys/')}")
    _node(tree, f"uverbs{number}", _VERBS_MAJOR, 192 + number)
    if one.node_type.startswith("1"):
        _node(tree, f"umad{number}", _VERBS_MAJOR, number, 0o600)
    if one.mtu:
        state = int(one.state.partition(":")[0])
        tree.verbs[one.name, 1] = {"state": state, "max_mtu": _enum(one.max_mtu), "active_mtu": _enum(one.mtu)}
    _write_table(tree)


def _node(tree: Tree, name: str, major: int, minor: int, mode: int = 0o666) -> None:
    """Where a tree may have device nodes; else a file of that name, which is listed alike."""
    try:
        tree.device(f"/dev/infiniband/{name}", major, minor, mode)
    except PermissionError:
        tree.write(f"/dev/infiniband/{name}", "")


def _write_table(tree: Tree) -> None:
    """What the stub of libibverbs answers, see tests/stub_verbs/stub.c."""
    names = dict.fromkeys(name for name, _ in tree.verbs)
    lines = [f"query {name}:{at} port {row['state']} {row['max_mtu']} {row['active_mtu']}" for (name, at), row in tree.verbs.items()]
    tree.write(f"{tree.libraries}/stub-verbs.table", "".join(f"{line}\n" for line in (*lines, *(f"device {name}" for name in names))))


def _enum(mtu: int) -> int:
    """ibv_mtu: 1 is 256, 5 is 4096."""
    return mtu.bit_length() - 8


def stack(
    tree: Tree, *, shared: bool = True, ofed: str = "", peermem: bool = False, modules: tuple[str, ...] = MODULES, library: bool = True
) -> None:
    """The loaded modules of the RDMA stack, the kernel's own or those of DOCA-OFED of this version; with `peermem` nvidia_peermem.

    libibverbs is the stub, so that it answers.
    """
    load(tree, *modules)
    index = f"/lib/modules/{tree.kernel}/modules.dep"
    for name in modules if tree.at(index).exists() else ():
        directory = "updates/dkms" if ofed else f"kernel/drivers/{'net/ethernet/mellanox' if name == 'mlx5_core' else 'infiniband'}"
        tree.append(index, f"{directory}/{name}.ko.zst:\n")
    tree.write("/sys/module/ib_core/sections/.text", "0x0000000000000000\n", mode=0o400)
    tree.write("/sys/module/ib_core/parameters/netns_mode", "Y\n" if shared else "N\n")
    _node(tree, "rdma_cm", _MISC, 57)
    for name in ("mlx5_core", "mlx5_ib", "ib_core") if ofed else ():
        tree.write(f"/sys/module/{name}/version", f"{ofed}\n")
    if peermem:
        load(tree, "nvidia_peermem")
        tree.write("/sys/module/nvidia_peermem/version", f"{tree.driver}\n")
        for name in ("nv_mem", "nv_mem_nc"):
            tree.write(f"/sys/kernel/mm/memory_peers/{name}/version", f"{tree.driver}\n")
    if library:
        tree.write(f"{tree.libraries}/libibverbs.so.1.14.50.0", stub_verbs.build().read_bytes())
        tree.link(f"{tree.libraries}/libibverbs.so.1", "libibverbs.so.1.14.50.0")


def port(tree: Tree, device: str, **files: str) -> None:
    """Change what a port says: ``port(tree, "mlx5_0", state="2: INIT")``."""
    for name, text in files.items():
        path = f"{_CLASS}/{device}/ports/1/{name}"
        tree.text(path)  # it is there
        tree.write(path, f"{text}\n")
    if "state" in files and (device, 1) in tree.verbs:
        tree.verbs[device, 1]["state"] = int(files["state"].partition(":")[0])
        _write_table(tree)


def active_mtu(tree: Tree, device: str, mtu: int) -> None:
    tree.verbs[device, 1]["active_mtu"] = _enum(mtu)
    _write_table(tree)


def virtual(tree: Tree, address: str, of: str, number: int = 0, *, total: int = 16) -> None:
    """Say of a PCI function that it is virtual function `number` of another (Linux kernel, ABI/testing/sysfs-bus-pci)."""
    devices = "/sys/bus/pci/devices"
    tree.link(f"{devices}/{address}/physfn", f"../{of}")
    tree.link(f"{devices}/{of}/virtfn{number}", f"../{address}")
    tree.write(f"{devices}/{of}/sriov_totalvfs", f"{total}\n")
    tree.write(f"{devices}/{of}/sriov_numvfs", f"{number + 1}\n")


def policy(tree: Tree, of: str, number: int, word: str, guid: str) -> None:
    """What OFED shows of an InfiniBand virtual function at its physical one."""
    place = f"/sys/bus/pci/devices/{of}/sriov/{number}"
    for name, text in (("policy", word), ("node", guid), ("port", guid)):
        tree.write(f"{place}/{name}", f"{text}\n")
