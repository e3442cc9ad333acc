"""``@pytest.mark.alone``: the test runs in a process forked for it, which has one thread.

hostagent refuses to fork in a process with threads, and a test runner that shares its tests out has some.
"""

import contextlib
import faulthandler
import json
import os
import select
import signal
import tempfile

import pytest
from _pytest.runner import runtestprotocol

from tests import largepages

#: Seconds that such a test gets unless it says more itself (``alone(seconds=…)``). It is then ended, and the report says where it was.
ALONE_S = 300


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: forks, and so runs in a process of its own with one thread")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if item.get_closest_marker("alone") is None:
        return None
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _reports(item):
        hook.pytest_runtest_logreport(report=report)
    item.session._setupstate.teardown_exact(nextitem)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _reports(item):
    """Of setup, call and teardown, from the process that ran them.

    They come in a file: a process that the test left behind would keep a pipe open.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as told, tempfile.TemporaryFile("w+", encoding="utf-8") as stack:
        largepages.hold()
        pid = os.fork()
        if pid == 0:
            _run(item, told, stack)
        ended = _wait(pid, item.get_closest_marker("alone").kwargs.get("seconds", ALONE_S))
        told.seek(0)
        if ended == "":
            return [_report(item, one) for one in json.load(told)]
        stack.seek(0)
        failed = f"the process of the test {ended}\n{stack.read()}"
    return [pytest.TestReport(item.nodeid, item.location, {}, "failed", failed, "call")]


def _run(item, told, stack):
    code = 1
    try:
        faulthandler.enable(stack)
        reports = [
            item.config.hook.pytest_report_to_serializable(config=item.config, report=one) for one in runtestprotocol(item, log=False)
        ]
        json.dump(reports, told, default=str)
        told.flush()
        code = 0
    finally:
        os._exit(code)


def _wait(pid, seconds):
    """How the process ended, and "" where it ended well."""
    process = os.pidfd_open(pid)
    try:
        in_time = select.select([process], [], [], seconds)[0]
    finally:
        os.close(process)
    if not in_time:
        for number in (signal.SIGABRT, signal.SIGCONT, signal.SIGKILL):  # the first writes where it is
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            select.select([], [], [], 0.5)
    _, status = os.waitpid(pid, 0)
    if not in_time:
        return f"ran for {seconds} s and was ended"
    return f"ended with {os.waitstatus_to_exitcode(status)}" if status else ""


def _report(item, told):
    if isinstance(told["longrepr"], list):  # of a skipped test: file, line, reason, which pytest wants as a tuple
        told["longrepr"] = tuple(told["longrepr"])
    return item.config.hook.pytest_report_from_serializable(config=item.config, data=told)
