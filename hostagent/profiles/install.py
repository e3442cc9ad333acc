"""The installation part of a profile."""

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Literal

from hostagent.core.frozen import frozen
from hostagent.core.typed import Mistake

#: URLs that apt, dnf and zypper all accept: without a query, which none of them accepts everywhere.
_PLACE = r"/[A-Za-z0-9._~%+=:@/-]{0,1024}"
_URL = re.compile(rf"https?://[A-Za-z0-9._-]{{1,253}}(?::(?P<port>[1-9][0-9]{{0,4}}))?(?:{_PLACE})?|file:(?://)?{_PLACE}")
_MOST_PROGRAMS, _MOST_WORDS, _LONGEST = 64, 256, 4096
_MOST_LOCK_S = 86_400


@frozen
class RepositoryPolicy:
    """A mirror. ``url`` "" is NVIDIA's own; ``file:`` is a path of the target. ``key``: a keyring file where hostagent runs."""

    url: str = ""
    key: str = ""


@frozen
class RepositoriesPolicy:
    cuda: RepositoryPolicy = field(default_factory=RepositoryPolicy)
    toolkit: RepositoryPolicy = field(default_factory=RepositoryPolicy)


@frozen
class InstallPolicy:
    """How `hostagent install` installs ``driver.install`` and ``toolkit.install``.

    ``origin`` auto: the current origin of the driver, else NVIDIA's repository. ``before`` and ``after``: programs with their
    arguments that run before the first change (a failure refuses the run) and after the last (drain, uncordon).
    """

    origin: Literal["auto", "cuda", "distribution"]
    delivery: Literal["auto", "precompiled", "dkms"]
    packages: Literal["compute", "full"]
    hold: bool
    allow_kernel: bool
    restart: Literal["auto", "always", "never"]
    lock_timeout_s: int
    before: tuple[tuple[str, ...], ...]
    after: tuple[tuple[str, ...], ...]
    repositories: RepositoriesPolicy


def impossible_installs(install: InstallPolicy) -> Iterator[Mistake]:
    """Impossible settings of an installation. Credentials are never shown."""
    if not 0 <= install.lock_timeout_s <= _MOST_LOCK_S:
        problem = f"found {install.lock_timeout_s!r:.60}, wanted seconds from 0 to {_MOST_LOCK_S} (a day)"
        yield Mistake(("install", "lock_timeout_s"), problem)
    for key, programs in (("before", install.before), ("after", install.after)):
        yield from _programs(("install", key), programs)
    for name, repository in (("cuda", install.repositories.cuda), ("toolkit", install.repositories.toolkit)):
        path = ("install", "repositories", name)
        if "@" in repository.url and not repository.url.startswith("file:"):
            problem = "found a user or a password in the address, wanted none: apt reads them from /etc/apt/auth.conf.d"
            yield Mistake((*path, "url"), problem)
        elif repository.url and not _is_address(repository.url):
            shown = repository.url.partition("?")[0]  # the query may hold a token
            yield Mistake((*path, "url"), f"found {shown!r:.120}, wanted https://HOST/PATH, http://HOST/PATH or file:/PATH")
        if repository.key and not (repository.key.startswith("/") and repository.key.isprintable()):
            yield Mistake((*path, "key"), f"found {repository.key!r:.60}, wanted the path of a keyring file, from /")


def _is_address(url: str) -> bool:
    found = _URL.fullmatch(url)
    return found is not None and int(found["port"] or 0) < 65536


def _programs(path: tuple[str, ...], programs: tuple[tuple[str, ...], ...]) -> Iterator[Mistake]:
    if len(programs) > _MOST_PROGRAMS:
        yield Mistake(path, f"found {len(programs)} programs, wanted at most {_MOST_PROGRAMS}")
        return
    for number, argv in enumerate(programs):
        if not argv or not argv[0].strip() or len(argv) > _MOST_WORDS:
            yield Mistake((*path, number), f"found {len(argv)} words, wanted a program and its arguments: [[kubectl, drain, node-1]]")
        elif any("\0" in word or len(word) > _LONGEST for word in argv):
            yield Mistake((*path, number), f"found a null byte, or a word of more than {_LONGEST} characters")
        elif "/" in argv[0] and not argv[0].startswith("/"):
            yield Mistake((*path, number), f"found the program {argv[0]!r:.60}, wanted its name, or its path from /")
