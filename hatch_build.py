"""Build hook: writes the commit into wheel and sdist, for ``hostagent --version``."""

import os
import subprocess
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds ``hostagent/_commit.txt`` where the sources are a git checkout. An sdist carries it to the wheel that is built from it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        commit = "" if version == "editable" else _commit(self.root)
        if commit:
            self._folder = tempfile.TemporaryDirectory()
            path = os.path.join(self._folder.name, "_commit.txt")
            with open(path, "w", encoding="ascii") as stream:
                stream.write(f"{commit}\n")
            build_data["force_include"][path] = "hostagent/_commit.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def _commit(root: str) -> str:
    """The commit of the checkout at `root`, by git or without it by git's own files; "" where that is no checkout."""
    git = os.path.join(root, ".git")
    if not os.path.exists(git):
        return ""
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607
        if asked.returncode == 0:
            return asked.stdout.strip()
    except OSError:
        pass  # no git on a machine that only installs
    head = _line(os.path.join(git, "HEAD"))
    return _line(os.path.join(git, head[5:])) if head.startswith("ref: ") else head


def _line(path: str) -> str:
    try:
        with open(path, encoding="ascii") as stream:
            return stream.readline().strip()
    except (OSError, UnicodeDecodeError):
        return ""
