"""Mistakes on the command line of ``hostagent daemon`` and ``hostagent npd``: said at the start, before anything is read or served."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HOST = "tests/hosts/no-gpu-vm/tape.json"


def said(*arguments, **environment):
    argv = [sys.executable, "-m", "hostagent", *arguments]
    options = {"cwd": ROOT, "env": {**os.environ, **environment}, "timeout": 60}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **options)
    assert "Traceback" not in done.stderr
    return done.returncode, " ".join(done.stderr.split()).partition("Error: ")[2]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--interval", "nan"), "'nan' is no number of seconds"),
        (("--heartbeat", "often"), "'often' is not a valid number of seconds"),
        (("--deadline", "inf"), "inf is not in the range 1<=x<=300"),
        (("--node-name", "no name"), "found --node-name 'no name', wanted the name of a node"),
        (("--node-name", "../secrets"), "found --node-name '../secrets', wanted the name of a node"),
        (("--prefix", "k8s.io"), "found --prefix 'k8s.io', wanted a domain of your own"),
        (("--nfd-file", "/features.d/.hidden"), "found --nfd-file '/features.d/.hidden', wanted a name without a dot at its start"),
        (("--textfile", "/textfiles/host.txt"), "found --textfile '/textfiles/host.txt', wanted a name that ends with .prom"),
        (("--host-root", "/nonexistent"), "found no directory /nonexistent"),
        (("--host-root", "/etc/passwd"), "found no directory /etc/passwd"),
        (("--from", HOST, "--state-dir", ""), "found no --state-dir, wanted one"),
        (("--tls-cert", "c"), "found one of --tls-cert and --tls-key, wanted both or none"),
        (
            ("--from", HOST, "--state-dir", "s", "--tls-cert", "/no/c", "--tls-key", "/no/k"),
            "/no/c and /no/k cannot be used: no such file or directory",
        ),
        (
            ("--from", HOST, "--state-dir", "s", "--tls-cert", HOST, "--tls-key", HOST),
            "tape.json cannot be used: found no certificate and its key in them",
        ),
    ],
)
def test_a_mistake_is_said_at_the_start(options, error):
    code, words = said("daemon", "--kubernetes", "off", *options)
    assert code == 2
    assert error in words


def test_the_name_from_the_environment_is_looked_at_too():
    assert said("daemon", NODE_NAME="$(NODE)") == (
        2,
        "found NODE_NAME '$(NODE)', wanted the name of a node: letters, digits, '-', '.' and '_'",
    )


def test_words_to_choose_from_are_listed_on_one_line():
    wanted = "Missing argument 'CONDITION'. Choose from: ready, multi-node-ready, driver, toolkit, topology, fabric"
    assert said("npd") == (2, wanted)
