"""GPUs: PCI, /proc/driver/nvidia and NVML joined by PCI address."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class RowRemap:
    """nvmlDeviceGetRemappedRows: rows remapped for uncorrectable errors, and the two flags."""

    uncorrectable: int
    pending: bool
    failed: bool


@frozen
class Mig:
    """nvmlDeviceGetMigMode: True is enabled."""

    current: bool
    pending: bool


@frozen
class Ecc:
    """nvmlDeviceGetEccMode and the error counters; counts since the module was loaded (volatile) and for life (aggregate)."""

    enabled: bool | Unread
    pending: bool | Unread
    volatile_uncorrectable: int | Unread
    volatile_sram_uncorrectable: int | Unread  # those of them that were in SRAM, on the chip
    aggregate_uncorrectable: int | Unread
    sram_threshold_exceeded: bool | Unread


@frozen
class RetiredPages:
    """nvmlDeviceGetRetiredPages by cause, and whether a retirement waits for a reset. Before Ampere only."""

    single_bit: int
    double_bit: int
    pending: bool


@frozen
class NvLink:
    """One link of nvmlDeviceGetNvLinkState."""

    index: int
    active: bool | Unread
    errors: int | Unread  # replay + recovery + CRC counters


@frozen
class FabricInfo:
    """nvmlDeviceGetGpuFabricInfoV (nvml.h): state 0 not-supported, 1 not-started, 2 in-progress, 3 completed."""

    state: str
    status: int  # nvmlReturn_t of the registration
    clique_id: int
    cluster_uuid: str
    health: tuple[tuple[str, str], ...]  # fields of the health mask in words, see `hostagent.domains.gpu.nvml_answers.parse_health`


@frozen
class Bar:
    """One base address register of a GPU, as the kernel placed it. The upper half of a 64-bit one is none."""

    number: int  # 0 to 5
    start: int  # 0: it has no address
    size_bytes: int  # 0: it is empty
    is_64bit: bool  # 64-bit and prefetchable: it may be placed above 4 GiB


@frozen
class PeerAccess:
    """nvmlDeviceGetP2PStatus: whether the driver lets a GPU read and write the memory of another one."""

    pci: str  # of the other
    is_allowed: bool


@frozen(subject="pci", called="GPU")
class Gpu:
    """One NVIDIA GPU, keyed by PCI address. A GPU that only some of PCI, /proc and NVML know is still one Gpu."""

    pci: str  # 0000:1b:00.0
    on_pci: bool | Unread
    in_proc: bool | Unread  # /proc/driver/nvidia/gpus/<pci>
    in_nvml: bool | Unread
    device_id: str | Unread  # 0x2330
    vga: bool | Unread  # the class is that of a display card (0300), not of a 3D controller
    bound_to: str | Unread  # nvidia, nouveau, vfio-pci; "" when no driver is bound
    bound_module: str | Unread  # module of the bound driver: NovaCore is nova_core; "" where no driver is bound, or sysfs names no module
    driver_override: str | Unread  # the one driver that may bind it (driverctl, libvirt, GPU Operator); "" for any
    numa_node: int | Unread  # -1 when the firmware does not say
    local_cpus: str | Unread  # cpulist
    config_readable: bool | Unread  # False: PCI configuration reads all ones, the device fell off the bus
    bars: tuple[Bar, ...] | Unread
    link_speed: str | Unread  # sysfs words: "32.0 GT/s PCIe", "Unknown"
    link_speed_card: str | Unread  # the highest that the card offers
    link_speed_max: str | Unread  # the highest that both the card and the port above it have
    link_width: int | Unread  # lanes; 63 and 255 are what a dead link shows
    link_width_max: int | Unread  # lanes that both the card and the port above it have
    index: int | Unread  # NVML's index: not stable over boots
    minor: int | Unread  # /dev/nvidia<minor>
    name: str | Unread
    uuid: str | Unread
    serial: str | Unread  # of the board: one that holds several GPUs gives them all the same
    proc_uuid: str | Unread  # by /proc: "GPU-????????-…" when the GPU was never initialised
    excluded: bool | Unread
    lost: bool | Unread  # an NVML call returned GPU is lost (15)
    reset_required: bool | Unread  # an NVML call returned reset required (16)
    nvml_detail: str | Unread  # that call
    nvml_refusal: int | Unread  # NVML's error (nvmlReturn_t) about a GPU that it lists and that answers nothing; 0 for one that answers
    drained: bool | Unread  # an administrator drains it: NVML no longer lists it for new clients
    memory_bytes: int | Unread
    memory_used_bytes: int | Unread  # allocated, without what the driver reserves
    listed_processes: int | Unread  # compute, graphics and MPS processes by NVML, which may not see all of other pid namespaces
    #: Programs with its node open, without the driver's own daemons; not-supported where memory and processes give no reason to ask.
    node_holders: tuple[str, ...] | Unread
    compute_capability: str | Unread  # "9.0"
    ecc: Ecc | Unread
    row_remap: RowRemap | Unread
    retired_pages: RetiredPages | Unread
    mig: Mig | Unread
    mig_devices: int | Unread  # slices that a program can use, by NVML, and by the driver's own list where NVML shows none
    virtualization: str | Unread  # none, passthrough, vgpu (of a guest), host-vgpu, host-vsga
    vgpu_licensed: bool | Unread  # not-supported for a physical GPU
    persistence: bool | Unread
    compute_mode: str | Unread  # default, exclusive-thread, prohibited, exclusive-process
    temperature_celsius: int | Unread
    temperature_slowdown_celsius: int | Unread
    power_limit_milliwatts: int | Unread  # enforced
    power_limit_default_milliwatts: int | Unread
    clock_event_reasons: tuple[str, ...] | Unread  # names: hw-thermal-slowdown, hw-power-brake, sw-power-cap …
    nvlinks: tuple[NvLink, ...] | Unread  # () when the card has none
    fabric: FabricInfo | Unread
    peer_access: tuple[PeerAccess, ...] | Unread  # to each other GPU that NVML answers for
    inforom_valid: bool | Unread
    recovery_action: str | Unread  # none, gpu-reset, node-reboot, drain-p2p, drain-and-reset, bus-reset … (nvml.h)
    vbios: str | Unread


@frozen
class OtherAccelerator:
    """A GPU of another vendor: reported, not checked."""

    pci: str
    vendor_id: str
    device_id: str


@frozen
class Xid:
    """The Xid (of a GPU) or SXid (of an NVSwitch) lines of one device with one code, up to the event that ended them."""

    pci: str  # as our addresses: 0000:1b:00.0; "" without a readable one
    code: int  # 0 without a readable one
    line: str  # the newest of the most severe ones
    count: int  # how many lines
    seconds: float | Unread  # since the boot, of the newest line
    ended_by: str  # reset (an Xid 154 of this GPU to "None" came after it), load (the driver's module was loaded after it),
    # cleared (by an administrator), "" nothing
    ended_at: float | Unread  # seconds since the boot
    first: float | Unread  # seconds since the boot, of the oldest line
    links: tuple[int, ...] | Unread = ()  # NVLinks that the lines name
    burst: int | Unread = 0  # most lines within ten minutes; 0 of one that was recorded before they were counted


@frozen
class End:
    """A record of the kernel log that ends faults."""

    by: str  # as `Xid.ended_by`: reset, load
    pci: str  # of a reset; "" for all devices
    at: float | Unread  # seconds since the boot


@frozen
class Clearing:
    """An administrator's acknowledgement of faults (``hostagent events clear``): they no longer count."""

    subject: str  # PCI address, "" for all devices
    upto: float  # seconds since the boot, of the newest record that it covers
    at: float  # seconds since the boot, of the command
    reason: str


@frozen
class InitFailure:
    """The kernel log's lines about a GPU that could not be initialised, by device and kind."""

    pci: str  # "" when the line does not name the GPU
    kind: str  # adapter (RmInitAdapter), gsp, wpr2, firmware (a firmware file that could not be loaded)
    line: str  # the newest
    ended_by: str  # load (the driver's module was loaded after it), "" nothing


@frozen
class GpuEvents:
    """Events of GPUs and NVSwitches in the kernel log of this boot, in the order of their first record."""

    xids: tuple[Xid, ...] | Unread  # a GPU that fell off the bus may be logged without an Xid: it counts as 79
    sxids: tuple[Xid, ...] | Unread
    init_failures: tuple[InitFailure, ...] | Unread
    log_complete: bool | Unread  # the log reaches back to the boot
    log_oldest: float | Unread  # seconds since the boot, of the first record
    uptime: float | Unread  # seconds since the boot, when the log was read
    ends: tuple[End, ...] | Unread  # in the order of the log
    cleared: tuple[Clearing, ...] | Unread  # the oldest first; ended events have `ended_by`


@frozen
class Accelerators:
    """What is on PCI besides NVIDIA's GPUs."""

    others: tuple[OtherAccelerator, ...] | Unread
    vfio_ids: tuple[str, ...] | Unread  # vendor:device that the kernel command line or modprobe.d gives to vfio-pci: 10de:2330
