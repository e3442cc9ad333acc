"""The driver's device nodes, and the majors the kernel gave it."""

import re

from hostagent.facts.driver import DeviceNode
from hostagent.facts.unread import Unread
from hostagent.source import Source

#: Major of the GPUs, nvidiactl and nvidia-modeset (Linux kernel, Documentation/admin-guide/devices.txt).
NVIDIA_MAJOR = 195
_NAMES = re.compile(r"nvidia(?:\d+|ctl|-modeset|-uvm|-uvm-tools)")


def read_nodes(source: Source) -> "tuple[DeviceNode, ...] | Unread":
    """Nodes of GPUs, the control node, modeset and UVM, by path. A name that is no character device is left out."""
    names = source.listdir("/dev")
    if isinstance(names, Unread):
        return names
    found: list[DeviceNode] = []
    for name in names:
        if _NAMES.fullmatch(name):
            node = source.stat(f"/dev/{name}")
            if isinstance(node, Unread):
                return node
            if node.kind == "char":
                found.append(DeviceNode(f"/dev/{name}", node.major, node.minor, node.mode, node.uid, node.gid))
    return tuple(found)


def read_majors(source: Source) -> "tuple[tuple[str, int], ...] | Unread":
    text = source.text("/proc/devices")
    return text if isinstance(text, Unread) else parse_devices(text)


def parse_devices(text: str) -> tuple[tuple[str, int], ...]:
    r"""
    The driver's character majors in /proc/devices.

    >>> parse_devices("Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n511 nvidia-uvm\n\nBlock devices:\n  7 loop\n")
    (('nvidia', 195), ('nvidiactl', 195), ('nvidia-uvm', 511))
    """
    characters = text.partition("Block devices:")[0]
    return tuple((match[2], int(match[1])) for match in re.finditer(r"^ *(\d{1,9}) (nvidia\S*)$", characters, re.MULTILINE))


def read_char_links(source: Source, majors: "tuple[tuple[str, int], ...] | Unread") -> "tuple[str, ...] | Unread":
    names = source.listdir("/dev/char")
    if isinstance(names, Unread):
        return () if names.why == "absent" else names
    wanted = {NVIDIA_MAJOR} | (set() if isinstance(majors, Unread) else {number for _, number in majors})
    return tuple(name for name in names if name.partition(":")[0] in {str(number) for number in wanted})
