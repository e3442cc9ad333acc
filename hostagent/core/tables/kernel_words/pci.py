"""What the kernel writes about the PCI address of a device: of GPUs and of the network cards of jobs a check makes findings."""

from hostagent.core.steps import Step
from hostagent.core.tables.kernel_words.row import ANY_PCI, DEVICE, PCI, End, Row
from hostagent.core.tables.recovery_actions import REBOOT

_PORT = rf"pcieport {PCI}: "
_RESEAT = Step("power_cycle", "Power the chassis off and on, and reseat {device} or its riser.", if_back=True)
_VENDOR = Step("contact_owner", "Ask the vendor of the board.", if_back=True)
_STEPS = (REBOOT, _RESEAT, _VENDOR)
_NOTHING_NOW = (Step("none", "Nothing now. If it comes back, have {device} or its riser reseated."),)
#: The device of a section of the firmware's report.
_FIRMWARE_DEVICE = rf"\{{(?P<key>\d+)\}}\[Hardware Error\]:\s+device_id: {PCI}"
_IOMMU = (
    Step("configure", "Pass DMA through: boot with iommu=pt, or turn the IOMMU off in the firmware."),
    Step("contact_owner", "Ask the vendor of the board.", if_back=True),
)

ROWS = (
    Row(
        "pci-inaccessible",
        "pci",
        rf"{DEVICE}(?:Unable to change power state from \S+ to D0, device inaccessible"
        r"|can't change power state from \S+ to D0 \(config space inaccessible\))",
        "critical",
        "{device} no longer answers on PCI: it cannot be woken",
        "The configuration space reads as all ones: the device has no power, no link, or is dead.",
        ("recovered", "cleared"),
        "Linux drivers/pci/pci.c (pci_power_up); before 6.0 'can't change power state … (config space inaccessible)'",
        ("nvidia 0000:1b:00.0: Unable to change power state from D3cold to D0, device inaccessible",),
        ("nvidia 0000:1b:00.0: Unable to change power state from D0 to D3hot, device inaccessible",),
        (REBOOT, _RESEAT, _VENDOR),
    ),
    Row(
        "pci-reset-failed",
        "pci",
        rf"{DEVICE}not ready \d+ms after [^;]{{1,40}}; giving up",
        "critical",
        "{device} did not come back from a reset",
        "The kernel reset the device and waited a minute for it in vain.",
        ("recovered", "cleared"),
        "Linux drivers/pci/pci.c (pci_dev_wait)",
        ("nvidia 0000:1b:00.0: not ready 65535ms after FLR; giving up",),
        ("nvidia 0000:1b:00.0: not ready 1023ms after FLR; waiting", "nvidia 0000:1b:00.0: ready 2047ms after FLR"),
        (REBOOT, _RESEAT, _VENDOR),
    ),
    Row(
        "pci-link-down",
        "pci",
        rf"{_PORT}pciehp: Slot\([\w.-]{{1,20}}\): (?:Link Down(?!/Up)|Card not present)",
        "critical",
        "The PCIe link of {device} went down",
        "The slot above the device lost its link or its card: what was in it is removed from the host.",
        ("recovered", "cleared"),
        "Linux drivers/pci/hotplug/pciehp_ctrl.c",
        ("pcieport 0000:15:01.0: pciehp: Slot(12): Link Down", "pcieport 0000:15:01.0: pciehp: Slot(12): Card not present"),
        (
            "pcieport 0000:15:01.0: pciehp: Slot(12): Link Down/Up ignored (recovered by DPC)",
            "pcieport 0000:15:01.0: pciehp: Slot(12): Link Up",
            "pcieport 0000:15:01.0: pciehp: Slot #12 AttnBtn- PwrCtrl- MRL-",
        ),
        _STEPS,
    ),
    Row(
        "pci-contained",
        "pci",
        rf"{_PORT}DPC:? containment event, status",
        "critical",
        "PCIe cut off {device} after an error (DPC)",
        "Downstream Port Containment took the link below the port down, so that damaged data goes no further.",
        ("recovered", "cleared"),
        "Linux drivers/pci/pcie/dpc.c",
        ("pcieport 0000:15:01.0: DPC: containment event, status:0x1f01 source:0x0000",),
        ("pcieport 0000:15:01.0: DPC: error containment capabilities: Int Msg #0, RPExt+ PoisonedTLP+ SwTrigger+ RP PIO Log 4",),
        _STEPS,
    ),
    Row(
        "pci-not-recovered",
        "pci",
        rf"{DEVICE}AER: [Dd]evice recovery failed",
        "critical",
        "{device} did not recover from a PCIe error",
        "After an uncorrectable error the kernel tried to recover the device and its driver, and could not.",
        ("recovered", "cleared"),
        "Linux drivers/pci/pcie/err.c (pcie_do_recovery)",
        ("pcieport 0000:15:01.0: AER: device recovery failed",),
        ("pcieport 0000:15:01.0: AER: device recovery successful", "nvidia 0000:1b:00.0: AER: can't recover (no error_detected callback)"),
        _STEPS,
    ),
    Row(
        "pci-fatal",
        "pci",
        rf"pcieport {ANY_PCI}: AER: (?:Multiple )?Uncorrect(?:ed|able) \(Fatal\) error (?:message )?received(?: from|:) {PCI}"
        rf"|[\w.-]{{2,32}} (?P<device>{ANY_PCI}): (?:AER: )?PCIe Bus Error: severity=Uncorrect(?:ed|able) \(Fatal\),",
        "warning",
        "PCIe reported a fatal error of {device}",
        "A fatal error takes the link down: the device loses what it was doing.",
        ("recovered", "cleared"),
        "Linux drivers/pci/pcie/aer.c (aer_print_error); since 6.9 'Uncorrectable (Fatal) error message received from'",
        (
            "pcieport 0000:15:01.0: AER: Uncorrectable (Fatal) error message received from 0000:1b:00.0",
            "nvidia 0000:1b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
        ),
        (
            "pcieport 0000:15:01.0: AER: Corrected error received: 0000:1b:00.0",
            "pcieport 0000:15:01.0: AER: Multiple Correctable error message received from 0000:1b:00.0",
            "nvidia 0000:1b:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)",
        ),
        _STEPS,
    ),
    Row(
        "pci-nonfatal",
        "pci",
        rf"pcieport {ANY_PCI}: AER: (?:Multiple )?Uncorrect(?:ed|able) \(Non-Fatal\) error (?:message )?received(?: from|:) {PCI}",
        "info",
        "PCIe reported an uncorrectable error of {device}, which did not stop it",
        "One transaction failed and the link goes on; drivers that probe a device provoke such errors, too.",
        ("recovered", "cleared"),
        "Linux drivers/pci/pcie/aer.c",
        ("pcieport 0000:15:01.0: AER: Uncorrectable (Non-Fatal) error message received from 0000:1b:00.0",),
        (),
        _NOTHING_NOW,
    ),
    Row(
        "pci-firmware-error",
        "pci",
        r"\{(?P<key>\d+)\}\[Hardware Error\]:\s+Error \d+, type: fatal",
        "warning",
        "The firmware reported a fatal PCIe error of {device}",
        "With firmware first error handling (APEI) the platform reports PCIe errors instead of AER.",
        ("recovered", "cleared"),
        "Linux drivers/acpi/apei/ghes.c, drivers/firmware/efi/cper.c (cper_print_pcie)",
        (
            "{1}[Hardware Error]:  Error 0, type: fatal",
            "{1}[Hardware Error]:   device_id: 0000:1b:00.0",
        ),
        ("{1}[Hardware Error]:  Error 0, type: corrected",),
        _STEPS,
        _FIRMWARE_DEVICE,
    ),
    Row(
        "pci-firmware-nonfatal",
        "pci",
        r"\{(?P<key>\d+)\}\[Hardware Error\]:\s+Error \d+, type: recoverable",
        "info",
        "The firmware reported an uncorrectable PCIe error of {device}, which did not stop it",
        "One transaction failed and the link goes on: the error that AER calls Non-Fatal, reported by the platform (APEI).",
        ("recovered", "cleared"),
        "Linux drivers/acpi/apei/ghes.c, drivers/firmware/efi/cper.c (cper_print_pcie)",
        (
            "{1}[Hardware Error]:  Error 0, type: recoverable",
            "{1}[Hardware Error]:   device_id: 0000:1b:00.0",
        ),
        ("{1}[Hardware Error]:  Error 0, type: corrected",),
        _NOTHING_NOW,
        _FIRMWARE_DEVICE,
    ),
    Row(
        "pci-dma-blocked",
        "pci",
        rf"DMAR: \[DMA (?:Read|Write)[^\]]{{0,20}}\] Request device "
        r"\[(?P<device>(?:[0-9a-f]{4,8}:)?(?:0x)?[0-9a-f]{2}:(?:0x)?[0-9a-f]{2}\.[0-7])\]"
        rf"|AMD-Vi: Event logged \[IO_PAGE_FAULT device=(?P<pci>(?:[0-9a-fA-F]{{4,8}}:)?[0-9a-fA-F]{{2}}:[0-9a-fA-F]{{2}}\.[0-7]) "
        rf"|[\w.-]{{2,32}} (?P<at>{ANY_PCI}): AMD-Vi: Event logged \[IO_PAGE_FAULT domain="
        rf"|arm-smmu-v3 \S{{1,40}}: event: F_\w{{1,32}} client: (?P<client>{ANY_PCI}) ",
        "warning",
        "The IOMMU blocks memory accesses of {device}",
        "The device reads or writes an address that the IOMMU does not map for it: that transfer fails, or hangs a job.",
        ("cleared",),
        "Linux drivers/iommu/intel/dmar.c (dmar_fault_do_one; 5.14 and 5.15 write 0x), amd/iommu.c, arm/arm-smmu-v3/arm-smmu-v3.c",
        (
            "DMAR: [DMA Write NO_PASID] Request device [41:00.0] fault addr 0x7ebb0000 [fault reason 0x05] PTE Write access is not set",
            "DMAR: [DMA Write NO_PASID] Request device [0x41:0x00.0] fault addr 0x7c346000 [fault reason 0x05] PTE Write access is not set",
            "arm-smmu-v3 arm-smmu-v3.12.auto: event: F_TRANSLATION client: 0009:01:00.0 sid: 0x100 ssid: 0x0 iova: 0xffff00000000 ipa: 0x0",
            "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:41:00.0 domain=0x0010 address=0xfffff000 flags=0x0020]",
            "AMD-Vi: Event logged [IO_PAGE_FAULT device=41:00.0 domain=0x0010 address=0xfffff000 flags=0x0020]",
            "nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0010 address=0xfffff000 flags=0x0020]",
        ),
        (
            "DMAR: DRHD: handling fault status reg 3",
            "arm-smmu-v3 arm-smmu-v3.12.auto: event: C_BAD_STREAMID client: (unassigned sid) sid: 0x100 ssid: 0x0",
        ),
        _IOMMU,
    ),
)

ENDS = (
    End("recovered", rf"{DEVICE}AER: [Dd]evice recovery successful"),
    End("recovered", rf"{_PORT}pciehp: Slot\([\w.-]{{1,20}}\): (?:Link Up|Card present)"),
)
