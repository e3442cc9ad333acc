"""Plans of every recorded host: valid, the same each time, and at one with what ``check`` says of the host."""

import functools
import json

import jsonschema

from hostagent.cli.plan import documented
from hostagent.cli.schemas import published
from hostagent.engine import pipeline
from hostagent.engine.collect import ALL_READERS
from hostagent.engine.collection import InProcess
from hostagent.engine.target import Evidence
from hostagent.host.recording import ReplayBackend
from hostagent.outputs.plan import render_plan
from hostagent.plan.model import Asked
from tests import recorded
from tests.over import over

NAMES = recorded.NAMES
VALIDATE = jsonschema.Draft202012Validator(published("plan"))
FAMILIES = ("os", "kernel", "driver", "nvswitch", "toolkit", "runtime", "cdi")


@functools.cache
def judged(name):
    """The report and the plan of one pass."""
    prepared = pipeline.prepare(recorded.profile_of(name))
    tape = recorded.tape_of(name)
    reading = InProcess(ReplayBackend(tape), tuple(ALL_READERS), replayed=True, recorded_at=tape.recorded_at)
    collected = reading.collect(pipeline.policy_of(prepared))
    report = pipeline.judge(collected, reading, prepared)
    return report, *documented(collected.facts, report, prepared.loaded, Asked(), Evidence(snapshot=str(recorded.HOSTS / name)))


@over("name", NAMES)
def test_a_plan_is_valid_and_fits_a_page(name):
    _, plan, made = judged(name)
    VALIDATE.validate(json.loads(render_plan(made, "json")))
    assert not made.resolved or not made.todo
    assert bool(made.refusals) == render_plan(made, "text").startswith("REFUSED")
    assert all(one.headline and one.message.startswith("found ") and ", wanted " in one.message and one.remedy for one in plan.refusals)
    assert all(one.id.startswith("plan.") for one in plan.refusals)
    own = [one for one in plan.refusals if one.action != "contact_owner"]  # what a platform's owner does is told in that table's words
    assert all(len(one.remedy[0].text) <= 90 for one in own)
    head = render_plan(made, "text").partition("\nFILES\n")[0]
    commands = {step.command for one in plan.refusals for step in one.remedy}
    assert [
        line for line in head.splitlines() if len(line) > 100 and " " in line.strip() and line.strip() not in commands and "://" not in line
    ] == []


@over("name", NAMES)
def test_steps_have_ids_of_their_own_in_the_order_of_the_parts(name):
    _, plan, _ = judged(name)
    ids = [step.id for step in plan.steps]
    assert len(ids) == len(set(ids))
    order = ("repositories", "driver", "toolkit", "runtime")
    places = [order.index(step.part) for step in plan.steps]
    assert places == sorted(places)
    assert all(step.id.startswith(f"{step.part}.") and len(step.title) <= 80 and step.why and step.probe.words for step in plan.steps)
    assert all(step.undo.kind != "none" or step.undo.why for step in plan.steps)
    assert sum(step.kind == "packages" for step in plan.todo) <= 3


def _is_of_another_owner(finding):
    """A CDI specification in /etc/cdi: an administrator's copy, which no package renews."""
    return finding.id.startswith("cdi.") and any(one.startswith("/etc/cdi/") for one in finding.evidence)


@over("name", NAMES)
def test_a_step_is_done_only_where_a_check_that_it_claims_does_not_fail(name):
    """The probes and the checks look at one host: where a check fails that some steps make pass, one of these is to do."""
    report, plan, _ = judged(name)
    if plan.refusals:
        return
    fails = {one.id for one in report.findings if one.outcome == "fail" and one.axis == "fitness" and not _is_of_another_owner(one)}
    claimed = {check for step in plan.steps for check in step.checks}
    answered = {check for step in plan.todo for check in step.checks}
    assert sorted((fails & claimed) - answered) == []


@over("name", NAMES)
def test_a_host_where_all_is_well_is_left_alone_but_for_holds(name):
    report, plan, _ = judged(name)
    of_ours = [one for one in report.findings if one.id.partition(".")[0] in FAMILIES and one.axis == "fitness"]
    if plan.refusals or any(one.outcome in ("fail", "warn", "unknown") for one in of_ours):
        return
    assert [step.id for step in plan.todo if step.kind != "hold"] == []
