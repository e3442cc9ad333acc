"""The sources that a release is made of: the files that git knows, its commit and the time of that commit."""

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from hostagent import __version__
from release.wheels import ROOT

#: Where hostagent finds the commit that it was built from, as `hatch_build` writes it.
_COMMIT = Path("hostagent/_commit.txt")


class Commit(NamedTuple):
    """`epoch`: seconds since 1970, for every file that is built. `is_clean`: no tracked file was changed and none is untracked."""

    name: str
    epoch: int
    is_clean: bool

    @property
    def shown(self) -> str:
        """What ``hostagent --version`` shows, in its twelve characters."""
        return self.name if self.is_clean else f"{self.name[:6]}+edits"


def version() -> str:
    return __version__


@functools.cache
def commit() -> Commit:
    """Asked once, so that one answer holds for everything that is built."""
    name, epoch = _git("show", "--no-patch", "--format=%H %ct", "HEAD").split()
    return Commit(name, int(epoch), not _git("status", "--porcelain", "--untracked-files=normal"))


def export(folder: Path) -> None:
    """Copies the sources: of a clean tree the tracked files, else those that git neither knows nor ignores, too."""
    others = () if commit().is_clean else ("--others", "--exclude-standard")
    for name in _git("ls-files", "-z", "--cached", *others).split("\0"):
        source = ROOT / name
        if name and (source.is_file() or source.is_symlink()):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
            if not target.is_symlink():
                target.chmod(0o755 if os.access(source, os.X_OK) and source.stat().st_mode & 0o100 else 0o644)
    (folder / _COMMIT).write_text(f"{commit().shown}\n", encoding="ascii")


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], stdout=subprocess.PIPE, text=True, check=False)  # noqa: S607
    if done.returncode:
        raise SystemExit(f"Error: 'git {words[0]}' failed in {ROOT}, wanted a clone of hostagent: artefacts carry its commit and its time.")
    return done.stdout.strip()
