"""Completion as people have it: real shells, what they were given by ``hostagent`` itself, and a tab."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.real.conftest import need_real

BIN = str(Path(sys.executable).parent)
SOURCE = "_HOSTAGENT_COMPLETE={}_source hostagent"
#: What is typed before the tab, and what the shell makes of the word.
UNIQUE = [
    ("hostagent snaps", "snapshot"),
    ("hostagent check --profile gpu-op", "gpu-operator-26.3"),
    ("hostagent check --only gpu.on_b", "gpu.on_bus"),
    ("hostagent check --only gpu.lost,gpu.on_b", "gpu.lost,gpu.on_bus"),
    ("hostagent check --skip toolkit.hel", "toolkit.held"),
    ("hostagent check --format prom", "prometheus"),
    ("hostagent check --also prom", "prometheus="),
    ("hostagent checks show gpu.on_b", "gpu.on_bus"),
    ("hostagent profile show gk", "gke"),
    ("hostagent snapshot adopt x y --profile gk", "gke"),
    ("hostagent help snapshot ad", "adopt"),
]


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "report.json").write_text("{}")
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path), "TERM": "dumb"}


def bash_words(environment, line):
    """What the function that bash calls answers: readline breaks words at = as well."""
    words = line.replace("=", " = ").split(" ")
    words = [word for word in words if word] + ([""] if line.endswith((" ", "=")) else [])
    script = (
        f'eval "$({SOURCE.format("bash")})"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); compopt() {{ :; }}; _hostagent_completion hostagent\n'
    )
    script += r'printf "%s\n" "${COMPREPLY[@]}"'
    argv = [need_real("bash", "apt-get install bash"), "--norc", "-c", script, "bash", *words]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout.split()


def fish_words(environment, line):
    script = f"{SOURCE.format('fish')} | source; complete -C{line!r}"
    argv = [need_real("fish", "apt-get install fish"), "--no-config", "-c", script]
    printed = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout
    return [one.split("\t")[0] for one in printed.splitlines() if one]


SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], f'eval "$({SOURCE.format("bash")})"'),
    "zsh": (["-f", "-i"], f'autoload -Uz compinit; compinit -u; eval "$({SOURCE.format("zsh")})"'),
}


def typed(shell, environment, line, folder):
    """What an interactive shell has on its line after `line` and a tab: it is made to echo that."""
    options, setup = SHELLS[shell]
    program = need_real(shell, f"apt-get install {shell}")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(program, [program, *options], environment)
    try:
        os.write(terminal, f"{setup}; echo set'' up\r".encode())
        until(terminal, "set up")
        os.write(terminal, f"{line}\t\x01echo 'got' \r".encode())  # to the start of the line, and echo before it
        told = until(terminal, "\ngot hostagent")
        return told.rpartition("\ngot ")[2]
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def until(terminal, text, seconds=60):
    """All output to the end of the line that begins with `text`."""
    told, ends = "", time.monotonic() + seconds
    while text not in told or "\n" not in told.rpartition(text)[2]:
        ready, _, _ = select.select([terminal], [], [], max(0, ends - time.monotonic()))
        assert ready, told
        told += os.read(terminal, 4096).decode(errors="replace").replace("\r", "")
    return told[: told.rindex(text)] + text + told.rpartition(text)[2].partition("\n")[0]


@pytest.mark.parametrize(("line", "word"), UNIQUE)
def test_bash_completes_values(environment, line, word):
    assert bash_words(environment, line) == [word]


@pytest.mark.parametrize(("line", "word"), UNIQUE)
def test_fish_completes_values(environment, line, word):
    assert fish_words(environment, line) == [word]


@pytest.mark.parametrize("shell", sorted(SHELLS))
@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("hostagent check --only gpu.lost,gpu.on_b", "hostagent check --only gpu.lost,gpu.on_bus"),
        ("hostagent check --only=gpu.on_b", "hostagent check --only=gpu.on_bus"),
        ("hostagent check --profile=gk", "hostagent check --profile=gke"),
        ("hostagent check --from rep", "hostagent check --from report.json"),
        ("hostagent check --profile ./rep", "hostagent check --profile ./report.json"),
    ],
)
def test_a_tab_completes_the_word_in_an_interactive_shell(environment, tmp_path, shell, line, whole):
    assert typed(shell, environment, line, tmp_path).rstrip() == whole


def test_several_words_are_offered_and_none_twice(environment):
    assert bash_words(environment, "hostagent check --profile tao") == ["tao-7.0", "tao-7.1"]
    assert bash_words(environment, "hostagent check --only=gpu.on_b") == ["gpu.on_bus"]
    assert {"toolkit", "toolkit.held"} < set(bash_words(environment, "hostagent check --skip toolk"))
    assert "gpu" not in bash_words(environment, "hostagent check --skip gpu,gpu.on_bus,g")
    assert fish_words(environment, "hostagent check --only=gpu.on_b") == ["--only=gpu.on_bus"]


def test_the_checks_of_the_named_profile_are_offered(environment, tmp_path):
    (tmp_path / "none.yaml").write_text("catalogues: []\n")
    assert bash_words(environment, f"hostagent check --profile {tmp_path}/none.yaml --only gpu.on_b") == []
    (tmp_path / "none.yaml").write_text("catalogues: [\n")
    assert bash_words(environment, f"hostagent check --profile {tmp_path}/none.yaml --only gpu.on_b") == ["gpu.on_bus"]
