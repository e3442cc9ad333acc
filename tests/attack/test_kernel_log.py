"""What a user's program and root make the real kernel print, read from its device, its system call and a real journal.

No test here makes the kernel print more than harmless words: ``Qid`` stands where a driver would write ``Xid``.
"""

import ctypes
import faulthandler
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hostagent.core.unread import Unread
from hostagent.engine.questions import live_backend
from hostagent.host import programs
from hostagent.host.kernel_log import parse_journal, parse_kmsg, parse_syslog, read_both
from hostagent.host.paths import Root
from tests.attack.spaces import become, mount, unshare
from tests.real.conftest import need_real

JOURNALD = "/lib/systemd/systemd-journald"
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/kmsg"), reason="needs root and /dev/kmsg"),
]


def device():
    descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    chunks = []
    try:
        while True:
            try:
                chunks.append(os.read(descriptor, 65536))
            except BrokenPipeError:  # overwritten while it was read
                continue
    except BlockingIOError:
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def system_call():
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(1 << 24)
    length = libc.klogctl(3, buffer, len(buffer))  # SYSLOG_ACTION_READ_ALL
    return buffer.raw[:length]


def crash(name):
    """A program of an ordinary user that calls itself `name` reads where nothing is."""
    pid = os.fork()
    if pid == 0:
        become()
        faulthandler.disable()
        ctypes.CDLL(None).prctl(15, name, 0, 0, 0)  # PR_SET_NAME
        ctypes.string_at(0)
    os.waitpid(pid, 0)


def crashed(name, mark):
    """The same, until the kernel has said so: it says no more than some such things in a while."""
    before = device().count(mark)
    for _ in range(40):
        crash(name)
        if device().count(mark) > before:
            return
        time.sleep(0.25)
    pytest.skip("this kernel says nothing of programs that crash: 'sysctl debug.exception-trace=1'")


def journal():
    """A real journal of its own, of this kernel's messages. Its daemon ends with this process."""
    need_real(JOURNALD, "apt-get install systemd")
    unshare("mount")
    for place in ("/run", "/var/log", "/etc/systemd"):
        mount("tmpfs", place, "tmpfs")
    os.makedirs("/run/systemd/journal")
    os.makedirs("/run/log/journal")
    Path("/etc/systemd/journald.conf").write_text(
        "[Journal]\nStorage=volatile\nReadKMsg=yes\nAudit=no\nForwardToWall=no\n", encoding="ascii"
    )

    def die_with_us():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    return subprocess.Popen([JOURNALD], stderr=subprocess.DEVNULL, preexec_fn=die_with_us)  # noqa: PLW1509  one thread


def journalctl(*argv):
    return programs.run(argv, 10)


def in_the_journal(mark):
    """What journalctl answers once journald has read that far."""
    for _ in range(40):
        answer = journalctl("journalctl", "-k", "-b", "0", "-q", "-a", "-o", "json")
        if isinstance(answer, dict) and mark in answer["stdout"]:
            return answer["stdout"]
        time.sleep(0.25)
    return pytest.fail(f"journald did not read {mark}")


def records(parsed, word="Qid"):
    return [tuple(one[:2]) for one in parsed if word in one.message]


def test_what_a_user_and_root_write_is_one_record_or_none_in_every_source():
    crashed(b"Qid\nQid (PCI:00", rb"Qid\x0aQid (PCI:00")
    crashed(b"Qid\\x0aQid (PC", rb"Qid\x5cx0aQid (PC")
    daemon = journal()
    with open("/dev/kmsg", "w", encoding="utf-8") as log:
        for text in (
            "Qid of user space\n",
            "<0>Qid of user space\n",
            "<3>Qid of user space\\x0aQid\n",
            "<30>Qid of user space: the last\n",
        ):
            log.write(text)
            log.flush()
    found = records(parse_kmsg(device()))
    assert found == records(parse_syslog(system_call()))
    assert found[-20:] == records(parse_journal(in_the_journal("Qid of user space: the last")))[-20:]
    assert not [message for _, message in found if "of user space" in message]
    assert [message.partition("[")[0] for _, message in found][-2:] == ["Qid\nQid (PCI:00", r"Qid\x0aQid (PC"]
    daemon.kill()
    daemon.wait()


def test_the_journal_is_asked_in_words_that_it_takes(tmp_path):
    daemon = journal()
    with open("/dev/kmsg", "w", encoding="utf-8") as log:
        log.write("<30>the journal of this test has it\n")
    in_the_journal("the journal of this test has it")
    answer = read_both(Root(str(tmp_path)), journalctl).kernel_log
    if b"Linux version " in device():
        assert isinstance(answer, dict), answer
        assert answer["complete"] is True
    else:  # the kernel's own buffer has lost its beginning
        assert not (isinstance(answer, dict) and answer["complete"]), answer
    daemon.kill()
    daemon.wait()


def test_a_device_that_is_another_one_is_no_log_without_faults(tmp_path):
    """Containers are given /dev/null in its place."""
    whole = live_backend().ask("kernel_log")
    unshare("mount")
    mount("/dev/null", "/dev/kmsg", "", 0x1000)  # MS_BIND
    assert live_backend().ask("kernel_log") == whole  # by the system call
    (tmp_path / "dev").mkdir()
    os.mknod(tmp_path / "dev/kmsg", 0o020644, os.makedev(1, 3))
    answer = read_both(Root(str(tmp_path)), lambda *_: Unread("absent")).kernel_log
    assert (answer.why, "is not the kernel's log" in answer.detail) == ("error", True)


def test_who_may_not_read_the_log_is_told_so():
    restricted = Path("/proc/sys/kernel/dmesg_restrict").read_text(encoding="ascii").strip()
    if restricted != "1":
        pytest.skip("any user may read the log here: 'sysctl kernel.dmesg_restrict=1'")
    become()
    assert read_both(Root(), lambda *_: Unread("denied")).kernel_log.why == "denied"
