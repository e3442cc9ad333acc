"""``--env-file`` as its users call it: what it changes, what it leaves alone, what it says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostagent.outputs import FORMATS

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
JOB = "HOME=/home/tZqalice\nUSER=tZqalice\nNCCL_DEBUG=INFO\nNCCL_X_TOKEN=tZqtoken\nWANDB_API_KEY=tZqkey\nNCCL_IB_HCA==mlx5_0\n"


def run(*arguments, **options):
    return subprocess.run([HOSTAGENT, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60, **options)


@pytest.fixture
def image(tmp_path):
    """A tree that holds a conf file in a home, too."""
    root = tmp_path / "image"
    for path, text in {
        "etc/os-release": "ID=ubuntu\nVERSION_ID=24.04\n",
        "etc/nccl.conf": "# tZqcomment\nNCCL_NET=IB\nMY_SECRET=tZqsecret\nNCCL_Y_KEY=tZqconf\n",
        "home/tZqalice/.nccl.conf": "NCCL_NET=Socket\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def job(tmp_path):
    (tmp_path / "job.env").write_text(JOB)
    return tmp_path / "job.env"


def settings(path, *arguments):
    """What the snapshot of a pass says: a report of NCCL's settings is not this test's."""
    done = run("snapshot", "save", path, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(Path(path).read_text())["answers"], done.stderr


@pytest.mark.parametrize("redact", [(), ("--no-redact",)])
def test_a_snapshot_holds_the_settings_of_a_job_and_nothing_else_of_it(image, job, tmp_path, redact):
    path = tmp_path / "host.json"
    answers, told = settings(path, "--root", image, "--env-file", job, *redact)
    assert answers["environment"]["json"]["variables"] == {"NCCL_DEBUG": "INFO", "NCCL_IB_HCA": "=mlx5_0", "NCCL_X_TOKEN": None}
    assert answers["read /etc/nccl.conf"]["text"] == "\nNCCL_NET=IB\n\nNCCL_Y_KEY=\n"
    assert [one["text"] for asked, one in answers.items() if asked.endswith("/.nccl.conf")] == ["NCCL_NET=Socket\n"]
    assert "  settings of NCCL" in told
    assert "tZq" not in path.read_text().replace(str(tmp_path), "")
    assert oct(path.stat().st_mode & 0o777) == "0o600"


def test_a_report_of_it_live_and_recorded_holds_nothing_else_either(image, job, tmp_path):
    run("snapshot", "save", tmp_path / "host.json", "--root", image, "--env-file", job)
    for number, place in enumerate([("--root", image, "--env-file", job), ("--from", tmp_path / "host.json")]):
        files = {form: tmp_path / f"{number}.{form}" for form in FORMATS if form != "text"}
        also = [word for form, path in files.items() for word in ("--also", f"{form}={path}")]
        done = run("check", *place, "-v", *also)
        assert done.returncode in (0, 1)
        for text in (done.stdout, done.stderr, *(path.read_text() for path in files.values())):
            assert "tZq" not in text.replace(str(tmp_path), "")


def test_standard_input_and_a_process_are_read_too(image, tmp_path):
    given = json.dumps(
        settings(tmp_path / "a.json", "--root", image, "--env-file", _file(tmp_path, JOB))[0]["environment"]["json"]["variables"]
    )
    done = run("snapshot", "save", "-", "--root", image, "--env-file", "-", input=JOB)
    assert json.dumps(json.loads(done.stdout)["answers"]["environment"]["json"]["variables"]) == given
    environment = {**dict(line.split("=", 1) for line in JOB.splitlines()), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = run("snapshot", "save", "-", "--root", image, "--env-file", "/proc/self/environ", env=environment)
    assert json.dumps(json.loads(done.stdout)["answers"]["environment"]["json"]["variables"]) == given


def _file(place, text):
    (place / "other.env").write_text(text)
    return place / "other.env"


def test_our_own_environment_is_not_read(image, tmp_path):
    """Whatever is set there, report and snapshot stay what they are. All recorded hosts are judged so: tests/test_hosts.py."""
    own = {**os.environ, "NCCL_DEBUG": "INFO", "NCCL_IB_DISABLE": "1", "NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo", "HOME": "/home/tZqalice",
           "NCCL_CONF_FILE": "/home/tZqalice/.nccl.conf", "FI_PROVIDER": "tcp", "OFI_NCCL_PROTOCOL": "SENDRECV"}  # fmt: skip
    alone, beside = (json.loads(run("check", "--root", image, "--json", env=one).stdout) for one in (dict(os.environ), own))
    for report in (alone, beside):
        for name in ("observed_at", "observed_at_iso", "valid_until", "valid_until_iso", "timings_ms"):
            del report[name]
    assert alone == beside
    done = run("snapshot", "save", "-", "--root", image, env=own)
    answers = json.loads(done.stdout)["answers"]
    assert answers["environment"] == {"json": {}}
    assert not [asked for asked in answers if ".nccl.conf" in asked and "/etc/" not in asked]


#: With a state directory of its own: other tests of this machine write theirs.
_APART = 'mkdir -p /run/hostagent && mount -t tmpfs none /run/hostagent && "$@" >/dev/null; echo $?; ls /run/hostagent'


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes the state file")
def test_a_run_that_judges_a_job_writes_no_state(job):
    for options, writes in (((), True), (("--env-file", str(job)), False)):
        argv = ["unshare", "--mount", "sh", "-c", _APART, "sh", HOSTAGENT, "check", *options, "-q"]
        code, *written = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
        assert code in {"0", "1"}
        assert ("state.json" in written) == writes
    done = run("check", "--env-file", job, "--save-state", "--profile", "default")
    assert done.returncode == 2
    assert "found --save-state" in done.stderr


def test_a_recorded_host_is_judged_for_another_job(image, job, tmp_path):
    run("snapshot", "save", tmp_path / "host.json", "--root", image)
    done = run("snapshot", "save", "-", "--from", tmp_path / "host.json", "--env-file", _file(tmp_path, "NCCL_DEBUG=WARN\n"))
    answers = json.loads(done.stdout)["answers"]
    assert answers["environment"]["json"] == {"variables": {"NCCL_DEBUG": "WARN"}, "home": None, "people": []}
    assert answers["read /etc/nccl.conf"]["text"] == "\nNCCL_NET=IB\n\nNCCL_Y_KEY=\n"


@pytest.mark.parametrize("command", [("check",), ("snapshot", "save", "-")])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--env-file", ""), "found --env-file ''"),
        (("--env-file", "-", "--from", "-"), "found --from - and --env-file -"),
        (("--env-file", "/nonexistent"), "cannot read /nonexistent: no such file"),
        (("--env-file", "/tmp"), "found something that is not a file"),
        (("--env-file", "/dev/zero"), "found something that is not a file"),
        (("--env-file", "/bin/sh"), "/bin/sh is no environment of a job: found a program"),
        (("--env-file", "/etc/hostname"), "/etc/hostname is no environment of a job: found no NAME=VALUE"),
    ],
)
def test_what_is_no_environment_is_said_in_a_sentence(command, given, told):
    done = run(*command, *given, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_pipe_that_nobody_writes_hangs_nothing(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert run("check", "--env-file", tmp_path / "pipe").returncode == 2


def test_a_file_of_it_is_completed(tmp_path):
    options = {"_HOSTAGENT_COMPLETE": "bash_complete", "COMP_WORDS": "hostagent check --env-file ", "COMP_CWORD": "3"}
    assert run(env={**os.environ, **options}).stdout.strip() == "file,"


def test_a_snapshot_without_the_job_says_how_to_save_one_with_it(image, tmp_path):
    (tmp_path / "job.env").write_text("LD_LIBRARY_PATH=/opt/elsewhere/lib\nNCCL_NET=IB\n")
    run("snapshot", "save", tmp_path / "host.json", "--root", image)
    done = run("check", "--from", tmp_path / "host.json", "--env-file", tmp_path / "job.env", "--only", "nccl")
    assert "give 'snapshot save' the same --env-file" in " ".join(done.stdout.split())
