"""The driver's device nodes and majors."""

import re

from hostagent.core.retention import WHOLE
from hostagent.core.unread import Unread, then
from hostagent.facts.driver import CONTAINER_ROOT, DeviceNode
from hostagent.host.source import Source

#: Major of the GPUs, nvidiactl and nvidia-modeset (Linux kernel, Documentation/admin-guide/devices.txt).
NVIDIA_MAJOR = 195
_NAMES = re.compile(r"nvidia(?:\d+|ctl|-modeset|-uvm|-uvm-tools)")


def read_nodes(source: Source, loaded: "bool | Unread") -> "tuple[DeviceNode, ...] | Unread":
    """Nodes of GPUs, the control node, modeset and UVM, by path; only character devices.

    A driver container creates them in its own /dev, which the host sees only below the container's root (gpu-operator issue 1741).
    """
    found = _nodes(source, "/dev")
    if isinstance(found, Unread) or "nvidiactl" in found or loaded is not True:
        return found if isinstance(found, Unread) else tuple(found.values())
    of_container = _nodes(source, f"{CONTAINER_ROOT}dev")
    if isinstance(of_container, Unread):
        return tuple(found.values()) if of_container.why == "absent" else of_container
    return tuple({**of_container, **found}.values())


def _nodes(source: Source, directory: str) -> "dict[str, DeviceNode] | Unread":
    names = source.listdir(directory)
    if isinstance(names, Unread):
        return names
    found: dict[str, DeviceNode] = {}
    for name in names:
        if _NAMES.fullmatch(name):
            node = source.stat(f"{directory}/{name}")
            if isinstance(node, Unread):
                return node
            if node.kind == "char":
                found[name] = DeviceNode(f"{directory}/{name}", node.major, node.minor, node.mode, node.uid, node.gid)
    return found


def read_majors(source: Source) -> "tuple[tuple[str, int], ...] | Unread":
    return then(source.text("/proc/devices", keep=WHOLE), parse_devices)


def parse_devices(text: str) -> tuple[tuple[str, int], ...]:
    r"""
    The driver's character majors in /proc/devices.

    >>> parse_devices("Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n511 nvidia-uvm\n\nBlock devices:\n  7 loop\n")
    (('nvidia', 195), ('nvidiactl', 195), ('nvidia-uvm', 511))
    """
    characters = text.partition("Block devices:")[0]
    return tuple((match[2], int(match[1])) for match in re.finditer(r"^ *(\d{1,9}) (nvidia\S*)$", characters, re.MULTILINE))


def read_char_links(source: Source, majors: "tuple[tuple[str, int], ...] | Unread") -> "tuple[str, ...] | Unread":
    wanted = {str(NVIDIA_MAJOR), *(() if isinstance(majors, Unread) else (str(number) for _, number in majors))}
    names = source.listdir("/dev/char", absent=())
    return then(names, lambda found: tuple(name for name in found if name.partition(":")[0] in wanted))
