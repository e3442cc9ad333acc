"""The page of a check: what is wrong comes first, each document can be opened, and no step takes a node's jobs by surprise."""

import re

from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.tables.documents import DOCUMENTS, MANUALS, REPOSITORIES
from hostagent.core.tables.recovery_actions import ENDS_JOBS
from hostagent.engine.catalogue import OURS, load
from hostagent.engine.catalogue_pages import render_page
from hostagent.engine.check import Findings, Step, check
from hostagent.engine.links import parts
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Identity
from tests.over import over

CHECKS = {one.id: one for one in load([OURS])}
#: No document: a file of the host, which a reader opens there.
FILES = {"/proc/driver/nvidia/params"}

each = over("one", CHECKS.values(), CHECKS)


@each
def test_a_page_opens_with_what_is_wrong_and_not_with_the_healthy_condition(one):
    page = render_page(one)
    assert page.index("**") < page.index(one.title)
    assert f"**{one.title}" not in page


@each
def test_a_page_says_how_to_confirm_what_the_check_says(one):
    assert one.confirm
    assert "\n".join(one.confirm) in render_page(one)


@each
def test_jobs_are_drained_before_the_first_step_that_ends_them_and_let_back_last(one):
    page = render_page(one)
    ends = [step.text for step in one.remedy if step.action in ENDS_JOBS]
    assert ("kubectl drain" in page) == ("kubectl uncordon" in page) == bool(ends)
    if ends:
        assert page.index("kubectl drain") < page.index(ends[0]) < page.index(f"check --only {one.id}\n") < page.index("kubectl uncordon")


@each
def test_each_step_stands_on_the_page_with_its_command(one):
    page = render_page(one)
    for step in one.remedy:
        assert step.text in page
        assert step.command in page


@each
def test_every_parameter_has_a_meaning(one):
    for name in one.inputs.params[1]._fields if one.inputs.params else ():
        assert re.search(rf"^\| `{name}` \| [^|]+ \| [^|]{{10,}} \|$", render_page(one), re.MULTILINE), name


@each
def test_every_reference_can_be_opened(one):
    for reference in set(one.references) - FILES:
        assert any(part.url for part in parts(reference)), f"{reference}: name its address in hostagent/core/tables/documents.py"


def test_no_address_is_kept_that_no_check_needs():
    named = {reference for one in CHECKS.values() for reference in one.references}
    assert {name for name in DOCUMENTS if not any(reference.startswith(name) for reference in named)} == set()
    assert {name for name in (*REPOSITORIES, *MANUALS) if not any(name in reference for reference in named)} == set()


@each
def test_names_of_classes_stand_in_the_fold_alone(one):
    page = render_page(one, folds=True).partition("<details>")[0]
    kinds = (*one.inputs.kinds, *one.inputs.joins.values())
    assert [kind.__name__ for kind in kinds if f"`{kind.__name__}" in page] == []
    assert "once for each" not in page


@given(
    st.one_of(st.text(), st.sampled_from(sorted({name for one in CHECKS.values() for name in one.references})).map(lambda text: text[:-1]))
)
def test_the_parts_of_a_reference_make_up_the_whole(reference):
    assert "".join(part.text for part in parts(reference)) == reference


def test_pages_of_viewers_link_and_those_of_terminals_show_the_address():
    one = CHECKS["gpu.on_bus"]
    url = "https://docs.nvidia.com/deploy/xid-errors/"
    assert f"- [NVIDIA Xid Errors, Xid 79]({url})" in render_page(one, folds=True)
    assert f"- NVIDIA Xid Errors, Xid 79 <{url}>" in render_page(one)
    assert "<details>" not in render_page(one)


def test_viewers_set_commands_as_code():
    @check(
        title="The key's owner is known",
        severity="info",
        since="1",
        remedy=(Step("install", "Enrol the owner's key ('enrol <key>.der')."),),
    )
    def key(identity: Identity) -> Findings:
        return
        yield

    assert "1. Enrol the owner's key (`enrol <key>.der`)." in render_page(key, folds=True)
    assert "1. Enrol the owner's key ('enrol <key>.der')." in render_page(key)


def test_causes_are_linked():
    (cause, *_) = CHECKS["gpu.lost"].because
    assert f"[{cause}]({cause}.md)" in render_page(CHECKS["gpu.lost"], folds=True)


def test_a_check_with_two_codes_as_causes_is_named_once():
    @check(title="The disk turns", severity="warning", since="1", remedy="Replace the disk.", because=("power.on:off", "power.on:low"))
    def disk(identity: Identity) -> Findings:
        return
        yield

    assert "look first at power.on. A report" in render_page(disk)


def test_the_page_of_a_check_that_declares_the_least_reads_well():
    @check(title="The disk turns", severity="warning", since="1", remedy="Replace the disk.")
    def disk(identity: Identity) -> Findings:
        return
        yield

    page = render_page(disk)
    assert page.startswith("# disk\n\nIt passes when this holds: The disk turns.\n\n## Fix it\n\n")
    assert "\nReplace the disk.\n" in page
    assert "\n\n\n" not in page
    assert "None" not in page


def test_a_headline_stands_in_for_a_docstring():
    @check(
        title="The GPU turns",
        headline="{device} stands still at {found}",
        severity="warning",
        since="1",
        remedy=(Step("reboot", "Reboot."),),
    )
    def gpu(gpu: Gpu) -> Findings:
        return
        yield

    assert render_page(gpu).startswith("# gpu\n\n**a device stands still at …**\n")
