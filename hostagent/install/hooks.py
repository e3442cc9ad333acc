"""The profile's own programs before the first change and after the last: on the machine that runs hostagent."""

# `before` runs before anything is written (the lock file goes again where it fails), `after` after a run that went well, also
# where a reboot is due.

import os
import shutil
import subprocess

from hostagent.core.secret.names import without_secrets
from hostagent.host.paths import Root
from hostagent.install.error_text import failure

_LIMIT_S = 3600


def problem_of(argv: tuple[str, ...]) -> str:
    """Run it; why it failed, "" where it did not."""
    program = shutil.which(argv[0])
    if program is None:
        return f"{argv[0]}: found no such program"
    if os.geteuid() == 0 and (why := Root().untrusted(os.path.abspath(program))):
        return f"{argv[0]} is not run: {why}"
    try:
        done = subprocess.run(
            [program, *argv[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{argv[0]} did not end in {_LIMIT_S} s"
    except OSError as error:
        return f"{argv[0]}: {error.strerror}"
    if done.returncode == 0:
        return ""
    return f"{argv[0]} exited {done.returncode}: {without_secrets(failure({'stdout': done.stdout, 'stderr': done.stderr}))}"


def run_before(programs: tuple[tuple[str, ...], ...]) -> str:
    """Up to the first that fails; why that did, "" where none did."""
    return next((f"install.before: {problem}" for argv in programs if (problem := problem_of(argv))), "")


def run_after(programs: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """All of them, whatever fails; what did."""
    return tuple(f"install.after: {problem}" for argv in programs if (problem := problem_of(argv)))
