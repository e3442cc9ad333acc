"""What a program and a person read of a run: one document at the end, valid by its schema, however the run ended."""

import json
from types import SimpleNamespace

import click
import jsonschema
import pytest

from hostagent.cli.changing import conclude, outcome_of
from hostagent.cli.person import Person
from hostagent.cli.schemas import published
from hostagent.install.outcome import CODES, Outcome
from hostagent.plan.document import document
from hostagent.plan.model import Portion
from tests.plan_fakes import made, step
from tests.unit.reports import report

VALIDATE = jsonschema.Draft202012Validator(published("plan"))
STEPS = (step("driver.packages"), step("driver.hold"))


def performance(*, dry_run=False, run=None, began=True):
    return SimpleNamespace(wishes=SimpleNamespace(dry_run=dry_run), run=run and SimpleNamespace(number=run), began=began)


def person(form="json", output="", *, yes=True):
    return Person(form, str(output), "never", yes=yes)


def shown(someone):
    someone.show(document(made(driver_steps=Portion(steps=STEPS)), report()))
    return someone


def ended(outcome, of=None, form="json", output="", steps=((STEPS[0], 1.5, ""),)):
    """A run of a plan by a person's eyes: its exit code."""
    of = of or performance(run=outcome.run or None)
    someone = shown(person(form, output))
    for number, (one, seconds, problem) in enumerate(steps, 1):
        someone.begin(number, 2, one)
        if problem is not None:
            someone.end(one, seconds, problem)
    return conclude(someone.concluded(outcome, of), someone.tell)


@pytest.mark.parametrize("word", CODES)
def test_standard_output_is_one_document_with_how_the_run_ended(word, capsys):
    code = ended(Outcome(word, "A sentence.", 3, ("a note",)))
    found = json.loads(capsys.readouterr().out)
    VALIDATE.validate(found)
    assert found["result"] == {
        "outcome": word,
        "exit": code,
        "run": 3,
        "message": "A sentence.",
        "notes": ["a note"],
        "steps": [{"id": "driver.packages", "seconds": 1.5, "problem": ""}],
    }


def test_a_plan_and_a_dry_run_have_no_result(capsys):
    assert ended(Outcome("nothing"), performance(dry_run=True), steps=()) == 0
    found = json.loads(capsys.readouterr().out)
    VALIDATE.validate(found)
    assert found["result"] is None


def test_a_step_that_failed_and_one_that_was_not_proved_say_why(capsys):
    ended(Outcome("failed", "driver.packages: no headers", 1), steps=((STEPS[0], 1.0, "no headers"),))
    assert json.loads(capsys.readouterr().out)["result"]["steps"][0]["problem"] == "no headers"
    ended(Outcome("failed", "driver.hold: it is not done: wanted a hold", 1), steps=((STEPS[0], 1.0, ""), (STEPS[1], 2.0, "")))
    steps = json.loads(capsys.readouterr().out)["result"]["steps"]
    assert [one["problem"] for one in steps] == ["", "it is not done: wanted a hold"]


def test_a_crash_after_the_first_change_still_writes_the_document(capsys):
    someone = shown(person())
    someone.begin(1, 2, STEPS[0])

    def crashing():
        raise ZeroDivisionError("a bug")

    outcome = outcome_of(crashing, lambda: True)
    assert conclude(someone.concluded(outcome, performance(run=7)), someone.tell) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    assert (result["outcome"], result["exit"], result["run"]) == ("failed", 1, 7)
    assert "a bug" in result["message"]
    assert result["steps"][0]["problem"] == "hostagent ended before it did"


def test_the_verdict_of_the_check_is_a_note_and_leaves_the_document_alone(capsys):
    someone = shown(person())
    someone.judge("READY node-1")
    conclude(someone.concluded(Outcome("done", run=1), performance(run=1)), someone.tell)
    told = capsys.readouterr()
    assert json.loads(told.out)["result"]["notes"] == ["READY node-1"]
    assert told.err.startswith("READY node-1\nDONE run 1")


def test_a_text_comes_before_the_run_and_a_file_once_after_it(capsys, tmp_path):
    shown(person("text"))
    assert "TO DO" in capsys.readouterr().out
    someone = shown(person("text", tmp_path / "plan.txt"))
    assert (capsys.readouterr().out, list(tmp_path.iterdir())) == ("", [])
    someone.begin(1, 2, STEPS[0])
    someone.end(STEPS[0], 1.5, "")
    someone.concluded(Outcome("done", run=3), performance(run=3))
    page = (tmp_path / "plan.txt").read_text()
    assert "HOW IT ENDED\n  DONE, run 3, exit 0\n  driver.packages: 1.5 s\n" in page
    assert "Do it" not in page


def test_who_is_asked_reads_the_plan_on_standard_error_first(capsys, monkeypatch):
    monkeypatch.setattr(click, "confirm", lambda *_, **__: True)
    assert shown(person(yes=False)).agrees()
    told = capsys.readouterr()
    assert told.out == ""
    assert "TO DO" in told.err
    shown(person(yes=True)).agrees()
    assert capsys.readouterr().err == ""


def test_a_file_that_cannot_be_written_is_a_mistake_before_the_run_and_a_failure_after_it(capsys, tmp_path):
    with pytest.raises(click.ClickException, match="cannot write"):
        person("json", tmp_path / "none" / "plan.json")
    (tmp_path / "folder").mkdir()
    assert ended(Outcome("done", run=3), output=tmp_path / "folder") == 1
    assert "the run itself: done" in capsys.readouterr().err
    with pytest.raises(click.ClickException):
        ended(Outcome("refused", "No."), performance(began=False), output=tmp_path / "folder")
