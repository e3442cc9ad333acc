"""Colour and width of the text: on a real terminal, into a pipe, into a file, as the environment and --color ask for."""

import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import pytest

HOST = Path(__file__).parent / "hosts" / "hgx-h100-gpu-off-the-bus"
ARGV = (sys.executable, "-m", "hostagent", "check", "--from", str(HOST))
ESCAPE = "\x1b"
#: (environment, options, whether a terminal gets colour, whether a pipe does).
ASKED = [
    ({}, (), True, False),
    ({"TERM": "dumb"}, (), False, False),
    ({"TERM": ""}, (), True, False),
    ({"NO_COLOR": "1"}, (), False, False),
    ({"NO_COLOR": ""}, (), True, False),
    ({"FORCE_COLOR": "1"}, (), True, True),
    ({"FORCE_COLOR": ""}, (), True, False),
    ({"FORCE_COLOR": "1", "TERM": "dumb"}, (), True, True),
    ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False, False),
    ({}, ("--color", "never"), False, False),
    ({"FORCE_COLOR": "1"}, ("--color=never",), False, False),
    ({}, ("--color", "always"), True, True),
    ({"NO_COLOR": "1", "TERM": "dumb"}, ("--color", "always"), True, True),
    ({"FORCE_COLOR": "1"}, ("--json",), False, False),
    ({}, ("--color", "always", "--format", "line"), False, False),
]


def _environment(changes):
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")}
    return {**kept, "TERM": "xterm-256color", **changes}


def _on_terminal(changes, *options, columns=100):
    """What a terminal of that many columns is sent."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shown = bytearray()
    with subprocess.Popen([*ARGV, *options], stdout=theirs, stderr=subprocess.DEVNULL, env=_environment(changes)) as process:
        os.close(theirs)
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    shown += os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def _into_pipe(changes, *options):
    return subprocess.run([*ARGV, *options], capture_output=True, text=True, check=False, timeout=60, env=_environment(changes)).stdout


@pytest.mark.parametrize(("changes", "options", "terminal", "pipe"), ASKED)
def test_colour_is_where_it_is_asked_for(changes, options, terminal, pipe):
    assert (ESCAPE in _on_terminal(changes, *options), ESCAPE in _into_pipe(changes, *options)) == (terminal, pipe)


@pytest.mark.parametrize(("options", "has"), [((), False), (("--color", "always"), True), (("--also", "text={also}"), False)])
def test_a_file_has_colour_only_when_it_is_asked_for(options, has, tmp_path):
    other = tmp_path / "other"
    told = [one.format(also=other) for one in options]
    _into_pipe({"FORCE_COLOR": "1"}, "-o", str(tmp_path / "report"), *told)
    assert (ESCAPE in (tmp_path / "report").read_text()) == has
    assert not other.exists() or ESCAPE not in other.read_text()


@pytest.mark.parametrize("columns", [20, 40, 80, 120])
def test_lines_fit_the_terminal_except_for_words_that_are_longer(columns):
    lines = _on_terminal({"NO_COLOR": "1"}, columns=columns).splitlines()
    assert len(lines) > 10
    assert all(len(line) <= columns or len(line.split()) <= 2 for line in lines)
    assert any(len(line) > columns * 0.6 for line in lines)


def test_a_terminal_that_does_not_know_its_width_gets_100_columns():
    assert max(map(len, _on_terminal({"NO_COLOR": "1"}, columns=0).splitlines())) in range(80, 101)


def test_colour_changes_no_word():
    shown = _on_terminal({}, "--color", "always")
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert plain.partition(" passed")[0] == _on_terminal({}, "--color", "never").partition(" passed")[0]


def test_a_terminal_of_another_alphabet_is_sent_nothing_that_it_cannot_show():
    assert _into_pipe({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}).isascii()
