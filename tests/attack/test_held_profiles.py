"""A profile of a stranger, in every command that takes one: refused in a sentence, or obeyed; it runs nothing and hides nothing."""

import contextlib
import os

import pytest

from tests.attack import held_profiles
from tests.attack.held_judge import PLACEABLE, wrongs
from tests.attack.held_run import HOSTS, Rows

FEWEST = 245
PROFILES = {**held_profiles.REFUSED, **held_profiles.IDS, **held_profiles.LAWFUL}
SICK = HOSTS / "hgx-h100-gpu-off-the-bus"
#: Arguments, the profile after them, and the form of the report that they give.
COMMANDS = (
    (("profile", "validate"), ""),
    (("profile", "show"), ""),
    (("profile", "show", "--format", "json"), ""),
    (("checks", "list", "--profile"), ""),
    (("checks", "show", "gpu.present", "--profile"), ""),
    (("check", "--from", SICK, "--profile"), "text"),
    (("check", "--from", SICK, "--format", "json", "--profile"), "json"),
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    with contextlib.closing(Rows(tmp_path_factory.mktemp("temporary"))) as running:
        yield running


def test_no_fewer_are_tried_than_were_before():
    assert len(PROFILES) * len(COMMANDS) >= FEWEST


@pytest.mark.parametrize("name", PROFILES)
def test_a_hostile_profile_is_refused_or_obeyed(name, rows, tmp_path):
    path = PROFILES[name](tmp_path)
    before = sorted(os.listdir(tmp_path))
    found = []
    for arguments, form in COMMANDS:
        outcome = rows.run(*arguments, path, cwd=tmp_path)
        is_refused = name in held_profiles.REFUSED or (name in held_profiles.IDS and (form or arguments[1] == "validate"))
        codes = (2,) if is_refused else (1,) if form else (0, 2) if name in held_profiles.IDS else (0,)
        codes = (*codes, 2) if "surrogate" in name else codes
        codes = (*codes, 0) if "catalogue" in name and arguments[1] == "validate" else codes  # it imports nothing, and says so
        found += [f"{arguments[0]} {arguments[1]} {form}: {one}" for one in wrongs(outcome, form, never=PLACEABLE, codes=codes)]
    assert not found, "\n".join(found)
    assert sorted(os.listdir(tmp_path)) == before
    assert os.listdir(rows.temporary) == []
