"""Parser of slurm.conf and gres.conf: lines of `Key=Value`, split as Slurm's own parser does (slurm.conf(5)).

Pure. Keys are case-insensitive, and in lower case here. The caller resolves `Include` lines.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hostagent.core.parsing import at_most

#: Default folders of slurm.conf, in order (slurmd(8), slurm.conf(5)): the copy of a configless node, packages of distributions,
#: Debian's before 11, builds below /opt (AWS ParallelCluster), Slurm's own default.
FOLDERS = ("/run/slurm/conf", "/etc/slurm", "/etc/slurm-llnl", "/opt/slurm/etc", "/usr/local/etc/slurm", "/usr/local/etc")
#: EnvironmentFile= of slurmd's unit in the packages of distributions and of Slurm. The last SLURM_CONF in them wins over the folders.
ENVIRONMENTS = ("/etc/default/slurmd", "/etc/sysconfig/slurmd")
#: Copies of a configless node's files (slurmd(8)): below the SlurmdSpoolDir of Slurm itself, of packages and of AWS ParallelCluster.
CACHES = tuple(
    f"{spool}/conf-cache" for spool in ("/var/spool/slurmd", "/var/spool/slurm/slurmd", "/var/spool/slurm/d", "/var/lib/slurm/slurmd")
)
#: Keys of nodes and of controllers: each value is a host list; SlurmctldHost may have an address in parentheses after it.
NODES = ("nodename", "nodehostname")
CONTROLLERS = ("slurmctldhost", "controlmachine", "backupcontroller")
#: States in which slurm.conf leaves a node out of service, so that its slurmd need not run.
_OUT = frozenset({"down", "drain", "external", "fail", "failing", "future"})
#: Limits of the names of one host list, the parts of one of its words, and the digits of a number.
_MOST_HOSTS, _MOST_PARTS, _MOST_DIGITS = 65_536, 64, 9
#: A key, an optional operator before `=` (`+=`), and a value in double quotes or up to the next white space.
_PAIR = re.compile(r"(?<![A-Za-z0-9_.])([A-Za-z0-9_.]+)[ \t]*[-*+/]?=[ \t]*(?:\"([^\"]*)\"|(\S+))")
_BEFORE_COMMENT = re.compile(r"(?:[^\\#]+|\\.?)*")
_INCLUDE = re.compile(r"include\s+(\S.*)", re.IGNORECASE)
#: A word of a host list: commas in brackets do not separate words.
_WORD = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+")
_RANGES = re.compile(r"\[([0-9,-]+)\]")
_DIGITS = re.compile(r"[0-9]+", re.ASCII)

#: Keys (in lower case) and values of one line, in order.
Line = tuple[tuple[str, str], ...]


class Conf(NamedTuple):
    """The lines of one file, or of several in sequence. An `Include` line has the single key `include`."""

    lines: tuple[Line, ...]

    def value(self, key: str, default: str = "") -> str:
        r"""The value in the last line that sets `key`; `default` if none does.

        >>> parse_conf("HealthCheckInterval=30\nhealthcheckinterval = 60").value("HealthCheckInterval")
        '60'
        """
        name = key.lower()
        return next((value for line in reversed(self.lines) for known, value in reversed(line) if known == name), default)


def parse_conf(text: str) -> Conf:
    r"""The lines with assignments or an `Include`; others are ignored.

    >>> parse_conf('ClusterName=a  # one\nInclude b.conf\nNodeName=n[1-2] \\\n  Reason="no cable" Gres=gpu:8\n').lines
    ((('clustername', 'a'),), (('include', 'b.conf'),), (('nodename', 'n[1-2]'), ('reason', 'no cable'), ('gres', 'gpu:8')))
    """
    return Conf(tuple(line for whole in _whole_lines(text) if (line := _line(whole))))


def in_hostlist(name: str, text: str) -> bool:
    """Whether a host list has this name, without expanding the list.

    >>> in_hostlist("n07", "login,n[01-08,12]"), in_hostlist("n7", "n[01-08]"), in_hostlist("r2n3", "r[1-2]n[1-4]")
    (True, False, True)
    """
    return any(_matches(name, parts) for parts in _words(text))


def only_controls(conf: Conf, names: tuple[str, ...]) -> bool:
    r"""Whether the host of these names is a controller and not a node.

    A node named `localhost` may be any host, and so may a dynamic one (`MaxNodeCount`).

    >>> conf = parse_conf("SlurmctldHost=head(10.0.0.2)\nNodeName=n[1-4]")
    >>> only_controls(conf, ("head",)), only_controls(conf, ("n1",)), only_controls(conf, ("login",))
    (True, False, False)
    """
    pairs = [pair for line in conf.lines for pair in line]
    nodes = [value for key, value in pairs if key in NODES and not is_default(value)]
    controllers = [host_of(value) for key, value in pairs if key in CONTROLLERS]
    if not nodes or conf.value("MaxNodeCount", "0") != "0":
        return False
    return _have(controllers, names) and not _have(nodes, (*names, "localhost"))


def has_node(lines: Iterable[Line], names: tuple[str, ...]) -> bool:
    r"""Whether a node in service has one of these host names. A node named `localhost` is that of a package's example.

    >>> conf = parse_conf("NodeName=DEFAULT State=UNKNOWN\nNodeName=n[1-4]\nNodeName=n[5-8] State=FUTURE\nNodeName=a NodeHostname=b")
    >>> [has_node(conf.lines, (name,)) for name in ("n1", "n5", "login", "a", "b")]
    [True, False, False, False, True]
    """
    default, own = "", [name for name in names if name != "localhost"]
    for row in map(dict, lines):
        if "nodename" not in row:
            continue
        state = row.get("state", default).lower()
        if is_default(row["nodename"]):
            default = state
        elif state not in _OUT and any(in_hostlist(name, row.get("nodehostname", row["nodename"])) for name in own):
            return True
    return False


def _have(hostlists: list[str], names: tuple[str, ...]) -> bool:
    return any(in_hostlist(name, one) for one in hostlists for name in names)


def is_default(nodes: str) -> bool:
    """Whether it is `NodeName=DEFAULT`, which is no node but sets defaults for the lines after it."""
    return nodes.upper() == "DEFAULT"


def host_of(controller: str) -> str:
    """The host name without an address in parentheses.

    >>> host_of("head(10.0.0.2)")
    'head'
    """
    return controller.partition("(")[0].rstrip()


def hosts(text: str) -> Iterator[str]:
    """The names of a host list in order; raises ``ValueError`` beyond 65536 of them.

    >>> list(hosts("login,n[08-10],r[1-2]n[1-2]"))
    ['login', 'n08', 'n09', 'n10', 'r1n1', 'r1n2', 'r2n1', 'r2n2']
    """
    return at_most(_MOST_HOSTS, "hosts", (name for parts in _words(text) for name in _names(parts, "")))


def _whole_lines(text: str) -> Iterator[str]:
    """Lines without comments; a backslash at the end of a line continues it in the next one."""
    pending: list[str] = []
    for raw in text.split("\n"):
        line = _without_comment(raw)
        stripped = line.rstrip()
        goes_on = (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
        pending.append(stripped[:-1] if goes_on else line)
        if not goes_on:
            yield "".join(pending).strip()
            pending = []
    if pending:
        yield "".join(pending).strip()


def _without_comment(line: str) -> str:
    """The line up to the first unescaped `#`."""
    found = _BEFORE_COMMENT.match(line)
    return found[0] if found else ""


def _line(text: str) -> Line:
    plain = re.sub(r"\\(.)", r"\1", text)
    if included := _INCLUDE.match(plain):
        return (("include", included[1].strip().strip('"')),)
    pairs = ((found[1].lower(), found[3].lstrip('"') if found[2] is None else found[2]) for found in _PAIR.finditer(plain))
    return tuple(pair for pair in pairs if pair[0] != "include")


#: A literal text, or ranges of numbers: width (the digits of the first), first and last.
_Part = str | tuple[tuple[int, int, int], ...]


def _words(text: str) -> Iterator[tuple[_Part, ...]]:
    """The words of a host list, without empty ones."""
    for found in _WORD.finditer(text):
        word = found[0].strip()
        parts = tuple(_ranges(part) if number % 2 else part for number, part in enumerate(_RANGES.split(word, _MOST_PARTS)))
        if word and all(parts[1::2]):
            yield parts


def _ranges(text: str) -> tuple[tuple[int, int, int], ...]:
    found = []
    for one in text.split(","):
        first, dash, last = one.partition("-")
        last = last if dash else first
        if _is_number(first) and _is_number(last) and int(first) <= int(last):
            found.append((len(first), int(first), int(last)))
    return tuple(found)


def _is_number(text: str) -> bool:
    return 0 < len(text) <= _MOST_DIGITS and text.isdecimal() and text.isascii()


def _matches(name: str, parts: tuple[_Part, ...]) -> bool:
    """Whether the parts match the name, by the set of positions reachable after each part, so that the work is bounded."""
    places = {0}
    for part in parts:
        if isinstance(part, str):
            places = {place + len(part) for place in places if name.startswith(part, place)}
        else:
            places = {end for place in places for end in _ends(name, place, part)}
    return len(name) in places


def _ends(name: str, place: int, ranges: Iterable[tuple[int, int, int]]) -> Iterator[int]:
    digits = _DIGITS.match(name, place)
    for end in range(place + 1, min(digits.end(), place + _MOST_DIGITS) + 1) if digits else ():
        text = name[place:end]
        if any(first <= int(text) <= last and text == text.lstrip("0").rjust(width, "0") for width, first, last in ranges):
            yield end


def _names(parts: tuple[_Part, ...], start: str) -> Iterator[str]:
    if not parts:
        yield start
        return
    first, *rest = parts
    if isinstance(first, str):
        yield from _names(tuple(rest), start + first)
        return
    for width, low, high in first:
        for number in range(low, high + 1):
            yield from _names(tuple(rest), f"{start}{number:0{width}d}")
