"""Queries the package manager of one target in a room with the plan's own files."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

from hostagent.core.deadline import within
from hostagent.core.smallfile import reason
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.install.keys import key_bytes
from hostagent.install.offers.apt import Apt
from hostagent.install.offers.dnf import Dnf, Tdnf
from hostagent.install.offers.programs import Programs
from hostagent.install.offers.room import OverlayFile, Room
from hostagent.install.offers.zypper import Zypper
from hostagent.plan.model import Key, Operation, Remove, Write
from hostagent.plan.offers import Candidate, Offers, Question, RefreshFault, Transaction

#: Seconds for all answers about one host, and where packages are fetched.
_WHOLE_S, _KEEPING_S = 300.0, 3600.0
#: A change in these changes what is chosen, not what there is.
_PREFERENCES = "/etc/apt/preferences.d/"


class PackageManager(Protocol):
    def settings(self) -> Mapping[str, bytes]: ...

    def refresh(self) -> "RefreshFault | Unread | None": ...

    def candidates(self, names: Iterable[str]) -> "Mapping[str, tuple[Candidate, ...]] | Unread": ...

    def transaction(self, argv: tuple[str, ...]) -> "Transaction | Unread": ...

    def fetch(self, packages: Iterable[tuple[str, str]]) -> "Unread | None": ...


class Host(NamedTuple):
    """The target of the queries. ``program``: apt-get; "" where it is not known."""

    root: str
    kind: Kind
    program: str
    lock_timeout_s: int


class Session:
    """The room is there from the first question to `close`. `kept`: a directory of this machine for the files of `fetch`."""

    def __init__(self, host: Host, kept: str = "") -> None:
        self._host = host
        self._kept = kept
        self._room: Room | None = None
        self._manager: PackageManager | None = None
        self._settings: dict[str, bytes] = {}
        self._files_in_room: dict[str, OverlayFile] | None = None
        self._keys: dict[Key, bytes] = {}

    def answer(self, offers: Offers, operations: Iterable[Operation], questions: Iterable[Question]) -> Offers:
        """`offers` with the answers to `questions`, or with the fault that there are none for."""
        before = self._files_in_room
        fault = self._ready(operations)
        if fault is not None:
            return replace(offers, asked=True, fault=fault)
        kept = offers if self._files_in_room == before else replace(offers, transactions={})
        return self._with_answers(kept, tuple(questions))

    def fetch(self, operations: Iterable[Operation], packages: Iterable[tuple[str, str]]) -> "RefreshFault | Unread | None":
        """Download these packages, each at its version, into the retained directory, without those that no repository has."""
        fault = self._ready(operations)
        return fault if fault is not None or self._manager is None else self._manager.fetch(packages)

    def close(self) -> None:
        if self._room:
            self._room.close()

    def _ready(self, operations: Iterable[Operation]) -> "RefreshFault | Unread | None":
        if self._manager is None and (fault := self._opened()) is not None:
            return fault
        files = self._files(operations)
        if isinstance(files, RefreshFault):
            return files
        return self._lay(files) if files != self._files_in_room else None

    def _opened(self) -> "Unread | None":
        if os.geteuid() != 0:
            return Unread("denied", "to ask the package manager in private mounts takes root")
        if self._host.program not in _MANAGERS:
            return Unread("not-supported", f"{self._host.program or 'no package manager'} is not asked")
        try:
            self._room = Room(self._host.root, self._host.kind, self._kept)
        except OSError as error:
            return Unread("error", f"the process that asks the package manager cannot be started: {reason(error)}")
        manager = _MANAGERS[self._host.program]
        if why := _untrusted(self._room.root, manager.TRUSTED):
            return Unread("denied", f"the package manager is not asked: {why}")
        self._manager = manager(Programs(self._room, within(_KEEPING_S if self._kept else _WHOLE_S)), self._host.lock_timeout_s)
        self._settings = dict(self._manager.settings())
        return None

    def _files(self, operations: Iterable[Operation]) -> "dict[str, OverlayFile] | RefreshFault":
        files = {path: OverlayFile(path, content) for path, content in self._settings.items()}
        for one in operations:
            if isinstance(one, Write):
                files[one.path] = OverlayFile(one.path, one.content.encode(), one.mode)
            elif isinstance(one, Remove):
                files[one.path] = OverlayFile(one.path, None)
            elif isinstance(one, Key):
                content = self._keys.get(one) or key_bytes(one)
                if isinstance(content, RefreshFault):
                    return content
                files[one.path] = OverlayFile(one.path, content)
                self._keys[one] = content
        return files

    def _lay(self, files: dict[str, OverlayFile]) -> "RefreshFault | Unread | None":
        assert self._room
        assert self._manager
        before = self._files_in_room or {}
        changed = [path for path in {*files, *before} if files.get(path) != before.get(path)]
        if (fault := self._room.lay(files.values())) is not None:
            return fault
        is_first, self._files_in_room = self._files_in_room is None, files
        return None if not is_first and all(path.startswith(_PREFERENCES) for path in changed) else self._manager.refresh()

    def _with_answers(self, offers: Offers, questions: tuple[Question, ...]) -> Offers:
        assert self._manager
        names = dict.fromkeys(name for one in questions if one.kind == "candidates" for name in one.words if name not in offers.candidates)
        candidates = self._manager.candidates(names) if names else {}
        if isinstance(candidates, Unread):
            return replace(offers, asked=True, fault=candidates)
        transactions = dict(offers.transactions)
        for one in questions:
            if one.kind == "transaction" and one.words not in transactions:
                answer = self._manager.transaction(one.words)
                if isinstance(answer, Unread):
                    return replace(offers, asked=True, fault=answer)
                transactions[one.words] = answer
        return Offers(True, {**offers.candidates, **candidates}, transactions)


_MANAGERS: "Mapping[str, type[Apt | Dnf | Zypper]]" = {"apt-get": Apt, "dnf": Dnf, "tdnf": Tdnf, "zypper": Zypper}


def _untrusted(root: Root, paths: Iterable[str]) -> str:
    """Why the first existing path is not trusted, contents of directories included; "" where root alone may write them."""
    files = Files(root)
    for path in paths:
        names = files.list(path)
        for one in (path, *(() if isinstance(names, Unread) else (f"{path}/{name}" for name in names))):
            if root.exists(one) and (why := root.untrusted(one)):
                return why
    return ""
