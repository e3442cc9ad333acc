"""A question about the next boot makes no running host unknown or not ready, whatever of it cannot be read."""

from dataclasses import replace

import pytest

from hostagent.core.unread import Unread
from hostagent.engine.report import PLACEABLE
from hostagent.host import recording
from hostagent.host.recording import ReplayBackend
from tests.judged import judged
from tests.over import over
from tests.recorded import NAMES, expectation_of, profile_of, tape_of

#: Where loaders, their entries and their settings lie.
_PLACES = ("/boot", "/efi", "/etc/default/grub", "/sys/firmware/efi", "/sys/kernel/security/lockdown")
_WHYS = ("denied", "error", "timeout")


def _placed():
    """Running hosts that take jobs."""
    return [name for name in NAMES if expectation_of(name)["single_node"] in PLACEABLE and tape_of(name).kind != "image"]


def _in_turn():
    """Each of them with one of the reasons."""
    return [(name, _WHYS[number % len(_WHYS)]) for number, name in enumerate(_placed())]


@over(("name", "why"), _in_turn)
def test_a_running_host_stays_placeable_without_all_that_a_boot_loader_says(name, why):
    assert_placeable(name, why)


@pytest.mark.full
@pytest.mark.parametrize("why", _WHYS)
def test_each_running_host_stays_so_for_each_reason(why):
    for name in _placed():
        assert_placeable(name, why)


def assert_placeable(name, why):
    recorded = tape_of(name)
    lost = [question for question in recorded.answers if question.partition(" ")[2].startswith(_PLACES)]
    assert lost
    answers = {**recorded.answers, **{question: recording.encode(Unread(why, "refused by the test")) for question in lost}}
    report = judged(ReplayBackend(replace(recorded, answers=answers)), profile_of(name))
    assert report.verdict.single_node in PLACEABLE, [
        (one.id, one.outcome) for one in report.findings if one.outcome in ("unknown", "fail") and one.severity == "critical"
    ]
