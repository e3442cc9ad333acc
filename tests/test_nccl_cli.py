"""``hostagent nccl explain`` as its users call it: files, directories, pipes, exit codes, what it reads."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nccl_logs import CASES

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))


def explain(*arguments, **options):
    done = subprocess.run([HOSTAGENT, "nccl", "explain", *map(str, arguments)], capture_output=True, check=False, timeout=60, **options)
    assert b"Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def logs(tmp_path):
    for name in ("gdr-27", "tcp-24", "one-host-24", "plugin-FastSocket", "failed-cuda"):
        (tmp_path / f"{name}.log").write_text(CASES[name][1])
    return tmp_path


@pytest.mark.parametrize(
    ("name", "required", "code"),
    [
        ("gdr-27", "", 0), ("one-host-24", "", 0), ("plugin-FastSocket", "", 0), ("tcp-24", "", 1), ("failed-cuda", "", 1),
        ("gdr-27", "rdma_gdr", 0), ("gdr-27", "rdma_no_gdr,rdma_gdr_unknown", 1), ("tcp-24", "tcp_fallback", 0),
    ],
)  # fmt: skip
def test_the_exit_code_says_whether_to_go_on(logs, name, required, code):
    done = explain(logs / f"{name}.log", *(["--require", required] if required else []))
    assert done.returncode == code
    assert CASES[name][0].encode() in done.stdout.splitlines()[0]


def test_a_directory_compressed_files_and_standard_input_are_one_job(logs, tmp_path):
    ranks = tmp_path / "ranks/deeper"
    ranks.mkdir(parents=True)
    lines = CASES["gdr-27"][1].splitlines(keepends=True)
    (ranks / "a.log").write_text("".join(lines[::2]))
    (ranks / "b.log.gz").write_bytes(gzip.compress("".join(lines[1::2]).encode()))
    whole = json.loads(explain(logs / "gdr-27.log", "--json").stdout)
    for done in (explain(tmp_path / "ranks", "--json"), explain("-", "--json", input=CASES["gdr-27"][1].encode())):
        found = json.loads(done.stdout)
        assert done.returncode == 0
        assert {**found, "findings": 0} == {**whole, "findings": 0}
    assert whole["findings"][0]["lines"][0]["file"].endswith("gdr-27.log")


def test_a_pipe_is_read_and_an_answer_is_written_to_a_file(logs):
    script = f'{HOSTAGENT} nccl explain <(cat "{logs}/tcp-24.log") -o "{logs}/answer"'
    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, b"")
    assert (logs / "answer").read_text().startswith("NCCL fell back to TCP")


def test_what_cannot_be_read_is_one_sentence(logs):
    (logs / "empty").mkdir()
    (logs / "away").symlink_to(logs / "nowhere")
    for path in (logs / "empty", logs / "away", "/dev/zero", "x\udcff"):
        done = explain(path)
        assert done.returncode == 2, path
        assert done.stderr.startswith(b"Error: ")
        assert len(done.stderr.splitlines()) == 2


def test_a_pipe_without_a_writer_is_an_empty_log(logs):
    os.mkfifo(logs / "fifo")
    done = explain(logs / "fifo")
    assert done.returncode == 1
    assert done.stdout.startswith(b"The log does not say")


def test_no_host_is_read_and_our_own_settings_change_nothing(logs):
    """Neither programs nor child processes, and nothing of /sys or /proc but what Python itself looks at."""
    watched = (
        "import sys\nseen = []\nsys.addaudithook(lambda event, a: seen.append((event, str(a[0]) if a else '')) if event in ('open', 'os.fork', 'subprocess.Popen') else None)\n"
        "from hostagent.cli.run import run\nrun(sys.argv[1:])\n"
        "print([one for one in seen if one[0] != 'open' or one[1].startswith(('/sys', '/proc', '/etc', '/dev/infiniband'))], file=sys.stderr)\n"
    )
    argv = [sys.executable, "-c", watched, "nccl", "explain", str(logs / "tcp-24.log")]
    environment = {**os.environ, "COLUMNS": "100"}
    usual = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)
    assert usual.stderr.splitlines()[-1] == "[]"
    ours = subprocess.run(
        argv, capture_output=True, text=True, check=True, env={**environment, "NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1"}
    )
    assert ours.stdout == usual.stdout
