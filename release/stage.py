"""The site directory of single files and packages: hostagent and everything that it needs, for each Python from 3.10 on.

Extension modules of several Pythons lie side by side, because their names differ. A project that has other files for another Python lies
in ``_python/3.12+`` (from 3.12 on) or ``_python/3.10`` (that one), which ``hostagent_start`` adds.
"""

import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from release import sources
from release.wheels import BUILD_TOOLS, PYTHONS, Arch, Target, Wheel, all_wheels

#: Beyond what only builds: encrypts Ansible's vaults, which no step of a plan has; its two builds are larger than everything else.
NOT_STAGED = BUILD_TOOLS | {"cffi", "cryptography", "pycparser"}
#: Parts of wheels that nothing here runs: tools and tests of the projects themselves, and NVML's example.
_LEFT_OUT = ("ansible_test/", "example.py", "psutil/tests/")
_START = Path(__file__).with_name("hostagent_start.py")
#: What pip writes down of an installation: there is none.
_RECORDS = ("RECORD", "WHEEL", "INSTALLER", "entry_points.txt", "top_level.txt", "zip-safe")

Files = dict[str, bytes]


def stage(arch: Arch, folder: Path) -> None:
    """Fills `folder`, which may be there if it is empty. The same commit and machine give the same files."""
    for name, content in staged(arch).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o644)


def staged(arch: Arch) -> Files:
    """The same, by path."""
    chosen = all_wheels([Target(minor, arch) for minor in PYTHONS], NOT_STAGED)
    found = {**merged(_by_project(chosen)), **_files(wheel_of_hostagent())}
    return {**found, _START.name: _START.read_bytes()}


def wheel_of_hostagent() -> bytes:
    """The wheel of these sources, by hatchling."""
    with tempfile.TemporaryDirectory() as folder:
        sources.export(Path(folder, "sources"))
        build("wheel", Path(folder, "sources"), Path(folder))
        (made,) = Path(folder).glob("*.whl")
        return made.read_bytes()


def build(target: str, exported: Path, folder: Path) -> None:
    """Builds ``wheel`` or ``sdist`` from exported sources into `folder`."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(sources.commit().epoch)}
    argv = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder.resolve())]
    done = subprocess.run(argv, cwd=exported, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout}Error: hatchling did not build the {target}. See what it says above.")


def merged(projects: "Mapping[str, Mapping[int, Files]]") -> Files:
    """`projects`: of each project the files for each minor version of Python.

    >>> one = {"a.py": b"1"}
    >>> sorted(merged({"a": {10: one, 11: {**one, "a.cpython-311.so": b"2"}}}))
    ['a.cpython-311.so', 'a.py']
    >>> sorted(merged({"a": {10: one, 11: {"a.py": b"2"}, 12: {"a.py": b"2"}, 13: {"a.py": b"2"}, 14: {"a.py": b"2"}}}))
    ['_python/3.10/a.py', '_python/3.11+/a.py']
    """
    found: Files = {}
    for by_python in projects.values():
        if _agree(by_python.values()):
            for files in by_python.values():
                found.update(files)
        else:
            for place, files in _ranges(by_python):
                found.update({f"_python/{place}/{name}": content for name, content in files.items()})
    return dict(sorted(found.items()))


def _agree(sets: Iterable[Files]) -> bool:
    seen: Files = {}
    return all(seen.setdefault(name, content) == content for files in sets for name, content in files.items())


def _ranges(by_python: "Mapping[int, Files]") -> Iterator[tuple[str, Files]]:
    """One directory per run of Pythons that have equal files; the newest also serves Pythons that are newer still."""
    pythons = sorted(by_python)
    while pythons:
        first, files = pythons[0], by_python[pythons[0]]
        same = [minor for minor in pythons if by_python[minor] == files]
        if same[-1] == PYTHONS[-1] and same == pythons:
            yield f"3.{first}+", files
        else:
            yield from ((f"3.{minor}", files) for minor in same)
        pythons = [minor for minor in pythons if minor not in same]


def _by_project(chosen: "Mapping[Target, list[Wheel]]") -> "dict[str, dict[int, Files]]":
    found: dict[str, dict[int, Files]] = {}
    unpacked: dict[Path, Files] = {}
    for target, wheels in chosen.items():
        for one in wheels:
            if one.path not in unpacked:
                unpacked[one.path] = _files(one.path.read_bytes())
            found.setdefault(one.pin.name, {})[target.minor] = unpacked[one.path]
    return dict(sorted(found.items()))


def _files(wheel: bytes) -> Files:
    """What of a wheel is imported, with its licences and its description, which Ansible and others ask for their version."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        for name in archive.namelist():
            place = _place(name)
            if place:
                found[place] = archive.read(name)
    return found


def _place(name: str) -> str:
    """Where a file of a wheel goes; "" for none.

    >>> _place("a-1.data/purelib/a.py"), _place("a-1.dist-info/METADATA"), _place("a-1.dist-info/RECORD"), _place("a-1.data/scripts/a")
    ('a.py', 'a-1.dist-info/METADATA', '', '')
    """
    first, _, rest = name.partition("/")
    if first.endswith(".data"):
        kind, _, inside = rest.partition("/")
        return inside if kind in ("purelib", "platlib") else ""
    is_record = first.endswith(".dist-info") and rest in _RECORDS
    return "" if name.endswith("/") or is_record or name.startswith(_LEFT_OUT) else name
