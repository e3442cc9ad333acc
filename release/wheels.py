"""The wheels that are pinned in requirements-install.txt, for each Python and machine: by hash, whatever Python and machine build them.

pip evaluates markers for the Python that runs it, so they are evaluated here, and pip gets a list without any. What was fetched is kept
below ``$HOSTAGENT_DIST_CACHE`` (~/.cache/hostagent-dist) by its hash: a second build asks no index.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.sums import sha256

ROOT = Path(__file__).resolve().parent.parent
PINNED = ROOT / "requirements-install.txt"
Arch = Literal["x86_64", "aarch64"]
ARCHES: tuple[Arch, ...] = get_args(Arch)
#: Minor versions of Python 3.
PYTHONS = (10, 11, 12, 13, 14)
#: Pinned to build hostagent from its sources; nothing that runs needs them.
BUILD_TOOLS = frozenset({"editables", "hatchling", "pathspec", "pluggy", "trove-classifiers"})
#: The oldest glibc whose wheels are taken, and the newest: 2.28 is that of RHEL 8, the oldest host with a driver of today.
_GLIBC = range(28, 4, -1)
_OLD_NAMES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


class Target(NamedTuple):
    """`minor`: of Python 3."""

    minor: int
    arch: Arch

    @property
    def python(self) -> str:
        return f"3.{self.minor}"

    def environment(self) -> dict[str, str]:
        """What markers are evaluated by."""
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": "posix",
            "platform_machine": self.arch,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "linux",
        }

    def platforms(self) -> list[str]:
        """As pip and the names of wheels have them, the newest first.

        >>> Target(12, "aarch64").platforms()[:2]
        ['manylinux_2_28_aarch64', 'manylinux_2_27_aarch64']
        """
        known = []
        for minor in _GLIBC:
            known.append(f"manylinux_2_{minor}_{self.arch}")
            if minor in _OLD_NAMES and (self.arch == "x86_64" or minor == 17):
                known.append(f"{_OLD_NAMES[minor]}_{self.arch}")
        return known


class Pin(NamedTuple):
    """One line of the pinned requirements: `hashes` in hex."""

    requirement: Requirement
    hashes: frozenset[str]

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        return next(iter(self.requirement.specifier)).version

    def applies_to(self, target: Target) -> bool:
        return self.requirement.marker is None or self.requirement.marker.evaluate(target.environment())


class Wheel(NamedTuple):
    """A file in the cache, and the pin that it satisfies."""

    pin: Pin
    path: Path
    sha256: str


def parse_pins(text: str) -> list[Pin]:
    r"""One pin per requirement.

    >>> (pin,) = parse_pins("tomli==2.5.0 ; python_full_version < '3.11' \\\n    --hash=sha256:0a \\\n    --hash=sha256:0b\n")
    >>> pin.name, pin.version, sorted(pin.hashes), pin.applies_to(Target(10, "x86_64")), pin.applies_to(Target(11, "x86_64"))
    ('tomli', '2.5.0', ['0a', '0b'], True, False)
    """
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith(("#", "-")):
            continue
        words = re.split(r"\s--hash=sha256:", line)
        found.append(Pin(Requirement(words[0].strip()), frozenset(word.strip() for word in words[1:])))
    return found


def pins_for(target: Target, pins: Iterable[Pin], left_out: Iterable[str] = BUILD_TOOLS) -> list[Pin]:
    """What `target` has installed: one pin per project."""
    chosen = [one for one in pins if one.name not in left_out and one.applies_to(target)]
    names = [one.name for one in chosen]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise SystemExit(f"Error: found two pins of {', '.join(sorted(doubled))} for Python {target.python}, wanted one. Run 'make lock'.")
    return chosen


def cache() -> Path:
    """Where fetched wheels are kept."""
    return Path(os.environ.get("HOSTAGENT_DIST_CACHE") or Path.home() / ".cache/hostagent-dist")


def wheels(target: Target, left_out: Iterable[str] = BUILD_TOOLS) -> list[Wheel]:
    """The pinned wheels for one Python on one machine, sorted by project."""
    pins = pins_for(target, parse_pins(PINNED.read_text(encoding="utf-8")), left_out)
    listed = cache() / "lists" / f"{_key(target, pins)}.json"
    kept = _kept(listed, pins)
    return kept if kept is not None else _fetched(target, pins, listed)


def all_wheels(targets: Sequence[Target], left_out: Iterable[str] = BUILD_TOOLS) -> dict[Target, list[Wheel]]:
    """Those of several targets, fetched two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(targets, pool.map(lambda one: wheels(one, left_out), targets), strict=True))


def _key(target: Target, pins: Iterable[Pin]) -> str:
    """Of what is asked for: another pin, or another choice of platforms, is another question."""
    asked = [target.python, *target.platforms(), *(f"{one.name}=={one.version} {sorted(one.hashes)}" for one in pins)]
    return hashlib.sha256("\n".join(asked).encode()).hexdigest()


def _kept(listed: Path, pins: Iterable[Pin]) -> "list[Wheel] | None":
    """From the cache, each file checked against its pin; None where one is missing or damaged."""
    try:
        names: dict[str, list[str]] = json.loads(listed.read_text(encoding="utf-8"))
        found = [Wheel(pin, cache() / names[pin.name][1] / names[pin.name][0], names[pin.name][1]) for pin in pins]
        if all(one.sha256 in one.pin.hashes and sha256(one.path) == one.sha256 for one in found):
            return sorted(found, key=lambda one: one.pin.name)
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        pass
    return None


def _fetched(target: Target, pins: Sequence[Pin], listed: Path) -> list[Wheel]:
    """By pip, which checks the hashes; then into the cache."""
    by_name = {one.name: one for one in pins}
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        wanted = Path(folder, "wanted.txt")
        wanted.write_text("".join(f"{_line(one)}\n" for one in pins), encoding="utf-8")
        argv = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
        argv += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", target.python, "--dest", folder]
        argv += ["--abi", f"cp3{target.minor}", "--abi", "abi3", "--abi", "none"]
        argv += [word for one in target.platforms() for word in ("--platform", one)]
        if subprocess.run([*argv, "-r", str(wanted)], check=False).returncode:
            raise SystemExit(f"Error: pip did not get the wheels for Python {target.python} on {target.arch}. See what it says above.")
        found = [_keep(path, by_name) for path in sorted(Path(folder).glob("*.whl"))]
    if missing := by_name.keys() - {one.pin.name for one in found}:
        raise SystemExit(f"Error: pip brought no wheel of {', '.join(sorted(missing))} for Python {target.python} on {target.arch}.")
    listed.parent.mkdir(exist_ok=True)
    _replace(listed, json.dumps({one.pin.name: [one.path.name, one.sha256] for one in found}, indent=1, sort_keys=True))
    return sorted(found, key=lambda one: one.pin.name)


def _line(pin: Pin) -> str:
    """Without its marker, which has been evaluated."""
    return " ".join([f"{pin.name}=={pin.version}", *(f"--hash=sha256:{one}" for one in sorted(pin.hashes))])


def _keep(path: Path, pins: "dict[str, Pin]") -> Wheel:
    pin = pins[canonicalize_name(path.name.split("-")[0])]
    digest = sha256(path)
    if digest not in pin.hashes:
        raise SystemExit(f"Error: {path.name} has the hash {digest}, which is not pinned.")
    kept = cache() / digest / path.name
    kept.parent.mkdir(exist_ok=True)
    shutil.move(path, kept)
    return Wheel(pin, kept, digest)


def _replace(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as stream:
        stream.write(text)
    os.replace(stream.name, path)
