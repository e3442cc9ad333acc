"""Retains old packages in a run, so that it can be rolled back without a network."""

import os
import shutil
import stat
from urllib.parse import quote

from hostagent.core.unread import Unread
from hostagent.domains.packages.commands import program_of
from hostagent.install.offers.keeping import fetch
from hostagent.install.offers.session import Host
from hostagent.install.outcome import RefusedError
from hostagent.install.runs import Run
from hostagent.install.target import Target
from hostagent.plan.model import Given, Plan
from hostagent.plan.offers import NOT_ASKED
from hostagent.plan.repositories import laid

_ARCHIVES = "/var/cache/apt/archives"
#: Of a .deb file: its magic, bytes of a member's header with the position of the size, and the number of members.
_MAGIC, _HEAD, _SIZE_AT, _SIZE_LONG, _MEMBERS = b"!<arch>\n", 60, 48, 10, 3


def retain(target: Target, run: Run, plan: Plan, *, required: bool) -> None:
    """Retain the packages that the plan replaces or removes. Raises ``RefusedError`` for one that is not available, where `required`."""
    folder = f"{run.path}/packages"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    wanted = tuple((one.name, one.before) for one in plan.packages if one.before is not None)
    missing, why = tuple(pair for pair in wanted if not file_of(folder, *pair) and not _from_cache(target, folder, *pair)), ""
    if missing:
        why = _fetch(target, plan, missing, folder)
        missing = tuple(pair for pair in missing if not file_of(folder, *pair))
    if missing and required:
        names = ", ".join(f"{name} {version}" for name, version in missing[:5])
        raise RefusedError(
            f"found no package file of {names}, wanted it to be able to go back{f': {why}' if why else ''}",
            "Enable the repository that has it, or give --no-rollback: what is replaced can then not be restored",
        )


def file_of(folder: str, name: str, version: str) -> str:
    """The name of the retained file; "" for none, or an incomplete one. A package manager writes a colon as %3a."""
    start = f"{name.partition(':')[0]}_{quote(version, safe='+~.-').lower() if ':' in version else version}_"
    named = (one for one in sorted(os.listdir(folder)) if one.startswith(start) and one.endswith(".deb"))
    return next((one for one in named if _is_whole(f"{folder}/{one}")), "")


def _is_whole(path: str) -> bool:
    """Whether the ar(1) archive has all members of a package (deb(5)): a copy may have been killed."""
    members, at = 0, len(_MAGIC)
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        found = os.fstat(stream.fileno())
        whole = found.st_size
        if not stat.S_ISREG(found.st_mode) or stream.read(at) != _MAGIC:
            return False
        while at < whole:
            stream.seek(at + _SIZE_AT)
            size = stream.read(_SIZE_LONG).strip()
            if not size.isdigit():
                return False
            members, at = members + 1, at + _HEAD + int(size) + int(size) % 2
    return members >= _MEMBERS and at - whole in (0, 1)  # the last one may have no padding


def _from_cache(target: Target, folder: str, name: str, version: str) -> bool:
    cache = target.directory(_ARCHIVES)
    found = file_of(cache, name, version) if os.path.isdir(cache) else ""
    if found and not os.path.islink(f"{cache}/{found}") and os.path.getsize(f"{cache}/{found}"):
        shutil.copyfile(f"{cache}/{found}", f"{folder}/{found}")
        return True
    return False


def _fetch(target: Target, plan: Plan, packages: tuple[tuple[str, str], ...], folder: str) -> str:
    """Fetch them into `folder`. Returns why that failed, "" where each that a repository has was fetched."""
    seen = plan.view
    host = Host(target.path, seen.kind, program_of(seen.packages, seen.os), plan.profile.install.lock_timeout_s)
    problem = fetch(host, laid(Given(seen, plan.profile, plan.asked, NOT_ASKED), plan.choices), packages, folder)
    return "" if problem is None else problem.detail if isinstance(problem, Unread) else problem.text
