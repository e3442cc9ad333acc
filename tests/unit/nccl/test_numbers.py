"""NCCL reads its numbers with the C library's strtoll: what it says of any text is what we say."""

import ctypes

from hypothesis import example, given
from hypothesis import strategies as st

from hostagent.domains.nccl.numbers import parse_number

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.strtoll.restype = ctypes.c_longlong
LIBC.strtoll.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int)


def strtoll(text):
    """As ncclLoadParam does: None where errno says that the number is out of range, or where there is no text."""
    ctypes.set_errno(0)
    value = LIBC.strtoll(text.encode(), None, 0)
    return None if not text or ctypes.get_errno() else value


TEXTS = st.text(alphabet=" \t\n\v\f\r+-0123456789abcdefxXMG._\u0661", max_size=24)


@given(TEXTS)
@example("0x")
@example("0xg")
@example("-0x8000000000000000")
@example("9223372036854775807")
@example("-9223372036854775809")
@example("0" * 40 + "7")
@example("1" * 4000)
def test_a_number_is_what_the_c_library_reads(text):
    assert parse_number(text) == strtoll(text)
