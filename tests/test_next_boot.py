"""A question about the next boot makes no running host unknown or not ready, whatever of it cannot be read."""

from dataclasses import replace

from hostagent.facts.unread import Unread
from hostagent.report import PLACEABLE
from hostagent.source import tape
from hostagent.source.tape import ReplayBackend
from tests.judged import judged
from tests.over import over
from tests.recorded import NAMES, expectation_of, profile_of, tape_of

#: Where loaders, their entries and their settings lie.
_PLACES = ("/boot", "/efi", "/etc/default/grub", "/sys/firmware/efi", "/sys/kernel/security/lockdown")
_WHYS = ("denied", "error", "timeout")


def _placed():
    """Each running host that takes jobs, with one of the reasons in turn."""
    names = [name for name in NAMES if expectation_of(name)["single_node"] in PLACEABLE and tape_of(name).kind != "image"]
    return [(name, _WHYS[number % len(_WHYS)]) for number, name in enumerate(names)]


@over(("name", "why"), _placed)
def test_a_running_host_stays_placeable_without_all_that_a_boot_loader_says(name, why):
    recorded = tape_of(name)
    lost = [question for question in recorded.answers if question.partition(" ")[2].startswith(_PLACES)]
    assert lost
    answers = {**recorded.answers, **{question: tape.encode(Unread(why, "refused by the test")) for question in lost}}
    report = judged(ReplayBackend(replace(recorded, answers=answers)), profile_of(name))
    assert report.verdict.single_node in PLACEABLE, [
        (one.id, one.outcome) for one in report.findings if one.outcome in ("unknown", "fail") and one.severity == "critical"
    ]
