"""What readers share: a gap stays the gap that the source gave, and only what is not there is nothing."""

import pytest

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.system.read_kernel_log import read_kernel_log
from hostagent.host.values import line_in, modified_at, names_in, number_in, paths_in
from hostagent.testing import host

DENIED = Unread("denied", "by the host")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(["a", "b"], ("a", "b")), (Unread("absent"), ()), (Unread("not-running"), ()), (DENIED, DENIED), (Unread("error"), Unread("error"))],
)
def test_names_are_none_only_where_there_is_no_directory_or_nothing_runs(answer, expected):
    assert names_in(host({"list /run/x": answer}), "/run/x") == expected


def test_paths_that_nobody_may_list_are_not_none():
    assert paths_in(host({"/etc/x/a": ""}), "/etc/x") == ("/etc/x/a",)
    assert paths_in(host({}), "/etc/x") == ()
    with pytest.raises(UnreadError, match="by the host"):
        paths_in(host({"list /etc/x": DENIED}), "/etc/x")


def test_a_line_has_no_white_space_around_it():
    assert line_in(host({"/sys/x": " 32.0 GT/s\n"}), "/sys/x") == "32.0 GT/s"
    assert line_in(host({}), "/sys/x", absent="") == ""
    assert line_in(host({"read /sys/x": DENIED}), "/sys/x", absent="") == DENIED


@pytest.mark.parametrize(
    ("text", "expected"), [("-1\n", -1), ("0", 0), ("9" * 18, 10**18 - 1), ("9" * 19, "error"), ("0x1f", "error"), ("", "error")]
)
def test_a_number_is_decimal_and_of_a_size_that_counters_have(text, expected):
    found = number_in(host({"/sys/x": text}), "/sys/x")
    assert (found.why if isinstance(found, Unread) else found) == expected


def test_the_time_of_a_file_that_may_not_be_looked_at_is_unread():
    assert modified_at(host({"/x": ""}), "/x") == 0.0
    assert modified_at(host({"stat /x": DENIED}), "/x") == DENIED


def test_a_reader_stops_at_the_first_value_it_needs_and_that_is_unread():
    asked = []

    @stops_at_unread
    def read(values):
        return [asked.append(value) or need(value) for value in values]

    assert (read([1, 2]), asked) == ([1, 2], [1, 2])
    assert (read([3, DENIED, 4]), asked) == (DENIED, [1, 2, 3, DENIED])


@pytest.mark.parametrize("answer", [{}, {"lines": "NVRM"}, {"lines": [1], "complete": True}])
def test_a_log_of_another_shape_is_an_error_and_not_an_empty_log(answer):
    assert read_kernel_log(host({"kernel_log": answer})).why == "error"


def test_a_log_that_does_not_say_whether_it_is_whole_has_its_lines():
    log = read_kernel_log(host({"kernel_log": {"lines": ["NVRM: x"]}}))
    assert (log.lines, log.complete.why) == (("NVRM: x",), "error")
