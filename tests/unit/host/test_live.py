"""The backend of a real host never raises: what a host or a library does wrong is a value."""

import os

import pytest

from hostagent.core.unread import Unread
from hostagent.engine.questions import live_backend
from hostagent.host.source import Source


@pytest.fixture
def tree(tmp_path):
    for place in ("etc", "proc", "sys"):
        (tmp_path / place).mkdir()
    return tmp_path


@pytest.mark.parametrize("content", [b'ID=ubuntu\nNAME="x', b"\xff\xfe\x00=", b"=" * 100_000, b""])
def test_a_broken_os_release_is_an_answer(tree, content):
    (tree / "etc/os-release").write_bytes(content)
    backend = live_backend(str(tree), "host-root")
    assert isinstance(backend.ask("os_release"), dict | Unread)


def test_a_lock_that_is_no_file_is_not_opened(tree):
    os.mkfifo(tree / "fifo")
    (tree / "directory").mkdir()
    source = Source(live_backend(str(tree), "host-root"))
    assert [source.lock_holder(path).why for path in ("/fifo", "/directory", "/nothing")] == ["error", "error", "absent"]


@pytest.mark.parametrize(
    "method",
    [
        "read",
        "tail",
        "list",
        "stat",
        "readlink",
        "realpath",
        "statvfs",
        "volume",
        "modinfo",
        "elf",
        "nccl_library",
        "lock_holder",
        "state_file",
    ],
)
@pytest.mark.parametrize("path", ["/a\0b", "", "/" + "x" * 5000, "/etc/" * 2000])
def test_no_path_makes_a_question_raise(tree, method, path):
    backend = live_backend(str(tree), "host-root")
    backend.ask(method, path)


@pytest.mark.parametrize("now", [float("nan"), float("inf"), True, "today"])
def test_a_clock_that_is_no_number_is_an_error(now):
    class Fixed:
        kind = "live"

        def ask(self, *_):
            return {"now": now}

    assert Source(Fixed()).host().why == "error"


def test_what_every_host_has_is_never_called_absent(tree):
    (tree / "proc/version").write_text("Linux")
    backend = live_backend(str(tree), "host-root")
    assert backend.ask("read", "/proc/devices").why == "error"
    assert backend.ask("kernel_log").why == "error"
