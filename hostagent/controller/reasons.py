"""Explains why a node is closed: the controller's reason, its taints, and the agent's own conditions."""

import json
from collections.abc import Mapping
from typing import Any

from hostagent.controller.node import KEYS, SUMMARY, Whole, parse_whole
from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.kube.parts import part, texts

_HEADLINE = 300


def render_why(item: Mapping[str, Any], prefix: str) -> tuple[str, bool]:
    """The text, and whether the node is ready and open. Raises ``HostagentError`` for what is no node."""
    whole = parse_whole(item, prefix, ())
    if whole is None:
        raise HostagentError("the answer of the API server is no node", "")
    taints = [key for key in KEYS if whole.has(key)]
    has_agent = bool(whole.node.has_verdict or whole.conditions or f"{prefix}/ready" in whole.labels)
    is_ready = whole.node.ready == "true" or not has_agent
    if taints:
        is_ours = set(taints) <= set(whole.node.tainted) and whole.why.startswith("closed")
        state = visible(whole.why) if is_ours else "closed"
    else:
        state = "open" if is_ready else "not ready, and has no taint of hostagent: pods may still be scheduled on it"
    lines = [f"{whole.node.name} is {state}"]
    lines += [
        f"  taint      {key}:NoSchedule{'' if key in whole.node.tainted else ' (without a mark of the controller)'}" for key in taints
    ]
    lines += ["  cordoned   not by hostagent"] if whole.is_cordoned else []
    lines += [f"  {line}" for line in _agent(whole, item, prefix)] if has_agent else ["  agent      has not written to this node"]
    return "\n".join(lines) + "\n", is_ready and not taints


def _agent(whole: Whole, item: Mapping[str, Any], prefix: str) -> list[str]:
    """What the agent wrote last."""
    labels = ", ".join(
        f"{name.removeprefix(prefix + '/')}={value}" for name, value in sorted(whole.labels.items()) if _is_verdict(name, prefix)
    )
    lines = [f"label      {visible(labels) or 'none'}", f"heartbeat  {visible(whole.node.heartbeat) or 'none'}"]
    headline = _headline(texts(part(item, "metadata"), "annotations").get(f"{prefix}/{SUMMARY}", ""))
    lines += [f"verdict    {headline}"] if headline else []
    return lines + _conditions(whole)


def _conditions(whole: Whole) -> list[str]:
    """Those that are not True; equal texts once."""
    kinds: dict[str, list[str]] = {}
    for kind, one in whole.conditions.items():
        if one.get("status") != "True":
            kinds.setdefault(f"{one.get('status')} ({one.get('reason')}): {one.get('message')}", []).append(kind)
    return [visible(f"{', '.join(found)} {'is' if len(found) == 1 else 'are'} {text}") for text, found in kinds.items()]


def _is_verdict(name: str, prefix: str) -> bool:
    return name in (f"{prefix}/ready", f"{prefix}/multi-node-ready")


def _headline(summary: str) -> str:
    """Of the annotation, "" where it is none."""
    try:
        found = json.loads(summary) if summary else {}
    except (ValueError, RecursionError):
        return "its annotation summary is no JSON"
    text = found.get("headline") if isinstance(found, dict) else ""
    return visible(text)[:_HEADLINE] if isinstance(text, str) else ""
