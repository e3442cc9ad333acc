"""The host's RDMA stack: devices, mode, library, peer memory, limits, and the origin of its modules."""

# Peer memory is usable by the three files that NCCL looks for; the module may be loaded without one of them. A module with a
# version of its own is not the kernel's: where DOCA-OFED's is on the disk and the kernel's is loaded, the initramfs had it. The
# Network Operator's marker is /run/mellanox/drivers/.driver-ready; modules that it loads are not counted as the host's.

from collections.abc import Callable
from typing import Any

from hostagent.core.answers import MIB
from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import WHOLE, Keep
from hostagent.core.tables.platforms import OPERATORS_MARK
from hostagent.core.unread import NOT_APPLICABLE, NOT_THERE, Unread, UnreadError, need, then
from hostagent.domains.network.read_ports import managers, names
from hostagent.domains.network.read_rdma_answers import Words
from hostagent.domains.network.tables.gpudirect import PEERMEM
from hostagent.domains.network.tables.rdma_devices import (
    CGROUPS,
    DOCA,
    INBOX,
    MELLANOX,
    OPERATOR,
    PEER_MEMORY_FILES,
    PROVIDER,
    STACK_MODULES,
)
from hostagent.domains.system.read_installed_kernels import parse_modules_dep
from hostagent.facts.kernel import Kernel
from hostagent.facts.rdma import HandleLimit, Rdma
from hostagent.host.source import Source
from hostagent.host.values import line_in, names_in

_NODES = "/dev/infiniband"
_NETNS_MODE = "/sys/module/ib_core/parameters/netns_mode"
_VERSION = "/sys/module/{}/version"
_CGROUP = "/sys/fs/cgroup/{}rdma.max"
_MAX = "max"
_UNLIMITED = -1
_INDEX = Keep("matches", tuple(rf"^(?:[^:\n]*/)?{name}\.ko(?:\.\w+)?:" for name in STACK_MODULES))


def read_rdma(source: Source, known: Callable[[type], Any]) -> Rdma:
    devices = _devices(source)
    kernel: Kernel = known(Kernel)
    return Rdma(
        devices=devices,
        managers=managers(source),
        nodes=names_in(source, _NODES),
        netns_mode=then(line_in(source, _NETNS_MODE), parse_netns_mode),
        library=_library(source),
        registers_dmabuf=_registers_dmabuf(source),
        peer_memory=_peer_memory(source, kernel),
        driver_version=_version(source, MELLANOX),
        limits=then(devices, lambda listed: _limits(source) if listed else ()),
        stacks=_stacks(source, kernel),
    )


@stops_at_unread
def _devices(source: Source) -> tuple[str, ...]:
    return names(source)


def parse_netns_mode(text: str) -> "str | Unread":
    """Whether all network namespaces share the devices (rdma-system(8)).

    >>> parse_netns_mode("Y"), parse_netns_mode("N")
    ('shared', 'exclusive')
    """
    modes = {"Y": "shared", "N": "exclusive"}
    return modes.get(text, Unread("error", f"netns_mode: found {text[:20]!r}, wanted Y or N"))


def _library(source: Source) -> "str | Unread":
    found = Words(source, "library").word("path")
    return "" if isinstance(found, Unread) and found.why == "absent" else found


def _registers_dmabuf(source: Source) -> "bool | Unread":
    words = Words(source, "library")
    found = words.raw("dmabuf")
    return found if isinstance(found, bool | Unread) else words.wrong("dmabuf: wanted true or false")


def _peer_memory(source: Source, kernel: Kernel) -> "str | Unread":
    """By the files that NCCL looks for: a loaded module may have failed to register with the RDMA core."""
    try:
        if any(need(source.exists(path)) for path in PEER_MEMORY_FILES):
            return "usable"
        return "loaded" if set(PEERMEM) & set(need(kernel.loaded_modules)) else ""
    except UnreadError as error:
        return error.unread


def _version(source: Source, module: str) -> "str | Unread":
    """Modules of the kernel itself have none."""
    return line_in(source, _VERSION.format(module), absent="")


@stops_at_unread
def _limits(source: Source) -> tuple[HandleLimit, ...]:
    return tuple(
        limit
        for group in CGROUPS
        for limit in need(parse_limits(need(source.text(_CGROUP.format(f"{group}/"), keep=WHOLE, absent="")), group))
    )


def parse_limits(text: str, group: str) -> "tuple[HandleLimit, ...] | Unread":
    r"""The devices of an rdma.max that have a limit (Linux kernel, cgroup-v2, RDMA).

    >>> parse_limits("mlx5_0 hca_handle=2 hca_object=2000\nmlx5_1 hca_handle=max hca_object=max\n", "kubepods.slice")
    (HandleLimit(cgroup='kubepods.slice', device='mlx5_0', handles=2, objects=2000),)
    """
    found: list[HandleLimit] = []
    for line in text.splitlines():
        device, *words = line.split()[:3] or [""]
        values = {key: value for key, _, value in (word.partition("=") for word in words)}
        numbers = [_limit(values.get(key, _MAX)) for key in ("hca_handle", "hca_object")]
        if device and any(number is None for number in numbers):
            return Unread("error", f"rdma.max of {group}: found {line[:60]!r}")
        handles, objects = (_UNLIMITED if number is None else number for number in numbers)
        if device and (handles, objects) != (_UNLIMITED, _UNLIMITED):
            found.append(HandleLimit(group, device, handles, objects))
    return tuple(found)


def _limit(text: str) -> "int | None":
    if text == _MAX:
        return _UNLIMITED
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 12 else None


@stops_at_unread
def _stacks(source: Source, kernel: Kernel) -> tuple[str, ...]:
    """The origin of the loaded modules, and of those on disk that the next boot loads instead. None without such a module.

    A module with a version of its own is not the kernel's.
    """
    loaded = kernel.loaded_modules
    if isinstance(loaded, Unread):
        need(loaded if loaded.why not in NOT_THERE else ())
        running: set[str] = set(STACK_MODULES)  # an image: what its disk has
    else:
        running = set(loaded) & set(STACK_MODULES)
    if not running:
        return ()
    release = need(kernel.release)
    index = need(source.text(f"/lib/modules/{release}/modules.dep", 16 * MIB, keep=_INDEX, absent=""))
    found: set[str] = set()
    for module in sorted(running):
        path = parse_modules_dep(index, module).removeprefix(f"/lib/modules/{release}/")
        is_foreign = bool(path) and not path.startswith("kernel/")
        if is_foreign:
            found.add(STACK_MODULES[module])
        if not isinstance(loaded, Unread):
            found |= _loaded_from(source, module, is_foreign=is_foreign)
    if need(_exists(source, OPERATORS_MARK)):
        found = (found - {INBOX}) | {OPERATOR}
    return tuple(name for name in (INBOX, DOCA, OPERATOR, PROVIDER) if name in found)


def _loaded_from(source: Source, module: str, *, is_foreign: bool) -> set[str]:
    if not need(_version(source, module)):
        return {INBOX}
    if is_foreign or need(_exists(source, OPERATORS_MARK)):
        return set()  # decided by the disk, or by the operator's marker
    return {STACK_MODULES[module]}


def _exists(source: Source, path: str) -> "bool | Unread":
    found = source.exists(path)
    return False if isinstance(found, Unread) and found.why in NOT_APPLICABLE else found
