"""A cluster in memory for tests of the controller: nodes, rules and Events behind the methods of ``hostagent.kube.api.Api``."""

import copy

from hostagent.kube.api import ApiError, Page

PREFIX = "hostagent.dev"
GPU = "nvidia.com/gpu.present"
NODES = "/api/v1/nodes"


def conflict(code=409, field=""):
    status = {"reason": "NotFound" if code == 404 else "Conflict", **({"details": {"causes": [{"field": field}]}} if field else {})}
    return ApiError("refused", code, status)


def merged(old, new):
    """JSON merge patch (RFC 7396)."""
    if not isinstance(new, dict):
        return copy.deepcopy(new)
    found = dict(old) if isinstance(old, dict) else {}
    for key, value in new.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def made_node(name, uid, *, labels=None, taints=()):
    metadata = {"name": name, "uid": uid, "labels": {GPU: "true", **(labels or {})}, "annotations": {"other": "kept"}}
    return {
        "metadata": metadata,
        "spec": {"podCIDR": "10.0.0.0/24", "taints": copy.deepcopy(list(taints))},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}], "capacity": {"cpu": "8"}},
    }


class Cluster:
    """``before_patch``: called with the name of a node before its PATCH is looked at; ``accept``: with the node before and
    after it; ``emit``: with each changed node."""

    def __init__(self):
        self.nodes, self.version, self.events, self.full_reads, self.patches = {}, 0, [], 0, []
        self.before_patch = lambda *_: None
        self.accept = lambda *_: None
        self.emit = lambda *_: None
        self.answered = lambda: None
        self.is_down = False

    def put(self, node):
        self.version += 1
        node["metadata"]["resourceVersion"] = str(self.version)
        self.nodes[node["metadata"]["name"]] = node
        self.emit(metadata_of(node), False)

    def change(self, name, act):
        if name in self.nodes:
            node = copy.deepcopy(self.nodes[name])
            act(node)
            if node != self.nodes[name]:  # a write that changes nothing makes no event
                self.put(node)

    def remove(self, name):
        node = self.nodes.pop(name, None)
        if node:
            self.emit(metadata_of(node), True)

    # -- as Api

    def close(self):
        pass

    def _answer(self):
        if self.is_down:
            raise ApiError("not reached", 0)
        self.answered()

    def get(self, path, *, form="whole"):
        self._answer()
        if not path.startswith(f"{NODES}/"):
            return {"kind": "Thing", "metadata": {}}
        name = path.removeprefix(f"{NODES}/")
        if name not in self.nodes:
            raise conflict(404)
        return copy.deepcopy(self.nodes[name])

    def pages(self, path, *, limit, selector="", form="whole"):
        self._answer()
        found = [copy.deepcopy(node) for _, node in sorted(self.nodes.items()) if path == NODES and selected(node, selector)]
        self.full_reads += form == "whole" and path == NODES and limit > 1
        for start in range(0, max(1, len(found)), limit):
            yield Page(found[start : start + limit], str(self.version))

    def patch(self, path, body, kind, *, may_send=None):
        self._answer()
        if not path.startswith(f"{NODES}/"):
            return {}
        name, _, part = path.removeprefix(f"{NODES}/").partition("/")
        self.before_patch(name)
        node = self.nodes.get(name)
        metadata = body["metadata"]
        if node is None:
            raise conflict(404)
        assert all((metadata["uid"], metadata["resourceVersion"])), "every write carries both"
        if metadata["uid"] != node["metadata"]["uid"]:
            raise conflict(422, "metadata.uid")
        if metadata["resourceVersion"] != node["metadata"]["resourceVersion"]:
            raise conflict()
        assert (part, kind) in (("", "merge"), ("status", "strategic"))
        fresh = copy.deepcopy(node)
        fresh["metadata"] = merged(fresh["metadata"], metadata)
        if part:
            assert "spec" not in body
            for one in body["status"]["conditions"]:
                old = next((had for had in fresh["status"]["conditions"] if had["type"] == one["type"]), None)
                assert old, "only conditions that the node has"
                old.update(one)
        else:
            assert "status" not in body
            fresh["spec"] = merged(fresh["spec"], body.get("spec", {}))
        self.accept(node, fresh)
        self.patches.append((name, part, body))
        if fresh != node:
            self.put(fresh)
        return metadata_of(self.nodes[name])

    def create(self, path, body, *, may_send=None):
        self._answer()
        self.events.append(body)
        return body


def selected(node, selector):
    labels = node["metadata"]["labels"]
    return (labels.get(GPU) == "true") == (selector == f"{GPU}=true") and (GPU in selector.split(",")[0] or f"{PREFIX}/ready" in labels)


def metadata_of(node):
    return {"kind": "PartialObjectMetadata", "metadata": copy.deepcopy(node["metadata"])}
