"""Feature gates of one minor version: those it knows, those that are on, and its errors for those that cannot be set."""

import functools
from collections.abc import Mapping
from typing import NamedTuple

from hostagent.domains.kubelet.config.golang import quoted
from hostagent.domains.kubelet.config.rows import holds, rows_of
from hostagent.domains.kubelet.tables.gates import NEEDS, gates_of

_ALL = {"AllAlpha": "a", "AllBeta": "b"}


class UnknownNameError(ValueError):
    """A gate, a policy or an option that this version does not know."""


@functools.lru_cache(maxsize=16)
def _needs(minor: int) -> tuple[tuple[str, str], ...]:
    return tuple((row[0], row[1]) for row in rows_of(NEEDS) if holds([row[2] if "-" in row[2] else f"{row[2]}-"], minor))


class Gates(NamedTuple):
    """The feature gates that are set, by the rules of a minor version."""

    minor: int
    set_to: Mapping[str, bool] = {}

    def enabled(self, name: str) -> bool:
        gate = gates_of(self.minor).get(name)
        if gate is None or (gate.locked and name in self.set_to):
            return gate is not None and gate.default
        if name in self.set_to:
            return self.set_to[name]
        whole = {"a": "AllAlpha", "b": "AllBeta"}.get(gate.stage, "")
        return self.set_to.get(whole, gate.default)

    def knows(self, name: str) -> bool:
        return name in gates_of(self.minor)

    def with_(self, wanted: Mapping[str, bool] | None) -> "Gates":
        """These and others on top; raises ``ValueError`` in the kubelet's words, ``UnknownNameError`` for a name it does not know."""
        gates = Gates(self.minor, {**self.set_to, **(wanted or {})})
        errors = []
        for name, value in sorted(gates.set_to.items()):
            if name in _ALL:
                continue
            gate = gates_of(self.minor).get(name)
            if gate is None:
                raise UnknownNameError(f"unrecognized feature gate: {name}")
            if gate.locked and gate.default != value:
                errors.append(f"cannot set feature gate {name} to {_word(value)}, feature is locked to {_word(gate.default)}")
            elif gate.stage == "p":
                errors.append(f"cannot set feature gate {name} to {_word(value)}, feature is PreAlpha at emulated version 1.{self.minor}")
        errors = errors or gates.broken()
        if errors:
            raise ValueError(aggregate(errors))
        return gates

    def broken(self) -> list[str]:
        """Gates that are on although one that they need is off."""
        off: dict[str, list[str]] = {}
        for name, needed in _needs(self.minor):
            if self.enabled(name) and not self.enabled(needed):
                off.setdefault(name, []).append(needed)
        return [f"{name} is enabled, but depends on features that are disabled: [{' '.join(needed)}]" for name, needed in off.items()]


def aggregate(errors: list[str]) -> str:
    """Several errors as one, as Kubernetes joins them."""
    once = list(dict.fromkeys(errors))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]"


def _word(value: bool) -> str:
    return "true" if value else "false"


def shown(names: list[str]) -> str:
    """A list of words as ``%q`` prints it."""
    return f"[{' '.join(map(quoted, names))}]"
