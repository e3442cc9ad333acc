"""Each profile and each version to install that a page shows is one that a host can be planned for: a made host, made repositories."""

import dataclasses
import re
from pathlib import Path

import pytest
import yaml

from hostagent.plan.model import Asked, Given
from hostagent.plan.offers import NOT_ASKED
from hostagent.profiles import profile
from tests.plan_archives import Archive, planned
from tests.plan_hosts import made_view

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md"), *(ROOT / "daemonset").glob("**/*.md"), *(ROOT / "molecule").glob("**/*.md")]
)
KEYS = {one.name for one in dataclasses.fields(profile.Profile)} | {"schema_version"}
#: What refuses a plan because of the version that its profile names.
OF_WISHES = {"plan.version-missing", "plan.set-incomplete", "plan.toolkit-missing", "plan.toolkit-unnamed", "plan.cuda-missing",
             "plan.install-empty", "plan.no-packages", "plan.no-repository"}  # fmt: skip
PARTS = ("driver", "toolkit", "cuda")


def blocks():
    """(page, number of its first line, text) of each fenced block that is a profile or a site file."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"^```[a-z]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            try:
                data = yaml.safe_load(match[1])
            except yaml.YAMLError:
                continue
            if isinstance(data, dict) and data and set(data) <= KEYS:
                yield page, text[: match.start()].count("\n") + 2, match[1]


def wishes():
    """(page, part, version) of each version in quotes that stands behind the key it is for."""
    for page in PAGES:
        for paragraph in page.read_text(encoding="utf-8").split("\n\n"):
            keys = [*re.finditer(r"`(driver|toolkit|cuda)\.(install|version|toolkit)`", paragraph)]
            ends = [*(one.start() for one in keys), len(paragraph)][1:]
            for key, end in zip(keys, ends, strict=bool(keys)):
                if key[2] == "install":
                    yield from ((page, key[1], found) for found in re.findall(r'`"([0-9][^"\s]*)"`', paragraph[key.end() : end]))


def plan_of(loaded, host):
    given = Given(made_view(host), loaded.profile, Asked(), NOT_ASKED)
    return planned(given, Archive(given, host))


BLOCKS = [(page.name, line, text) for page, line, text in blocks()]
WISHES = sorted({(page.name, part, version) for page, part, version in wishes()})


def test_the_pages_show_what_this_file_is_about():
    """The search finds what is known to be there."""
    assert {("install.md", "driver", "580.*"), ("install.md", "driver", "580.178.04"), ("reference.md", "driver", "580.*"),
            ("reference.md", "cuda", "13.0")} <= set(WISHES)  # fmt: skip
    assert len([name for name, _, _ in BLOCKS if name == "reference.md"]) >= 3
    assert len([name for name, _, _ in BLOCKS if name == "install.md"]) >= 2


@pytest.mark.parametrize("host", ["ubuntu2404", "debian12"])
@pytest.mark.parametrize(("name", "line", "text"), BLOCKS, ids=[f"{name}:{line}" for name, line, _ in BLOCKS])
def test_a_profile_that_a_page_shows_can_be_planned(name, line, text, host, tmp_path):
    """As the profile of a command, and as the site file."""
    path = tmp_path / "shown.yaml"
    path.write_text(text)
    for loaded in (profile.load(str(path), site_file=""), profile.load("", site_file=str(path))):
        plan = plan_of(loaded, host)
        assert not {one.id for one in plan.refusals} & OF_WISHES, [one.message for one in plan.refusals]
        assert plan.todo


@pytest.mark.parametrize("host", ["ubuntu2404", "debian12", "rocky9"])
@pytest.mark.parametrize(("name", "part", "version"), WISHES)
def test_a_version_to_install_that_a_page_shows_can_be_planned(name, part, version, host):
    plan = plan_of(profile.load("default", site_file="", overlay={part: {"install": version}}), host)
    assert plan.resolved, [one.message for one in plan.refusals]
    choice = getattr(plan.choices, part)
    assert choice.wanted
    assert choice.version.startswith(version.removesuffix("*"))


@pytest.mark.parametrize("path", sorted((ROOT / "hostagent/profiles").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_built_in_profile_can_be_planned(path):
    loaded = profile.load(path.stem, site_file="")
    plan = plan_of(loaded, "ubuntu2404")
    named = {"plan.install-empty", "plan.toolkit-unnamed"} if not loaded.profile.driver.install else set()  # it says what is accepted
    assert not {one.id for one in plan.refusals} & (OF_WISHES - named), [one.message for one in plan.refusals]


@pytest.mark.parametrize("part", PARTS)
def test_the_plans_own_words_for_a_branch_are_a_version_to_install(part):
    """What a plan of a host writes for a version that is open can be copied into a profile."""
    own = profile.load(
        "default", site_file="", overlay={"driver": {"install": "580"}, "toolkit": {"install": "1.19"}, "cuda": {"install": "13.0"}}
    )
    from hostagent.plan.build import make

    plan = make(Given(made_view("ubuntu2404"), own.profile, Asked(), NOT_ASKED))
    (written,) = {one.after for one in plan.packages if one.part == part and one.after and one.after.endswith(".*")}
    again = plan_of(profile.load("default", site_file="", overlay={part: {"install": written}}), "ubuntu2404")
    assert again.resolved, [one.message for one in again.refusals]
