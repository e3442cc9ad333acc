"""Values that NCCL reads as something else. How it reads numbers, and which words it ignores: the library itself (tests/real/test_libnccl_values.py)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.domains.nccl.numbers import parse_number
from hostagent.domains.nccl.tables.variables import variables
from hostagent.domains.nccl.values import fault

VERSIONS = ((2, 18, 3), (2, 21, 5), (2, 28, 9), (2, 32, 3))
NUMBERS = sorted(name for name, one in variables().items() if one.kind == "number")


@pytest.mark.parametrize("version", VERSIONS)
def test_no_default_of_a_variable_is_a_fault(version):
    own = [(one, one.default(version)) for one in variables().values() if one.known_to(version)]
    own = [(one, value) for one, value in own if value not in ("", "unset", "max")]
    assert [(one.name, value) for one, value in own if fault(one, value, version)] == []


@given(st.text(max_size=12), st.sampled_from(NUMBERS), st.sampled_from(VERSIONS))
def test_a_number_without_a_fault_is_the_one_that_its_reader_sees(text, name, version):
    """What is no fault reads the same to a person: decimal or hexadecimal, and nothing else."""
    if text and fault(variables()[name], text, version) is None:
        assert parse_number(text) == int(text.strip(), 0)


@pytest.mark.parametrize("text", ["INFO", "info", "Warn"])
def test_the_case_of_debug_does_not_matter(text):
    assert fault(variables()["NCCL_DEBUG"], text, (2, 18, 3)) is None


def test_what_others_judge_has_no_fault_here():
    assert [fault(variables()[name], '"x" ', (2, 28, 9)) for name in ("NCCL_SOCKET_IFNAME", "NCCL_NET_PLUGIN", "NCCL_NET_GDR_LEVEL")] == [
        None
    ] * 3
