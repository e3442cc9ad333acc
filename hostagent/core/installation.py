"""How this copy of hostagent was installed, and the program that starts it."""

# pip's metadata of a copy: PEP 610. `daemon --print-unit` refuses a copy that others than root may change, and one below /tmp.

import os
import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import hostagent

if TYPE_CHECKING:
    from importlib.metadata import Distribution

#: ``pyz``: a single file. ``package``: a .deb or .rpm. ``unknown``: by another way, such as pip outside of a virtual environment.
Way = Literal["pyz", "package", "pipx", "venv", "checkout", "unknown"]


class Installation(NamedTuple):
    """`program`: the absolute path that starts this copy; "" where it has none."""

    way: Way
    program: str


class Origin(NamedTuple):
    """What pip wrote down of an installation, by PEP 610. `place`: the path of a ``file:`` URL. `scripts`: those that start it."""

    url: str
    place: str
    revision: str  # ``git+URL@COMMIT``
    is_editable: bool
    scripts: "tuple[str, ...]"


_started: "list[Installation]" = []


def started_as(way: Way, program: str) -> None:
    """For the start of a single file and of a package, whose modules do not show what they belong to."""
    _started[:] = [Installation(way, os.path.abspath(program))]


def this() -> Installation:
    return _started[0] if _started else Installation(_way(), next(iter(found.scripts), "") if (found := origin()) else "")


def directory() -> str:
    """In which the packages `hostagent` and `hostagent_checks` are, but for a checkout's checks."""
    return os.path.dirname(os.path.dirname(os.path.abspath(hostagent.__file__)))


def paths() -> "list[str]":
    """What a Python that is started anew has to have on its path before all else: what the start of a single file and of a package adds."""
    if not _started:
        return []
    ours = directory()
    return [one for one in sys.path if one == ours or one.startswith(f"{ours}{os.sep}")]


def module_step(module: str) -> str:
    """How a module of others, such as a catalogue of checks, comes to this copy."""
    if this().way in ("pyz", "package"):
        return f"This copy takes no other modules: install hostagent and {module} into one virtual environment"
    return "Install it into the environment of hostagent"


def damaged_step() -> str:
    """What helps where a file of this copy is missing or unreadable."""
    way, program = this()
    if way == "pyz":
        return f"Remove {os.path.dirname(directory())}: {program} unpacks itself again"
    return "Install the package hostagent again" if way == "package" else "Install hostagent again"


def origin() -> "Origin | None":
    """None where no metadata of pip's, which others write too, is about this copy."""
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
