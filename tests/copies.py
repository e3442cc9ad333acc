"""Copies of hostagent, installed in each of the ways that it knows, of these very sources and without a network.

A single file and a package start by ``release/hostagent_start.py`` from a directory in which all modules are; here it is not packed.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.conftest import CACHE
from tests.test_wheel import built

ROOT = Path(__file__).parent.parent
WAYS = ("pyz", "package", "pipx", "venv", "checkout")
#: Those whose modules are nowhere but in their own directory.
STAGED = ("pyz", "package")
_START = """\
#!{python} -I
import sys
sys.path.insert(0, {site!r})
import hostagent_start
hostagent_start.start({way!r}, __file__)
"""


@contextmanager
def place() -> Iterator[Path]:
    """A directory that root alone writes, outside of /tmp, which a unit does not see."""
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="copies-", dir=CACHE) as made:
        yield Path(made)


def install(way: str, where: Path, wheel: Path) -> Path:
    """The program of a new copy in `where`."""
    if way == "checkout":
        return Path(sys.prefix, "bin/hostagent")
    return _staged(way, where, wheel) if way in STAGED else _environment(way, where, wheel)


def single_file(where: Path) -> Path:
    """As it is released, for this machine. Its wheels are fetched once."""
    from release import pyz, sources, stage

    with tempfile.TemporaryDirectory(dir=where) as folder:
        stage.stage(os.uname().machine, Path(folder))
        return pyz.build(Path(folder), os.uname().machine, where, sources.version(), sources.commit().epoch)


def wheel_in(folder: Path) -> Path:
    return built(ROOT, "wheel", folder)


def _staged(way: str, where: Path, wheel: Path) -> Path:
    site = where / "build/site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    shutil.copy(ROOT / "release/hostagent_start.py", site)
    own = site / f"_python/{sys.version_info.major}.{sys.version_info.minor}"
    own.mkdir(parents=True)
    for one in _packages():
        if one.suffix != ".pth" and not one.name.startswith(("hostagent", "_hostagent", "__pycache__")):
            (own / one.name).symlink_to(one)
    program = where / "hostagent.pyz"
    program.write_text(_START.format(python=Path(sys.base_prefix, "bin/python3").resolve(), site=str(site), way=way))
    program.chmod(0o755)
    return program


def _environment(way: str, where: Path, wheel: Path) -> Path:
    """What hostagent depends on is that of the environment that runs the tests."""
    made = where / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True, timeout=120)
    pip = [sys.executable, "-m", "pip", "--python", made / "bin/python", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True, timeout=120)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(made), "platbase": str(made)}))
    (site / "others.pth").write_text(f"{Path(sysconfig.get_path('purelib'))}\n")
    if way == "pipx":
        (made / "pipx_metadata.json").write_text("{}")
    return made / "bin/hostagent"


def _packages() -> "list[Path]":
    return sorted(Path(sysconfig.get_path("purelib")).iterdir())
