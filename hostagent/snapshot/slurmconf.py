"""Filters of slurm.conf and gres.conf: the same files have passwords and the names of all nodes."""

import re
from collections.abc import Callable

from hostagent.domains.slurm.conf import CONTROLLERS, NODES, Line, host_of, is_default, parse_conf

_SPECIAL = re.compile(r"[\\#]")


def slurm_conf(data: bytes, names: tuple[str, ...], mask: Callable[[str], str]) -> bytes:
    r"""The named keys (in small letters) of each line, in its order; of ``KEY:WORD`` the parts ``WORD=…`` of a value with commas.

    >>> slurm_conf(b"HealthCheckInterval=60 AuthInfo=x\nJobCompPass=y\n", ("healthcheckinterval",), str)
    b'healthcheckinterval=60\n'
    >>> slurm_conf(b"AuthInfo=ttl=60,socket=/run/a\n", ("authinfo:socket",), str)
    b'authinfo=socket=/run/a\n'
    """
    found = (_kept(line, names) for line in parse_conf(data.decode("utf-8", "replace")).lines)
    return "".join(f"{written(line)}\n" for line in found if line).encode()


def _kept(line: Line, names: tuple[str, ...]) -> Line:
    words = {key: f"{word}=" for key, colon, word in (name.partition(":") for name in names) if colon}
    return tuple((key, value if key in names else _part(value, words[key])) for key, value in line if key in names or key in words)


def _part(value: str, word: str) -> str:
    return ",".join(one for one in value.split(",") if one.startswith(word))


def written(line: Line) -> str:
    """As `parse_conf` reads it again.

    >>> written((("nodename", "n[1-2]"), ("reason", "no cable")))
    'nodename=n[1-2] reason="no cable"'
    """
    if line[0][0] == "include":
        return f"include {_SPECIAL.sub(_escaped, line[0][1])}"
    return " ".join(f"{key}={_value(value)}" for key, value in line)


def _value(value: str) -> str:
    text = _SPECIAL.sub(_escaped, value)
    return text if value and value.split() == [value] else f'"{text}"'


def _escaped(found: "re.Match[str]") -> str:
    return f"\\{found[0]}"


def with_nodes(text: str, rename: Callable[[str], str]) -> str:
    r"""The kept text, with the host lists of its nodes and controllers as `rename` gives them. What names no host of its own stays.

    >>> with_nodes("nodename=DEFAULT\nnodename=localhost\nslurmctldhost=head(10.0.0.2)\n", lambda hosts: f"<{hosts}>")
    'nodename=DEFAULT\nnodename=localhost\nslurmctldhost=<head>\n'
    """
    lines = parse_conf(text).lines
    return "".join(f"{written(tuple((key, _renamed(key, value, rename)) for key, value in line))}\n" for line in lines)


def _renamed(key: str, value: str, rename: Callable[[str], str]) -> str:
    if key in CONTROLLERS:
        return rename(host_of(value))
    return rename(value) if key in NODES and not is_default(value) and value != "localhost" else value
