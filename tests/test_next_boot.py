"""A question about the next boot makes no running host unknown or not ready, whatever of it cannot be read."""

from dataclasses import replace

import pytest

from hostagent.facts.unread import Unread
from hostagent.report import PLACEABLE
from hostagent.source import tape
from hostagent.source.tape import ReplayBackend
from tests.judged import judged
from tests.test_hosts import NAMES, _expected, _loaded, _tape

#: Where loaders, their entries and their settings lie.
_PLACES = ("/boot", "/efi", "/etc/default/grub", "/sys/firmware/efi", "/sys/kernel/security/lockdown")
PLACED = [name for name in NAMES if _expected(name)["single_node"] in PLACEABLE and _tape(name).kind != "image"]


@pytest.mark.parametrize("name", PLACED)
@pytest.mark.parametrize("why", ["denied", "error", "timeout"])
def test_a_running_host_stays_placeable_without_all_that_a_boot_loader_says(name, why):
    recorded = _tape(name)
    lost = [question for question in recorded.answers if question.partition(" ")[2].startswith(_PLACES)]
    assert lost
    answers = {**recorded.answers, **{question: tape.encode(Unread(why, "refused by the test")) for question in lost}}
    report = judged(ReplayBackend(replace(recorded, answers=answers)), _loaded(name))
    assert report.verdict.single_node in PLACEABLE, [
        (one.id, one.outcome) for one in report.findings if one.outcome in ("unknown", "fail") and one.severity == "critical"
    ]
