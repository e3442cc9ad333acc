"""The summary of every recorded host, and of hosts that nobody has: its shape, its 4 KiB, its class of a fabric."""

import json
import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.core.errors import HostagentError
from hostagent.core.typed import plain
from hostagent.core.unread import Unread
from hostagent.domains.nccl.class_inputs import CLASS_INPUTS, HOST_INPUTS
from hostagent.domains.nccl.fabric_class import fabric_class, host_class
from hostagent.engine.report import Verdicts
from hostagent.engine.report.grouping import groups
from hostagent.engine.report.node_status import compact
from hostagent.engine.report.node_summary import LONGEST, cut_at_names, summary, summary_of_report
from hostagent.engine.report.summary import summary_schema
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
    inputs = found["fabric"]["inputs"]
    for name_of_class, names in (("class", CLASS_INPUTS), ("host_class", (*CLASS_INPUTS, *HOST_INPUTS))):
        kind, is_whole = found["fabric"][name_of_class], all(isinstance(inputs[one], str) for one in names)
        assert bool(isinstance(kind, str) and re.fullmatch("1-[0-9a-f]{12}", kind)) == is_whole
    if (report.facts["kubelet"] or {}).get("state") == "absent":
        assert found["kubelet"] == {"unread": "absent"}


def test_the_command_line_writes_one_document():
    done = CliRunner().invoke(cli, ["check", "--from", str(Path(__file__).parent / "hosts" / LARGE), "--format", "summary"])
    assert done.exit_code in (0, 1), (done.output, done.exception)
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


def test_each_class_is_of_its_inputs_alone():
    inputs = dict.fromkeys((*CLASS_INPUTS, *HOST_INPUTS), "x")
    for of, names in ((fabric_class, CLASS_INPUTS), (host_class, (*CLASS_INPUTS, *HOST_INPUTS))):
        kind = of(inputs)
        assert kind == of(dict(reversed(inputs.items())))
        assert len({of({**inputs, name: "y"}) for name in inputs} | {kind}) == len(names) + 1
        assert isinstance(of({**inputs, "mtu": Unread("denied", "no")}), Unread)
    assert isinstance(fabric_class({**inputs, "nccl": Unread("denied", "no")}), str)


@over("name", recorded.NAMES)
def test_a_saved_report_gives_the_summary_of_the_host(name):
    report = recorded.report_of(name)
    assert summary_of_report(json.loads(json.dumps(plain(report)))) == summary(report)


@pytest.mark.parametrize("names", [3, 40, 400])
def test_an_input_is_cut_at_whole_names_and_says_so(names):
    """Two nodes whose classes differ never show equal inputs without a mark."""
    text = ", ".join(f"NCCL_SETTING_{number}={number}" for number in range(names))
    found = cut_at_names(text, 400)
    assert len(found) <= 400
    kept, mark, more = found.partition("… (+")
    assert (found == text) if not mark else (text.startswith(kept) and kept.count(", ") + int(more.rstrip(")")) == names)


@pytest.mark.parametrize(
    ("mig", "wanted"),
    [
        ([False, False], False),
        ([False, True], True),
        (["not-supported", "not-supported"], {"unread": "not-supported"}),
        ([False, "not-supported"], False),
        ([False, "denied"], {"unread": "denied"}),
        (["denied", True], True),
    ],
)
def test_mig_is_on_where_one_gpu_has_it(mig, wanted):
    report = recorded.report_of(LARGE)
    values = [{"unread": one, "detail": ""} if isinstance(one, str) else {"current": one, "pending": one} for one in mig]
    facts = {**report.facts, "gpus": [{**gpu, "mig": one} for gpu, one in zip(report.facts["gpus"], values, strict=False)]}
    assert summary(replace(report, facts=facts))["gpus"]["mig"] == wanted


@pytest.mark.parametrize("value", [10**400, float("nan"), float("inf"), "soon", None])
@pytest.mark.parametrize("name", ["observed_at", "valid_until"])
def test_a_saved_report_without_a_usable_time_is_none(name, value):
    report = json.loads(json.dumps(plain(recorded.report_of(LARGE))))
    with pytest.raises(HostagentError):
        summary_of_report({**report, name: value})


@pytest.mark.parametrize("value", [["x"], None, "bogus", 5, {}])
def test_a_reason_that_is_none_of_ours_is_an_error(value):
    report = json.loads(json.dumps(plain(recorded.report_of(LARGE))))
    report["facts"]["driver"] = {"unread": value}
    found = summary_of_report(report)
    assert list(SHAPE.iter_errors(found)) == []
    assert found["driver"] == {"unread": "error"}


@pytest.mark.parametrize("driver", ["vfio-pci", "nouveau"])
def test_a_gpu_that_jobs_cannot_have_does_not_count(driver):
    """What only NVML knows is absent of it, and known of the others."""
    report = deepcopy(recorded.report_of(LARGE))
    gpu, place = report.facts["gpus"][3], report.facts["topology"]["gpus"][3]
    assert gpu["pci"] == place["pci"]
    place["bound_to"] = driver
    absent = {"unread": "absent", "detail": "NVML does not list it"}
    gpu |= dict.fromkeys(("name", "memory_bytes", "compute_capability", "mig"), absent)
    found = summary(report)
    assert found["gpus"] == {**summary(recorded.report_of(LARGE))["gpus"], "count": 7}
    assert (found["fabric"]["inputs"]["gpu_count"], found["fabric"]["inputs"]["gpu_memory"]) == ("7", "80")
    assert [one["gpus"] for one in found["kubelet"]["numa"]] == [3, 4]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"dra_only": True, "devices": []}, "dra"),
        ({"devices": []}, {"unread": "absent"}),
        ({"dra_only": {"unread": "denied", "detail": ""}, "devices": []}, {"unread": "denied"}),
        ({"devices": [("GPU-1", [0])], "resource": "nvidia.com/pgpu"}, {"unread": "absent"}),
        ({"devices": [("GPU-1", [0]), ("GPU-2", [])]}, "numa"),
        ({"devices": [("GPU-1", []), ("GPU-2", [])]}, "plain"),
        ({"devices": [("", {"unread": "denied", "detail": ""})]}, {"unread": "not-recorded"}),
        ({"devices": [("of the host", {"unread": "denied", "detail": ""})]}, "numa"),
        ({"unread": "denied", "detail": ""}, {"unread": "denied"}),
    ],
)
def test_whether_the_kubelet_knows_the_nodes_of_gpus(given, wanted):
    report = deepcopy(recorded.report_of(LARGE))
    uuid = report.facts["gpus"][0]["uuid"]
    rows = [
        {"resource": given.get("resource", "nvidia.com/gpu"), "id": uuid if name == "of the host" else name, "nodes": nodes}
        for name, nodes in given.get("devices", [])
    ]
    report.facts["kubelet"]["given"] = {**given, **({"devices": rows} if "devices" in given else {})}
    assert summary(report)["kubelet"]["devices"] == wanted
