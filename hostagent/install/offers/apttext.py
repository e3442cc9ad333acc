"""What apt prints, with LC_ALL=C.UTF-8: a table of versions, records, a simulated transaction. Tried with apt 2.4, 2.6 and 3.0."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hostagent.install.offers.words import repository_url

_NAME = re.compile(r"(\S+?):$")
_VERSION = re.compile(r" (?:\*\*\*|   ) (\S+) -?\d+(?: .*)?$")
_FROM = re.compile(r" {6,}-?\d+ (\S+)(?: (.*?))?$")
_STEP = re.compile(r"(Inst|Remv|Purg) (\S+)(?: \[([^\]]+)\])?")
_URI = re.compile(r"'([^']*)' (\S+) (\d+)")
_MESSAGE = re.compile(r"[EW]: ")


class Source(NamedTuple):
    """Where one version is: ``url`` "" is the package database."""

    version: str
    url: str
    suite: str


class Record(NamedTuple):
    size_bytes: int
    installed_bytes: int


class Change(NamedTuple):
    """``after`` "" is removed."""

    name: str
    arch: str
    before: str
    after: str


def parse_policy(text: str) -> dict[str, tuple[Source, ...]]:
    r"""``apt-cache policy NAME…``: by name, in its order, which is from the newest version on. A name that apt does not know is not there.

    >>> parse_policy("a:\n  Version table:\n     2 500\n        500 file:/srv ./ Packages\n *** 1 100\n        100 /var/lib/dpkg/status")
    {'a': (Source(version='2', url='file:/srv/', suite='./'), Source(version='1', url='', suite=''))}
    """
    found: dict[str, tuple[Source, ...]] = {}
    name = version = ""
    for line in text.splitlines():
        if heading := _NAME.match(line):
            name, version = heading[1], ""
            found[name] = ()
        elif match := _FROM.match(line):
            if name and version:
                found[name] += (_source(version, match[1], match[2] or ""),)
        elif match := _VERSION.match(line):
            version = match[1]
    return found


def _source(version: str, url: str, rest: str) -> Source:
    """``http://mirror/debian bookworm/main amd64 Packages``; of a flat repository there is no architecture, or no suite."""
    if url.startswith("/"):
        return Source(version, "", "")
    return Source(version, repository_url(url), rest.removesuffix("Packages").split(" ")[0] if rest else "")


def parse_records(text: str) -> dict[tuple[str, str], Record]:
    r"""``apt-cache show``: sizes by name and version.

    >>> parse_records("Package: a\nVersion: 1\nInstalled-Size: 2\nSize: 700\nDescription: x\n Size: 1\n\nPackage: a\nVersion: 0\n")
    {('a', '1'): Record(size_bytes=700, installed_bytes=2048), ('a', '0'): Record(size_bytes=0, installed_bytes=0)}
    """
    found: dict[tuple[str, str], Record] = {}
    for stanza in re.split(r"\n{2,}", text):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and not line.startswith(" "))
        key = (fields.get("Package", ""), fields.get("Version", ""))
        size, installed = _number(fields.get("Size", "")), _number(fields.get("Installed-Size", "")) * 1024
        before = found.get(key, Record(0, 0))  # the package database knows no size of the file
        found[key] = Record(size or before.size_bytes, installed or before.installed_bytes)
    found.pop(("", ""), None)
    return found


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def parse_simulation(text: str, native: str) -> tuple[Change, ...]:
    r"""``apt-get --simulate``. `native`: the architecture of names without one.

    >>> parse_simulation("Inst a [1] (2 X:1/s [amd64])\nInst b:i386 (1 X [i386])\nRemv c [3]\nConf a (2 X:1/s [amd64])", "amd64")[1:]
    (Change(name='b', arch='i386', before='', after='1'), Change(name='c', arch='amd64', before='3', after=''))
    """
    return tuple(_changes(text, native))


def _changes(text: str, native: str) -> Iterator[Change]:
    for line in text.splitlines():
        if not (found := _STEP.match(line)):
            continue
        name, _, named = found[2].partition(":")
        inside = line[found.end() :].partition("])")[0].removeprefix(" (")  # 580.142-1 NVIDIA:debian12/ [amd64
        after, _, where = inside.partition(" ")
        arch = where.rpartition("[")[2] if found[1] == "Inst" else ""
        yield Change(name, arch or named or native, found[3] or "", after if found[1] == "Inst" else "")


def parse_uris(text: str) -> int:
    r"""``apt-get --print-uris``: bytes that are still to be fetched.

    >>> parse_uris("Reading...\n'http://m/a_1_amd64.deb' a_1_amd64.deb 700 SHA256:0\n'http://m/b.deb' b_1_all.deb 1 MD5Sum:0")
    701
    """
    return sum(int(size) for _, _, size in _URI.findall(text))


def messages(text: str) -> list[str]:
    r"""The errors and warnings of a program of apt, each with the lines that go with it.

    >>> messages("W: a\n   b\nE: c\nN: d")
    ['W: a\n   b', 'E: c']
    """
    found: list[str] = []
    goes_on = False
    for line in text.splitlines():
        if _MESSAGE.match(line):
            found.append(line)
        elif goes_on and line.startswith(" "):
            found[-1] += f"\n{line}"
            continue
        goes_on = bool(_MESSAGE.match(line))
    return found


def refusal(stdout: str, stderr: str) -> str:
    """Why apt would not do it: the dependencies that it names, and its errors."""
    lines = stdout.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith("The following packages have unmet dependencies")), len(lines))
    unmet = [line for line in lines[start:] if line.startswith((" ", "The following"))]
    errors = [one for one in messages(stderr) if one.startswith("E:")]
    return "\n".join((*unmet, *errors)) or stderr.strip() or stdout.strip()[-500:]
