"""Pods out of manifests: a Pod, or anything that has one pod template."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from hostagent.placement.pods import Container, Pod, total
from hostagent.placement.quantity import amount

_DEEP = 12
_MOST_CONTAINERS = 250
_MOST_VALUES = 20_000


def pod_of(document: object, label: str) -> Pod:
    """The pod of a Pod, Deployment, Job, CronJob, StatefulSet or of what else holds one pod template, with the API server's defaults.

    Raises ``ValueError`` with a sentence: no pod, several different ones, or quantities that are none.
    """
    if not isinstance(document, Mapping):
        raise ValueError("holds no Kubernetes object: wants a mapping with a kind")
    named = _label(document, label)
    if document.get("kind") == "Pod":
        return _pod(document.get("spec"), named)
    found = list(_templates(document))
    if not found:
        raise ValueError(f"holds no pod template: found kind {str(document.get('kind'))[:60]!r}")
    pods = [(path, _pod(spec, named)) for path, spec in found]
    if any(_asks(pod) != _asks(pods[0][1]) for _, pod in pods[1:]):
        places = ", ".join(path for path, _ in pods[:6])
        raise ValueError(f"holds pods of different shapes ({places}): give each pod by itself")
    return pods[0][1]


def _label(document: Mapping[Any, Any], label: str) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{label} {name[:253]}" if isinstance(name, str) and name else label


def _asks(pod: Pod) -> object:
    return [(one.kind, dict(one.requests), dict(one.limits)) for one in pod.containers], dict(pod.requests), dict(pod.limits)


def _templates(document: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Every mapping with a list of containers, wherever it lies, with its path."""
    stack: list[tuple[str, Any, int]] = [("", document, 0)]
    seen = 0
    while stack:
        path, value, depth = stack.pop()
        seen += 1
        if seen > _MOST_VALUES or depth > _DEEP:
            raise ValueError("is too large or too deep for a manifest")
        if isinstance(value, Mapping):
            if isinstance(value.get("containers"), list) and path:
                yield path, value
                continue
            stack += [(f"{path}.{key}" if path else str(key), item, depth + 1) for key, item in reversed(list(value.items()))]
        elif isinstance(value, list):
            stack += [(f"{path}[{place}]", item, depth + 1) for place, item in reversed(list(enumerate(value)))]


def _pod(spec: object, label: str) -> Pod:
    if not isinstance(spec, Mapping):
        raise ValueError("has no spec")
    first = [_container(one, is_init=True) for one in _list(spec, "initContainers")]
    apps = [_container(one, is_init=False) for one in _list(spec, "containers")]
    if not apps:
        raise ValueError("has no containers")
    if len(first) + len(apps) > _MOST_CONTAINERS:
        raise ValueError(f"has more than {_MOST_CONTAINERS} containers")
    names = [one.name for one in (*first, *apps)]
    if len(set(names)) < len(names):
        raise ValueError("has two containers of one name")
    requests, limits = _resources(spec.get("resources"), "the pod")
    pod = Pod(label, (*first, *apps), requests, limits)
    return _with_pod_defaults(pod) if limits or requests else pod


def _list(spec: Mapping[Any, Any], key: str) -> list[Any]:
    value = spec.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"has no list in {key}")
    return value


def _container(one: object, *, is_init: bool) -> Container:
    if not isinstance(one, Mapping):
        raise ValueError("has a container that is no mapping")
    name = str(one.get("name", ""))[:253]
    kind: Literal["app", "init", "sidecar"] = "app"
    if is_init:
        kind = "sidecar" if one.get("restartPolicy") == "Always" else "init"
    requests, limits = _resources(one.get("resources"), f"container {name}")
    return Container(name, kind, limits | requests, limits)


def _resources(value: object, whose: str) -> tuple[dict[str, int], dict[str, int]]:
    if value is None:
        return {}, {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{whose}: resources is no mapping")
    return _quantities(value.get("requests"), whose), _quantities(value.get("limits"), whose)


def _quantities(value: object, whose: str) -> dict[str, int]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{whose}: its requests or limits are no mapping")
    found: dict[str, int] = {}
    for name, size in value.items():
        if not isinstance(name, str):
            raise ValueError(f"{whose}: {str(name)[:40]!r} is no resource")
        try:
            found[name] = amount(name, size)
        except ValueError as error:
            raise ValueError(f"{whose}: {name[:60]}: {error}") from error
    return found


def _with_pod_defaults(pod: Pod) -> Pod:
    """What the API server fills in for a pod with resources of its own: huge pages, and requests by its containers or limits."""
    alone = pod._replace(requests={}, limits={})
    limits = dict(pod.limits)
    for name, size in total(alone, limits=True).items():
        if name.startswith("hugepages-") and name not in pod.requests:
            limits.setdefault(name, size)
    requests = dict(pod.requests)
    if limits:
        asked = {name: size for name, size in total(alone).items() if name in ("cpu", "memory")}
        supported = {name: size for name, size in limits.items() if name in ("cpu", "memory") or name.startswith("hugepages-")}
        requests = supported | asked | requests
    return pod._replace(requests=requests, limits=limits)
