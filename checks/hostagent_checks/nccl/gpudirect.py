"""A setting keeps jobs from GPUDirect RDMA: all that GPUs send to other hosts is copied through the memory of the CPU.

NCCL_NET_GDR_LEVEL below the distance of a GPU and its card, NCCL_DMABUF_ENABLE=0 where the host has no peer memory, NCCL_NET_GDR_READ=0,
and on hosts with Grace NCCL_NET_GDR_C2C=0. No level gives a host a way that it does not have. A level beyond the default sends traffic
across the CPU's host bridge: that is worth it where somebody has measured it, and is told as information.
"""

from collections.abc import Iterator

from hostagent.check import Finding, Findings, Step, Unread, check, fail, need, warn
from hostagent.core.tables.pci import is_coherent
from hostagent.domains.nccl.levels import is_within, parse_level
from hostagent.domains.nccl.tables.changes import has_c2c_level
from hostagent.domains.nccl.tables.variables import levels, variables
from hostagent.domains.network.gpu_path import ways
from hostagent.domains.network.gpudirect import gdr
from hostagent.domains.network.rails import JobRails, Rails
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.nccl import Nccl
from hostagent.facts.rdma import Rdma

from ._job import Job, job, ports_of

_LEVEL, _READ, _DMABUF, _C2C = "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_DMABUF_ENABLE", "NCCL_NET_GDR_C2C"
_USABLE = "usable"


@check(
    title="No NCCL setting keeps jobs from GPUDirect RDMA",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("no-gpudirect",),
    because=("topology.gpudirect", "rdma.present"),
    headline="{found} keeps jobs from GPUDirect RDMA",
    remedy=(Step("configure", "Take the setting out: NCCL uses GPUDirect RDMA by itself where the host can."),),
    references=("NCCL documentation, environment variables: NCCL_NET_GDR_LEVEL", "NVIDIA/nccl, src/graph/paths.cc"),
    confirm=("grep -nE 'GDR|DMABUF' /etc/nccl.conf",),
)
def gpudirect(nccl: Nccl, rails: JobRails, kernel: Kernel | Unread, driver: Driver | Unread, rdma: Rdma | Unread) -> Findings:
    host = job(nccl)
    found = ports_of(rails)
    yield from _anywhere(host)
    if host.number(_DMABUF) == 0 and need(gdr(kernel, driver, rdma).peermem) != _USABLE:
        text = f"{_DMABUF}=0, and nvidia_peermem is not usable: no way into GPU memory is left"
        yield _off(host, _DMABUF, text, "dmabuf")
    if not found:
        return
    with_c2c = any(is_coherent(need(gpu.device_id)) for gpu in need(rails.rails).gpus)
    if with_c2c:
        yield from _at_cpu(host)
    if host.value(_LEVEL):
        yield from _too_near(host, need(rails.rails), with_c2c=with_c2c)


def _anywhere(host: Job) -> Iterator[Finding]:
    """What means the same on all hosts."""
    if host.number(_READ) == 0:
        yield _off(host, _READ, f"{_READ}=0: what GPUs send is copied through the memory of the CPU", "read")
    level = parse_level(host.value(_LEVEL), host.version()) if host.value(_LEVEL) else ""
    if level == "LOC":
        yield _off(host, _LEVEL, f"{_LEVEL}={host.value(_LEVEL)}: no card is the same device as a GPU", "off")
    elif level and not is_within(level, "P2C" if "P2C" in levels(host.version()) else "PXB", host.version()):
        text = f"{_LEVEL}={host.value(_LEVEL)} uses GPUDirect RDMA across the CPU's host bridge, which may be slower than without"
        headline = f"{_LEVEL}={host.value(_LEVEL)} goes beyond NCCL's default"
        evidence, steps = host.evidence(_LEVEL), (host.without(_LEVEL),)
        yield warn(
            text, code="raised", found=level, wanted="PXB", evidence=evidence, headline=headline, remedy=steps, at_most="info", because=()
        )


def _at_cpu(host: Job) -> Iterator[Finding]:
    """GPUs that C2C joins to their CPU, and cards at that CPU."""
    version = host.version()
    default = variables()[_C2C].default(version)
    if default == "1" and host.number(_C2C) == 0:
        yield _off(host, _C2C, f"{_C2C}=0: the cards are at the CPU, which C2C joins to the GPUs", "c2c")
    elif default != "1" and host.number(_C2C) != 1:
        text = f"NCCL {'.'.join(map(str, version))} does not use GPUDirect RDMA over C2C by itself"
        steps = (Step("configure", "Use NCCL 2.27 or newer in jobs."),)
        yield warn(text, code="c2c-old", found="off", wanted="on", headline=text, remedy=steps, at_most="info", because=())


def _too_near(host: Job, rails: Rails, *, with_c2c: bool) -> Iterator[Finding]:
    """The level takes from GPUs what the default gives them."""
    version = host.version()
    level = parse_level(host.value(_LEVEL), version)
    judges_c2c = with_c2c and has_c2c_level(version) and host.number(_C2C) != 0
    default = "P2C" if judges_c2c else "PXB"
    if level in ("", "LOC") or is_within(default, level, version):
        return
    far = [way for way in ways(rails) if is_within(way.distance, default, version) and not is_within(way.distance, level, version)]
    if far:
        text = f"{_LEVEL}={host.value(_LEVEL)} is nearer than the cards of {len(far)} GPUs are ({far[0].distance})"
        evidence = (*host.evidence(_LEVEL), *(f"{way.gpu}: {way.distance}" for way in far))
        yield _off(host, _LEVEL, text, "lowered")._replace(wanted=default, evidence=evidence)


def _off(host: Job, name: str, text: str, code: str) -> Finding:
    shown = f"{name}={host.value(name)}"
    return fail(text, code=code, found=shown, wanted=f"{name} unset", evidence=host.evidence(name), remedy=(host.without(name),))
