"""Nodes of one label in a cluster that others use too, with their virtual agents and a controller of their own, for tests."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import requests

from tests.real.cluster import Cluster
from tests.real.controllerrun import Agents, Controller, config
from tests.real.daemonrun import eventually
from tests.real.readinessrules import MULTI_NOT_READY, NOT_READY

PREFIX = "hostagent.dev"
KEYS = (NOT_READY, MULTI_NOT_READY)
#: Seconds: a node is closed after so long without a heartbeat; a verdict becomes a taint, or none, within `SOON_S`.
STALE_S, SOON_S = 15, 5.0
_NODES = "/api/v1/nodes"
_TOKEN = {"Authorization": "Bearer admin-of-the-tests"}
_CHANGING = ("resourceVersion", "managedFields")


class Version(NamedTuple):
    """What a node was; ``at``: when the watch brought it, monotonic seconds."""

    at: float
    node: Any


class Fleet:
    """`count` nodes with the label ``fleet=<name>``, and agents that have written nothing yet. Gone on leaving."""

    def __init__(self, cluster: Cluster, name: str, count: int, **more: Any) -> None:
        """`more`: as for `Cluster.nodes`."""
        self.cluster, self.name, self.selector = cluster, name, f"fleet={name}"
        self.names = [f"{name}-{number:02}" for number in range(count)]
        cluster.nodes(self.names, labels={"fleet": name, **more.pop("labels", {})}, **more)
        self.agents = Agents(cluster, self.names)

    def __enter__(self) -> "Fleet":  # noqa: PYI034  Python 3.10 has no Self
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.ask("DELETE", f"{_NODES}?labelSelector={self.selector}")

    @contextlib.contextmanager
    def controller(self, folder: Path, *options: object, account: str = "hostagent-controller") -> "Iterator[Any]":
        """Of these nodes alone, which has read them all."""
        place = folder / self.name
        usual = ["--kubeconfig", config(self.cluster, place, account), "--node-selector", self.selector, "--stale-after", STALE_S]
        elected = () if "--namespace" in options else ("--no-leader-elect",)
        with Controller(place, *usual, *elected, *options) as one:
            eventually(lambda: one.metric("hostagent_controller_settled") == 1)
            yield one

    def nodes(self) -> "dict[str, Any]":
        """All, as they are now."""
        return {one["metadata"]["name"]: one for one in self._listed()["items"]}

    def _listed(self) -> Any:
        return self.cluster.admin("GET", f"{_NODES}?labelSelector={self.selector}")

    def tainted(self, key: str = NOT_READY) -> "set[str]":
        """Those that have the taint."""
        return {name for name, one in self.nodes().items() if has(one, key)}

    def closed(self) -> "set[str]":
        """Those that are closed for silence."""
        return {name for name, one in self.nodes().items() if is_closed(one)}

    def events(self, reason: str) -> "dict[str, str]":
        """Messages by node."""
        found = self.cluster.admin("GET", f"/api/v1/namespaces/default/events?fieldSelector=reason={reason}")["items"]
        return {one["involvedObject"]["name"]: one["message"] for one in found if one["involvedObject"]["name"] in self.names}

    @contextlib.contextmanager
    def watched(self) -> "Iterator[History]":
        """Each version of each node, from now on."""
        listed = self._listed()
        history = History(self, listed["items"])
        thread = threading.Thread(target=history.follow, args=(listed["metadata"]["resourceVersion"],), daemon=True)
        thread.start()
        yield history
        history.is_over = True  # the thread ends with the next event


class History:
    """Versions by node, the oldest first."""

    def __init__(self, fleet: Fleet, items: "list[Any]") -> None:
        self.fleet, self.is_over = fleet, False
        self._versions = {one["metadata"]["name"]: [Version(time.monotonic(), one)] for one in items}

    def follow(self, version: str) -> None:
        """In a thread."""
        path = f"{_NODES}?watch=1&labelSelector={self.fleet.selector}&resourceVersion={version}&timeoutSeconds=300"
        url = self.fleet.cluster.url + path
        get = requests.get(url, headers=_TOKEN, verify=self.fleet.cluster.ca, stream=True, timeout=(5, 400))
        with contextlib.suppress(requests.RequestException), get as answer:  # `of` misses what does not come
            for line in answer.iter_lines():
                if self.is_over:
                    return
                one = json.loads(line)["object"]
                self._versions[one["metadata"]["name"]].append(Version(time.monotonic(), one))

    def of(self, name: str) -> "list[Version]":
        """Up to the node as it is now."""
        newest = int(self.fleet.cluster.get(name)["metadata"]["resourceVersion"])
        eventually(lambda: int(self._versions[name][-1].node["metadata"]["resourceVersion"]) >= newest, 10)
        return list(self._versions[name])


def has(node: Any, key: str = NOT_READY) -> bool:
    """With NoSchedule."""
    return any((one["key"], one["effect"]) == (key, "NoSchedule") for one in node["spec"].get("taints", []))


def mark(node: Any, name: str = "tainted") -> str:
    """The controller's annotation, "" for none."""
    return str(node["metadata"].get("annotations", {}).get(f"{PREFIX}/{name}", ""))


def label(node: Any, name: str = "ready") -> str:
    """The agent's label, "" for none."""
    return str(node["metadata"].get("labels", {}).get(f"{PREFIX}/{name}", ""))


def is_closed(node: Any) -> bool:
    """For silence: by its mark and its labels."""
    return mark(node, "closed") == "silent" and label(node) == label(node, "multi-node-ready") == "unknown"


def of_others(node: Any, *, prefix: str = PREFIX, but: "tuple[str, ...]" = KEYS) -> Any:
    """The node without all that hostagent writes: names under `prefix`, taints of the keys `but`, and versions."""
    begins = f"{prefix}/"
    metadata = {name: one for name, one in node["metadata"].items() if name not in _CHANGING}
    for name in ("labels", "annotations"):
        if name in metadata:
            metadata[name] = {key: value for key, value in metadata[name].items() if not key.startswith(begins)}
    spec = {**node["spec"], "taints": [one for one in node["spec"].get("taints", []) if one["key"] not in but]}
    conditions = [one for one in node["status"].get("conditions", []) if not one["type"].startswith(begins)]
    return {"metadata": metadata, "spec": spec, "status": {**node["status"], "conditions": conditions}}
