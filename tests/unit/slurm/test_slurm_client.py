"""scontrol as a child process: its time, its environment, and what it leaves. The programs here stand in for it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from hostagent.slurm import client
from hostagent.slurm.client import Client, SlurmError
from tests.children import children, running, until

NODE = "NodeName=n1 State=IDLE Partitions=gpu"


@pytest.fixture
def scontrol(tmp_path, monkeypatch):
    """Installs a shell script in the place of scontrol; returns its directory."""
    monkeypatch.delenv("SLURM_CONF", raising=False)

    def install(script):
        path = tmp_path / "scontrol"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(tmp_path)

    return install


def test_one_node_and_all_nodes(scontrol):
    found = Client(scontrol(f'[ "$4" = n1 ] || [ $# = 3 ] && echo "{NODE}"'))
    assert found.show("n1").name == "n1"
    assert [one.name for one in found.show_all()] == ["n1"]


def test_another_node_in_the_answer_is_not_taken_for_ours(scontrol):
    with pytest.raises(SlurmError, match="shows no node n2"):
        Client(scontrol(f'echo "{NODE}"')).show("n2")


def test_all_values_go_in_one_update_each_an_argument(scontrol, tmp_path):
    Client(scontrol(f'for one in "$@"; do echo "$one"; done > {tmp_path}/argv')).update("n1", {"State": "DRAIN", "Reason": "a b; $(c) [d]"})
    assert (tmp_path / "argv").read_text(encoding="utf-8").split("\n")[:4] == [
        "update",
        "NodeName=n1",
        "State=DRAIN",
        "Reason=a b; $(c) [d]",
    ]


def test_a_refusal_says_what_slurm_said(scontrol):
    with pytest.raises(SlurmError, match="Invalid node state specified"):
        Client(scontrol("echo 'slurm_update error: Invalid node state specified' >&2; exit 1")).update("n1", {"State": "RESUME"})


@pytest.mark.parametrize(("option", "wanted"), [("", "variable.conf"), ("option.conf", "option.conf")])
def test_slurm_conf_is_the_options_else_the_variables(scontrol, tmp_path, monkeypatch, option, wanted):
    for name in ("variable.conf", "option.conf"):
        (tmp_path / name).touch()
    monkeypatch.setenv("SLURM_CONF", f"{tmp_path}/variable.conf")
    Client(scontrol(f'echo "$SLURM_CONF" > {tmp_path}/conf'), option and f"{tmp_path}/{option}").update("n1", {})
    assert (tmp_path / "conf").read_text(encoding="utf-8").strip() == f"{tmp_path}/{wanted}"


def test_a_slurm_conf_that_is_not_there_is_said_at_once(scontrol, tmp_path):
    with pytest.raises(SlurmError, match=r"found no slurm\.conf at /none/slurm\.conf"):
        Client(scontrol(f"touch {tmp_path}/started"), "/none/slurm.conf").show("n1")
    assert not (tmp_path / "started").exists()


def test_nothing_else_of_the_environment_reaches_scontrol(scontrol, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    Client(scontrol(f'echo "${{SLURM_CONF-unset}} ${{SLURM_TIME_FORMAT-unset}} $TZ" > {tmp_path}/environment')).update("n1", {})
    assert (tmp_path / "environment").read_text(encoding="utf-8").split() == ["unset", "unset", "UTC0"]


def test_a_command_that_sleeps_ends_in_time_with_all_that_it_started(scontrol, monkeypatch):
    monkeypatch.setattr(client, "COMMAND_S", 0.3)
    began = time.monotonic()
    with pytest.raises(SlurmError, match=r"scontrol show did not end in 0\.3 s"):
        Client(scontrol("sleep 4242 & sleep 4243")).show("n1")
    assert time.monotonic() - began < 3
    assert until(lambda: not running("sleep", "4242") and not running("sleep", "4243"))


def test_what_a_command_leaves_running_is_ended(scontrol):
    Client(scontrol(f'sleep 4244 > /dev/null 2>&1 & echo "{NODE}"')).show("n1")
    assert until(lambda: not running("sleep", "4244"))


def test_no_command_is_started_after_the_programs_end(scontrol, tmp_path):
    with pytest.raises(SlurmError, match="no time is left"):
        Client(scontrol(f"touch {tmp_path}/ran"), ends=time.monotonic() - 1).show("n1")
    assert not (tmp_path / "ran").exists()


def test_each_command_leaves_neither_a_zombie_nor_a_descriptor(scontrol):
    found = Client(scontrol(f'echo "{NODE}"'))
    before, open_before = children(), os.listdir("/proc/self/fd")
    for _ in range(3):
        found.show("n1")
    assert (children(), len(os.listdir("/proc/self/fd"))) == (before, len(open_before))


def test_more_than_a_pipe_holds_is_read_whole(scontrol):
    found = Client(scontrol(f"for i in $(seq 3000); do echo '{NODE} Comment={'x' * 100}'; done"))
    assert len(found.show_all()) == 3000


def test_a_signal_that_ends_us_ends_the_command(scontrol, tmp_path):
    folder = scontrol("sleep 4245")
    code = f"from hostagent.cli.ending import listen; from hostagent.slurm.client import Client; listen(); Client({folder!r}).show('n1')"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as ours:
        assert until(lambda: running("sleep", "4245"))
        ours.send_signal(signal.SIGTERM)
        ours.wait(5)
    assert until(lambda: not running("sleep", "4245"))


def test_another_program_is_asked_and_its_exit_status_is_for_the_caller(scontrol, tmp_path):
    folder = scontrol("exit 1")
    (tmp_path / "scontrol").rename(tmp_path / "sinfo")
    answer = Client(folder).ask("sinfo", "--json")
    assert (answer.status, answer.out) == (1, "")


def test_a_question_may_have_more_time_than_a_command(scontrol, monkeypatch):
    monkeypatch.setattr(client, "COMMAND_S", 0.1)
    assert Client(scontrol("sleep 0.5; echo all")).ask("scontrol", "show", seconds=5.0).out == "all\n"


def test_no_question_goes_on_after_the_programs_end(scontrol):
    with pytest.raises(SlurmError, match="did not end in"):
        Client(scontrol("sleep 4246"), ends=time.monotonic() + 0.3).ask("scontrol", "show", seconds=30.0)
    assert until(lambda: not running("sleep", "4246"))


def test_a_missing_program_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(SlurmError, match=f"found no scontrol in {tmp_path}"):
        Client(str(tmp_path)).show("n1")


def test_a_program_that_does_not_start_is_said(tmp_path):
    path = tmp_path / "scontrol"
    path.write_bytes(b"\x7fELF nothing")
    path.chmod(0o755)
    with pytest.raises(SlurmError, match="scontrol does not start"):
        Client(str(tmp_path)).show("n1")
