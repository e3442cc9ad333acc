"""A configuration as the facts have it: every field with its value, as configz would serve it."""

from typing import Any

from hostagent.domains.kubelet.config.golang import printed
from hostagent.domains.kubelet.config.schema import Fields
from hostagent.domains.kubelet.tables.defaults import HELD
from hostagent.facts.kubelet import KubeletConfig, Pairs, ReservedMemory

#: The empty value of a field, by how it is shown.
_EMPTY: dict[str, Any] = {"s": "", "i": 0, "b": False, "d": 0, "p": {}, "l": [], "m": []}


def canonical(config: Fields) -> KubeletConfig:
    return KubeletConfig(**{name: _shown(how, config.get(field) or _EMPTY[how]) for name, field, how in HELD})


def origins(origin: dict[str, str]) -> Pairs:
    """The origin of each field that the facts hold."""
    return tuple(sorted((field, origin.get(field, "default")) for _, field, _ in HELD))


def _shown(how: str, value: Any) -> Any:
    if how == "d":
        return printed(value)
    if how == "p":
        return tuple(sorted(value.items()))
    if how == "l":
        return tuple(value)
    if how == "m":
        return tuple(ReservedMemory(row.get("numaNode") or 0, _quantities(row.get("limits") or {})) for row in value)
    return value


def _quantities(limits: dict[str, Any]) -> Pairs:
    return tuple(sorted((name, str(quantity)) for name, quantity in limits.items()))
