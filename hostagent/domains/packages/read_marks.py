"""Packages installed as a dependency: the marks that apt, dnf 5 and zypper keep next to their databases."""

# apt marks a package for all architectures under the host's own (measured against apt-mark with two architectures). dnf 5
# (packages.toml) and zypper (AutoInstalled) keep reasons in text; dnf 4 keeps them in SQLite, which is not opened because its
# content decides what SQLite does: not-supported there.

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hostagent.core.answers import MIB
from hostagent.core.retention import WHOLE, Keep
from hostagent.core.toml import TomlError, parse_toml
from hostagent.core.unread import Unread, then
from hostagent.host.source import Source

_APT = "/var/lib/apt/extended_states"
_DNF5 = "/usr/lib/sysimage/libdnf5/packages.toml"
_ZYPP = "/var/lib/zypp/AutoInstalled"
_DNF4 = ("/var/lib/dnf/history.sqlite", "/usr/lib/sysimage/libdnf/history.sqlite")
_LARGEST = 4 * MIB
_STATES = ("Package", "Architecture", "Auto-Installed")
#: dnf 5's reasons of packages that were installed automatically.
_DEPENDENCIES = frozenset({"Dependency", "Weak Dependency"})


class Marks(NamedTuple):
    """(name, architecture) pairs; "" is any architecture."""

    automatic: frozenset[tuple[str, str]]

    def has(self, name: str, arch: str) -> bool:
        """Apt marks a package for all architectures under the host's own."""
        return (name, arch) in self.automatic or (name, "") in self.automatic


def plain_stanzas(text: str, fields: tuple[str, ...]) -> "Iterator[dict[str, str]]":
    r"""The named fields of each stanza, names in lower case, as dpkg and apt write them: a line each. Seven times as fast as all of them.

    >>> list(plain_stanzas("Package: a\nDepends: b,\n c\nVersion: 1\n\nPackage: d\n", ("Package", "Version")))
    [{'package': 'a', 'version': '1'}, {'package': 'd'}]
    """
    stanza: dict[str, str] = {}
    for match in re.finditer(rf"\n(?:((?i:{'|'.join(fields)})):[ \t]*(.*)|(?=\n))", f"\n{text}\n\n"):
        if match[1]:
            stanza[match[1].lower()] = match[2].strip()
        elif stanza:
            yield stanza
            stanza = {}


def parse_extended_states(text: str) -> Marks:
    r"""Apt's marks: a stanza for each package, and architecture, that was installed automatically.

    >>> marks = parse_extended_states("Package: liba\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: b\nAuto-Installed: 0\n")
    >>> marks.has("liba", "amd64"), marks.has("liba", "i386"), marks.has("liba", "all"), marks.has("b", "amd64")
    (True, False, True, False)
    """
    rows = [row for row in plain_stanzas(text, _STATES) if row.get("auto-installed") == "1" and row.get("package")]
    names = ((row["package"], row.get("architecture", "")) for row in rows)
    return Marks(frozenset(pair for name, arch in names for pair in ((name, arch), (name, "all"))))


def parse_auto_installed(text: str) -> Marks:
    r"""zypper's: a name a line.

    >>> parse_auto_installed("# written by zypper\nlibzypp\n").has("libzypp", "x86_64")
    True
    """
    lines = (line.strip() for line in text.splitlines())
    return Marks(frozenset((line, "") for line in lines if line and not line.startswith("#")))


def parse_dnf5_reasons(text: str) -> Marks:
    r"""Dnf 5's: a table of reasons by name and architecture; raises ``ValueError``.

    >>> parse_dnf5_reasons('version = "1.0"\n[packages]\n"bash.x86_64" = { reason = "Dependency" }\n').has("bash", "x86_64")
    True
    """
    rows = parse_toml(text.encode()).get("packages", {})
    if not isinstance(rows, dict):
        raise ValueError("found packages of another shape, wanted a table")  # noqa: TRY004  of a file, as its other faults
    found = (name.rpartition(".") for name, row in rows.items() if isinstance(row, dict) and row.get("reason") in _DEPENDENCIES)
    return Marks(frozenset((name, arch) for name, _, arch in found))


def read_marks(source: Source, *, is_dpkg: bool) -> "Marks | Unread":
    if is_dpkg:
        text = source.text(_APT, _LARGEST, keep=Keep("stanzas", ("package", "architecture", "auto-installed=1")), absent="")
        return then(text, parse_extended_states)
    for path, parse in ((_DNF5, parse_dnf5_reasons), (_ZYPP, parse_auto_installed)):
        text = source.text(path, _LARGEST, keep=WHOLE)
        if isinstance(text, Unread) and text.why == "absent":
            continue
        try:
            return then(text, parse)
        except (ValueError, TomlError) as error:
            return Unread("error", f"{path}: {error}")
    return _unmarked(source, _DNF4)


def _unmarked(source: Source, histories: Iterable[str]) -> "Marks | Unread":
    """Not supported with dnf 4, which keeps reasons in a SQLite history that is not read here; without a history there are no marks."""
    for path in histories:
        there = source.exists(path)
        if isinstance(there, Unread):
            return there
        if there:
            return Unread("not-supported", f"{path}: why dnf installed a package is not read")
    return Marks(frozenset())
