"""Hosts with simulated GPUs: a stub of NVIDIA's library (see stub.c for its table), and a tree that looks live.

`install` writes what a GPU node has where the kernel and the driver packages put it, so that `hostagent check
--host-root TREE`, pynvml, lspci and `nvidia-ctk` all find GPUs there. Device nodes need CAP_MKNOD.
"""

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCES = (Path(__file__).with_name("stub.c"), Path(__file__).with_name("attacks.c"))
LIBRARY_DIRECTORY = "usr/lib/x86_64-linux-gnu"
TABLE = "usr/share/nvidia/stub-nvml.table"
VERSION = "580.95.05"
#: PCI addresses of an eight-GPU board; more GPUs follow in a second domain.
BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")

#: Six BARs of an H100, three of 64 bits: registers, memory, the driver's window; and the ROM.
RESOURCE = """\
0x0000380042000000 0x0000380042ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000380000000000 0x000038001fffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000380040000000 0x0000380041ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000000000000000 0x0000000000000000 0x0000000000000000
"""

Table = str | Mapping[str, str]


def build(*, old: bool = False) -> Path:
    """The compiled stub, made once for each state of its source; `old` lacks the newest entry points."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hostagent-tests"
    digest = hashlib.sha256(b"".join(one.read_bytes() for one in SOURCES)).hexdigest()[:16]
    library = cache / f"stub-nvml-{digest}{'-old' if old else ''}.so"
    if not library.exists():
        cache.mkdir(parents=True, exist_ok=True)
        made = library.with_suffix(f".{os.getpid()}")
        flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", *(["-DOLD"] if old else [])]
        subprocess.run(["gcc", *flags, "-o", made, *SOURCES, "-ldl"], check=True)
        made.replace(library)
    return library


def addresses(gpus: int) -> tuple[str, ...]:
    """PCI addresses of the GPUs, as sysfs writes them."""
    return tuple(f"{index // len(BUSES):04x}:{BUSES[index % len(BUSES)]}:00.0" for index in range(gpus))


def install(tree: Path, gpus: int, table: Table = "", *, version: str = VERSION, old: bool = False) -> tuple[str, ...]:
    """A loaded driver with `gpus` GPUs below `tree`; `table` faults some of NVML's answers. Returns their addresses."""
    found = addresses(gpus)
    install_library(tree, version=version, old=old)
    write_table(tree, found, table)
    install_module(tree, version)
    node(tree / "dev/nvidiactl", 195, 255)
    (tree / "dev/char").mkdir(exist_ok=True)
    link(tree / "dev/char/195:255", "../nvidiactl")
    for minor, address in enumerate(found):
        install_pci(tree, address, numa_node=minor * 2 // gpus)
        install_proc(tree, address, minor)
        node(tree / f"dev/nvidia{minor}", 195, minor)
    return found


def install_library(tree: Path, *, version: str = VERSION, old: bool = False) -> Path:
    directory = tree / LIBRARY_DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    library = directory / f"libnvidia-ml.so.{version}"
    shutil.copyfile(build(old=old), library)
    link(directory / "libnvidia-ml.so.1", library.name)
    return library


def write_table(tree: Path, gpus: tuple[str, ...], table: Table = "") -> None:
    """`table` as text, or as a mapping: ``{"DeviceGetTemperature 3": "error 15"}``. Its lines come first and so win."""
    asked = table if isinstance(table, str) else "".join(f"{call} {action}\n" for call, action in table.items())
    places = "".join(f"DeviceGetPciInfo {index} value 0000{address.upper()}\n" for index, address in enumerate(gpus))
    write(tree / TABLE, f"{asked}\nDeviceGetCount * value {len(gpus)}\n{places}")


def install_module(tree: Path, version: str = VERSION) -> None:
    for name, text in (("initstate", "live"), ("version", version), ("srcversion", "0123456789ABCDEF0123456"), ("refcnt", "12")):
        write(tree / "sys/module/nvidia" / name, f"{text}\n")
    banner = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (dvs-builder)"
    write(tree / "proc/driver/nvidia/version", f"{banner}\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04.2) \n")
    write(tree / "proc/driver/nvidia/params", "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n")
    section = tree / "sys/module/nvidia/sections/.text"  # the kernel shows it to root alone
    section.parent.mkdir(exist_ok=True)
    section.touch(0o400)
    (tree / "proc/driver/nvidia/gpus").mkdir(exist_ok=True)
    (tree / "sys/bus/pci/drivers/nvidia").mkdir(parents=True, exist_ok=True)


def install_proc(tree: Path, address: str, minor: int) -> None:
    rows = (
        ("Model", "NVIDIA H100 80GB HBM3"),
        ("IRQ", "200"),
        ("GPU UUID", f"GPU-{minor:08x}-0000-4000-8000-000000000000"),
        ("Video BIOS", "96.00.99.00.01"),
        ("Bus Type", "PCIe"),
        ("DMA Size", "52 bits"),
        ("DMA Mask", "0xfffffffffffff"),
        ("Bus Location", address),
        ("Device Minor", str(minor)),
        ("GPU Firmware", VERSION),
        ("GPU Excluded", "No"),
    )
    write(tree / f"proc/driver/nvidia/gpus/{address}/information", "".join(f"{key}: \t {value}\n" for key, value in rows))


def install_pci(
    tree: Path,
    address: str,
    *,
    vendor: int = 0x10DE,
    device: int = 0x2330,
    kind: int = 0x030200,
    driver: str = "nvidia",
    numa_node: int = 0,
) -> Path:
    """One PCI function in sysfs; `kind` is its class. An empty `driver` leaves it unbound."""
    directory = tree / "sys/bus/pci/devices" / address
    files = {
        "vendor": f"0x{vendor:04x}",
        "device": f"0x{device:04x}",
        "class": f"0x{kind:06x}",
        "revision": "0xa1",
        "subsystem_vendor": "0x10de",
        "subsystem_device": "0x16c1",
        "irq": "0",
        "numa_node": str(numa_node),
        "local_cpulist": f"{numa_node * 56}-{numa_node * 56 + 55}",
        "current_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "16",
        "max_link_speed": "32.0 GT/s PCIe",
        "max_link_width": "16",
        "resource": RESOURCE,
    }
    for name, text in files.items():
        write(directory / name, text if text.endswith("\n") else f"{text}\n")
    header = bytearray(64)  # the standard header (pci_regs.h): ids, revision and class, little-endian
    header[0:4] = vendor.to_bytes(2, "little") + device.to_bytes(2, "little")
    header[8:12] = b"\xa1" + kind.to_bytes(3, "little")
    (directory / "config").write_bytes(header)
    if driver:
        (tree / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
        link(directory / "driver", f"../../drivers/{driver}")
    return directory


def node(path: Path, major: int, minor: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        os.mknod(path, stat.S_IFCHR, os.makedev(major, minor))
        path.chmod(0o666)


def link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
