"""Tolerations of a job, and the taints of a node that keep it away.

Source: Kubernetes, "Taints and Tolerations"; ``ValidateTolerations`` of its API server, the scheduler's plug-in ``TaintToleration``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hostagent.kube.labelsyntax import is_key, is_value

#: Effects of a taint, and those that keep new pods away.
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_KEEPING_AWAY = ("NoSchedule", "NoExecute")
#: A cordon counts as this taint for the scheduler, also before the node has it.
UNSCHEDULABLE: Mapping[str, str] = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}

_FORM = "KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT"


def toleration(text: str) -> dict[str, str]:
    """Of ``KEY[=VALUE][:EFFECT]``: any value where none is given, every effect where none is named. Raises ``ValueError`` with what was
    wanted for what the API server refuses.

    >>> toleration("gpu"), toleration("pool=train:NoSchedule")
    ({'key': 'gpu', 'operator': 'Exists'}, {'key': 'pool', 'operator': 'Equal', 'value': 'train', 'effect': 'NoSchedule'})
    """
    asked, has_effect, effect = text.partition(":")
    key, has_value, value = asked.partition("=")
    if has_effect and effect not in EFFECTS:
        raise ValueError(f"{_FORM}, with one of {', '.join(EFFECTS)}")
    if not is_key(key) or not is_value(value):
        raise ValueError(f"{_FORM}, with the key and the value of a taint")
    found = {"key": key, "operator": "Equal", "value": value} if has_value else {"key": key, "operator": "Exists"}
    return {**found, "effect": effect} if has_effect else found


def label_term(text: str) -> tuple[str, str]:
    """Of ``KEY=VALUE``, one label of a node selector. Raises ``ValueError`` with what was wanted.

    >>> label_term("pool=train"), label_term("example.com/idle=")
    (('pool', 'train'), ('example.com/idle', ''))
    """
    key, has_value, value = text.partition("=")
    if not has_value or not is_key(key) or not is_value(value):
        raise ValueError("KEY=VALUE, a label of nodes")
    return key, value


def tolerates(tolerations: Iterable[Mapping[str, str]], taint: Mapping[str, Any]) -> bool:
    """Whether one of them matches."""
    return any(_matches(one, taint) for one in tolerations)


def _matches(one: Mapping[str, str], taint: Mapping[str, Any]) -> bool:
    if one.get("effect", taint.get("effect")) != taint.get("effect") or one["key"] != taint.get("key"):
        return False
    return one["operator"] == "Exists" or one["value"] == (taint.get("value") or "")


def untolerated(tolerations: Sequence[Mapping[str, str]], taints: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The taints that keep the job away, in their order. PreferNoSchedule keeps nothing away."""
    return tuple(one for one in taints if one.get("effect") in _KEEPING_AWAY and not tolerates(tolerations, one))


def shown_taint(taint: Mapping[str, Any]) -> str:
    """As kubectl writes it.

    >>> shown_taint({"key": "pool", "value": "train", "effect": "NoSchedule"}), shown_taint(UNSCHEDULABLE)
    ('pool=train:NoSchedule', 'node.kubernetes.io/unschedulable:NoSchedule')
    """
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"
