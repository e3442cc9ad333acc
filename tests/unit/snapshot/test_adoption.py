"""Recordings that were made before hostagent read what it reads today, and how an adopted one gets the rest."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from hostagent import snapshot
from hostagent.core.errors import HostagentError
from hostagent.host import recording
from hostagent.host.added_questions import ADDED, CURRENT, is_newer
from hostagent.host.recording import ReplayBackend
from hostagent.profiles import profile
from tests.judged import judged

HOSTS = Path(__file__).parents[2] / "hosts"
NAMES = sorted(path.parent.name for path in HOSTS.glob("*/tape.json"))


def older(name):
    """The recording as it was made before anything was added."""
    tape = recording.load(str(HOSTS / name))
    kept = {asked: answer for asked, answer in tape.answers.items() if not is_newer(asked, 1)}
    return replace(tape, answers=kept, questions=1)


def judge(tape, name):
    expected = yaml.safe_load((HOSTS / name / "expect.yaml").read_text())
    return judged(ReplayBackend(tape), profile.load(expected["profile"], site_file="")), expected


@pytest.mark.parametrize("name", NAMES)
def test_an_older_recording_is_unknown_only_in_what_came_later_and_that_counts_in_no_verdict(name):
    report, expected = judge(older(name), name)
    gaps = [one for one in report.findings if one.code == "unread-older-recording"]
    assert {one.severity for one in gaps} <= {"info"}
    assert {one.id for one in report.findings if one.outcome == "unknown"} - {one.id for one in gaps} <= {
        *expected["unknown"],
        *expected.get("not_recorded", ()),
    }
    if expected["single_node"] == "ready":
        assert report.verdict.single_node == "ready"


def test_an_answer_that_a_current_recording_lacks_counts():
    tape = recording.load(str(HOSTS / "hgx-h100-ubuntu2404"))
    assert tape.questions == CURRENT
    asked = [one for one in tape.answers if is_newer(one, 1)]
    assert asked, ADDED
    missing = replace(tape, answers={key: value for key, value in tape.answers.items() if key not in asked})
    assert {ReplayBackend(missing).ask(*one.split(" ")).why for one in asked} == {"not-recorded"}


def test_an_adopted_recording_gets_what_it_lacks_and_keeps_its_claims(tmp_path):
    name = "hgx-h100-ubuntu2404"
    loaded, newer = profile.load("default", site_file=""), recording.load(str(HOSTS / name))
    snapshot.adopt(older(name), recording.dumps(older(name)), str(tmp_path / "host"), loaded)
    expect = tmp_path / "host" / "expect.yaml"
    expect.write_text(expect.read_text() + "first: gpu.xid\n")
    expected, added = snapshot.add_missing(older(name), newer, str(tmp_path / "host"), loaded)
    assert set(added) <= set(newer.answers) - set(older(name).answers)
    assert json.loads((tmp_path / "host" / "tape.json").read_text()) == json.loads(recording.dumps(newer))
    assert yaml.safe_load(expect.read_text()) == expected
    assert expected["first"] == "gpu.xid"
    assert "not_recorded" not in expected
    with pytest.raises(HostagentError, match="lacks no answer"):
        snapshot.add_missing(newer, newer, str(tmp_path / "host"), loaded)


def test_a_recording_of_another_kind_adds_nothing(tmp_path):
    newer = recording.load(str(HOSTS / "debian12-image-without-kernel"))
    with pytest.raises(HostagentError, match="found a snapshot that is image"):
        snapshot.add_missing(older("no-gpu-vm"), newer, str(tmp_path), profile.load("default", site_file=""))
