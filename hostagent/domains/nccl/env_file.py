r"""The environment of a job, as a file: what ``--env-file`` names. Our own environment is never read.

Two forms. With a NUL in it, it is what ``/proc/PID/environ`` and ``env -0`` write: entries ``NAME=VALUE``, as they are; of two with one
name the first counts, as for getenv(3). Else it is lines ``NAME=VALUE`` from the first column on, as ``env`` writes them and ``docker run
--env-file`` takes them: quotes and blanks belong to the value, a line that begins with ``#`` is a comment, what is no assignment is passed
over (``env`` writes values of several lines so), and of two with one name the last counts. Lines that begin with ``export`` or
``declare -x`` are a shell's, and their quotes are read as it reads them; a value that it would compute is refused.

The answer of ``Source.environment`` is made of it at once, and holds nothing else of it::

    {"variables": {"NCCL_DEBUG": "INFO", "NCCL_X_TOKEN": null},   # null: `hostagent.domains.nccl.tables.plugins.keeps_value` says no
     "home": "/home/alice",                                         # where .nccl.conf is; null where HOME is not set
     "people": ["alice"]}                                           # names that paths are kept and shown without

``variables`` are those that begin with NCCL_, OFI_ or FI_, and LD_LIBRARY_PATH. Where no file was given the answer is ``{}``.
"""

import re
from typing import Any

from hostagent.core.secret.people import is_person
from hostagent.domains.nccl.conf_text import cleaned
from hostagent.domains.nccl.tables.plugins import PREFIXES, keeps_value

#: Bytes of a file. Linux gives the arguments and the environment of a program 6 MiB at most (execve(2)).
MAX_BYTES = 8 * 1024 * 1024
#: Variables that an answer holds; characters of a name, and of a value. NCCL has 260 variables, and reads 1,023 bytes of most.
_MOST, _NAME_CHARACTERS, _VALUE_CHARACTERS = 2000, 128, 32_768
LIBRARY_PATH = "LD_LIBRARY_PATH"

_ASSIGNED = re.compile(r"(?s)([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_SHELL = re.compile(r"(?s)(?:export|declare -[a-zA-Z]*x[a-zA-Z]*)[ \t]+(.*)")
#: The parts of one shell word.
_PIECE = re.compile(r"(?s)'([^']*)'|\$'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|([^\s'\"\\;&|<>()`$]+)")
_HOME = re.compile(r"(?:[^\s'\"\\]*:)?~")
_COMPUTED = re.compile(r"(?<!\\)(?:\\\\)*[$`]")
_ANSI = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"v": b"\v"}
_ESCAPE = re.compile(rb"(?s)\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))")
#: What is no environment, by its first bytes.
_FOREIGN = {b"\x7fELF": "a program", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "a compressed file", b"#!": "a script"}
#: What to do about it.
NEXT_STEP = "Give what 'env -0' writes in the job, or /proc/PID/environ of one of its processes"


def parse_environment(data: bytes) -> dict[str, Any]:
    r"""The answer for `data`. Raises ``ValueError``, without any value in it, for data that are no environment.

    >>> parse_environment(b"HOME=/home/a\0NCCL_DEBUG=INFO\0NCCL_X_TOKEN=abc\0")
    {'variables': {'NCCL_DEBUG': 'INFO', 'NCCL_X_TOKEN': None}, 'home': '/home/a', 'people': ['a']}
    """
    for start, what in _FOREIGN.items():
        if data.startswith(start):
            raise ValueError(f"found {what}, wanted NAME=VALUE")
    found = _entries(data) if b"\0" in data else _lines(data)
    if not found:
        raise ValueError("found no NAME=VALUE" if data.strip() else "found nothing, wanted NAME=VALUE")
    home = found.get("HOME")
    variables = {name: value for name, value in sorted(found.items()) if name.startswith(PREFIXES) or name == LIBRARY_PATH}
    _refuse_long({**variables, **({} if home is None else {"HOME": home})})
    return {
        "variables": {name: _kept(name, value) for name, value in variables.items()},
        "home": None if home is None else cleaned(home.rstrip("/")),
        "people": _people(home or "", found.get("USER", ""), found.get("LOGNAME", "")),
    }


def _kept(name: str, value: str) -> "str | None":
    return cleaned(value) if name == LIBRARY_PATH or keeps_value(name) else None


def _entries(data: bytes) -> dict[str, str]:
    """A program may overwrite its own environment: other text is skipped, but most entries must be valid."""
    texts = [one for one in data.decode("utf-8", "replace").split("\0") if one]
    pairs = [(match[1], match[2]) for match in map(_ASSIGNED.fullmatch, texts) if match]
    if 2 * len(pairs) < len(texts):
        raise ValueError("found binary data, wanted NAME=VALUE")
    return dict(reversed(pairs))


def _lines(data: bytes) -> dict[str, str]:
    lines = data.decode("utf-8-sig", "replace").split("\n")
    if all(line.endswith("\r") for line in lines if line):  # written on Windows; else it belongs to the value
        lines = [line[:-1] for line in lines]
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        shell = _SHELL.fullmatch(line)
        match = _ASSIGNED.fullmatch(shell[1] if shell else line)
        if match is None:
            continue
        name, value = match.groups()
        if shell:
            if not _counts(name):
                continue
            word = shell_word(value)
            if word is None:
                raise ValueError(f"line {number}: found a value of {name[:_NAME_CHARACTERS]} that only a shell can compute")
            value = word
        found[name] = value
    return found


def _counts(name: str) -> bool:
    return name.startswith(PREFIXES) or name in (LIBRARY_PATH, "HOME", "USER", "LOGNAME")


def shell_word(text: str) -> "str | None":
    r"""The value of an assignment as a shell reads it; None where it would have to compute it, or the word does not end.

    >>> shell_word("'^docker0,lo' # no"), shell_word('"a\\"b"'), shell_word("$HOME/x"), shell_word("'a")
    ('^docker0,lo', 'a"b', None, None)
    """
    value, at = "", 0
    if _HOME.match(text):
        return None
    while at < len(text) and text[at] not in " \t\r;":
        piece = _PIECE.match(text, at)
        if piece is None:
            return None
        single, ansi, double, escaped, plain = piece.groups()
        if plain and "{" in plain and ("," in text or ".." in text):  # braces that bash may expand
            return None
        if double is not None:
            if _COMPUTED.search(double):
                return None
            value += re.sub(r"(?s)\\([$`\"\\\n])", lambda one: one[1].strip("\n"), double)
        elif ansi is not None:
            value += _ESCAPE.sub(_escaped, ansi.encode("utf-8", "replace")).decode("utf-8", "replace")
        else:
            value += single or plain or (escaped or "").strip("\n")
        at = piece.end()
    return value


def _escaped(match: "re.Match[bytes]") -> bytes:
    """The character for an escape in ``$'...'``."""
    octal, hexadecimal, other = match.groups()
    if octal or hexadecimal:
        return bytes([(int(octal, 8) if octal else int(hexadecimal, 16)) & 0xFF])
    return _ANSI.get(other, other)


def _refuse_long(variables: dict[str, str]) -> None:
    if len(variables) > _MOST:
        raise ValueError(f"found {len(variables)} variables of NCCL and libfabric, wanted at most {_MOST}")
    for name, value in variables.items():
        if len(name) > _NAME_CHARACTERS or len(value) > _VALUE_CHARACTERS:
            limit = f"at most {_NAME_CHARACTERS} and {_VALUE_CHARACTERS}"
            raise ValueError(f"found {name[:40]}, a name of {len(name)} characters with a value of {len(value)}, wanted {limit}")


def _people(home: str, *names: str) -> list[str]:
    found = {home.rstrip("/").rpartition("/")[2], *names}
    return sorted(filter(is_person, found))
