"""How a run ends: 1 whatever goes wrong after the first change, a bug of hostagent's own included; before it, nothing is said to be done."""

import errno
import os

import pytest

from hostagent.cli.changing import conclude, outcome_of
from hostagent.cli.ending import Ended
from hostagent.core.errors import HostagentError
from hostagent.engine.target import Evidence
from hostagent.install.apply import Apply, Replan, Wishes
from hostagent.install.outcome import CODES, Outcome
from hostagent.install.target import Target
from hostagent.profiles.profile import load

WRONG = [
    HostagentError("found that", "Do this"),
    OSError(errno.ENOSPC, "No space left on device", "/x"),
    ZeroDivisionError("a bug"),
    KeyboardInterrupt(),
    Ended(15),
]


def failing(error):
    def perform():
        raise error

    return perform


@pytest.mark.parametrize("error", WRONG, ids=lambda error: type(error).__name__)
def test_what_goes_wrong_after_the_first_change_is_a_failed_run_and_before_it_none(error, capsys):
    outcome = outcome_of(failing(error), lambda: True)
    assert conclude(outcome) == 1
    assert "FAILED" in capsys.readouterr().err
    with pytest.raises(type(error)):
        outcome_of(failing(error), lambda: False)


def test_each_word_has_the_exit_code_that_is_published():
    published = {"done": 0, "nothing": 0, "reboot": 3, "refused": 4, "declined": 4, "failed": 1, "busy": 5}
    assert published == CODES
    assert {word: conclude(Outcome(word, "A sentence.")) for word in published} == published


@pytest.mark.parametrize(
    ("number", "word"), [(errno.ENOSPC, "refused"), (errno.EDQUOT, "refused"), (errno.EROFS, "refused"), (errno.EIO, "")]
)
def test_where_nothing_can_be_kept_the_run_is_refused_and_any_other_fault_is_raised(number, word, tmp_path):
    replan = Replan(failing(OSError(number, os.strerror(number))), lambda: None)
    apply = Apply(Target(Evidence(root=str(tmp_path))), replan, Wishes(load("default", site_file="").profile.install, dry_run=True), None)
    if not word:
        with pytest.raises(OSError, match=os.strerror(number)):
            apply.perform()
        return
    outcome = apply.perform()
    assert (outcome.word, outcome.code, outcome.run) == (word, 4, 0)
    assert f"found /var/lib/hostagent: {os.strerror(number)}, wanted" in outcome.message
    assert outcome.notes[0].startswith("Free space there")
    apply.began = True
    with pytest.raises(OSError, match=os.strerror(number)):
        apply.perform()
