"""Tools of the caller: where they are looked for, what they are given, and how they end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback

import pytest

import hostagent.sandbox.privileges  # noqa: F401  imported by a child that may no longer read it
from hostagent.core.unread import Unread
from hostagent.host.caller_tools import ToolRun, running_tools, tool_path
from tests.children import children, running, until

pytestmark = pytest.mark.alone
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="who is root needs root: run the tests as root")


def tool(folder, name, text, mode=0o755):
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return path


def heard(wanted, seconds=5.0, **environment):
    with running_tools({one.tool: one for one in wanted}, environment, seconds) as pending:
        return pending.answers()


def test_a_tool_is_found_on_the_callers_path_and_not_on_ours(tmp_path):
    path = tool(tmp_path / "a b'\n\"", "nvidia-smi", "echo $1")
    there = heard([ToolRun("nvidia-smi", ("x y",)), ToolRun("rpm", ())], PATH=f"/nowhere:{path.parent}")
    assert there["nvidia-smi"].path == str(path)
    assert there["nvidia-smi"].answer == {"exit_code": 0, "stdout": "x y\n", "stderr": ""}
    assert (there["rpm"].path, there["rpm"].answer.why) == ("", "absent")


def test_the_first_that_may_be_executed_counts(tmp_path):
    tool(tmp_path / "a", "nvcc", "echo a", 0o644)
    (tmp_path / "b/nvcc").mkdir(parents=True)
    tool(tmp_path / "c", "nvcc", "echo c")
    tool(tmp_path / "d", "nvcc", "echo d")
    path = ":".join(str(tmp_path / one) for one in "abcd")
    assert tool_path(ToolRun("nvcc", ()), path) == str(tmp_path / "c/nvcc")
    assert tool_path(ToolRun("nvcc", (), (str(tmp_path / "d/nvcc"),)), path) == str(tmp_path / "d/nvcc")
    assert tool_path(ToolRun("nvcc", (), (str(tmp_path / "a/nvcc"),)), path) == str(tmp_path / "c/nvcc")
    assert tool_path(ToolRun("nvcc", (), (str(tmp_path / "a/nvcc"),), only_places=True), path) == ""


def test_without_a_path_bash_looks_where_it_always_does_and_with_an_empty_one_nowhere(tmp_path):
    assert heard([ToolRun("true", ())])["true"].answer["exit_code"] == 0
    assert heard([ToolRun("true", ())], PATH="")["true"].path == ""


def test_a_folder_without_a_name_is_the_one_that_we_are_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tool(tmp_path, "nvcc", "echo here")
    assert tool_path(ToolRun("nvcc", ()), "/nowhere:") == str(tmp_path / "nvcc")
    assert tool_path(ToolRun("nvcc", ("x",), ("bad\0name",)), "/nowhere") == ""


def test_a_tool_gets_the_callers_environment_but_for_what_loads_other_code(tmp_path):
    path = tool(tmp_path, "kubectl", 'echo "$KUBECONFIG|$HTTPS_PROXY|$LD_PRELOAD|$BASH_ENV|$LC_ALL"; exec 0<&0; cat')
    given = {"PATH": f"{path.parent}:/usr/bin:/bin", "KUBECONFIG": "/a b", "HTTPS_PROXY": "p", "LD_PRELOAD": "x", "BASH_ENV": "y"}
    assert heard([ToolRun("kubectl", ())], **given)["kubectl"].answer["stdout"] == "/a b|p|||C\n"


def test_a_tool_that_would_write_into_the_callers_home_is_given_none(tmp_path):
    path = tool(tmp_path, "rpm", 'mkdir -p "$HOME/.rpmdb"; echo "$HOME"')
    home = tmp_path / "home"
    home.mkdir()
    given = {"PATH": f"{path.parent}:/usr/bin:/bin", "HOME": str(home)}
    assert heard([ToolRun("rpm", (), variables=(("HOME", "/dev/null"),))], **given)["rpm"].answer["stdout"] == "/dev/null\n"
    assert list(home.iterdir()) == []


def test_tools_that_hang_cost_their_time_once_and_leave_nothing(tmp_path):
    for name in ("a", "b", "c", "d"):
        tool(tmp_path, name, "setsid sleep 998 & sleep 999 & exec sleep 997")
    tool(tmp_path, "e", "echo e")
    started = time.monotonic()
    there = heard([ToolRun(name, ()) for name in "abcde"], 2.5, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert time.monotonic() - started < 8, "one after the other they take ten seconds"
    assert [there[name].answer.why for name in "abcd"] == ["timeout"] * 4
    assert re.fullmatch(f"{tmp_path}/a: (no end in 2.5 s|neither an end nor an answer in .* s)", there["a"].answer.detail)
    assert there["e"].answer["stdout"] == "e\n"
    assert until(lambda: not [pid for seconds in ("997", "998", "999") for pid in running("sleep", seconds)])
    assert not children()


def test_who_does_not_wait_for_them_ends_them(tmp_path):
    tool(tmp_path, "a", "exec sleep 996")
    with running_tools({"a": ToolRun("a", ())}, {"PATH": f"{tmp_path}:/usr/bin:/bin"}):
        assert until(lambda: running("sleep", "996"))
    assert until(lambda: not running("sleep", "996"))


def test_they_end_with_us(tmp_path):
    tool(tmp_path, "a", "exec sleep 995")
    code = (
        "import sys, time; from hostagent.host.caller_tools import ToolRun, running_tools\n"
        "with running_tools({'a': ToolRun('a', ())}, {'PATH': sys.argv[1]}) as pending: pending.answers()"
    )
    ours = subprocess.Popen([sys.executable, "-c", code, f"{tmp_path}:/usr/bin:/bin"])
    assert until(lambda: running("sleep", "995"))
    ours.send_signal(signal.SIGKILL)
    ours.wait()
    assert until(lambda: not running("sleep", "995"))


def test_endless_output_is_no_answer(tmp_path):
    tool(tmp_path, "a", "exec yes")
    answer = heard([ToolRun("a", ())], PATH=f"{tmp_path}:/usr/bin:/bin")["a"].answer
    assert isinstance(answer, Unread)
    assert (answer.why, answer.detail) == ("error", f"{tmp_path}/a: more than 4194304 bytes of output")


def test_a_file_that_is_no_program_is_no_answer(tmp_path):
    path = tool(tmp_path, "a", "")
    path.write_bytes(b"\x7fELF rubbish")
    assert heard([ToolRun("a", ())], PATH=str(tmp_path))["a"].answer.why == "error"


@ROOT
@pytest.mark.parametrize("whose", ["file", "folder", "folder above", "everybody's"])
def test_root_runs_nothing_that_somebody_else_may_write(tmp_path, whose):
    path = tool(tmp_path / "above/bin", "a", "echo a")
    of = {"file": path, "folder": path.parent, "folder above": path.parent.parent, "everybody's": path}[whose]
    if whose == "everybody's":
        of.chmod(0o777)
    else:
        os.chown(of, 1234, 1234)
    there = heard([ToolRun("a", ())], PATH=str(path.parent))["a"]
    assert (there.path, there.answer.why) == (str(path), "denied")
    assert there.answer.detail.startswith(f"not run as root: found {of}")


SUDO = 'printf "%s " "$@" > {log}; shift; WHO=root exec "$@"'


@ROOT
@pytest.mark.parametrize(
    ("docker", "sudo", "expected"),
    [
        ('[ "$WHO" = root ] && echo {}', SUDO, "{}\n"),
        ('[ "$WHO" = root ] && echo {}', "exit 1", ""),
        ("echo plain", SUDO, "plain\n"),
        ("exit 1", SUDO, ""),
    ],
)
def test_for_an_ordinary_user_sudo_is_asked_without_a_question(tmp_path, docker, sudo, expected):
    """The tool is root's, so that sudo may run it."""
    tool(tmp_path / "bin", "docker", docker)
    tool(tmp_path / "bin", "sudo", sudo.format(log=tmp_path / "log"))
    (tmp_path / "log").touch(0o666)
    (tmp_path / "log").chmod(0o666)
    open_to_all(tmp_path / "bin")
    answer = as_somebody(ToolRun("docker", ("info",), as_root_too=True), f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert answer["stdout"] == expected, answer
    said = (tmp_path / "log").read_text()
    assert said == ("" if docker == "echo plain" or sudo != SUDO else f"-n {tmp_path}/bin/docker info ")


@ROOT
def test_nor_may_sudo_run_what_somebody_else_may_write(tmp_path):
    path = tool(tmp_path / "bin", "docker", "exit 1")
    tool(tmp_path / "bin", "sudo", f"touch {tmp_path}/log")
    tmp_path.chmod(0o777)
    os.chown(path, 65533, 65533)
    open_to_all(tmp_path)
    as_somebody(ToolRun("docker", ("info",), as_root_too=True), f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert not (tmp_path / "log").exists()


def open_to_all(folder):
    for place in folder.parents:
        if str(place) not in ("/", "/tmp"):
            place.chmod(0o755)


def as_somebody(wanted, path):
    """What an ordinary user hears, in a process of its own."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(65533, 65533, 65533)
            os.setresuid(65533, 65533, 65533)
            with running_tools({"a": wanted}, {"PATH": path}, 30) as pending:
                os.write(theirs, json.dumps(pending.answers()["a"].answer).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(theirs)
    os.waitpid(pid, 0)
    with open(ours, "rb") as stream:
        return json.loads(stream.read())
