"""Where Ansible itself cannot start, a person hears why: one sentence, without a traceback, without secrets."""

import json
import subprocess
import sys

import pytest

from hostagent.install.ansible import unexplained

_PLAYING = """
import json, sys
from hostagent.install.ansible import environment, play
done = play(sys.argv[1], {"steps": []}, {**environment({}), "PYTHONPATH": sys.argv[2]}, print, lambda text: None)
print(json.dumps([done.status, done.failed]))
"""


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("raise ImportError('no wheel of it for this Python')", "no wheel of it for this Python"),
        ("raise SystemExit(3)", "it ended with exit code 3 and said nothing"),
        ("import os; os.kill(os.getpid(), 9)", "it ended without an exit code and said nothing"),
    ],
)
def test_the_real_runner_tells_why_ansible_did_not_start(tmp_path, module, reason):
    for name in ("place", "broken/ansible"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "broken/ansible/__init__.py").write_text(module)
    argv = [sys.executable, "-c", _PLAYING, str(tmp_path / "place"), str(tmp_path / "broken")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout.splitlines()[-1]) == ["failed", {"message": f"Ansible did not run: {reason}"}]


def test_the_sentence_is_short_has_no_secret_and_nothing_that_moves_a_cursor():
    said = unexplained(f"[ERROR]: cannot read https://user:hunter2@mirror/x \x1b[31mred\x1b[0m \x07 {'long ' * 200}\n", 1)
    assert len(said) <= 300
    assert "hunter2" not in said
    assert said.isprintable()
    assert "red" in said


def test_the_last_reason_counts_and_no_line_of_a_traceback():
    text = "Traceback (most recent call last):\n  File 'x', line 1\n    import y\nKeyError: 'a'\nE: b\nRuntimeError: cannot start\n"
    assert unexplained(text, 1) == "Ansible did not run: cannot start"
