"""``quarantine:`` in a profile: which check sets a node's comment; and what the state files say of it and of the fabric's class."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.cli.schemas import published
from hostagent.core.errors import HostagentError
from hostagent.engine import catalogue
from hostagent.engine.report import state
from hostagent.engine.report.node_summary import class_in, summary
from hostagent.profiles.mistakes import ProfileError
from hostagent.profiles.profile import load
from tests.recorded import report_of
from tests.unit.reports import judgement, report
from tests.unit.slurm.nodestate import HOSTS

CHECKS = catalogue.load([catalogue.OURS])


@pytest.fixture
def write(tmp_path):
    def write(text, name="site.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def fitted(path):
    return catalogue.refuse_unknown_ids(CHECKS, load(path, site_file=""))


def test_no_profile_that_is_built_in_has_a_quarantine():
    assert load("default", site_file="").profile.quarantine == load("slurm", site_file="").profile.quarantine == ()


def test_a_profile_lists_checks_and_says_where_it_comes_from(write):
    path = write("quarantine: [gpu.ecc_lifetime, network.pfc]\n")
    loaded = fitted(path)
    assert loaded.profile.quarantine == ("gpu.ecc_lifetime", "network.pfc")
    assert loaded.origin("quarantine") == path
    shown = CliRunner().invoke(cli, ["profile", "show", path, "--format", "json"], standalone_mode=False)
    assert json.loads(shown.output)["profile"]["quarantine"] == ["gpu.ecc_lifetime", "network.pfc"]
    text = CliRunner().invoke(cli, ["profile", "show", path], standalone_mode=False).output
    assert [line.split() for line in text.splitlines() if line.startswith("quarantine ")] == [
        ["quarantine", '["gpu.ecc_lifetime",', '"network.pfc"]', "#", path]
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("quarantine: [gpu.xid, gpu.xdi]\n", "site.yaml:1: no check gpu.xdi; did you mean gpu.xid?"),
        ("name: a\nquarantine:\n- gpu.xid\n- gpu\n", "site.yaml:4: no check gpu: it is a family; name each check"),
        ("quarantine: gpu.xid\n", "site.yaml:1: quarantine: found the text 'gpu.xid', wanted a list of texts"),
        ("quarantine: [7]\n", "site.yaml:1: quarantine[0]: found the number 7, wanted text"),
        (f"quarantine: [{', '.join(['gpu.xid'] * 65)}]\n", "site.yaml:1: quarantine: found 65 of them, wanted at most 64"),
    ],
)
def test_what_names_no_check_is_a_mistake_with_its_place(write, text, sentence):
    with pytest.raises(HostagentError) as caught:
        fitted(write(text))
    assert sentence in str(caught.value)


def test_validate_names_it_next_to_other_mistakes(write):
    path = write("gpus: {count: many}\nquarantine: [gpu.xdi]\n")
    with pytest.raises(ProfileError) as caught:
        CliRunner().invoke(cli, ["profile", "validate", path], standalone_mode=False, catch_exceptions=False)
    assert [place.line for place in caught.value.places] == [1, 2]


def test_of_a_newer_schema_a_check_that_is_not_there_is_left_out_with_a_warning(write):
    loaded = fitted(write('schema_version: "1.999"\nquarantine: [gpu.later, gpu.xid]\n'))
    assert loaded.profile.quarantine == ("gpu.xid",)
    assert [one.split(": ", 1)[1] for one in loaded.warnings] == ["quarantine: gpu.later is ignored: no catalogue that is installed has it"]


def test_the_schema_of_profiles_has_it():
    assert published("profile")["properties"]["quarantine"] == {"type": "array", "items": {"type": "string"}}


LISTED = ("gpu.ecc_lifetime", "network.pfc", "gpu.xid")


@pytest.mark.parametrize(
    ("outcomes", "word"),
    [
        ({"gpu.xid": "fail", "network.pfc": "warn"}, "NetworkPfc"),
        ({"gpu.ecc_lifetime": "warn", "gpu.xid": "fail"}, "GpuEccLifetime"),
        ({"gpu.xid": "unknown"}, ""),
        ({"gpu.xid": "pass", "gpu.lost": "fail"}, ""),
        ({"gpu.xid": "off"}, ""),
    ],
)
def test_the_state_file_names_the_first_of_the_list_that_fails_or_warns(outcomes, word):
    found = report(*(judgement(name, outcome=outcome) for name, outcome in outcomes.items()))
    assert state.document(found, (), LISTED)["quarantine"] == word
    assert state.document(found, ())["quarantine"] == ""


def test_a_check_that_counts_in_no_verdict_sets_it_too():
    found = report(judgement("gpu.xid", outcome="warn", severity="info"))
    assert state.document(found, (), LISTED)["quarantine"] == "GpuXid"


@pytest.mark.parametrize("name", ["hgx-h100-ubuntu2404", "hgx-h100-roce", "no-gpu-vm"])
def test_the_state_file_has_the_class_of_the_summary(name):
    found = report_of(name)
    said = state.document(found, ())["fabric_class"]
    assert said == class_in(summary(found)) != ""


def test_the_daemons_state_file_has_both(write, tmp_path):
    path = write("quarantine: [gpu.xid, nvswitch.links]\n")
    argv = [
        sys.executable,
        "-m",
        "hostagent",
        "daemon",
        "--once",
        "--from",
        str(HOSTS / "hgx-h100-links-down"),
        "--state-dir",
        str(tmp_path / "state"),
        "--profile",
        path,
    ]
    assert subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 1
    found = json.loads((tmp_path / "state/state.json").read_text())
    assert ("conditions" in found, found["quarantine"]) == (True, "NvswitchLinks")
    assert found["fabric_class"] == class_in(json.loads((tmp_path / "state/summary.json").read_text())) != ""


def test_a_host_of_which_no_class_can_be_said_has_none():
    assert state.document(replace(report(), facts={}), ())["fabric_class"] == ""


def test_a_word_that_is_no_text_is_damage(tmp_path):
    path = tmp_path / "state.json"
    for key in ("quarantine", "fabric_class"):
        path.write_text(json.dumps({**state.document(report(), ()), key: 5}))
        assert "damaged" in state.read(str(path), 0).problem
