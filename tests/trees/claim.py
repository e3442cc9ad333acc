"""What a person says of a recorded host, beside the function that builds it: never taken from a report.

A test holds the report against it, and the page of hosts shows it.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from tests.trees.tree import Tree

Build = TypeVar("Build", bound=Callable[[Path], Tree])


class Claim(NamedTuple):
    """Of one host. ``what`` is the first paragraph of its function's docstring where nothing else is said."""

    first: str = ""  # id of the check that tells the right cause: it comes first in the report; "" for a host that is ready
    never: tuple[str, ...] = ()  # words and commands that no remedy of this host may hold
    twin: str = ""  # the recorded host that this one is but for one named change
    source: str = ""  # the published configuration or output that it repeats; "" where that is its twin's
    what: str = ""


#: On somebody else's driver or toolkit: what an administrator does on a host of his own.
PACKAGES = ("apt", "apt-get", "apt-mark", "dnf", "zypper", "dkms", "update-initramfs", "dracut")
#: Where a plug-in, or the runtime itself, writes what nvidia-ctk would write.
RUNTIME_CONFIGURATION = ("nvidia-ctk runtime configure",)
#: In a virtual machine: what only the machine below it can do.
BOARD = ("nvidia-smi --gpu-reset", "reseat")
#: Of a GPU that a virtual machine holds.
UNBIND = ("unbind", "unset-override", "rmmod", "modprobe -r", "nvidia-smi --gpu-reset")

_CLAIMS: dict[Callable[[Path], Tree], Claim] = {}


def claims(first: str = "", *, never: tuple[str, ...] = (), twin: str = "", source: str = "", what: str = "") -> Callable[[Build], Build]:
    """Say it of the host that the function below builds."""

    def said(build: Build) -> Build:
        _CLAIMS[build] = Claim(first, never, twin, source, what)
        return build

    return said


def claim_of(build: Callable[[Path], Tree]) -> Claim:
    """What was said of it; nothing of a host that is ready need be."""
    claim = _CLAIMS.get(build, Claim())
    return claim._replace(what=claim.what or _summary(build))


def _summary(build: Callable[[Path], Tree]) -> str:
    return " ".join((inspect.getdoc(build) or "").partition("\n\n")[0].split())
