"""What the kubelet was seen to answer, row by row: machines, configuration, pods, answers. The unit tests ask the model, the real tests its judge."""

GI = 1 << 30
OK, TAE, UAE, SMT = "ok", "TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError"


def machine(nodes, cpus=32, memory=128, *, with_cpus=None, ids=None, distances=None):
    """Nodes with so many CPUs each (SMT pairs side by side), one node a socket."""
    ids = ids or list(range(nodes))
    rows = []
    for place, number in enumerate(ids):
        has = with_cpus is None or place < with_cpus
        first = place * cpus
        cores = [{"socket": place, "cpus": [first + 2 * core, first + 2 * core + 1]} for core in range(cpus // 2)] if has else []
        row = distances[place] if distances else [10 if other == place else 21 for other in range(nodes)]
        rows.append({"id": number, "memory": memory * GI if has else 0, "hugepages": {}, "distances": row, "cores": cores})
    return {"sockets": with_cpus or nodes, "nodes": rows}


def devices(*counts, start=0, unhealthy=()):
    """So many on each node; None has no topology."""
    found = []
    for node, count in counts:
        for _ in range(count):
            found.append(
                {"id": f"{len(found):03}", "nodes": None if node is None else [node], "healthy": len(found) + start not in unhealthy}
            )
    return found


M = machine(2)
EVEN = {"nvidia.com/gpu": devices((0, 4), (1, 4))}
NPS4 = machine(8, cpus=16)
ONE_EACH = {"nvidia.com/gpu": devices(*((node, 1) for node in range(8)))}


def setup(base, gpus, policy, **other):
    """One configuration of a machine: static CPUs reserve CPU 0, static memory 1 GiB a node."""
    static = other.pop("static", False)
    memory = other.pop("memory", False)
    values = {
        "policy": policy, "scope": "container", "options": {}, "cpu_policy": "static" if static else "none", "cpu_options": {},
        "reserved_cpus": "0" if static else "", "reserved": {"cpu": "1", "memory": f"{len(base['nodes'])}Gi"},
        "memory_policy": "Static" if memory else "None", "max_pods": 110,
        "reserved_memory": [{"node": row["id"], "limits": {"memory": "1Gi"}} for row in base["nodes"]] if memory else [],
    }  # fmt: skip
    return {**base, "devices": gpus, **values, **other}


def box(gpus=0, cpus=None, memory=None, *, nics=0, burstable=False, name="main", sidecar=False):
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    if nics:
        limits["rdma/hca"] = str(nics)
    if cpus is not None:
        limits |= {"cpu": str(cpus), "memory": memory or "1Gi"}
    elif memory is not None:
        limits["memory"] = memory
    found = {"name": name, "resources": {"limits": limits}}
    if burstable:
        found["resources"]["requests"] = {"cpu": "1"}
    return found | ({"restartPolicy": "Always"} if sidecar else {})


def pod(*containers, init=()):
    return {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": list(containers), "initContainers": list(init)}}


def gpus(*counts):
    return [pod(box(count)) for count in counts]


def _rows():
    for count, single, restricted in ((4, "ok 0", "ok 0"), (6, TAE, "ok 0 1"), (8, TAE, "ok 0 1")):
        yield f"{count} GPUs, single-numa-node", setup(M, EVEN, "single-numa-node"), gpus(count), [single]
        yield f"{count} GPUs, restricted", setup(M, EVEN, "restricted"), gpus(count), [restricted]
    for policy, answer in (("restricted", TAE), ("single-numa-node", TAE), ("none", UAE), ("best-effort", UAE)):
        yield f"9 GPUs, {policy}", setup(M, EVEN, policy), gpus(9), [answer]
    for policy in ("restricted", "single-numa-node"):
        yield f"3, 3, then 2, {policy}", setup(M, EVEN, policy), gpus(3, 3, 2), ["ok 0", "ok 1", TAE]
    yield "3, 3, then 2, best-effort", setup(M, EVEN, "best-effort"), gpus(3, 3, 2), ["ok 0", "ok 1", "ok 0 1"]
    yield "1, then 6, restricted", setup(M, EVEN, "restricted"), gpus(1, 6), ["ok 0", "ok 0 1"]
    yield "1, then 6, single-numa-node", setup(M, EVEN, "single-numa-node"), gpus(1, 6), ["ok 0", TAE]
    part = pod(box(1, cpus="2", memory="100m"))
    kept = setup(M, EVEN, "restricted", static=True, memory=True)
    yield "memory in a part of a byte, static memory", kept, [part], [UAE]
    yield "memory in a part of a byte", setup(M, EVEN, "restricted", static=True), [part], ["ok 0"]
    group = pod(box(8, cpus="20", memory="1Gi"))
    yield "a pod with 8 GPUs and 20 CPUs", kept, [group], [TAE]
    empty = {**group, "spec": {**group["spec"], "resources": {}}}
    yield "the same with an empty group of resources", kept, [empty], ["ok 0 1"]
    two = [pod(box(4, name="a"), box(4, name="b"))]
    yield "two containers of 4, scope container", setup(M, EVEN, "single-numa-node"), two, ["ok 0 1"]
    yield "two containers of 4, scope pod", setup(M, EVEN, "single-numa-node", scope="pod"), two, [TAE]
    first = [pod(box(1), init=[box(8, name="i")])]
    yield "init 8 and app 1, scope container", setup(M, EVEN, "restricted"), first, [TAE]
    yield "init 8 and app 1, scope pod", setup(M, EVEN, "restricted", scope="pod"), first, ["ok 0 1"]
    beside = [pod(box(4), init=[box(4, name="i", sidecar=True)])]
    yield "sidecar 4 and app 4, scope pod", setup(M, EVEN, "single-numa-node", scope="pod"), beside, [TAE]
    yield "sidecar 4 and app 4, scope container", setup(M, EVEN, "single-numa-node"), beside, ["ok 0 1"]
    yield from _cpus()
    yield from _memory()
    yield from _shapes()
    yield from _machines()
    yield from _devices()


def _cpus():
    for policy in ("restricted", "single-numa-node"):
        static = setup(M, EVEN, policy, static=True)
        yield f"4 GPUs and 32 CPUs twice, {policy}", static, [pod(box(4, 32))] * 2, ["ok 1", TAE]
        yield f"4 GPUs and 33 CPUs, {policy}", static, [pod(box(4, 33))], [TAE]
        yield f"4 GPUs and 33 CPUs Burstable, {policy}", static, [pod(box(4, 33, burstable=True))], ["ok 0"]
        yield f"4 GPUs and 32500m, {policy}", static, [pod(box(4, "32500m"))], ["ok 0"]
        whole = setup(M, EVEN, policy, static=True, cpu_options={"full-pcpus-only": "true"})
        yield f"4 GPUs and 7 CPUs in whole cores, {policy}", whole, [pod(box(4, 7))], [SMT]
    static = setup(M, EVEN, "restricted", static=True)
    yield "8 GPUs and 40 CPUs", static, [pod(box(8, 40))], ["ok 0 1"]
    yield "8 GPUs and 20 CPUs", static, [pod(box(8, 20))], [TAE]
    large = setup(machine(2, cpus=56), EVEN, "restricted", static=True)
    yield "8 GPUs and 96 CPUs of 2 x 56", large, [pod(box(8, 96))], ["ok 0 1"]
    yield "8 GPUs and 16 CPUs of 2 x 56", large, [pod(box(8, 16))], [TAE]


def _memory():
    both = setup(M, EVEN, "restricted", static=True, memory=True)
    yield "8 GPUs, 8 CPUs, 100 Gi", both, [pod(box(8, 8, "100Gi"))], [TAE]
    yield "8 GPUs, 40 CPUs, 200 Gi", both, [pod(box(8, 40, "200Gi"))], ["ok 0 1"]
    for policy in ("restricted", "single-numa-node"):
        alone = setup(M, EVEN, policy, memory=True)
        yield f"Burstable 4 GPUs and 200 Gi, {policy}", alone, [pod(box(4, memory="200Gi"))], ["ok 0"]
    for policy in ("restricted", "best-effort"):
        both = setup(M, EVEN, policy, static=True, memory=True)
        pods = [pod(box(1, 2, "10Gi")), pod(box(7, 40, "200Gi"))]
        yield f"1 GPU with 10 Gi, then 7 with 200 Gi, {policy}", both, pods, ["ok 0", UAE]


def _shapes():
    """What people ask of 2 x 4 GPUs, under each policy."""
    policies = ("none", "best-effort", "restricted", "single-numa-node")
    for count in (1, 4, 5, 7):
        one = count <= 4
        for policy, answer in zip(policies, ("ok", *(["ok 0"] * 3 if one else ["ok 0 1", "ok 0 1", TAE])), strict=True):
            yield f"2 x 4 GPUs, {count}, {policy}", setup(M, EVEN, policy), gpus(count), [answer]
    wide = machine(2, cpus=56)
    for cpus, found in ((96, ("ok", "ok 0 1", "ok 0 1", TAE)), (16, ("ok", "ok 0 1", TAE, TAE))):
        for policy, answer in zip(policies, found, strict=True):
            yield f"8 GPUs and {cpus} of 2 x 56 CPUs, {policy}", setup(wide, EVEN, policy, static=True), [pod(box(8, cpus))], [answer]
    for policy, answer in zip(policies, ("ok", "ok 0 1", TAE, TAE), strict=True):
        static = setup(M, EVEN, policy, memory=True)
        yield f"8 GPUs and memory of one node, {policy}", static, [pod(box(8, "4500m", "100Gi"))], [answer]


def _machines():
    restricted, single = setup(NPS4, ONE_EACH, "restricted"), setup(NPS4, ONE_EACH, "single-numa-node")
    yield "NPS4, 2 GPUs, restricted", restricted, gpus(2), ["ok 0 1"]
    yield "NPS4, 8 GPUs, restricted", restricted, gpus(8), ["ok 0 1 2 3 4 5 6 7"]
    for count in (2, 8):
        yield f"NPS4, {count} GPUs, single-numa-node", single, gpus(count), [TAE]
    static = setup(NPS4, ONE_EACH, "restricted", static=True)
    for count, cpus, answer in ((2, 8, TAE), (2, 20, "ok 0 1"), (8, 112, TAE)):
        yield f"NPS4, {count} GPUs and {cpus} CPUs", static, [pod(box(count, cpus))], [answer]
    wide, one = machine(16, cpus=2, memory=8), {"nvidia.com/gpu": devices((0, 1))}
    yield "16 nodes, none", setup(wide, one, "none"), gpus(1), ["ok"]
    for policy in ("best-effort", "restricted", "single-numa-node"):
        yield f"16 nodes, {policy}", setup(wide, one, policy), gpus(1), ["KubeletNotStarting"]
    for most, answer in (("16", "ok 0"), ("12", "KubeletNotStarting")):
        options = {"max-allowable-numa-nodes": most}
        yield f"16 nodes, restricted, {most} allowed", setup(wide, one, "restricted", options=options), gpus(1), [answer]
    grace = machine(18, cpus=4, with_cpus=2)
    for policy in ("best-effort", "restricted", "single-numa-node"):
        yield f"18 nodes of which 2 have CPUs, {policy}", setup(grace, one, policy), gpus(1), ["KubeletNotStarting"]
    yield "18 nodes, 18 allowed", setup(grace, one, "restricted", options={"max-allowable-numa-nodes": "18"}), gpus(1), ["ok 0"]
    small, far = machine(6, cpus=8, with_cpus=2), {"nvidia.com/gpu": devices((2, 1), (3, 1))}
    yield "GPUs on nodes without CPUs, 1 GPU", setup(small, far, "restricted", static=True), gpus(1), ["ok 2"]
    yield "GPUs on nodes without CPUs, 1 GPU and 4 CPUs", setup(small, far, "restricted", static=True), [pod(box(1, 4))], [TAE]
    near = [[10, 32, 12, 32], [32, 10, 32, 12], [12, 32, 10, 32], [32, 12, 32, 10]]
    pairs = machine(4, distances=near)
    two_each = {"nvidia.com/gpu": devices(*((node, 2) for node in range(4)))}
    for value, answer in (("false", "ok 0 1"), ("true", "ok 0 2")):
        options = {"prefer-closest-numa-nodes": value}
        yield f"near pairs, prefer-closest {value}", setup(pairs, two_each, "restricted", options=options), gpus(4), [answer]
    sparse = machine(3, ids=[0, 8, 16])
    sparse_gpus = {"nvidia.com/gpu": devices((0, 2), (8, 2), (16, 2))}
    yield "nodes 0, 8, 16", setup(sparse, sparse_gpus, "restricted"), gpus(4), ["ok 0 8"]
    closest = setup(sparse, sparse_gpus, "restricted", options={"prefer-closest-numa-nodes": "true"})
    yield "nodes 0, 8, 16, prefer-closest", closest, gpus(4), ["KubeletPanic"]


def _devices():
    for policy in ("restricted", "single-numa-node"):
        nowhere = setup(M, {"nvidia.com/gpu": devices((None, 8))}, policy)
        yield f"GPUs without topology, {policy}", nowhere, gpus(6), ["ok"]
        mixed = setup(M, {"nvidia.com/gpu": devices((0, 4), (None, 4))}, policy)
        yield f"4 GPUs on node 0, 4 without topology, {policy}: 4", mixed, gpus(4), ["ok 0"]
        yield f"4 GPUs on node 0, 4 without topology, {policy}: 5", mixed, gpus(5), [TAE]
        sick = setup(M, {"nvidia.com/gpu": devices((0, 4), (1, 4), unhealthy=(0, 4))}, policy)
        yield f"one GPU of each node unhealthy, {policy}", sick, gpus(4), [TAE]
        one_side = setup(M, EVEN | {"rdma/hca": devices((1, 2))}, policy)
        yield f"NICs on node 1 alone, {policy}", one_side, [pod(box(4, nics=1))], ["ok 1"]
    both = setup(M, EVEN | {"rdma/hca": devices((0, 2), (1, 2))}, "restricted")
    for count, nics, answer in ((8, 4, "ok 0 1"), (8, 1, TAE), (4, 3, TAE)):
        yield f"{count} GPUs and {nics} NICs", both, [pod(box(count, nics=nics))], [answer]


#: name -> (case with its pods, one answer a pod: "ok" with its NUMA nodes, or the reason)
ROWS = {name: ({**case, "pods": pods}, answers) for name, case, pods, answers in _rows()}
