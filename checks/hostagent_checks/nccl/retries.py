"""NCCL gives up on a connection sooner than networks recover: a port that flaps, or a switch that reboots, then ends the job.

A packet is sent again after 4.096 us x 2^NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT times: by default for half a minute. Below a timeout of 18, or
with fewer retries, it is less than seconds. A very long one keeps a job waiting for a host that is dead.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, skip, warn
from hostagent.domains.nccl.tables.variables import RANGES, variables
from hostagent.domains.network.rails import JobRails
from hostagent.facts.nccl import Nccl

from ._job import job
from ._ports import verbs

_TIMEOUT, _RETRIES = "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT"
_UNIT_S = 4.096e-6


class Params(NamedTuple):
    """min_timeout: NCCL_IB_TIMEOUT; a smaller one warns
    min_retries: NCCL_IB_RETRY_CNT; a smaller one warns
    max_s: seconds until a host that is dead is noticed; more than that are told
    """

    min_timeout: int = 18
    min_retries: int = 7
    max_s: int = 3600


@check(
    title="NCCL waits long enough for the network",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("no-path",),
    headline="NCCL gives up on a connection after {found}",
    remedy=(Step("configure", "Take the setting out: the default is right for most networks."),),
    references=("NCCL documentation, environment variables: NCCL_IB_TIMEOUT", "InfiniBand Architecture Specification"),
    confirm=("grep -nE 'IB_TIMEOUT|IB_RETRY' /etc/nccl.conf",),
)
def retries(nccl: Nccl, rails: JobRails, params: Params) -> Findings:
    host = job(nccl)
    names = [name for name in (_TIMEOUT, _RETRIES) if host.number(name) is not None]
    if not names:
        skip("neither NCCL_IB_TIMEOUT nor NCCL_IB_RETRY_CNT is set")
    verbs(rails)
    version = host.version()
    timeout, count = (_of(host.number(name), name, version) for name in (_TIMEOUT, _RETRIES))
    if timeout is None or count is None:
        return  # `nccl.values` says what is wrong with it
    evidence, steps = host.evidence(*names), tuple(map(host.without, names))
    waits = _UNIT_S * 2**timeout * max(count, 1)
    if timeout < params.min_timeout or count < params.min_retries:
        wanted = f"{_TIMEOUT} >= {params.min_timeout}, {_RETRIES} >= {params.min_retries}"
        text = f"{_TIMEOUT} {timeout} with {count} retries: NCCL gives up after {_text(waits)}"
        yield warn(text, code="short", found=_text(waits), wanted=wanted, evidence=evidence, remedy=steps)
    elif waits > params.max_s:
        text = f"{_TIMEOUT} {timeout} with {count} retries: a dead host is noticed after {_text(waits)}"
        headline = f"NCCL notices a dead host after {_text(waits)}"
        yield warn(text, code="long", found=_text(waits), wanted=f"<= {params.max_s} s", evidence=evidence,
                   headline=headline, remedy=steps, at_most="info")  # fmt: skip


def _of(number: "int | None", name: str, version: tuple[int, int, int]) -> "int | None":
    """What counts; None for what no card takes."""
    value = int(variables()[name].default(version)) if number is None else number
    first, last = RANGES[name]
    return value if first <= value <= last else None


def _text(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"
