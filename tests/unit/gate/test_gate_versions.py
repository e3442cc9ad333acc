"""The order of versions: numbers field by field, a pre-release below its release; and what is no version."""

import itertools

import pytest

from hostagent.gate.versions import parse_demand, parse_version

#: Each row stands below the next, those of one row are equal.
ORDER = [
    ["1.18.9"],
    ["1.19.0-alpha"],
    ["1.19.0~beta.2"],
    ["1.19.0~rc.1", "1.19.0-rc.1", "1.19-rc.1", "1.19.0+rc.1", "1.19.0~RC.1"],
    ["1.19.0~rc.2"],
    ["1.19.0~rc.10"],
    ["1.19", "1.19.0", "1.19.0.0", "01.019", "1.19.0-1", "1.19.0-0ubuntu1", "1.19.0+build", "1.19.0-1~bpo12"],
    ["1.19.0.1"],
    ["1.19.1"],
    ["1.20"],
    ["580.95.05", "580.95.5"],
    ["580.142"],
    ["580.142.1-1.el9"],
]
NONE = [
    "", " ", "x", "1.", ".1", "1..2", "v1.0", "1.0-", "1.0_1", "1.0rc1", "[N/A]", "-1", "\uff11.0", "1.0-é", "1,0", "1e3",
    "9" * 101, "1.0-" + "a" * 100, "≥1",
]  # fmt: skip


def test_versions_have_one_order():
    ranked = [(rank, parse_version(text)) for rank, row in enumerate(ORDER) for text in row]
    for (left, one), (right, other) in itertools.product(ranked, ranked):
        assert (one < other, one == other) == (left < right, left == right)


@pytest.mark.parametrize("text", [*NONE, "1.0 ", "1.0\n"])
def test_it_is_no_version(text):
    assert parse_version(text) is None


@pytest.mark.parametrize("text", [*NONE, ">=", "==", "<1", ">1", "=1", "~=1.0", ">=1,<2", "1.0 2.0", ">=" * 200])
def test_it_is_no_demand(text):
    assert parse_demand(text) is None


def test_a_long_number_is_compared_and_costs_nothing():
    assert parse_version("9" * 100) > parse_version("9" * 99)
