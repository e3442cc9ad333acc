"""How this copy of hostagent was installed, and the program that starts it."""

# pip's metadata of a copy: PEP 610. `daemon --print-unit` refuses a copy that users other than root may change, and one below /tmp.

import os
import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import hostagent

if TYPE_CHECKING:
    from importlib.metadata import Distribution

#: ``pyz``: a single file. ``package``: a .deb or .rpm. ``unknown``: any other, such as pip outside of a virtual environment.
Way = Literal["pyz", "package", "pipx", "venv", "checkout", "unknown"]


class Installation(NamedTuple):
    """`program`: the absolute path that starts this copy; "" where it has none."""

    way: Way
    program: str


class Origin(NamedTuple):
    """pip's record of an installation (PEP 610). `place`: the path of a ``file:`` URL. `scripts`: its start scripts."""

    url: str
    place: str
    revision: str  # ``git+URL@COMMIT``
    is_editable: bool
    scripts: "tuple[str, ...]"


_started: "list[Installation]" = []


def started_as(way: Way, program: str) -> None:
    """Called at the start of a single file or a package: their modules do not show how they were installed."""
    _started[:] = [Installation(way, os.path.abspath(program))]


def this() -> Installation:
    return _started[0] if _started else Installation(_way(), next(iter(found.scripts), "") if (found := origin()) else "")


def directory() -> str:
    """The directory of the packages `hostagent` and, except in a checkout, `hostagent_checks`."""
    return os.path.dirname(os.path.dirname(os.path.abspath(hostagent.__file__)))


def paths() -> "list[str]":
    """Entries that must come first on sys.path of a new Python process: those that the start of a single file or a package adds."""
    if not _started:
        return []
    ours = directory()
    return [one for one in sys.path if one == ours or one.startswith(f"{ours}{os.sep}")]


def module_step(module: str) -> str:
    """How to install a third-party module, such as a catalogue of checks, for this copy."""
    if this().way in ("pyz", "package"):
        return f"This copy takes no other modules: install hostagent and {module} into one virtual environment"
    return "Install it into the environment of hostagent"


def damaged_step() -> str:
    """The remedy for a missing or unreadable file of this copy."""
    way, program = this()
    if way == "pyz":
        return f"Remove {os.path.dirname(directory())}: {program} unpacks itself again"
    return "Install the package hostagent again" if way == "package" else "Install hostagent again"


def origin() -> "Origin | None":
    """None without metadata of pip about this copy: that of another copy does not count."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        found = distribution("hostagent")
        recorded: dict[str, Any] = json.loads(found.read_text("direct_url.json") or "{}")
        url, about, vcs = str(recorded.get("url", "")), recorded.get("dir_info") or {}, recorded.get("vcs_info") or {}
        place = unquote(urlsplit(url).path) if url.startswith("file://") else ""
        one = Origin(
            url, place, f"{vcs.get('vcs')}+{url}@{vcs.get('commit_id')}" if vcs else "", bool(about.get("editable")), _scripts(found)
        )
        ours = place if one.is_editable else str(found.locate_file(""))
        return one if os.path.samefile(os.path.join(directory(), "hostagent"), os.path.join(ours, "hostagent")) else None
    except (PackageNotFoundError, OSError, ValueError, AttributeError):
        return None


def _scripts(found: "Distribution") -> "tuple[str, ...]":
    named = (str(found.locate_file(one)) for one in found.files or () if one.parts[-2:] == ("bin", "hostagent"))
    return tuple(os.path.abspath(one) for one in named if os.path.isfile(one))


def _way() -> Way:
    place, prefix = directory(), os.path.realpath(sys.prefix)
    if os.path.isfile(f"{place}/pyproject.toml") and os.path.isdir(f"{place}/checks/hostagent_checks"):
        return "checkout"
    if sys.prefix == sys.base_prefix or not os.path.realpath(place).startswith(f"{prefix}{os.sep}"):
        return "unknown"
    return "pipx" if os.path.isfile(f"{prefix}/pipx_metadata.json") else "venv"
