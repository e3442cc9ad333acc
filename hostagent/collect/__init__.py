"""Source to facts: one reader a fact type, found here by that type."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hostagent.collect.cdi import read_cdi
from hostagent.collect.driver import read_driver
from hostagent.collect.events import read_events
from hostagent.collect.fabric import read_fabric
from hostagent.collect.gpu import read_accelerators, read_gpus
from hostagent.collect.kernel import read_kernel
from hostagent.collect.machine import read_machine
from hostagent.collect.osrelease import read_os
from hostagent.collect.packages import read_packages
from hostagent.collect.runtime import read_runtimes
from hostagent.collect.services import read_services
from hostagent.collect.toolkit import read_toolkit
from hostagent.facts.cdi import Cdi
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Accelerators, Fabric, Gpu, GpuEvents
from hostagent.facts.host import HostFacts
from hostagent.facts.packages import Packages
from hostagent.facts.runtime import Runtime
from hostagent.facts.system import Kernel, Machine, Os, Services
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.unread import Unread, UnreadError
from hostagent.source import Source

#: ``known(Packages)`` inside a reader is the packages as already read, or read now.
Known = Callable[[type], Any]
Reader = Callable[[Source, Known], Any]

#: In reading order: what waits for the worker (NVML) comes last.
READERS: Mapping[type, Reader] = {
    Os: read_os,
    Packages: read_packages,
    Kernel: read_kernel,
    Services: read_services,
    Machine: read_machine,
    Toolkit: read_toolkit,
    Runtime: read_runtimes,
    Cdi: read_cdi,
    Fabric: read_fabric,
    GpuEvents: read_events,
    Driver: read_driver,
    Accelerators: read_accelerators,
    Gpu: read_gpus,
}


def collect(source: Source, kinds: Iterable[type] = tuple(READERS)) -> "tuple[HostFacts, dict[str, float]]":
    """The facts of the asked kinds (and of those they are read from), and milliseconds by kind."""
    values: dict[type, Any] = {}
    timings_ms: dict[str, float] = {}

    def known(kind: type) -> Any:
        if kind not in values:
            values[kind] = Unread("error", f"{kind.__name__} is read from itself")
            started = time.perf_counter()
            values[kind] = _guarded(READERS[kind], kind, source, known)
            timings_ms[kind.__name__] = round((time.perf_counter() - started) * 1000, 3)
        return values[kind]

    wanted = set(kinds)
    for kind in READERS:
        if kind in wanted:
            known(kind)
    return HostFacts(values, source.kind), timings_ms


def _guarded(reader: Reader, kind: type, source: Source, known: Known) -> Any:
    """A reader that crashes costs its own facts, not the report."""
    try:
        return reader(source, known)
    except UnreadError as error:
        return error.unread
    except Exception as error:
        return Unread("error", f"reading {kind.__name__} crashed: {type(error).__name__}: {error}")
