"""A port that launchers of jobs listen on is taken already.

PyTorch's rendezvous, and the operators that start its jobs, take TCP port 29500 where nobody names another one. On a host where a job runs
it is that job's, and another one cannot start there with the same number. In a pod with a network of its own nothing of the host's counts.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.network import Network


@check(
    title="The port that jobs meet at is free",
    severity="info",
    scope="fabric",
    since="0.1",
    explains=("interface",),
    headline="TCP port {found} is taken, which jobs meet at by default",
    remedy=(
        Step("configure", "Find out whose it is: a job's that runs, or one that was left behind.", command="ss -ltnp"),
        Step("configure", "Let the next job take another one: torchrun --rdzv-endpoint HOST:PORT.", if_back=True),
    ),
    references=("PyTorch documentation, torchrun",),
    confirm=("ss -ltnp  # a line with the port",),
)
def job_port(network: Network) -> Findings:
    for one in need(network.listeners):
        by = f" by {one.process}" if one.process else ""
        yield fail(f"TCP port {one.port} is taken{by}", code="taken", found=one.port, wanted="free")
