"""Programs and libraries of another root that root may run or load: those that only root may change."""

import os
from collections.abc import Iterable

from hostagent.core.unread import Unread
from hostagent.host.files import Files
from hostagent.host.paths import Root

#: Search path of programs.
DIRECTORIES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def program(root: Root, name: str) -> "str | Unread":
    """The path on the host of a program that may be run."""
    found, refused = _trusted(root, [name] if "/" in name else [f"{directory}/{name}" for directory in DIRECTORIES])
    if found:
        return found[0]
    return Unread("error", f"{name} is not run: {refused}") if refused else Unread("absent", f"no program {name}")


def libraries(root: Root, name: str, directories: Iterable[str]) -> tuple[list[str], str]:
    """Paths of a library of the host that may be loaded, those in its loader's cache first; and why others may not.

    Its loader is not used: it follows the settings of an untrusted host.
    """
    cache = Files(root).read("/etc/ld.so.cache")  # it ends in its texts (ld.so(8), glibc's dl-cache.h)
    cached = [] if isinstance(cache, Unread) else [os.fsdecode(one) for one in cache.split(b"\0") if one.endswith(f"/{name}".encode())]
    return _trusted(root, [*cached, *(f"{directory}/{name}" for directory in directories)])


def _trusted(root: Root, paths: Iterable[str]) -> tuple[list[str], str]:
    """The existing `paths` that only root may change; and why the last of the others is not trusted."""
    found: list[str] = []
    refused = ""
    for path in dict.fromkeys(paths):
        if root.exists(path):
            why = root.untrusted(path)
            found += [] if why else [path]
            refused = why or refused
    return found, refused
