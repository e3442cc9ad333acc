"""The summary of every recorded host, and of hosts that nobody has: its shape, its 4 KiB, its class of a fabric."""

import json
import re
from copy import deepcopy
from dataclasses import replace

import jsonschema
import pytest
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.facts.unread import Unread
from hostagent.nccl.fabricclass import INPUTS, fabric_class
from hostagent.report import Verdicts
from hostagent.report.nodewords import compact
from hostagent.report.summarized import LONGEST, summary
from hostagent.report.summary import summary_schema
from hostagent.report.told import groups
from tests import recorded
from tests.over import over
from tests.unit.reports import HOSTILE

SHAPE = jsonschema.Draft202012Validator(summary_schema())
LARGE = "hgx-h100-roce-one-subnet"


def size(document):
    return len(compact(document).encode())


@over("name", recorded.NAMES)
def test_the_summary_of_a_host(name):
    report = recorded.report_of(name)
    found = summary(report)
    assert list(SHAPE.iter_errors(found)) == []
    assert size(found) <= LONGEST
    counting = [group.cause.finding for group in groups(report) if group.cause.finding.severity != "info"]
    told = [(one.id, one.code, one.severity, one.action) for one in counting][:8]
    assert [(one["id"], one["code"], one["severity"], one["action"]) for one in found["reasons"]] == told
    kind, inputs = found["fabric"]["class"], found["fabric"]["inputs"]
    is_whole = "unread" not in inputs and all(isinstance(one, str) for one in inputs.values())
    assert bool(isinstance(kind, str) and re.fullmatch("[0-9a-f]{12}", kind)) == is_whole
    if (report.facts["kubelet"] or {}).get("state") == "absent":
        assert found["kubelet"] == {"unread": "absent"}


def test_the_command_line_writes_one_document():
    done = CliRunner().invoke(cli, ["check", "--from", f"tests/hosts/{LARGE}", "--format", "summary"])
    assert compact(json.loads(done.stdout)) == done.stdout.rstrip("\n")
    assert set(json.loads(done.stdout)) == set(summary_schema()["properties"])


def larger(report, text):
    """16 GPUs, 18 NUMA nodes, and every text of the host as long as nobody writes it."""
    facts = deepcopy(dict(report.facts))
    nodes = facts["topology"]["numa_nodes"]
    facts["topology"]["numa_nodes"] = [{**nodes[number % len(nodes)], "id": number} for number in range(18)]
    gpu = {"name": text, "nvlink_domain": text, "compute_capability": text}
    facts["gpus"] = [{**facts["gpus"][number % 8], **gpu, "index": number} for number in range(16)]
    facts["driver"] |= {"loaded": text, "cuda": text}
    facts["toolkit"] |= {"version": text}
    names = ("topologyManagerPolicy", "topologyManagerScope", "cpuManagerPolicy", "memoryManagerPolicy")
    facts["kubelet"]["config"] |= dict.fromkeys(names, text)
    findings = tuple(replace(one, headline=text, message=text, code=text) for one in report.findings)
    return replace(report, facts=facts, findings=findings, headline=text, boot_id=text, host=replace(report.host, node_name=text))


@pytest.mark.parametrize("text", ["x" * 400, "é€😀" * 80, "😀" * 200, '\\"' * 200, HOSTILE * 20])
def test_no_host_makes_it_too_long(text):
    found = summary(larger(recorded.report_of(LARGE), text))
    assert size(found) <= LONGEST
    assert list(SHAPE.iter_errors(found)) == []
    assert json.loads(compact(found)) == found


def test_what_is_told_instead_has_its_own_headline():
    report = recorded.report_of("hgx-h100-roce")
    found = summary(report, Verdicts("not_ready", "not_ready"), "It changes again and again")
    assert found["verdict"] == {"single_node": "not_ready", "multi_node": "not_ready"}
    assert (found["headline"], found["action"]) == ("It changes again and again", "none")


def test_the_class_is_of_the_inputs_alone():
    inputs = dict.fromkeys(INPUTS, "x")
    kind = fabric_class(inputs)
    assert kind == fabric_class(dict(reversed(inputs.items())))
    assert len({fabric_class({**inputs, name: "y"}) for name in INPUTS} | {kind}) == len(INPUTS) + 1
    assert isinstance(fabric_class({**inputs, "mtu": Unread("denied", "no")}), Unread)
