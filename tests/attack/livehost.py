"""A made tree as a live host: with the kernel's own /proc and /sys, and the made driver in them."""

import shutil
from pathlib import Path

from tests.attack.spaces import mount, unshare


def enliven(tree: Path) -> None:
    """In a mount namespace of this process's own from now on (see `tests.attack.spaces`)."""
    unshare("mount")
    for kind, place, kept in (("proc", "proc", "driver"), ("sysfs", "sys", "module")):
        made = (tree / place).rename(tree / f"made-{place}")
        (tree / place).mkdir()
        mount("none", str(tree / place), kind)
        mount("none", str(tree / place / kept), "tmpfs")
        shutil.copytree(made / kept, tree / place / kept, dirs_exist_ok=True)
