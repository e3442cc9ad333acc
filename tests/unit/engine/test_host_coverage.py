"""Every output with a verdict names what could not be read, and is silent on a host that was read whole."""

import json
import os
import time
from copy import deepcopy
from dataclasses import replace

import pytest
from click.testing import CliRunner

from hostagent.cli import npd, status
from hostagent.daemon.conditions import LONGEST, measured
from hostagent.engine.catalogue import OURS, load
from hostagent.engine.report import state
from hostagent.engine.report.host_coverage import coverage_of_report
from hostagent.outputs import FORMATS, render
from tests.recorded import report_of

HOST = "hgx-h100-ubuntu2404"
#: Where a form says it for people; JSON has the facts, the summary the word.
SAID = {
    "text": "; no answer from NVML (coverage no-nvml)",
    "html": "; no answer from NVML (coverage no-nvml)",
    "junit": '<skipped message="no answer from NVML (coverage no-nvml)"/>',
    "line": "READY (coverage: no-nvml): ",
    "prometheus": 'hostagent_coverage_info{coverage="no-nvml"} 1\n',
    "summary": '"coverage":"no-nvml"',
}


def blind(report):
    """The same host, as it looks to a process that may not ask NVML."""
    facts = deepcopy(dict(report.facts))
    for gpu in facts["gpus"]:
        gpu["memory_bytes"] = gpu["compute_capability"] = {"unread": "not-supported"}
    return replace(report, facts=facts)


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "json"])
def test_every_form_says_what_was_not_read_and_nothing_of_a_host_that_was_seen_whole(form):
    whole = report_of(HOST)
    assert SAID[form] in render(blind(whole), form)
    if form not in ("summary", "prometheus"):
        assert "coverage" not in render(whole, form)


def test_metrics_say_that_nothing_is_missing():
    """So that a missing series is an agent that does not know the word."""
    assert 'hostagent_coverage_info{coverage="full"} 1\n' in render(report_of(HOST), "prometheus")


@pytest.mark.parametrize("fields", [{"partial": True}, {"read_from": "image"}])
def test_some_checks_alone_and_an_image_say_nothing_of_it(fields):
    found = replace(blind(report_of(HOST)), **fields)
    assert coverage_of_report(found) == ""
    assert not any("coverage" in render(found, form) for form in ("text", "html", "line", "junit"))
    assert "coverage_info" not in render(found, "prometheus")


def conditions(report):
    return {one.type: one for one in measured(report, {one.id: one.family.condition for one in load([OURS])})}


def test_a_condition_that_lets_jobs_come_says_it_in_its_message():
    whole = report_of(HOST)
    before, after = (conditions(one) for one in (whole, blind(whole)))
    for kind, one in after.items():
        tail = " (coverage no-nvml)" if kind in ("Ready", "MultiNodeReady") else ""
        assert one.message == f"{before[kind].message}{tail}"
        assert len(one.message.encode()) <= LONGEST
    sick = report_of("hgx-h100-gpu-off-the-bus")
    assert conditions(blind(sick))["Ready"].message == conditions(sick)["Ready"].message, "jobs are kept away for what it says"


@pytest.fixture
def kept(tmp_path):
    now = time.time()
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        fresh = {"observed_at": now, "valid_until": now + 600, "boot_id": stream.read().strip()}

    def kept(report):
        document = state.document(replace(report, **fresh), ())
        rows = [
            {"type": one.type, "status": "True", "reason": one.reason, "message": one.message}
            for one in conditions(report).values()
            if one.verdict
        ]
        path = tmp_path / state.PATH.rpartition("/")[2]
        path.write_text(json.dumps({**document, "conditions": rows}))
        return path

    return kept


def printed(command, *arguments):
    return CliRunner().invoke(command, list(map(str, arguments)), standalone_mode=False).output


def test_status_says_it_in_each_form_and_npd_too(kept):
    path = kept(blind(report_of(HOST)))
    assert "\n  no answer from NVML (coverage no-nvml)\n" in printed(status.command, "--state-file", path)
    assert printed(status.command, "--state-file", path, "--format", "line").startswith("READY (coverage: no-nvml): ")
    assert json.loads(printed(status.command, "--state-file", path, "--json"))["coverage"] == "no-nvml"
    assert (
        printed(npd.command, "ready", "--state-dir", os.path.dirname(path)) == "Ready: Every check that counts passes (coverage no-nvml)\n"
    )


def test_status_of_a_host_that_was_seen_whole_or_of_an_older_agent_says_nothing(kept):
    path = kept(report_of(HOST))
    assert "coverage" not in printed(status.command, "--state-file", path)
    document = json.loads(path.read_text())
    del document["coverage"]
    path.write_text(json.dumps(document))
    assert "coverage" not in printed(status.command, "--state-file", path)
    assert printed(status.command, "--state-file", path).startswith("READY")


def test_a_word_that_is_no_text_is_damage(kept):
    path = kept(report_of(HOST))
    path.write_text(json.dumps({**json.loads(path.read_text()), "coverage": ["x"]}))
    assert "is damaged" in state.read(str(path), time.time()).problem
