"""HostFacts: every fact of one host, by type."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind


def subject_key(kind: Any) -> str:
    """The field that names one subject among several (``Gpu``: pci), or "" when a host has one of `kind`."""
    return str(getattr(kind, "__subject__", ""))


def parent_of(one: object) -> str:
    """The key of the subject that this one is a part of (an RDMA port's card), "" where it has none or that is unread."""
    parent = getattr(one, getattr(type(one), "__parent__", ""), "")
    return "" if isinstance(parent, Unread) else str(parent)


class Earlier(NamedTuple):
    """A fact of an earlier pass, and its questions and answers as encoded by `hostagent.engine.fact_cache`."""

    value: Any
    asked: bytes


class HostFacts:
    """Facts by type: one instance of most types, a tuple of each subject type; ``Unread`` where none was read.

    Stored by the type's name, so that facts of another process do not need their modules imported here.
    """

    __slots__ = ("_parents", "_values", "kind")

    def __init__(self, values: "Mapping[type, Any] | Mapping[str, Any]", kind: Kind = "live") -> None:
        self._values = {key if isinstance(key, str) else key.__name__: value for key, value in values.items()}
        self._parents: Mapping[str, str] | None = None
        self.kind = kind

    def of(self, kind: type) -> Any:
        """The fact, the tuple of subjects, or ``Unread``."""
        name = kind.__name__
        return self._values[name] if name in self._values else Unread("not-recorded", f"{name}: not asked for")

    def changed(self, before: "HostFacts") -> frozenset[str]:
        """The names of the types with another object as fact."""
        was = before._values  # noqa: SLF001  of its own class
        return frozenset(name for name in self._values.keys() | was if self._values.get(name) is not was.get(name))

    def replaced(self, kind: type, value: Any) -> "HostFacts":
        """The same with another value of one type."""
        return HostFacts({**self._values, kind.__name__: value}, self.kind)

    def subject(self, key: str) -> Any:
        """The fact about the subject of that key, None where there is none."""
        for value in self._values.values():
            for one in value if isinstance(value, tuple) else ():
                if str(getattr(one, subject_key(type(one)), "")) == key:
                    return one
        return None

    def parents(self) -> Mapping[str, str]:
        """The key of the parent, by the key of each subject that is a part of another."""
        if self._parents is None:
            tuples = [value for value in self._values.values() if isinstance(value, tuple)]
            parts = ((one, parent) for value in tuples for one in value if (parent := parent_of(one)))
            self._parents = {str(getattr(one, subject_key(type(one)))): parent for one, parent in parts}
        return self._parents


class TrackedFacts(HostFacts):
    """Facts that record in `used` the names of the types that were accessed."""

    __slots__ = ("used",)

    def __init__(self, facts: HostFacts) -> None:
        super().__init__(facts._values, facts.kind)  # noqa: SLF001  of its own class
        self.used: set[str] = set()

    def of(self, kind: type) -> Any:
        self.used.add(kind.__name__)
        return super().of(kind)

    def subject(self, key: str) -> Any:
        self.used.update(self._values)
        return super().subject(key)

    def parents(self) -> Mapping[str, str]:
        self.used.update(self._values)
        return super().parents()
