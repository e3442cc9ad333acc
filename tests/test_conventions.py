"""What users of other tools expect of the command line: -o and formats, exit codes of Nagios, a variable for the profile, --debug."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hostagent.cli import cli, status
from hostagent.cli.debug import source_of
from hostagent.cli.options import PROFILE
from hostagent.core.deadline import within
from hostagent.core.unread import Unread
from hostagent.engine.collector_process import CollectorProcess, Place
from hostagent.engine.report import state
from tests import stub_nvml
from tests.real.conftest import need_real

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
HOSTS = Path(__file__).parent / "hosts"
READY = str(HOSTS / "hgx-h100-ubuntu2404")
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def run(*arguments, **options):
    completed = subprocess.run([HOSTAGENT, *arguments], capture_output=True, text=True, check=False, timeout=60, **options)
    assert "Traceback" not in completed.stderr, completed.stderr
    return completed


def commands(command=cli, names=()):
    yield " ".join(names), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*names, name))


def options(name):
    """Each command that has the option, with the option."""
    return {of: param for of, command in commands() for param in command.params if name in param.opts}


OUTPUTS, COMMANDS = options("-o"), dict(commands())


# A format's name behind -o.


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_formats_name_behind_o_is_refused_and_the_right_form_named(name):
    context, option = click.Context(COMMANDS[name]), OUTPUTS[name]
    formats = [form for param in COMMANDS[name].params if "--format" in param.opts for form in param.type.choices]
    for form in {*formats, "json", "yaml"}:
        with pytest.raises(click.UsageError) as refused:
            option.process_value(context, form)
        assert refused.value.message.startswith(f"found -o {form}, which is a format's name; -o names a file: use ")
        assert (f" --format {form} without -o, or " in refused.value.message) is (form in formats)
        assert option.process_value(context, f"./{form}") == f"./{form}"
        for other in (f"={form}", form.upper()):
            with pytest.raises(click.UsageError, match=f" -o ./{other.lstrip('=')} for a file of that name"):
                option.process_value(context, other)
    assert option.process_value(context, "report.json") == "report.json"


def test_a_format_behind_o_writes_no_file(tmp_path):
    answer = run("check", "--from", READY, "-o", "json", cwd=tmp_path)
    assert (answer.returncode, answer.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert answer.stderr.endswith("use --format json without -o, or -o ./json for a file of that name\n")
    assert "did you mean --format?" in run("status", "-o", "json").stderr


# Exit codes that Nagios reads.


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["--from", READY], 0, "READY: "),
        (["--from", str(HOSTS / "debian12-runfile")], 1, "DEGRADED: "),
        (["--from", str(HOSTS / "no-gpu-vm")], 2, "NOT READY: "),
        (["--from", READY, "--only", "nvswitch.imex_running"], 3, "UNKNOWN "),
        (["--from", str(HOSTS / "hgx-h100-ib-without-sm"), "--scope", "multi"], 2, "NOT READY (single-node: READY): "),
        (["--from", str(HOSTS / "hgx-h100-ib-without-sm")], 0, "READY (multi-node: NOT READY): "),
    ],
)
def test_nagios_reads_the_verdict_of_the_scope_and_one_line(arguments, code, word):
    answer = run("check", "--exit-codes", "nagios", *arguments)
    assert (answer.returncode, answer.stderr, answer.stdout.count("\n")) == (code, "", 1)
    assert answer.stdout.startswith(word)


def test_a_format_that_is_asked_for_stays_that_format():
    answer = run("check", "--from", str(HOSTS / "no-gpu-vm"), "--json", "--exit-codes", "nagios")
    assert (answer.returncode, json.loads(answer.stdout)["verdict"]["single_node"]) == (2, "not_ready")


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--nonsense", "--exit-codes", "nagios"],
        ["check", "--exit-codes=nagios", "--format", "yaml"],
        ["check", "--exit-codes", "nagios", "--from", "/etc/hostname"],
        ["check", "--exit-codes", "nagios", "--from", READY, "--profile", "nonsense"],
        ["check", "--exit-codes", "nagios", "--from", READY, "--fail-on", "degraded"],
        ["status", "--nonsense", "--exit-codes", "Nagios"],
        ["status", "--exit-codes", "nagios", "--format", "line", "--json"],
    ],
    ids=" ".join,
)
def test_what_could_not_be_judged_is_unknown_to_nagios_on_standard_output_too(arguments):
    answer = run(*arguments)
    assert answer.returncode == 3
    assert re.fullmatch(r"UNKNOWN: .+\n", answer.stdout)
    assert answer.stderr


def test_the_one_line_of_a_mistake_in_a_profile_says_which(tmp_path):
    (tmp_path / "mine.yaml").write_text("gpu: {count: 8}\nnonsense: 1\n")
    said = run("check", "--exit-codes", "NAGIOS", "--from", READY, "--profile", str(tmp_path / "mine.yaml"))
    assert (said.returncode, said.stdout.count("\n")) == (3, 1)
    assert "gpu" in said.stdout.partition("mine.yaml")[2]


def test_without_nagios_a_mistake_is_exit_2_and_the_last_word_counts():
    assert run("check", "--exit-codes", "nagios", "--exit-codes", "hostagent", "--nonsense").returncode == 2
    assert run("check", "--exit-codes", "nagios", "--help").returncode == 0


def said(folder, *arguments, verdict=("ready", "ready"), age_s=0, **other):
    """``hostagent status`` of a state file with that verdict."""
    now = time.time() - age_s
    document = {
        "schema_version": state.SCHEMA_VERSION,
        "observed_at": now,
        "valid_until": now + 900,
        "boot_id": BOOT,
        "profile": {"name": "default", "hash": "x"},
        "profile_files": [],
        "verdict": dict(zip(("single_node", "multi_node"), verdict, strict=True)),
        "reasons": [],
        "headline": "GPU 4 is gone",
        "action": "none",
        "todo": ["Look at 'dmesg | tail'."],
        **other,
    }
    (folder / "state.json").write_text(json.dumps(document))
    done = CliRunner().invoke(status.command, ["--state-file", str(folder / "state.json"), *arguments], standalone_mode=False)
    assert done.exception is None
    return done.return_value, done.output


NAGIOS = ("--exit-codes", "nagios")


def test_status_for_nagios_is_the_verdict_of_the_scope_on_one_line(tmp_path):
    assert said(tmp_path, *NAGIOS, verdict=("not_ready", "not_ready")) == (2, "NOT READY: GPU 4 is gone. Look at 'dmesg / tail'.\n")
    line = "READY (multi-node: DEGRADED): GPU 4 is gone. Look at 'dmesg / tail'.\n"
    assert said(tmp_path, *NAGIOS, verdict=("ready", "degraded")) == (0, line)
    multi = "DEGRADED (single-node: READY): GPU 4 is gone. Look at 'dmesg / tail'.\n"
    assert said(tmp_path, *NAGIOS, "--scope", "multi", verdict=("ready", "degraded")) == (1, multi)
    assert said(tmp_path, *NAGIOS, headline="", todo=[]) == (0, "READY: Every check that counts passes.\n")
    old = said(tmp_path, *NAGIOS, headline="", todo=[], verdict=("not_ready", "not_ready"))
    assert old == (2, "NOT READY: 'hostagent check' says why.\n")
    assert said(tmp_path, *NAGIOS, verdict=("unknown", "unknown"))[0] == 3
    assert json.loads(said(tmp_path, *NAGIOS, "--json")[1])["placeable"] is True
    assert said(tmp_path, "--format", "line") == (0, "READY: GPU 4 is gone. Look at 'dmesg | tail'.\n")


def test_a_verdict_that_is_old_missing_or_of_another_boot_is_unknown_to_nagios(tmp_path):
    old = said(tmp_path, *NAGIOS, age_s=1000)
    assert (old[0], old[1].partition(" expired ")[0]) == (3, "UNKNOWN: the verdict")
    other = said(tmp_path, *NAGIOS, boot_id="another")
    assert other == (3, "UNKNOWN: the verdict is from another boot: run 'hostagent check' again\n")
    done = CliRunner().invoke(status.command, [*NAGIOS, "--state-file", str(tmp_path / "none")], standalone_mode=False)
    assert (done.return_value, done.output.partition(" in ")[0]) == (3, "UNKNOWN: no verdict")


# A variable for --profile.


def test_each_command_with_a_profile_takes_it_from_the_variable():
    found = options("--profile")
    assert {"check", "daemon", "install", "plan", "topology", "setup", "nccl env", "nccl explain", "checks list"} <= set(found)
    assert {name for name, option in found.items() if option.envvar != PROFILE} == set()


def profile_of(*arguments, **variables):
    answer = run("check", "--from", READY, "--json", *arguments, env={**os.environ, **variables})
    return json.loads(answer.stdout)["profile"]["name"]


def test_the_variable_names_the_profile_where_the_command_line_names_none(tmp_path):
    assert profile_of(**{PROFILE: "any"}) == "any"
    assert profile_of("--profile", "slurm", **{PROFILE: "any"}) == "slurm"
    assert profile_of(**{PROFILE: ""}) == "default"  # as one that is not set
    (tmp_path / "mine.yaml").write_text("gpus: {count: 8}\n")
    assert profile_of(**{PROFILE: str(tmp_path / "mine.yaml")}).endswith("mine.yaml")
    shown = run("profile", "show", "--json", env={**os.environ, PROFILE: "tao-7.1"})
    assert json.loads(shown.stdout)["profile"]["name"] == "tao-7.1"


def test_a_mistake_in_the_variable_names_the_variable():
    answer = run("check", "--from", READY, env={**os.environ, PROFILE: "tao-7.2"})
    assert answer.returncode == 2
    assert "  The variable HOSTAGENT_PROFILE names this profile.\n" in answer.stderr
    assert PROFILE not in run("check", "--from", READY, "--profile", "tao-7.2", env={**os.environ, PROFILE: "any"}).stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--from", "-"],
        ["topology", "--pod", "-"],
        ["nccl", "env", "--from", "-"],
        ["nccl", "explain", "-", "--this-host"],
    ],
    ids=" ".join,
)
def test_standard_input_by_the_variable_is_named_by_it(arguments):
    refused = run(*arguments, env={**os.environ, PROFILE: "-"}, stdin=subprocess.DEVNULL)
    assert refused.returncode == 2
    assert re.search(r"found .+ -.* and HOSTAGENT_PROFILE=-|found HOSTAGENT_PROFILE=- and .+ -", refused.stderr)
    assert "--profile" not in refused.stderr.splitlines()[-1]


def test_the_variable_is_no_mistake_where_no_host_is_judged(tmp_path):
    (tmp_path / "report.json").write_text(run("check", "--from", READY, "--json").stdout)
    environment = {**os.environ, PROFILE: "-"}
    answer = run("nccl", "env", "--reports", str(tmp_path), env=environment)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "wanted reports or one host" in run("nccl", "env", "--reports", str(tmp_path), "--profile", "any").stderr
    assert "standard input" not in run("nccl", "explain", "-", env=environment, stdin=subprocess.DEVNULL).stderr.partition("Error: ")[2]


@pytest.mark.skipif(os.geteuid() != 0, reason="a state file is root's: run the tests as root")
def test_a_run_by_the_variable_leaves_the_hosts_own_verdict():
    """As one by --profile: in a mount namespace of its own."""
    need_real("unshare", "apt-get install util-linux")
    checks = "; ".join(f"{HOSTAGENT} check {one} >/dev/null; ls -A /run/hostagent | grep json; echo then" for one in ("", "--save-state"))
    script = f"mkdir -p /run/hostagent; mount -t tmpfs none /run/hostagent; {checks}"
    environment = {**os.environ, PROFILE: "any"}
    shown = subprocess.run(
        ["unshare", "-m", "/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=60, env=environment
    )
    assert (shown.stdout, shown.stderr) == ("then\nstate.json\nthen\n", "")


# --debug.

LINE = re.compile(r"debug: (\S+) +(\d+\.\d) ms  (\S+) +(.+)")


def lines(text):
    found = [LINE.fullmatch(line) for line in text.splitlines()]
    assert found
    assert all(found), text
    return [one.groups() for one in found]


def test_debug_lists_each_question_once_without_its_answer_and_changes_no_report(tmp_path):
    (tmp_path / "job").write_text("NCCL_DEBUG=INFO\nNCCL_SOCKET_IFNAME=verysecret\n")
    arguments = ("check", "--from", READY, "--env-file", str(tmp_path / "job"), "-q")
    plain, answer = run(*arguments), run(*arguments, "--debug")
    assert (answer.returncode, answer.stdout, plain.stderr) == (plain.returncode, plain.stdout, "")
    told = lines(answer.stderr)
    assert {source for _, _, source, _ in told} == {"recorded"}
    assert len({asked for *_, asked in told}) == len(told) > 500
    assert {how for how, *_ in told} <= {
        "ok",
        "absent",
        "not-supported",
        "denied",
        "error",
        "not-recorded",
        "older-recording",
        "not-running",
        "timeout",
    }
    recorded = json.loads((HOSTS / "hgx-h100-ubuntu2404/tape.json").read_text())
    assert recorded["answers"]["host"]["json"]["hostname"] not in answer.stderr
    assert "verysecret" not in answer.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="device nodes and chroot need root: run the tests as root")
def test_debug_of_a_live_host_names_what_was_asked_and_how_long_nvml_took(tmp_path):
    need_real("gcc", "apt-get install gcc libc6-dev")
    for place in ("proc/sys/kernel", "sys/devices"):
        (tmp_path / place).mkdir(parents=True)
    stub_nvml.install(tmp_path, 2, "Init * sleep 0.3\n")
    answer = run("check", "--host-root", str(tmp_path), "--debug", "-q")
    told = lines(answer.stderr)
    assert {"file", "nvml", "netlink", "process", "kernel"} <= {source for _, _, source, _ in told}
    ((_, took_ms, _, _),) = [one for one in told if one[3] == "nvml init"]
    assert 300 <= float(took_ms) < 2000, "its own time, and not how long it was waited for"


def test_debug_of_an_image_comes_from_the_process_that_has_the_fewest_rights(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\n")
    told = lines(run("check", "--root", str(tmp_path), "--debug", "-q").stderr)
    assert ("ok", "file", "os_release") in [(how, source, asked) for how, _, source, asked in told]


class Hanging:
    """A host whose os-release does not answer."""

    kind = "live"

    def ask(self, *asked):
        time.sleep(60 if asked[0] == "os_release" else 0)
        return Unread("absent", "none")


@pytest.mark.alone
def test_debug_names_the_question_that_hangs():
    told = []
    reading = CollectorProcess(lambda _: Hanging(), Place("/", "live"), ("Os",), within(20))
    reading.on_answer = lambda *one: told.append(one)
    reading.start()
    try:
        reading.collect()
    finally:
        reading.close()
    ((asked, how, took_s),) = [one for one in told if one[1] != "absent"]
    assert (asked, how) == (("os_release",), "timeout")
    assert 1 < took_s < 10


def test_a_question_of_any_length_is_one_visible_line(capsys):
    from hostagent.cli.debug import shown

    shown(is_recorded=False)(("read", "/x\n\x1b[2J" + "y" * 500), "ok", 0.00125)
    printed = capsys.readouterr().err
    assert (printed.count("\n"), len(printed) < 400, "\x1b" in printed) == (1, True, False)
    assert source_of(("rdma", "devices")) == "sysfs"
