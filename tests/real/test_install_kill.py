"""kill -9 of an installation, of hostagent alone and of all that it started: a second run ends as an undisturbed one, and rollback restores."""

import os
import random
import signal
import time

import pytest

from tests.real.installing import Host, changed, kill_tree

pytestmark = pytest.mark.alone
ONLY = ("--only", "toolkit", "--only", "runtime")
SEED = int(os.environ.get("HOSTAGENT_SEED") or time.time())
#: Of each way of killing; the steps of this plan come on top.
MOMENTS = 10


def _kill(process, how):
    if how == "alone":
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
    else:
        kill_tree(process)
    process.stdout.close()


def _at_step(host, number, how, only=ONLY):
    process = host.start("install", "--yes", *only)
    for line in process.stdout:
        if line.startswith(f"[{number}/"):
            break
    _kill(process, how)


def _after(host, seconds, how):
    process = host.start("install", "--yes", *ONLY)
    time.sleep(seconds)
    if process.poll() is None:
        _kill(process, how)


def _differences(wanted, found):
    return {
        key: changed(wanted[key], found[key]) if isinstance(wanted[key], dict) else (wanted[key], found[key])
        for key in wanted
        if wanted[key] != found[key]
    }


class Judge:
    """What an undisturbed run leaves, how long it takes, and what a rollback goes back to."""

    def __init__(self, host, only=ONLY):
        self.host, self.only = host, only
        self.before = host.state()
        self.steps = len(host.todo(*only))
        began = time.monotonic()
        done = host.install(*only)
        assert done.returncode == 0, done.stdout + done.stderr
        self.seconds = time.monotonic() - began
        self.whole = host.state()
        self.back()

    def back(self):
        done = self.host.call("rollback", "--yes")
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert _differences(self.before, self.host.state()) == {}

    def goes_on(self, what):
        again = self.host.install(*self.only)
        assert again.returncode == 0, f"{what}: {again.stdout[-3000:]}{again.stderr[-3000:]}"
        assert _differences(self.whole, self.host.state()) == {}, what
        self.back()


@pytest.mark.parametrize("how", ["alone", "tree"])
def test_a_run_that_is_killed_at_any_moment_is_completed_by_the_next_and_taken_back(make_root, how):
    judge = Judge(Host(make_root("debian")))
    numbers = random.Random(f"{SEED}{how}")
    for moment in (numbers.uniform(0.3, judge.seconds) for _ in range(MOMENTS)):
        _after(judge.host, moment, how)
        judge.goes_on(f"killed {how} after {moment:.2f} s, HOSTAGENT_SEED={SEED}")


@pytest.mark.parametrize("how", ["alone", "tree"])
def test_a_run_that_is_killed_at_each_step_is_completed_by_the_next_and_taken_back(make_root, how):
    judge = Judge(Host(make_root("debian")))
    for number in range(1, judge.steps + 1):
        _at_step(judge.host, number, how)
        judge.goes_on(f"killed {how} at step {number} of {judge.steps}")


@pytest.mark.parametrize("how", ["alone", "tree"])
def test_a_run_that_is_killed_while_the_driver_is_installed_is_completed_by_the_next_and_taken_back(make_root, how):
    root = make_root("ubuntu")
    judge = Judge(Host(root), ("--only", "driver"))
    todo = judge.host.todo(*judge.only)
    root.switch("nvidia-utils-580", "3")
    for step in ("driver.packages", "driver.modules"):
        _at_step(judge.host, todo.index(step) + 1, how, judge.only)
        judge.goes_on(f"killed {how} at {step}")
