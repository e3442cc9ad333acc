"""Hosts with simulated RDMA: a stub of libibverbs (see stub.c for its table), and what sysfs has of the devices that it lists.

The real library asks the kernel, which has no RDMA here; of the stub hostagent's own calls alone are tried.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).with_name("stub.c")
DIRECTORY = "usr/lib/x86_64-linux-gnu"
#: A port of a RoCE card as Linux 6.8 shows it; further files stand below these names.
PORT = {
    "state": "4: ACTIVE",
    "phys_state": "5: LinkUp",
    "rate": "400 Gb/sec (4X NDR)",
    "link_layer": "Ethernet",
    "lid": "0x0",
    "sm_lid": "0x0",
    "pkeys/0": "0xffff",
    "counters/link_downed": "0",
    "gids/0": "fe80:0000:0000:0000:0e42:a1ff:fe00:0001",
    "gid_attrs/types/0": "RoCE v2",
    "gid_attrs/ndevs/0": "ens1np0",
    "gids/1": "0000:0000:0000:0000:0000:0000:0000:0000",
    "gids/3": "0000:0000:0000:0000:0000:ffff:0a00:0101",
    "gid_attrs/types/3": "RoCE v2",
    "gid_attrs/ndevs/3": "ens1np0",
}
DEVICE = {
    "node_type": "1: CA",
    "fw_ver": "28.39.1002",
    "board_id": "MT_0000000838",
    "hca_type": "MT4129",
    "node_guid": "0c42:a103:0000:0001",
}


def build(flag: str = "") -> Path:
    """The compiled stub, made once for each state of its source; `flag`: OLD or BROKEN."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hostagent-tests"
    library = cache / f"stub-verbs-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}{flag}.so"
    if not library.exists():
        cache.mkdir(parents=True, exist_ok=True)
        made = library.with_suffix(f".{os.getpid()}")
        flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libibverbs.so.1", *([f"-D{flag}"] if flag else [])]
        subprocess.run(["gcc", *flags, "-o", made, SOURCE, "-ldl"], check=True)
        made.replace(library)
    return library


def install(tree: Path, devices: Mapping[str, int], table: str = "", *, flag: str = "") -> None:
    """`devices`, each with so many ports, in sysfs and in the stub; the lines of `table` come before, and so win."""
    (tree / "proc").mkdir(exist_ok=True)
    (tree / "sys/bus/pci/devices").mkdir(parents=True, exist_ok=True)
    for index, (name, ports) in enumerate(devices.items()):
        install_device(tree, name, f"0002:{index + 0x1A:02x}:00.0", ports, index)
    install_library(tree, devices, table, flag=flag)
    section = tree / "sys/module/ib_core/sections/.text"  # the kernel shows it to root alone
    section.parent.mkdir(parents=True, exist_ok=True)
    section.touch(0o400)


def install_library(tree: Path, devices: "Mapping[str, int]", table: str = "", *, flag: str = "") -> Path:
    """Library and table alone."""
    directory = tree / DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    library = directory / "libibverbs.so.1"
    shutil.copyfile(build(flag), library)
    write(directory / "stub-verbs.table", f"{table}\n" + "".join(f"device {name}\n" for name in devices))
    return library


def install_device(tree: Path, name: str, pci: str, ports: int = 1, node: int = 0) -> Path:
    """What sysfs has of one device. Returns its directory."""
    function = tree / "sys/devices/pci0002:15" / pci
    directory = function / "infiniband" / name
    for attribute, text in DEVICE.items():
        write(directory / attribute, f"{text}\n")
    for number in range(1, ports + 1):
        for attribute, text in PORT.items():
            write(directory / "ports" / str(number) / attribute, f"{text}\n")
    write(function / "net" / f"ens{node}np0" / "dev_port", "0\n")
    write(function / "vendor", "0x15b3\n")
    write(function / "device", "0x1021\n")
    write(tree / f"sys/class/infiniband_verbs/uverbs{node}/ibdev", f"{name}\n")
    link(directory / "device", f"../../../{pci}")
    link(tree / "sys/bus/pci/devices" / pci, f"../../../devices/pci0002:15/{pci}")
    link(tree / "sys/class/infiniband" / name, f"../../devices/pci0002:15/{pci}/infiniband/{name}")
    link(function / "driver", "../../../bus/pci/drivers/mlx5_core")
    return directory


def write(path: Path, text: "str | bytes") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
