"""Source to facts: one reader per fact type, listed here by that type's name and imported when it is needed."""

import importlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from hostagent.core.crash import crash_lines, crash_text
from hostagent.core.errors import OutOfTime
from hostagent.core.unread import Unread, UnreadError
from hostagent.engine import fact_cache
from hostagent.facts.hostfacts import Earlier, HostFacts
from hostagent.host.source import Source

#: ``known(Packages)`` inside a reader is the packages as already read, or read now.
Known = Callable[[type], Any]


class Fact(NamedTuple):
    """A fact that was read. ``asked``: the questions and digests of answers, see `hostagent.engine.fact_cache`; b"" to read it anew in
    the next pass. ``is_new``: not the fact of an earlier pass.
    """

    name: str
    value: Any
    asked: bytes
    took_ms: float
    is_new: bool


#: Called with each fact as soon as it is read.
OnFact = Callable[[Fact], None]


class Reader(NamedTuple):
    """Where a fact is read: ``topic.module.function`` below `hostagent.domains`, called with (source, known)."""

    place: str
    needs: tuple[str, ...] = ()  # what it asks `known` for
    lanes: tuple[str, ...] = ()  # the lanes that its questions go to, see `hostagent.engine.questions`
    has_clock: bool = False  # the time of its pass is in it: no pass has that of another

    def load(self) -> Callable[[Source, Known], Any]:
        module, _, function = self.place.rpartition(".")
        found: Callable[[Source, Known], Any] = getattr(importlib.import_module(f"hostagent.domains.{module}"), function)
        return found


_NVIDIA, _RDMA = ("nvidia",), ("rdma",)
#: In reading order: those that wait for a worker come last.
READERS: Mapping[str, Reader] = {
    "Identity": Reader("system.read_identity.read_identity", has_clock=True),
    "Os": Reader("system.read_os.read_os"),
    "Platform": Reader("system.read_platform.read_platform", ("Os",)),
    "Packages": Reader("packages.read_packages.read_packages"),
    "Kernel": Reader("system.read_kernel.read_kernel", ("Packages",)),
    "Services": Reader("system.read_services.read_services"),
    "Storage": Reader("system.read_storage.read_storage"),
    "Machine": Reader("system.read_machine.read_machine", ("Platform", "Services")),
    "HostLimits": Reader("system.read_limits.read_limits"),
    "MemoryErrors": Reader("system.read_memory_errors.read_memory_errors"),
    "Restarts": Reader("system.read_restarts.read_restarts", ("Machine", "Services"), has_clock=True),
    "Topology": Reader("topology.read_topology.read_topology"),
    "Nic": Reader("topology.read_nics.read_nics"),
    "Toolkit": Reader("runtime.read_toolkit.read_toolkit", ("Packages", "Runtime")),
    "Runtime": Reader("runtime.read_runtimes.read_runtimes", ("Machine", "Packages", "Services")),
    "Confinement": Reader("runtime.read_confinement.read_confinement", ("Os", "Runtime")),
    "Launchers": Reader("kubelet.read_launchers.read_launchers", ("Machine", "Platform", "Runtime", "Services")),
    "SlurmNode": Reader("slurm.read_slurm.read_slurm", ("Launchers", "Machine", "Services")),
    "Cdi": Reader("runtime.read_cdi.read_cdi", ("Runtime", "Services")),
    "Kubelet": Reader("kubelet.read_kubelet.read_kubelet", ("Machine", "Packages", "Platform", "Services", "Topology")),
    "Volumes": Reader("kubelet.read_volumes.read_volumes", ("Cdi", "Launchers", "Machine", "Platform", "Runtime", "Services", "SlurmNode")),
    "Fabric": Reader("gpu.read_nvswitches.read_fabric", (), (*_NVIDIA, *_RDMA)),
    "FabricManager": Reader("gpu.read_manager.read_fabric_manager", ("Machine",)),
    "Imex": Reader("gpu.read_imex.read_imex", ("Machine", "Services")),
    "GpuEvents": Reader("gpu.read_events.read_events"),
    "KernelWords": Reader("gpu.read_kernel_words.read_kernel_words"),
    "History": Reader("system.read_identity.read_history"),
    "Driver": Reader("driver.read_driver.read_driver", ("Packages", "Platform"), _NVIDIA),
    "Accelerators": Reader("gpu.read_gpus.read_accelerators"),
    "Gpu": Reader("gpu.read_gpus.read_gpus", (), _NVIDIA),
    "Rdma": Reader("network.read_rdma.read_rdma", ("Kernel",), _RDMA),
    "RdmaPort": Reader("network.read_ports.read_ports", (), _RDMA),
    "Network": Reader("network.read_network.read_network", ("Nic", "RdmaPort"), ("network",)),
    # where jobs keep libraries a file system of the network may hang: then all else has been read
    "Nccl": Reader("nccl.read_nccl.read_nccl"),
}
#: Facts for changes of the host: read by ``plan``, ``install`` and ``snapshot save``, by name, never by ``check``.
CHANGE_READERS: Mapping[str, Reader] = {
    "Installation": Reader("driver.read_installation.read_installation", ("Packages", "Runtime")),
    "Cuda": Reader("driver.read_cuda.read_cuda", ("Packages",)),
    "Accounts": Reader("system.read_accounts.read_accounts"),
    "Ancestry": Reader("system.read_os.read_ancestry"),
}
ALL_READERS: Mapping[str, Reader] = {**READERS, **CHANGE_READERS}
#: The facts in the head of every report.
HEAD = ("Identity", "Os", "Platform")


def with_needs(kinds: Iterable[str], readers: Mapping[str, Reader] = ALL_READERS) -> tuple[str, ...]:
    """Names of fact types and of those that they are read from, in reading order.

    >>> with_needs(["Cdi"])
    ('Os', 'Platform', 'Packages', 'Services', 'Machine', 'Runtime', 'Cdi')
    """
    wanted: set[str] = set()
    left = list(kinds)
    while left:
        kind = left.pop()
        if kind not in wanted:
            wanted.add(kind)
            left += readers[kind].needs
    return tuple(kind for kind in readers if kind in wanted)


def lanes(kinds: Iterable[str], readers: Mapping[str, Reader] = ALL_READERS) -> tuple[str, ...]:
    """Names of the lanes that reading these fact types asks.

    >>> lanes(["Os"]), lanes(["Gpu"])
    ((), ('nvidia',))
    """
    return tuple(dict.fromkeys(lane for kind in with_needs(kinds, readers) for lane in readers[kind].lanes))


def collect(
    source: Source,
    kinds: Iterable[str] = (),
    readers: Mapping[str, Reader] = ALL_READERS,
    on_fact: OnFact = lambda _: None,
    earlier: "Mapping[str, Earlier] | None" = None,
) -> "tuple[HostFacts, dict[str, float]]":
    """The facts of the named types (all that `readers` read for a check when none is named) and of those they are read from; and
    milliseconds by type. When the time is up (``OutOfTime``), what has not been read by then is a timeout. `earlier`: facts of another
    pass of this program, and None where there is no other pass.
    """
    wanted = with_needs(tuple(kinds) or readers.keys() - CHANGE_READERS.keys(), readers)
    collecting = _Collecting(source, readers, on_fact, earlier)
    try:
        for name in wanted:
            collecting.known(name)
    except OutOfTime as error:
        late = Unread("timeout", f"{error}, the last question was '{source.question}'", source.question)
        return HostFacts(dict.fromkeys(wanted, late) | collecting.values, source.kind), collecting.timings_ms
    return HostFacts(collecting.values, source.kind), collecting.timings_ms


class _Collecting:
    """The facts of one pass as they come."""

    def __init__(self, source: Source, readers: Mapping[str, Reader], on_fact: OnFact, earlier: "Mapping[str, Earlier] | None") -> None:
        self.values: dict[str, Any] = {}
        self.timings_ms: dict[str, float] = {}
        self._source, self._readers, self._on_fact, self._earlier = source, readers, on_fact, earlier
        self._new: set[str] = set()

    def known(self, kind: "type | str") -> Any:
        """The fact, read where it has not been."""
        name = kind if isinstance(kind, str) else kind.__name__
        if name not in self.values:
            self.values[name] = Unread("error", f"{name} is read from itself")
            started = time.perf_counter()
            before = self._source.budget.charge_to(name)
            try:
                self.values[name] = self._read(name)
            except OutOfTime as error:
                question = self._source.question
                self.values[name] = Unread("timeout", f"{error}, the last question was '{question}'", question)
                raise
            asked = self._asked(name)
            self._source.budget.charge_to(before)
            self.timings_ms[name] = round((time.perf_counter() - started) * 1000, 3)
            self._on_fact(Fact(name, self.values[name], asked, self.timings_ms[name], name in self._new))
        return self.values[name]

    def _read(self, name: str) -> Any:
        reader, before = self._readers[name], (self._earlier or {}).get(name)
        if before and not reader.has_clock:
            for need in reader.needs:
                self.known(need)
            if self._new.isdisjoint(reader.needs) and fact_cache.is_as_it_was(self._source, before):
                return before.value
        self._new.add(name)
        value = _guarded(reader, name, self._source, self.known)
        over = self._source.budget.share.over
        return value if over is None else over  # what was not asked may be anything

    def _asked(self, name: str) -> bytes:
        """b"" for a fact with a gap, which is read anew in each pass."""
        if self._earlier is None or isinstance(self.values[name], Unread):
            return b""
        return fact_cache.asked(self._source) if name in self._new else self._earlier[name].asked


def _guarded(reader: Reader, name: str, source: Source, known: Known) -> Any:
    """A reader that crashes costs its own facts, not the report."""
    try:
        return reader.load()(source, known)
    except UnreadError as error:
        return error.unread
    except Exception as error:
        return Unread("error", f"reading {name} crashed: {crash_text(error)}", evidence=crash_lines(error))
