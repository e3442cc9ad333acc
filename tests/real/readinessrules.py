"""The kind NodeReadinessRule, and a stand-in for node-readiness-controller.

Source: kubernetes-sigs/node-readiness-controller 0.5.0, API readiness.node.x-k8s.io/v1alpha1.
"""

import contextlib
import json
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import requests

from tests.real.cluster import AS_ADMIN, GPU, MERGE, Cluster
from tests.real.daemonrun import eventually

GROUP = "readiness.node.x-k8s.io"
RULES = f"/apis/{GROUP}/v1alpha1/nodereadinessrules"
FINALIZER = f"{GROUP}/cleanup-taints"
NOT_READY = "readiness.k8s.io/hostagent-not-ready"
MULTI_NOT_READY = "readiness.k8s.io/hostagent-multi-node-not-ready"
#: Of hostagent's taints.
KEYS = (NOT_READY, MULTI_NOT_READY)
_NODES = "/api/v1/nodes"
_STATUSES = ["True", "False", "Unknown"]
_IMMUTABLE = [{"rule": "self == oldSelf", "message": "immutable"}]


def rule(name: str, key: str = NOT_READY, condition: str = "hostagent.dev/Ready", **spec: Any) -> "dict[str, Any]":
    """A rule that taints GPU nodes while their `condition` is not True; `spec`: fields in place of these."""
    usual = {
        "nodeSelector": {"matchLabels": GPU},
        "conditions": [{"type": condition, "requiredStatus": "True"}],
        "taint": {"key": key, "value": "pending", "effect": "NoSchedule"},
        "enforcementMode": "continuous",
    }
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "NodeReadinessRule", "metadata": {"name": name}, "spec": {**usual, **spec}}


def _object(properties: "Mapping[str, Any]", required: Iterable[str] = (), **more: Any) -> "dict[str, Any]":
    return {"type": "object", "properties": dict(properties), "required": list(required), **more}


def _text(most: int, **more: Any) -> "dict[str, Any]":
    return {"type": "string", "maxLength": most, **more}


def _schema() -> "dict[str, Any]":
    condition = {"type": _text(316, minLength=1), "requiredStatus": _text(7, enum=_STATUSES), "defaultStatus": _text(7, enum=_STATUSES)}
    conditions = {
        "type": "array",
        "minItems": 1,
        "maxItems": 32,
        "items": _object(condition, ("type", "requiredStatus")),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "x-kubernetes-validations": _IMMUTABLE,
    }
    taint = _object({"key": _text(316), "value": _text(63), "effect": _text(16, enum=["NoSchedule", "PreferNoSchedule", "NoExecute"])})
    taint["required"] = ["key", "effect"]
    starts = {"rule": "self.key.startsWith('readiness.k8s.io/')", "message": "taint key must start with 'readiness.k8s.io/'"}
    taint["x-kubernetes-validations"] = [starts, *_IMMUTABLE]
    values = {"type": "array", "maxItems": 16, "items": _text(63)}
    expression = _object({"key": _text(316), "operator": _text(16), "values": values}, ("key", "operator"))
    selector = _object(
        {
            "matchLabels": {"type": "object", "maxProperties": 16, "additionalProperties": _text(63)},
            "matchExpressions": {"type": "array", "maxItems": 16, "items": expression},
        }
    )
    spec = {
        "conditions": conditions,
        "conditionPolicy": _text(8, enum=["allOf", "anyOf"], default="allOf", **{"x-kubernetes-validations": _IMMUTABLE}),
        "enforcementMode": _text(16, enum=["bootstrap-only", "continuous"], **{"x-kubernetes-validations": _IMMUTABLE}),
        "taint": taint,
        "nodeSelector": {**selector, "x-kubernetes-validations": _IMMUTABLE},
        "dryRun": {"type": "boolean"},
    }
    never = "self.enforcementMode != 'bootstrap-only' || (self.conditionPolicy == 'allOf' && self.conditions.all(c, !has(c.defaultStatus)))"
    checks = [{"rule": never, "message": "bootstrap-only takes neither anyOf nor defaultStatus"}]
    whole = _object(spec, ("conditions", "enforcementMode", "taint", "nodeSelector"), **{"x-kubernetes-validations": checks})
    return _object({"spec": whole, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}, ("spec",))


def apply_crd(cluster: Cluster) -> None:
    """The kind NodeReadinessRule; returns when the API server lists it."""
    names = {"kind": "NodeReadinessRule", "listKind": "NodeReadinessRuleList", "plural": "nodereadinessrules", "shortNames": ["nrr"]}
    version = {"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}}
    spec = {"group": GROUP, "scope": "Cluster", "names": {**names, "singular": "nodereadinessrule"}}
    spec["versions"] = [{**version, "schema": {"openAPIV3Schema": _schema()}}]
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    body |= {"metadata": {"name": f"nodereadinessrules.{GROUP}"}, "spec": spec}
    answer = cluster.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body, within_s=60)
    assert answer.status_code in (201, 409), answer.text
    eventually(lambda: cluster.ask("GET", RULES).ok)


def remove_crd(cluster: Cluster) -> None:
    """And every rule; returns when the API server answers 404. A `ReadinessController` has to run while a rule has its finalizer."""
    cluster.ask("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodereadinessrules.{GROUP}")
    eventually(lambda: cluster.ask("GET", RULES).status_code == 404)


def matches(selector: "Mapping[str, Any]", labels: "Mapping[str, str]") -> bool:
    """A label selector as Kubernetes reads it; an empty one matches everything."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for one in selector.get("matchExpressions") or ():
        key, values = one["key"], one.get("values") or ()
        fits = {
            "In": key in labels and labels[key] in values,
            "NotIn": key not in labels or labels[key] not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }
        if not fits.get(one["operator"], False):
            return False
    return True


class Write(NamedTuple):
    """One change of a node's taints: ``verb`` is added, removed or cleaned (for a rule that is being deleted)."""

    at: float
    node: str
    rule: str
    verb: str


class ReadinessController:
    """A stand-in for node-readiness-controller, which the Go module proxy does not have. The contract that it meets:

    - each rule, in dry run too, gets the finalizer `readiness.node.x-k8s.io/cleanup-taints`;
    - a node that a rule's nodeSelector matches gets the taint while the conditions are not as required (allOf, anyOf), and loses it when they
      are; type and status count, a missing condition is defaultStatus, else Unknown; the age of a heartbeat counts nothing;
    - a taint of the same key and effect is adopted with whatever value it has; other taints stay, by optimistic lock;
    - dryRun changes no taint; bootstrap-only marks the node (annotation `readiness.k8s.io/bootstrap-completed-<uid>`) when it removes the
      taint, and never taints it again;
    - a rule that is deleted, in dry run too, loses its finalizer only after no node that it matches has its taint.

    It watches as administrator, and writes within 0.3 s of a change. What it lacks: the rule's status, Events, metrics, webhooks.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.writes: list[Write] = []
        self._rules: dict[str, Any] = {}
        self._nodes: dict[str, Any] = {}
        self._dirty: set[str] = set()
        self._unlisted = {RULES, _NODES}
        self._lock, self._wake, self._is_over = threading.Lock(), threading.Event(), threading.Event()

    def __enter__(self) -> "ReadinessController":  # noqa: PYI034  Python 3.10 has no Self
        apply_crd(self.cluster)
        targets = (lambda: self._follow(RULES, self._rules), lambda: self._follow(_NODES, self._nodes), self._work)
        self._threads = [threading.Thread(target=one, daemon=True) for one in targets]
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        """What it wrote stays, finalizers too, as when the real one is killed."""
        self._is_over.set()
        self._wake.set()
        self._threads[-1].join(25)  # the others end with the next event, and write nothing

    def _follow(self, path: str, known: "dict[str, Any]") -> None:
        while not self._is_over.is_set():
            with contextlib.suppress(requests.RequestException, AssertionError, AttributeError, ValueError, KeyError, OSError):
                listed = self.cluster.admin("GET", path)
                with self._lock:
                    known.clear()
                    known.update({one["metadata"]["name"]: one for one in listed["items"]})
                    self._unlisted.discard(path)
                    self._mark_dirty(None)
                self._watch(path, listed["metadata"]["resourceVersion"], known)
            self._is_over.wait(0.1)

    def _watch(self, path: str, version: str, known: "dict[str, Any]") -> None:
        url = f"{self.cluster.url}{path}?watch=1&resourceVersion={version}&timeoutSeconds=60"
        with requests.get(url, headers=AS_ADMIN, verify=self.cluster.ca, stream=True, timeout=(5, 600)) as answer:
            for line in answer.iter_lines():
                event = json.loads(line)
                if self._is_over.is_set() or event["type"] == "ERROR":
                    return
                name = event["object"]["metadata"]["name"]
                with self._lock:
                    if event["type"] == "DELETED":
                        known.pop(name, None)
                    else:
                        known[name] = event["object"]
                    self._mark_dirty(name if known is self._nodes else None)

    def _mark_dirty(self, node: "str | None") -> None:
        """Marks one node, or all, to be evaluated."""
        self._dirty |= set(self._nodes) if node is None else {node}
        self._wake.set()

    def _work(self) -> None:
        while not self._is_over.is_set():
            self._wake.wait(0.25)
            self._wake.clear()
            with self._lock:
                if self._unlisted:
                    continue
                rules, nodes = dict(self._rules), {name: self._nodes.get(name) for name in self._dirty}
                everything = dict(self._nodes)
                self._dirty.clear()
            with contextlib.suppress(requests.RequestException, OSError):
                for one in rules.values():
                    self._keep(one, everything)
            for name, node in nodes.items():
                if node is not None and not all(self._evaluated(one, node) for one in rules.values()):
                    with self._lock:
                        self._dirty.add(name)

    def _keep(self, one: Any, nodes: "Mapping[str, Any]") -> None:
        """The finalizer of one rule."""
        metadata = one["metadata"]
        finalizers = metadata.get("finalizers", [])
        if "deletionTimestamp" not in metadata:
            if FINALIZER not in finalizers:
                self._finalizers(metadata, [*finalizers, FINALIZER])
        elif FINALIZER in finalizers:
            ours = [name for name, node in nodes.items() if matches(one["spec"]["nodeSelector"], node["metadata"].get("labels", {}))]
            are_clean = [self._turn(name, one, "cleaned") for name in ours]
            if all(are_clean):
                self._finalizers(metadata, [other for other in finalizers if other != FINALIZER])

    def _finalizers(self, metadata: Any, wanted: "list[str]") -> None:
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": wanted}}
        self.cluster.ask("PATCH", f"{RULES}/{metadata['name']}", body, kind=MERGE)

    def _evaluated(self, one: Any, node: Any) -> bool:
        """Evaluates one rule for one node: whether the taint is then as wanted."""
        spec, metadata = one["spec"], node["metadata"]
        if spec.get("dryRun") or "deletionTimestamp" in one["metadata"] or not matches(spec["nodeSelector"], metadata.get("labels", {})):
            return True
        mark = _mark(one)
        if spec["enforcementMode"] == "bootstrap-only" and mark in metadata.get("annotations", {}):
            return True
        is_fit = satisfied(spec, node)
        if is_fit != _has(node, spec["taint"]):
            return True
        with contextlib.suppress(requests.RequestException, OSError):
            return self._turn(metadata["name"], one, "removed" if is_fit else "added")
        return False

    def _turn(self, name: str, one: Any, verb: str) -> bool:
        """Read, change, write, five times at most: whether the taint is then as wanted. The conditions are those of the watch."""
        spec = one["spec"]
        for _ in range(5):
            answer = self.cluster.ask("GET", f"{_NODES}/{name}")
            if answer.status_code == 404:
                return True
            node = answer.json()
            if not answer.ok or _has(node, spec["taint"]) == (verb == "added"):
                return answer.ok
            others = [taint for taint in node["spec"].get("taints", []) if not _same(taint, spec["taint"])]
            metadata: dict[str, Any] = {"resourceVersion": node["metadata"]["resourceVersion"]}
            if verb == "removed" and spec["enforcementMode"] == "bootstrap-only":
                metadata["annotations"] = {_mark(one): "true"}
            body = {"metadata": metadata, "spec": {"taints": [*others, spec["taint"]] if verb == "added" else others or None}}
            code = self.cluster.ask("PATCH", f"{_NODES}/{name}", body, kind=MERGE).status_code
            if code == 200:
                self.writes.append(Write(time.monotonic(), name, one["metadata"]["name"], verb))
            if code != 409:
                return code in (200, 404)
        return False


def satisfied(spec: "Mapping[str, Any]", node: "Mapping[str, Any]") -> bool:
    """Whether the node's conditions are as the rule requires."""
    found = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions", [])}
    each = [found.get(one["type"], one.get("defaultStatus", "Unknown")) == one["requiredStatus"] for one in spec["conditions"]]
    return any(each) if spec.get("conditionPolicy") == "anyOf" else all(each)


def _mark(one: Any) -> str:
    return f"readiness.k8s.io/bootstrap-completed-{one['metadata']['uid']}"


def _same(one: "Mapping[str, str]", other: "Mapping[str, str]") -> bool:
    return (one["key"], one["effect"]) == (other["key"], other["effect"])


def _has(node: Any, taint: "Mapping[str, str]") -> bool:
    return any(_same(one, taint) for one in node["spec"].get("taints", []))
