"""Steps of several causes become one list."""

from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.steps import Step
from hostagent.core.tables.recovery_actions import ENDS_JOBS, TAKES_IN
from hostagent.core.vocabulary import ACTIONS
from hostagent.engine.report.remediation_plan import to_do

STEPS = st.builds(Step, st.sampled_from(ACTIONS), st.sampled_from(["Do a.", "Do b."]), st.just(""), st.booleans())
REMEDIES = st.lists(st.lists(STEPS, max_size=4).map(tuple), max_size=5)


def test_files_come_before_services_and_services_before_resets():
    steps = (Step("reset_gpu", "Reset GPU 4."), Step("restart_service", "Restart it."), Step("configure", "Edit it."))
    assert [step.text for step in to_do([steps])] == ["Edit it.", "Restart it.", "Drain the node.", "Reset GPU 4."]


def test_a_reboot_takes_in_the_resets_and_restarts_of_other_causes():
    told = to_do([(Step("reset_gpu", "Reset GPU 4."), Step("restart_service", "Restart it.")), (Step("reboot", "Reboot the node."),)])
    assert [step.text for step in told] == ["Drain the node.", "Reboot the node."]


def test_what_is_for_a_fault_that_comes_back_takes_in_nothing_and_comes_last():
    told = to_do([(Step("replace", "Replace GPU 4.", if_back=True), Step("reboot", "Reboot the node."))])
    assert [step.text for step in told] == ["Drain the node.", "Reboot the node.", "Replace GPU 4."]


def test_nothing_to_do_is_no_step():
    assert to_do([(Step("none", "Nothing."),), ()]) == ()


@given(REMEDIES)
def test_every_step_is_told_once_or_taken_in(remedies):
    told = to_do(remedies)
    assert len(set(told)) == len(told)
    drained = False
    for step in told:
        drained = drained or step.text == "Drain the node."
        assert drained or step.if_back or step.action not in ENDS_JOBS
    done = {step.action for step in told if not step.if_back}
    for step in {step for steps in remedies for step in steps} - set(told):
        assert step.action == "none" or any(step.action in (other, *TAKES_IN.get(other, ())) for other in done)
    now = [ACTIONS.index(step.action) for step in told if not step.if_back and step.text != "Drain the node."]
    assert now == sorted(now)
    assert [step.if_back for step in told] == sorted(step.if_back for step in told)
