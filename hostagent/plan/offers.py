"""Contents of repositories and effects of transactions, as the real package manager reports them to `hostagent.install`. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from hostagent.core.unread import Unread


class Question(NamedTuple):
    """``candidates``: versions of the packages named in `words`; ``transaction``: effects of this argv."""

    kind: Literal["candidates", "transaction"]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """One version that one repository has of one package."""

    name: str
    version: str  # as the package manager writes it
    url: str  # of the repository, without credentials; "" of the package database alone (installed, and in no repository)
    suite: str = ""  # apt: suite/component; dnf: id of the repository
    size_bytes: int = 0


@dataclass(frozen=True)
class Moved:
    """One package that a transaction installs, changes or removes."""

    name: str
    arch: str
    before: str  # "" not installed
    after: str  # "" removed
    url: str = ""


@dataclass(frozen=True)
class Transaction:
    """`error`: the package manager's own message where it refuses, "" where it would do it."""

    moved: tuple[Moved, ...] = ()
    download_bytes: int = 0
    disk_bytes: int = 0  # more (or less, negative) on the disk afterwards
    error: str = ""


@dataclass(frozen=True)
class RefreshFault:
    """Why the repositories could not be read with the plan's own files in place."""

    code: Literal["signature", "weak-key", "unreachable", "conflict", "lock", "key", "error"]
    text: str  # the package manager's own line, made visible, without credentials
    url: str = ""


@dataclass(frozen=True)
class Offers:
    """Answers by question; ``NOT_ASKED`` for a snapshot and a simulated tree."""

    asked: bool = False
    candidates: Mapping[str, tuple[Candidate, ...]] = field(default_factory=dict)  # newest first; () none
    transactions: Mapping[tuple[str, ...], Transaction] = field(default_factory=dict)
    fault: "RefreshFault | Unread | None" = None

    def has(self, question: Question) -> bool:
        if question.kind == "transaction":
            return question.words in self.transactions
        return all(name in self.candidates for name in question.words)


NOT_ASKED = Offers()
