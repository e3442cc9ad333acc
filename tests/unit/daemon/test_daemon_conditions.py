"""What one report says of each condition."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.daemon.conditions import LONGEST, TYPES, cut, measured
from hostagent.engine.catalogue import load
from hostagent.engine.collect import READERS
from hostagent.engine.report import Cause, verdict_of
from hostagent.engine.report.grouping import with_headline
from hostagent.engine.report.node_status import camel_case
from hostagent.profiles.profile import load as load_profile
from tests.unit.reports import judgement, report

CHECKS = load(load_profile("default", site_file="").profile.catalogues, readable=READERS)
CONDITION_OF = {one.id: one.family.condition for one in CHECKS}
OF = {"driver.a": "DriverReady", "gpu.a": "", "rdma.a": "FabricReady", "toolkit.a": "ToolkitReady"}
#: Kubernetes, metav1.Condition: a reason of a condition.
REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")


def found(*judgements, order=()):
    return {one.type: one for one in measured(with_headline(replace(report(*judgements), reading_order=order)), OF)}


def test_the_families_decide_the_conditions_that_the_words_name():
    families = {}
    for one in CHECKS:
        families.setdefault(one.family.condition, set()).add(one.id.partition(".")[0])
    families.pop("")
    assert families == {
        "DriverReady": {"kernel", "driver"},
        "ToolkitReady": {"toolkit", "runtime", "cdi"},
        "TopologyReady": {"topology", "kubelet"},
        "FabricReady": {"nvswitch", "rdma", "network", "nccl"},
    }


def test_a_fault_of_a_family_makes_its_condition_false_and_no_other():
    said = found(judgement("driver.a", headline="The driver is not loaded"), judgement("toolkit.a", outcome="pass"))
    assert (said["DriverReady"].verdict, said["DriverReady"].reason, said["DriverReady"].message) == (
        "not_ready",
        "DriverA",
        "The driver is not loaded",
    )
    assert (said["ToolkitReady"].verdict, said["ToolkitReady"].reason) == ("ready", "Ready")
    assert said["Ready"].verdict == said["MultiNodeReady"].verdict == "not_ready"


def test_a_fault_of_the_fabric_leaves_the_single_node_ready():
    said = found(judgement("gpu.a", outcome="pass"), judgement("rdma.a", scope="fabric"))
    assert [said[kind].verdict for kind in ("Ready", "MultiNodeReady", "FabricReady")] == ["ready", "not_ready", "not_ready"]
    assert said["MultiNodeReady"].reason == "RdmaA"


@pytest.mark.parametrize("left_out", ["skip", "off"])
def test_a_condition_that_no_check_applies_to_has_no_verdict(left_out):
    said = found(judgement("gpu.a", outcome="pass"), judgement("rdma.a", outcome=left_out))
    assert said["FabricReady"].verdict == said["DriverReady"].verdict == ""


def test_what_was_not_read_is_unknown_and_never_without_a_condition():
    said = found(judgement("gpu.a", outcome="pass"), judgement("rdma.a", outcome="unknown", unread="ask"))
    assert (said["FabricReady"].verdict, said["FabricReady"].reason) == ("unknown", "CouldNotRead")


def test_a_consequence_is_told_by_its_cause_though_that_is_another_familys():
    cause = judgement("gpu.a", headline="GPU 4 has fallen off the bus")
    said = found(cause, judgement("rdma.a", cause=Cause("gpu.a", "")))
    assert (said["FabricReady"].reason, said["FabricReady"].message) == ("GpuA", "GPU 4 has fallen off the bus")


def test_the_first_cause_is_the_first_of_the_reports_order_and_says_how_many_more_there_are():
    ones = (judgement("driver.a", headline="One"), judgement("gpu.a", headline="Two"), judgement("toolkit.a", headline="Three"))
    said = found(*ones, order=("toolkit.a", "gpu.a", "driver.a"))
    assert (said["Ready"].reason, said["Ready"].message) == ("ToolkitA", "Three (and 2 more)")
    assert (said["DriverReady"].reason, said["DriverReady"].message) == ("DriverA", "One")


def test_a_security_finding_counts_what_the_profile_lets_it_count():
    said = found(judgement("driver.a", axis="security", severity="critical"))
    assert said["DriverReady"].verdict == "not_ready"
    said = found(judgement("driver.a", axis="security", severity="info"), judgement("driver.b", outcome="pass"))
    assert said["DriverReady"].verdict == ""


FIELDS = st.fixed_dictionaries(
    {
        "check": st.sampled_from(sorted(OF)),
        "outcome": st.sampled_from(["pass", "warn", "fail", "unknown", "skip", "off"]),
        "severity": st.sampled_from(["critical", "warning", "info"]),
        "scope": st.sampled_from(["node", "fabric"]),
        "subject": st.sampled_from(["", "0000:10:00.0", "0000:11:00.0"]),
        "headline": st.text(max_size=300),
    }
)


@given(st.lists(FIELDS, max_size=12))
def test_whatever_was_judged(drawn):
    ones = tuple(judgement(**fields) for fields in drawn)
    said = found(*ones)
    assert tuple(said) == TYPES
    for kind, one in said.items():
        assert len(one.message.encode()) <= LONGEST
        assert one.message.isprintable()
        if one.verdict:
            assert REASON.fullmatch(one.reason)
            assert one.message
        own = [judged for judged in ones if OF[judged.id] == kind]
        if one.verdict and own and kind not in ("Ready", "MultiNodeReady"):
            assert one.verdict == verdict_of(own)
        assert (one.reason == "Ready") == (one.verdict == "ready")
    assert found(*reversed(ones)).keys() == said.keys()


def test_the_ids_of_all_checks_make_reasons():
    assert all(REASON.fullmatch(camel_case(one.id)) for one in CHECKS)


@given(st.text(), st.integers(3, 600))
def test_a_text_is_cut_at_a_character(text, most):
    text = text.encode("utf-8", "ignore").decode()
    assert len(cut(text, most).encode()) <= most
