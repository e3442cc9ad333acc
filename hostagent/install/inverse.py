"""The package transaction of a rollback: from retained files, without a network. Pure."""

# An apt without sources asks no repository: a version that left every mirror comes back from the kept files.

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hostagent.install.state import Packages, is_there

#: No repository, no pin: what is kept is what there is.
_OFFLINE = (
    *("Dir::Etc::sourcelist=/dev/null", "Dir::Etc::sourceparts=/dev/null", "Dir::Etc::preferences=/dev/null"),
    *("Dir::Etc::preferencesparts=/dev/null", "APT::Sandbox::User=root"),
    *("Dpkg::Options::=--force-confdef", "Dpkg::Options::=--force-confold"),
)
#: States of dpkg in which all of a package's files are there.
_OPEN = ("unpacked", "half-configured", "triggers-awaited", "triggers-pending")


@dataclass(frozen=True)
class Inverse:
    """`back`: (name, version) to restore; `removed`: names to remove; `kept`: names changed since the run, which stay."""

    back: tuple[tuple[str, str], ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.back and not self.removed


def inverse(before: Packages, after: "Packages | None", now: Packages) -> Inverse:
    """`after`: None where the run did not end, so that every difference counts as its own."""
    back, removed, kept = list[tuple[str, str]](), list[str](), list[str]()
    for key in sorted({*before, *now}):
        was, found = before.get(key), now.get(key)
        if _same(was, found) or _is_configured_by_dpkg(was, found):
            continue
        if after is not None and not _same(after.get(key), found):
            kept.append(key)
        elif is_there(was):
            assert was is not None
            back.append((key, was["version"]))
        elif found is not None:
            removed.append(key)
    return Inverse(tuple(back), tuple(removed), tuple(kept))


def _same(one: "Mapping[str, Any] | None", other: "Mapping[str, Any] | None") -> bool:
    """Whether version and state are the same; holds and marks do not count, and purged is the same as never installed."""
    first, second = (
        None if found is None or found["state"] == "not-installed" else (found["version"], found["state"]) for found in (one, other)
    )
    return first == second


def _is_configured_by_dpkg(was: "Mapping[str, Any] | None", found: "Mapping[str, Any] | None") -> bool:
    """Whether ``dpkg --configure -a`` suffices: the version is the same, a script did not end."""
    return was is not None and found is not None and was["version"] == found["version"] and found["state"] in _OPEN


def argv(files: Iterable[str], removed: Iterable[str], lock_timeout_s: int) -> tuple[str, ...]:
    """`files`: paths inside the target."""
    options = (*_OFFLINE, f"DPkg::Lock::Timeout={lock_timeout_s}")
    words = ("apt-get", "-y", "-q", *(word for option in options for word in ("-o", option)))
    flags = ("--no-install-recommends", "--allow-downgrades", "--allow-change-held-packages", "--reinstall", "--purge")
    return (*words, *flags, "install", *files, *(f"{apt_name(key)}-" for key in removed))


def apt_name(key: str) -> str:
    """The name for apt, which has no architecture called all.

    >>> apt_name("dkms:all"), apt_name("libc6:i386")
    ('dkms', 'libc6:i386')
    """
    return key.removesuffix(":all")


def marks(before: Packages, now: Packages) -> tuple[tuple[str, ...], ...]:
    """Calls of apt-mark that restore the marks of every package."""
    found: dict[str, list[str]] = {"auto": [], "manual": [], "hold": [], "unhold": []}
    for key, was in before.items():
        there = now.get(key)
        if not is_there(was) or there is None or not is_there(there):
            continue
        if was["automatic"] != there["automatic"]:
            found["auto" if was["automatic"] else "manual"].append(apt_name(key))
        if was["held"] != there["held"]:
            found["hold" if was["held"] else "unhold"].append(apt_name(key))
    return tuple(("apt-mark", word, *names) for word, names in found.items() if names)
