"""Files of Slurm's configuration: which of them slurmd reads, and their lines."""

import re
from collections.abc import Iterator
from posixpath import dirname, join

from hostagent.core.answers import KIB, MIB
from hostagent.core.parsing import Allowance, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_THERE, Unread, UnreadError, need
from hostagent.domains.slurm.conf import ENVIRONMENTS, Conf, Line, parse_conf
from hostagent.host.source import Source

#: slurm.conf is read with a limit of its own by what later releases ask of it, so that it is another question.
LIMIT = 513 * KIB
SLURM_CONF = re.compile(r"^(?:export[ \t]+)?SLURM_CONF=[\"']?(/[^\s\"']+)", re.MULTILINE)
SERVER = re.compile(r"^[^\n#]*(?P<keep>--conf-server)\b", re.MULTILINE)
#: slurmd -N NAME, and -Z of a dynamic node: the node name is not the host name.
RENAMED = re.compile(r"^[^\n#]*?(?P<keep>[\s\"'=]-[NZ])", re.MULTILINE)
_ENVIRONMENT = Keep("matches", (r"^(?:export[ \t]+)?SLURM_CONF=\S+", SERVER.pattern, RENAMED.pattern))
_MOST_FILES, _MOST_DEPTH = 20, 5


@stops_at_unread
def read_environment(source: Source, limit: int = MIB) -> str:
    """What slurmd's unit gives it."""
    return "\n".join(need(source.text(path, limit, keep=_ENVIRONMENT, absent="")) for path in ENVIRONMENTS)


def is_there(source: Source, path: str) -> bool:
    """Raises ``UnreadError``."""
    stat = source.stat(path)
    if isinstance(stat, Unread) and stat.why in NOT_THERE:
        return False
    return need(stat).kind == "file"


def own_names(source: Source) -> tuple[str, ...]:
    """The host name, and its first label. Raises ``UnreadError``."""
    name = str(need(source.host()).get("hostname", ""))
    return tuple(dict.fromkeys((name, name.partition(".")[0])))


@stops_at_unread
def read_conf(source: Source, path: str, keep: Keep, limit: int = MIB) -> Conf:
    """A file with its `Include` lines replaced by the included files."""
    return Conf(tuple(conf_lines(source, path, keep, limit)))


def conf_lines(source: Source, path: str, keep: Keep, limit: int) -> Iterator[Line]:
    """The same, line by line. Raises ``UnreadError`` at a file that cannot be read."""
    return _lines(source, path, (keep, limit), Allowance("files of Slurm's configuration", _MOST_FILES), _MOST_DEPTH)


def _lines(source: Source, path: str, asked: tuple[Keep, int], allowance: Allowance, depth: int) -> Iterator[Line]:
    allowance.take(1)
    keep, limit = asked
    for line in parse_conf(need(source.text(path, limit, keep=keep))).lines:
        if line[0][0] != "include":
            yield line
            continue
        if "%" in line[0][1] or not depth:
            raise UnreadError(Unread("error", f"{path}: which file 'Include {line[0][1][:80]}' names is not read"))
        yield from _lines(source, join(dirname(path), line[0][1]), asked, allowance, depth - 1)
