"""docs/licences.md, which ``python -m tests.licences`` writes of what is pinned for root: ``make lock`` calls it, tests/test_pins.py holds it."""

import importlib.metadata
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from email.message import Message
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/licences.md"
RUN, INSTALL, TESTS = (ROOT / f"requirements{end}.txt" for end in ("-run", "-install", ""))
_PIN = re.compile(r"^([a-z0-9-]+)==([^ ;]+)(?: ; (.*?))? \\$", re.MULTILINE)
#: What packages without an expression of SPDX call theirs, among the classifiers of PyPI.
_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_HEAD = """# Licences of what hostagent is installed with

Made by `make lock` from what the packages say of themselves; edit `tests/licences.py`, not this page.

hostagent is Apache-2.0. These packages are installed with it, each from its own authors: those of `run` by the lines of
[README](../README.md#install), those of `install` for `hostagent install`, which starts Ansible as a program of its own. Of several versions each
Python takes one.

| package | version | licence | for |
|---|---|---|---|
"""


def pins(path: Path) -> dict[str, dict[str, str]]:
    """Of each package its versions, and for which Pythons each is."""
    found: dict[str, dict[str, str]] = {}
    for name, version, marker in _PIN.findall(path.read_text(encoding="utf-8")):
        found.setdefault(name, {})[version] = marker
    return found


def page(elsewhere: Callable[[str, str], str]) -> str:
    """As it should be. `elsewhere` says the licence of a package that this Python does not take, by name and version."""
    run, rows = pins(RUN), []
    for name, versions in pins(INSTALL).items():
        said = _installed(name, versions) or elsewhere(name, [*versions][-1])
        rows.append(f"| {name} | {', '.join(versions)} | {said} | {'run' if name in run else 'install'} |\n")
    return _HEAD + "".join(rows)


def shown(name: str, version: str) -> str:
    """What the page says now."""
    found = re.search(rf"^\| {re.escape(name)} \| .*?{re.escape(version)} \| (.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def _installed(name: str, versions: dict[str, str]) -> str:
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
    return _licence(Parser().parsestr(found.read_text("METADATA") or "")) if found.version in versions else ""


def _fetched(name: str, version: str) -> str:
    with tempfile.TemporaryDirectory() as place:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", place]
        subprocess.run([*pip, f"{name}=={version}"], check=True)
        (wheel,) = Path(place).iterdir()
        with zipfile.ZipFile(wheel) as packed:
            (metadata,) = (one for one in packed.namelist() if one.endswith(".dist-info/METADATA"))
            return _licence(Parser().parsestr(packed.read(metadata).decode()))


def _licence(said: Message) -> str:
    """An expression of SPDX, where the package has one."""
    free = str(said.get("License", ""))
    if "License-Expression" in said or re.fullmatch(r"(?!UNKNOWN)[A-Za-z0-9.-]+", free):
        return str(said.get("License-Expression") or free)
    classes = [str(one).rpartition(" :: ")[2] for one in said.get_all("Classifier", []) if str(one).startswith("License ::")]
    return " OR ".join(_CLASSIFIERS[one] for one in classes)


if __name__ == "__main__":
    PAGE.write_text(page(_fetched), encoding="utf-8")
