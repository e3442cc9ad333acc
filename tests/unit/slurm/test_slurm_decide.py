"""What health writes to a node, by what others have set: the table of other people's states."""

from dataclasses import replace

import pytest

from hostagent.slurm.programs.health import Past, decide
from hostagent.slurm.programs.spool import Marker
from hostagent.slurm.reason import LONGEST, reason_text
from tests.unit.slurm.slurmparts import OURS, node, verdict

OTHER = "hostagent: GpuXid: GPU 1 had Xid 79. Drain the node."
EXTRA = '{"hostagent":1,"hostagent_multi":1,"hostagent_class":"1-c0ffee","hostagent_coverage":"full"}'
BAD_EXTRA = EXTRA.replace(":1,", ":0,")
NHC = "NHC: check_hw_ib:  No IB port is ACTIVE (LinkUp 200 Gb/sec)."
GRES = "gres/gpu count reported lower than configured (7 < 8)"
DRAIN = {"State": "DRAIN", "Reason": OURS}
RESUME = {"State": "RESUME"}
#: States and reason of the node; what is written for State and Reason while it is not ready, and while it is ready.
TABLE = {
    "in service": ("IDLE", "", DRAIN, {}),
    "in service, does not respond for a moment": ("IDLE+NOT_RESPONDING", "", DRAIN, {}),
    "running jobs": ("ALLOCATED", "", DRAIN, {}),
    "drained by us": ("IDLE+DRAIN", OURS, {}, RESUME),
    "drained by us, with jobs": ("ALLOCATED+DRAIN", OURS, {}, RESUME),
    "drained by us for another fault": ("IDLE+DRAIN", OTHER, {"Reason": OURS}, RESUME),
    "drained by us, a ticket added": ("IDLE+DRAIN", f"{OURS} ticket 5", {}, RESUME),
    "drained by us, then back without its reason being cleared": ("IDLE", OURS, DRAIN, {}),
    "drained by a person": ("IDLE+DRAIN", "bob: new memory", {}, {}),
    "drained by a person after us, who named our text": ("IDLE+DRAIN", "bob: hostagent: GpuXid is known", {}, {}),
    "drained by us, the prefix replaced by a person": ("IDLE+DRAIN", "bob: GpuRowRemapped: GPU 3 needs a reset.", {}, {}),
    "drained, no reason": ("IDLE+DRAIN", "", {}, {}),
    "down, no reason": ("DOWN", "", {}, {}),
    "down by slurmctld": ("DOWN+NOT_RESPONDING", "Not responding", {}, {}),
    "down by slurmctld after our drain": ("DOWN+DRAIN", OURS, {}, {}),
    "rebooted unexpectedly": ("DOWN", "Node unexpectedly rebooted", {}, {}),
    "failed": ("IDLE+FAIL", "fail", {}, {}),
    "failed after our drain": ("IDLE+DRAIN+FAIL", OURS, {}, {}),
    "fewer GPUs than configured": ("IDLE+DRAIN+INVALID_REG", GRES, {}, {}),
    "fewer GPUs than configured, after our drain": ("IDLE+DRAIN+INVALID_REG", OURS, {}, {}),
    "drained by NHC": ("IDLE+DRAIN", NHC, {}, {}),
    "drained by SUNK": ("IDLE+DRAIN", "k8s: pod is being deleted", {}, {}),
    "drained by Slinky": ("IDLE+DRAIN", "slurm-operator: Pod is being deleted", {}, {}),
    "reboot requested": ("IDLE+DRAIN+REBOOT_REQUESTED", "bob: new kernel", {}, {}),
    "reboot requested, no drain yet": ("ALLOCATED+REBOOT_REQUESTED", "", {}, {}),
    "reboot requested with our reason": ("IDLE+DRAIN+REBOOT_REQUESTED", OURS, {}, {}),
    "reboot issued": ("IDLE+DRAIN+REBOOT_ISSUED", "bob: new kernel", {}, {}),
    "reboot issued with our reason": ("IDLE+DRAIN+REBOOT_ISSUED", OTHER, {}, {}),
    "reboot done, our reason is left": ("IDLE+DRAIN", OURS, {}, RESUME),
    "in a maintenance reservation": ("IDLE+MAINT+RESERVED", "", DRAIN, {}),
    "in a maintenance reservation, drained by us": ("IDLE+DRAIN+MAINT+RESERVED", OURS, {}, {}),
    "in a maintenance reservation, drained by us for another fault": ("IDLE+DRAIN+MAINT", OTHER, {"Reason": OURS}, {}),
    "slurmctld has just started": ("UNKNOWN", "", {}, {}),
    "slurmctld has just started, drained by us": ("UNKNOWN+DRAIN", OURS, {}, {}),
    "not registered yet": ("FUTURE", "", {}, {}),
    "powered down": ("IDLE+CLOUD+POWERED_DOWN", "", {}, {}),
    "powering down": ("IDLE+CLOUD+POWERING_DOWN", OURS, {}, {}),
    "powering up": ("ALLOCATED+CLOUD+POWERING_UP", "", {}, {}),
    "to be powered down": ("IDLE+DRAIN+POWER_DOWN", OURS, {}, {}),
    "to be powered down when drained": ("IDLE+DRAIN+POWER_DRAIN", OURS, {}, {}),
    "refused by another prolog": ("IDLE+DRAIN", "Prolog error", {}, {}),
    "failed in another epilog": ("IDLE+DRAIN", "Epilog error", {}, {}),
}


def written(found, judged, markers=(), scope="single"):
    return decide(found, judged, Past(tuple(markers)), scope).update


def state_of(update):
    return {key: value for key, value in update.items() if key in ("State", "Reason")}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_a_fault_changes_state_and_reason_only_of_what_is_ours(row):
    states, reason, while_bad, _ = row
    assert state_of(written(node(states, reason), verdict("not_ready"))) == while_bad


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_a_fault_that_has_gone_resumes_only_a_drain_of_ours(row):
    states, reason, _, while_good = row
    assert state_of(written(node(states, reason), verdict())) == while_good


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_a_node_that_reboots_or_is_off_or_not_registered_gets_no_comment_and_no_extra(row):
    states, reason, _, _ = row
    if any(word in states for word in ("REBOOT", "POWER", "UNKNOWN", "FUTURE")):
        assert not written(node(states, reason), verdict("not_ready", quarantine="GpuXid"))
    else:
        assert written(node(states, reason), verdict("not_ready", quarantine="GpuXid")).keys() >= {"Comment", "Extra"}


def test_while_a_daemon_holds_a_verdict_the_reason_of_that_fault_stays_as_it_is():
    held = verdict("not_ready", is_held=True, headline=f"{OURS} Replace the GPU.", step="")
    assert not state_of(written(node("IDLE+DRAIN", OURS), held))
    assert state_of(written(node("IDLE+DRAIN", OTHER), held)).keys() == {"Reason"}
    assert state_of(written(node(), held))["State"] == "DRAIN"


def test_degraded_resumes_as_ready_does():
    assert state_of(written(node("IDLE+DRAIN", OURS), verdict("degraded"))) == RESUME


def test_unknown_that_the_caller_has_seen_twice_drains():
    wanted = {"State": "DRAIN", "Reason": "hostagent: CouldNotRead: GPU 3 needs a reset. Drain the node."}
    assert state_of(written(node(), verdict("unknown"))) == wanted


def test_the_verdict_of_several_nodes_counts_only_where_it_is_asked_for():
    judged = verdict("ready", multi="not_ready", multi_reason="RdmaLinkUp", headline="port mlx5_0:1 is down", step="")
    assert not state_of(written(node(), judged))
    assert written(node(), judged, scope="multi")["Reason"] == "hostagent: RdmaLinkUp: port mlx5_0:1 is down."


@pytest.mark.parametrize(("program", "reason"), [("prolog", "Prolog error"), ("epilog", "Epilog error")])
def test_an_error_that_slurm_wrote_for_our_refusal_is_ours(program, reason):
    found, markers = node("IDLE+DRAIN", reason, reason_at=1000.0), [Marker(999.0, program, "x")]
    assert state_of(written(found, verdict("not_ready"), markers)) == {"Reason": OURS}
    assert state_of(written(found, verdict(), markers)) == RESUME


@pytest.mark.parametrize("at", [1002.1, 939.9])
def test_a_refusal_of_another_time_makes_no_error_ours(at):
    found = node("IDLE+DRAIN", "Prolog error", reason_at=1000.0)
    assert not state_of(written(found, verdict(), [Marker(at, "prolog", "x")]))


@pytest.mark.parametrize("at", [1002.0, 940.0])
def test_a_refusal_from_a_minute_before_to_two_seconds_after_counts(at):
    found = node("IDLE+DRAIN", "Prolog error", reason_at=1000.0)
    assert state_of(written(found, verdict(observed_at=1003.0), [Marker(at, "prolog", "x")])) == RESUME


@pytest.mark.parametrize("reason", ["Epilog error", OURS])
def test_a_look_from_before_a_refusal_resumes_nothing(reason):
    found, marker = node("IDLE+DRAIN", reason, reason_at=1000.0), Marker(1000.0, "epilog", "x")
    assert not state_of(written(found, verdict(observed_at=999.0), [marker]))
    assert state_of(written(found, verdict(observed_at=1001.0), [marker])) == RESUME


def test_an_edited_reason_stays_until_the_fault_is_another_one():
    found = node("IDLE+DRAIN", "hostagent: bob looks at it")
    before, another = Past(written=OURS), Past(written="hostagent: GpuXid: GPU 1 had Xid 79.")
    assert not state_of(decide(found, verdict("not_ready"), before, "single").update)
    assert state_of(decide(found, verdict("not_ready"), another, "single").update) == {"Reason": OURS}


@pytest.mark.parametrize(("stale_at", "update"), [(1000.0, {}), (900.0, RESUME), (0.0, RESUME)])
def test_a_drain_that_kept_the_time_of_a_reason_of_a_node_in_service_is_not_ours(stale_at, update):
    found = node("IDLE+DRAIN", OURS, reason_at=1000.0)
    assert state_of(decide(found, verdict(), Past(stale_at=stale_at), "single").update) == update


def test_a_node_without_gpus_for_which_slurm_has_none_is_left_alone():
    cpu = verdict("not_ready", has_gpus=False, quarantine="GpuPresent")
    assert written(node(gres="(null)"), cpu) == {}
    assert written(node("IDLE+DRAIN", OURS, gres="(null)"), cpu) == RESUME


@pytest.mark.parametrize(("has_gpus", "gres"), [(False, "gpu:h100:8"), (True, "(null)")])
def test_a_node_whose_gpus_are_lost_or_that_gives_them_out_by_whole_nodes_is_drained(has_gpus, gres):
    assert state_of(written(node(gres=gres), verdict("not_ready", has_gpus=has_gpus))) == DRAIN


@pytest.mark.parametrize(
    ("reason", "at"), [("Prolog error: see ticket 5", 1000.0), ("Epilog error", 1000.0), ("Prolog error", 0.0), ("Not responding", 1000.0)]
)
def test_our_prologs_refusal_makes_no_other_reason_ours(reason, at):
    assert not state_of(written(node("IDLE+DRAIN", reason, reason_at=at), verdict(), [Marker(1000.0, "prolog", "x")]))


@pytest.mark.parametrize("comment", ["", "quarantine: NvlinkErrors", "quarantine: Anything"])
def test_a_comment_is_written_over_an_empty_one_and_our_own(comment):
    assert written(node(comment=comment), verdict(quarantine="GpuXid"))["Comment"] == "quarantine: GpuXid"


@pytest.mark.parametrize(
    "comment", ["rack 7", "see quarantine: GpuXid", "Quarantine: by bob", "quarantine: flaky optics, ticket 17", "quarantine: bob"]
)
@pytest.mark.parametrize("quarantine", ["", "GpuXid"])
def test_the_comment_of_others_stays(comment, quarantine):
    assert "Comment" not in written(node(comment=comment), verdict(quarantine=quarantine))


def test_our_comment_is_removed_when_no_check_of_it_fails():
    assert written(node(comment="quarantine: GpuXid"), verdict())["Comment"] == ""


def test_our_comment_stays_while_it_is_not_known_whether_a_check_of_it_fails():
    assert "Comment" not in written(node(comment="quarantine: GpuXid"), verdict("unknown"))


@pytest.mark.parametrize("extra", ["rack=7", '{"rack":7}', '{"hostagent":1,"rack":7}', "[]", "{", "[" * 100_000])
def test_an_extra_with_anything_of_others_stays(extra):
    assert "Extra" not in written(node(extra=extra), verdict("not_ready"))


@pytest.mark.parametrize("extra", ["", '{"hostagent":0}', BAD_EXTRA, EXTRA.replace('"hostagent_multi":1,', "")])
def test_an_extra_is_written_where_it_is_empty_or_ours(extra):
    assert written(node(extra=extra), verdict())["Extra"] == EXTRA


@pytest.mark.parametrize("extra", [EXTRA, EXTRA.replace(":", ": ").replace(",", ", ")])
def test_a_node_that_says_what_is_known_of_it_is_not_written_to(extra):
    assert written(node(extra=extra), verdict()) == {}
    assert written(node("IDLE+DRAIN", OURS, extra=BAD_EXTRA), verdict("not_ready")) == {}


def test_all_that_changes_goes_in_one_update_state_first():
    found = written(node(), verdict("not_ready", quarantine="GpuXid"))
    assert list(found.items()) == [*DRAIN.items(), ("Comment", "quarantine: GpuXid"), ("Extra", BAD_EXTRA)]


def test_an_extra_leaves_out_a_class_that_is_not_known():
    assert written(node(), verdict(fabric_class="", coverage=""))["Extra"] == '{"hostagent":1,"hostagent_multi":1}'


def test_an_extra_says_that_a_node_serves_jobs_of_its_own_alone():
    alone = replace(verdict(fabric_class="", coverage=""), multi="not_ready")
    assert written(node(), alone)["Extra"] == '{"hostagent":1,"hostagent_multi":0}'


@pytest.mark.parametrize("text", ["a \"b\" 'c'", "a [root@2026-11-30T07:12:24] b", "a\nb\x1b[0m", "ä" * 400, "back\\slash `id`"])
def test_a_reason_is_one_line_that_slurm_and_shells_take_as_it_is(text):
    made = reason_text("GpuXid", text, "Drain the node.")
    assert made.isprintable()
    assert len(made) <= LONGEST
    assert not set("\"'[]\\`\n") & set(made)
