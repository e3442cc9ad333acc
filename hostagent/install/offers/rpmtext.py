"""What dnf, tdnf and zypper print. Tried with dnf 4.14 and zypper 1.14; tdnf's tables as its source has them (tools/cli/lib, 3.x)."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hostagent.install.offers.apttext import Change
from hostagent.install.offers.words import repository_url

_HEADING = re.compile(r"(Installing|Upgrading|Downgrading|Reinstalling|Removing|Obsoleting)\b[^:]*:$")
_ROW = re.compile(r" *(\S+) +(x86_64|aarch64|noarch|i[3-6]86|armv7hl|ppc64le|s390x) +(\d\S*) +(\S+)")
_REPLACED = re.compile(r" +replacing +(\S+?)(?:\.(?:x86_64|aarch64|noarch|i[3-6]86))? +(?:(?:x86_64|aarch64|noarch|i[3-6]86) +)?(\d\S*)")
_ID, _URL = re.compile(r"Repo[- ](?:id|ID) *: *(\S+)"), re.compile(r"(?:Repo-baseurl|Base URL) *: *(\S+?),?(?: |$)")
_TAIL = re.compile(r"\.(?:x86_64|aarch64|noarch|i[3-6]86)$")


class Offered(NamedTuple):
    """One version of one package; ``repository`` is an id, "" the package database."""

    name: str
    version: str
    arch: str
    repository: str
    size_bytes: int = 0
    installed_bytes: int = 0


def parse_repoquery(text: str) -> tuple[Offered, ...]:
    r"""Lines of `FORMAT`; dnf 4 ends each by itself too.

    >>> parse_repoquery("nvidia-open\t3:580.95.05-1.el9\tx86_64\tcuda\t5689\t100\n\n")[0].version
    '3:580.95.05-1.el9'
    """
    rows = (line.split("\t") for line in text.splitlines())
    return tuple(
        Offered(name, version.removeprefix("0:"), arch, repository, _number(size), _number(installed))
        for name, version, arch, repository, size, installed in (row for row in rows if len(row) == 6)
    )


def parse_tdnf_list(text: str) -> tuple[Offered, ...]:
    """``tdnf list NAME…``.

    >>> parse_tdnf_list("nvidia-open.x86_64      3:580.95.05-1.azl3      azurelinux-nvidia")[0].repository
    'azurelinux-nvidia'
    """
    found = []
    for row in (line.split() for line in text.splitlines()):
        if len(row) == 3 and _TAIL.search(row[0]) and row[1][:1].isdigit():
            name, _, arch = row[0].rpartition(".")
            found.append(Offered(name, row[1], arch, "" if row[2].startswith("@") else row[2]))
    return tuple(found)


def parse_table(text: str, installed: Mapping[str, str]) -> tuple[Change, ...]:
    r"""What a transaction of dnf or tdnf would do. `installed`: versions by name.

    >>> parse_table("Upgrading:\n a  x86_64  2-1  cuda  5 k\nRemoving:\n b noarch 1-1 @cuda 0\n", {"a": "1-1", "b": "1-1"})
    (Change(name='a', arch='x86_64', before='1-1', after='2-1'), Change(name='b', arch='noarch', before='1-1', after=''))
    """
    return tuple(_changes(text, installed))


def _changes(text: str, installed: Mapping[str, str]) -> Iterator[Change]:
    section, named = "", set()
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            section = heading[1]
        elif line.startswith(("Transaction Summary", "Total ")):
            section = ""
        elif section and (found := _REPLACED.match(line)):
            if found[1] not in named:
                yield Change(found[1], "", found[2], "")
        elif section and (found := _ROW.match(line)):
            name, arch, version = found[1], found[2], found[3].removeprefix("0:")
            named.add(name)
            is_gone = section in {"Removing", "Obsoleting"}
            yield Change(name, arch, version if is_gone else installed.get(name, ""), "" if is_gone else version)


def parse_repositories(text: str) -> dict[str, str]:
    r"""``dnf -v repolist``: addresses by id.

    >>> parse_repositories("Repo-id      : cuda\nRepo-name : x\nRepo-baseurl : http://m/a, http://m/b (2 more)\n")
    {'cuda': 'http://m/a/'}
    """
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if match := _ID.match(line):
            name = match[1]
        elif name and (match := _URL.match(line)):
            found.setdefault(name, repository_url(match[1]))
    return found


def parse_versions(text: str) -> dict[str, Offered]:
    r"""``rpm -qa`` with `INSTALLED`: the newest of each name, as a database lists it last.

    >>> parse_versions("a\t(none):1-1\tx86_64\t700\n")["a"].version
    '1-1'
    """
    rows = (line.split("\t") for line in text.splitlines())
    return {row[0]: Offered(row[0], _plain(row[1]), row[2], "", 0, _number(row[3])) for row in rows if len(row) == 4}


def _plain(version: str) -> str:
    return version.removeprefix("(none):").removeprefix("0:")


def parse_zypper_search(text: str) -> tuple[Offered, ...]:
    """``zypper --xmlout search -s``. Raises ``ValueError``.

    >>> parse_zypper_search('<s><solvable kind="package" name="a" edition="1-1" arch="noarch" repository="cuda"/></s>')[0].repository
    'cuda'
    """
    found = (one.attrib for one in _tree(text).iter("solvable"))
    return tuple(
        Offered(one.get("name", ""), one.get("edition", ""), one.get("arch", ""), one.get("repository", ""))
        for one in found
        if one.get("kind") == "package"
    )


def parse_zypper_repositories(text: str) -> dict[str, str]:
    """``zypper --xmlout repos -u``: addresses by name, which search shows. Raises ``ValueError``."""
    return {one.get("name", ""): repository_url(one.findtext("url", "").strip()) for one in _tree(text).iter("repo")}


def parse_zypper_summary(text: str) -> "tuple[tuple[Change, ...], int, int] | None":
    """``zypper --xmlout install --dry-run``: changes, bytes to fetch, bytes more on the disk; None where it would do nothing.

    Raises ``ValueError``.
    """
    summary = _tree(text).find(".//install-summary")
    if summary is None:
        return None
    changes = []
    for kind in summary:
        for one in kind.iter("solvable"):
            if one.get("type") == "package":
                name, arch, edition = one.get("name", ""), one.get("arch", ""), one.get("edition", "")
                is_gone = kind.tag == "to-remove"
                changes.append(Change(name, arch, edition if is_gone else one.get("edition-old", ""), "" if is_gone else edition))
    return tuple(changes), _number(summary.get("download-size", "")), _number(summary.get("space-usage-diff", ""))


def zypper_errors(text: str) -> str:
    """Its own words. Raises ``ValueError``."""
    return "\n".join(one.text or "" for one in _tree(text).iter("message") if one.get("type") in {"error", "warning"})


def _tree(text: str) -> ET.Element:
    """Without a document type, entities cannot grow. Raises ``ValueError``."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("found a document type")
    try:
        return ET.fromstring(text.strip())  # noqa: S314
    except ET.ParseError as error:
        raise ValueError(f"found no XML: {error}") from error


def _number(text: str) -> int:
    return int(text) if text.removeprefix("-").isdecimal() else 0
