"""dpkg's package database, read from its files: dpkg itself takes a lock, and its start alone takes longer than this read."""

# A version suffix does not prove the origin: NVIDIA ships -0ubuntu1 too, which counts as unknown and never as a second origin.

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from hostagent.core.answers import MIB
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, then
from hostagent.domains.packages.tables.names import FAMILIES, TOOLKIT_PACKAGES
from hostagent.host.source import Source

T = TypeVar("T")
STATUS = "/var/lib/dpkg/status"
_FIELDS = frozenset({"Package", "Status", "Architecture", "Version", "Source", "Maintainer"})
#: Values in the third column of Status that mean that no file of the package is on disk.
_GONE = frozenset({"not-installed", "config-files"})
#: Other stanzas are not parsed: a database has megabytes, and an image may have any file in its place.
_OURS = re.compile(f"Package: (?:{'|'.join(map(re.escape, FAMILIES))})")
_MOST_RECORDS, _LONGEST = 10_000, MIB


class Record(NamedTuple):
    """One package as a package database lists it."""

    name: str
    version: str
    arch: str
    state: str
    held: bool
    source: str  # name of the source package
    origin: str


def parse_status(text: str) -> tuple[Record, ...]:
    """The packages of the known families in /var/lib/dpkg/status (deb-control(5)); raises ``ValueError``.

    >>> parse_status('''Package: nvidia-utils-580
    ... Status: hold ok installed
    ... Maintainer: Ubuntu Core Developers <ubuntu-devel-discuss@lists.ubuntu.com>
    ... Architecture: amd64
    ... Source: nvidia-graphics-drivers-580
    ... Version: 580.126.09-0ubuntu0.24.04.1
    ... Depends: libc6,
    ...  libnvidia-compute-580
    ...
    ... Package: bash
    ... Status: install ok installed
    ... ''')[0][:5]
    ('nvidia-utils-580', '580.126.09-0ubuntu0.24.04.1', 'amd64', 'installed', True)
    """
    records: list[Record] = []
    for match in _OURS.finditer(text):
        at = match.start()
        if text[max(0, at - 2) : at].strip("\n"):
            continue  # in the middle of a stanza
        end = text.find("\n\n", at)
        stanza = text[at:] if end < 0 else text[at:end]
        if len(records) == _MOST_RECORDS or len(stanza) > _LONGEST:
            raise ValueError(f"found more than {_MOST_RECORDS} packages of ours, or one that takes more than {_LONGEST} characters")
        records += _records(stanza)
    return tuple(records)


def _records(stanza: str) -> Iterator[Record]:
    rows = (line.partition(":") for line in stanza.split("\n"))
    fields = {key: value.strip() for key, _, value in rows if key in _FIELDS}
    name = fields["Package"]
    words = fields.get("Status", "").split()
    if len(words) != 3:
        raise ValueError(f"package {name[:80]}: found the status {fields.get('Status', '')[:80]!r}, wanted three words")
    want, error, state = words
    if state in _GONE:
        return
    if not fields.get("Version"):
        raise ValueError(f"package {name[:80]} is {state} and has no version")
    version = fields["Version"]
    origin = deb_origin(name, version, fields.get("Maintainer", ""))
    source = fields.get("Source", name).partition(" ")[0]
    state = state if error == "ok" else f"{state} {error}"
    yield Record(name, version, fields.get("Architecture", ""), state, want == "hold", source, origin)


def deb_origin(name: str, version: str, maintainer: str) -> str:
    """The origin of a package, from its version and maintainer; dpkg records nothing else about the repository.

    The CUDA repository's own packages end in -1 or -1ubuntu1, Ubuntu's archive names its release (-0ubuntu0.24.04.1).
    A bare -0ubuntu1 occurs in both, and Debian's archive and the CUDA repository for Debian share names, maintainer and
    often the revision: "unknown".

    >>> deb_origin("nvidia-utils-580", "580.126.09-0ubuntu0.24.04.1", ""), deb_origin("nvidia-utils-580", "580.95.05-1ubuntu1", "")
    ('distribution', 'cuda')
    """
    if name in TOOLKIT_PACKAGES:
        return "toolkit"
    revision = version.rpartition("-")[2]
    if "nvidia.com" in maintainer.lower():
        return "cuda"
    if re.match(r"0ubuntu[0-9]+[.~]", revision) or re.search(r"[~+](?:deb|bpo)[0-9]", revision):
        return "distribution"
    if re.fullmatch(r"[1-9][0-9]*ubuntu[0-9]+", revision):
        return "cuda"
    return "cuda" if revision == "1" and "debian" not in maintainer.lower() else "unknown"


def read_status(source: Source) -> "tuple[Record, ...] | Unread":
    return read_database(source, Keep("dpkg", (*sorted(_FIELDS), *(f"{one}*" for one in FAMILIES))), parse_status)


def read_database(source: Source, keep: Keep, parse: Callable[[str], T]) -> "T | Unread":
    """Parses the database with `parse`; a ``ValueError`` becomes unread."""
    text = source.text(STATUS, 64 * MIB, keep=keep)
    if isinstance(text, Unread):
        return text
    if "\0" in text:
        return Unread("error", f"{STATUS} holds binary data")
    try:
        return parse(text)
    except ValueError as error:
        return Unread("error", f"{STATUS}: {error}")


def read_interrupted(source: Source) -> "bool | Unread":
    """Whether dpkg was interrupted: changes not yet merged into its status are in numbered files, which stay if it is killed."""
    names = source.listdir("/var/lib/dpkg/updates", absent=())
    return then(names, lambda found: any(name.isdecimal() for name in found))


def dpkg_owners(source: Source, packages: "tuple[tuple[str, str], ...]", paths: tuple[str, ...]) -> "dict[str, str | Unread]":
    """Which of `packages` ((name, arch) pairs) owns each path, "" for none, by dpkg's file lists."""
    keep = Keep("rows", paths)
    unowned: str | Unread = ""
    owners: dict[str, str | Unread] = {}
    for name, arch in packages:
        text = source.text(f"/var/lib/dpkg/info/{name}:{arch}.list", keep=keep)
        if isinstance(text, Unread) and text.why == "absent":
            text = source.text(f"/var/lib/dpkg/info/{name}.list", keep=keep)
        if isinstance(text, Unread):
            unowned = text if text.why != "absent" else unowned
            continue
        files = {merged_usr(line) for line in text.splitlines()}
        owners.update({path: name for path in paths if merged_usr(path) in files})
    return {path: owners.get(path, unowned) for path in paths}


def merged_usr(path: str) -> str:
    """One name for /lib/x and /usr/lib/x: where /usr is merged, packages still list either."""
    return path.removeprefix("/usr")
