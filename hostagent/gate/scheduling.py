"""Builds node selector, node affinity and NCCL's environment for the chosen nodes."""

from collections.abc import Sequence
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.core.unread import Unread
from hostagent.gate.answer import Pin
from hostagent.gate.candidate import Candidate
from hostagent.gate.request import Request
from hostagent.gate.wording import names_of, predicate, shown
from hostagent.kube.labelsyntax import is_value

PREFIX = "hostagent.dev"
HOSTNAME = "kubernetes.io/hostname"
#: Labels of the agent that the gate reads and writes, without their prefix.
READY, MULTI_NODE_READY, FABRIC_CLASS, GPU_PRODUCT, COMPUTE_CAPABILITY = (
    "ready",
    "multi-node-ready",
    "fabric-class",
    "gpu-product",
    "compute-capability",
)


class Scheduling:
    """Of the chosen nodes. What labels cannot carry adds a sentence to `warnings`."""

    def __init__(self, request: Request, chosen: Sequence[Candidate], prefix: str, warnings: list[str]) -> None:
        self._request, self._chosen, self._prefix = request, chosen, prefix
        self._labels = self._common_labels(warnings) if chosen else {}
        if chosen and (odd := [one.node for one in chosen if one.labels is None and not (one.node and is_value(one.node))]):
            warnings.append(f"{shown(odd[0])} is no value of the label {HOSTNAME}: the affinity matches no such node")

    @property
    def selector(self) -> dict[str, str]:
        """Labels that the chosen nodes have: ready, their class and product where they have one; and the job's own."""
        return {key: values[0] for key, values in self._labels.items() if len(values) == 1}

    def affinity(self, pin: Pin) -> dict[str, Any]:
        """The same labels, and with ``nodes`` the names of the chosen nodes. Raises ``HostagentError`` where labels alone would let the job
        onto nodes of any class.
        """
        if not self._chosen:
            return {}
        if pin == "class":
            self._check_class()
        by_label = [_in(key, values) for key, values in self._labels.items()]
        terms: list[dict[str, Any]] = [{"matchExpressions": by_label}]
        if pin == "nodes":
            names = [_hostname(one) for one in self._chosen]
            if all(names):
                terms = [{"matchExpressions": [*by_label, _in(HOSTNAME, names)]}]
            else:  # a field of a term has one value
                labels = {"matchExpressions": by_label} if by_label else {}
                terms = [{**labels, "matchFields": [_in("metadata.name", [one.node])]} for one in self._chosen]
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}

    def _check_class(self) -> None:
        """Raises ``HostagentError`` where the labels do not say that a node is ready, and of which class."""
        names = (READY, *((MULTI_NODE_READY,) if self._request.nodes > 1 else ()), FABRIC_CLASS)
        found = {name: self._labels.get(f"{self._prefix}/{name}", []) for name in names}
        missing = [name for name in names if not found[name]]
        nodes = names_of([one.node for one in self._chosen])
        if missing:
            message = f"found no label {self._prefix}/{missing[-1]} on all of {nodes}, wanted it to name their class"
        elif len(found[FABRIC_CLASS]) > 1 and not self._request.may_differ:
            message = f"found {len(found[FABRIC_CLASS])} values of the label {self._prefix}/{FABRIC_CLASS} on {nodes}, wanted one"
        else:
            return
        raise HostagentError(message, "Take --pin nodes, or --emit affinity")

    def matches(self, one: Candidate) -> bool:
        """Whether a node has the labels of the class, as far as is known."""
        ours = {key: values for key, values in self._labels.items() if key.startswith(f"{self._prefix}/")}
        return bool(ours) and all(self._label(one, key.removeprefix(f"{self._prefix}/")) in values for key, values in ours.items())

    def _common_labels(self, warnings: list[str]) -> dict[str, list[str]]:
        """Values by label. Nothing of ours for the host's NCCL: no label carries that class."""
        found = dict[str, list[str]]()
        if not self._request.host_nccl:
            for name in (READY, *((MULTI_NODE_READY,) if self._request.nodes > 1 else ())):
                if self._values(name) == ["true"]:
                    found[f"{self._prefix}/{name}"] = ["true"]
            classes = self._values(FABRIC_CLASS)
            if len(classes) > 1:
                warnings.append(f"the nodes are of {len(classes)} classes: the selector names none of them, the affinity names all")
            for name, values in ((FABRIC_CLASS, classes), (GPU_PRODUCT, self._values(GPU_PRODUCT))):
                if values:
                    found[f"{self._prefix}/{name}"] = values
            if not found:
                warnings.append(f"the nodes have no labels of {self._prefix}: the selector does not name them, the affinity does")
            elif not classes:
                warnings.append("the class of the nodes is no value of a label, or not known: selector and affinity do not name it")
        for one in self._request.node_selector:
            key, _, value = one.partition("=")
            found[key] = [value]
        return found

    def _values(self, name: str) -> list[str]:
        """Of a label, on the chosen nodes; none where one of them has none that a label can carry."""
        found = {self._label(one, name) for one in self._chosen}
        return sorted(found) if all(one and is_value(one) for one in found) else []

    def _label(self, one: Candidate, name: str) -> str:
        """As the cluster has it, else as the agent makes it; "" for none."""
        if one.labels is not None:
            return one.labels.get(f"{self._prefix}/{name}", "")
        if name in (READY, MULTI_NODE_READY):
            return "true" if (one.single_node if name == READY else one.multi_node) in ("ready", "degraded") else ""
        value = one.fabric_class if name == FABRIC_CLASS else one.product
        return "" if isinstance(value, Unread) else value


def _hostname(one: Candidate) -> str:
    """Value of the node's label; empty where the cluster's node has none."""
    return one.node if one.labels is None else one.labels.get(HOSTNAME, "")


def _in(key: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": values}


def env_of(chosen: Sequence[Candidate], warnings: list[str], hint: str = "") -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Settings that all chosen nodes have with one value; and by node those that differ, or that not all have. `hint`: where to get what
    is missing.
    """
    settings, gaps = dict[str, dict[str, str]](), dict[str, str]()
    for one in chosen:
        if isinstance(one.env, Unread):
            gaps[one.node] = predicate(one.env)
        else:
            settings[one.node] = one.env
    if gaps:
        why = " or ".join(sorted(set(gaps.values())))
        warnings.append(f"{names_of(list(gaps))}: nccl.env {why}: there is no environment for NCCL{hint}")
        return {}, {}
    names = sorted({name for env in settings.values() for name in env})
    common = [name for name in names if len({env.get(name) for env in settings.values()}) == 1]
    own = {node: {name: env[name] for name in names if name in env and name not in common} for node, env in settings.items()}
    return {name: next(iter(settings.values()))[name] for name in common}, {node: env for node, env in own.items() if env}
