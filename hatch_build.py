"""Build hook: writes the commit into the wheel, for ``hostagent --version``."""

import os
import subprocess
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds ``hostagent/_commit.txt`` where the sources are a git checkout."""

    def initialize(self, version: str, build_data: dict) -> None:
        if version == "editable" or not os.path.exists(os.path.join(self.root, ".git")):
            return
        asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.root, capture_output=True, text=True, check=False)  # noqa: S607
        if asked.returncode == 0:
            path = os.path.join(tempfile.mkdtemp(), "_commit.txt")
            with open(path, "w", encoding="ascii") as stream:
                stream.write(asked.stdout)
            build_data["force_include"][path] = "hostagent/_commit.txt"
