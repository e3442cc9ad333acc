"""The systemd unit of the daemon, for one copy of hostagent: the shipped file, with the program and options of that copy."""

# ProtectClock is not set: its filter refuses adjtimex, also the question whether the clock is synchronised, and before systemd
# 252 it implies a rule on one device, which closes all others (247: /dev/kmsg is EPERM). With ProtectKernelTunables a unit gets a
# /proc of its own, without what is mounted below the host's. Judge: tests/real/machine.py.

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from hostagent.core.errors import HostagentError
from hostagent.core.installation import damaged_step, directory
from hostagent.core.smallfile import read_small, reason, refuse_others

#: What the shipped unit starts the daemon with.
OPTIONS = ("--kubernetes", "off")
NEXT_STEP = "Install hostagent as root where only root can write, such as /opt/hostagent, and print the unit with that copy"
#: The unit has others of its own: PrivateTmp, systemd.exec(5).
_TEMPORARY = ("/tmp/", "/var/tmp/")  # noqa: S108  they are refused
#: In this order: an installed hostagent never takes a directory that happens to stand next to it.
_PLACES = ("hostagent/_daemonset/systemd", "daemonset/systemd")
_UNIT, _DROP_IN, _MOST_BYTES = "hostagent.service", "drop-in.conf", 64 * 1024
_HEAD = """\
# Printed by 'hostagent daemon --print-unit' of {program}. The daemon reads the host, and writes only to the directories that
# are named here. Lines for what else a site may want are at the end.
"""
#: The unit makes it before the program starts, which unpacks itself there; all else of /var is read-only to it.
_CACHE = "CacheDirectory=hostagent\nCacheDirectoryMode=0755\n"
_PLAIN = re.compile(r"[A-Za-z0-9@+=:,./_-]+\Z")
#: "Executable name contains special characters", systemd says.
_NOT_EXECUTABLE = re.compile(r"[\"'\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def unit(program: str, options: Sequence[str] = OPTIONS, *, cache: bool = False, settings: Sequence[str] = ()) -> str:
    """The unit of the copy that the absolute path `program` starts, with `options` of ``hostagent daemon``.

    `cache`: the program unpacks itself into /var/cache/hostagent. `settings`: more lines of its [Service], as of `needs`. Raises
    ``HostagentError``.
    """
    start = f"ExecStart={' '.join([_executable(program), 'daemon', *(argument(one) for one in options)])}\n"
    body = _text(_UNIT)
    body = f"{_HEAD.format(program=program)}{body[body.index('[Unit]') :]}"
    body = _put("ExecStart=", start, body, replace=True)
    more = "".join(f"{one}\n" for one in settings) + (_CACHE if cache else "")
    body = _put("StateDirectory=", more, body, replace=False)
    example = _text(_DROP_IN).replace("/usr/local/bin/hostagent", quoted(program))
    return f"{body}\n{''.join(_as_comment(line) for line in example.splitlines(keepends=True))}"


def needs(options: Mapping[str, str]) -> list[str]:
    """The lines of [Service] without which these options do not work: by option, with its value.

    >>> needs({"--textfile": "/srv/node exporter/x.prom", "--listen": "127.0.0.1:80", "--profile": "any"})
    ['ReadWritePaths="/srv/node exporter"', 'CapabilityBoundingSet=CAP_NET_BIND_SERVICE']
    """
    folders = [os.path.dirname(options[name]) for name in ("--textfile", "--nfd-file") if options.get(name)]
    folders += [options[name] for name in ("--state-dir", "--history-dir") if options.get(name)]
    port = options.get("--listen", "").rpartition(":")[2]
    lines = [f"ReadWritePaths={listed(one)}" for one in dict.fromkeys(folders)]
    return [*lines, "CapabilityBoundingSet=CAP_NET_BIND_SERVICE"] if port.isascii() and port.isdigit() and int(port) < 1024 else lines


def refuse_untrusted(program: str, parts: Iterable[str], files: Iterable[str]) -> None:
    """Raises ``HostagentError`` where a unit of this copy could not start, or would let others become root.

    `parts`: files that the copy runs. `files`: what its options name.
    """
    parts = tuple(parts)
    for one in (*map(os.path.realpath, parts), *files):
        if f"{one}/".startswith(_TEMPORARY):
            raise HostagentError(
                f"found {one}, wanted a place outside of /tmp and /var/tmp: the unit has its own", "Move it, such as to /opt or /etc"
            )
    if not os.access(program, os.X_OK):
        raise HostagentError(f"found no program at {program} that may be run", f"Make it one with 'chmod +x {program}'")
    try:
        for one in parts:
            refuse_others(one, (0,))
    except OSError as error:
        raise HostagentError(f"refused a unit that runs {program} as root: {reason(error)}", NEXT_STEP) from error


def quoted(word: str) -> str:
    r"""One word of a unit, which systemd reads as it is: systemd.syntax(7), "Quoting"; systemd.unit(5), "Specifiers".

    >>> print(quoted('/opt/100% of "it"\\x'), quoted(""), quoted("/usr/bin/hostagent"))
    "/opt/100%% of \"it\"\\x" "" /usr/bin/hostagent
    """
    _refuse_control(word)
    if _PLAIN.match(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _refuse_control(word: str) -> None:
    if found := _CONTROL.search(word):
        raise HostagentError(f"found the character {found[0]!a} in {word!a:.200}, wanted what a unit can have", "Use another path or value")


def argument(word: str) -> str:
    """As `quoted`, behind the program: there ``$NAME`` is a variable (systemd.service(5), "Command lines").

    >>> print(argument("/srv/$x/%n"))
    "/srv/$$x/%%n"
    """
    return quoted(word).replace("$", "$$")


def listed(path: str) -> str:
    r"""As `quoted`, in a list of paths: there a backslash is a character like others (systemd's config_parse_namespace_path_strv).

    >>> print(listed("/a \\ b"), listed('/"%"'), listed("/a"))
    "/a \ b" '/"%%"' /a
    """
    _refuse_control(path)
    if _PLAIN.match(path):
        return path
    quote = next((one for one in ('"', "'") if one not in path), "")
    if not quote:
        raise HostagentError(f"found both kinds of quotes in {path:.200}, wanted what a unit can have", "Use another path")
    return f"{quote}{path.replace('%', '%%')}{quote}"


def _executable(program: str) -> str:
    if found := _NOT_EXECUTABLE.search(program):
        raise HostagentError(f"found {found[0]} in {program:.200}, wanted a path that systemd starts a program of", NEXT_STEP)
    return quoted(program)


def _put(after: str, text: str, body: str, *, replace: bool) -> str:
    """`text` in the place of the line that begins with `after`, or behind it."""
    lines = body.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith(after))
    return "".join((*lines[: at if replace else at + 1], text, *lines[at + 1 :]))


def _as_comment(line: str) -> str:
    return line if line.startswith("#") or not line.strip() else f"#{line}"


def _text(name: str) -> str:
    found = next((place for one in _PLACES if os.path.isfile(place := f"{directory()}/{one}/{name}")), "")
    try:
        if not found:
            raise FileNotFoundError(2, os.strerror(2), name)
        return read_small(found, _MOST_BYTES).decode()
    except OSError as error:
        raise HostagentError(f"the unit {name} of hostagent cannot be read: {reason(error)}", damaged_step()) from error
