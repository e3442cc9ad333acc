"""The gate against an oracle that is written from the rules alone and tries every set of nodes, on thousands of made clusters."""

import itertools
import math
import random
import re

import pytest

from hostagent.gate import Request, place
from hostagent.gate.answer import CODES
from hostagent.gate.candidate import parse_candidate
from tests.gate_summaries import ABSENT, INPUTS, NOW, OF_CLUSTERS, OWN, summary

CLUSTERS, SHARES = 2800, 4
GOOD = ("ready", "degraded")
HOST = tuple(name for name in INPUTS if name not in OWN)


def unread(why):
    return {"unread": why}


#: Path, and values that a node may have there instead of the healthy one.
FAULTS = [
    ("valid_until", (NOW - 1, None, "soon", NOW + 1)),
    ("observed_at", (NOW - 4000, NOW + 500, ABSENT, float("nan"))),
    ("verdict.single_node", ("degraded", "not_ready", "unknown", ABSENT, "perfect")),
    ("verdict.multi_node", ("degraded", "not_ready", "unknown", None)),
    ("coverage", ("no-nvml", ABSENT)),
    ("gpus.count", (4, 7, 10, "8", None, True)),
    ("gpus.product", ("NVIDIA-A100", "nvidia h100_80gb hbm3", ABSENT)),
    ("gpus.compute_capability", ("8.0", "10.0", unread("error"))),
    ("gpus.memory_gib", (79, 40, "80", unread("timeout"))),
    ("gpus.mig", (True, unread("absent"), unread("not-supported"), unread("denied"), ABSENT)),
    ("driver", ("570.1", "580.178.04~rc1", "590.1", unread("error"))),
    ("cuda", ("12.8", "13", "none")),
    ("toolkit", ("1.18.2", "1.19.1-rc.1", unread("absent"), unread("denied"))),
    ("kubelet", (unread("absent"), unread("not-supported"), unread("denied"), ABSENT, "yes")),
    ("kubelet.policy", ("none", "restricted", ABSENT)),
    ("kubelet.devices", ("plain", "dra", ABSENT)),
    ("kubelet.numa", ([{"gpus": 4}, {"gpus": 4}], [{"gpus": 2}, {"gpus": 2}], [{"gpus": 4}, {}], None)),
    ("fabric.domain", ("d2", "d3", unread("absent"))),
    ("fabric.class", (unread("denied"), "1-odd", ABSENT)),
    ("nccl.env", ({"NCCL_NET": "IB"}, {"NCCL_NET": "Socket"}, unread("denied"))),
]
ODD = [
    ("mtu", "1500"), ("gdr", "no"), ("driver_branch", "570"), ("traffic_class", unread("denied")), ("nccl", "2.27.3"),
    ("settings", "NCCL_ALGO=Ring"), ("hca_names", "mlx5_2:1, … (+6)"), ("mtu", ABSENT), ("zeta", "1"), ("net_plugin", unread("error")),
]  # fmt: skip


def node(dice, name, rate):
    """A node with few faults or none."""
    inputs = dict(dice.choice(ODD) for _ in range(dice.choice((0, 0, 0, 1, 1, 2))))
    version, hidden = dice.choice(("1", "1", "1", "1", "2")), dice.choice(("", "", "", "more"))
    changes = {path: dice.choice(values) for path, values in FAULTS if dice.random() < rate}
    if "kubelet" in changes:
        changes = {path: value for path, value in changes.items() if not path.startswith("kubelet.")}
    changes.setdefault("fabric.domain", dice.choice(("d1", "d1", "d2")))
    return summary(name, changes, inputs, version, hidden)


def cluster(dice):
    rate = dice.choice((0.0, 0.01, 0.03, 0.1))
    names = [f"n{number}" for number in dice.sample(range(1, 30), dice.randint(1, 12))]
    made = [node(dice, name, rate) for name in names]
    more = [one for one in made if dice.random() < 0.05]
    made += [{**one, "boot_id": dice.choice(("b1", "b2")), "observed_at": dice.choice((one.get("observed_at"), NOW - 30))} for one in more]
    dice.shuffle(made)
    return made


def request(dice):
    def sometimes(value, other, share=0.08):
        return value if dice.random() < share else other

    return {
        "nodes": dice.choice((1, 1, 2, 2, 3, 4, 6)),
        "gpus_per_node": dice.choice((1, 4, 8, 8)),
        "product": sometimes("NVIDIA H100 80GB HBM3", ""),
        "compute_capability": sometimes("9.0", ""),
        "gpu_memory_gib": sometimes(80, None, 0.2),
        "driver": sometimes(dice.choice(("580", "==580.178.4", ">=590")), ""),
        "cuda": sometimes("13.0", ""),
        "toolkit": sometimes("1.19.1", ""),
        "min_driver_version": sometimes("575", ""),
        "min_container_toolkit_version": sometimes("1.19", ""),
        "max_age_s": sometimes(900, None),
        "exclude": sometimes(("n1", "n2", "n3"), ()),
        "only": sometimes(tuple(f"n{number}" for number in range(1, 25)), ()),
        "require_coverage": sometimes("full", ""),
        "allow_mig": sometimes(True, False),
        "host_nccl": sometimes(True, False, 0.25),
        "same_domain": sometimes(True, False, 0.25),
        "may_differ": sometimes(dice.choice((("mtu",), ("traffic_class", "gdr"), ("nccl",))), (), 0.2),
    }


# --- the oracle, which reads documents and knows no module of the gate ---


def get(document, path):
    for key in path.split("."):
        document = (
            document.get(key)
            if isinstance(document, dict) and "unread" not in document
            else document
            if isinstance(document, dict)
            else None
        )
    return document


def text(document, path):
    value = get(document, path)
    return value if isinstance(value, str) and value else None


def number(value, kinds=(int, float)):
    return type(value) in kinds and math.isfinite(value)


def version(value):
    match = re.fullmatch(r"(\d+(?:\.\d+)*)([~+-].+)?", value or "")
    if not match:
        return None
    numbers = [int(one) for one in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    is_pre = bool(match[2]) and bool(re.match(r"~|-[A-Za-z]|\+rc", match[2]))
    return numbers, not is_pre


def meets(value, demand):
    have = version(value)
    need = version(demand.lstrip(">="))
    return have is not None and (have == need if demand.startswith("==") else have >= need)


def verdict_codes(document, asked):
    single, multi = text(document, "verdict.single_node"), text(document, "verdict.multi_node")
    if single not in GOOD:
        yield "NotReady" if single == "not_ready" else "Unknown"
    if asked["nodes"] > 1 and multi not in GOOD:
        yield "MultiNodeNotReady"
    if asked["require_coverage"] and text(document, "coverage") != "full":
        yield "Coverage"


def is_stale(document, asked):
    observed, until = document.get("observed_at"), document.get("valid_until")
    if not number(observed) or not number(until) or observed > NOW + 300:
        return True
    return NOW - observed > asked["max_age_s"] if asked["max_age_s"] else until < NOW


def version_codes(document, asked):
    for code, name in (("Driver", "driver"), ("Cuda", "cuda")):
        demands = [asked[name], asked.get(f"min_{name}_version", "")]
        if any(demand and not meets(text(document, name), demand) for demand in demands):
            yield code
    toolkit, least = asked["toolkit"], asked["min_container_toolkit_version"]
    is_absent = get(document, "toolkit") == unread("absent")
    if (toolkit and not meets(text(document, "toolkit"), toolkit)) or (
        least and not meets(text(document, "toolkit"), least) and (toolkit or not is_absent)
    ):
        yield "Toolkit"


def shape_refuses(document, asked):
    kubelet = document.get("kubelet")
    if isinstance(kubelet, dict) and kubelet.get("unread") in ("absent", "not-supported"):
        return False
    if not isinstance(kubelet, dict) or "unread" in kubelet or not isinstance(kubelet.get("policy"), str):
        return True
    if kubelet["policy"] != "single-numa-node" or kubelet.get("devices") in ("plain", "dra"):
        return False
    numa = kubelet.get("numa")
    if not isinstance(numa, list):
        return True
    counts = [one.get("gpus") for one in numa]
    if any(number(one, (int,)) and one >= asked["gpus_per_node"] for one in counts):
        return False
    return None in counts or sum(counts) >= document["gpus"]["count"]


def gpu_codes(document, asked):
    count, mig = get(document, "gpus.count"), get(document, "gpus.mig")
    product, memory = text(document, "gpus.product"), get(document, "gpus.memory_gib")
    if not number(count, (int,)) or count < asked["gpus_per_node"]:
        yield "TooFewGpus"
    elif shape_refuses(document, asked):
        yield "PodShape"
    if asked["product"] and re.sub("[-_ ]+", " ", (product or "").lower()) != asked["product"].lower():
        yield "Product"
    if asked["compute_capability"] and not meets(text(document, "gpus.compute_capability"), asked["compute_capability"]):
        yield "ComputeCapability"
    if asked["gpu_memory_gib"] and not (number(memory) and memory >= asked["gpu_memory_gib"]):
        yield "GpuMemory"
    if not asked["allow_mig"] and mig is not False and mig not in (unread("absent"), unread("not-supported")):
        yield "Mig"


def group(document, asked):
    """What one job's nodes have alike; None for a node that shares it with none."""
    own = text(document, "fabric.host_class" if asked["host_nccl"] else "fabric.class")
    inputs = document["fabric"]["inputs"]
    if asked["may_differ"] and own and own.startswith("1-"):
        remaining = {
            name: value for name, value in inputs.items() if name not in asked["may_differ"] and (asked["host_nccl"] or name not in HOST)
        }
        wanted = set(INPUTS if asked["host_nccl"] else OWN) - set(asked["may_differ"])
        if wanted <= set(remaining) and all(isinstance(value, str) and "… (+" not in value for value in remaining.values()):
            return tuple(sorted(remaining.items()))
    return own


def expected_codes(documents, asked):
    """Of one node: the document that counts, and its codes."""

    def observed(one):
        return one.get("observed_at") if number(one.get("observed_at")) else float("-inf")

    worst = {"ready": 0, "degraded": 1, "not_ready": 3}
    newest = [one for one in documents if observed(one) == max(map(observed, documents))]
    one = max(newest, key=lambda each: [worst.get(text(each, f"verdict.{name}"), 2) for name in ("single_node", "multi_node")])
    codes = {"OtherBoot"} if len({each["boot_id"] for each in newest}) > 1 else set()
    for each in newest:
        codes |= {*verdict_codes(each, asked), *version_codes(each, asked), *gpu_codes(each, asked)}
        codes |= {"Stale"} if is_stale(each, asked) else set()
        if asked["nodes"] > 1:
            codes |= {"NotInClass"} if group(each, asked) is None else set()
            codes |= {"NotInDomain"} if asked["same_domain"] and text(each, "fabric.domain") is None else set()
    if one["node"] in asked["exclude"] or (asked["only"] and one["node"] not in asked["only"]):
        codes.add("Excluded")
    return one, codes


def class_name(members, asked):
    path = "fabric.host_class" if asked["host_nccl"] else "fabric.class"
    return min((text(one, path) for one in members if text(one, path)), default="")


def best(eligible, asked):
    """Every set of nodes is tried; the smallest rank is the choice."""

    def spare(one):
        return one["gpus"]["count"] - asked["gpus_per_node"], one["node"]

    def members(key):
        return [one for one in eligible if group(one, asked) == key]

    def in_domain(nodes, domain):
        return [one for one in nodes if text(one, "fabric.domain") == domain]

    def rank(chosen):
        if asked["nodes"] == 1:
            return spare(chosen[0])
        whole = members(group(chosen[0], asked))
        sizes = {domain: len(in_domain(whole, domain)) for one in whole if (domain := text(one, "fabric.domain"))}
        domains = {text(one, "fabric.domain") for one in chosen}
        domain = domains.pop() if len(domains) == 1 else None
        in_one = 0 if domain is not None else 1
        held = 0 if max(sizes.values(), default=0) >= asked["nodes"] else 1
        return (
            held, -len(whole), class_name(whole, asked), str(group(chosen[0], asked)), in_one, -sizes.get(domain, 0), domain or "",
            sorted(map(spare, chosen)),
        )  # fmt: skip

    def is_one_job(chosen):
        if asked["nodes"] == 1:
            return True
        if len({group(one, asked) for one in chosen}) > 1:
            return False
        return not asked["same_domain"] or len({text(one, "fabric.domain") for one in chosen}) == 1

    sets = [chosen for chosen in itertools.combinations(eligible, asked["nodes"]) if is_one_job(chosen)]
    return {one["node"] for one in min(sets, key=rank)} if sets else set()


def largest(eligible, asked):
    """Names of the largest class, and with same_domain of its largest domain."""
    groups = {}
    for one in eligible:
        groups.setdefault(group(one, asked), []).append(one)
    home = min(groups.values(), key=lambda nodes: (-len(nodes), class_name(nodes, asked), str(group(nodes[0], asked))), default=[])
    if not asked["same_domain"] or not home:
        return home, home
    domains = {}
    for one in home:
        domains.setdefault(text(one, "fabric.domain"), []).append(one)
    return home, min(domains.values(), key=lambda nodes: (-len(nodes), text(nodes[0], "fabric.domain")))


def most_of_one_job(eligible, asked):
    """How many nodes one class has at most, with same_domain one domain of a class."""
    keys = [(group(one, asked), text(one, "fabric.domain") if asked["same_domain"] else "") for one in eligible]
    return max(map(keys.count, keys), default=0)


def in_words(value):
    if isinstance(value, str):
        return value
    why = value["unread"] if value else ""
    return {"": "not read", "absent": "absent", "not-supported": "not supported"}.get(why, f"not read ({why})")


def difference(one, home, asked):
    """Name, found, wanted of the first input that differs."""
    names = sorted({*one["fabric"]["inputs"], *home["fabric"]["inputs"]} - set(INPUTS))
    order = [*INPUTS, *names] if asked["host_nccl"] else [*OWN, *names, *HOST]
    for name in order:
        have, need = (get(each, "fabric.inputs").get(name) for each in (one, home))
        have, need = in_words(have), in_words(need)
        if name not in asked["may_differ"] and have != need:
            return name, have, need
    path = "fabric.host_class" if asked["host_nccl"] else "fabric.class"
    releases = {(text(each, path) or "").split("-")[0] for each in (one, home)}
    return ("differs in an input that was cut" if len(releases) == 1 else "is of another release of hostagent"), "", ""


@pytest.mark.parametrize("share", range(SHARES))
def test_the_gate_chooses_as_an_oracle_that_tries_every_set(share):
    seen = set()
    for seed in range(share, CLUSTERS, SHARES):
        dice = random.Random(seed)
        documents, asked = cluster(dice), request(dice)
        answer = place(Request(**asked), [parse_candidate(one, f"{place_}.json") for place_, one in enumerate(documents)], NOW)
        assert_as_expected(documents, asked, answer, seed)
        seen |= {reason.code for one in answer.refused for reason in one.reasons} | {one.code for one in answer.reasons}
    assert seen == set(CODES) - set(OF_CLUSTERS)


def assert_as_expected(documents, asked, answer, seed):
    nodes = {}
    for one in documents:
        nodes.setdefault(one["node"], []).append(one)
    judged = [expected_codes(several, asked) for several in nodes.values()]
    eligible = [one for one, codes in judged if not codes]
    chosen = best(eligible, asked)
    assert (set(answer.nodes), answer.placeable) == (chosen, bool(chosen)), seed
    assert list(answer.nodes) == sorted(answer.nodes)
    refused = {one["node"]: codes for one, codes in judged if codes}
    if not chosen:
        whole = "NoCommonClass" if len(eligible) >= asked["nodes"] else "TooFewNodes"
        most = most_of_one_job(eligible, asked) if whole == "NoCommonClass" else len(eligible)
        assert [(one.code, one.found, one.wanted) for one in answer.reasons] == [(whole, str(most), str(asked["nodes"]))], seed
        if asked["nodes"] > 1:
            refused |= outside(eligible, asked)
    assert {one.node: {reason.code for reason in one.reasons} for one in answer.refused} == refused, seed
    assert (answer.examined.nodes, answer.examined.eligible) == (len(nodes), len(eligible))
    for one in answer.refused:
        for reason in one.reasons:
            assert reason.message, seed
            assert reason.found, seed
            assert reason.wanted, seed
    if asked["nodes"] > 1:
        assert_explained(eligible, asked, answer, seed)
    assert bool(answer.selector) == (answer.placeable and not asked["host_nccl"])
    assert bool(answer.affinity) == answer.placeable


def outside(eligible, asked):
    home, domain = largest(eligible, asked)
    found = {}
    for one in eligible:
        if one not in home:
            found[one["node"]] = {"NotInClass"}
        elif one not in domain:
            found[one["node"]] = {"NotInDomain"}
    return found


def assert_explained(eligible, asked, answer, seed):
    """An eligible node that is refused for its class: the input, what it has, what how many others have."""
    messages = {one.node: one.reasons[0] for one in answer.refused}
    home, _ = largest(eligible, asked)
    first = min(home, key=lambda one: one["node"], default=None)
    for one in eligible:
        if one["node"] in messages and messages[one["node"]].code == "NotInClass":
            name, found, wanted = difference(one, first, asked)
            reason = messages[one["node"]]
            others = f"{len(home)} other{'s' if len(home) > 1 else ''}"
            if found:
                assert (reason.message, reason.found, reason.wanted) == (f"{name} {found}, {others} {wanted}", found, wanted), seed
            else:
                assert reason.message == f"{name} (class {reason.found}, {others} {reason.wanted})", seed


def in_another_order(dice, documents):
    dice.shuffle(documents)
    return map(parse_candidate, documents)


def from_files_in_another_order(dice, documents):
    numbered = [parse_candidate(one, str(number)) for number, one in enumerate(documents)]
    dice.shuffle(numbered)
    return numbered


@pytest.mark.parametrize("ordered", [in_another_order, from_files_in_another_order])
def test_the_order_of_candidates_changes_nothing(ordered):
    for seed in range(300):
        dice = random.Random(seed)
        documents, asked = cluster(dice), Request(**request(dice))
        answers = {repr(place(asked, ordered(dice, documents), NOW)) for _ in range(4)}
        assert len(answers) == 1, seed
