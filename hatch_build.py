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
    """The commit of the checkout at `root`, "" where that is no checkout or git cannot be asked."""
    if not os.path.exists(os.path.join(root, ".git")):
        return ""
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607
    except OSError:
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
