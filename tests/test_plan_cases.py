"""Every row of the table of packages, and what forbids it: made hosts and made repositories, and the plan that comes of them.

A case is a YAML file below ``plan_cases``: a host of `tests.plan_hosts`, what is installed on it (``has``, of ``origin``), what the profile
and the command line ask for, what no repository has (``without``), and what the plan is expected to say. ``packages`` are some of the
driver's transaction with their versions, ``before`` all of the transaction before it, ``removed`` all that go; ``refusals`` all ids.
"""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from hostagent.cli.schemas import published
from hostagent.core.unread import need
from hostagent.outputs.plan import render_plan
from hostagent.plan.model import Asked, DockerAsked, Given, Renamed, Write
from hostagent.plan.offers import NOT_ASKED
from hostagent.profiles import profile
from tests import recorded
from tests.plan_archives import Archive, planned, todo
from tests.plan_hosts import installed, made_view, package

CASES = sorted((Path(__file__).parent / "plan_cases").glob("*.yaml"))
_KEYS = {"why", "host", "arch", "gpus", "has", "origin", "profile", "asked", "without", "expect"}
_EXPECTABLE = {"refusals", "driver", "before", "packages", "removed", "toolkit", "cuda", "docker", "todo", "nothing_of", "stream"}


def loaded(path):
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"why", "host", "expect"} <= set(case) <= _KEYS, path.name
    assert set(case["expect"]) <= _EXPECTABLE, path.name
    return case


def host(case):
    view = made_view(case["host"], case.get("gpus"), case.get("arch", "x86_64"))
    has = case.get("has", {}).items()
    packages = [*need(need(view.packages).installed)]
    of_kernel = [package(one.name, one.version, one.origin, one.arch) for one in packages]
    rows = sorted([*of_kernel, *(package(name, version, case["origin"]) for name, version in has)], key=lambda one: one["name"])
    every = [installed(one["name"], one["version"], one["arch"]) for one in rows]
    return made_view(
        case["host"], case.get("gpus"), case.get("arch", "x86_64"), packages={"installed": rows}, installation={"packages": every}
    )


def given(case):
    asked = Asked(**{name: _asked(name, value) for name, value in case.get("asked", {}).items()})
    return Given(host(case), profile.load("default", site_file="", overlay=case.get("profile")).profile, asked, NOT_ASKED)


def _asked(name, value):
    kinds = {"docker": DockerAsked, "renamed": Renamed}
    return kinds[name](**value) if name in kinds else tuple(value) if isinstance(value, list) else value


def plan_of(case):
    one = given(case)
    return planned(one, Archive(one, case["host"], without=[tuple(row) for row in case.get("without", ())]))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_plan_is_as_the_case_says(path):
    case = loaded(path)
    plan, expect = plan_of(case), case["expect"]
    assert [one.id for one in plan.refusals] == expect.get("refusals", []), [one.message for one in plan.refusals]
    if plan.refusals:
        assert not plan.resolved
        return
    assert plan.resolved
    choice = plan.choices.driver
    assert {name: getattr(choice, name) for name in expect.get("driver", {})} == expect.get("driver", {})
    for name in ("before", "packages"):
        wanted, found = expect.get(name, {}), dict(getattr(choice, name))
        assert {one: found.get(one) for one in (found if name == "before" and name in expect else wanted)} == wanted
    if "removed" in expect:
        assert sorted(choice.removed) == expect["removed"]
    if "toolkit" in expect:
        assert {version for _, version in plan.choices.toolkit.packages} == {expect["toolkit"]}
        assert len(plan.choices.toolkit.packages) == 4
    assert dict(plan.choices.cuda.packages) == expect.get("cuda", {})
    assert [name for name, _ in plan.choices.docker.packages] == expect.get("docker", [])
    assert set(expect.get("todo", ())) <= set(todo(plan))
    assert not {one.part for one in plan.steps} & set(expect.get("nothing_of", ()))
    if "stream" in expect:
        said = " ".join(
            " ".join(one.argv) if hasattr(one, "argv") else getattr(one, "content", "") for step in plan.todo for one in step.do
        )
        assert f"stream={expect['stream']}\n" in said


WHOLE = [path for path in CASES if not loaded(path)["expect"].get("refusals")]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_all_packages_of_a_part_are_one_transaction_with_their_versions(path):
    """Law of the driver's set: what has to have one version never comes in two transactions, and none comes without its version."""
    plan = plan_of(loaded(path))
    steps = [step for step in plan.todo if step.kind == "packages"]
    assert len(steps) <= 5
    choice = plan.choices.driver
    if choice.wanted and "driver.packages" in todo(plan):
        (step,) = (one for one in steps if one.id == "driver.packages")
        (words,) = {one.argv for one in step.do if one.argv[0] in ("apt-get", "dnf", "zypper", "tdnf")}
        for name, version in choice.packages:
            assert any(name in word and version in word for word in words), name
        for name in choice.removed:
            assert any(name in word for word in words) or words[0] in ("dnf", "tdnf"), name


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_files_of_apt_are_ones_that_apt_reads(path):
    plan = plan_of(loaded(path))
    written = [one.path for step in plan.todo for one in step.do if isinstance(one, Write)]
    assert not [one for one in written if one.startswith("/etc/apt/preferences.d/") and "." in one.rpartition("/")[2]]
    assert not [one for one in written if one.startswith("/etc/apt/sources.list.d/") and not one.endswith(".sources")]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_plan_says_the_same_each_time_and_its_document_is_valid(path):
    from hostagent.plan.document import document

    case = loaded(path)
    one, other = plan_of(case), plan_of(case)
    assert one == other
    made = document(one, _report())
    jsonschema.Draft202012Validator(published("plan")).validate(json.loads(render_plan(made, "json")))
    page = render_plan(made, "text", width=100)
    assert ("REFUSED" in page) == bool(one.refusals)


def _report():
    return recorded.report_of("no-gpu-vm")
