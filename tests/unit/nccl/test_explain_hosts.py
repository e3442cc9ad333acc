"""What hosts say of what a log says: which of their findings are told under it, and what a report of anybody's does."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.cli.schemas import published
from hostagent.core.errors import HostagentError
from hostagent.core.vocabulary import NCCL_VERDICTS, TOPICS
from hostagent.domains.nccl.logs.chunks import blocks
from hostagent.domains.nccl.logs.explanation import Job as Reading
from hostagent.domains.nccl.tables.causes import CAUSES
from hostagent.domains.nccl.tables.host_topics import EXPLAINING, REASONS
from hostagent.engine import catalogue
from hostagent.engine.collect import READERS
from hostagent.engine.report.log_correlation import as_report, joined
from hostagent.host import recording
from hostagent.host.recording import ReplayBackend
from hostagent.outputs.job_log import render_explanation
from hostagent.outputs.json import render_json
from hostagent.profiles import profile
from tests.judged import judged
from tests.nccl_logs import CASES, TCP, V227, Job

ROOT = Path(__file__).parents[3]
HOSTS = ROOT / "tests/hosts"
HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
SCHEMA = jsonschema.Draft202012Validator(published("nccl"))
EXPLAINED = catalogue.explaining(catalogue.load([catalogue.OURS], readable=READERS))
NO_GDR = Job(V227, gdr=False).text()
FELL_BACK = Job(V227, **TCP).text()
PEERMEM, SM, DISABLED = "hgx-h100-without-peermem", "hgx-h100-ib-without-sm", "hgx-h100-nccl-ib-disabled"


@pytest.fixture(scope="module")
def reports():
    """Of some recorded hosts, each with a name of its own."""
    loaded = profile.load("default", site_file="")
    found = {}
    for name in (PEERMEM, SM, "hgx-h100-ubuntu2404", DISABLED):
        report = judged(ReplayBackend(recording.load(str(HOSTS / name))), loaded)
        found[name] = replace(report, host=replace(report.host, hostname=name))
    return found


def told(text, *hosts):
    job = Reading()
    for block in blocks([text.encode()]):
        job.read("log", block)
    found = joined(job.explain(), hosts, job.hosts, EXPLAINED)
    SCHEMA.validate(json.loads(render_explanation(found, "json")))
    shown = render_explanation(found, "text", width=10_000)
    assert shown.replace("\n", "").isprintable()
    return found, shown


def named(report, hostname):
    return replace(report, host=replace(report.host, hostname=hostname))


def test_each_topic_and_each_code_is_one():
    assert {topic for topics in EXPLAINING.values() for topic in topics} == set(TOPICS) == EXPLAINED.keys()
    ours = {"gdr_off", "plugin_absent", "forced", "local_disabled", "loopback", "virtual_interface", "retry_exceeded", "path_mtu",
            "completion_error", "version_skew"}  # fmt: skip
    assert EXPLAINING.keys() <= {*NCCL_VERDICTS, *(one.code for one in CAUSES), *ours}
    assert REASONS.keys() <= EXPLAINING.keys()


def test_a_host_without_peer_memory_says_why_gpudirect_is_off(reports):
    found, shown = told(NO_GDR, reports[PEERMEM])
    (host,) = found.host
    assert [(one.codes, one.id, one.action) for one in host.causes] == [(("rdma_no_gdr", "gdr_off"), "topology.gpudirect", "install")]
    assert (
        f"  On {PEERMEM}, GPUDirect is off because: nvidia_peermem is not loaded, and DMA-BUF does not work: NVIDIA's module is the "
        "proprietary one (topology.gpudirect).\n  -> Install NVIDIA's open kernel module"
    ) in shown
    assert shown.count("(topology.gpudirect)") == 1, "it is told under the verdict, not again under its consequences"


def test_a_host_says_why_there_is_no_rdma(reports):
    found, shown = told(FELL_BACK, reports[SM])
    assert [one.id for one in found.host[0].causes] == ["rdma.subnet_manager"], "ports that are not active are its consequence"
    assert f"On {SM}, NCCL has no RDMA because: no subnet manager has made any of the 8 rails active (rdma.subnet_manager)." in shown


def test_what_does_not_explain_the_log_is_not_told(reports):
    for text, report in ((NO_GDR, reports[SM]), (FELL_BACK, reports[PEERMEM]), (NO_GDR, reports["hgx-h100-ubuntu2404"])):
        found, shown = told(text, report)
        assert found.host[0].causes == ()
        assert f"Nothing that was found on {report.host.hostname} explains it." in shown


def test_where_nothing_is_to_be_explained_nothing_is(reports):
    for report in reports.values():
        found, shown = told(CASES["gdr-27"][1], report)
        assert found.host[0].causes == ()
        assert "explains it" not in shown


def test_a_host_changes_nothing_else(reports):
    for _, text in CASES.values():
        job = Reading()
        for block in blocks([text.encode()]):
            job.read("log", block)
        found = job.explain()
        assert replace(joined(found, reports.values(), job.hosts, EXPLAINED), host=()) == found


def test_a_host_whose_connections_use_gpudirect_does_not_say_why_others_do_not(reports):
    text = "".join(
        line.replace("/GDRDMA", "") + "\n" if line.startswith("node2:") else f"{line}\n"
        for line in Job(V227, hosts=("node1", "node2")).lines()
    )
    for hostname, causes in (("node1", []), ("node2.example.org", ["topology.gpudirect"]), ("node3", ["topology.gpudirect"])):
        found, _ = told(text, named(reports[PEERMEM], hostname))
        assert (found.verdict, found.gdr) == ("rdma_no_gdr", "mixed")
        assert [one.id for one in found.host[0].causes] == causes


def test_a_host_that_no_record_names_is_said(reports):
    for hostname, is_there in (("node1", True), ("node2.example.org", True), ("node", False), ("", False), ("node11", False)):
        found, shown = told(NO_GDR, named(reports[PEERMEM], hostname))
        assert found.host[0].in_log is is_there
        assert ("No record of the log is of" in shown) is not is_there


def test_hosts_that_say_the_same_are_told_once(reports):
    found, shown = told(NO_GDR, *(named(reports[PEERMEM], f"node{number}") for number in range(1, 6)))
    assert len(found.host) == 5
    assert "On node1, node2, node3 and 2 more, GPUDirect is off because: " in shown
    assert "No record of the log is of node3, node4, node5; " in shown


def test_what_is_unknown_is_said(reports):
    report = reports[PEERMEM]
    unknown = replace(
        report, findings=tuple(replace(one, outcome="unknown") if one.id == "topology.gpudirect" else one for one in report.findings)
    )
    found, shown = told(NO_GDR, named(unknown, "node1"))
    assert found.host[0].causes == ()
    assert found.host[0].unknown[-1] == "topology.gpudirect"
    assert f"Unknown on node1, and may explain it: {', '.join(found.host[0].unknown)}." in shown


def test_a_finding_whose_cause_is_unknown_is_told_itself(reports):
    report = reports[SM]
    causes = tuple(replace(one, outcome="unknown") if one.id == "rdma.subnet_manager" else one for one in report.findings)
    found, _ = told(FELL_BACK, replace(report, findings=causes))
    assert [one.id for one in found.host[0].causes] == ["rdma.port_state"]
    assert found.host[0].unknown[-1] == "rdma.subnet_manager"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100)
@given(data=st.data())
def test_a_report_of_anybody_is_refused_in_a_sentence_or_safe_to_show(reports, data):
    """One value of it is something else: anywhere in its head, its findings, or their steps."""
    few = tuple(one for one in reports[PEERMEM].findings if one.id.startswith("topology.gpu"))
    saved = json.loads(render_json(replace(reports[PEERMEM], facts={}, findings=few)))
    where = saved if data.draw(st.booleans()) else next(one for one in saved["findings"] if one["id"] == "topology.gpudirect")
    where = data.draw(st.sampled_from([where, *(one for one in where.values() if isinstance(one, dict)), *where.get("remedy", ())]))
    if where:
        where[data.draw(st.sampled_from(sorted(where)))] = data.draw(JSON | st.text("\x1b\n\u202e\ud800a", max_size=2000))
    try:
        report = as_report("x\n.json", saved)
    except HostagentError as refused:
        told_in = refused.message
    else:
        told_in = ""
        told(NO_GDR, report)
    assert told_in.isprintable()


def test_a_report_with_very_many_findings_does_not_hold_it_up(reports):
    report = reports[PEERMEM]
    own = next(one for one in report.findings if one.id == "topology.gpudirect")
    many = tuple(replace(own, subject=f"{number:x}", device=f"d{number}", message=f"{number}" * 9) for number in range(20_000))
    started = time.process_time()
    found, _ = told(NO_GDR, replace(report, findings=tuple(replace(one, cause=replace(one.cause, subject=one.subject)) for one in many)))
    assert time.process_time() - started < 15
    assert len(found.host[0].causes) <= 50


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    (folder / "job.log").write_text(NO_GDR)
    check = [HOSTAGENT, "check", "--profile", "default", "--json", "--from", str(HOSTS / PEERMEM)]
    (folder / "report.json").write_bytes(subprocess.run(check, capture_output=True, check=False, timeout=60).stdout)
    return folder


def explain(*arguments, **options):
    done = subprocess.run(
        [HOSTAGENT, "nccl", "explain", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60, **options
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_a_snapshot_and_its_report_say_the_same(files):
    log = files / "job.log"
    by_tape = explain(log, "--from", HOSTS / PEERMEM, "--profile", "default")
    by_report = explain(log, "--reports", files / "report.json")
    by_pipe = explain(log, "--reports", "-", input=(files / "report.json").read_text())
    assert by_tape.stdout == by_report.stdout == by_pipe.stdout
    assert "GPUDirect is off because" in by_tape.stdout.replace("\n  ", " ")
    assert by_tape.returncode == explain(log).returncode == 0, "what a host says changes no exit code"


def test_this_host_is_looked_at_when_it_is_asked_for(files):
    done = explain(files / "job.log", "--this-host", "--json")
    found = json.loads(done.stdout)
    assert [one["hostname"] for one in found["host"]] == [os.uname().nodename]
    assert not found["host"][0]["in_log"]


def test_a_report_is_all_that_is_read(files):
    """Neither programs nor child processes, and nothing of /sys, /proc or /etc."""
    watched = (
        "import sys\nseen = []\nsys.addaudithook(lambda event, a: seen.append((event, str(a[0]) if a else '')) "
        "if event in ('open', 'os.fork', 'subprocess.Popen') else None)\n"
        "from hostagent.cli.run import run\nrun(sys.argv[1:])\n"
        "print([one for one in seen if one[0] != 'open' or one[1].startswith(('/sys', '/proc', '/etc', '/dev/infiniband'))], file=sys.stderr)\n"
    )
    argv = [sys.executable, "-c", watched, "nccl", "explain", str(files / "job.log"), "--reports", str(files / "report.json")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--this-host", "--reports", "report.json"], ["--from", str(HOSTS / SM), "--this-host"], ["--reports", "absent.json"],
        ["--reports", "job.log"], ["--reports", str(HOSTS / SM / "tape.json")], ["--from", "report.json"], ["--reports", ""], ["--from", ""],
        ["-", "--reports", "-"], ["-", "--from", "-"],
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(files, arguments):
    done = explain("job.log", *arguments, cwd=files, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] if "Usage" in done.stderr else done.stderr.startswith("Error: ")


def test_advice_is_no_reason_why_a_job_has_no_rdma(reports):
    """NCCL_NET is not set on that host, too, which is information."""
    assert [one.outcome for one in reports[DISABLED].findings if one.id == "nccl.network"] == ["warn"]
    found, shown = told(FELL_BACK, reports[DISABLED])
    assert {one.id for one in found.host[0].causes} == {"nccl.ib_disable"}
    assert "NCCL_NET is not set" not in shown
