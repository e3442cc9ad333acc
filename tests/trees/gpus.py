"""GPUs and NVSwitches of a host, alike in PCI, in /proc/driver and in NVML (whose library is the stub)."""

from collections.abc import Callable
from dataclasses import dataclass

from tests import stub_nvml
from tests.trees import pcibus, topology
from tests.trees.driver import SWITCH_MAJOR, node
from tests.trees.pcibus import Place, function
from tests.trees.system import log_kernel
from tests.trees.tree import Tree


@dataclass(frozen=True)
class Product:
    """What one kind of GPU answers. ``nvml`` are the stub's own words for what differs from its built-in H100."""

    name: str
    device: int
    subsystem: int
    kind: int = 0x030200  # PCI class
    speed: str = "32.0 GT/s PCIe"
    width: int = 16
    vbios: str = "96.00.99.00.01"
    nvml: tuple[tuple[str, str], ...] = ()


H100 = Product("NVIDIA H100 80GB HBM3", 0x2330, 0x16C1)
T4 = Product(
    "Tesla T4", 0x1EB8, 0x12A2, speed="8.0 GT/s PCIe", vbios="90.04.96.00.A1",
    nvml=(
        ("DeviceGetMemoryInfo", "value 16106127360"), ("DeviceGetCudaComputeCapability", "value 7 5"), ("DeviceGetMigMode", "error 3"),
        ("DeviceGetRemappedRows", "error 3"), ("DeviceGetRetiredPages", "value 0 0"), ("DeviceGetRetiredPagesPendingStatus", "value 0"),
        ("DeviceGetNvLinkState", "error 3"), ("DeviceGetGpuFabricInfoV", "error 3"), ("DeviceGetSramEccErrorStatus", "error 3"),
        ("DeviceGetEnforcedPowerLimit", "value 70000"), ("DeviceGetPowerManagementDefaultLimit", "value 70000"),
    ),
)  # fmt: skip
GB200 = Product(
    "NVIDIA GB200", 0x2941, 0x2046, speed="64.0 GT/s PCIe", vbios="97.00.B9.00.76",
    nvml=(
        ("DeviceGetMemoryInfo", "value 197568495616"), ("DeviceGetCudaComputeCapability", "value 10 0"),
        ("DeviceGetEnforcedPowerLimit", "value 1200000"), ("DeviceGetPowerManagementDefaultLimit", "value 1200000"),
    ),
)  # fmt: skip


#: An eight-GPU HGX board under two processors of 56 cores.
HGX = tuple(Place(f"0000:{bus}:00.0", at // 4, f"{at // 4 * 56}-{at // 4 * 56 + 55}") for at, bus in enumerate(stub_nvml.BUSES))
FABRIC_CONFIGURATION = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"
SWITCHES = tuple(f"0000:{bus}:00.0" for bus in ("07", "08", "09", "0a"))


def install_gpus(
    tree: Tree,
    product: Product,
    places: tuple[Place, ...],
    *,
    driver: str = "nvidia",
    above: "Callable[[Place], tuple[str, ...]] | None" = None,
) -> None:
    """GPUs on PCI, known to the loaded driver and to NVML. With another `driver` they are on PCI alone. `above`: see `function`."""
    for minor, place in enumerate(places):
        topology.reach(tree, place.numa_node, place.cpus)
        path = above(place) if above else ()
        pcibus.bridges(tree, path, place, speed=product.speed, width=product.width)
        named = {"driver": driver, "subsystem": product.subsystem, "place": place, "above": path}
        function(tree, place.pci, 0x10DE, product.device, product.kind, **named)
        directory = f"/sys/bus/pci/devices/{place.pci}"
        for name in ("current_link", "max_link"):
            tree.write(f"{directory}/{name}_speed", f"{product.speed}\n")
            tree.write(f"{directory}/{name}_width", f"{product.width}\n")
        if driver == "nvidia":
            _know(tree, product, place.pci, minor)
    if driver == "nvidia":
        table(tree, product, tuple(place.pci for place in places))


def _know(tree: Tree, product: Product, address: str, minor: int) -> None:
    rows = (
        ("Model", product.name), ("IRQ", str(120 + minor)), ("GPU UUID", uuid(minor)), ("Video BIOS", product.vbios), ("Bus Type", "PCIe"),
        ("DMA Size", "52 bits"), ("DMA Mask", "0xfffffffffffff"), ("Bus Location", address), ("Device Minor", str(minor)),
        ("GPU Firmware", tree.driver), ("GPU Excluded", "No"),
    )  # fmt: skip
    tree.write(f"/proc/driver/nvidia/gpus/{address}/information", "".join(f"{key}: \t {value}\n" for key, value in rows))
    node(tree, f"nvidia{minor}", 195, minor, tree.at("/dev/nvidiactl").stat().st_mode & 0o777)
    log_kernel(tree, f"nvidia {address}: enabling device (0140 -> 0142)")


def uuid(minor: int) -> str:
    """As the stub says it."""
    return f"GPU-{minor:08x}-0000-4000-8000-000000000000"


def table(tree: Tree, product: Product, addresses: tuple[str, ...]) -> None:
    """What NVML answers; `fault` goes before it."""
    said = {
        "SystemGetDriverVersion": f"value {tree.driver}",
        "SystemGetNVMLVersion": f"value 13.{tree.driver}",
        "DeviceGetName": f"value {product.name}",
        "DeviceGetVbiosVersion": f"value {product.vbios}",
        **dict(product.nvml),
    }
    lines = {f"{call} *": action for call, action in said.items()}
    stub_nvml.write_table(tree.root, addresses, lines)


def fault(tree: Tree, *lines: str) -> None:
    """Lines of the stub's table (see tests/stub_nvml/stub.c) that win over those of the healthy host."""
    path = f"/{stub_nvml.TABLE}"
    tree.write(path, "".join(f"{line}\n" for line in lines) + tree.text(path))


def install_switches(tree: Tree, addresses: tuple[str, ...] = SWITCHES, device: int = 0x22A3) -> None:
    """NVSwitches, of the third generation unless `device` says another, as the driver shows them."""
    tree.edit("/proc/devices", "\nBlock devices", f"{SWITCH_MAJOR} nvidia-nvswitch\n\nBlock devices")
    node(tree, "nvidia-nvswitchctl", SWITCH_MAJOR, 255)
    for minor, address in enumerate(addresses):
        function(tree, address, 0x10DE, device, 0x068000, driver="nvidia-nvswitch", subsystem=0x1796)
        node(tree, f"nvidia-nvswitch{minor}", SWITCH_MAJOR, minor)
        tree.write(
            f"/proc/driver/nvidia-nvswitch/devices/{address}/information",
            f"NVSwitch Information\nBIOS Version: 96.10.57.00.01\nBus Location: {address}\n",
        )
        log_kernel(tree, f"nvidia-nvswitch{minor}: open (major={SWITCH_MAJOR})")
    tree.write("/proc/driver/nvidia-nvswitch/permissions", "DeviceFileModify: 1\n")
    set_fabric_mode(tree, 0)


def set_fabric_mode(tree: Tree, mode: int) -> None:
    """What the fabric manager's package brings: 0 is bare metal (NVIDIA Fabric Manager User Guide)."""
    tree.write(
        FABRIC_CONFIGURATION, f"# 0 bare metal, 1 shared NVSwitch, 2 vGPU\nLOG_LEVEL=4\nFABRIC_MODE={mode}\nABORT_CUDA_JOBS_ON_FM_EXIT=1\n"
    )
