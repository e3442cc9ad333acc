"""Eviction thresholds and shares of the memory, in the kubelet's words."""

from hostagent.core.unread import Unread, need
from hostagent.domains.kubelet.config.golang import parse_duration, quoted
from hostagent.domains.kubelet.config.model import Machine
from hostagent.domains.kubelet.config.quantity import ZERO, Quantity, parse_quantity
from hostagent.domains.kubelet.config.schema import Fields
from hostagent.domains.kubelet.placement.quantity import share_of
from hostagent.domains.kubelet.tables.defaults import SIGNALS


def threshold(pairs: dict[str, str] | None, machine: Machine) -> Quantity | None:
    """The memory that memory.available of evictionHard reserves; None for a share of an unknown total."""
    left: Quantity | None = ZERO
    for signal, text in sorted((pairs or {}).items()):
        value = _statement(signal, text)
        if signal == "memory.available" and value is not None:
            left = value if isinstance(value, Quantity) else _share(text, memory_of(machine))
    return left


def _share(text: str, memory: int | None) -> Quantity | None:
    return None if memory is None else parse_quantity(str(share_of(memory, text)))


def memory_of(machine: Machine) -> int | None:
    """Bytes of the whole machine, None where they are not known."""
    if isinstance(machine.nodes, Unread) or any(isinstance(node.memory_bytes, Unread) for node in machine.nodes):
        return None
    return sum(need(node.memory_bytes) for node in machine.nodes)


def _statement(signal: str, text: str) -> Quantity | float | None:
    if signal not in SIGNALS:
        raise ValueError(f"unsupported eviction signal {signal}")
    if not text.endswith("%"):
        quantity = parse_quantity(text)
        if quantity.mantissa <= 0:
            raise ValueError(f"eviction threshold {signal} must be positive: {quantity}")
        return quantity
    if text in {"0%", "100%"}:
        return None
    part = _percentage(text)
    if part < 0:
        raise ValueError(f"eviction percentage threshold {signal} must be >= 0%: {text}")
    if part > 1:
        raise ValueError(f"eviction percentage threshold {signal} must be <= 100%: {text}")
    return part


def _percentage(text: str) -> float:
    number = text.rstrip("%")
    try:
        return float(number if number == number.strip() and "_" not in number else "") / 100
    except ValueError as error:
        raise ValueError(f"strconv.ParseFloat: parsing {quoted(number)}: invalid syntax") from error


def check_percentages(pairs: dict[str, str] | None) -> None:
    for name, text in sorted((pairs or {}).items()):
        if name != "memory":
            raise ValueError(f"--qos-reserved value failed to parse: cannot reserve {quoted(name)} resource")
        if not text.endswith("%"):
            raise ValueError(f"--qos-reserved value failed to parse: failed to parse percentage {quoted(text)} for {quoted(name)} resource")
        _percentage(text)


def check_thresholds(config: Fields) -> None:
    soft = {signal: _statement(signal, text) for signal, text in sorted((config.get("evictionSoft") or {}).items())}
    periods = config.get("evictionSoftGracePeriod") or {}
    for signal, text in sorted(periods.items()):
        _known_signal(signal)
        if parse_duration(text) < 0:
            raise ValueError(f"invalid eviction grace period specified: {text}, must be a positive value")
    for signal, text in sorted((config.get("evictionMinimumReclaim") or {}).items()):
        _known_signal(signal)
        if text.endswith("%"):
            if _percentage(text) <= 0:
                raise ValueError(f"eviction percentage minimum reclaim {signal} must be positive: {text}")
        elif parse_quantity(text).mantissa < 0:
            raise ValueError(f"negative eviction minimum reclaim specified for {signal}")
    for signal, value in soft.items():
        if value is not None and signal not in periods:
            raise ValueError(f"grace period must be specified for the soft eviction threshold {signal}")


def _known_signal(signal: str) -> None:
    if signal not in SIGNALS:
        raise ValueError(f"unsupported eviction signal {signal}")
