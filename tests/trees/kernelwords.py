"""Hosts whose kernel log names a fault other than Xids, and a healthy one whose log has all that looks like one.

Sources: `hostagent.core.tables.kernel_words`; traces as Linux kernel/hung_task.c and arch/x86/kernel/dumpstack.c write them.
"""

from pathlib import Path

from hostagent.core.tables.kernel_words import ROWS
from tests.trees import boards, hosts, others, rails
from tests.trees.claim import claims
from tests.trees.fabrics import PLACES
from tests.trees.tree import Tree

_RESET = "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from status @ "


def _log(tree: Tree, caller: str, seconds: float, *messages: str, priority: int = 4) -> None:
    """Records of one task or CPU, one after the other within milliseconds."""
    text = tree.text("/dev/kmsg") if tree.at("/dev/kmsg").exists() else ""
    first = text.count("\n")
    lines = (
        f"{priority},{first + at},{round(seconds * 1e6) + 40 * at},-,caller={caller};{message}\n" for at, message in enumerate(messages)
    )
    tree.write("/dev/kmsg", text + "".join(lines))


@claims("gpu.driver_words", twin="gb200-nvl", source="kubernetes-sigs/dra-driver-nvidia-gpu#982")
def gb200_wants_a_reset(root: Path) -> Tree:
    """The driver of a GB200 logged assertions with the status "reset required", and no Xid; NVML answers as ever."""
    tree = others.gb200_nvl(root)
    _log(tree, "T4711", 90010.0, f"{_RESET}kernel_channel.c:2874", f"{_RESET}kernel_channel.c:2801", priority=3)
    return tree


@claims("driver.module_words", twin="rhel9-module-streams", source="NVIDIA CUDA release notes, known issues: KASLR")
def rhel9_hmm_without_range(root: Path) -> Tree:
    """nvidia_uvm found no address range for HMM on Rocky Linux 9: each CUDA program fails, nvidia-smi does not."""
    tree = others.rhel9_module_streams(root)
    _log(tree, "T3107", 640.5, "nvidia-uvm: uvm_pmm_gpu.c:3168 devmem_alloc_pagemap[pid:3107] request_free_mem_region() err -34")
    return tree


@claims("rdma.nic_words", twin="hgx-h100-ubuntu2404", source="NVIDIA/aicr#2616")
def hgx_h100_nic_hangs(root: Path) -> Tree:
    """The firmware of one rail's ConnectX-7 no longer counts its heartbeat; sysfs calls the port ACTIVE."""
    tree = hosts.hgx_h100(root)
    device = f"mlx5_core {rails.beside(PLACES[2]).pci}"
    _log(
        tree,
        "T18",
        86400.0,
        f"{device}: wait_func_handle_exec_timeout:1128:(pid 18): cmd[5]: QUERY_VPORT_COUNTER(0x770) No done completion",
    )
    _log(
        tree,
        "T18",
        86461.0,
        f"{device}: wait_func:1195:(pid 18): QUERY_VPORT_COUNTER(0x770) timeout. Will cause a leak of a command resource",
    )
    _log(
        tree,
        "C0",
        86470.0,
        f"{device}: poll_health:837:(pid 0): device's health compromised - reached miss count",
        f"{device}: print_health_info:431:(pid 0): Health issue observed, unrecoverable hardware error, severity(3) ERROR:",
        f"{device}: print_health_info:458:(pid 0): synd 0x8: unrecoverable hardware error",
    )
    return tree


@claims("gpu.pci_words", twin="hgx-h100-ubuntu2404", source="Linux kernel, drivers/pci/pcie/dpc.c, err.c")
def hgx_h100_gpu_cut_off(root: Path) -> Tree:
    """PCIe containment took down the link of one GPU, and the kernel could not recover it; the driver has not noticed yet."""
    tree = hosts.hgx_h100(root)
    gpu = PLACES[3].pci
    port = tree.at(f"/sys/bus/pci/devices/{gpu}").resolve().parent.name
    _log(
        tree,
        "T212",
        7200.0,
        f"pcieport {port}: DPC: containment event, status:0x1f01 source:0x0000",
        f"pcieport {port}: DPC: unmasked uncorrectable error detected",
        f"nvidia {gpu}: AER: can't recover (no error_detected callback)",
        f"pcieport {port}: AER: device recovery failed",
        priority=3,
    )
    return tree


_HUNG = (
    "INFO: task {0}:5120 blocked for more than 122 seconds.",
    "      Tainted: P           OE      6.8.0-87-generic #88-Ubuntu",
    '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    "task:{0}         state:D stack:0     pid:5120  tgid:5120  ppid:5001   flags:0x00000006",
    "Call Trace:",
    " <TASK>",
    " __schedule+0x27c/0x6b0",
    " schedule+0x33/0x110",
    " {1}",
    " __x64_sys_ioctl+0xa3/0xf0",
    " </TASK>",
)


def _hung(task: str, frame: str) -> tuple[str, ...]:
    return tuple(line.format(task, frame) for line in _HUNG)


@claims("driver.module_words", twin="hgx-a100", source="Linux kernel, kernel/hung_task.c")
def hgx_a100_task_hangs_in_driver(root: Path) -> Tree:
    """A task has waited two minutes for a lock inside nvidia.ko."""
    tree = boards.hgx_a100(root)
    _log(tree, "T97", 43200.0, *_hung("pt_main_thread", "? os_acquire_rwlock_write+0x39/0x50 [nvidia]"), priority=3)
    return tree


@claims("host.memory_words", twin="hgx-b200", source="Linux kernel, drivers/edac/edac_mc.c")
def hgx_b200_memory_uncorrected(root: Path) -> Tree:
    """One word of the host's memory could not be corrected, after many that could."""
    tree = boards.hgx_b200(root)
    _log(
        tree,
        "C4",
        52000.0,
        "mce: [Hardware Error]: Machine check events logged",
        "EDAC i10nm MC6: CPU 4: Machine Check Event: 0 Bank 13: fc00008001010091",
        "EDAC MC6: 1 UE memory read error on CPU_SrcID#1_MC#2_Chan#0_DIMM#0 (channel:0 slot:0 page:0x4d11c40 offset:0x40 grain:32 -  recoverable)",
        "Memory failure: 0x4d11c40: recovery action for dirty LRU page: Recovered",
        priority=3,
    )
    return tree


def _noise() -> tuple[str, ...]:
    """What the table calls noise: records without the remarks behind them."""
    return tuple(dict.fromkeys(one.partition(" (its")[0].partition(" (and its")[0] for row in ROWS for one in row.noise))


@claims(source="NVIDIA/open-gpu-kernel-modules, Linux kernel: what healthy hosts log")
def hgx_h100_busy_log(root: Path) -> Tree:
    """An HGX H100 whose kernel log has all that looks like a fault: assertions, corrected errors, a disk that went, users' programs."""
    tree = hosts.hgx_h100(root)
    _log(tree, "T1", 100.0, *_noise())
    _log(tree, "T97", 5000.0, *_hung("nvidia-smi", "nfs_wait_bit_killable+0x16/0x90 [nfs]"))
    _log(
        tree,
        "T880",
        5100.0,
        "WARNING: CPU: 3 PID: 880 at drivers/gpu/drm/drm_gem.c:180 nv_drm_open+0x10/0x20 [nvidia_drm]",
        "RIP: 0010:nv_drm_open+0x10/0x20 [nvidia_drm]",
        "Call Trace:",
        " ? nvidia_open+0x10/0x20 [nvidia]",
        "---[ end trace 0000000000000000 ]---",
    )
    #: An oops of another module, while a process of a GPU job runs on another CPU.
    _log(tree, "T901", 5200.0, "BUG: kernel NULL pointer dereference, address: 0000000000000008", "RIP: 0010:lov_io_init+0x2/0x10 [lov]")
    _log(tree, "C12", 5200.001, "NMI backtrace for cpu 12", "RIP: 0010:_nv039890rm+0x1a9/0x480 [nvidia]")
    _log(
        tree, "T61", 5300.0, *("EDAC MC3: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0)" for _ in range(500))
    )
    _log(
        tree,
        "T212",
        6000.0,
        "pcieport 0000:e0:03.1: pciehp: Slot(7): Link Down",
        "pcieport 0000:e0:03.1: pciehp: Slot(7): Card not present",
        "pcieport 0000:e0:03.2: AER: Uncorrected (Fatal) error received: 0000:e4:00.0",
        "nvme 0000:e4:00.0: Unable to change power state from D3cold to D0, device inaccessible",
    )
    for name in ("NVRM: nvAssert", "INFO: task a:1 ", "EDAC MC3: 1 UE ", "mlx5_core 0000:", "mce: [Hardware "):
        _log(tree, "T7", 6100.0, f"{name}[9]: segfault at 0 ip 0 sp 0 error 4 in {_RESET}[1000+1000]", priority=6)
    _log(tree, "T7", 6200.0, f"oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/{_RESET},task=a,pid=1,uid=1000", priority=6)
    _log(tree, "T7", 6300.0, f"{_RESET}a.c:1", "EDAC MC3: 1 UE memory read error on a (b)", priority=12)  # from user space
    return tree


RECIPES = {
    "gb200-wants-a-reset": (gb200_wants_a_reset, "default"),
    "rhel9-hmm-without-range": (rhel9_hmm_without_range, "default"),
    "hgx-h100-nic-hangs": (hgx_h100_nic_hangs, "default"),
    "hgx-h100-gpu-cut-off": (hgx_h100_gpu_cut_off, "default"),
    "hgx-a100-task-hangs-in-driver": (hgx_a100_task_hangs_in_driver, "default"),
    "hgx-b200-memory-uncorrected": (hgx_b200_memory_uncorrected, "default"),
    "hgx-h100-busy-log": (hgx_h100_busy_log, "default"),
}
