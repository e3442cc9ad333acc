"""The offers by version, and whether one origin has the whole set."""

import re
from collections.abc import Iterable
from functools import cmp_to_key
from typing import NamedTuple

from hostagent.core.unread import Unread
from hostagent.facts.version import compare_deb, compare_rpm, upstream
from hostagent.plan.answers import is_cuda, is_toolkit
from hostagent.plan.driver.named import Named, mirrors
from hostagent.plan.driver.situation import Situation
from hostagent.plan.offers import Candidate


class Offered(NamedTuple):
    """By name: full version by NVIDIA's version, of one origin alone; and the newest of any origin."""

    by_version: "dict[str, dict[str, str]]"
    newest: "dict[str, str]"
    all: "dict[str, tuple[str, ...]]"

    def following(self, name: str, image: str, *, only: bool = False) -> str:
        """The newest version of a metapackage that is no newer than the installed kernel's, and so brings nothing for another kernel. ""
        where there is none; without `only` the newest of all then.
        """
        fitting = (one for one in self.all.get(name, ()) if _kernel_of(one) <= _kernel_of(image))
        newest = "" if only and image else self.newest.get(name, "")
        return next(fitting, newest) if image else newest

    def has(self, name: str, version: str) -> bool:
        return version in self.by_version.get(name, {})

    @property
    def versions(self) -> "set[str]":
        return {version for known in self.by_version.values() for version in known}


def _kernel_of(version: str) -> tuple[int, ...]:
    """The kernel of a metapackage, from the different forms of its version.

    >>> _kernel_of("6.8.0-87.88+1") == _kernel_of("6.8.0.87.88"), _kernel_of("6.1.158-1")
    (True, (6, 1, 158, 1))
    """
    return tuple(int(number) for number in re.findall(r"\d+", version)[:4])


def offered(state: Situation, names: Iterable[str]) -> Offered:
    """The offers of the package manager. An installed package counts, though no repository has it any more."""
    by_version: dict[str, dict[str, str]] = {}
    newest: dict[str, str] = {}
    every: dict[str, tuple[str, ...]] = {}
    installed = {(one.name, one.version) for one in state.packages}
    for name in names:
        candidates = _newest_first(state, state.given.offers.candidates.get(name, ()))
        own = [one for one in candidates if _is_of_origin(state, one) or (name, one.version) in installed]
        for one in own:
            version = upstream(one.version)
            if not isinstance(version, Unread):
                by_version.setdefault(name, {}).setdefault(version, one.version)
        every[name] = tuple(one.version for one in own or candidates)
        if candidates:
            newest[name] = (own or candidates)[0].version
    for have in state.driver:
        by_version.setdefault(have.name, {}).setdefault(have.upstream, have.version)
    return Offered(by_version, newest, every)


def lacking(names: Named, version: str, known: Offered) -> tuple[str, ...]:
    """Packages that the origin lacks at this version; () for the whole set."""
    several = [name for name in names.beside if name in known.by_version]  # the origin has it, though perhaps not at this version
    missing = [name for name in (*names.required, *several) if not known.has(name, version)]
    return (
        *missing,
        *(name for name in names.modules if name not in known.newest),
        *(one for one in names.others if one not in known.newest),
    )


def _is_of_origin(state: Situation, one: Candidate) -> bool:
    urls = mirrors(state.given)
    sources = state.given.view.packages
    listed = () if isinstance(sources, Unread) or isinstance(sources.apt_sources, Unread) else sources.apt_sources
    toolkit = (state.given.profile.install.repositories.toolkit.url,)
    named = tuple(source.uri for source in listed if not is_toolkit(source.uri, toolkit))
    return is_cuda(one.url, (*urls, *named)) == (state.origin == "cuda") and bool(one.url)


def _newest_first(state: Situation, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    order = compare_deb if state.host.is_apt else _compare_evr

    def compare(left: Candidate, right: Candidate) -> int:
        return order(left.version, right.version)

    return tuple(sorted(candidates, key=cmp_to_key(compare), reverse=True))


def _compare_evr(left: str, right: str) -> int:
    """Rpm's order of [epoch:]version-release."""
    parts = []
    for one in (left, right):
        epoch, colon, rest = one.rpartition(":")
        version, _, release = rest.partition("-")
        parts.append((epoch if colon else "0", version, release))
    return next((order for a, b in zip(*parts, strict=True) if (order := compare_rpm(a, b))), 0)
