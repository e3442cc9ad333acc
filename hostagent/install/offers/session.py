"""Questions to the package manager of one target, answered in a room with the plan's own files in their places."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from hostagent.deadline import within
from hostagent.facts.unread import Unread
from hostagent.install.keys import key_bytes
from hostagent.install.offers.apt import Apt, trusted_files
from hostagent.install.offers.programs import Programs, untrusted
from hostagent.install.offers.room import Laid, Room
from hostagent.plan.model import Key, Operation, Remove, Write
from hostagent.plan.offers import Candidate, Offers, Question, RefreshFault, Transaction
from hostagent.smallfile import reason
from hostagent.source.files import Files
from hostagent.vocabulary import Kind

#: Seconds for all answers about one host.
_WHOLE_S = 300.0
#: A change in these changes what is chosen, not what there is.
_PREFERENCES = "/etc/apt/preferences.d/"


class PackageManager(Protocol):
    def settings(self) -> Mapping[str, bytes]: ...

    def refresh(self) -> "RefreshFault | Unread | None": ...

    def candidates(self, names: Iterable[str]) -> "Mapping[str, tuple[Candidate, ...]] | Unread": ...

    def transaction(self, argv: tuple[str, ...]) -> "Transaction | Unread": ...


class Session:
    """`program`: apt-get. The room is there from the first question to `close`."""

    def __init__(self, root: str, kind: Kind, program: str, lock_timeout_s: int) -> None:
        self._root = root
        self._kind = kind
        self._program = program
        self._lock_timeout_s = lock_timeout_s
        self._room: Room | None = None
        self._manager: PackageManager | None = None
        self._settings: dict[str, bytes] = {}
        self._laid: dict[str, Laid] = {}
        self._keys: dict[Key, bytes] = {}

    def answered(self, offers: Offers, laid: Iterable[Operation], questions: Iterable[Question]) -> Offers:
        """`offers` with the answers to `questions`, or with the fault that there are none for."""
        fault: RefreshFault | Unread | None = self._opened() if self._manager is None else None
        files = self._files(laid) if fault is None else {}
        if isinstance(files, RefreshFault):
            return replace(offers, asked=True, fault=files)
        if fault is None and files != self._laid:
            fault = self._lay(files)
            offers = replace(offers, transactions={})
        if fault is not None:
            return replace(offers, asked=True, fault=fault)
        return self._with_answers(offers, tuple(questions))

    def close(self) -> None:
        if self._room:
            self._room.close()

    def _opened(self) -> "Unread | None":
        if os.geteuid() != 0:
            return Unread("denied", "to ask the package manager in private mounts takes root")
        if self._program != "apt-get":
            return Unread("not-supported", f"{self._program or 'no package manager'} is not asked")
        try:
            self._room = Room(self._root, self._kind)
        except OSError as error:
            return Unread("error", f"the process that asks the package manager cannot be started: {reason(error)}")
        names = Files(self._room.root).list("/etc/apt/apt.conf.d")
        if why := untrusted(self._room.root, trusted_files([] if isinstance(names, Unread) else names)):
            return Unread("denied", f"the package manager is not asked: {why}")
        manager = Apt(Programs(self._room, within(_WHOLE_S)), self._lock_timeout_s)
        self._settings = dict(manager.settings())
        self._manager = manager
        return None

    def _files(self, operations: Iterable[Operation]) -> "dict[str, Laid] | RefreshFault":
        files = {path: Laid(path, content) for path, content in self._settings.items()}
        for one in operations:
            if isinstance(one, Write):
                files[one.path] = Laid(one.path, one.content.encode(), one.mode)
            elif isinstance(one, Remove):
                files[one.path] = Laid(one.path, None)
            elif isinstance(one, Key):
                content = self._keys.get(one) or key_bytes(one)
                if isinstance(content, RefreshFault):
                    return content
                files[one.path] = Laid(one.path, content)
                self._keys[one] = content
        return files

    def _lay(self, files: dict[str, Laid]) -> "RefreshFault | Unread | None":
        assert self._room
        assert self._manager
        changed = [path for path in {*files, *self._laid} if files.get(path) != self._laid.get(path)]
        if (fault := self._room.lay(files.values())) is not None:
            return fault
        self._laid = files
        return None if all(path.startswith(_PREFERENCES) for path in changed) else self._manager.refresh()

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
