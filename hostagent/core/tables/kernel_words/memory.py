"""The host's own memory and CPUs: errors that hardware did not correct. Corrected ones count for nothing, in any number."""

from hostagent.core.steps import Step
from hostagent.core.tables.kernel_words.row import Row

#: Bits 63 to 60 of MCi_STATUS are valid, overflow, uncorrected, enabled: the first digit of a status that is valid and uncorrected.
_UNCORRECTED = r"[abef][0-9a-f]{15}"
_STEPS = (Step("replace", "Have {device} replaced."),)
_GPU_ECC = "nvidia-smi -q -d ECC,ROW_REMAPPER"
_CORRECTED = (
    "mce: [Hardware Error]: Machine check events logged",
    "EDAC MC3: 7120 CE memory read error on CPU_SrcID#1_MC#1_Chan#1_DIMM#1 (channel:1 slot:1 page:0x9a11c40 offset:0x40 grain:32)",
    "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 8: 8c00004000010091",
    "[Hardware Error]: Corrected error, no action required.",
    "[Hardware Error]: Deferred error, no action required.",
    "{1}[Hardware Error]:  Error 0, type: corrected",
    "soft offline: 0x9a11c40: page already poisoned",
)

ROWS = (
    Row(
        "memory-uncorrected",
        "memory",
        r"EDAC MC\d+: [1-9]\d* UE (?:[\w/-]{1,32} ){0,8}on (?P<device>\S.{0,120}?) \(",
        "warning",
        "The host's memory has an uncorrectable error ({device})",
        "EDAC names the module. A program that read the page was killed, or will be.",
        ("cleared",),
        "Linux drivers/edac/edac_mc.c (edac_ue_error); ovro-lwa/lwa-issues#117",
        ("EDAC MC3: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#1_DIMM#1 (channel:1 slot:1 page:0x9a11c40 offset:0x40 grain:32)",),
        _CORRECTED,
        _STEPS,
    ),
    Row(
        "edac-device",
        "memory",
        r"EDAC DEVICE\d+: UE: [^:]{1,60}? instance: ",
        "warning",
        "A part of the host that EDAC watches had an uncorrectable error",
        "EDAC counts errors of parts other than memory modules, too: of caches and of buses. The record names the part.",
        ("cleared",),
        "Linux drivers/edac/edac_device.c (edac_device_handle_ue_count)",
        ("EDAC DEVICE0: UE: cpu_cache_l2/edac instance: cpu0 block: L2 count: 1 'L2 data'",),
        ("EDAC DEVICE0: CE: cpu_cache_l2/edac instance: cpu0 block: L2 count: 1 'L2 data'",),
        (Step("drain_and_inspect", "Read which part the server's own event log names, and have it looked at."),),
    ),
    Row(
        "machine-check",
        "memory",
        rf"mce: \[Hardware Error\]: CPU \d+: Machine Check(?: Exception)?: [0-9a-f]+ Bank \d+: {_UNCORRECTED}"
        rf"|EDAC \w{{1,20}} MC\d+: CPU \d+: Machine Check (?:Event|Exception): (?:0x)?[0-9a-f]+ Bank \d+: (?:0x)?{_UNCORRECTED}"
        r"|mce: Uncorrected hardware memory error in user-access at [0-9a-f]+"
        r"|\[Hardware Error\]: (?:Uncorrected, software (?:restartable|containable) error|System Fatal error)\.",
        "warning",
        "A CPU reported an uncorrected machine check",
        "Memory, a cache or a bus of the host had an error that hardware could not correct. The bank says which; rasdaemon decodes it.",
        ("cleared",),
        "Linux arch/x86/kernel/cpu/mce/core.c (print_mce), drivers/edac/skx_common.c, drivers/edac/mce_amd.c (decode_error_status)",
        (
            "mce: [Hardware Error]: CPU 4: Machine Check Exception: 5 Bank 1: bd80000000100134",
            "EDAC skx MC3: CPU 4: Machine Check Event: 0 Bank 8: fc00008001010091",
            "EDAC i10nm MC3: CPU 16: Machine Check Event: 0x0 Bank 7: 0xbc00004001010091",
            "[Hardware Error]: Uncorrected, software restartable error.",
        ),
        _CORRECTED,
        (Step("drain_and_inspect", "Decode the machine check, by rasdaemon or the server's own event log."), *_STEPS),
    ),
    Row(
        "memory-page-lost",
        "memory",
        r"Memory failure: 0x[0-9a-f]+: recovery action for [\w /-]{1,60}: (?:Recovered|Failed)\b"
        r"|Memory failure: 0x[0-9a-f]+: (?:Killing|Sending SIGBUS to) .{1,15}:\d+ due to hardware memory corruption"
        r"|MCE: Killing .{1,15}:\d+ due to hardware memory corruption fault at",
        "warning",
        "The kernel took a page of the host's memory out of use: its content is lost",
        "An uncorrectable memory error hit a page; a program that used it was killed. On GH200 and GB200 the page may be the GPU's own "
        "memory (HBM), which the kernel manages as the host's.",
        ("cleared",),
        "Linux mm/memory-failure.c (action_result, kill_proc), arch/x86/mm/fault.c",
        ("Memory failure: 0x9a11c40: recovery action for dirty LRU page: Recovered",),
        _CORRECTED,
        (
            Step("drain_and_inspect", "On GH200 and GB200, see whether it was memory of a GPU: NVML counts it there.", _GPU_ECC),
            Step("replace", "Have {device} replaced; where the GPU counts it, follow the advice for the GPU."),
        ),
    ),
    Row(
        "firmware-memory",
        "memory",
        r"\{(?P<key>\d+)\}\[Hardware Error\]:\s+Error \d+, type: (?:recoverable|fatal)",
        "warning",
        "The firmware reported an uncorrectable error of the host's memory or a CPU",
        "With firmware first error handling (APEI), as on Arm servers, the platform reports such errors.",
        ("cleared",),
        "Linux drivers/acpi/apei/ghes.c, drivers/firmware/efi/cper.c (cper_estatus_print)",
        (
            "{1}[Hardware Error]:  Error 0, type: recoverable",
            "{1}[Hardware Error]:   section_type: memory error",
        ),
        (*_CORRECTED, "[Hardware Error]: event severity: fatal (BERT: an error of the boot before)"),
        _STEPS,
        r"\{(?P<key>\d+)\}\[Hardware Error\]:\s+section_type: (?:memory error|general processor error|ARM processor error"
        r"|IA32/X64 processor error)",
    ),
)

#: The sections of another error follow: what came before is over.
NO_SECTION = r"\{\d+\}\[Hardware Error\]:\s+Error \d+, type: (?:corrected|info)"
