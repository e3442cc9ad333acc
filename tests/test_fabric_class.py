"""Which recorded hosts have no fabric class, and why; and that no host without one for want of a look is ready for jobs of several nodes."""

from dataclasses import replace

import pytest

from hostagent.core.unread import NOT_APPLICABLE, Unread
from hostagent.domains.nccl.fabric_class import fabric_class, host_class, inputs
from hostagent.domains.nccl.fabric_node import Wanted, node
from hostagent.domains.network.devices import Devices
from hostagent.engine.collect import collect
from hostagent.engine.report.node_summary import summary
from hostagent.engine.report.summary import summary_schema
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel
from hostagent.facts.nccl import Nccl
from hostagent.facts.network import Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Rdma, RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.host.recording import ReplayBackend
from hostagent.host.source import Source
from tests import recorded
from tests.judged import judged
from tests.over import over

CHECK = "network.fabric_class"
#: An image has no running kernel, so no devices and no network.
_IMAGE = "not-running"
#: NVML gave no answer, so memory and MIG of a GPU are not known.
_NVML = "error"
#: By host: why its class is unread, and its verdict for several nodes.
WITHOUT = {
    "debian12-image-without-kernel": (_IMAGE, "not_ready"),
    "eks-al2023-image": (_IMAGE, "ready"),
    "eks-al2023-image-of-another-kernel": (_IMAGE, "not_ready"),
    "hgx-h100-gpu-off-the-bus": (_NVML, "not_ready"),
    "hgx-h100-userland-upgraded": (_NVML, "not_ready"),
    "hgx-h100-gpu-without-answer": ("error", "not_ready"),
    "libraries-cut-short": (_NVML, "not_ready"),
    "slurm-gres-driver-left-a-gpu": ("error", "not_ready"),
}
KINDS = (RdmaPort, Nic, Gpu, Nccl, Topology, Platform, Network, Kernel, Driver, Rdma)
ROCE, INFINIBAND, TCP = "hgx-h100-roce", "hgx-h100-ubuntu2404", "flatcar"
APART = {"unread": ["denied", "the host's network namespace is not this process' own"]}
_SYSCTLS = ("arp_ignore", "arp_announce", "arp_filter", "rp_filter")


def test_each_recorded_host_without_a_class_has_its_reason_and_its_verdict():
    found = {name: summary(recorded.report_of(name)) for name in recorded.NAMES}
    without = {name: one for name, one in found.items() if not isinstance(one["fabric"]["class"], str)}
    assert {name: (one["fabric"]["class"]["unread"], one["verdict"]["multi_node"]) for name, one in without.items()} == WITHOUT


@over("name", recorded.NAMES)
def test_facts_and_report_give_the_same_classes(name):
    facts, _ = collect(Source(ReplayBackend(recorded.tape_of(name))), [kind.__name__ for kind in KINDS])
    ports, nics, gpus, nccl, *others = (facts.of(kind) for kind in KINDS)
    hcas = recorded.profile_of(name).profile.rdma.hcas
    of_facts = inputs(node(Wanted(Devices(ports, nics, gpus), *others, hcas, nccl)))
    of_report = summary(recorded.report_of(name))["fabric"]
    for found, reported in ((fabric_class(of_facts), of_report["class"]), (host_class(of_facts), of_report["host_class"])):
        assert (reported == {"unread": found.why}) if isinstance(found, Unread) else (found == reported)


@over("name", recorded.NAMES)
def test_where_the_class_is_unread_for_want_of_a_look_no_verdict_for_several_nodes_is_ready(name):
    assert_law(recorded.report_of(name))


def assert_law(report):
    kind = summary(report)["fabric"]["class"]
    unread = "" if isinstance(kind, str) else kind["unread"]
    outcomes = {(one.outcome, one.code) for one in report.findings if one.id == CHECK}
    if unread and unread not in NOT_APPLICABLE and outcomes != {("fail", "no-class")}:
        assert report.verdict.multi_node in ("unknown", "not_ready"), (kind, outcomes)
        assert {outcome for outcome, _ in outcomes} == {"unknown"}
    elif not unread:
        assert outcomes == {("skip", "not-applicable") if report.facts["fabric"]["rdma"] == [] else ("pass", "")}


def changed(name, questions, why="denied"):
    """The tape of that host, with these questions unread that had an answer; their beginnings are named."""
    tape, unread = recorded.tape_of(name), {"unread": why, "detail": APART["unread"][1]}
    return replace(
        tape,
        answers={
            question: unread if question.startswith(questions) and "json" in answer else answer for question, answer in tape.answers.items()
        },
    )


def report_of(tape, name):
    return judged(ReplayBackend(tape), recorded.profile_of(name), replayed=True, recorded_at=tape.recorded_at)


def blind(name):
    """As a pod without the host's network reads it: DCB and kinds of its interfaces, and all sysctls, are denied."""
    tape = changed(name, ("network dcb ", "network kinds"))
    refused = dict.fromkeys(_SYSCTLS, APART)
    settings = {"json": {"all": refused, "port_range": APART, "reserved_ports": APART}}
    answers = {
        question: {"json": {**answer["json"], "sysctls": refused}}
        if question.startswith("network device ") and "sysctls" in answer.get("json", {})
        else answer
        for question, answer in tape.answers.items()
    }
    return report_of(replace(tape, answers={**answers, "network settings": settings}), name)


@pytest.mark.parametrize(
    ("name", "multi_node", "coverage"),
    [(ROCE, "unknown", "no-network"), (INFINIBAND, "ready", "no-network"), (TCP, "ready", "no-network")],
)
def test_a_pod_without_the_hosts_network(name, multi_node, coverage):
    """RoCE loses its class; InfiniBand and TCP need no answer of the namespace, and keep theirs."""
    before, after = recorded.report_of(name), blind(name)
    assert summary(before)["coverage"] == "full"
    assert (after.verdict.multi_node, summary(after)["coverage"]) == (multi_node, coverage)
    assert after.verdict.single_node == before.verdict.single_node
    assert isinstance(summary(after)["fabric"]["class"], str) == (multi_node != "unknown")
    assert_law(after)


@pytest.mark.parametrize("why", ["denied", "timeout", "error", "not-recorded"])
def test_one_card_that_gave_no_answer_is_enough(why):
    report = report_of(changed(ROCE, ("network dcb enp154s0np0",), why), ROCE)
    assert report.verdict.multi_node == "unknown"
    assert report.verdict.single_node == recorded.report_of(ROCE).verdict.single_node
    assert_law(report)


def test_a_driver_without_dcb_costs_the_class_and_not_the_verdict():
    """It was asked: a healthy host of such a vendor is placed, and its report says why it has no class."""
    tape = recorded.tape_of(ROCE)
    nothing = {"json": dict.fromkeys(("pfc", "dscp", "selectors", "dcbx"))}
    answers = {
        question: nothing if question.startswith("network dcb ") and "json" in answer else answer
        for question, answer in tape.answers.items()
    }
    report = report_of(replace(tape, answers=answers), ROCE)
    assert report.verdict == recorded.report_of(ROCE).verdict
    assert summary(report)["coverage"] == "full"
    (found,) = [one for one in report.findings if one.id == CHECK]
    assert (found.outcome, found.code, found.severity) == ("fail", "no-class", "info")
    assert_law(report)


@pytest.mark.parametrize(
    ("lacking", "word"),
    [((), "full"), (("nvml",), "no-nvml"), (("rdma",), "no-rdma"), (("nvml", "rdma"), "host-only")],
)
@pytest.mark.parametrize("is_apart", [False, True])
def test_the_word_of_coverage_names_each_source_that_is_lacking(lacking, word, is_apart):
    facts = {**recorded.report_of(ROCE).facts}
    gap = {"unread": "denied", "detail": "no"}
    if "nvml" in lacking:
        facts["gpus"] = [{**one, "memory_bytes": gap, "compute_capability": gap} for one in facts["gpus"]]
    if "rdma" in lacking:
        ports = [{**one, "active_mtu_from": "derived"} for one in facts["fabric"]["rdma"]]
        facts["fabric"] = {**facts["fabric"], "rdma": ports, "gdr": {**facts["fabric"]["gdr"], "dmabuf": gap}}
    if is_apart:
        facts["fabric"] = {**facts["fabric"], "port_range": gap}
    wanted = word if not is_apart else "no-network" if word == "full" else f"{word}.no-network"
    assert summary(replace(recorded.report_of(ROCE), facts=facts))["coverage"] == wanted
    assert wanted in summary_schema()["properties"]["coverage"]["enum"]
