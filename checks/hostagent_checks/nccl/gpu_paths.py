"""A setting keeps NCCL from a way between the GPUs of one host: left over from a search for a fault, as a rule.

NCCL_P2P_DISABLE=1 (or NCCL_P2P_LEVEL=LOC) sends what NVLink would carry through the memory of the CPU, at a tenth of the rate. With
NCCL_SHM_DISABLE=1 too, the ranks of one host talk to each other over the network, as if each GPU were a host. On cards without NVLink that
cannot reach each other over PCIe it is a published way around hangs, and does little harm.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.domains.nccl.levels import parse_level
from hostagent.facts.gpu import Gpu
from hostagent.facts.nccl import Nccl
from hostagent.profile import Profile

from ._job import Job, job, weight

_P2P, _LEVEL, _SHM, _NET = "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_NET_DISABLE_INTRA"


@check(
    title="No NCCL setting closes a way between the GPUs of the host",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("gpu-paths",),
    headline="{found} closes a way between the GPUs of this host",
    remedy=(Step("configure", "Take the setting out, and look for the fault that it was set for."),),
    references=("NCCL documentation, environment variables: NCCL_P2P_DISABLE", "NVIDIA/nccl, src/graph/paths.cc"),
    confirm=("grep -nE 'P2P|SHM' /etc/nccl.conf", "nvidia-smi topo -m"),
)
def gpu_paths(nccl: Nccl, gpus: tuple[Gpu, ...] | Unread, profile: Profile) -> Findings:
    host = job(nccl)
    p2p = _without_p2p(host)
    without_shm = host.number(_SHM) == 1
    if (p2p or without_shm) and _is_alone(gpus):
        skip("the host has one GPU")
    if p2p and without_shm:
        text = f"{p2p} and {_SHM}=1: the GPUs of this host talk to each other over the network"
        yield fail(text, code="both", found=f"{p2p} with {_SHM}=1", wanted="neither", evidence=host.evidence(_P2P, _LEVEL, _SHM),
                   remedy=(host.without(p2p.partition("=")[0]), host.without(_SHM)), at_most=weight(profile))  # fmt: skip
    elif p2p:
        with_links = _with_nvlink(gpus)
        text = f"{p2p}: GPUs reach each other through the memory of the CPU"
        steps, limit = (host.without(p2p.partition("=")[0]),), weight(profile) if with_links else "info"
        yield fail(text, code="p2p", found=p2p, wanted="unset", evidence=host.evidence(_P2P, _LEVEL), remedy=steps, at_most=limit)
    elif without_shm:
        text = f"{_SHM}=1: GPUs that cannot reach each other directly talk over the network"
        steps = (host.without(_SHM),)
        yield fail(text, code="shm", found=f"{_SHM}=1", wanted="unset", evidence=host.evidence(_SHM), remedy=steps, at_most="warning")
    if host.number(_NET) == 1:
        text = f"{_NET}=1: GPUs of one host never use the network, even where it is faster"
        steps = (host.without(_NET),)
        yield warn(text, code="net", found=f"{_NET}=1", wanted="unset", evidence=host.evidence(_NET), remedy=steps, at_most="info")


def _without_p2p(host: Job) -> str:
    """The setting that closes it, "" for none."""
    if host.number(_P2P) == 1:
        return f"{_P2P}={host.value(_P2P)}"
    value = host.value(_LEVEL)
    return f"{_LEVEL}={value}" if value and parse_level(value, host.version()) == "LOC" else ""


def _is_alone(gpus: tuple[Gpu, ...] | Unread) -> bool:
    """Of an image nobody knows."""
    return False if isinstance(gpus, Unread) and gpus.why in NOT_APPLICABLE else len(need(gpus)) < 2


def _with_nvlink(gpus: tuple[Gpu, ...] | Unread) -> bool:
    """That of an image may have it; a GPU that does not say so has none."""
    if isinstance(gpus, Unread):
        return True
    links = [gpu.nvlinks for gpu in gpus]
    if any(not isinstance(one, Unread) and one for one in links):
        return True
    for one in links:
        if isinstance(one, Unread) and one.why not in NOT_APPLICABLE:
            need(one)
    return False
