"""Bodies of the patches that the controller writes to a node: its taints, with the marks that count them, and the end of a silent agent's
verdict. Each carries uid and resourceVersion of the node that it was decided on. Pure.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.controller.node import AGENT_SILENT, CLOSED, EFFECT, KEYS, LABELS, SILENT, TAINTED, WHY, Whole, is_taint
from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.kube.nodestatus import stamp

_WHY_CHARACTERS = 300


class Moment(NamedTuple):
    """``prefix`` of our names; ``now``: seconds since the epoch."""

    prefix: str
    now: float


@frozen
class Wish:
    """What a node is to have. ``wanted``: taints; ``owned``: those that are the controller's on this node, None where that is unknown;
    ``held``: those that are not set now, because the agent has just begun; ``may_taint``: whether the limits let one more node in;
    ``has_returned``: a mark for silence is no longer true.
    """

    wanted: frozenset[str]
    owned: "frozenset[str] | None"
    held: frozenset[str]
    may_taint: bool
    has_returned: bool


@frozen
class Change:
    """One PATCH of a node. ``added``, ``adopted`` and ``removed``: keys of taints; ``blocked``: those that the limit kept away."""

    body: Mapping[str, Any]
    added: tuple[str, ...]
    adopted: tuple[str, ...]
    removed: tuple[str, ...]
    blocked: tuple[str, ...]


class _Plan:
    """Taints and marks, as they are to be."""

    def __init__(self, whole: Whole) -> None:
        self.taints, self.marks = whole.taints, [*whole.node.tainted]
        self.added, self.adopted, self.removed, self.blocked = (list[str]() for _ in range(4))

    def mark(self, key: str) -> None:
        self.marks = [one for one in KEYS if one in {*self.marks, key}]

    def unmark(self, key: str) -> None:
        self.marks = [one for one in self.marks if one != key]


def change(whole: Whole, wish: Wish, at: Moment) -> Change:
    """Merge patch of the node. An empty body: nothing is to be written."""
    plan = _Plan(whole)
    for key in KEYS if wish.owned is not None else ():
        if key not in (wish.owned or ()):
            plan.unmark(key)
        elif key in wish.wanted:
            _want(plan, whole, key, wish)
        elif whole.has(key):
            plan.taints = tuple(one for one in plan.taints if not is_taint(one, key))
            plan.removed.append(key)
            plan.unmark(key)
        else:
            plan.unmark(key)
    body = _body(whole, plan, wish, at)
    return Change(body, tuple(plan.added), tuple(plan.adopted), tuple(plan.removed), tuple(plan.blocked))


def _want(plan: _Plan, whole: Whole, key: str, wish: Wish) -> None:
    """A taint that is there is adopted with its value; one that was taken off by hand comes back without asking the limit."""
    if whole.has(key):
        if key not in whole.node.tainted:
            plan.adopted.append(key)
        plan.mark(key)
    elif key in wish.held and key not in whole.node.tainted:
        pass
    elif wish.may_taint or whole.node.tainted:
        plan.taints = (*plan.taints, {"key": key, "effect": EFFECT})
        plan.added.append(key)
        plan.mark(key)
    else:
        plan.blocked.append(key)


def _body(whole: Whole, plan: _Plan, wish: Wish, at: Moment) -> Mapping[str, Any]:
    node = whole.node
    is_closed = node.is_marked and not wish.has_returned
    before = {TAINTED: ",".join(node.tainted) or None, CLOSED: SILENT if node.is_marked else None, WHY: whole.why or None}
    after = {TAINTED: ",".join(plan.marks) or None, CLOSED: SILENT if is_closed else None, WHY: _why(whole, plan, at, is_closed=is_closed)}
    marks = {name: value for name, value in after.items() if value != before[name]}
    parts: dict[str, Any] = {}
    if plan.taints != whole.taints:
        parts["spec"] = {"taints": list(plan.taints)}
    if not parts and not marks:
        return {}
    return {"metadata": _identity(whole) | {"annotations": {f"{at.prefix}/{name}": value for name, value in marks.items()}}, **parts}


def _why(whole: Whole, plan: _Plan, at: Moment, *, is_closed: bool) -> "str | None":
    """One line, written once: it says since when."""
    if is_closed:
        return whole.why or None
    if not plan.marks:
        return None
    if whole.why and whole.node.tainted[:1] == tuple(plan.marks[:1]) and not whole.node.is_marked:
        return whole.why
    return reason(whole, plan.marks[0], at)


def reason(whole: Whole, key: str, at: Moment) -> str:
    """Why the node has the taint `key`, by its own conditions, and since when, by the controller's clock."""
    since = stamp(at.now)
    if not whole.node.has_verdict:
        return f"closed since {since}: hostagent has not judged this node"
    kind = "Ready" if LABELS[key] == "ready" else "MultiNodeReady"
    condition = whole.conditions.get(kind, {})
    status, code = str(condition.get("status") or "missing"), str(condition.get("reason") or "")
    label = whole.node.readiness(key)
    closed = {"Ready": "closed", "MultiNodeReady": "closed to jobs on several nodes"}[kind]
    cause = f"{kind} is {status}{f' ({code})' if code else ''}" if status != "True" else f"label {LABELS[key]} is {label}"
    return visible(f"{closed} since {since}: {cause}")[:_WHY_CHARACTERS]


def closing(whole: Whole, at: Moment, silent_s: float) -> Mapping[str, Any]:
    """Strategic-merge patch of the status of a node with a silent agent: all that the agent reported last becomes unknown."""
    since = stamp(at.now)
    length = f"{silent_s / 60:.0f} min" if silent_s >= 120 else f"{silent_s:.0f} s"
    text = f"No heartbeat of hostagent for {length}: its last report may be outdated"
    annotations = {
        f"{at.prefix}/{CLOSED}": SILENT,
        f"{at.prefix}/{WHY}": f"closed since {since}: no heartbeat of hostagent for {length}",
    }
    labels = {f"{at.prefix}/{name}": "unknown" for name in LABELS.values()}
    conditions = [
        {"type": f"{at.prefix}/{kind}", "status": "Unknown", "reason": AGENT_SILENT, "message": text}
        | ({"lastTransitionTime": since} if one.get("status") != "Unknown" else {})
        for kind, one in whole.conditions.items()
    ]
    return {"metadata": _identity(whole) | {"annotations": annotations, "labels": labels}, "status": {"conditions": conditions}}


def _identity(whole: Whole) -> dict[str, Any]:
    return {"uid": whole.node.uid, "resourceVersion": whole.node.resource_version}
