"""Whether MUNGE serves slurmd: its daemon runs, or a process listens on its socket (munged(8), slurm.conf(5): AuthType and AuthInfo)."""

# munged runs as a user of its own, so that one in a service of another name is not in the list of daemons: its socket shows it.

import re

from hostagent.core.answers import MIB
from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import processes, units
from hostagent.core.unread import NOT_THERE, Unread, UnreadError, need
from hostagent.domains.slurm.read_conf import LIMIT, read_conf
from hostagent.facts.host import Machine, Services
from hostagent.host.source import Source

_KEEP = Keep("slurm.conf", ("authinfo:socket", "authtype", "include"))
_MUNGE = "auth/munge"
_SOCKETS, _SOCKETS_BYTES = "/proc/1/net/unix", 8 * MIB
_DEFAULT = "/run/munge/munge.socket.2"
#: A line of the kernel's list: a socket that accepts connections (proc_net(5): __SO_ACCEPTCON), and the end of its path.
_LISTENS = r"^\S+ +\S+ +\S+ +00010000 +\S+ +\S+ +\S+ {}$"


@stops_at_unread
def read_munge(source: Source, services: "Services | Unread", machine: "Machine | Unread", conf: str) -> bool:
    """`conf`: the path of slurm.conf. Absent without MUNGE's unit, or with another AuthType; what does not run in an image is unread."""
    (name,) = units("slurm-auth")
    unit = need(need(services).unit(name))
    if not unit.exists or need(unit.masked):
        raise UnreadError(Unread("absent", "MUNGE's unit is not there, or masked"))
    lines = need(read_conf(source, conf, _KEEP, LIMIT))
    if (kind := lines.value("AuthType", _MUNGE).lower()) != _MUNGE:
        raise UnreadError(Unread("absent", f"AuthType is {kind[:80]}"))
    if need(unit.active) or need(need(machine).daemons(*processes("slurm-auth"))):
        return True
    path = socket_of(lines.value("AuthInfo"))
    return (_is_socket(source, path) and not need(unit.enabled)) or any(_is_socket(source, one) for one in _listening(source, path))


def socket_of(info: str) -> str:
    """The socket that AuthInfo names, else MUNGE's own.

    >>> socket_of("ttl=60,socket=/run/munge/a.socket.2"), socket_of("")
    ('/run/munge/a.socket.2', '/run/munge/munge.socket.2')
    """
    named = [one.strip().removeprefix("socket=") for one in info.split(",") if one.strip().startswith("socket=/")]
    return named[-1] if named else _DEFAULT


def _is_socket(source: Source, path: str) -> bool:
    """Raises ``UnreadError``."""
    stat = source.stat(path)
    return not (isinstance(stat, Unread) and stat.why in NOT_THERE) and need(stat).kind == "socket"


def _listening(source: Source, path: str) -> tuple[str, ...]:
    """Paths of MUNGE's sockets on which a process listens, in any directory, and `path` itself. Raises ``UnreadError``."""
    line = _LISTENS.format(rf"(?:/\S*/{re.escape(_DEFAULT.rpartition('/')[2])}|{re.escape(path)})")
    text = need(source.text(_SOCKETS, _SOCKETS_BYTES, keep=Keep("matches", (line,))))
    return tuple(dict.fromkeys(found[0].split()[-1] for found in re.finditer(line, text, re.MULTILINE)))
