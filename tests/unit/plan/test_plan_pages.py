"""docs/install.md names each refusal that a plan can make."""

from tests.install_page import REFUSALS, ids_in_code


def test_each_refusal_of_the_code_is_in_the_table_and_no_other():
    assert sorted(REFUSALS) == sorted(ids_in_code())


def test_no_two_refusals_are_told_alike():
    assert len({when for when, _ in REFUSALS.values()}) == len(REFUSALS)
