"""Pods out of manifests: a Pod, anything that has pod templates, and lists of these."""

# Manifests are read as the API server reads them: devices in parts, a request of devices or huge pages without an equal limit, a
# request over its limit are mistakes. Devices by resource claims cannot be counted. Memory in parts of a byte (`100m`) is
# rejected by the static memory manager; an empty spec.resources makes a pod BestEffort. A resource that is not registered is
# ignored by the kubelet (it may be the cluster's), and the scheduler never sends such a pod.

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from hostagent.domains.kubelet.placement.pods import Container, Pod, total
from hostagent.domains.kubelet.placement.quantity import amount, is_fraction, shown

_DEEP = 12
_MOST_CONTAINERS = 250
_MOST_VALUES = 20_000
_MOST_PODS = 100
#: Characters of a key in the path of a template: a path repeats it for each value below.
_MOST_KEY = 80


def pods_in(document: object, label: str) -> tuple[Pod, ...]:
    """The pods of a Pod, Deployment, Job, CronJob, StatefulSet or of what else holds pod templates, with the API server's defaults.

    Templates that ask for the same are one pod; others (a launcher and its workers) are one each, named by their place. Of a list each
    item counts, and those without a pod are passed over. Raises ``ValueError`` with a sentence: no pod, or what the API server refuses.
    """
    if not isinstance(document, Mapping):
        raise ValueError("holds no Kubernetes object: wants a mapping with a kind")
    kind, items = _text(document, "kind"), document.get("items")
    if kind.endswith("List") and isinstance(items, list):
        pods = tuple(pod for item in items if _holds_pods(item) for pod in pods_in(item, label))
    elif kind == "Pod":
        pods = (_pod(document.get("spec"), _label(document, label)),)
    else:
        pods = _of_templates(list(_templates(document)), _label(document, label))
    if not pods:
        raise ValueError(f"holds no pod template: found kind {kind[:60]!r}")
    return pods


def _text(holder: Mapping[Any, Any], key: str) -> str:
    """The value as a text; "" for anything but a string or a number, which may be large."""
    value = holder.get(key)
    return str(value) if isinstance(value, str | int | float) else ""


def _holds_pods(item: object) -> bool:
    return isinstance(item, Mapping) and (item.get("kind") == "Pod" or next(_templates(item), None) is not None)


def _of_templates(found: list[tuple[str, Any]], label: str) -> tuple[Pod, ...]:
    pods, asked = list[Pod](), list[object]()
    for path, spec in found:
        pod = _pod(spec, label)
        asks = _asks(pod)
        if asks not in asked:
            asked.append(asks)
            pods.append(pod._replace(label=f"{label} {path}") if len(found) > 1 else pod)
        if len(pods) > _MOST_PODS:
            raise ValueError(f"holds more than {_MOST_PODS} pod templates that ask for different things")
    return tuple(pods) if len(pods) > 1 else tuple(pod._replace(label=label) for pod in pods)


def _label(document: Mapping[Any, Any], label: str) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{label} {name[:253]}" if isinstance(name, str) and name else label


def _asks(pod: Pod) -> object:
    return pod._replace(label="", containers=tuple(one._replace(name="") for one in pod.containers))


def _templates(document: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Every mapping with a list of containers at any depth, with its path."""
    stack: list[tuple[str, Any, int]] = [("", document, 0)]
    count = 0
    while stack:
        path, value, depth = stack.pop()
        count += 1
        if count > _MOST_VALUES or depth > _DEEP:
            raise ValueError("is too large or too deep for a manifest")
        if isinstance(value, Mapping):
            if isinstance(value.get("containers"), list) and path:
                yield path, value
                continue
            stack += [(f"{path}.{_key(key)}" if path else _key(key), item, depth + 1) for key, item in reversed(list(value.items()))]
        elif isinstance(value, list):
            stack += [(f"{path}[{place}]", item, depth + 1) for place, item in reversed(list(enumerate(value)))]


def _key(key: object) -> str:
    return str(key)[:_MOST_KEY]


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
    resources = spec.get("resources")
    requests, limits = _resources(resources, "the pod")
    claims = tuple(_text(one, "name")[:253] for one in _list(spec, "resourceClaims") if isinstance(one, Mapping))
    overhead = _quantities(spec.get("overhead"), "the pod's overhead")
    pod = Pod(label, (*first, *apps), requests, limits, resources is not None, overhead, claims)
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
    name = _text(one, "name")[:253]
    kind: Literal["app", "init", "sidecar"] = "app"
    if is_init:
        kind = "sidecar" if one.get("restartPolicy") == "Always" else "init"
    resources = one.get("resources")
    requests, limits = _resources(resources, f"container {name}")
    requests = limits | requests
    for resource, size in requests.items():
        _refuse(resource, size, limits.get(resource), f"container {name}")
    return Container(name, kind, requests, limits, _has_fractions(resources))


def _refuse(resource: str, request: int, limit: int | None, owner: str) -> None:
    """Rejects as the API server does: requests over their limit, and requests without an equal limit for resources without overcommit."""
    is_exact = "/" in resource or resource.startswith("hugepages-")
    if is_exact and limit is None:
        raise ValueError(f"{owner}: {resource[:60]}: found a request without a limit, wanted both, and equal")
    if limit is not None and (request > limit or (is_exact and request != limit)):
        wanted = "the same" if is_exact else "at most the limit"
        found = f"a request of {shown(resource, request)} and a limit of {shown(resource, limit)}"
        raise ValueError(f"{owner}: {resource[:60]}: found {found}, wanted {wanted}")


def _has_fractions(resources: object) -> bool:
    """Whether memory or huge pages are asked for in fractions of a byte."""
    requests = resources.get("requests") if isinstance(resources, Mapping) else None
    limits = resources.get("limits") if isinstance(resources, Mapping) else None
    asked = {**(limits if isinstance(limits, Mapping) else {}), **(requests if isinstance(requests, Mapping) else {})}
    return any(is_fraction(size) for name, size in asked.items() if name == "memory" or str(name).startswith("hugepages-"))


def _resources(value: object, owner: str) -> tuple[dict[str, int], dict[str, int]]:
    if value is None:
        return {}, {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{owner}: resources is no mapping")
    return _quantities(value.get("requests"), owner), _quantities(value.get("limits"), owner)


def _quantities(value: object, owner: str) -> dict[str, int]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{owner}: its requests or limits are no mapping")
    found: dict[str, int] = {}
    for name, size in value.items():
        if not isinstance(name, str):
            raise ValueError(f"{owner}: found a name of a resource that is no text")
        try:
            found[name] = amount(name, size)
            if "/" in name and is_fraction(size):
                raise ValueError(f"found {str(size)[:40]}, wanted a whole number")  # noqa: TRY301  # re-raised below with its resource
        except ValueError as error:
            raise ValueError(f"{owner}: {name[:60]}: {error}") from error
    return found


def _with_pod_defaults(pod: Pod) -> Pod:
    """Adds the API server's defaults for a pod with its own resources: huge pages, and requests by its containers or limits."""
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
