"""The profile names RDMA ports for jobs (rdma.hcas) that this host does not have: jobs that are told the same find no device.

The text is what NCCL_IB_HCA takes: names or beginnings of names, "=" before them for whole names, "^" for all others. Names differ
between hosts where cards sit in other slots, and where udev names them after their place.
"""

from hostagent.check import Findings, Step, check, fail, skip
from hostagent.domains.network.roles import taken_by
from hostagent.facts.rdma import RdmaPort
from hostagent.profile import Profile


@check(
    title="The RDMA ports that the profile names are there",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma",),
    because=("rdma.present",),
    headline="The profile names RDMA ports that this host does not have",
    remedy=(Step("configure", "Correct rdma.hcas in the profile, or leave it empty: then the nearest ports are taken."),),
    references=("NCCL documentation, environment variables: NCCL_IB_HCA",),
    confirm=("ls /sys/class/infiniband",),
)
def hcas(ports: tuple[RdmaPort, ...], profile: Profile) -> Findings:
    text = profile.rdma.hcas
    if not text or profile.rdma.required == "no":
        skip("the profile names no RDMA ports")
    names = [port.name for port in ports]
    if not any(taken_by(text, port.device, port.number) for port in ports):
        yield fail(f"rdma.hcas {text} takes no port", code="none", found="none", wanted=text, evidence=tuple(names))
    elif not text.startswith("^"):
        exact = "=" if text.startswith("=") else ""
        tokens = [token for token in text.removeprefix("=").split(",") if token]
        missing = [one for one in tokens if not any(taken_by(f"{exact}{one}", port.device, port.number) for port in ports)]
        if missing:
            listed = ", ".join(missing)
            yield fail(f"rdma.hcas names {listed}", code="missing", found="not there", wanted=listed, evidence=tuple(names))
