"""NCCL_COMM_ID is set: all communicators of a job meet at that one address, and launchers that bring an id of their own do not work.

It is for programs that start without a launcher. Left in an environment or in /etc/nccl.conf it makes torchrun's ranks use an address
that nobody listens at, or that of another job. It makes NCCL ignore NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY, too, and NCCL 2.29.2 to
2.29.7 then take the first interface that is not in its network, mostly lo.
"""

from hostagent.check import Findings, Step, check, fail
from hostagent.domains.nccl.tables.faults import faults
from hostagent.facts.nccl import Nccl
from hostagent.profile import Profile

from ._job import job, weight

_NAME, _FAULT = "NCCL_COMM_ID", "comm-id"


@check(
    title="NCCL_COMM_ID is not set",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("interface",),
    headline="NCCL_COMM_ID is set: ranks meet where no launcher expects them",
    remedy=(Step("configure", "Take NCCL_COMM_ID out of where it stands."),),
    references=("NVIDIA/nccl, src/bootstrap.cc",),
    confirm=("grep NCCL_COMM_ID /etc/nccl.conf",),
)
def comm_id(nccl: Nccl, profile: Profile) -> Findings:
    found = job(nccl)
    if _NAME not in found.settings:
        return
    value, version = found.value(_NAME), found.version()
    is_faulty = any(one.code == _FAULT for one in faults(version))
    text = f"{_NAME} is {value or 'empty'}"
    if is_faulty:
        text += f", and NCCL {'.'.join(map(str, version))} takes an interface outside of its network"
    yield fail(
        text,
        code="inverted" if is_faulty else "set",
        found=value or "empty",
        wanted="not set",
        evidence=found.evidence(_NAME),
        remedy=(found.without(_NAME),),
        at_most=weight(profile),
    )
