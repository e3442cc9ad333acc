"""A signed repository of stubs with the names, versions and dependencies of NVIDIA's repositories and the distributions' archives.

What is made, and what is real: dkms is Debian's own package, the toolkit's programs, units and scripts are its own; packages of the
driver and of kernels carry made modules, libraries and programs, in the places where the real ones are.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.real.conftest import CACHE
from tests.real.stubcuda import toolkits
from tests.real.stubdebs import Deb, Keys, entry, publish, write
from tests.real.stubdocker import docker
from tests.real.stubdriver import archive, cuda
from tests.real.stubkernels import RUNNING, kernels, tools
from tests.real.stubtoolkit import toolkit

DISTRIBUTIONS = ("debian", "ubuntu")
ORIGINS = {"cuda": "NVIDIA", "toolkit": "https://nvidia.github.io/libnvidia-container", "archive": "made archive"}


class Repository:
    """``pool``: all packages; ``paragraphs``: by repository of a distribution (``cuda``, ``toolkit``, ``archive``) what apt reads of them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.keys = Keys(place / "keys")
        self.pools = {name: place / name / "pool" for name in DISTRIBUTIONS}
        self.paragraphs = json.loads((place / "paragraphs.json").read_text(encoding="utf-8"))


def repository(base: Path) -> Repository:
    """Built once for the sources of these modules; `base`: what install_roots.sh left."""
    here = Path(__file__).parent
    sources = sorted(here.glob("stub*.py"))
    key = hashlib.sha256(b"".join(one.read_bytes() for one in sources) + f"{base.name}{RUNNING}".encode()).hexdigest()[:16]
    place = Path(CACHE, f"stubrepo-{key}")
    Path(CACHE).mkdir(parents=True, exist_ok=True)
    with open(Path(CACHE, "stubrepo.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            part = Path(f"{place}-part")
            shutil.rmtree(part, ignore_errors=True)
            _build(part, base)
            os.rename(part, place)
    return Repository(place)


def _build(place: Path, base: Path) -> None:
    paragraphs: dict[str, dict[str, list[str]]] = {}
    for distribution in DISTRIBUTIONS:
        pool = place / distribution / "pool"
        pool.mkdir(parents=True)
        found = paragraphs[distribution] = {
            "cuda": [write(one, pool) for one in (*cuda(distribution), *toolkits())],
            "toolkit": [write(one, pool) for one in toolkit()] if distribution == "debian" else [],
            "archive": [write(one, pool) for one in _archive(distribution, base)],
        }
        for path in (base / "debs").glob("*.deb"):
            shutil.copy(path, pool)
            control = subprocess.run(["dpkg-deb", "-f", path], capture_output=True, text=True, check=True).stdout
            found["archive"].append(entry(control, path.name, path.read_bytes()))
    for path in (place / "debian/pool").glob("*nvidia-container*"):
        os.link(path, place / "ubuntu/pool" / path.name)
    paragraphs["ubuntu"]["toolkit"] = paragraphs["debian"]["toolkit"]
    (place / "paragraphs.json").write_text(json.dumps(paragraphs), encoding="utf-8")
    keys = Keys(place / "keys")
    for name in ("good", "wrong", "archive"):
        keys.path(name)
    for distribution, repositories in paragraphs.items():
        for name, found in repositories.items():
            key = "archive" if name == "archive" else "good"
            publish(place / distribution / name, found, place / distribution / "pool", keys, origin=ORIGINS[name], key=key)


def _archive(distribution: str, base: Path) -> Iterator[Deb]:
    yield from kernels(distribution)
    yield from tools(distribution)
    yield from archive(distribution)
    if distribution == "debian":
        yield from docker(base / "base")
