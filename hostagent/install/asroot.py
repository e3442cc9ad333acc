"""Runs the same command again as root, where sudo needs no password."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import reason
from hostagent.install.ourselves import words

#: Marks the second process, so that a sudo that does not switch to root is tried once.
_AGAIN = "HOSTAGENT_SETUP_BY_SUDO"
#: Further variables that the output depends on.
_KEPT = ("KUBECONFIG", "DOCKER_HOST", "NODE_NAME", "HOSTAGENT_PROFILE")
_ENV = "/usr/bin/env"
_ASKED_S = 30


def is_root() -> bool:
    return os.geteuid() == 0


def sudo() -> str:
    """The sudo of the caller's PATH, where it needs no password; else "". Raises ``HostagentError`` where it was tried already."""
    if os.environ.get(_AGAIN):
        raise HostagentError(f"found user {os.geteuid()} behind sudo, wanted root: this changes the host", "Run it again as root")
    found = shutil.which("sudo")
    return found if found is not None and _asks_nothing(found) else ""


def _asks_nothing(program: str) -> bool:
    none = subprocess.DEVNULL
    try:
        done = subprocess.run([program, "-n", "true"], stdin=none, stdout=none, stderr=none, timeout=_ASKED_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def again(program: str, variables: Mapping[str, str], arguments: Sequence[str]) -> NoReturn:
    """Replace this process by hostagent as root, with these variables: sudo keeps none."""
    kept = {name: os.environ[name] for name in _KEPT if os.environ.get(name)}
    assignments = [f"{name}={value}" for name, value in {**kept, **variables, _AGAIN: "1"}.items()]
    argv = [program, "-n", "-u", "root", "--", _ENV, *assignments, *words(), *arguments]
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(program, argv)  # noqa: S606  a list of words: no shell reads them
    except OSError as error:
        raise HostagentError(f"{program}: {reason(error)}", "Run it again as root") from error
