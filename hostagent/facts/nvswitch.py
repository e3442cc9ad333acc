"""What an NVLink fabric needs on this host."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class NvSwitch:
    """An NVSwitch: a PCI function of NVIDIA's with class 0680."""

    pci: str
    device_id: str | Unread  # 0x22a3
    bound_to: str | Unread


@frozen
class Fabric:
    """What an NVLink fabric needs on this host: NVSwitches, the fabric manager, IMEX, NVLSM."""

    nvswitches: tuple[NvSwitch, ...] | Unread  # on PCI
    driver_nvswitches: tuple[str, ...] | Unread  # PCI addresses in /proc/driver/nvidia-nvswitch/devices
    nvlink5_managers: tuple[str, ...] | Unread  # HCAs with SW_MNG in their VPD: bridges to NVLink 5 switches, which PCI does not show
    manager_log_errors: tuple[str, ...] | Unread  # ERROR and FATAL lines since the manager's last start, newest last
    manager_configured: bool | Unread  # since that start it logged that all is set up; absent where the log has no start
    imex_nodes: tuple[str, ...] | Unread  # addresses of /etc/nvidia-imex/nodes_config.cfg
    imex_channels: tuple[str, ...] | Unread  # names below /dev/nvidia-caps-imex-channels, () when there are none


@frozen
class FabricManager:
    """How the fabric manager of this host is set up, and when it started."""

    mode: int | Unread  # FABRIC_MODE: 0 bare metal or full passthrough, 1 shared NVSwitch, 2 vGPU
    starts: tuple[int, ...] | Unread  # in its log, in seconds by the host's clock and time zone: only their distances mean something
