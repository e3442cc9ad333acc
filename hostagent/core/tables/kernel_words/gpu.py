"""NVRM, NVSwitches, and the other modules of NVIDIA's driver.

NVRM writes "NVRM: ", the GPU's number in newer drivers, and the function that logs (NV_PRINTF); status codes as nvstatuscodes.h names them.
"""

from hostagent.core.steps import Step
from hostagent.core.tables.kernel_words.row import Row
from hostagent.core.tables.recovery_actions import REBOOT, REPLACE_IF_BACK, RESET_ALL_COMMAND

_NVRM = r"NVRM: (?:GPU\d{1,3} )?"
#: NV_ASSERT and NV_CHECK, with the status in words. Without a status they are no more than a note to NVIDIA's developers.
_STATUS = rf"{_NVRM}nv(?:Assert|Check)OkFailed(?:NoLog)?: (?:(?:Assertion|Check) failed: )?"
_OUT_OF_SYNC = "NVRM: nvCheckOkFailedNoLog: Check failed: NVLink fabric state cached by the driver is out of sync"
_RESET = Step("reset_gpu", "Reset all GPUs of the node together, or reboot it.", RESET_ALL_COMMAND)
_REBOOT_IF_BACK = Step("reboot", "Reboot the node.", if_back=True)
_CLEAR = Step("rerun", "After a reset, acknowledge what the kernel log has.", "hostagent events clear --reason 'GPUs were reset'")
_OPEN = "NVIDIA/open-gpu-kernel-modules"
_POWER_OFF = Step("power_cycle", "Power the chassis off and on.", if_back=True)
_RELOAD_UVM = Step(
    "restart_service", "With no job on the node, load nvidia_uvm again; or reboot.", "modprobe -r nvidia_uvm && modprobe nvidia_uvm"
)

#: Modules of the driver, as a trace names them behind a function. nvidiafb and nvidia_wmi_ec_backlight are the kernel's own.
MODULES = r"(?:nvidia(?:_uvm|_modeset|_drm|_peermem|_fs)?|gdrdrv|nv_peer_mem)"
#: A function of the driver in a trace: "RIP: 0010:f+0x1/0x2 [nvidia]", " f+0x1/0x2 [nvidia]", "pc : f+0x1/0x2 [nvidia_uvm]".
_FUNCTION = rf"[\w.]{{1,128}}\+0x[0-9a-f]+/0x[0-9a-f]+ \[{MODULES}(?: [0-9a-f]{{8,40}})?\]"
#: Not those that the kernel marks as unreliable (" ? "): words on the stack, which may be of an earlier call.
FRAME = rf"(?:RIP: \w{{4}}:| |(?:pc|lr) : ){_FUNCTION}"
#: The functions by which the driver waits count in a hang even so: proprietary code has no unwind tables.
_WAITS = rf"(?:RIP: \w{{4}}:| (?:\? (?=os_acquire_))?|(?:pc|lr) : ){_FUNCTION}"
#: Records after which a trace is over.
NO_FRAME = r" </TASK>|---\[ end trace |WARNING: CPU: \d+ PID: \d+ at |NMI backtrace for cpu "
_TRACE_SOURCE = "Linux kernel/hung_task.c, kernel/watchdog.c, kernel/rcu/tree_stall.h, arch/x86/mm/fault.c, arch/x86/kernel/traps.c"
_TRACE_NOISE = (
    "INFO: task nvidia-smi:2290 blocked for more than 120 seconds. (its trace names no function of the driver: it waits for a disk)",
    "Modules linked in: nvidia_uvm(POE) nvidia(POE) (each trace lists all modules)",
    "WARNING: CPU: 3 PID: 2290 at nvidia/nv.c:2290 nv_open+0x10/0x20 [nvidia] (a WARNING is a note to developers)",
)
_TRACE_STEPS = (
    Step("drain_and_inspect", "Keep the trace in a bug report of the driver.", "nvidia-bug-report.sh"),
    REBOOT,
    Step("contact_owner", "Give NVIDIA the bug report.", if_back=True),
)

ROWS = (
    Row(
        "uvm-needs-reboot",
        "gpu",
        rf"{_NVRM}nvGpuOpsReportFatalError: uvm encountered global fatal error 0x[0-9a-f]+",
        "critical",
        "nvidia-uvm has failed for all GPUs: CUDA starts again after a reboot",
        "nvidia_uvm reported a fatal error of all GPUs to NVRM; the driver then refuses each new CUDA context until the node is rebooted.",
        (),
        f"{_OPEN} src/nvidia/src/kernel/rmapi/nv_gpu_ops.c (nvGpuOpsReportFatalError), kernel-open/nvidia-uvm/uvm_global.c",
        ("NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover.",),
        (),
        (REBOOT, Step("contact_owner", "Give NVIDIA a bug report: 'nvidia-bug-report.sh'.", if_back=True)),
    ),
    Row(
        "reset-required",
        "gpu",
        rf"{_STATUS}Reset required \[NV_ERR_RESET_REQUIRED\]",
        "critical",
        "The driver asks for a reset of a GPU: no new program can use it",
        'The driver\'s resource manager got NV_ERR_RESET_REQUIRED (0x62): new programs get "device unavailable" while NVML shows nothing.',
        ("load", "reset", "cleared"),
        f"{_OPEN} src/nvidia/src/libraries/utils/nvassert.c, nvstatuscodes.h; kubernetes-sigs/dra-driver-nvidia-gpu#982",
        (
            "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from x @ a.c:1",
            "NVRM: GPU0 nvCheckOkFailedNoLog: Check failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from x @ a.c:1",
        ),
        (
            "NVRM: nvAssertFailedNoLog: Assertion failed: 0 @ kernel_graphics.c:2481",
            "NVRM: nvCheckOkFailedNoLog: Check failed: Object not found [NV_ERR_OBJECT_NOT_FOUND] (0x00000057) returned from x @ a.c:1",
            "NVRM: nvAssertOkFailedNoLog: Assertion failed: Invalid state [NV_ERR_INVALID_STATE] (0x00000040) returned from x @ a.c:1",
        ),
        (_RESET, _CLEAR, _REBOOT_IF_BACK),
    ),
    Row(
        "gpu-lost",
        "gpu",
        rf"{_STATUS}GPU lost from the bus \[NV_ERR_GPU_IS_LOST\]"
        rf"|{_NVRM}(?:_issueRpcAndWait: rpc\w+ failed with status 0x0000000f"
        r"|krcRcAndNotifyAllChannels\w*: RC all channels for critical error 79)",
        "critical",
        "The driver has lost a GPU: it no longer answers on the bus",
        "A GPU answers no reads (NV_ERR_GPU_IS_LOST, 0x0f). With it usually comes an Xid 79 that names the GPU.",
        ("load", "reset", "cleared"),
        f"{_OPEN} nvassert.c, nvstatuscodes.h, src/nvidia/src/kernel/vgpu/rpc.c, #688",
        (
            "NVRM: GPU5 nvCheckOkFailedNoLog: Check failed: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F) returned from x",
            "NVRM: GPU0 _issueRpcAndWait: rpcSendMessage failed with status 0x0000000f for fn 10 sequence 24013!",
            "NVRM: GPU0 krcRcAndNotifyAllChannels_IMPL: RC all channels for critical error 79.",
        ),
        (
            "NVRM: nvCheckOkFailedNoLog: Check failed: Call timed out [NV_ERR_TIMEOUT] (0x00000065) returned from x @ a.c:1",
            "NVRM: GPU0 _issueRpcAndWait: rpcRecvPoll timedout for fn 76 sequence 12!",
        ),
        (REBOOT, _POWER_OFF),
    ),
    Row(
        "gpu-locked",
        "gpu",
        rf"{_NVRM}krcWatchdog(?:_IMPL)?: RC watchdog: GPU is probably locked!",
        "warning",
        "A GPU no longer finishes work: the driver's watchdog found it locked",
        "The driver's own channel got no answer for seconds. An Xid 8 names the GPU if a program was hit.",
        ("load", "reset", "cleared"),
        f"{_OPEN} src/nvidia/src/kernel/gpu/rc/kernel_rc_watchdog.c",
        ("NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",),
        (),
        (_RESET, _CLEAR, _REBOOT_IF_BACK),
    ),
    Row(
        "gsp-heartbeat",
        "gpu",
        rf"{_NVRM}_?kgsp(?:IsHeartbeatTimedOut|RpcRecvPoll)\w*: (?:Heartbeat timed out|(?:GSP RM|LibOS) heartbeat timed out)",
        "critical",
        "The firmware of a GPU no longer answers (GSP heartbeat)",
        "The GPU's system processor (GSP) stopped its heartbeat: calls to that GPU may hang until a reset. An Xid 119 or 120 may follow. "
        "Desktops log it at a resume from suspend, too, where it ends with the next load of the driver.",
        ("load", "reset", "cleared"),
        f"{_OPEN} src/nvidia/src/kernel/gpu/gsp/kernel_gsp.c",
        (
            "NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 4200311 lastHeartbeat 4195100 timeout 5200",
            "NVRM: _kgspRpcRecvPoll: GSP RM heartbeat timed out",
            "NVRM: GPU0 _kgspRpcRecvPoll: LibOS heartbeat timed out",
        ),
        ("NVRM: _kgspRpcRecvPoll: Calling RPC RecvPoll with max timeout",),
        (_RESET, _CLEAR, _REBOOT_IF_BACK),
    ),
    Row(
        "gsp-rpc-errors",
        "gpu",
        rf"{_NVRM}(?:\w{{1,64}}: )?Rate limiting GSP RPC error prints for GPU at PCI:"
        r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)",
        "critical",
        "The firmware of a GPU answers with errors only: the GPU needs a reset",
        "So many calls to the GPU's system processor (GSP) failed that the driver no longer logs each. Usually an Xid 119 came first.",
        ("load", "reset", "cleared"),
        f"{_OPEN} src/nvidia/src/kernel/gpu/gsp/kernel_gsp.c",
        ("NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:61:00 (printing 1 of every 30). The GPU likely needs to be reset.",),
        (),
        (_RESET, _CLEAR, _REBOOT_IF_BACK),
    ),
    Row(
        "fsp-timeout",
        "gpu",
        rf"{_NVRM}_?kfsp\w{{1,64}}: FSP command timed out",
        "critical",
        "The boot processor of a GPU (FSP) does not answer: the GPU does not start",
        "Hopper and newer GPUs boot through it, and no driver gets past it. It is also logged of a GPU that was lost before.",
        ("load", "reset", "cleared"),
        f"{_OPEN} src/nvidia/src/kernel/gpu/fsp/kern_fsp.c (kfspWaitForResponse, kfspPollForResponse)",
        ("NVRM: kfspWaitForResponse: FSP command timed out", "NVRM: GPU0 kfspPollForResponse_IMPL: FSP command timed out"),
        (),
        (Step("power_cycle", "Power the chassis off and on: a reboot may not start the GPU again."), REPLACE_IF_BACK),
    ),
    Row(
        "nvlink-topology",
        "gpu",
        rf"{_NVRM}knvlink(?:UpdatePostRxDetectLinkMask|DiscoverPostRxDetLinks)_\w{{1,40}}: "
        r"(?:Failed to update Rx Detect Link mask|Getting peer\d*(?:'s)? postRxDetLinkMask failed)",
        "warning",
        "The driver cannot read the NVLink state of a GPU: jobs may get a slow way, nvidia-smi may hang",
        "The GPU's firmware does not say which NVLinks of it have a partner. NCCL was measured at 48 instead of 687 GB/s on such a host.",
        ("load", "reset", "cleared"),
        f"{_OPEN} src/nvidia/src/kernel/gpu/nvlink/kernel_nvlink.c, arch/hopper/kernel_nvlink_gh100.c, #971; leptonai/gpud#1271",
        (
            "NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!",
            "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer3's postRxDetLinkMask failed!",
        ),
        (
            "NVRM: knvlinkSendInbandData_IMPL: Failed to send inband data: 0",
            "NVRM: knvlinkSetUniqueFabricBaseAddress_GV100: Fabric addr has not been set",
        ),
        (_RESET, _CLEAR, _REBOOT_IF_BACK),
    ),
    Row(
        "fabric-out-of-sync",
        "gpu",
        rf"{_STATUS}NVLink fabric state cached by the driver is out of sync \[NV_ERR_FABRIC_STATE_OUT_OF_SYNC\]",
        "warning",
        "The driver's NVLink fabric state is out of date: NCCL cannot use NVLink SHARP (NVLS)",
        "The fabric manager was restarted while programs had the GPUs. Jobs with NVLS fail at their start until all GPUs are reset; "
        "others, and those with NCCL_NVLS_ENABLE=0, run.",
        ("load", "reset", "cleared"),
        f"{_OPEN} nvstatuscodes.h, src/nvidia/src/kernel/mem_mgr/mem_multicast_fabric.c; NVIDIA/nccl#1788",
        (f"{_OUT_OF_SYNC} [NV_ERR_FABRIC_STATE_OUT_OF_SYNC] (0x00000087) returned from x @ mem_multicast_fabric.c:3119",),
        (),
        (
            Step("reset_gpu", "End all that uses a GPU, reset all GPUs together, then start the fabric manager.", RESET_ALL_COMMAND),
            _CLEAR,
            _REBOOT_IF_BACK,
        ),
    ),
    Row(
        "bar-invalid",
        "gpu",
        r"NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:"
        r"(?:\s+NVRM: BAR\d is \S+ @ \S+ \(PCI:(?P<pci>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\))?",
        "critical",
        "The firmware gave a GPU no usable PCI memory (BAR): the driver leaves it",
        "A BAR of the GPU has no size or no address, so the driver refuses the GPU. The second line names the BAR and the GPU.",
        ("load", "cleared"),
        f"{_OPEN} kernel-open/nvidia/nv-pci.c",
        ("NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\nNVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)",),
        ("pci 0000:01:00.0: BAR 5 [io  size 0x0080]: failed to assign",),
        (
            Step("configure", "Give the BARs room: Above 4G decoding, or a larger MMIO window of the virtual machine."),
            Step("configure", "Or let the kernel assign the BARs again: add pci=realloc to its command line."),
        ),
    ),
    Row(
        "power-cables",
        "gpu",
        r"NVRM: (?:GPU (?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]): )?"
        r"GPU does not have the necessary power cables connected",
        "critical",
        "A GPU has no power: a power cable of the card is not connected",
        "The driver does not start a GPU that lacks its auxiliary power.",
        ("load", "cleared"),
        f"{_OPEN} src/nvidia/arch/nvalloc/unix/src/osinit.c",
        ("NVRM: GPU 0000:01:00.0: GPU does not have the necessary power cables connected.",),
        (),
        (Step("power_cycle", "Power the host off, and connect the power cables of the GPU."),),
    ),
    Row(
        "nvswitch-not-initialised",
        "gpu",
        r"nvidia-nvswitch\d{1,3}: Failed to initialize device : -?\d",
        "critical",
        "The driver could not initialise an NVSwitch",
        "GPUs reach each other over NVLink only with all switches of the board.",
        ("load", "cleared"),
        f"{_OPEN} kernel-open/nvidia/linux_nvswitch.c",
        ("nvidia-nvswitch2: Failed to initialize device : -5",),
        ("nvidia-nvswitch2: using MSI", "nvidia-nvswitch2: open (major=510)"),
        (REBOOT, Step("power_cycle", "Power the chassis off and on; after that, have the baseboard serviced.", if_back=True)),
    ),
    Row(
        "uvm-hmm",
        "module",
        r"nvidia-uvm: uvm_\w+\.c:\d+ devmem_alloc_pagemap\[pid:\d+\] (?:request_free_mem_region|memremap_pages)\(\) err -\d+",
        "critical",
        "nvidia_uvm finds no address range for HMM: CUDA does not start",
        "Some kernels leave no free physical address range when KASLR has moved memory, and HMM of nvidia_uvm needs one. NVML "
        "and nvidia-smi work, each CUDA program fails. HMM is off with uvm_disable_hmm=1; the kernel option nokaslr "
        "is the other way.",
        ("load", "uvm", "cleared"),
        f"{_OPEN} kernel-open/nvidia-uvm/uvm_pmm_gpu.c, #901; NVIDIA CUDA release notes, known issues",
        ("nvidia-uvm: uvm_pmm_gpu.c:3176 devmem_alloc_pagemap[pid:92821] request_free_mem_region() err -34",),
        ("nvidia-uvm: Loaded the UVM driver, major device number 507.",),
        (
            Step(
                "configure",
                "Turn HMM off: options nvidia_uvm uvm_disable_hmm=1 in /etc/modprobe.d.",
                "echo 'options nvidia_uvm uvm_disable_hmm=1' > /etc/modprobe.d/nvidia-uvm-hmm.conf",
            ),
            Step(
                "restart_service",
                "With no job on the node, reload nvidia_uvm; or reboot.",
                "modprobe -r nvidia_uvm && modprobe nvidia_uvm",
            ),
        ),
    ),
    Row(
        "uvm-fatal",
        "module",
        r"nvidia-uvm: uvm_\w+\.c:\d+ uvm_global_set_fatal_error\w*\[pid:\d+\] Encountered a global fatal error: ",
        "critical",
        "nvidia_uvm has failed for all GPUs: no CUDA program can start",
        "A fatal error of nvidia_uvm holds for all GPUs and all programs until the module is loaded again or the node is rebooted.",
        ("load", "uvm", "cleared"),
        f"{_OPEN} kernel-open/nvidia-uvm/uvm_global.c",
        ("nvidia-uvm: uvm_global.c:420 uvm_global_set_fatal_error_impl[pid:812] Encountered a global fatal error: RC error",),
        ("nvidia-uvm: uvm_gpu_replayable_faults.c:2290 service_fault_batch[pid:812] Cancelling fault of one process",),
        (REBOOT, Step("contact_owner", "Give NVIDIA a bug report: 'nvidia-bug-report.sh'.", if_back=True)),
    ),
    Row(
        "uvm-assert",
        "module",
        r"nvidia-uvm: uvm_\w+\.[ch]:\d+ \w{1,80}\[pid:\d+\] Assert failed\b",
        "warning",
        "nvidia_uvm found an inconsistency of its own",
        "An assertion of nvidia_uvm that is built into release builds failed: its state may be wrong.",
        ("load", "uvm", "cleared"),
        f"{_OPEN} kernel-open/nvidia-uvm/uvm_common.h (UVM_ASSERT_MSG_RELEASE)",
        ("nvidia-uvm: uvm_va_block.c:812 block_map[pid:2290] Assert failed, condition 0 not true",),
        (),
        (_RELOAD_UVM,),
    ),
    Row(
        "modeset-waits",
        "module",
        r"nvidia-modeset: ERROR: GPU:\d+: Error while waiting for GPU progress",
        "warning",
        "The display engine of a GPU no longer makes progress",
        "nvidia_modeset waits for a GPU that does not go on; often the GPU itself hangs.",
        ("load", "reset", "cleared"),
        f"{_OPEN} src/nvidia-modeset/src/nvkms-evo.c, nvkms-push.c",
        ("nvidia-modeset: ERROR: GPU:0: Error while waiting for GPU progress: 0x0000c67d:0 2:0:4040:4032",),
        (
            "nvidia-modeset: WARNING: GPU:0: Unable to read EDID for display device DP-0",
            "nvidia-modeset: ERROR: GPU:0: Idling display engine timed out: 0x0000c67d:0:0:407 (desktops at a change of mode)",
            "[drm:nv_drm_load [nvidia_drm]] *ERROR* [nvidia-drm] [GPU ID 0x00001b00] Failed to allocate NvKmsKapiDevice",
            "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
        ),
        (_RESET, _CLEAR, _REBOOT_IF_BACK),
    ),
    Row(
        "driver-oops",
        "module",
        r"BUG: kernel NULL pointer dereference, address: |BUG: unable to handle (?:page fault|kernel \w+)\b"
        r"|kernel BUG at [\w./-]{1,120}:\d+!|general protection fault, probably for "
        r"|(?:general protection fault|invalid opcode|stack segment|divide error): 0000 \[#\d|Oops: [\w ,:-]{1,90}\[#\d"
        r"|Unable to handle kernel .{1,60} at virtual address |Internal error: [\w ,:-]{1,90}\[#\d",
        "critical",
        "NVIDIA's driver crashed in the kernel (oops)",
        "The kernel ended a task inside the driver. Locks that it held are never released: programs hang, and memory may be damaged.",
        ("cleared",),
        f"Linux arch/x86/mm/fault.c, arch/x86/kernel/dumpstack.c, arch/arm64/mm/fault.c; {_OPEN} issues with 'RIP: 0010:uvm_'",
        (
            "BUG: kernel NULL pointer dereference, address: 0000000000000008",
            "RIP: 0010:uvm_va_block_find_create+0x2c/0x110 [nvidia_uvm]",
        ),
        (
            *_TRACE_NOISE[1:],
            "BUG: unable to handle page fault for address: ffffa1 (and its trace names other modules only)",
            " ? nvidia_ioctl+0x10/0x20 [nvidia] (in the trace of a crash elsewhere: an earlier call)",
        ),
        _TRACE_STEPS,
        FRAME,
    ),
    Row(
        "driver-hangs",
        "module",
        r"INFO: task .{1,15}:\d+ (?:<.{1,40}> )?blocked (?:in I/O wait )?for more than \d+ seconds\.",
        "warning",
        "A task has hung in NVIDIA's driver for minutes",
        "A task waits inside the driver and cannot be ended: later programs wait for the same lock.",
        ("cleared",),
        f"{_TRACE_SOURCE}; the function of the driver in its trace is what counts, never the task's name",
        ("INFO: task python3:2290 blocked for more than 120 seconds.", " ? os_acquire_rwlock_write+0x39/0x50 [nvidia]"),
        (
            *_TRACE_NOISE,
            " ? nvidia_ioctl+0x10/0x20 [nvidia] (in the trace of a task that waits for a file server: an earlier call)",
        ),
        _TRACE_STEPS,
        _WAITS,
    ),
    Row(
        "driver-lockup",
        "module",
        r"(?:NMI )?watchdog: BUG: soft lockup - CPU#\d+ stuck for ",
        "warning",
        "A CPU is stuck in NVIDIA's driver",
        "A CPU has spun inside the driver for 20 seconds or more; other work of that CPU does not run.",
        ("cleared",),
        _TRACE_SOURCE,
        ("watchdog: BUG: soft lockup - CPU#12 stuck for 26s! [python3:2290]", "RIP: 0010:_nv012345rm+0x10/0x40 [nvidia]"),
        ("watchdog: BUG: soft lockup - CPU#12 stuck for 26s! [nvidia-smi:2290] (its trace names no function of the driver)",),
        _TRACE_STEPS,
        FRAME,
    ),
    Row(
        "driver-stall",
        "module",
        r"(?:NMI )?watchdog: (?:Watchdog detected hard LOCKUP on cpu ?\d+|CPU\d+: Watchdog detected hard)"
        r"|rcu: INFO: \w{1,32} (?:self-detected stall on CPU|detected (?:expedited )?stalls on CPUs)",
        "warning",
        "A CPU is stuck in NVIDIA's driver: it takes no interrupts, or holds up the kernel",
        "A CPU inside the driver has not served a timer, or lets no other CPU go on (RCU). Another CPU usually reports it.",
        ("cleared",),
        _TRACE_SOURCE,
        ("rcu: INFO: rcu_sched detected stalls on CPUs/tasks:", "RIP: 0010:_nv012345rm+0x10/0x40 [nvidia]"),
        (),
        _TRACE_STEPS,
        FRAME,
        is_of_another_cpu=True,
    ),
)
