"""Programs of the host: answers, deadlines, output limits, and no child left behind."""

import os
import signal
import time

import psutil
import pytest

from hostagent.core.unread import Unread
from hostagent.host import programs
from hostagent.host.programs import run
from tests.children import children, until

pytestmark = pytest.mark.alone


def test_an_answer_has_its_exit_code_and_both_outputs():
    answer = run(("/bin/sh", "-c", "echo out; echo err >&2; exit 3"), 5)
    assert answer == {"exit_code": 3, "stdout": "out\n", "stderr": "err\n"}


def test_the_environment_is_fixed():
    assert "LC_ALL=C\n" in run(("/usr/bin/env",), 5)["stdout"]


def test_a_missing_program_is_absent():
    assert run(("no-such-program",), 5).why == "absent"


def test_a_program_that_never_ends_costs_its_deadline_and_leaves_no_child():
    before = set(psutil.pids())
    started = time.monotonic()
    answer = run(("/bin/sh", "-c", "sleep 1000 & sleep 1000"), 0.3)
    assert isinstance(answer, Unread)
    assert answer.why == "timeout"
    assert "/bin/sh: no end in 0.3 s" in answer.detail
    assert time.monotonic() - started < 20
    assert until(lambda: not [pid for pid in set(psutil.pids()) - before if _is_sleep(pid)])


def test_a_child_that_keeps_the_pipe_open_does_not_keep_us():
    started = time.monotonic()
    assert run(("/bin/sh", "-c", "sleep 1000 & echo done"), 5)["stdout"] == "done\n"
    assert time.monotonic() - started < 20


def test_output_that_a_child_in_a_session_of_its_own_holds_back_is_not_no_output():
    answer = run(("/bin/sh", "-c", "echo important; setsid sleep 3 & sleep 0.2"), 5)
    assert isinstance(answer, Unread)
    assert (answer.why, answer.detail) == ("timeout", "/bin/sh has ended and its output has not")


def test_endless_output_is_an_error():
    answer = run(("/bin/sh", "-c", "head -c 40000000 /dev/zero"), 20)
    assert isinstance(answer, Unread)
    assert answer.why == "error"


def test_a_program_that_closes_its_outputs_is_waited_for():
    started = time.monotonic()
    assert run(("/bin/sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 4"), 5)["exit_code"] == 4
    assert time.monotonic() - started > 0.3


def test_a_program_finds_signals_as_everybody_does():
    assert run(("/bin/sh", "-c", "yes | head -n 1"), 5) == {"exit_code": 0, "stdout": "y\n", "stderr": ""}
    assert run(("/bin/sh", "-c", "kill -TERM $$; sleep 5"), 5)["exit_code"] == -15
    assert run(("/bin/sh", "-c", "kill -HUP $$; sleep 5"), 5)["exit_code"] == -1


def test_a_program_is_not_process_number_one():
    """systemd's programs write to the kernel's log then."""
    assert int(run(("/bin/sh", "-c", "echo $$"), 5)["stdout"]) > 1


def test_the_end_of_the_process_that_runs_programs_costs_one_answer():
    assert run(("true",), 5)["exit_code"] == 0
    (runner,) = children()
    os.kill(int(runner), signal.SIGKILL)
    answer = run(("true",), 5)
    assert (answer.why, answer.detail) == ("error", "true: the process that runs it has ended")
    assert run(("true",), 5)["exit_code"] == 0


def test_a_process_that_runs_programs_and_says_nothing_costs_the_time_of_one(monkeypatch):
    monkeypatch.setattr(programs, "_GRACE_S", 0.3)
    assert run(("true",), 5)["exit_code"] == 0
    (runner,) = children()
    os.kill(int(runner), signal.SIGSTOP)
    answer = run(("true",), 0.2)
    assert (answer.why, answer.detail) == ("timeout", "true: neither an end nor an answer in 0.5 s")
    assert run(("true",), 5)["exit_code"] == 0
    assert len(children()) == 1


def test_a_forked_process_has_programs_run_by_another():
    assert run(("true",), 5)["exit_code"] == 0
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = run(("true",), 5)["exit_code"]
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert run(("true",), 5)["exit_code"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="changing root needs root: run the tests as root")
def test_below_another_root_only_its_own_programs_are_found(tmp_path):
    assert run(("/bin/sh", "-c", "true"), 5, str(tmp_path)).why == "absent"


def _is_sleep(pid):
    try:
        return psutil.Process(pid).cmdline()[:2] == ["sleep", "1000"] and psutil.Process(pid).status() != "zombie"
    except psutil.Error:
        return False
