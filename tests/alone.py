"""``@pytest.mark.alone``: the test runs in a process forked for it, which has one thread.

hostagent refuses to fork in a process with threads, and a test runner that shares its tests out has some.
"""

import json
import os

import pytest
from _pytest.runner import runtestprotocol


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
    """Of setup, call and teardown, from the process that ran them."""
    listening, telling = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            reports = [
                item.config.hook.pytest_report_to_serializable(config=item.config, report=one) for one in runtestprotocol(item, log=False)
            ]
            with open(telling, "w", encoding="utf-8") as stream:
                json.dump(reports, stream, default=str)
            code = 0
        finally:
            os._exit(code)
    os.close(telling)
    with open(listening, encoding="utf-8") as stream:
        told = stream.read()
    _, status = os.waitpid(pid, 0)
    if status:
        failed = f"the process of the test ended with {os.waitstatus_to_exitcode(status)}"
        return [pytest.TestReport(item.nodeid, item.location, {}, "failed", failed, "call")]
    return [_report(item, one) for one in json.loads(told)]


def _report(item, told):
    if isinstance(told["longrepr"], list):  # of a skipped test: file, line, reason, which pytest wants as a tuple
        told["longrepr"] = tuple(told["longrepr"])
    return item.config.hook.pytest_report_from_serializable(config=item.config, data=told)
