"""What of another host may be run or loaded here, as root: what nobody but that host's root may change."""

import os
from collections.abc import Iterable

from hostagent.core.unread import Unread
from hostagent.host.files import Files
from hostagent.host.paths import Root

#: Where programs are looked for.
DIRECTORIES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def program(root: Root, name: str) -> "str | Unread":
    """Where a program of the host is that may be run: a path of the host."""
    found, refused = _trusted(root, [name] if "/" in name else [f"{directory}/{name}" for directory in DIRECTORIES])
    if found:
        return found[0]
    return Unread("error", f"{name} is not run: {refused}") if refused else Unread("absent", f"no program {name}")


def libraries(root: Root, name: str, directories: Iterable[str]) -> tuple[list[str], str]:
    """Paths of a library of the host that may be loaded, and why others may not: those that its loader's cache names come first.

    Its loader is not asked: it follows the settings of a host that may be anybody's.
    """
    cache = Files(root).read("/etc/ld.so.cache")  # it ends in its texts (ld.so(8), glibc's dl-cache.h)
    cached = [] if isinstance(cache, Unread) else [os.fsdecode(one) for one in cache.split(b"\0") if one.endswith(f"/{name}".encode())]
    return _trusted(root, [*cached, *(f"{directory}/{name}" for directory in directories)])


def _trusted(root: Root, paths: Iterable[str]) -> tuple[list[str], str]:
    """Of `paths` those that are there and only root may change; and why the last of the others may not be taken."""
    found: list[str] = []
    refused = ""
    for path in dict.fromkeys(paths):
        if root.exists(path):
            why = root.untrusted(path)
            found += [] if why else [path]
            refused = why or refused
    return found, refused
