"""A distance that NCCL is told in a word that it does not know, or in a number.

NCCL_NET_GDR_LEVEL and NCCL_P2P_LEVEL are words such as PXB and SYS in capitals: "sys" is ignored, and nothing says so. Numbers are of an
older time and mean other distances than their order: 2 is PXB, the default. Which words there are depends on the version.
"""

from hostagent.check import Findings, Step, check, fail, skip, warn
from hostagent.domains.nccl.levels import parse_level
from hostagent.domains.nccl.tables.variables import levels as words
from hostagent.domains.nccl.tables.variables import variables
from hostagent.facts.nccl import Nccl

from ._job import Job, job

_GDR = "NCCL_NET_GDR_LEVEL"


@check(
    title="Distances in NCCL's settings are words that it knows",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("no-gpudirect",),
    headline="NCCL ignores {found}",
    remedy=(Step("configure", "Take the setting out: the default fits hosts whose GPUs and cards share a PCIe switch."),),
    references=("NCCL documentation, environment variables: NCCL_NET_GDR_LEVEL", "NVIDIA/nccl, src/graph/paths.cc"),
    confirm=("grep -n LEVEL /etc/nccl.conf",),
)
def levels(nccl: Nccl) -> Findings:
    host = job(nccl)
    names = [name for name in host.settings if name in variables() and variables()[name].kind == "level" and host.value(name)]
    if not names:
        skip("no distance is set")
    known = words(host.version())
    for name in names:
        value, evidence = host.value(name), host.evidence(name)
        meant = parse_level(value, host.version())
        if value in known:
            continue
        if meant:
            text = f"{name}={value} means {meant}"
            headline = f"{name}={value} is a number of old: it means {meant}"
            steps = (_right(host, name, meant),)
            yield warn(text, code="number", found=value, wanted=meant, evidence=evidence, headline=headline, remedy=steps, at_most="info")
        else:
            capital = value.strip(" \t\"'").upper()
            is_meant = capital in known
            steps = (_right(host, name, capital) if is_meant else host.without(name),)
            text = f"{name}={value} is no word that this version of NCCL knows"
            wanted = capital if is_meant else ", ".join(known)
            yield fail(text, code="word", found=f"{name}={value}", wanted=wanted, evidence=evidence, remedy=steps)


def _right(host: Job, name: str, word: str) -> Step:
    """Of GPUDirect RDMA no level is better than the default, unless somebody has measured it."""
    return host.without(name) if name == _GDR else host.instead(name, word)
