"""A clone in which the commands of docs/demo-cluster.md are typed, and how what they print is compared with a page."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.real.conftest import need_real
from tests.real.daemonrun import eventually

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/demo-cluster.md"
START, EXPORT, FAULT = re.search(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1].splitlines()
END = "make demo-cluster-down"
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_CLASS = re.compile(r"\b1-[0-9a-f]{12}\b")
_POD = re.compile(r"\b((?:train|hostagent)(?:-[0-9a-f]{8,10})?)-([a-z0-9]{5})\b(?!-)")
_AGE = re.compile(r"(?<=   )(\d+m)?\d+s\b")
#: On the page, in the order in which they come.
_ENDS = ("x4kgp", "b7m2q")


class Typed(NamedTuple):
    """A command of the page: its step, and what the page says that it prints."""

    step: str
    command: str
    prints: str


def typed(page):
    """Each command of the page's console."""
    found, step = [], ""
    for line in _CONSOLE.search(page)[1].splitlines(keepends=True):
        if line.startswith("# "):
            step = line[2]
        elif line.startswith("$ "):
            found.append(Typed(step, line[2:-1], ""))
        else:
            found[-1] = found[-1]._replace(prints=found[-1].prints + line)
    return found


class Clone:
    """A clone in which the page's commands are typed: links to this one, where `make` finds nothing to install."""

    def __init__(self, place):
        self.place, self.folder = place, place / ".demo-cluster"
        for name in ("tests", "daemonset", "pyproject.toml", "requirements.txt", "requirements-run.txt"):
            (place / name).symlink_to(ROOT / name)
        (place / "Makefile").symlink_to(ROOT / "Makefile")
        (place / ".venv").mkdir()
        for path in Path(sys.prefix).iterdir():
            if path.name not in {".tests", ".installed"}:
                (place / ".venv" / path.name).symlink_to(path)
        for name in (".tests", ".installed"):
            (place / ".venv" / name).touch()

    def run(self, command, code=None):
        """In the page's shell: what it prints."""
        shell = EXPORT if self.folder.exists() else ""
        kept = ("PATH", "HOME", "XDG_CACHE_HOME", "KUBEBUILDER_ASSETS")
        environment = {"LC_ALL": "C.UTF-8", **{key: os.environ[key] for key in kept if key in os.environ}}
        argv = ["bash", "-c", f"{shell}\n{command}"]
        said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(argv, cwd=self.place, env=environment, timeout=300, check=False, **said)
        assert code is None or done.returncode == code, done.stdout
        return done.stdout

    @property
    def processes(self):
        """Those of this cluster: each names its folder, or works in it."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = str(self.folder).encode() in (path / "cmdline").read_bytes() or os.readlink(path / "cwd") == str(self.folder)
            except OSError:
                continue
            found += [path.name] * is_ours
        return found


@contextlib.contextmanager
def cloned(folder):
    """Below `folder`. What runs of the cluster ends with it."""
    need_real("kubernetes-1.35/kubectl", "bash tests/real/install_kubernetes.sh")
    need_real("cluster-tools/kwok", "bash tests/real/install_cluster_tools.sh")
    place = folder / "a clone"
    place.mkdir()
    made = Clone(place)
    try:
        yield made
    finally:
        made.run(END, code=0)
        assert not made.folder.exists()
        eventually(lambda: not made.processes)


def alike(text):
    """With what differs each time as on the page."""
    ends = {}
    named = _POD.sub(lambda pod: f"{pod[1]}-{ends.setdefault(pod[2], _ENDS[len(ends) % len(_ENDS)])}", text)
    return _CLASS.sub("1-6294ff8d4479", _TIME.sub("2026-12-01T09:00:00Z", named))


def compared(text):
    """Of an age only that there is one; columns as wide as they are."""
    return [_AGE.sub("AGE", line).split() for line in alike(text).splitlines()]
