"""How a signal ends a run wherever it meets it: no moment loses it, and none tells of it by a traceback."""

import signal
import subprocess
import sys

import pytest

_HEAD = "import os, signal, sys, time, weakref\nfrom hostagent.cli import ending\nclass Thing: pass\n"
_TAIL = """
try:
    ending.listen()
    meet()
    for number in range(3):
        time.sleep(0.01)
    print("lost")
except ending.Ended as ended:
    os._exit(ending.end(ended.number))
"""
#: What the signal meets, each of which cannot raise.
MEETS = {
    "the end of an object": "class Dies:\n    def __del__(self): signal.raise_signal(signal.SIGTERM)\ndef meet(): Dies()\n",
    "a callback of a reference": (
        "def meet():\n    thing = Thing()\n    held = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGTERM))\n    del thing\n"
    ),
    "the lock of an import": (
        "from importlib import _bootstrap\nsigned = []\n"
        "def meet():\n    def profile(frame, event, arg):\n"
        "        if frame.f_code.co_name == 'cb' and 'importlib' in frame.f_code.co_filename and not signed:\n"
        "            signed.append(1); sys.setprofile(None); signal.raise_signal(signal.SIGTERM)\n"
        "    sys.setprofile(profile)\n    import wave\n    sys.setprofile(None)\n    assert signed\n"
    ),
}


def ran(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30)


@pytest.mark.parametrize("meets", MEETS)
def test_a_signal_that_meets_what_cannot_raise_is_raised_after_it(meets):
    done = ran(_HEAD + MEETS[meets] + _TAIL)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "", "")


def test_what_else_cannot_raise_is_told_as_ever():
    done = ran(_HEAD + "class Dies:\n    def __del__(self): raise ValueError('mine')\ndef meet(): Dies()\n" + _TAIL)
    assert (done.returncode, done.stdout) == (0, "lost\n")
    assert "ValueError: mine" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_after_the_answer_ends_the_process_at_once(number):
    """As Python imports, or does anything else, on its way out: nothing is left to take an exception."""
    script = (
        "import os, signal, sys\nfrom hostagent import __main__\nfrom hostagent.cli import run\n"
        f"told = run.run\ndef late(*given):\n    code = told(*given)\n    signal.raise_signal({int(number)})\n    return code\n"
        "run.run = late\nsys.argv = ['hostagent', '--version']\n__main__.main()\n"
    )
    done = ran(script)
    assert (done.returncode, done.stderr) == (-number, "")


def test_one_that_was_ignored_stays_so():
    script = (
        "import signal\nfrom hostagent.cli.run import run\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nrun(['--version'])\n"
        "assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN\nassert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
    )
    done = ran(script)
    assert (done.returncode, done.stderr) == (0, "")
