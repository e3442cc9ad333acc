"""What other programs say of our formats: promtool of the metrics, xmllint of JUnit, Chromium of nothing here (``make look``)."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from hostagent.daemon.build_message import Run, first_message, first_words, pass_message
from hostagent.daemon.build_message import metrics as of_report
from hostagent.daemon.debounce import first
from hostagent.daemon.history import FRESH
from hostagent.daemon.metrics import metrics
from hostagent.daemon.processes import usage
from hostagent.daemon.shared_state import SharedState
from hostagent.daemon.staleness import made_stale
from hostagent.engine.report import HostIdentity
from hostagent.outputs import render
from tests import golden, recorded
from tests.daemon_page import page
from tests.real.conftest import need_real
from tests.real.daemonrun import Daemon, eventually, port
from tests.unit.reports import HOSTILE, judgement, report

#: What Jenkins' xUnit plug-in takes from a tool that writes JUnit's format: elements, and their attributes.
_JUNIT = """
<!ELEMENT testsuites (testsuite*)>
<!ATTLIST testsuites name CDATA #IMPLIED time CDATA #IMPLIED tests NMTOKEN #IMPLIED failures NMTOKEN #IMPLIED errors NMTOKEN #IMPLIED>
<!ELEMENT testsuite (testcase*)>
<!ATTLIST testsuite name CDATA #REQUIRED tests NMTOKEN #REQUIRED failures NMTOKEN #REQUIRED errors NMTOKEN #REQUIRED
  skipped NMTOKEN #IMPLIED time CDATA #IMPLIED timestamp CDATA #IMPLIED hostname CDATA #IMPLIED id CDATA #IMPLIED package CDATA #IMPLIED>
<!ELEMENT testcase (skipped | error | failure | system-out | system-err)*>
<!ATTLIST testcase name CDATA #REQUIRED classname CDATA #IMPLIED time CDATA #IMPLIED>
<!ELEMENT skipped (#PCDATA)>
<!ATTLIST skipped type CDATA #IMPLIED message CDATA #IMPLIED>
<!ELEMENT error (#PCDATA)>
<!ATTLIST error type CDATA #IMPLIED message CDATA #IMPLIED>
<!ELEMENT failure (#PCDATA)>
<!ATTLIST failure type CDATA #IMPLIED message CDATA #IMPLIED>
<!ELEMENT system-out (#PCDATA)>
<!ELEMENT system-err (#PCDATA)>
"""
TAPE = Path(__file__).parents[1] / "hosts/hgx-h100-gpu-off-the-bus/tape.json"
_OUTCOMES = ("fail", "warn", "unknown", "skip", "off", "pass")
_TEXTS = dict.fromkeys(("subject", "message", "found", "wanted", "headline", "code"), HOSTILE) | {"evidence": (HOSTILE, "]]>", "<![CDATA[")}
_MADE = {
    "hostile": report(*(judgement(outcome=one, **_TEXTS) for one in _OUTCOMES), host=HostIdentity(*[HOSTILE * 1000] * 5)),
    "empty": report(),
}
REPORTS = (*golden.NAMED, *_MADE)


def report_of(name):
    return _MADE[name] if name in _MADE else recorded.report_of(name)


def promtool(metrics):
    """What it says against them."""
    program = need_real("promtool", "bash tests/real/install_promtool.sh")
    done = subprocess.run([program, "check", "metrics"], input=metrics.encode(), capture_output=True, check=False, timeout=60)
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("name", REPORTS)
def test_promtool_finds_nothing_to_say_about_the_metrics(name):
    assert promtool(render(report_of(name), "prometheus")) == (0, "")


#: By sink, how often it was tried: with success, without.
DELIVERIES = {
    "none": {},
    "well": {"kubernetes": (3, 0), "nfd": (9, 0), "textfile": (9, 0)},
    "failing": {"kubernetes": (0, 4), "nfd": (0, 9), "textfile": (0, 9)},
    "both": {"kubernetes": (3, 1), "nfd": (8, 1), "textfile": (7, 2)},
}


@pytest.mark.parametrize("deliveries", DELIVERIES)
def test_promtool_finds_nothing_to_say_about_what_the_daemon_adds(deliveries):
    shared = SharedState(150.0)
    for sink, (succeeded, failed) in DELIVERIES[deliveries].items():
        for problem in [*[""] * succeeded, *["no route\n" + HOSTILE] * failed]:
            shared.delivered(sink, problem, 1764000000.25, 1.0)
    told = first("boot", 1764000000.0)
    after = Run("", 1.0, 0.75, "kernel-log", {"start": 1, "kernel-log": 2}, {"Ready": 3, "FabricReady": 1})
    messages = [None, first_message("n", told)]
    messages += [
        pass_message(first_words(told), one, {}, "", after._replace(metrics=of_report(one, FRESH.history)))
        for one in map(report_of, REPORTS)
    ]
    messages += [made_stale(one, 1764000000.0) for one in messages if one]
    for one in messages:
        text = metrics(one, shared.deliveries(), usage())
        assert promtool(text) == (0, "")
        assert ("hostagent_pass_duration_seconds 0.75\n" in text) == (one is not None and one.has_pass)
        rows = [line for line in text.splitlines() if line.startswith("hostagent_deliveries_total{")]
        assert len(rows) == sum(count > 0 for pair in DELIVERIES[deliveries].values() for count in pair)


def test_promtool_takes_the_alerts_of_the_page_and_each_names_metrics_that_there_are(tmp_path):
    section = page().partition("## Alerts\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|`]+) \| `([^`]+)`", section, re.MULTILINE)
    rules = [{"alert": f"A{number}", "expr": expression} for number, (_, expression) in enumerate(rows)]
    (tmp_path / "rules.json").write_text(json.dumps({"groups": [{"name": "hostagent", "rules": rules}]}))
    program = need_real("promtool", "bash tests/real/install_promtool.sh")
    done = subprocess.run([program, "check", "rules", tmp_path / "rules.json"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, f"{len(rules)} rules found" in done.stdout) == (0, True), done.stdout + done.stderr
    known = set(re.findall(r"hostagent_\w+", page().partition("| metric | what |")[2]))
    assert len(rows) > 5
    assert {name for _, expression in rows for name in re.findall(r"hostagent_\w+", expression)} <= known


@pytest.mark.skipif(os.geteuid() != 0, reason="a daemon's state is root's: run 'sudo make test'")
def test_promtool_finds_nothing_to_say_about_a_daemon_whose_deliveries_fail_or_succeed(tmp_path):
    closed = {"clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{port()}"}}]}
    user = {"users": [{"name": "u", "user": {"token": "t"}}], "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}
    (tmp_path / "kubeconfig").write_text(json.dumps({**closed, **user, "current-context": "x"}))
    (tmp_path / "kubeconfig").chmod(0o600)
    options = ("--from", TAPE, "--nfd-file", tmp_path / "none/nfd", "--textfile", tmp_path / "host.prom")
    with Daemon(tmp_path, *options, "--kubeconfig", tmp_path / "kubeconfig") as daemon:

        def results():
            return {line.split()[0] for line in daemon.get("/metrics").text.splitlines() if line.startswith("hostagent_deliveries_total{")}

        eventually(lambda: daemon.answers("/livez"))
        with Daemon(tmp_path, "--from", TAPE, "--kubernetes", "off") as second:  # it waits: no pass yet
            eventually(lambda: second.answers("/livez"))
            assert promtool(second.get("/metrics").text) == (0, "")
        wanted = {("nfd", "error"), ("textfile", "success"), ("kubernetes", "error")}
        names = {f'hostagent_deliveries_total{{sink="{sink}",result="{result}"}}' for sink, result in wanted}
        eventually(lambda: names <= results())
        assert promtool(daemon.get("/metrics").text) == (0, "")
        assert promtool((tmp_path / "host.prom").read_text()) == (0, "")


@pytest.mark.parametrize("name", REPORTS)
def test_xmllint_takes_the_junit_for_what_other_tools_write(name, tmp_path):
    xmllint = need_real("xmllint", "apt-get install libxml2-utils")
    (tmp_path / "junit.dtd").write_text(_JUNIT)
    (tmp_path / "report.xml").write_text(render(report_of(name), "junit"))
    options = ["--noout", "--nonet", "--dtdvalid", str(tmp_path / "junit.dtd")]
    done = subprocess.run([xmllint, *options, str(tmp_path / "report.xml")], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
