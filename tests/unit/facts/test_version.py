"""Constraints and upstream versions. The orders themselves are held against dpkg and rpm in tests/real."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.facts.version import (
    ConstraintError,
    WishError,
    admits,
    compare_deb,
    compare_rpm,
    compare_upstream,
    parse_constraints,
    satisfies,
    upstream,
    wish,
)


@pytest.mark.parametrize(
    ("printed", "wanted"),
    [
        ("580.142", "580.142"),
        ("580.95.05", "580.95.05"),
        ("580.126.09-0ubuntu0.24.04.1", "580.126.09"),
        ("580.95.05-1ubuntu1", "580.95.05"),
        ("3:580.95.05-1.el9", "580.95.05"),
        ("580.95.05_k6.4.0_150600.21-150600.3.1", "580.95.05"),
        ("580.105.08_6.6.104.2.4.azl3", "580.105.08"),
        ("1.19.0-1", "1.19.0"),
        ("1.19.0~rc.1-1", "1.19.0~rc.1"),
        ("1.19.0-rc.1-1", "1.19.0~rc.1"),
        ("1.19.0-0.1.rc.1", "1.19.0"),
        ("1.19.0-rc.1", "1.19.0~rc.1"),
        ("5:28.5.2-1~debian.12~bookworm", "28.5.2"),
        ("1.7.24~ds1-6+b4", "1.7.24"),
        ("580", "580"),
    ],
)
def test_an_upstream_version_is_what_nvidia_calls_it(printed, wanted):
    assert upstream(printed) == wanted


@pytest.mark.parametrize("printed", ["[N/A]", "", "N/A", "(none)", "unknown", "v", ":1", "٥٨٠"])
def test_what_is_no_version_is_unread(printed):
    assert isinstance(upstream(printed), Unread)


@pytest.mark.parametrize(
    ("version", "constraint", "met"),
    [
        ("580.142", "580.*", True),
        ("580.95.05", "580.*", True),
        ("5800.1", "580.*", False),
        ("58.1", "580.*", False),
        ("590.44.01", ">=580", True),
        ("580", ">=580", True),
        ("575.64.03", ">=580", False),
        ("580.126.20", "==580.126.20", True),
        ("580.126.09", "==580.126.20", False),
        ("580.142", ">=580.95.05", True),
        ("580.95.05", ">=580.142", False),
        ("1.19.0~rc.1", ">=1.19.0", False),
        ("1.19.0-rc.1", ">=1.19.0", False),
        ("1.19.0~rc.2", ">=1.19.0~rc.1", True),
        ("1.19.1~rc.1", ">=1.19.0", True),
        ("1.19", "==1.19.0", True),
        ("1.19.0", "==1.19", True),
        ("13", ">=13.0", True),
        ("13.0.2", "13.0.*", True),
        ("13.1", "13.0.*", False),
        ("1.19.10", ">=1.19.9", True),
        ("anything", "", True),
    ],
)
def test_a_constraint_is_met_or_not(version, constraint, met):
    assert satisfies(version, constraint) is met


@pytest.mark.parametrize("text", ["580", ">580", "=580", "580.*.*", ">=580.*", "==", "~=1.0", ">=1.19.0-rc.1", "٥٨٠.*", "latest"])
def test_a_constraint_that_says_nothing_clear_is_refused(text):
    with pytest.raises(ConstraintError, match=r"wanted one like|write"):
        parse_constraints(text)


@pytest.mark.parametrize(
    ("prefix", "constraint", "possible"),
    [
        ("580", "580.*", True),
        ("580.95.05", "580.*", True),
        ("570", "580.*", False),
        ("580", "==580.126.20", True),
        ("580.142", "==580.126.20", False),
        ("590", ">=580.126.09", True),
        ("580", ">=580.126.09", True),
        ("580.95.05", ">=580.126.09", False),
        ("", ">=580", True),
        ("570", "", True),
    ],
)
def test_a_pin_admits_what_the_profile_wants_or_not(prefix, constraint, possible):
    assert admits(prefix, constraint) is possible


@pytest.mark.parametrize("compare", [compare_deb, compare_rpm, compare_upstream])
def test_numbers_of_any_length_are_compared_in_short_time(compare):
    long = "1" * 100_000
    assert compare(long, long + "0") == -1
    assert compare("1." * 100_000 + "1", "1." * 100_000 + "2") == -1


@given(left=st.text(max_size=30), right=st.text(max_size=30))
def test_any_text_has_a_place_in_each_order(left, right):
    for compare in (compare_deb, compare_rpm, compare_upstream):
        assert compare(left, right) == -compare(right, left)
        assert compare(left, left) == 0
    assert isinstance(upstream(left), str | Unread)


@pytest.mark.parametrize(
    ("text", "is_open", "named", "others"),
    [
        ("580", True, ("580.95.05", "580.142"), ("5800.1", "58.1", "570.211.01")),
        ("580.*", True, ("580.95.05", "580.142"), ("5800.1", "58.1", "570.211.01")),
        ("580.95", True, ("580.95.05", "580.95"), ("580.950.1", "580.142")),
        ("580.95.*", True, ("580.95.05", "580.95"), ("580.950.1", "580.142")),
        ("580.142", True, ("580.142",), ("580.14", "580.142~rc.1")),
        ("580.126.20", False, ("580.126.20",), ("580.126.09", "580.126")),
        ("1.19", True, ("1.19.0", "1.19.1", "1.19"), ("1.190.0", "1.20.0", "1.19~rc.1")),
        ("1.19.*", True, ("1.19.0", "1.19.1", "1.19"), ("1.190.0", "1.20.0")),
        ("1.19.0", False, ("1.19.0", "1.19"), ("1.19.1", "1.19.0~rc.1")),
        ("580.95.05.*", True, ("580.95.05",), ("580.95.06", "580.95")),
        ("1.19.0-rc.1", False, ("1.19.0~rc.1",), ("1.19.0",)),
        ("1.19-rc1", False, ("1.19~rc1",), ("1.19.0", "1.19.1")),
        ("", True, (), ("580.142",)),
    ],
)
def test_a_version_to_install_names_the_same_versions_for_profile_and_plan(text, is_open, named, others):
    found = wish(text)
    assert found.is_open is is_open
    assert all(map(found.names, named))
    assert not any(map(found.names, others))
    assert all(found.allowed_by(f"=={version}") for version in named)
    assert not text or not any(found.allowed_by(f"=={version}") for version in others if version.startswith("5"))
    assert all(satisfies(version, found.constraint) for version in named)


@pytest.mark.parametrize(
    "text", [">=580", "580.126,<590", "latest", "580*", "580.**", "==580.142", " ", "580-", ".*", "1.19.0-beta1", "1.19.0rc"]
)
def test_what_is_no_version_to_install_is_rejected_with_what_is_one(text):
    with pytest.raises(WishError, match=r'found .*, wanted a branch like "580\.\*" or "580", or a version like'):
        wish(text)
