"""What can be wrong with a node of tests/real/gatecluster.py, the ways in which pods hold GPUs, and clusters drawn of both from a seed."""

import json
import random
import time
from collections.abc import Callable
from typing import Any

from hostagent.kube.nodestatus import stamp
from tests import gate_summaries
from tests.real.cluster import HOSTNAME
from tests.real.gatecluster import CLOSED, CORDON, GPUS, MULTI_CLOSED, WRAPPED, Ask, Drawn, Holder, Host, Taint, container, gpus, pod_spec

_A100 = {"gpus.product": "NVIDIA-A100-SXM4-80GB", "gpus.compute_capability": "8.0"}
_UNREAD = {"unread": "error"}
_DAY_S = 86400

Flaw = Callable[[random.Random, Host], None]


def _verdict(scope: str, verdict: str, *by: str) -> Flaw:
    """`by`: who says so, all three by default."""

    def make(_: random.Random, host: Host) -> None:
        of = host.single if scope == "single" else host.multi
        of.update(dict.fromkeys(by or tuple(of), verdict))

    return make


def _sets(code: str = "", **values: Any) -> Flaw:
    def make(_: random.Random, host: Host) -> None:
        for name, value in values.items():
            mine = getattr(host, name)
            if isinstance(mine, dict):
                mine.update(value)
            else:
                setattr(host, name, value)
        if code:
            host.codes.add(code)

    return make


def _missing(*conditions: str) -> Flaw:
    """Of a missing condition the verdict is unknown."""

    def make(_: random.Random, host: Host) -> None:
        host.without.update(conditions)
        for name in conditions:
            of = host.single if name == "Ready" else host.multi
            of["condition"] = "unknown"

    return make


def _beat(code: str, ago_s: float) -> Flaw:
    def make(_: random.Random, host: Host) -> None:
        host.heartbeat = stamp(host.now - ago_s)
        if code:
            host.codes.add(code)

    return make


def _tainted(*taints: Taint) -> Flaw:
    def make(draw: random.Random, host: Host) -> None:
        new = draw.choice(taints)
        if all((one.key, one.effect) != (new.key, new.effect) for one in host.taints):
            host.taints.append(new)

    return make


def _no_allocatable(draw: random.Random, host: Host) -> None:
    if draw.random() < 0.5:
        host.allocatable.pop(GPUS)
    else:
        host.allocatable[GPUS] = "0"


def _shared(_: random.Random, host: Host) -> None:
    host.allocatable[GPUS] = "32"
    host.codes.add("Shared")


def _mig_single(_: random.Random, host: Host) -> None:
    host.allocatable[GPUS] = "56"
    host.changes["gpus.mig"] = True
    host.codes |= {"Shared", "Mig"}


def _mig_mixed(_: random.Random, host: Host) -> None:
    host.allocatable.pop(GPUS)
    host.allocatable["nvidia.com/mig-1g.10gb"] = "56"
    host.changes["gpus.mig"] = True
    host.codes.add("Mig")


def _dra(_: random.Random, host: Host) -> None:
    host.allocatable.pop(GPUS)
    host.codes.add("Dra")


def _full(_: random.Random, host: Host) -> None:
    host.allocatable["pods"] = "2"
    host.holders += [Holder(pod_spec({}), 0), Holder(pod_spec({}), 0)]


def _broken_gpus(draw: random.Random, host: Host) -> None:
    host.allocatable[GPUS] = str(draw.randint(1, 7))


def _other_hostname(_: random.Random, host: Host) -> None:
    host.labels[HOSTNAME] = f"{host.name}.internal"


def _no_hostname(_: random.Random, host: Host) -> None:
    host.labels.pop(HOSTNAME)


def _no_summary(draw: random.Random, host: Host) -> None:
    host.summary = draw.choice(["", "{", "[]", "null", json.dumps({**gate_summaries.summary(host.name), "schema_version": 2})])
    host.codes.add("NoSummary")


_USERS_TAINTS = (
    Taint("dedicated", "ml"),
    Taint("dedicated", "ml", "NoExecute"),
    Taint("example.com/maintenance", "", "NoExecute"),
    Taint("example.com/soft", "x", "PreferNoSchedule"),
    Taint("node.cloudprovider.kubernetes.io/uninitialized", "true"),
)
#: By name: how often, and what it does. Those that leave a node eligible are among them.
_FLAWS: "dict[str, tuple[int, Flaw]]" = {
    "cordoned": (6, _sets(is_cordoned=True)),
    "tainted": (8, _tainted(*_USERS_TAINTS)),
    "closed by the controller": (2, _tainted(Taint(CLOSED), Taint(MULTI_CLOSED))),
    "kubelet not ready": (2, _sets(kubelet="False")),
    "kubelet silent": (2, _sets(kubelet="Unknown")),
    "no room for pods": (3, _full),
    "some GPUs not allocatable": (3, _broken_gpus),
    "no GPU allocatable": (2, _no_allocatable),
    "not ready": (3, _verdict("single", "not_ready")),
    "unknown": (2, _verdict("single", "unknown")),
    "degraded": (2, _verdict("single", "degraded")),
    "not ready for several": (3, _verdict("multi", "not_ready")),
    "summary alone says not ready": (1, _verdict("single", "not_ready", "summary")),
    "condition alone says unknown": (1, _verdict("single", "unknown", "condition")),
    "label alone says not ready": (1, _verdict("single", "not_ready", "label")),
    "label alone says unknown for several": (1, _verdict("multi", "unknown", "label")),
    "condition alone says not ready for several": (1, _verdict("multi", "not_ready", "condition")),
    "no condition Ready": (1, _missing("Ready")),
    "no condition MultiNodeReady": (1, _missing("MultiNodeReady")),
    "heartbeat is old": (2, _beat("Stale", 1000)),
    "heartbeat is a day ahead": (1, _beat("Stale", -_DAY_S)),
    "no heartbeat": (1, _sets("Stale", heartbeat="")),
    "heartbeat is no time": (1, _sets("Stale", heartbeat="soon")),
    "heartbeat is ten minutes old": (2, _beat("", 600)),
    "another boot": (2, _sets("OtherBoot", boot="b2")),
    "the cluster knows no boot": (1, _sets("OtherBoot", boot="")),
    "the summary knows no boot": (1, _sets("OtherBoot", changes={"boot_id": ""})),
    "no summary": (2, _no_summary),
    "another MTU": (6, _sets(inputs={"mtu": "1500"})),
    "class not read": (1, _sets(inputs={"gpu_memory": _UNREAD})),
    "another GPU": (3, _sets(changes=_A100, inputs={"gpu_product": "NVIDIA A100-SXM4-80GB"})),
    "time slicing": (2, _shared),
    "MIG single": (1, _mig_single),
    "MIG mixed": (1, _mig_mixed),
    "DRA": (2, _dra),
    "no labels of ours": (4, _sets(has_own_labels=False)),
    "the hostname is not the name": (3, _other_hostname),
    "no hostname": (2, _no_hostname),
}
#: Not both on one node: they write the same field.
_APART = ({"some GPUs not allocatable", "no GPU allocatable", "time slicing", "MIG single", "MIG mixed", "DRA"},)


def _holder(draw: random.Random, most: int) -> Holder:
    """A pod that takes 0 to `most` GPUs, in one of the ways that pods do."""
    count = draw.randint(1, max(1, most))
    less = max(0, count - draw.randint(1, 3))
    first = lambda taken, **more: [container("first", gpus(taken), **more)]  # noqa: E731
    side = {"restartPolicy": "Always"}
    ways: list[Callable[[], Holder]] = [
        lambda: Holder(pod_spec(gpus(count)), count),
        lambda: Holder(pod_spec(gpus(count)), count, phase="Pending"),
        lambda: Holder(pod_spec(gpus(count)), count, phase="Unknown"),
        lambda: Holder(pod_spec(gpus(count)), count, is_ending=True),
        lambda: Holder(pod_spec(gpus(count)), 0, phase="Succeeded"),
        lambda: Holder(pod_spec(gpus(count)), 0, phase="Failed"),
        lambda: Holder(pod_spec(gpus(less), initContainers=first(count)), count),
        lambda: Holder(pod_spec(gpus(count - 1), initContainers=first(1, **side)), count),
        lambda: Holder(
            pod_spec(gpus(0), initContainers=[*first(1, **side), container("then", gpus(count - 1))]),
            count,
        ),
        lambda: Holder(pod_spec(gpus(count - 1), runtimeClassName=WRAPPED), count),
        lambda: Holder({"containers": [{"name": "job", "image": "none", "resources": {"limits": gpus(count)}}]}, count),
        lambda: Holder(pod_spec({"cpu": "2", "memory": "4Gi"}), 0),
        lambda: Holder(pod_spec({}, resources={"requests": {"cpu": "1"}}), 0),
    ]
    return draw.choice(ways)()


def drawn(seed: int, now: "float | None" = None) -> Drawn:
    """The same for the same seed, but for the heartbeats."""
    draw, at = random.Random(seed), time.time() if now is None else now
    common = draw.choice([None, None, Taint(GPUS, "present"), Taint("dedicated", "ml")])
    health, load = draw.choice([0.4, 0.6, 0.85]), draw.choice([0.0, 0.3, 0.7])
    hosts, domain = [], draw.choice(["", "", ".example.com"])
    for number in range(draw.randint(3, 12)):
        name = f"gpu-{seed:04}-{number:02}{domain}"
        host = Host(name, {HOSTNAME: name, "example.com/pool": draw.choice("aab")}, at)
        if common:
            host.taints.append(common)
        if draw.random() > health:
            _damage(draw, host)
        while draw.random() < load and len(host.holders) < 4:
            host.holders.append(_holder(draw, max(1, min(8, host.free))))
        hosts.append(host)
    return Drawn(seed, hosts, [_ask(draw, common, [one.name for one in hosts]) for _ in range(3)])


def _damage(draw: random.Random, host: Host) -> None:
    for _ in range(draw.choice([1, 1, 1, 2])):
        left = {
            name: weight
            for name, (weight, _) in _FLAWS.items()
            if name not in host.flaws and not any(name in apart and apart & set(host.flaws) for apart in _APART)
        }
        (name,) = draw.choices(list(left), list(left.values()))
        _FLAWS[name][1](draw, host)
        host.flaws.append(name)


def _ask(draw: random.Random, common: "Taint | None", names: "list[str]") -> Ask:
    ask = Ask(draw.choice([1, 1, 2, 2, 3, min(4, len(names)), min(5, len(names))]), draw.choice([1, 2, 3, 4, 6, 8, 8, 8]))
    if common and draw.random() < 0.85:
        ask.tolerations.append(draw.choice([common.key, f"{common.key}={common.value}", f"{common.key}={common.value}:{common.effect}"]))
    if draw.random() < 0.4:
        others = [
            "dedicated=ml:NoSchedule",
            "dedicated",
            "dedicated=other",
            "example.com/maintenance:NoExecute",
            f"{CORDON}:NoSchedule",
            CORDON,
            CLOSED,
        ]
        ask.tolerations += draw.sample(others, draw.randint(1, 2))
    if draw.random() < 0.25:
        ask.selector["example.com/pool"] = draw.choice("ab")
    if draw.random() < 0.2:
        ask.product = draw.choice(["NVIDIA-H100-80GB-HBM3", "nvidia-a100-sxm4-80gb"])
    if draw.random() < 0.1:
        (ask.exclude if draw.random() < 0.5 else ask.only).extend(draw.sample(names, min(len(names), draw.randint(1, 5))))
    if draw.random() < 0.1:
        ask.may_differ.append("mtu")
    ask.is_all = draw.random() < 0.25
    return ask
