"""What ships for other programs that watch a node: node-problem-detector, NRPE, Icinga, Slurm. Each command in it runs as it is written.

NRPE itself runs its commands in tests/real/test_nrpe.py, Slurm in tests/real/test_slurm_page.py. The others do not run here:
node-problem-detector cannot be had, and of Icinga the syntax is that of its manual.
"""

import json
import re
import shlex
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.cli import npd as npd_module
from hostagent.engine.report.state import SCHEMA_VERSION
from hostagent.profiles import profile

SHIPPED = Path(__file__).parent.parent / "daemonset"
NPD = json.loads((SHIPPED / "npd/hostagent.json").read_text())
PROGRAM = "/usr/bin/hostagent"
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def state_of(folder, status, *, single="ready"):
    now = time.time()
    row = {"status": status, "reason": "R", "message": "M" * 100}
    document = {
        "schema_version": SCHEMA_VERSION,
        "observed_at": now,
        "valid_until": now + 900,
        "boot_id": BOOT,
        "profile": {"name": "default", "hash": "x"},
        "verdict": {"single_node": single, "multi_node": single},
        "reasons": [],
        "headline": "GPU 4 is gone",
        "action": "none",
        "todo": [],
        "conditions": [{"type": kind, **row} for kind in npd_module._TYPES.values()],
    }
    (folder / "state.json").write_text(json.dumps(document))


def run(*arguments):
    done = CliRunner().invoke(cli, [str(one) for one in arguments], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, done.output


class TestNodeProblemDetector:
    """By pkg/custompluginmonitor/types of node-problem-detector: what it reads, and what it refuses."""

    def test_it_has_the_fields_that_are_read_and_no_other(self):
        assert set(NPD) == {"plugin", "pluginConfig", "source", "metricsReporting", "conditions", "rules"}
        assert NPD["plugin"] == "custom"
        assert set(NPD["pluginConfig"]) <= {
            "invoke_interval",
            "timeout",
            "max_output_length",
            "concurrency",
            "enable_message_change_based_condition_update",
            "skip_initial_status",
        }
        assert all(set(one) == {"type", "reason", "message"} for one in NPD["conditions"])
        assert all(set(one) == {"type", "condition", "reason", "path", "args", "timeout"} for one in NPD["rules"])

    def test_what_it_refuses_is_not_in_it(self):
        assert all(one["type"] in ("permanent", "temporary") for one in NPD["rules"])
        known = [one["type"] for one in NPD["conditions"]]
        assert sorted(one["condition"] for one in NPD["rules"]) == sorted(known) == sorted(set(known))
        limits = [one["timeout"] for one in (*NPD["rules"], NPD["pluginConfig"])]
        assert all(re.fullmatch(r"\d+s", limit) for limit in (*limits, NPD["pluginConfig"]["invoke_interval"]))
        assert max(int(one[:-1]) for one in limits) == int(NPD["pluginConfig"]["timeout"][:-1])

    def test_its_words_are_true_while_the_status_is_unknown(self):
        """Which keeps the words of a condition that is not there."""
        for one in NPD["conditions"]:
            assert re.fullmatch("hostagent reports no problem .+ now; while the status is Unknown it cannot tell: see .+", one["message"])

    def test_each_condition_of_the_daemon_has_a_rule(self):
        assert [one["args"] for one in NPD["rules"]] == [["npd", name] for name in npd_module._TYPES]
        assert {one["path"] for one in NPD["rules"]} == {PROGRAM}

    @pytest.mark.parametrize(("status", "code"), [("True", 0), ("False", 1), ("Unknown", 2)])
    def test_each_rule_ends_as_a_custom_plugin_does(self, tmp_path, status, code):
        state_of(tmp_path, status)
        for rule in NPD["rules"]:
            found, said = run(*rule["args"], "--state-dir", tmp_path)
            assert (found, len(said.encode()) <= NPD["pluginConfig"]["max_output_length"]) == (code, True)


def nrpe():
    text = (SHIPPED / "nagios/nrpe.cfg").read_text()
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {re.fullmatch(r"command\[(\w+)\]=(.+)", line)[1]: shlex.split(line.partition("=")[2]) for line in rows}


@pytest.mark.parametrize("name", nrpe())
@pytest.mark.parametrize(("verdict", "code"), [("ready", 0), ("degraded", 1), ("not_ready", 2), ("unknown", 3)])
def test_a_command_of_nrpe_exits_as_a_plugin(tmp_path, name, verdict, code):
    state_of(tmp_path, "True", single=verdict)
    program, *arguments = nrpe()[name]
    found, said = run(*arguments, "--state-file", tmp_path / "state.json")
    assert (program, found, said.count("\n")) == (PROGRAM, code, 1)


def test_the_command_of_icinga_exits_as_a_plugin(tmp_path):
    text = (SHIPPED / "nagios/icinga2.conf").read_text()
    (argv,) = re.findall(r"command = \[ (.+) \]", text)
    options = re.findall(r'"(--[\w-]+)" = "([^"]+)"', text)
    scope = re.search(r'vars\.hostagent_scope = "(\w+)"', text)[1]
    state_of(tmp_path, "True", single="degraded")
    program, *arguments = json.loads(f"[{argv}]")
    words = [word.replace("$hostagent_scope$", scope) for pair in options for word in pair]
    found, said = run(*arguments, *words, "--state-file", tmp_path / "state.json")
    assert (program, found, said) == (PROGRAM, 1, "DEGRADED: GPU 4 is gone.\n")
    assert text.count("{") == text.count("}")
    hosts = re.search(r"assign where (.+)\n", text)[1]
    used = re.search(r"command_endpoint = (.+)\n", text)[1]
    assert hosts == f"host.vars.gpu && {used}", "a host without an agent of its own would have the service run on the master"


SLURM = SHIPPED / "slurm"
#: What a Slurm program finds in its environment, at most: a search path of the test's own stands for the shell's.
_SLURMD = {"SLURMD_NODENAME": "node1"}


@pytest.fixture
def slurm(tmp_path):
    """Runs one of Slurm's programs with a stand-in for hostagent, and a logger that keeps what it gets. Its exit code, output and log."""
    logger = tmp_path / "bin/logger"
    logger.parent.mkdir()
    logger.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$*\" >> {tmp_path}/log\n")
    logger.chmod(0o755)

    def run_with(name, program):
        text = (SLURM / name).read_text()
        assert text.count(f"{PROGRAM} slurm ") == 1
        script = tmp_path / name
        script.write_text(text.replace(f"{PROGRAM} slurm ", f"{program} slurm "))
        done = subprocess.run(
            ["/bin/sh", str(script)],
            env={"PATH": f"{logger.parent}:/usr/bin:/bin", **_SLURMD},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        log = tmp_path / "log"
        return done.returncode, done.stdout + done.stderr, log.read_text() if log.exists() else ""

    def program(code):
        made = tmp_path / "hostagent"
        made.write_text(f"#!/bin/sh\necho it says >&2\nexit {code}\n")
        made.chmod(0o755)
        return made

    return SimpleNamespace(run=run_with, program=program)


@pytest.mark.parametrize(("code", "logged"), [(0, ""), (2, "-t hostagent -p daemon.warning -- it says\n")])
def test_the_health_check_of_slurm_ends_with_0_and_logs_what_a_failure_says(slurm, code, logged):
    assert slurm.run("hostagent-health.sh", slurm.program(code)) == (0, "", logged)


def test_the_health_check_of_slurm_logs_that_hostagent_is_missing(slurm):
    code, said, logged = slurm.run("hostagent-health.sh", "/nonexistent")
    assert (code, said) == (0, "")
    assert "/nonexistent: not found" in logged


@pytest.mark.parametrize("name", ["hostagent-prolog.sh", "hostagent-epilog.sh"])
def test_of_prolog_and_epilog_a_refusal_alone_fails(slurm, name):
    """100 refuses; 1 is a Python that cannot start, 2 another version's options, 127 a program that is not there, 137 a kill."""
    found = {code: slurm.run(name, slurm.program(code))[0] for code in (0, 1, 2, 100, 126, 137)}
    assert found == {0: 0, 1: 0, 2: 0, 100: 1, 126: 0, 137: 0}
    assert slurm.run(name, "/nonexistent")[0] == 0


@pytest.mark.parametrize("name", sorted(path.name for path in SLURM.glob("*.sh")))
def test_the_command_in_a_program_of_slurm_is_one_of_ours_with_its_options(name):
    assert (SLURM / name).stat().st_mode & 0o111
    (line,) = [line for line in (SLURM / name).read_text().splitlines() if f"{PROGRAM} slurm" in line and not line.startswith("#")]
    words = re.search(rf"{PROGRAM} (slurm [\w -]+?)(?: 2>&1\)|$)", line)[1].split()
    group = cli.get_command(None, "slurm")
    command = group.get_command(None, words[1])
    command.make_context(words[1], words[2:])


def test_the_lines_for_slurm_conf_name_the_programs_that_ship():
    lines = (SLURM / "slurm.conf").read_text().splitlines()
    settings = dict(line.split("=") for line in lines if not line.startswith("#"))
    programs = {name: settings.pop(name) for name in ("HealthCheckProgram", "Prolog", "Epilog")}
    assert set(programs.values()) == {f"/etc/slurm/{path.name}" for path in SLURM.glob("*.sh")}
    assert settings == {"HealthCheckInterval": "60", "HealthCheckNodeState": "ANY,CYCLE", "PrologFlags": "Alloc"}
    assert [line[1:] for line in lines if re.match("#[A-Z]\\w+=", line)] == [
        "HealthCheckTimeout=50",
        "SchedulerParameters=nohold_on_prolog_fail",
    ]


def test_the_interval_for_slurm_is_shorter_than_a_verdict_is_valid():
    interval = re.search(r"^HealthCheckInterval=(\d+)$", (SLURM / "slurm.conf").read_text(), re.MULTILINE)[1]
    assert int(interval) < profile.load(site_file="").profile.report.valid_for_s
