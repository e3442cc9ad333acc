"""Which tests run: all of them, those of one topic, or of each group in ``groups.toml`` the slice of this commit.

Set by the environment, because each worker of a run collects for itself:

``SAMPLE``
    ``all``: every test of no group, and a slice of each group. The name of a group that runs alone: a slice of its files.
``SAMPLE_BASE``
    A revision, or ``auto``: a group gets three slices if a file below one of its ``paths`` differs from it.
``TOPIC``
    Only tests that have this word in their id, all of them.
"""

import functools
import os
import subprocess
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
FILE = Path(__file__).with_name("groups.toml")
SAMPLE, BASE, TOPIC = (os.environ.get(name, "") for name in ("SAMPLE", "SAMPLE_BASE", "TOPIC"))
#: Slices of a group whose paths differ from the base.
CHANGED_SLICES = 3


class Group(NamedTuple):
    """One table of ``groups.toml``."""

    name: str
    tests: tuple[str, ...]  # beginnings of the ids of its tests
    paths: tuple[str, ...]  # beginnings of the files that its claims are about
    one_in: int  # how many slices it has
    without: tuple[str, ...] = ()  # beginnings of ids that are no part of it
    alone: bool = False  # runs by its name only, may share tests with other groups, and is cut by files

    def __contains__(self, test_id: object) -> bool:
        return str(test_id).startswith(self.tests) and not (self.without and str(test_id).startswith(self.without))


def groups(file: Path = FILE) -> dict[str, Group]:
    """Every group by its name."""
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    rows = {
        name: {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()} for name, table in tables.items()
    }
    return {name: Group(name, **row) for name, row in rows.items()}


GROUPS = groups()
#: Those that run by their name only.
ALONE = frozenset(one.name for one in GROUPS.values() if one.alone)


def group_of(test_id: str) -> "Group | None":
    """The group that a test is sampled in."""
    return next((one for one in GROUPS.values() if not one.alone and test_id in one), None)


def sliced(ids: list[str], group: Group, commit: int, slices: int) -> set[str]:
    """Those of `ids` in the first `slices` slices of a commit: all slices are equally long, and a commit takes any of them."""
    ordered = sorted(ids, key=lambda one: (zlib.crc32(one.encode()), one))
    return {one for place, one in enumerate(ordered) if (place - commit) % group.one_in < slices}


def chosen(ids: list[str], commit: int, changed: "frozenset[str]" = frozenset()) -> set[str]:
    """The ids that run of all. `changed`: names of the groups whose paths differ from the base."""
    members: dict[Group | None, list[str]] = {}
    for one in ids:
        members.setdefault(group_of(one), []).append(one)
    ungrouped = set(members.pop(None, ()))
    return ungrouped.union(
        *(sliced(each, group, commit, CHANGED_SLICES if group.name in changed else 1) for group, each in members.items() if group)
    )


@functools.cache
def files_alone(name: str) -> "tuple[frozenset[str], int]":
    """The files that a run of one group alone collects, and how many the group has."""
    group = GROUPS[name]
    found = [path.relative_to(ROOT).as_posix() for folder in ("tests", "hostagent") for path in (ROOT / folder).rglob("*.py")]
    files = [one for one in found if one in group]
    slices = CHANGED_SLICES if name in changed_groups(base()) else 1
    return frozenset(sliced(files, group, commit_number(), slices)), len(files)


def _git(*arguments: str, root: Path = ROOT) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit_number() -> int:
    """From the hash of the checked-out commit; 0 without history."""
    return int(_git("rev-parse", "HEAD")[:8] or "0", 16)


def base_of_change(root: Path = ROOT) -> str:
    """The parent of the first commit that the clone's origin lacks, else that of the newest commit."""
    first = _git("rev-list", "--reverse", "origin/HEAD..HEAD", root=root).split("\n")[0]
    return f"{first or 'HEAD'}~1"


@functools.cache
def base() -> str:
    """The revision that ``SAMPLE_BASE`` names, "" for none."""
    return base_of_change() if BASE == "auto" else BASE


@functools.cache
def changed_groups(since: str) -> "frozenset[str]":
    """Names of the groups of which a file differs from that revision; none where it is not here."""
    names = _git("diff", "--name-only", since, "--").splitlines() if since else []
    return frozenset(one.name for one in GROUPS.values() if any(name.startswith(one.paths) for name in names))


def pytest_ignore_collect(collection_path: Path) -> "bool | None":
    if SAMPLE in ALONE and collection_path.suffix == ".py":
        return collection_path.relative_to(ROOT).as_posix() not in files_alone(SAMPLE)[0] or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SAMPLE and SAMPLE != "all" and SAMPLE not in ALONE:
        raise pytest.UsageError(f"found SAMPLE={SAMPLE}, wanted all or one of {', '.join(sorted(ALONE))}")
    ids = [item.nodeid for item in items]
    full = {item.nodeid for item in items if item.get_closest_marker("full")}
    if SAMPLE in ALONE:
        files, total = files_alone(SAMPLE)
        keep = {one for one in ids if one.partition("::")[0] in files and one in GROUPS[SAMPLE]} - full
        config.stash[LEFT_OUT] = {f"the files of {SAMPLE}": (total - len(files), total)}
    elif SAMPLE:
        keep = chosen(ids, commit_number(), changed_groups(base())) - full
        config.stash[LEFT_OUT] = left_out([one for one in ids if one in full or group_of(one)], keep)
    else:
        keep = {one for one in ids if TOPIC in one}
    kept = [item for item in items if item.nodeid in keep]
    items[:] = slow_first(kept, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))) if SAMPLE == "all" else kept


def slow_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """In the order in which `workers` take equal shares, with the groups' files at the beginnings of the shares: a test that waits a minute
    must not be the last one.
    """
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        if group_of(item.nodeid):
            files.setdefault(item.nodeid.split("::")[0], []).append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for number, each in enumerate(files.values()):
        shares[number % workers] += each
    others = [item for item in items if not group_of(item.nodeid)]
    size = -(-len(items) // workers)
    for share in shares:
        missing = max(size - len(share), 0)
        share.extend(others[:missing])
        others = others[missing:]
    return [*(item for share in shares for item in share), *others]


LEFT_OUT = pytest.StashKey[dict[str, tuple[int, int]]]()


def left_out(ids: list[str], keep: set[str]) -> dict[str, tuple[int, int]]:
    """By group: how many tests did not run, of how many."""
    counted: dict[str, tuple[int, int]] = {}
    for one in ids:
        name = group.name if (group := group_of(one)) else "those marked full"
        missing, total = counted.get(name, (0, 0))
        counted[name] = (missing + (one not in keep), total + 1)
    return {name: (missing, total) for name, (missing, total) in counted.items() if missing}
