"""What ``setup --install`` says behind the script's lines, and where it does not install."""

from dataclasses import replace

import pytest

from hostagent.cli.run import run
from hostagent.cli.setupinstall import _concluded, _Person
from hostagent.install.outcome import CODES, Outcome
from hostagent.setup.distribution import Distribution
from hostagent.setup.ended import Why
from hostagent.setup.line import Line
from hostagent.setup.manual import by_hand
from hostagent.setup.request import Minimums, Request
from hostagent.setup.verdict import Verdict

READY = Verdict((Line("OK", "all"),), 0)
LACKING = Verdict((Line("MISSING", "some"),), 1)


def concluded(outcome, found=READY, *refusals):
    person = _Person(yes=True)
    person.refusals = list(refusals)
    ended = _concluded(outcome, found, person)
    return ended.exit, [str(line) for line in ended.lines[len(found.lines) :]]


@pytest.mark.parametrize("word", ["done", "nothing"])
def test_what_went_well_is_what_the_lines_say(word):
    assert concluded(Outcome(word)) == (0, [])
    assert concluded(Outcome(word), LACKING) == (1, [])


def test_a_reboot_that_is_due_is_missing():
    assert concluded(Outcome("reboot", "The driver is new.")) == (1, ["MISSING: a reboot is due"])


def test_each_refusal_has_its_headline_and_first_step():
    first, second = Why("The GPUs are in use", "Drain the node.", "kubectl drain n"), Why("No Docker", "Install it.")
    assert concluded(Outcome("refused", "found a, wanted b"), READY, first, second) == (
        1,
        [
            "MISSING: installation refused: The GPUs are in use",
            "         Drain the node.",
            "           kubectl drain n",
            "MISSING: installation refused: No Docker",
            "         Install it.",
        ],
    )


@pytest.mark.parametrize("word", ["refused", "failed", "busy"])
def test_no_other_end_is_a_success_or_without_a_step(word):
    code, lines = concluded(Outcome(word, "why", notes=("Do this.",)))
    assert (code, len(lines)) == (1, 2)
    assert lines[0].endswith(": why")
    assert lines[1].startswith("         ")


def test_every_end_of_an_installation_is_one_of_the_scripts_two():
    assert {concluded(Outcome(word, "why", notes=("Do this.",)))[0] for word in CODES} == {0, 1}


OF_EACH = {
    "A": (
        "  - NVIDIA driver branch 580 (open kernel module preferred)",
        "  - CUDA Toolkit 13.0 (NVIDIA package: cuda-toolkit-13-0)",
        "  - NVIDIA Container Toolkit 1.19.0",
    ),
    "B": (
        "  - NVIDIA driver >= 580 (open kernel module preferred)",
        "  - CUDA Toolkit >= 13.0 (NVIDIA package: cuda-toolkit-13-0)",
        "  - NVIDIA Container Toolkit >= 1.19.0",
    ),
}


@pytest.mark.parametrize("generation", OF_EACH)
def test_other_families_are_told_what_to_install(generation):
    asked = Request(generation, "docker", Minimums("580", "13.0", "1.19.0"), "/usr/local/cuda-13.0", {})
    lines = by_hand(asked, Distribution("arch", "pacman", "Arch Linux"))
    assert lines[:2] == ("ERROR: --install does not yet automate this distribution.", "       Detected: Arch Linux (family=arch)")
    assert lines[6:10] == (*OF_EACH[generation], "  - Docker engine (any flavor)")
    assert ("defaults. Rerun with the same --min-*-version flags after manual installation." in lines) == (generation == "B")
    named = by_hand(replace(asked, variables={"NVIDIA_CUDA_PACKAGE": "cuda"}), Distribution("unknown", "", ""))
    assert named[1] == "       Detected: unknown (family=unknown)"
    assert "(NVIDIA package: cuda)" in named[7]


def test_a_recorded_host_is_not_installed_to(tmp_path, capsys):
    snapshot = tmp_path / "host.json"
    snapshot.write_text("{}")
    assert run(["setup", "--install", "--yes", "--from", str(snapshot)]) == 2
    assert "--install and --from" in capsys.readouterr().err
