"""Nodes of one label in a cluster that others use too, with their virtual agents and a controller of their own, for tests."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import requests

from tests.real.cluster import AS_ADMIN, MERGE, Cluster
from tests.real.controllerrun import PREFIX, Agents, Controller, config
from tests.real.daemonrun import eventually
from tests.real.readinessrules import KEYS, NOT_READY

#: Seconds: a node is closed after so long without a heartbeat; a verdict becomes a taint, or none, within `SOON_S`.
STALE_S, SOON_S = 15, 5.0
_NODES = "/api/v1/nodes"
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
        self._more = {**more, "labels": {"fleet": name, **more.get("labels", {})}}
        self.make(*self.names)
        self.agents = Agents(cluster, self.names)

    def make(self, *names: str) -> None:
        """Those nodes anew, as they were in the beginning."""
        self.cluster.nodes(names, **self._more)

    def __enter__(self) -> "Fleet":  # noqa: PYI034  Python 3.10 has no Self
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.ask("DELETE", f"{_NODES}?labelSelector={self.selector}")

    @contextlib.contextmanager
    def controller(
        self, folder: Path, *options: object, account: str = "hostagent-controller", is_elected: bool = False
    ) -> "Iterator[Controller]":
        """Of these nodes alone. It has read them all, but where it is to be elected: see `Controller.leads`."""
        place = folder / self.name
        usual = ["--kubeconfig", config(self.cluster, place, account), "--node-selector", self.selector, "--stale-after", STALE_S]
        alone = () if is_elected else ("--no-leader-elect",)
        with Controller(place, *usual, *alone, *options) as one:
            if not is_elected:
                one.leads()
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
        get = requests.get(url, headers=AS_ADMIN, verify=self.fleet.cluster.ca, stream=True, timeout=(5, 400))
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


class Busy:
    """Another controller: it reads, changes and writes a taint of its own on each node all the time."""

    KEY = "example.com/busy"

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self._over = fleet, threading.Event()
        self.made = dict.fromkeys(fleet.names, 0)

    def __enter__(self) -> "Busy":  # noqa: PYI034  Python 3.10 has no Self
        self._thread = threading.Thread(target=self._work)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Before the block ends."""
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._over.wait(0.02):
            for name, count in self.made.items():
                node = self.fleet.cluster.get(name)
                others = [one for one in node["spec"].get("taints", []) if one["key"] != self.KEY]
                value = {"key": self.KEY, "effect": "NoSchedule", "value": str(count + 1)}
                body = {"metadata": {"resourceVersion": node["metadata"]["resourceVersion"]}, "spec": {"taints": [*others, value]}}
                if self.fleet.cluster.ask("PATCH", f"{_NODES}/{name}", body, kind=MERGE).ok:
                    self.made[name] += 1

    def goes_on(self) -> None:
        """Until each node is written five times more."""
        before = dict(self.made)
        eventually(lambda: all(made > before[name] + 5 for name, made in self.made.items()))

    def check(self, name: str, versions: "list[Version]") -> None:
        """After `end`. Each value that was written is there until the next one is."""
        taints = ({one["key"]: one for one in version.node["spec"].get("taints", [])} for version in versions)
        values = [int(found[self.KEY]["value"]) if self.KEY in found else 0 for found in taints]
        assert values == sorted(values), "0: it is gone"
        assert set(values) - {0} == set(range(1, self.made[name] + 1))


def has(node: Any, key: str = NOT_READY) -> bool:
    """With NoSchedule."""
    return any((one["key"], one["effect"]) == (key, "NoSchedule") for one in node["spec"].get("taints", []))


def has_all(node: Any) -> bool:
    """Both taints."""
    return all(has(node, key) for key in KEYS)


def mark(node: Any, name: str = "tainted") -> str:
    """The controller's annotation, "" for none."""
    return str(node["metadata"].get("annotations", {}).get(f"{PREFIX}/{name}", ""))


def label(node: Any, name: str = "ready") -> str:
    """The agent's label, "" for none."""
    return str(node["metadata"].get("labels", {}).get(f"{PREFIX}/{name}", ""))


def conditions(node: Any) -> "dict[str, tuple[str, str]]":
    """The agent's: status and reason by type, without the prefix."""
    listed = [one for one in node["status"].get("conditions", []) if one["type"].startswith(f"{PREFIX}/")]
    return {one["type"].removeprefix(f"{PREFIX}/"): (one["status"], one.get("reason", "")) for one in listed}


def is_closed(node: Any) -> bool:
    """For silence: by its conditions, labels and mark. The taints follow."""
    are_unknown = set(conditions(node).values()) == {("Unknown", "AgentSilent")}
    return are_unknown and label(node) == label(node, "multi-node-ready") == "unknown" and mark(node, "closed") == "silent"


def is_silent(node: Any) -> bool:
    """Closed for silence, whole."""
    return is_closed(node) and has_all(node) and bool(mark(node, "why"))


def is_open(node: Any) -> bool:
    """Ready, with no taint of ours and no mark of the controller."""
    is_ready = conditions(node).get("Ready", ("",))[0] == "True" and label(node) == "true"
    return is_ready and not any(has(node, key) for key in KEYS) and not any(mark(node, name) for name in ("closed", "tainted", "why"))


def whole(node: Any) -> Any:
    """The node without what each write changes."""
    metadata = {name: one for name, one in node["metadata"].items() if name not in _CHANGING}
    return {"metadata": metadata, "spec": node["spec"], "status": node["status"]}


def of_others(node: Any, *, but: "tuple[str, ...]" = KEYS) -> Any:
    """And without all that hostagent writes: names under the prefix, taints of the keys `but`."""
    begins, found = f"{PREFIX}/", whole(node)
    for name in ("labels", "annotations"):
        if name in found["metadata"]:
            found["metadata"][name] = {key: value for key, value in found["metadata"][name].items() if not key.startswith(begins)}
    spec = {**node["spec"], "taints": [one for one in node["spec"].get("taints", []) if one["key"] not in but]}
    listed = [one for one in node["status"].get("conditions", []) if not one["type"].startswith(begins)]
    return {**found, "spec": spec, "status": {**node["status"], "conditions": listed}}
