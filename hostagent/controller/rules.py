"""Rules of node-readiness-controller: the taints that it owns, and this controller does not set.

Source: node-readiness-controller 0.5.0, ``readiness.node.x-k8s.io/v1alpha1`` NodeReadinessRule; Kubernetes, "Labels and Selectors".
"""

# While a rule with our key is being deleted, and ten seconds longer, a tainted node is read again with each change of it:
# metadata does not say which. The rule's owner removes its taint with it (a finalizer).

from collections.abc import Iterable, Mapping
from typing import Any

from hostagent.controller.node import EFFECT, KEYS
from hostagent.core.frozen import frozen

PATH = "/apis/readiness.node.x-k8s.io/v1alpha1/nodereadinessrules"
#: Without a mode node-readiness-controller acts as with continuous.
_IN_FORCE = ("continuous", "", None)
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


@frozen
class Rule:
    """One rule with one of our keys. ``is_in_force``: it owns its key on the nodes that it selects. ``is_ending``: it is being deleted, and
    its owner takes its taints off.
    """

    name: str
    key: str
    match_labels: Mapping[str, str]
    expressions: tuple[tuple[str, str, tuple[str, ...]], ...]  # label, operator, values
    is_in_force: bool
    is_ending: bool

    def selects(self, labels: Mapping[str, str]) -> bool:
        """An empty selector selects all nodes."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            _holds(labels, *one) for one in self.expressions
        )


@frozen
class Rules:
    """All that have one of our keys."""

    rules: tuple[Rule, ...]

    @property
    def labels(self) -> frozenset[str]:
        """That they select by."""
        return frozenset(key for one in self.rules for key in (*one.match_labels, *(label for label, *_ in one.expressions)))

    @property
    def is_ending(self) -> bool:
        """Whether one of them is being deleted."""
        return any(one.is_ending for one in self.rules)

    def owner(self, key: str, labels: Mapping[str, str]) -> str:
        """The rule that owns `key` on a node with `labels`, "" for none: then it is the controller's."""
        return next((one.name for one in self.rules if one.is_in_force and one.key == key and one.selects(labels)), "")


NONE = Rules(())


def parse_rules(items: Iterable[Mapping[str, Any]]) -> Rules:
    """Raises ``ValueError`` for a rule that cannot be read: the owner of its taints is then unknown."""
    try:
        parsed = [_parsed(one) for one in items]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"found a NodeReadinessRule of another form: {type(error).__name__}: {str(error)[:100]}") from None
    return Rules(tuple(sorted((one for one in parsed if one.key in KEYS), key=lambda one: one.name)))


def _parsed(item: Mapping[str, Any]) -> Rule:
    metadata, spec = item["metadata"], item["spec"]
    taint, selector = spec["taint"], spec.get("nodeSelector") or {}
    is_ending = bool(metadata.get("deletionTimestamp"))
    mode, effect = spec.get("enforcementMode"), taint["effect"]
    expressions = tuple(_expression(one) for one in selector.get("matchExpressions") or ())
    return Rule(
        name=str(metadata["name"]),
        key=str(taint["key"]) if effect == EFFECT else "",
        match_labels={str(key): str(value) for key, value in (selector.get("matchLabels") or {}).items()},
        expressions=expressions,
        is_in_force=mode in _IN_FORCE and not spec.get("dryRun") and not is_ending,
        is_ending=is_ending,
    )


def _expression(one: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    if one["operator"] not in _OPERATORS:
        raise TypeError(f"operator {one['operator']!r}")
    return str(one["key"]), str(one["operator"]), tuple(map(str, one.get("values") or ()))


def _holds(labels: Mapping[str, str], key: str, operator: str, values: tuple[str, ...]) -> bool:
    """As Kubernetes selects: NotIn also holds where there is no such label."""
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    return (labels.get(key) in values) == (operator == "In")
