"""Catalogues by name: what is loaded, what is refused, and a third party's, installed as a package of its own."""

import ast
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.errors import HostagentError
from hostagent.engine.catalogue import OURS, load, reading_order, refuse_unknown_ids, select
from hostagent.engine.collect import READERS
from hostagent.engine.lint import ALLOWED_STDLIB, FORBIDDEN_NAMES, lint
from hostagent.profiles.profile import load as load_profile

SAMPLE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "sample_catalogue")
CHECKS = load([OURS])


def test_ids_are_family_and_file_and_come_in_order():
    ids = [one.id for one in CHECKS]
    assert ids == sorted(set(ids))
    assert {one.function.__module__ for one in CHECKS} == {f"{OURS}.{one}" for one in ids}


def test_a_family_and_a_check_can_be_selected_and_a_typing_error_is_named():
    assert {one.id.split(".")[0] for one in select(CHECKS, ["gpu"])} == {"gpu"}
    assert [one.id for one in select(CHECKS, ["gpu.row_remap", "gpu.row_remap"])] == ["gpu.row_remap"]
    for name in ("gp", "gpu.", "", "gpu.row_rema"):
        with pytest.raises(HostagentError, match="no check or family"):
            select(CHECKS, [name])


def test_a_profile_that_names_a_check_nobody_has_is_told_the_nearest():
    profile = load_profile("default", site_file="/nonexistent", overlay={"checks": {"gpu.row_remaps": {"off": "x"}}})
    with pytest.raises(HostagentError, match=r"profile overlay: no check gpu\.row_remaps; did you mean gpu\.row_remap\?"):
        refuse_unknown_ids(CHECKS, profile)


def test_checks_and_parameters_that_only_a_newer_catalogue_has_are_left_out_with_a_warning(tmp_path):
    path = tmp_path / "newer.yaml"
    params = "gpu.temperature: {params: {min_margin_celsius: 7, later: 1}}"
    path.write_text(f"schema_version: '1.999'\nchecks: {{gpu.later: {{off: x}}, gpu.none: {{}}, {params}}}\n")
    profile = load_profile(str(path), site_file="")
    fitted = refuse_unknown_ids(CHECKS, profile)
    assert {name: policy.params for name, policy in fitted.profile.checks.items()} == {"gpu.temperature": {"min_margin_celsius": 7}}
    assert [sentence.split(" is ignored: ")[0] for sentence in fitted.warnings] == [
        f"profile {path}: checks.{key}" for key in ("gpu.later", "gpu.none", "gpu.temperature.params.later")
    ]
    assert not [known for known in fitted.origins if "later" in known]
    assert (profile.warnings, fitted.origin("checks.gpu.temperature.params.min_margin_celsius")) == ((), str(path))


def test_beside_a_newer_layer_those_of_ours_stay_strict(tmp_path):
    (tmp_path / "newer.yaml").write_text("schema_version: '1.999'\nchecks: {gpu.later: {off: x}}\n")
    (tmp_path / "ours.yaml").write_text("extends: newer.yaml\nchecks: {gpu.row_remaps: {off: x}}\n")
    with pytest.raises(HostagentError, match=r"ours\.yaml:2: no check gpu\.row_remaps"):
        refuse_unknown_ids(CHECKS, load_profile(str(tmp_path / "ours.yaml"), site_file=""))


@pytest.mark.parametrize("name", ["nowhere_checks", "os", "json", "sys", "", ".x", "a..b", "a b", "hostagent_checks.gpu", "é", "math"])
def test_what_is_no_catalogue_is_named(name):
    with pytest.raises(HostagentError, match="catalogue") as caught:
        load([name])
    assert repr(name) in caught.value.message or name in caught.value.message


def test_nothing_of_an_unlawful_catalogue_runs_before_it_is_refused(tmp_path, monkeypatch):
    for number, place in enumerate(("__init__.py", "gpu/__init__.py", "gpu/x.py")):
        package = tmp_path / f"early{number}_checks"
        (package / "gpu").mkdir(parents=True)
        for name in ("__init__.py", "gpu/__init__.py"):
            (package / name).write_text("")
        (package / place).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        with pytest.raises(HostagentError, match="line 1: uses open"):
            load([package.name])
    assert not (tmp_path / "ran").exists()


def test_a_catalogue_that_is_no_python_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "broken_checks").mkdir()
    (tmp_path / "broken_checks/__init__.py").write_text("def (")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(HostagentError, match="broken_checks cannot be imported"):
        load(["broken_checks"])


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "import os as math",
        "import subprocess, re",
        "from os import path",
        "from pathlib import Path",
        "from hostagent.host.source import Source",
        "from hostagent.domains.gpu.read_gpus import read_gpus",
        "from hostagent import source",
        "import hostagent",
        "from . import other",
        "from .. import gpu",
        "from hostagent_checks.gpu import row_remap",
        "from hostagent.factsheet import x",
        "import hostagent.checking",
        "open('/etc/passwd')",
        "x = open",
        "__import__('os')",
        "eval('1')",
        "exec('1')",
        "compile('1', '', 'eval')",
        "getattr(1, 'x')",
        "vars()",
        "print('x')",
        "().__class__.__bases__",
        "f.__globals__",
        "def f():\n    import socket",
        "lambda: open('x')",
        "breakpoint()",
        "__builtins__['open']",
        "__loader__",
        "from hostagent.profile import os",
        "from hostagent.profile import load",
        "from typing import sys",
        "from hostagent.facts.gpu import *",
        "import hostagent.profile",
        "import re\nre.enum.sys",
        "import re as r\nr.enum",
        "import collections.abc\ncollections._sys",
        "from hostagent.core.tables import pci\npci.os",
    ],
)
def test_what_reaches_the_host_is_refused(line):
    assert lint(line)


@pytest.mark.parametrize(
    "line",
    ["import re", "import math", "from typing import NamedTuple", "from hostagent.facts.gpu import Gpu", "from itertools import groupby"],
)
def test_what_a_check_needs_is_allowed(line):
    assert lint(line) == ()


@pytest.mark.parametrize("name", sorted(FORBIDDEN_NAMES))
def test_a_forbidden_name_is_refused_wherever_it_stands(name):
    assert lint(f"x = [{name} for y in z]")


@given(st.sampled_from(sorted(sys.stdlib_module_names - {module.split(".")[0] for module in ALLOWED_STDLIB})))
@settings(deadline=None)
def test_no_other_part_of_the_standard_library_can_be_imported(name):
    assert lint(f"import {name}")
    assert lint(f"from {name} import x")


CHECK = """
from hostagent.check import check
from hostagent.check import frozen
{facts}

@check(title="It holds", severity="critical", since="1.0", remedy="Mend it."{fields})
def one({inputs}):
    yield from ()
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a catalogue of one check, of another name each time, and loads it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name, facts="", fields="", inputs="", family="", **loading):
        (tmp_path / name / "disk").mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "disk/__init__.py").write_text(family)
        (tmp_path / name / "disk/one.py").write_text(CHECK.format(facts=facts, fields=fields, inputs=inputs))
        return load([name], **loading)

    return write


FACT = """
@frozen
class Disk:
    size: int
"""
IMPORT = "from hostagent.facts.gpu import Gpu\nfrom hostagent.facts.runtime import Runtime\n"


@pytest.mark.parametrize(
    ("name", "source", "mistake"),
    [
        ("two_checks", {"facts": IMPORT, "inputs": "gpu: Gpu, runtime: Runtime"}, "found two subjects, gpu and runtime"),
        ("scope_checks", {"fields": ', scope="nodes"'}, "scope is 'nodes', wanted one of node, fabric"),
        ("owns_checks", {"facts": IMPORT, "fields": ', owns=("Gpu.lots",)', "inputs": "gpu: Gpu"}, "owns 'Gpu.lots', wanted a field"),
    ],
)
def test_a_wrong_declaration_is_refused_when_it_is_imported_and_says_where(written, name, source, mistake):
    with pytest.raises(HostagentError, match=rf"{name}\.disk\.one cannot be imported: {mistake}"):
        written(name, **source)


def test_a_fact_that_no_reader_reads_is_refused_by_its_name(written):
    with pytest.raises(HostagentError, match=r"unread_checks\.disk\.one takes the fact Disk, which no reader reads"):
        written("unread_checks", facts=FACT, inputs="disk: Disk", readable={"Gpu"})
    assert written("read_checks", facts=FACT, inputs="disk: Disk", readable={"Gpu", "Disk"})
    assert written("unknown_checks", facts=FACT, inputs="disk: Disk")


def test_every_fact_that_our_checks_take_has_a_reader():
    assert load([OURS], readable=READERS) == CHECKS


def test_a_family_says_its_title_its_order_and_its_condition():
    families = {one.id.partition(".")[0]: one.family for one in CHECKS}
    assert {name: family.condition for name, family in families.items()} == {
        "cdi": "ToolkitReady", "driver": "DriverReady", "gpu": "", "host": "", "kernel": "DriverReady", "kubelet": "TopologyReady",
        "nccl": "FabricReady", "network": "FabricReady", "nvswitch": "FabricReady", "os": "", "rdma": "FabricReady", "runtime": "ToolkitReady",
        "slurm": "", "toolkit": "ToolkitReady", "topology": "TopologyReady",
    }  # fmt: skip
    assert all(family.title for family in families.values())
    assert len({family.order for family in families.values()}) == len(families)


@pytest.mark.parametrize("family", ["Family('Disks', 1, 'DiskReady')", "('Disks', 1, '')", "'Disks'"])
def test_a_family_that_is_none_is_refused(written, family):
    with pytest.raises(HostagentError, match=r"FAMILY is .*wanted a Family with one of the conditions DriverReady"):
        written(f"family{len(family)}_checks", family=f"from hostagent.check import Family\nFAMILY = {family}\n")


def test_a_family_that_says_nothing_is_told_last_and_has_no_condition(written):
    (one,) = written("quiet_checks")
    (first,) = written("first_checks", family='from hostagent.check import Family\nFAMILY = Family("Disks", 5)\n')
    (own,) = written("own_checks", fields=", order=15")
    assert (one.family.title, one.family.condition) == ("", "")
    told = reading_order([*CHECKS, one, first, own])
    assert (told[0], told[-1]) == ("first_checks.disk.one", "quiet_checks.disk.one")
    assert told.index("os.supported") < told.index("own_checks.disk.one") < told.index("kernel.headers")


#: In which order one would look: a node without its GPU needs no word about the driver before that; a GPU that no driver has follows from a
#: kernel without the module, and missing firmware from libraries of another version.
LOOKED_AT = (
    *("os", "gpu.present", "nvswitch.board", "gpu.passthrough", "gpu.on_bus", "gpu.answers", "gpu.lost", "kernel", "gpu.bound"),
    *("driver.loaded", "driver", "driver.gsp_firmware", "gpu", "nvswitch", "gpu.fabric_state"),
    *("topology", "rdma", "network", "nccl", "toolkit", "runtime", "kubelet", "slurm", "cdi", "host"),
)


def test_our_checks_are_told_causes_first():
    def place(name):
        found = (number for number, prefix in enumerate(LOOKED_AT) if name == prefix or name.startswith(f"{prefix}."))
        return LOOKED_AT.index(name) if name in LOOKED_AT else min(found)

    assert list(reading_order(CHECKS)) == sorted((one.id for one in CHECKS), key=lambda name: (place(name), name))


def test_the_engine_names_no_check():
    """Its profiles may: they are data, as anybody's are. So may a plan: each of its steps says which checks it makes pass."""
    keys = {"driver.version", "toolkit.version", "host.hostname"}  # of a profile or a report
    ids = {one.id for one in CHECKS} - keys - {"slurm.slurmd_running"}  # what slurmd has started knows that it runs
    engine = Path(__file__).parents[3] / "hostagent"
    for path in (one for one in engine.rglob("*.py") if engine / "plan" not in one.parents):
        words = {node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)}
        assert words & ids == set(), path


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The sample catalogue as its user would install it, and a way to run Python beside it."""
    target = str(tmp_path_factory.mktemp("site-packages"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", target, SAMPLE], check=True, timeout=120)

    def run(*argv, profile=""):
        where = [target, *([os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else [])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(where)}
        path = os.path.join(target, "profile.yaml")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(profile)
        program = os.path.join(sysconfig.get_path("scripts"), "hostagent")
        command = [program, *argv, *(["--profile", path] if profile else [])]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd=target, check=False)

    return run


def test_a_third_partys_check_runs_where_a_profile_names_its_catalogue(installed):
    listed = installed("checks", "list", "--format", "json", profile="catalogues: [hostagent_checks, acme_checks]\n")
    assert listed.returncode == 0, listed.stderr
    ids = {row["id"] for row in json.loads(listed.stdout)}
    assert "acme_checks.gpu.memory" in ids
    assert {one.id for one in CHECKS} < ids
    judged = installed("check", "--only", "acme_checks.gpu", "--format", "json", profile="catalogues: [acme_checks]\n")
    assert {one["id"] for one in json.loads(judged.stdout)["findings"]} == {"acme_checks.gpu.memory"}


def test_an_installed_catalogue_that_no_profile_names_does_not_run(installed):
    assert "acme_checks" not in installed("checks", "list").stdout
    assert installed("checks", "list", "--installed").stdout == "acme_checks\n"


def test_the_profile_tunes_a_third_partys_check_by_its_whole_id(installed):
    profile = "catalogues: [acme_checks]\nchecks: {acme_checks.gpu.memory: {off: 'not here'}}\n"
    told = json.loads(installed("check", "--format", "json", profile=profile).stdout)
    assert [(one["id"], one["outcome"]) for one in told["findings"]] == [("acme_checks.gpu.memory", "off")]


def test_a_check_that_opens_a_file_itself_is_refused_by_name_and_line(installed):
    refused = installed("check", profile="catalogues: [hostagent_checks, unlawful_checks]\n")
    assert refused.returncode == 2
    assert "unlawful_checks.gpu.peek: line 9: uses open" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_third_partys_cases_run_with_the_public_runner(monkeypatch):
    monkeypatch.syspath_prepend(SAMPLE)
    from hostagent.testing import cases, mismatch, run_case

    checks = {one.id: one for one in load(["acme_checks"])}
    found = list(cases(os.path.join(SAMPLE, "cases"), checks))
    assert len(found) == 2
    assert [mismatch(case, run_case(case, checks)) for case in found] == ["", ""]
