"""What is kept of the past: transitions and critical faults, bounded, over restarts and boots; and how each is logged."""

import json
import re
import shlex
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from hostagent.cli.daemonhistory import command
from hostagent.daemon import record
from hostagent.daemon.settings import KEPT
from hostagent.engine.report.node_status import Condition, Device, Transition
from hostagent.install.runs import FOLDER
from hostagent.kube.nodestatus import event
from hostagent.outputs.log import Log
from tests.unit.reports import judgement, report

GPU = Device("0000:9d:00.0", "GPU-11111111-2222-3333-4444-555555555555")
DAY = 1_795_921_200.0


def condition(status, kind="Ready", **more):
    return Condition(kind, status, "GpuXid", "Xid 79 on GPU 4 (0000:9d:00.0)", DAY, more.get("devices", (GPU,)))


def passes(*statuses, kind="Ready"):
    """A record after these were said, one a second."""
    kept = record.EMPTY
    for at, status in enumerate(statuses):
        kept, _ = record.with_transitions(kept, (condition(status, kind),) if status else (), "boot", DAY + at)
    return kept


def test_a_change_of_a_status_is_a_transition_and_nothing_else_is():
    kept = passes("Unknown", "True", "True", "False", "False", "True")
    assert [(one.old, one.new, one.at - DAY) for one in kept.transitions] == [
        ("", "Unknown", 0), ("Unknown", "True", 1), ("True", "False", 3), ("False", "True", 5)
    ]  # fmt: skip
    assert [one.number for one in kept.transitions] == [1, 2, 3, 4]
    assert {one.devices for one in kept.transitions} == {(GPU,)}


def test_a_condition_that_is_removed_and_comes_again_is_two():
    kept = passes("True", "", "True")
    assert [(one.old, one.new, one.reason) for one in kept.transitions] == [
        ("", "True", "GpuXid"), ("True", "", "DoesNotApply"), ("", "True", "GpuXid")
    ]  # fmt: skip


def test_the_newest_are_kept_and_their_numbers_go_on():
    kept = passes(*["True", "False"] * 200)
    assert (len(kept.transitions), kept.count) == (record.MOST, 400)
    assert kept.transitions[-1].number == 400
    again = record.load(record.dump(kept))
    assert again == (kept, "")


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '{"transitions": []}', "[" * 100_000, '{"count": NaN}'])
def test_a_damaged_record_says_so(text):
    loaded = record.load(text)
    assert (loaded.record, bool(loaded.problem)) == (record.EMPTY, True)


def test_a_time_of_no_calendar_is_damage():
    kept = passes("True")
    damaged = replace(kept, transitions=(replace(kept.transitions[0], at=1e300),))
    assert record.load(record.dump(damaged)).problem == "a time is out of range"


def of(outcome, at, subject="0000:9d:00.0", severity="critical"):
    device = f"GPU 4 ({subject})" if subject else ""
    one = judgement("gpu.xid", outcome=outcome, severity=severity, subject=subject, device=device, headline="Xid 79")
    facts = {"gpus": [{"pci": GPU.pci, "uuid": GPU.uuid}]}
    return replace(report(one), observed_at=at, facts=facts, boot_id="boot")


def test_a_critical_fault_begins_and_ends_once_with_the_address_of_its_device():
    kept = record.EMPTY
    for outcome, at in (("pass", 1.0), ("fail", 2.0), ("fail", 3.0), ("unknown", 4.0), ("fail", 5.0), ("pass", 6.0), ("pass", 7.0)):
        kept = record.with_faults(kept, of(outcome, at))
    assert kept.faults == (record.Fault("gpu.xid", GPU.pci, GPU.pci, GPU.uuid, "Xid 79", 2.0, 6.0, "boot"),)
    assert record.load(record.dump(kept)) == (kept, "")


def test_what_could_not_be_read_has_not_ended_and_what_is_no_fault_does_not_begin():
    kept = record.with_faults(record.EMPTY, of("fail", 2.0))
    for other in (of("unknown", 3.0), of("unknown", 3.0, subject="")):
        assert record.with_faults(kept, other) is kept
    for harmless in (of("warn", 2.0), of("fail", 2.0, severity="warning"), of("unknown", 2.0)):
        assert record.with_faults(record.EMPTY, harmless) is record.EMPTY


def test_a_device_that_is_not_there_any_more_is_not_well_until_a_boot_shows_it_gone():
    kept = record.with_faults(record.EMPTY, of("fail", 2.0))
    other = replace(of("pass", 3.0, subject="0000:1b:00.0"), facts={"gpus": [{"pci": "0000:1b:00.0", "uuid": "GPU-1"}]})
    assert record.with_faults(kept, other) is kept
    assert record.with_faults(kept, replace(other, boot_id="")) is kept, "a boot that was not read is no other one"
    (ended,) = record.with_faults(kept, replace(other, boot_id="next", observed_at=9.0)).faults
    assert ended.end == 9.0


def test_a_check_of_the_whole_host_ends_the_fault_of_each_device_that_it_does_not_name_any_more():
    """Xids: only the devices that have one are named."""
    facts = {"gpus": [{"pci": pci, "uuid": ""} for pci in (GPU.pci, "0000:1b:00.0")]}
    both = replace(of("fail", 2.0), findings=(*of("fail", 2.0).findings, *of("fail", 2.0, subject="0000:1b:00.0").findings), facts=facts)
    kept = record.with_faults(record.EMPTY, both)
    after = record.with_faults(kept, replace(of("fail", 3.0), facts=facts))
    assert {one.pci: one.end for one in after.faults} == {GPU.pci: 0, "0000:1b:00.0": 3.0}
    blind = record.with_faults(
        kept, replace(of("fail", 3.0), findings=(*of("fail", 3.0).findings, *of("unknown", 3.0, subject="0000:2b:00.0").findings))
    )
    assert all(not one.end for one in blind.faults)


@pytest.mark.parametrize("outcome", ["off", "skip"])
def test_a_fault_of_a_check_that_does_not_judge_any_more_ends_with_the_boot(outcome):
    kept = record.with_faults(record.EMPTY, of("fail", 2.0))
    assert record.with_faults(kept, of(outcome, 3.0)) is kept
    assert record.with_faults(kept, replace(of(outcome, 3.0), boot_id="next")).faults[0].end == 3.0
    assert record.with_faults(kept, replace(of("unknown", 3.0), boot_id="next")).faults[0].end == 0


def test_the_last_of_several_of_one_moment_is_about_the_node_as_a_whole():
    kept, _ = record.with_transitions(passes("Unknown"), (condition("True"), condition("True", "DriverReady")), "boot", DAY + 9)
    assert record.last(kept.transitions).condition == "Ready"
    again, _ = record.with_transitions(kept, (condition("False"), condition("False", "DriverReady")), "boot", DAY + 9)
    assert record.last(again.transitions).new == "False"
    assert record.last(()) is None


@pytest.mark.parametrize("node", ["gpu-7", "a_b", "gpu..7", "N" * 253])
def test_an_event_has_a_name_that_kubernetes_takes_whatever_the_node_is_called(node):
    made = event(TURNED, node, "hostagent.dev")
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", made["metadata"]["name"])
    assert made == event(TURNED, node, "hostagent.dev"), "sent twice it is one"
    assert len(made["message"].encode()) < 1024
    assert (made["type"], made["involvedObject"]["name"]) == ("Warning", node)


def test_the_record_lies_where_no_installation_is():
    """That folder is closed to everybody but root, and an installation refuses one that is not."""
    assert not f"{KEPT}/".startswith(f"{FOLDER}/")


@given(st.lists(st.sampled_from(["pass", "fail", "unknown"]), max_size=30))
def test_no_fault_is_open_twice(outcomes):
    kept = record.EMPTY
    for at, outcome in enumerate(outcomes):
        kept = record.with_faults(kept, of(outcome, float(at + 1)))
    assert sum(not one.end for one in kept.faults) <= 1
    assert all(one.begin < one.end for one in kept.faults if one.end)


def lines(form, *events):
    said = []
    log = Log(form, said.append)
    for one in events:
        log.turned(one)
    return said


TURNED = Transition(7, DAY, "boot", "Ready", "True", "False", "GpuXid", 'Xid 79 of "a" GPU\n\x1b[31m', (GPU, Device("0000:1b:00.0", "")))


def test_a_line_of_text_is_read_by_logfmt_and_one_of_json_by_json():
    (text,), (data,) = lines("text", TURNED), lines("json", TURNED)
    found = dict(word.split("=", 1) for word in shlex.split(text))
    assert (found["time"], found["event"], found["condition"], found["from"], found["to"]) == (
        "2026-11-29T03:00:00Z", "transition", "Ready", "True", "False"
    )  # fmt: skip
    assert (found["reason"], found["pci"], found["uuid"]) == ("GpuXid", "0000:9d:00.0,0000:1b:00.0", GPU.uuid)
    whole = json.loads(data)
    assert whole == {
        "time": "2026-11-29T03:00:00Z", "event": "transition", "condition": "Ready", "from": "True", "to": "False",
        "reason": "GpuXid", "message": TURNED.message, "pci": ["0000:9d:00.0", "0000:1b:00.0"], "uuid": [GPU.uuid, ""],
    }  # fmt: skip
    assert "\n" not in text + data
    assert "\x1b" not in text + data


@pytest.mark.parametrize(
    ("old", "new", "event"),
    [("False", "True", "recovery"), ("Unknown", "True", "recovery"), ("", "True", "transition"), ("True", "", "transition")],
)
def test_what_becomes_true_again_is_a_recovery(old, new, event):
    (data,) = lines("json", replace(TURNED, old=old, new=new))
    assert json.loads(data)["event"] == event


def history(folder, *options):
    return CliRunner().invoke(command, ["--history-dir", str(folder), *options], standalone_mode=False)


def test_history_prints_what_happened_since(tmp_path):
    kept = record.with_faults(passes("Unknown", "True", "False"), of("fail", DAY + 2))
    (tmp_path / "record.json").write_text(record.dump(kept))
    text = history(tmp_path).output
    assert text.splitlines() == [
        "2026-11-29T03:00:00Z  Ready           none -> Unknown  GpuXid  Xid 79 on GPU 4 (0000:9d:00.0)",
        "2026-11-29T03:00:01Z  Ready           Unknown -> True  GpuXid  Xid 79 on GPU 4 (0000:9d:00.0)",
        "2026-11-29T03:00:02Z  Ready           True -> False  GpuXid  Xid 79 on GPU 4 (0000:9d:00.0)",
        "Critical faults:",
        "  2026-11-29T03:00:02Z and not ended yet        gpu.xid  0000:9d:00.0  Xid 79",
    ]
    assert len(history(tmp_path, "--since", "2026-11-29T03:00:02Z").output.splitlines()) == 3
    found = json.loads(history(tmp_path, "--since", "2026-11-30", "--format", "json").output)
    assert (found["transitions"], len(found["faults"])) == ([], 1), "what has not ended is of today, too"


@pytest.mark.parametrize("since", ["yesterday", "1x", "2026-13-01", "-1h", "9999999999h"])
def test_a_time_that_is_none_is_said(tmp_path, since):
    assert "wanted a span" in str(history(tmp_path, "--since", since).exception)
