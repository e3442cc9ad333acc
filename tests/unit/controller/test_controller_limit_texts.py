"""The texts of --max-silent and --max-tainted."""

import pytest

from hostagent.controller.limits import parse_limit


@pytest.mark.parametrize(
    ("text", "counts"), [("0", (2, 2)), ("0%", (2, 2)), ("33.3%", (2, 333)), ("100%", (2, 1000)), ("1234567", (1234567,) * 2)]
)
def test_a_limit_of_1_and_of_1000_nodes(text, counts):
    """Two may always be closed."""
    assert tuple(parse_limit(text).of(nodes) for nodes in (1, 1000)) == counts


@pytest.mark.parametrize(
    "text",
    ["", "%", "101%", "100.1%", "-1", "-1%", "20 %", " 20%", "+5", "1e3", "5.5", "nan", "inf%", "0x5", "٣", "20%%", "12345678", "1\n"],
)
def test_what_is_no_limit(text):
    with pytest.raises(ValueError, match="wanted a number of nodes or a percentage"):
        parse_limit(text)
