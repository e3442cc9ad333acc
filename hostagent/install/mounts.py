"""Mounts for the programs of a run, private to them, which end with the last of them.

On a live host only a directory in memory is mounted, for Ansible's files, which contain variables and environment. An image
gets /proc, /sys, /dev and /run of its own, process numbers of its own, and a policy-rc.d that lets no package start a service.
"""

# The directory is /run/hostagent-install, of this use alone: to clear /run/hostagent would take the mount away. A package's
# `killall` or `sysctl` would reach this machine, so an image has PID numbers of its own and /proc/sys read-only.

import contextlib
import os
import shutil
from collections.abc import Iterator

from hostagent.core.answers import MIB
from hostagent.install.chroot import furnish
from hostagent.install.target import Target
from hostagent.sandbox import mounting
from hostagent.sandbox.namespaces import own_mounts

#: On the machine that runs hostagent, and for this alone: removing a directory would remove other mounts in it.
_PRIVATE_PLACE = "/run/hostagent-install"
_POLICY_PATH = "/usr/sbin/policy-rc.d"
_POLICY = "#!/bin/sh\n# Made by hostagent while it installs: no service starts in an image.\nexit 101\n"
#: Parts of /proc that belong to this machine: a package that sets kernel parameters must not set them here.
_KERNELS = ("sys", "sysrq-trigger", "irq", "bus", "fs")


def move_in(target: Target) -> str:
    """Make the mounts, in a process of its own. Returns an empty directory that only this process and its children see.

    Raises ``OSError``.
    """
    own_mounts()
    os.makedirs(_PRIVATE_PLACE, mode=0o755, exist_ok=True)
    mounting.file_system("tmpfs", _PRIVATE_PLACE, f"size={256 * MIB},mode=0700", programs=True)
    if target.kind == "image":
        furnish(target.root)
        for name in _KERNELS:
            with contextlib.suppress(FileNotFoundError):
                _show(target, f"/proc/{name}")
    return _PRIVATE_PLACE


def move_out() -> None:
    """Empty the private directory: a service that a package started may keep the mounts."""
    for name in os.listdir(_PRIVATE_PLACE):
        shutil.rmtree(f"{_PRIVATE_PLACE}/{name}", ignore_errors=True)
        with contextlib.suppress(OSError):
            os.unlink(f"{_PRIVATE_PLACE}/{name}")


def _show(target: Target, path: str) -> None:
    """Mount read-only."""
    for change in (lambda place: mounting.bind(place, place), mounting.only_to_read):
        descriptor = target.root.open(path, os.O_PATH)
        try:
            change(mounting.at(descriptor))
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def no_services(target: Target) -> Iterator[None]:
    """Prevents packages from starting services in an image. An existing policy stays."""
    if target.kind != "image":
        yield
        return
    place = target.inside(_POLICY_PATH)
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o700)
    except (FileExistsError, FileNotFoundError):
        yield
        return
    with open(descriptor, "w", encoding="ascii") as stream:
        stream.write(_POLICY)
        os.fchmod(descriptor, 0o755)
    try:
        yield
    finally:
        allow_services(target)


def allow_services(target: Target) -> None:
    """Take the policy away, also that of a run that was killed."""
    place = target.inside(_POLICY_PATH)
    with contextlib.suppress(OSError):
        with open(place, encoding="utf-8", errors="replace") as stream:
            is_ours = _POLICY.startswith(stream.read(len(_POLICY) + 1)) and (
                os.stat(place).st_size > 0 or os.stat(place).st_mode & 0o777 == 0o700
            )
        if is_ours:
            os.unlink(place)
