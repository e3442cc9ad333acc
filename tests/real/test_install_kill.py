"""kill -9 of an installation, of hostagent alone and of all that it started: a second run ends as an undisturbed one, and rollback restores.

With ATTACK=1 at each step of the whole plan and at 20 random moments, each in a run of its own.
"""

import os
import random
import signal
import subprocess
import time

import pytest

from tests.real.installing import Host, changed, kill_tree

pytestmark = pytest.mark.alone
ATTACK = bool(os.environ.get("ATTACK"))
TOOLKIT = ("--only", "toolkit")
SEED = int(os.environ.get("HOSTAGENT_SEED") or time.time())
HOWS = ("alone", "tree")
#: Of the whole plan, in which a run may be killed: a run of that length on a machine that does nothing else.
WITHIN_S = 30
MOMENTS = 20
#: Seconds for a test of some twenty runs, each with its second run and its rollback.
LONG_S = 3600


def only_attack(test):
    reason = "ATTACK=1 kills at each step of the whole plan, and at 20 random moments"
    return pytest.mark.skipif(not ATTACK, reason=reason)(pytest.mark.alone(seconds=LONG_S)(pytest.mark.timeout(LONG_S)(test)))


def _kill(process, how):
    if how == "alone":
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
    else:
        kill_tree(process)
    process.stdout.close()


def _killed_at(host, step, how, only=()):
    """Whether it came to that step."""
    process = host.start("install", "--yes", *only)
    reached = any(f"] {step}: " in line for line in process.stdout)
    _kill(process, how) if reached else process.wait(60)
    return reached


def _killed_after(host, seconds, how):
    """From the first step on: a plan that is killed has changed nothing."""
    process = host.start("install", "--yes")
    for line in process.stdout:
        if line.startswith("[1/"):
            break
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _kill(process, how)


def _differences(wanted, found):
    return {
        key: changed(wanted[key], found[key]) if isinstance(wanted[key], dict) else (wanted[key], found[key])
        for key in wanted
        if wanted[key] != found[key]
    }


def _back(host, before, what=""):
    done = host.call("rollback", "--yes")
    assert done.returncode == 0, f"{what}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    assert _differences(before, host.state()) == {}, what


def _completed(host, only=(), what=""):
    again = host.install(*only)
    assert again.returncode == 0, f"{what}: {again.stdout[-3000:]}{again.stderr[-3000:]}"


def _undisturbed(root, only=()):
    host = Host(root)
    _completed(host, only)
    return host.state()


def test_a_run_that_is_killed_at_each_step_in_turn_is_completed_by_the_last_and_taken_back(make_root):
    whole = _undisturbed(make_root("debian", "undisturbed"), TOOLKIT)
    host = Host(make_root("debian"))
    before, steps = host.state(), host.todo(*TOOLKIT)
    assert steps
    for step in steps:
        assert _killed_at(host, step, "tree", TOOLKIT), step
    _completed(host, TOOLKIT)
    assert _differences(whole, host.state()) == {}
    _back(host, before)


def test_a_whole_run_that_is_killed_at_any_three_moments_is_completed_by_the_next_and_taken_back(make_root):
    host = Host(make_root("ubuntu"))
    before, numbers = host.state(), random.Random(SEED)
    moments = [(numbers.uniform(0, WITHIN_S / 3), how) for how in ("alone", "tree", "alone")]
    what = f"killed after {moments}, HOSTAGENT_SEED={SEED}"
    for seconds, how in moments:
        _killed_after(host, seconds, how)
    _completed(host, (), what)
    assert host.todo() == [], what
    assert host.failing() == [], what
    _back(host, before, what)


@only_attack
@pytest.mark.parametrize("how", HOWS)
def test_a_run_that_is_killed_at_a_step_is_completed_by_the_next_and_taken_back(make_root, how):
    whole = _undisturbed(make_root("debian", "undisturbed"))
    host = Host(make_root("debian"))
    before, steps = host.state(), host.todo()
    assert steps
    for step in steps:
        assert _killed_at(host, step, how), step
        _completed(host, (), f"killed {how} at {step}")
        assert _differences(whole, host.state()) == {}, f"killed {how} at {step}"
        _back(host, before, f"killed {how} at {step}")


@only_attack
@pytest.mark.parametrize("how", HOWS)
def test_a_run_that_is_killed_at_a_random_moment_is_completed_by_the_next_and_taken_back(make_root, how):
    whole = _undisturbed(make_root("debian", "undisturbed"))
    host = Host(make_root("debian"))
    before, numbers = host.state(), random.Random(f"{SEED}{how}")
    for seconds in (numbers.uniform(0, WITHIN_S) for _ in range(MOMENTS // 2)):
        what = f"killed {how} {seconds:.2f} s after its first step, HOSTAGENT_SEED={SEED}"
        _killed_after(host, seconds, how)
        _completed(host, (), what)
        assert _differences(whole, host.state()) == {}, what
        _back(host, before, what)
