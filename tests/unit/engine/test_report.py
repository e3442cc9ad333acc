"""Law 4, said again in other words, and coverage."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.vocabulary import OUTCOMES, SEVERITIES
from hostagent.engine.report import PLACEABLE, coverage, subject_order, verdicts
from hostagent.engine.report.inventory import inventory
from tests.unit.reports import judgement, judgements, report

WORST_FIRST = ("not_ready", "unknown", "degraded", "ready")
TABLE = {
    ("critical", "fail"): "not_ready",
    ("critical", "unknown"): "unknown",
    ("critical", "warn"): "degraded",
    ("warning", "fail"): "degraded",
    ("warning", "warn"): "degraded",
    ("warning", "unknown"): "degraded",
}
lists = st.lists(judgements, min_size=1).map(tuple)


def worst(many):
    found = min((TABLE.get((one.severity, one.outcome), "ready") for one in many), key=WORST_FIRST.index)
    counts = any(one.severity != "info" and one.outcome in ("pass", "warn", "fail") for one in many)
    return "unknown" if found == "ready" and not counts else found


@pytest.mark.parametrize(("severity", "outcome"), list(itertools.product(SEVERITIES, OUTCOMES)))
def test_one_judgement_decides_as_the_law_says(severity, outcome):
    whole = (judgement("host.other", outcome="pass"), judgement(outcome=outcome, severity=severity))
    assert verdicts(whole).single_node == TABLE.get((severity, outcome), "ready")


@given(lists)
def test_multi_node_is_the_worst_of_all_judgements(many):
    single, whole = worst([one for one in many if one.scope == "node"] or many), worst(many)
    assert verdicts(many).multi_node == ("unknown" if single == "unknown" and whole != "not_ready" else whole)


@given(lists)
def test_single_node_is_the_worst_of_the_judgements_of_the_node(many):
    """Where nothing of the node was selected, what was selected decides."""
    assert verdicts(many).single_node == worst([one for one in many if one.scope == "node"] or many)


@given(lists)
def test_a_host_with_node_checks_is_never_better_for_many_nodes_than_for_one(many):
    both = verdicts((*many, judgement(outcome="pass")))
    assert WORST_FIRST.index(both.multi_node) <= WORST_FIRST.index(both.single_node)


@given(lists, st.randoms(use_true_random=False))
def test_order_does_not_matter(many, random):
    shuffled = list(many)
    random.shuffle(shuffled)
    assert verdicts(tuple(shuffled)) == verdicts(many)
    assert coverage(tuple(shuffled)) == coverage(many)


def test_nothing_judged_is_not_ready_for_anything():
    assert verdicts(()).single_node == "unknown"
    assert verdicts(()).multi_node == "unknown"
    for outcome in ("skip", "off"):
        assert verdicts((judgement(outcome=outcome), judgement(outcome="pass", severity="info"))).single_node == "unknown"
    assert "unknown" not in PLACEABLE


def test_only_ready_and_degraded_are_placeable():
    assert set(PLACEABLE) == {"ready", "degraded"}


@given(lists)
def test_each_check_is_counted_once(many):
    told = coverage(many)
    assert told.judged + told.unknown + told.skipped + told.off == len({one.id for one in many})


@given(lists)
def test_a_check_with_one_unknown_is_not_counted_as_judged(many):
    assert coverage(many).unknown == len({one.id for one in many if one.outcome == "unknown"})


names = st.one_of(
    st.from_regex(r"mlx5_[0-9]{1,3}(:[0-9])?|[0-9a-f]{4}:[0-9a-f]{2}:00\.[0-7]|[a-z]{0,3}[0-9]{0,3}", fullmatch=True), st.text(max_size=8)
)


@given(st.lists(names, max_size=8), st.randoms(use_true_random=False))
def test_subjects_have_one_order_whatever_they_are_called(subjects, random):
    shuffled = random.sample(subjects, len(subjects))
    assert sorted(shuffled, key=subject_order) == sorted(subjects, key=subject_order)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_numbers_in_subjects_sort_by_their_value(left, right):
    assert (subject_order(f"mlx5_{left}:1") < subject_order(f"mlx5_{right}:1")) == (left < right)


@given(st.lists(st.from_regex(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", fullmatch=True)))
def test_pci_addresses_sort_as_the_hexadecimal_numbers_they_are(addresses):
    assert sorted(addresses, key=subject_order) == sorted(addresses)


def test_a_subject_of_a_number_too_long_to_read_is_sorted_too():
    assert subject_order("gpu" + "9" * 10_000) > subject_order("gpu1")


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        ({"virtual": "container", "contained": False}, "this container, no GPU"),
        ({"virtual": "", "contained": True}, "this container, no GPU"),
        ({"virtual": "vm", "contained": False}, "no GPU"),
        ({"virtual": {"unread": "denied"}, "contained": {"unread": "denied"}}, "no GPU"),
    ],
)
def test_the_inventory_says_that_a_container_is_judged_and_not_the_host_around_it(platform, said):
    assert inventory(report(facts={"platform": platform, "gpus": []})) == said
