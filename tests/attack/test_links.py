"""A writer in the judged tree swaps what is read for links that lead out of it, while it is read: nothing outside is ever seen."""

import contextlib
import ctypes
import os

import pytest

from hostagent.core.unread import Unread
from hostagent.host.files import Files
from hostagent.host.lookup import by_kernel, by_parts
from hostagent.host.paths import Root
from hostagent.host.walk import Walk
from tests.attack import spaces

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root: run the tests as root")]

TRIES = 2000
OUTSIDE_BYTES = 54321
LOOK_UPS = pytest.mark.parametrize("look_up", [by_kernel, by_parts], ids=["openat2", "walk"])


def exchange(one, other):
    """renameat2(2) with RENAME_EXCHANGE: no moment at which either name is free."""
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2):
        raise OSError(ctypes.get_errno(), "renameat2")


@contextlib.contextmanager
def swapping(*pairs):
    """Another process exchanges each pair of names, all the time."""

    def run():
        while True:
            for one, other in pairs:
                exchange(one, other)

    pid = spaces.start(run)
    try:
        yield
    finally:
        spaces.end(pid)


@pytest.fixture
def places(tmp_path):
    """A root, and a directory outside it, on another file system, which has the same names and more."""
    inside, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    spaces.unshare("mount")
    spaces.mount("none", str(outside), "tmpfs")
    for place, text in ((inside / "etc/dir", "inside"), (outside, "outside")):
        place.mkdir(parents=True, exist_ok=True)
        (place / "file").write_text(text)
        (place / "link").symlink_to(text)
        (place / text).write_text(text)
        os.truncate(place / text, OUTSIDE_BYTES if text == "outside" else 10)
    (inside / "etc/file").write_text("inside")
    (inside / "etc/away").symlink_to(outside / "file")
    (inside / "etc/up").symlink_to("../../outside")
    return inside, outside


#: What is asked, and whether an answer comes from outside.
QUESTIONS = {
    "read": (lambda files: files.read("/etc/file"), lambda answer: answer == b"outside"),
    "read below": (lambda files: files.read("/etc/dir/file"), lambda answer: answer == b"outside"),
    "tail": (lambda files: files.tail("/etc/dir/file"), lambda answer: answer == b"outside"),
    "head": (lambda files: files.head("/etc/dir/file", 100), lambda answer: answer == b"outside"),
    "list": (lambda files: files.list("/etc/dir"), lambda answer: "outside" in answer),
    "stat": (lambda files: files.stat("/etc/dir/outside"), lambda _: True),
    "readlink": (lambda files: files.readlink("/etc/dir/link"), lambda answer: answer == "outside"),
    "realpath": (lambda files: files.realpath("/etc/dir/outside"), lambda _: True),
    "back": (lambda files: files.read("/etc/dir/../dir/../../outside/file"), lambda _: True),
}


@LOOK_UPS
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_swapped_link_shows_what_is_outside(places, look_up, question):
    inside, _ = places
    ask, is_outside = QUESTIONS[question]
    files = Files(Root(str(inside), look_up))
    with swapping((inside / "etc/file", inside / "etc/away"), (inside / "etc/dir", inside / "etc/up")):
        answers = [ask(files) for _ in range(TRIES)]
    found = [one for one in answers if not isinstance(one, Unread)]
    assert [one for one in found if is_outside(one)] == []
    assert found or is_outside("anything"), "what is inside was seen, so this test can fail"
    assert {one.why for one in answers if isinstance(one, Unread)} <= {"absent"}


def test_a_directory_that_is_moved_out_on_the_way_leads_nowhere(tmp_path):
    """``..`` goes back to where the walk came from: the kernel's own parent of the directory is outside by then."""
    inside, outside = tmp_path / "root", tmp_path / "outside"
    (inside / "a/b").mkdir(parents=True)
    (inside / "secret").write_text("inside")
    outside.mkdir()
    (tmp_path / "secret").write_text("outside")
    root = os.open(inside, os.O_PATH)

    def move(_, path):
        if path == "/a/b":
            (inside / "a").rename(outside / "a")

    with contextlib.closing(Walk(root, move)) as walk, open(walk.open("a/b/../../../secret", os.O_RDONLY)) as found:
        assert found.read() == "inside"
    assert (outside / "a/b").is_dir()
    os.close(root)
