"""Settings of a search for a fault that are left in a file for all jobs: logs that grow, files that ranks overwrite, checks that cost time.

NCCL_DEBUG=INFO for one job is good advice, and no finding in its environment. Ranks that share one NCCL_DEBUG_FILE overwrite it, unless its
name has %h and %p for host and process.
"""

from collections.abc import Iterator

from hostagent.check import Finding, Findings, Step, check, warn
from hostagent.domains.nccl.settings import ENVIRONMENT
from hostagent.facts.nccl import Nccl

from ._job import Job, job

_DEBUG, _FILE = "NCCL_DEBUG", "NCCL_DEBUG_FILE"
_LOUD = ("INFO", "TRACE", "ABORT")
#: What it does in each job.
_COSTS = {
    "NCCL_CHECK_POINTERS": "checks each pointer of each call",
    "NCCL_TOPO_DUMP_FILE": "writes the topology into one file, over that of other jobs",
    "NCCL_GRAPH_DUMP_FILE": "writes its graphs into one file, over that of other jobs",
}
_PROCESS = "%p"


@check(
    title="No setting of a search for a fault is left in a file for all jobs",
    severity="info",
    scope="fabric",
    since="0.1",
    headline="{found} is left for all jobs",
    remedy=(Step("configure", "Take the setting out of the file, and set it for the one job that is looked at."),),
    references=("NCCL documentation, environment variables: NCCL_DEBUG",),
    confirm=("grep -nE 'DEBUG|DUMP|CHECK' /etc/nccl.conf",),
)
def debugging(nccl: Nccl) -> Findings:
    host = job(nccl)
    loud = host.value(_DEBUG).strip().upper() in _LOUD
    if loud and _is_for_all(host, _DEBUG):
        yield _left(host, _DEBUG, "makes each job of this host write what is for a search", "loud")
    path = host.value(_FILE)
    if path and _PROCESS not in path and (loud or host.value(_DEBUG).strip().upper() in ("VERSION", "WARN")):
        text = f"{_FILE}={path}: the ranks of a host overwrite each other's log"
        headline, steps = "The ranks of a host overwrite each other's NCCL log", (Step("configure", f"Add %h and %p to {_FILE}."),)
        yield warn(text, code="one-file", found=path, wanted="a name with %h and %p", evidence=host.evidence(_FILE),
                   headline=headline, remedy=steps)  # fmt: skip
    yield from _costly(host)


def _costly(host: Job) -> Iterator[Finding]:
    for name, costs in _COSTS.items():
        is_on = bool(host.value(name)) if name.endswith("_FILE") else bool(host.number(name))
        if is_on and _is_for_all(host, name):
            yield _left(host, name, costs, "costly")


def _is_for_all(host: Job, name: str) -> bool:
    return host.settings[name].origin != ENVIRONMENT


def _left(host: Job, name: str, does: str, code: str) -> Finding:
    shown = f"{name}={host.value(name)}"
    return warn(f"{shown} {does}", code=code, found=shown, wanted="unset", evidence=host.evidence(name), remedy=(host.without(name),))
