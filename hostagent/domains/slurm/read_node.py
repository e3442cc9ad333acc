"""Whether slurmd is expected on a host that does not enable it: some sites and clouds start it by a program of theirs at each boot."""

import contextlib
import re

from hostagent.core.answers import MIB
from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import units
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need, then
from hostagent.domains.slurm.conf import CACHES, FOLDERS, NODES, has_node
from hostagent.domains.slurm.read_conf import LIMIT, RENAMED, SLURM_CONF, conf_lines, own_names, read_environment
from hostagent.facts.host import Services, Unit
from hostagent.facts.runtime import Launcher
from hostagent.host.source import Source

_KEEP = Keep("slurm.conf", ("include", "port", "slurmdport", "state", *NODES))
#: Listening sockets of the network namespace of process 1 (proc_net(5): state 0A), and the port of slurmd without SlurmdPort.
_TABLES, _TABLES_BYTES = ("/proc/1/net/tcp", "/proc/1/net/tcp6"), 8 * MIB
_LISTENS = r"^ *\d+: [0-9A-F]+:(?:{}) [0-9A-F]+:0000 0A "
_PORT, _MOST_PORTS = 6818, 64
#: What has no slurm.conf, or was recorded before it was read for this.
_NONE = NOT_APPLICABLE | {"older-recording"}


def expects_slurmd(source: Source, services: "Services | Unread", kubelets: "tuple[Launcher, ...] | Unread") -> "bool | Unread":
    """Whether slurmd's unit is there, neither enabled nor masked, slurm.conf has a node of the host's name, and no process listens on the
    port of that node's slurmd, as one in a container does; never in an image.

    A host with a kubelet that knows its runtime (of `kubelets`) has left Slurm, or starts slurmd in pods. A node with another name than
    its host's cannot be recognised.
    """
    unit = then(services, lambda those: those.unit(*units("slurm")))
    if isinstance(unit, Unread) or not unit.exists or unit.enabled is True or unit.masked is True:
        return unit if isinstance(unit, Unread) else False
    found = _expects(source, unit, kubelets)
    return False if isinstance(found, Unread) and found.why in _NONE else found


@stops_at_unread
def _expects(source: Source, unit: Unit, kubelets: "tuple[Launcher, ...] | Unread") -> bool:
    need(unit.active)
    if need(unit.enabled) or any(need(one.endpoint) for one in need(kubelets)):
        return False
    environment = need(read_environment(source, LIMIT))
    if RENAMED.search(environment):
        return False
    path = _conf(source, environment)
    return has_node(conf_lines(source, path, _KEEP, LIMIT), own_names(source)) and not _listens(source, _ports(source, path))


def _conf(source: Source, environment: str) -> str:
    """The path of the slurm.conf that slurmd would read. Raises ``UnreadError``."""
    named = SLURM_CONF.findall(environment)
    paths = named[-1:] or [f"{folder}/slurm.conf" for folder in (*FOLDERS, *CACHES)]
    for path in paths:
        text = source.text(path, LIMIT, keep=_KEEP)
        if isinstance(text, Unread) and text.why in NOT_APPLICABLE:
            continue
        need(text)
        return str(path)
    raise UnreadError(Unread("absent", "no slurm.conf"))


def _ports(source: Source, path: str) -> list[int]:
    """Ports of slurmd in what can be read of slurm.conf."""
    found = [_PORT]
    with contextlib.suppress(UnreadError):
        for line in conf_lines(source, path, _KEEP, LIMIT):
            found += [int(text) for key, text in line if key in ("port", "slurmdport") and re.fullmatch(r"[0-9]{1,5}", text, re.ASCII)]
    return list(dict.fromkeys(found))[:_MOST_PORTS]


def _listens(source: Source, ports: list[int]) -> bool:
    """Raises ``UnreadError``."""
    line = _LISTENS.format("|".join(f"{port:04X}" for port in ports))
    tables = [source.text(path, _TABLES_BYTES, keep=Keep("matches", (line,)), absent="") for path in _TABLES]
    return any(re.search(line, need(text), re.MULTILINE) for text in tables)
