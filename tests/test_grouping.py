"""What a reader is told of each recorded host: one cause where there is one, briefly, with nothing hidden."""

import random
import re
from dataclasses import replace

from hostagent.core.vocabulary import ACTIONS
from hostagent.engine.report.grouping import NOTHING, groups, steps
from hostagent.outputs import render
from tests.over import over
from tests.recorded import NAMES, expectation_of, report_of

EXPECTED = {name: expectation_of(name) for name in NAMES}
READY = [name for name, one in EXPECTED.items() if (one["single_node"], one["multi_node"]) == ("ready", "ready")]
OTHERS = sorted(set(EXPECTED) - set(READY))
#: Lines of 100 columns. An eye takes in so many at once.
BROKEN_LINES, READY_LINES = 25, 5
#: These have several faults that have nothing to do with one another.
SEVERAL = {
    "no-gpu-vm",
    "debian12-image-without-kernel",
    "g5-remapped-twice",
    "hgx-b200-bridges-without-driver",
    "kubelet-lost-its-file",
}


def lines(name):
    return render(report_of(name), "text", width=100).splitlines()


def _names(text):
    """Words that may name a device: mlx5_2 of the port mlx5_2:1."""
    return {word for word in re.split(r"[ :(),]+", text) if any(letter.isdigit() for letter in word)}


@over("name", READY)
def test_a_healthy_host_takes_few_lines(name):
    assert len(lines(name)) <= READY_LINES, "\n".join(lines(name))


@over("name", [name for name in OTHERS if name not in SEVERAL])
def test_a_broken_host_fits_on_a_screen(name):
    assert len(lines(name)) <= BROKEN_LINES, "\n".join(lines(name))


@over("name", OTHERS)
def test_the_first_line_and_the_fields_for_schedulers_tell_the_first_cause(name):
    whole = report_of(name)
    first = next(group for group in groups(whole) if group.rank < NOTHING)
    assert first.cause.finding.id == EXPECTED[name]["causes"][0].split()[0]
    text = " ".join(lines(name))
    assert whole.headline in text
    assert whole.action == first.cause.finding.action
    assert (
        first.cause.subjects == ()
        or any(one in whole.headline or _names(one) & _names(whole.headline) for one in first.cause.devices)
        or len(first.cause.devices) > 1
    )


@over("name", OTHERS)
def test_folding_hides_no_failure(name):
    whole = report_of(name)
    members = [told.finding.id for group in groups(whole) for told in group.members]
    assert {one.id for one in whole.findings if one.outcome in ("fail", "warn")} <= set(members)
    text = "\n".join(lines(name))
    assert [one.id for one in whole.findings if one.outcome in ("fail", "warn") and one.id not in text] == []


@over("name", OTHERS)
def test_steps_stand_in_the_order_in_which_they_are_done(name):
    told = steps(report_of(name))
    now = [step.action for step in told if not step.if_back]
    assert now == sorted(now, key=ACTIONS.index)
    assert len(set(told)) == len(told)
    assert sum(step.text == "Drain the node." for step in told) <= 1
    assert [step.if_back for step in told] == sorted(step.if_back for step in told)


@over("name", OTHERS)
def test_the_order_of_findings_changes_nothing(name):
    whole = report_of(name)
    shuffled = list(whole.findings)
    random.Random(name).shuffle(shuffled)
    assert render(replace(whole, findings=tuple(shuffled)), "text", width=100) == "\n".join(lines(name)) + "\n"
