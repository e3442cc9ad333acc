"""The request of a job to the gate."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hostagent.core.errors import HostagentError, did_you_mean
from hostagent.core.typed import finite
from hostagent.domains.nccl.class_inputs import CLASS_INPUTS, HOST_INPUTS
from hostagent.gate.tolerations import label_term, toleration
from hostagent.gate.versions import parse_demand, parse_version

_NEXT = "See 'hostagent gate --help'"
_KNOWN = (*CLASS_INPUTS, *HOST_INPUTS)
_DEMANDS = ("driver", "cuda", "toolkit")
_MINIMUMS = ("min_driver_version", "min_cuda_version", "min_container_toolkit_version")
_SLURM = ("partition", "reservation")
_LISTS = ("exclude", "only", "may_differ", "tolerations", "node_selector")
_PARSED: Mapping[str, Callable[[str], object]] = {"tolerations": toleration, "node_selector": label_term}
_FLAGS = ("allow_mig", "host_nccl", "same_domain", "ignore_running")


@dataclass(frozen=True)
class Request:
    """A job of some nodes with some GPUs each, and what those have to be. Raises ``FieldError`` for what no job can need."""

    nodes: int
    """How many nodes."""
    gpus_per_node: int
    """How many GPUs on each."""
    product: str = ""
    """The whole name of the GPUs' product; empty for any. Case does not count, - and _ count as blanks."""
    compute_capability: str = ""
    """The compute capability at least; empty for any."""
    gpu_memory_gib: float | None = None
    """Memory of each GPU at least, in GiB as NVML reads it; null for any."""
    driver: str = ""
    """The driver's version: V or >=V at least, ==V exactly; empty for any."""
    cuda: str = ""
    """The CUDA version that the driver runs, in the same way."""
    toolkit: str = ""
    """The version of the NVIDIA Container Toolkit, in the same way; a node without one is refused."""
    min_driver_version: str = ""
    """The driver's version at least, by the requirements file; empty for any."""
    min_cuda_version: str = ""
    """The CUDA version at least, by the requirements file; empty for any."""
    min_container_toolkit_version: str = ""
    """The NVIDIA Container Toolkit at least, by that file; a node without one gets a warning."""
    max_age_s: float | None = None
    """Greatest age of a report in seconds; null: a report counts until its valid_until."""
    exclude: tuple[str, ...] = ()
    """Nodes that the job must not get."""
    only: tuple[str, ...] = ()
    """The nodes that the job may get; empty for all."""
    require_coverage: Literal["", "full"] = ""
    """full: a report has to cover everything; empty: it need not."""
    allow_mig: bool = False
    """Whether nodes with MIG on are allowed."""
    host_nccl: bool = False
    """Whether the job uses the host's NCCL: nodes are grouped by fabric.host_class."""
    same_domain: bool = False
    """Whether all nodes have to be in one NVLink domain."""
    may_differ: tuple[str, ...] = ()
    """Inputs of the class in which the nodes may differ, as the job can bear that."""
    tolerations: tuple[str, ...] = ()
    """Taints that the job tolerates: KEY, KEY=VALUE, with :EFFECT for one effect."""
    node_selector: tuple[str, ...] = ()
    """Labels that the job asks of its nodes: KEY=VALUE."""
    partition: str = ""
    """The partition of the job; empty for the default one."""
    reservation: str = ""
    """The reservation of the job; empty for none."""
    ignore_running: bool = False
    """Whether GPUs of running jobs count as free."""

    def __post_init__(self) -> None:
        for name in ("nodes", "gpus_per_node"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise _wrong(name, value, "a whole number of at least 1")
        for name in ("gpu_memory_gib", "max_age_s"):
            value = getattr(self, name)
            if value is not None and not (finite(value) or 0) > 0:
                raise _wrong(name, value, "a number above 0")
        for name in _FLAGS:
            if type(getattr(self, name)) is not bool:
                raise _wrong(name, getattr(self, name), "true or false")
        for name in _LISTS:
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        self._check_texts()
        for name, parse in _PARSED.items():
            for text in getattr(self, name):
                try:
                    parse(text)
                except ValueError as error:
                    raise _wrong(name, text, str(error)) from None

    def _check_texts(self) -> None:
        for name in ("product", "compute_capability", *_DEMANDS, *_MINIMUMS, *_SLURM):
            if type(getattr(self, name)) is not str:
                raise _wrong(name, getattr(self, name), "a text")
        if self.product and not product_key(self.product):
            raise _wrong("product", self.product, "the name of a GPU")
        for name in ("compute_capability", *_MINIMUMS):
            value = getattr(self, name)
            if value and parse_version(value) is None:
                raise _wrong(name, value, 'a version, such as "9.0"')
        for name in _DEMANDS:
            value = getattr(self, name)
            if value and parse_demand(value) is None:
                raise _wrong(name, value, "a version, such as 580, >=580 or ==13.0")
        if self.require_coverage not in ("", "full"):
            raise _wrong("require_coverage", self.require_coverage, "full")
        for one in self.may_differ:
            if one not in _KNOWN:
                raise _wrong("may_differ", one, f"one of {', '.join(_KNOWN)}{did_you_mean(one, _KNOWN)}")


class FieldError(HostagentError):
    """A field of a request has a value that no job can need."""

    def __init__(self, field: str, found: str, wanted: str) -> None:
        super().__init__(f"found {field} {found}, wanted {wanted}", _NEXT)
        self.field, self.found, self.wanted = field, found, wanted


@functools.lru_cache(maxsize=1024)
def product_key(product: str) -> str:
    """A product without its case and its spelling of blanks.

    >>> product_key("NVIDIA H100 80GB HBM3") == product_key("nvidia-h100-80gb_hbm3")
    True
    """
    return " ".join(product.casefold().replace("-", " ").replace("_", " ").split())


def _texts(name: str, found: Any) -> tuple[str, ...]:
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise _wrong(name, found, "several texts")
    values = tuple(found)
    for one in values:
        if type(one) is not str or not one:
            raise _wrong(name, one, "a name")
    return values


def _wrong(name: str, found: Any, wanted: str) -> FieldError:
    text = f"{found!a}" if isinstance(found, str) else f"{found}" if isinstance(found, bool | float | None) else type(found).__name__
    if type(found) is int:
        text = str(found) if abs(found) < 1 << 64 else "a huge number"
    return FieldError(name, text[:80], wanted)
