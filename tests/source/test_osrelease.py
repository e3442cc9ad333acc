"""os-release: what distro reads is read, and what costs distro a minute costs nothing."""

import tempfile

import distro
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostagent.facts.unread import Unread
from hostagent.source import Source
from hostagent.source.live import LiveBackend
from hostagent.source.osrelease import MAX_BYTES, parse_os_release
from tests.cpu import within

#: Names that distro makes up itself.
MADE_UP = {"codename", "release_codename"}
WORDS = st.text(st.sampled_from("abz09 ._-+:/()'$`#="), max_size=12)


def written(value):
    """A value as os-release(5) has it written: plain where that is enough, else in double quotes with escapes."""
    plain = value and all(one.isalnum() or one in "._-" for one in value)
    escaped = "".join(f"\\{one}" if one in '"$`\\' else one for one in value)
    return st.just(f'"{escaped}"') if not plain else st.sampled_from([value, f'"{value}"', f"'{value}'"])


LINES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["ID", "NAME", "VERSION_ID", "VERSION", "ID_LIKE"]), WORDS.flatmap(written)).map("=".join),
        st.sampled_from(["", "# a comment", "  # ID=no", "\t"]),
    )
)


def by_distro(text):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        found = distro.LinuxDistribution(
            include_lsb=False, include_uname=False, os_release_file=file.name, distro_release_file="/nonexistent"
        )
        return {key: value for key, value in found.os_release_info().items() if key not in MADE_UP}


@given(LINES.map("\n".join))
@example('NAME="Debian GNU/Linux"\nVERSION="12 (bookworm)"\nID=debian\n')
@example("ID='rhel'\nVERSION_ID=\"9.6\" # a comment\nNAME=Red\\ Hat\nID_LIKE=\"a\"'b'c\n")
def test_what_distro_reads_is_read(text):
    wanted = by_distro(text)
    found = parse_os_release(text)
    # distro reads "$" and "`" as they stand also behind a backslash, which sh(1) and os-release(5) do not
    assert {key: value.replace("\\", "") for key, value in wanted.items()} == {key: value.replace("\\", "") for key, value in found.items()}


@pytest.mark.parametrize("text", ['NAME="x', "NAME='x", "NAME=x\\", 'A=1\nNAME="x\ny"\n'])
def test_a_quote_without_an_end_is_an_error(text):
    assert parse_os_release(text).why == "error"


@pytest.mark.parametrize(
    "piece",
    ["x", "(", "A=", '"', "'", "\\", '""', "''", "a\n", "A=(\n", "=", " ", '"\\', "\\a", "#", "A='\"", 'VERSION="(', "$", "\t", "é"],
)
@pytest.mark.parametrize("start", ["", "VERSION=", 'VERSION="', "VERSION='"])
@within(0.5)
def test_whatever_a_file_repeats_costs_little(piece, start):
    """``VERSION="((((`` costs distro 54 s."""
    parse_os_release(start + piece * (MAX_BYTES // len(piece)))


def test_a_file_that_is_too_large_is_an_error_and_hides_no_other(tmp_path):
    for place in ("etc", "usr/lib"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "os-release").write_text(f"ID={place[:3]}\n")
    source = Source(LiveBackend(str(tmp_path), "image"))
    assert source.os_release() == {"id": "etc"}
    (tmp_path / "etc/os-release").write_text("ID=etc\n" + "#" * MAX_BYTES)
    asked = Source(LiveBackend(str(tmp_path), "image")).os_release()
    assert isinstance(asked, Unread)
    assert (asked.why, "wanted at most 65536" in asked.detail) == ("error", True)
    (tmp_path / "etc/os-release").unlink()
    assert Source(LiveBackend(str(tmp_path), "image")).os_release() == {"id": "usr"}
