"""Copies of files: as large as what is written in them, whole, and of files alone."""

import os

import pytest

from hostagent.core.answers import KIB, MIB
from hostagent.core.unread import Unread
from hostagent.host.copies import copy_all, open_all
from hostagent.host.files import Files
from hostagent.host.paths import Root


@pytest.fixture
def host(tmp_path):
    (tmp_path / "host").mkdir()
    (tmp_path / "copies").mkdir()
    return tmp_path / "host"


def copied(host, *names, limit=8 * MIB):
    """What came of the copy; the copies."""
    opened = open_all(Files(Root(str(host))), tuple(f"/{name}" for name in names))
    if isinstance(opened, Unread):
        return opened, {}
    fault = copy_all(opened, str(host.parent / "copies"), limit)
    for _, descriptor in opened:
        os.close(descriptor)
    return fault, {path.name: path for path in (host.parent / "copies").iterdir()}


def test_copies_are_equal_and_holes_stay_holes(host):
    with open(host / "a", "wb") as stream:
        stream.write(b"begin" + os.urandom(300 * KIB))
        stream.seek(64 * MIB)
        stream.write(b"middle")
        stream.truncate(128 * MIB)
    (host / "zeros").write_bytes(bytes(3 * MIB))
    (host / "empty").touch()
    fault, found = copied(host, "a", "zeros", "empty", "absent")
    assert fault is None
    assert sorted(found) == ["a", "empty", "zeros"]
    assert all(found[name].read_bytes() == (host / name).read_bytes() for name in found)
    assert found["a"].stat().st_blocks * 512 < MIB
    assert found["zeros"].stat().st_blocks * 512 < 64 * KIB, "nobody said that these are holes"


def test_a_file_of_terabytes_without_a_byte_is_nothing(host):
    with open(host / "a", "wb") as stream:
        stream.truncate(8 << 40)
    fault, found = copied(host, "a")
    assert (fault, found["a"].stat().st_size, found["a"].stat().st_blocks) == (None, 8 << 40, 0)


def test_the_limit_is_on_what_is_written_in_all_of_them(host):
    for name in "abc":
        (host / name).write_bytes(os.urandom(3 * MIB))
    fault, _ = copied(host, "a", "b", "c")
    assert fault == Unread("error", "c: more than 8 MiB are written in it and those before it")


def test_nothing_that_is_there_already_is_written_to(host):
    (host / "a").write_bytes(b"x")
    opened = open_all(Files(Root(str(host))), ("/a",))
    os.symlink("/dev/full", host.parent / "copies/b")
    fault = copy_all((("b", opened[0][1]),), str(host.parent / "copies"), MIB)
    assert fault == Unread("error", "b cannot be copied: File exists")


@pytest.mark.parametrize(
    ("make", "why", "said"),
    [
        (lambda path: path.mkdir(), "error", "is a dir, wanted a file"),
        (os.mkfifo, "error", "is a fifo, wanted a file"),
        (lambda path: path.symlink_to("/c"), "error", "symbolic links"),
    ],
)
def test_what_is_no_file_is_the_answer_for_all(make, why, said, host):
    (host / "a").touch()
    (host / "c").symlink_to("/b")
    make(host / "b")
    fault, _ = copied(host, "a", "b")
    assert fault.why == why
    assert said in fault.detail


def test_none_of_them_is_no_copy(host):
    assert copied(host, "a", "b")[0] == Unread("error", "/a, /b: none of them is there")


def test_a_file_that_changes_meanwhile_is_no_copy(host):
    (host / "a").write_bytes(bytes(KIB))
    opened = open_all(Files(Root(str(host))), ("/a",))

    class Changing:
        """A descriptor of a file that grows once it is used for the third time."""

        used = 0

        def __index__(self):
            self.used += 1
            if self.used == 3:
                (host / "a").write_bytes(b"x" * 10)
            return opened[0][1]

    fault = copy_all((("a", Changing()),), str(host.parent / "copies"), MIB)
    assert (fault.why, fault.detail) == ("error", "a changed while it was copied")
