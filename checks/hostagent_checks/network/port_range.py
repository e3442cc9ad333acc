"""The ports that the kernel gives to connections are few, or include one that jobs meet at.

NCCL and Gloo listen on ports that the kernel chooses (ip_local_port_range), several per process and peer. A range that was widened
downwards has the port of PyTorch's rendezvous in it: then any connection may hold that port when a job wants it, now and then.
ip_local_reserved_ports keeps it free. Firewalls between hosts have to let the range through, not only that port.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need, shell
from hostagent.domains.driver.boot import write_line
from hostagent.domains.network.tables.numbers import JOB_PORTS
from hostagent.facts.network import Network

_FILE = "/etc/sysctl.d/90-job-ports.conf"


class Params(NamedTuple):
    """min_ports: ports that connections get; fewer are reported. The kernel's own range has 28232"""

    min_ports: int = 10000


@check(
    title="Jobs find enough ports, and the port that they meet at is kept for them",
    severity="info",
    scope="fabric",
    since="0.1",
    explains=("ports",),
    headline="The kernel's range of ports for connections is {found}",
    remedy=(
        Step("configure", "Widen the range at each boot.", command=write_line(_FILE, "net.ipv4.ip_local_port_range = 32768 60999")),
        Step("configure", "Widen it now.", command=shell("sysctl -p {}", _FILE)),
    ),
    references=("Linux kernel, Documentation/networking/ip-sysctl",),
    confirm=("sysctl net.ipv4.ip_local_port_range net.ipv4.ip_local_reserved_ports",),
)
def port_range(network: Network, params: Params) -> Findings:
    first, last = need(network.port_range)
    reserved = need(network.reserved_ports)
    size = last - first + 1
    if size < params.min_ports:
        text = f"connections get ports {first} to {last}, {size} in all"
        yield fail(text, code="few", found=f"{first}-{last}", wanted=f">= {params.min_ports} ports")
    inside = [port for port in JOB_PORTS if first <= port <= last and not any(low <= port <= high for low, high in reserved)]
    for port in inside:
        text = f"connections get ports {first} to {last}, {port} among them"
        kept = ",".join([*(f"{low}-{high}" if low != high else f"{low}" for low, high in reserved), str(port)])
        line = f"net.ipv4.ip_local_reserved_ports = {kept}"
        steps = (
            Step("configure", "Keep the port free at each boot.", command=write_line(_FILE, line)),
            Step("configure", "Keep it free from now on.", command=shell("sysctl -p {}", _FILE)),
        )
        headline = f"Any connection may get TCP port {port}, which jobs meet at"
        yield fail(text, code="job-port", found=f"{first}-{last}", wanted=f"{port} reserved", remedy=steps, headline=headline)
