"""Files below a root: what is asked comes back, what cannot be had is a value, nothing blocks, nothing leads out."""

import contextlib
import os
import time

import pytest

from hostagent.core.deadline import within
from hostagent.core.unread import Unread
from hostagent.engine.questions import live_backend
from hostagent.host.source import Source


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/name").write_bytes(b"inside\n")
    (tmp_path / "etc/bytes").write_bytes(b"\xff\xfe\x00")
    os.symlink("/etc", tmp_path / "absolute")
    os.symlink("../../../../../../etc", tmp_path / "etc/upwards")
    os.symlink("loop-b", tmp_path / "loop-a")
    os.symlink("loop-a", tmp_path / "loop-b")
    os.symlink("/etc/shadow", tmp_path / "etc/outside")
    os.mkfifo(tmp_path / "etc/fifo")
    return tmp_path


@pytest.fixture
def source(tree):
    return Source(live_backend(str(tree), "host-root"))


def why(answer):
    assert isinstance(answer, Unread), answer
    return answer.why


def test_links_are_resolved_inside_the_root(source):
    assert source.text("/absolute/name") == "inside\n"
    assert source.text("/etc/upwards/name") == "inside\n"
    assert source.realpath("/absolute/name") == "/etc/name"
    assert source.readlink("/absolute") == "/etc"


def test_a_link_out_of_the_root_finds_nothing(source):
    assert os.path.exists("/etc/shadow")
    assert why(source.text("/etc/outside")) == "absent"
    assert why(source.text("/../../../../etc/passwd")) == "absent"


def test_what_is_no_file_is_an_error_and_never_waited_for(source):
    started = time.monotonic()
    answers = [source.text(path) for path in ("/etc/fifo", "/etc", "/loop-a", "/loop-a/x")]
    assert [why(one) for one in answers] == ["error"] * 4
    assert time.monotonic() - started < 10


def test_a_file_larger_than_asked_is_an_error_not_a_cut(tree, source):
    with open(tree / "etc/huge", "wb") as stream:
        stream.truncate(200 * 1024 * 1024)
    assert why(source.read("/etc/huge")) == "error"
    assert len(source.tail("/etc/huge", 4096)) <= 4096


def test_a_tail_begins_with_a_whole_line(tree, source):
    (tree / "etc/log").write_text("".join(f"line {number}\n" for number in range(1000)))
    assert source.tail("/etc/log", 100).splitlines()[0].startswith("line 9")


def test_an_absent_path_a_part_that_is_no_directory_and_a_null_byte_are_values(source):
    assert why(source.text("/etc/nothing")) == "absent"
    assert why(source.text("/etc/name/below")) == "absent"
    assert why(source.text("/etc/na\0me")) == "error"
    assert why(source.listdir("/nowhere")) == "absent"
    assert why(source.readlink("/etc/name")) == "absent"
    assert why(source.stat("/nowhere")) == "absent"


def test_undecodable_bytes_stay_visible(source):
    assert source.text("/etc/bytes") == "\ufffd\ufffd\x00"
    assert source.read("/etc/bytes") == b"\xff\xfe\x00"


def test_a_file_without_permission_is_denied(tree, source):
    os.chmod(tree / "etc/name", 0)
    child = os.fork()
    if child == 0:  # root may read everything: look as somebody else
        with contextlib.suppress(PermissionError):
            os.setuid(65534)
        answer = source.text("/etc/name")
        os._exit(0 if isinstance(answer, Unread) and answer.why == "denied" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_image_has_nothing_that_runs(tree):
    (tree / "proc").mkdir()
    (tree / "proc/version").write_text("a build leaves such things behind")
    source = Source(live_backend(str(tree), "image"))
    answers = [source.text("/proc/version"), source.nvml("init"), source.processes(), source.run("/bin/true"), source.kernel_log()]
    assert [why(one) for one in answers] == ["not-running"] * 5
    assert source.text("/etc/name") == "inside\n"


def test_the_deadline_of_the_run_ends_every_later_read(tree):
    backend = live_backend(str(tree), "host-root", deadline=within(0.01))
    time.sleep(0.02)
    assert why(Source(backend).text("/etc/name")) == "timeout"


def test_a_name_that_is_not_utf_8_is_listed_and_never_reads_as_absent(tree, source):
    (tree / "etc/conf.d").mkdir()
    name = os.fsencode(tree / "etc/conf.d") + b"/x\xff.toml"
    with open(name, "wb"):
        pass
    os.symlink(name, tree / "etc/odd")
    (listed,) = source.listdir("/etc/conf.d")
    assert listed == "x\ufffd.toml"
    path = f"/etc/conf.d/{listed}"
    asked = (source.read, source.tail, source.listdir, source.stat, source.readlink, source.realpath, source.statvfs)
    assert {ask(path).why for ask in asked} == {"error"}
    assert source.readlink("/etc/odd").endswith(listed)  # can be printed and written


def test_no_question_about_a_null_byte_raises(source):
    asked = (
        source.read,
        source.tail,
        source.listdir,
        source.stat,
        source.readlink,
        source.realpath,
        source.statvfs,
        source.modinfo,
        source.elf,
        source.nccl_library,
    )
    assert {ask("/etc/na\0me").why for ask in asked} == {"error"}
