"""What a submitter gives the scheduler and the job for the chosen nodes: node selector, node affinity, and NCCL's environment."""

import re
from collections.abc import Sequence
from typing import Any

from hostagent.facts.unread import Unread
from hostagent.gate.candidate import Candidate
from hostagent.gate.request import Request
from hostagent.gate.wording import names_of, predicate, shown

_PREFIX = "hostagent.dev"
_CLASS = f"{_PREFIX}/fabric-class"
_HOSTNAME = "kubernetes.io/hostname"
#: Kubernetes, "Labels and Selectors".
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def selector_of(request: Request, chosen: Sequence[Candidate], warnings: list[str]) -> dict[str, str]:
    """Labels that the chosen nodes have: ready, and their class where they have one. Nothing for the host's NCCL: no label carries that
    class.
    """
    if not chosen or request.host_nccl:
        return {}
    classes = _classes(chosen)
    if len(classes) > 1:
        warnings.append(f"the nodes are of {len(classes)} classes: the selector names none of them, the affinity names all")
    elif not classes:
        warnings.append("the class of the nodes is no value of a label, or not known: selector and affinity do not name it")
    return {_ready(request): "true", **({_CLASS: classes[0]} if len(classes) == 1 else {})}


def affinity_of(request: Request, chosen: Sequence[Candidate], warnings: list[str]) -> dict[str, Any]:
    """The same labels, and the names of the chosen nodes; the names alone for the host's NCCL."""
    if not chosen:
        return {}
    names = [one.node for one in chosen]
    if odd := [name for name in names if not _LABEL.fullmatch(name)]:
        warnings.append(f"{shown(odd[0])} is no value of the label {_HOSTNAME}: the affinity matches no such node")
    expressions = []
    if not request.host_nccl:
        expressions.append(_in(_ready(request), ["true"]))
        if classes := _classes(chosen):
            expressions.append(_in(_CLASS, classes))
    expressions.append(_in(_HOSTNAME, names))
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _ready(request: Request) -> str:
    return f"{_PREFIX}/{'multi-node-ready' if request.nodes > 1 else 'ready'}"


def _classes(chosen: Sequence[Candidate]) -> list[str]:
    """Of the chosen nodes; none where one of them has no class that a label can carry."""
    found = set[str]()
    for one in chosen:
        if isinstance(one.fabric_class, Unread) or not _LABEL.fullmatch(one.fabric_class):
            return []
        found.add(one.fabric_class)
    return sorted(found)


def _in(key: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": values}


def env_of(chosen: Sequence[Candidate], warnings: list[str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Settings that all chosen nodes have with one value; and by node those that differ, or that not all have."""
    settings, gaps = dict[str, dict[str, str]](), dict[str, str]()
    for one in chosen:
        if isinstance(one.env, Unread):
            gaps[one.node] = predicate(one.env)
        else:
            settings[one.node] = one.env
    if gaps:
        why = " or ".join(sorted(set(gaps.values())))
        warnings.append(f"{names_of(list(gaps))}: nccl.env {why}: there is no environment for NCCL")
        return {}, {}
    names = sorted({name for env in settings.values() for name in env})
    common = [name for name in names if len({env.get(name) for env in settings.values()}) == 1]
    own = {node: {name: env[name] for name in names if name in env and name not in common} for node, env in settings.items()}
    return {name: next(iter(settings.values()))[name] for name in common}, {node: env for node, env in own.items() if env}
