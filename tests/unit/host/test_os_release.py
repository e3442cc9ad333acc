"""os-release: what costs the library that reads it a minute is an error, and costs nothing."""

import pytest

from hostagent.core.unread import Unread
from hostagent.engine.questions import live_backend
from hostagent.host.os_release import MAX_BYTES, os_release
from hostagent.host.source import Source
from tests.cpu import within


def test_what_a_host_says_it_is_is_read():
    text = b'NAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n'
    found = os_release(text)
    assert (found["name"], found["version_id"], found["id"]) == ("Debian GNU/Linux", "12", "debian")


@pytest.mark.parametrize("text", [b"", b"NAME=" + b"x" * 3000, b"# nothing\n"])
def test_a_file_that_says_nothing_or_too_much_is_an_error(text):
    assert os_release(text).why == "error"


@pytest.mark.parametrize(
    "piece",
    ["x", "(", "A=", '"', "'", "\\", '""', "''", "a\n", "A=(\n", "=", " ", '"\\', "\\a", "#", "A='\"", 'VERSION="(', "$", "\t", "é"],
)
@pytest.mark.parametrize("start", ["", "VERSION=", 'VERSION="', "VERSION='"])
@within(1)
def test_whatever_a_file_repeats_costs_little(piece, start):
    """``VERSION="((((`` of 64 KiB costs distro 54 s."""
    for line in (2047 - len(start), MAX_BYTES):
        os_release((start + piece * (line // len(piece.encode()))).encode()[:MAX_BYTES])
    rows = [start + piece * ((2000 - len(start)) // len(piece.encode()))] * (MAX_BYTES // 2048)
    os_release("\n".join(rows).encode())


def test_a_file_that_is_too_large_is_an_error_and_hides_no_other(tmp_path):
    for place in ("etc", "usr/lib"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "os-release").write_text(f"ID={place[:3]}\n")
    source = Source(live_backend(str(tmp_path), "image"))
    assert source.os_release() == {"id": "etc"}
    (tmp_path / "etc/os-release").write_text("ID=etc\n" + "#" * MAX_BYTES)
    asked = Source(live_backend(str(tmp_path), "image")).os_release()
    assert isinstance(asked, Unread)
    assert (asked.why, "wanted at most 65536" in asked.detail) == ("error", True)
    (tmp_path / "etc/os-release").unlink()
    assert Source(live_backend(str(tmp_path), "image")).os_release() == {"id": "usr"}
