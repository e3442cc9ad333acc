"""Cases for the placement model and for the kubelet's own managers: one description, written for both."""

import random

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.placement.node import Node, Numa
from hostagent.facts.kubelet import Device, KubeletConfig, ReservedMemory

GI = 1 << 30
MI = 1 << 20


def node_of_case(case):
    """The case as the model's node."""
    numa = tuple(
        Numa(
            one["id"],
            tuple(sorted(cpu for core in one["cores"] for cpu in core["cpus"])),
            one["memory"],
            tuple(one["distances"]),
            tuple((int(kib) * 1024, pages) for kib, pages in one["hugepages"].items()),
        )
        for one in case["nodes"]
    )
    cores = [core for one in case["nodes"] for core in one["cores"]]
    packages = [
        tuple(sorted(cpu for core in cores if core["socket"] == socket for cpu in core["cpus"])) for socket in range(case["sockets"])
    ]
    devices = tuple(
        Device(resource, one["id"], tuple(one["nodes"] or ()), one["healthy"], False)
        for resource, found in case["devices"].items()
        for one in sorted(found, key=lambda one: one["id"])
    )
    return Node(
        "accepted",
        "",
        config_of_case(case),
        numa,
        tuple(packages),
        tuple(tuple(core["cpus"]) for core in cores),
        devices,
        "podresources",
        Unread("absent"),
    )


def config_of_case(case):
    values = dict.fromkeys(KubeletConfig.__dataclass_fields__, Unread("not-recorded"))
    fixed = bool(case["reserved_cpus"])
    system = {key: value for key, value in case["reserved"].items() if not (fixed and key == "cpu")}
    return KubeletConfig(
        **values
        | {
            "topology_manager_policy": case["policy"],
            "topology_manager_scope": case["scope"],
            "topology_manager_policy_options": tuple(case["options"].items()),
            "cpu_manager_policy": case["cpu_policy"],
            "cpu_manager_policy_options": tuple(case["cpu_options"].items()),
            "reserved_system_cpus": case["reserved_cpus"],
            "memory_manager_policy": case["memory_policy"],
            "reserved_memory": tuple(ReservedMemory(row["node"], tuple(row["limits"].items())) for row in case["reserved_memory"]),
            "kube_reserved": (),
            "system_reserved": tuple(system.items()),
            "eviction_hard": (),
            "max_pods": case["max_pods"],
            "pods_per_core": 0,
        }
    )


def machine(rng, nodes=()):
    """Up to six NUMA nodes, with and without SMT, sockets of one or more nodes, now and then without CPUs or memory."""
    count = rng.choice(nodes or (1, 2, 2, 2, 3, 4, 4, 5, 6))
    ids = list(range(count))
    if rng.random() < 0.08:
        ids = sorted(rng.sample(range(count + 4), count))
    per_socket = rng.choice([size for size in (1, 2, 3) if count % size == 0])
    threads = rng.choice((1, 2, 2))
    cores = rng.choice((2, 4, 4, 6))
    bare = rng.random() < 0.15 and count > 2
    rows, number = [], 0
    for place, one in enumerate(ids):
        has_cpus = not (bare and place > 1)
        found = []
        for _ in range(cores if has_cpus else 0):
            found.append({"socket": place // per_socket, "cpus": [number, number + cores * count][:threads]})
            number += 1
        distances = [10 if other == place else rng.choice((11, 12, 21, 32)) for other in range(count)]
        pages = {"2048": rng.choice((0, 512)), "1048576": rng.choice((0, 2))} if rng.random() < 0.3 else {}
        rows.append({"id": one, "memory": rng.choice((8, 16, 16)) * GI, "hugepages": pages, "distances": distances, "cores": found})
    known = {size for row in rows for size in row["hugepages"]}
    for row in rows:
        row["hugepages"] = {size: row["hugepages"].get(size, 0) for size in sorted(known)}
    sockets = -(-count // per_socket)
    if bare:  # only sockets that have CPUs count
        sockets = len({core["socket"] for row in rows for core in row["cores"]})
    return {"sockets": max(1, sockets), "nodes": rows}


def devices(rng, rows):
    """GPUs and NICs: on all nodes alike, on few, without topology, on two nodes at once, unhealthy."""
    found = {}
    for resource, most in (("nvidia.com/gpu", 4), ("rdma/hca", 2)):
        if resource != "nvidia.com/gpu" and rng.random() < 0.6:
            continue
        listed = []
        each = rng.randint(1, most)
        style = rng.random()
        for row in rows:
            count = each if style < 0.6 else rng.randint(0, most)
            nodes = [row["id"]] if style < 0.85 or rng.random() < 0.6 else None
            for _ in range(count):
                shared = nodes and style > 0.95 and rng.random() < 0.3
                on = sorted({row["id"], rng.choice(rows)["id"]}) if shared else nodes
                listed.append({"id": f"{len(listed):03}", "nodes": on, "healthy": rng.random() > 0.03})
        if listed:
            found[resource] = listed
    return found


def quantity(rng, size):
    return rng.choice((f"{size}Gi", str(size * GI), f"{size * 1024}Mi"))


def container(rng, name, case, *, guaranteed, init=False):
    limits = {}
    gpus = case["devices"].get("nvidia.com/gpu", ())
    if rng.random() < 0.85 and gpus:
        limits["nvidia.com/gpu"] = rng.randint(1, rng.choice((2, 4, len(gpus), len(gpus) + 1)))
    if "rdma/hca" in case["devices"] and rng.random() < 0.5:
        limits["rdma/hca"] = rng.randint(1, 3)
    if rng.random() < 0.005:
        limits["example.com/unknown"] = 1
    cpus = sum(len(core["cpus"]) for row in case["nodes"] for core in row["cores"])
    memory = sum(row["memory"] for row in case["nodes"]) // GI
    if guaranteed or rng.random() < 0.5:
        limits["cpu"] = rng.choice(
            (str(rng.randint(1, max(1, cpus // rng.choice((1, 2, 4))))), f"{rng.randint(1, 4)}500m" if rng.random() < 0.2 else "2")
        )
        limits["memory"] = quantity(rng, rng.randint(1, max(1, memory // rng.choice((1, 2, 4, 8)))))
    for kib in list(case["nodes"][0]["hugepages"])[case["pages"] :][:1]:  # of several that do not fit the kubelet names any
        if rng.random() < 0.3 and "memory" in limits:
            limits[{"2048": "hugepages-2Mi", "1048576": "hugepages-1Gi"}[kib]] = f"{rng.randint(1, 3)}Gi"
    requests = {}
    if not guaranteed and "cpu" in limits:
        requests = {"cpu": "1", "memory": "1Gi"}
    out = {"name": name, "resources": {"limits": {key: str(value) for key, value in limits.items()}, "requests": requests}}
    if init and rng.random() < 0.3:
        out["restartPolicy"] = "Always"
    return out


def pod(rng, case):
    guaranteed = rng.random() < 0.7
    apps = [container(rng, f"c{place}", case, guaranteed=guaranteed) for place in range(rng.choice((1, 1, 1, 2, 3)))]
    first = [container(rng, f"i{place}", case, guaranteed=guaranteed, init=True) for place in range(rng.choice((0, 0, 0, 1, 2)))]
    spec = {"containers": apps, "initContainers": first}
    if rng.random() < 0.04:
        spec["resources"] = {"limits": {"cpu": "4", "memory": "4Gi"}}
    return {"kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def steps(one):
    """About how many combinations the kubelet looks at for one pod of the case."""
    kinds = (
        len(one["devices"])
        + (one["cpu_policy"] == "static")
        + (one["memory_policy"] == "Static") * (1 + bool(one["nodes"][0]["hugepages"]))
    )
    return (2 ** len(one["nodes"])) ** kinds


def case(rng, nodes=()):
    out = machine(rng, nodes)
    rows = out["nodes"]
    static = rng.random() < 0.6 and sum(len(row["cores"]) for row in rows) > 1
    memory = rng.random() < 0.4
    policy = rng.choice(("none", "best-effort", "restricted", "restricted", "single-numa-node"))
    options, cpu_options = {}, {}
    if policy != "none" and rng.random() < 0.3:
        options["prefer-closest-numa-nodes"] = rng.choice(("true", "false"))
    if policy != "none" and rng.random() < 0.1:
        options["max-allowable-numa-nodes"] = str(rng.randint(8, 16))
    if static:
        names = (
            "full-pcpus-only",
            "distribute-cpus-across-numa",
            "align-by-socket",
            "strict-cpu-reservation",
            "distribute-cpus-across-cores",
            "prefer-align-cpus-by-uncorecache",
        )
        cpu_options = {name: "true" for name in names if rng.random() < 0.2}
    cpus = [cpu for row in rows for core in row["cores"] for cpu in core["cpus"]]
    reserved = {"cpu": rng.choice(("1", "2", "500m", "1500m")), "memory": f"{len(rows)}Gi"}
    fixed = ""
    if rng.random() < 0.4:
        chosen = sorted(rng.sample(cpus, min(2, len(cpus) - 1)))
        fixed, reserved["cpu"] = ",".join(map(str, chosen)), str(len(chosen))
    out |= {
        "policy": policy, "scope": rng.choice(("container", "pod")), "options": options, "cpu_policy": "static" if static else "none",
        "cpu_options": cpu_options, "reserved_cpus": fixed, "reserved": reserved, "memory_policy": "Static" if memory else "None",
        "reserved_memory": [{"node": row["id"], "limits": {"memory": "1Gi"}} for row in rows] if memory else [],
        "devices": devices(rng, rows), "max_pods": 110, "pages": rng.randint(0, 1),
    }  # fmt: skip
    out["pods"] = [pod(rng, out) for _ in range(rng.choice((1, 1, 2, 3, 4)))]
    return out


def cases(seed, count, *, nodes=(), few=False):
    """So many cases that the kubelet answers quickly, `few`: of at most one resource with NUMA nodes beside the GPUs."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        one = case(rng, nodes)
        if few:
            one["options"]["max-allowable-numa-nodes"] = "16"
        if steps(one) <= (1 << 20 if few else 1 << 15):
            found.append(one)
    return found
