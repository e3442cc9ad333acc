"""hostagent as an ordinary user runs it: with an interpreter and a package that everybody may read."""

import os
import site
import subprocess
import sys
from pathlib import Path

from tests.attack.spaces import NOBODY, mount

_MS_BIND, _MS_REC = 4096, 16384
REPOSITORY = Path(__file__).parent.parent.parent


class Program:
    """Below `place`, by binds in a mount namespace of the caller's own."""

    def __init__(self, place: Path) -> None:
        place.chmod(0o755)
        found = {"python": sys.base_prefix, "packages": site.getsitepackages()[0], "project": str(REPOSITORY)}
        for name, directory in found.items():
            (place / name).mkdir()
            mount(directory, str(place / name), "", _MS_BIND | _MS_REC)
        self._python = str(place / "python/bin/python3")
        paths = [place / "project", place / "project/checks", place / "packages"]
        self._environment = {"PYTHONPATH": ":".join(map(str, paths)), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *arguments: str, uid: int = NOBODY) -> "subprocess.CompletedProcess[str]":
        """``hostagent ARGUMENTS`` by that user, without any group."""
        return subprocess.run(
            [self._python, "-c", "from hostagent.__main__ import main; main()", *arguments],
            env=self._environment,
            cwd="/",
            user=uid,
            group=uid,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
