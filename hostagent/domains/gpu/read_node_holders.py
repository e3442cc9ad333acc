"""Programs that hold a GPU's device node open, of a GPU with memory in use and no process by NVML.

NVML does not list the processes of other pid namespaces, so that the open files decide (`hostagent.domains.driver.read_gpu_users`). The
driver's own daemons hold every node, and little memory: they are left out by process id, where the process list trusts them. Looking at
the files of every process takes time, so that there is no question while NVML names processes or the memory is free.
"""

import re
from typing import Any

from hostagent.core.tables.daemons import processes
from hostagent.core.unread import Unread
from hostagent.domains.system.read_processes import read_processes
from hostagent.host.source import Source

#: Memory that is worth the question; the driver keeps some of an idle GPU.
_WORTH_BYTES = 256 * 1024 * 1024
_OF_A_GPU = re.compile(r"/dev/nvidia(\d{1,9})", re.ASCII)
#: Every client has these; they belong to no GPU.
_OF_NO_GPU = re.compile(r"/dev/nvidia(ctl|-nvswitch\w*|-nvlink|-caps/[\w-]+|-caps-imex-channels/[\w-]+|-vgpuctl)")


def read_node_holders(
    source: Source, minor: "int | Unread", used_bytes: "int | Unread", listed: "int | Unread"
) -> "tuple[str, ...] | Unread":
    """`listed`: how many processes NVML lists."""
    for value in (minor, used_bytes, listed):
        if isinstance(value, Unread):
            return value
    if listed or not used_bytes > _WORTH_BYTES:
        return Unread("not-supported", "not asked: NVML lists the GPU's processes, or its memory is free")
    rows, daemons = source.gpu_users(), read_processes(source)
    if isinstance(rows, Unread):
        return rows
    if isinstance(daemons, Unread):
        return daemons
    own = {one.pid for one in daemons if one.name in processes("nvidia") and not isinstance(one.unit, Unread)}
    found = [_holder(row, minor) for row in rows if row.get("pid") not in own]
    return next((one for one in found if isinstance(one, Unread)), tuple(one for one in found if isinstance(one, str) and one))


def _holder(row: "dict[str, Any]", minor: "int | Unread") -> "str | Unread":
    """The program if it may have memory of the GPU, else "". A file that leads to no GPU's own node, as of nvidia-uvm or DRM, counts for
    each GPU, if its process has no GPU's node open.
    """
    program, devices = row.get("program"), row.get("devices")
    if devices is None:
        return Unread("not-recorded", "the nodes that each process holds open", "gpu_users")
    if not isinstance(program, str) or not isinstance(devices, list) or not all(isinstance(one, str) for one in devices):
        return Unread("error", f"a GPU user without program or devices: {str(row)[:80]}", "gpu_users")
    minors = {match[1] for one in devices if (match := _OF_A_GPU.fullmatch(one))}
    if minors:
        return program if str(minor) in minors else ""
    return "" if all(_OF_NO_GPU.fullmatch(one) for one in devices) else program
