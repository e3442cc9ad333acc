"""Old packages that a run keeps, so that it can be undone without a network."""

import os
import shutil
from urllib.parse import quote

from hostagent.errors import HostagentError
from hostagent.install import player
from hostagent.install.lock import FOLDER
from hostagent.install.outcome import RefusedError
from hostagent.install.runs import Run
from hostagent.install.target import Target
from hostagent.plan.model import Plan

_ARCHIVES = "/var/cache/apt/archives"
_LIMIT_S = 600


def retain(target: Target, run: Run, plan: Plan, *, required: bool) -> None:
    """Keep the packages that the plan replaces or removes. Raises ``RefusedError`` for one that cannot be had, where that is required."""
    folder = f"{run.path}/packages"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    wanted = tuple((one.name, one.before) for one in plan.packages if one.before is not None)
    if missing := [pair for pair in wanted if not _from_cache(target, folder, *pair) and not file_of(folder, *pair)]:
        _download(target, run, tuple(missing))
        missing = [pair for pair in missing if not file_of(folder, *pair)]
    if missing and required:
        told = ", ".join(f"{name} {version}" for name, version in missing[:5])
        raise RefusedError(
            f"found no package file of {told}, wanted it to be able to go back",
            "Enable the repository that has it, or give --no-rollback: what is replaced can then not be restored",
        )


def file_of(folder: str, name: str, version: str) -> str:
    """The name of the kept file; "" where there is none. A package manager writes a colon as %3a."""
    start = f"{name.partition(':')[0]}_{quote(version, safe='+~.-').lower() if ':' in version else version}_"
    return next((one for one in sorted(os.listdir(folder)) if one.startswith(start) and one.endswith(".deb")), "")


def _from_cache(target: Target, folder: str, name: str, version: str) -> bool:
    cache = target.inside(_ARCHIVES)
    found = file_of(cache, name, version) if os.path.isdir(cache) else ""
    if found and os.path.getsize(f"{cache}/{found}"):
        shutil.copyfile(f"{cache}/{found}", f"{folder}/{found}")
    return bool(found)


def _download(target: Target, run: Run, packages: tuple[tuple[str, str], ...]) -> None:
    """By the target's package manager, into the run's folder. What cannot be had is not there afterwards."""
    import subprocess

    inside = f"{FOLDER}/runs/{os.path.basename(run.path)}/packages"
    for name, version in packages:
        argv = ("env", f"--chdir={inside}", "apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", f"{name}={version}")
        try:
            subprocess.run(
                [*target.enter(_LIMIT_S), *argv],
                env=player.environment(os.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIMIT_S + 60,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HostagentError(f"{argv[2]} did not fetch {name}: {error}", "Run it again") from error
