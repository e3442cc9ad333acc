"""Nodes and pods of Kubernetes for the gate's tests, and an API server in this process that lists them in pages."""

import json
import time

from hostagent.kube.api import ApiError, Page
from tests.gate_summaries import NOW, put, summary

PREFIX = "hostagent.dev"
GPU = "nvidia.com/gpu"


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def node(name="n1", changes=None, of_summary=None):
    """A ready node with 8 free GPUs; `changes` by dotted path as (path, value), of the object; `of_summary` as of `summary`."""
    said = summary(name, of_summary)
    said.pop("observed_at"), said.pop("valid_until")
    conditions = {"Ready": "True", f"{PREFIX}/Ready": "True", f"{PREFIX}/MultiNodeReady": "True"}
    labels = {"ready": "true", "multi-node-ready": "true", "fabric-class": said["fabric"]["class"], "gpu-product": "NVIDIA-H100-80GB-HBM3"}
    offered = {GPU: "8", "pods": "110", "cpu": "64"}
    made = {
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **{f"{PREFIX}/{key}": value for key, value in labels.items()}},
            "annotations": {f"{PREFIX}/summary": json.dumps(said), f"{PREFIX}/heartbeat": stamp(NOW - 60)},
        },
        "spec": {},
        "status": {
            "conditions": [{"type": kind, "status": status} for kind, status in conditions.items()],
            "allocatable": dict(offered),
            "capacity": dict(offered),
            "nodeInfo": {"bootID": "b1"},
        },
    }
    for path, value in changes or ():
        put(made, path, value)
    return made


def condition(made, kind, status, message=""):
    """The same node, with that condition; without it for the status None."""
    rows = [one for one in made["status"]["conditions"] if one["type"] != kind]
    made["status"]["conditions"] = [*rows, *([{"type": kind, "status": status, "message": message}] if status else [])]
    return made


def label(made, key, value):
    made["metadata"]["labels"] = {**made["metadata"]["labels"], key: value}
    if value is None:
        del made["metadata"]["labels"][key]
    return made


def pod(on, gpus=0, phase="Running", **spec):
    asked = {"resources": {"requests": {GPU: str(gpus)}, "limits": {GPU: str(gpus)}}} if gpus else {}
    return {"metadata": {"name": f"p-{on}"}, "spec": {"nodeName": on, "containers": [asked], **spec}, "status": {"phase": phase}}


class Server:
    """What `Api` has, over lists in memory. `faults`: errors by path, each raised once, before the page of that number if there is one."""

    def __init__(self, nodes=(), pods=(), version="v1.35.4", date=NOW):
        self.nodes, self.pods, self.version, self.answered_at = list(nodes), list(pods), version, date
        self.slices, self.asked, self.faults, self.closed = None, [], [], 0

    def another(self):
        return self

    def close(self):
        self.closed += 1

    def get(self, path):
        self._fail(path)
        if path == "/version":
            return self.version if isinstance(self.version, dict) else {"gitVersion": self.version}
        if path == "/apis/resource.k8s.io" and self.slices is not None:
            return {"preferredVersion": {"version": "v1"}}
        raise ApiError("not found", 404)

    def page(self, listing, following=""):
        self._fail(f"{listing.path} {following}".strip())
        self.asked.append((listing, following))
        items = {"/api/v1/nodes": self.nodes, "/api/v1/pods": self.pods}.get(listing.path, self.slices)
        if listing.path == "/api/v1/nodes":
            items = [one for one in items if selects(listing.selector, one["metadata"].get("labels", {}))]
        if listing.fields.startswith("spec.nodeName="):
            name = listing.fields.split(",")[0].split("=")[1]
            items = [one for one in items if one["spec"].get("nodeName") == name]
        begin = int(following or 0)
        end = begin + listing.limit
        return Page(items[begin:end], "7", str(end) if end < len(items) else "")

    def count(self, path):
        self._fail(path)
        return len(self.nodes)

    def selectors(self):
        return [listing.selector for listing, following in self.asked if listing.path == "/api/v1/nodes" and not following]

    def _fail(self, path):
        for number, (where, error) in enumerate(self.faults):
            if where == path:
                del self.faults[number]
                raise error


def selects(selector, labels):
    """A label selector of equality terms."""
    for term in selector.split(","):
        key, wanted = term.lstrip("!").partition("=")[0].rstrip("!"), term.partition("=")[2]
        if "!=" in term:
            holds = labels.get(key) != wanted
        elif "=" in term:
            holds = labels.get(key) == wanted
        else:
            holds = (key in labels) != term.startswith("!")
        if not holds:
            return False
    return True
