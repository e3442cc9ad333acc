"""Every recorded host in every format: JUnit fails what sets the exit code, nothing volatile on the line, no serial numbers."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import product

import pytest
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.engine.report.exit_code import Asked
from hostagent.host.recording import ReplayBackend
from hostagent.outputs import render
from tests import recorded
from tests.judged import judged
from tests.over import over

ASKED = tuple(map(Asked._make, product(("single_node", "multi_node"), ("not-ready", "degraded"))))
SERIAL = re.compile(r"\b(?:GPU|MIG)-[0-9a-f]{8}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}\b")
HOUR_S = 3600.0
#: Questions to NVML whose answers only grow, and one that is never the same.
COUNTERS = {
    "ecc_volatile",
    "ecc_aggregate",
    "ecc_sram",
    "row_remap",
    "retired_single_bit",
    "retired_double_bit",
    "nvlink_errors",
    "temperature",
}


def _broken(text):
    """Cases that fail a build."""
    return [case.get("classname") for case in ET.fromstring(text).iter("testcase") if {"failure", "error"} & {one.tag for one in case}]


@recorded.each_host
def test_junit_is_red_exactly_where_the_exit_code_is(name):
    report = recorded.report_of(name)
    for asked in ASKED:
        broken = _broken(render(report, "junit", asked=asked))
        assert bool(broken) != asked.succeeds(report), asked
        assert ("verdict" in broken) == (bool(broken) and not any(map(asked.is_failed_by, report.findings))), asked


@pytest.mark.parametrize("name", ["hgx-h100-next-kernel-without-module", "hgx-h100-gpu-off-the-bus", "hgx-h100-ubuntu2404"])
def test_junit_of_the_command_line_is_red_exactly_where_it_exits_with_1(name, tmp_path):
    for scope, fail_on in product(("single", "multi"), ("not-ready", "degraded")):
        other = tmp_path / "other.xml"
        options = [
            "--scope",
            scope,
            "--fail-on",
            fail_on,
            "--format",
            "junit",
            "--also",
            f"junit={other}",
            "--from",
            str(recorded.HOSTS / name),
        ]
        done = CliRunner().invoke(cli, ["check", *options], standalone_mode=False)
        assert bool(_broken(done.stdout)) == bool(_broken(other.read_text())) == (done.return_value == 1)


def _next_hour(recorded):
    """The same host an hour later: clocks went on, the log repeats itself, what was counted grew, processes have other numbers."""
    answers = {_later(question): _grown(question, answer) for question, answer in recorded.answers.items()}
    return replace(recorded, recorded_at=recorded.recorded_at + HOUR_S, answers=answers)


def _later(question):
    """Of the processes that have another number an hour later; process 1 stays."""
    return re.sub(r"(?<= /proc/)(?!1/)[0-9]+(?=/limits)", lambda found: str(int(found[0]) + 4096), question)


def _grown(question, answer):
    value = answer.get("json") if isinstance(answer, dict) else None
    if value is None:
        return answer
    if question == "host":
        return {**answer, "json": {**value, "now": value["now"] + HOUR_S}}
    if question in ("kernel_log", "kernel_words"):
        lines = value["lines"]
        return {
            **answer,
            "json": {
                **value,
                "lines": [*lines, *([line[0] + 60, *line[1:]] for line in lines if isinstance(line, list) and line[0] is not None)],
            },
        }
    if question == "processes":
        return {**answer, "json": [{**one, "pid": one["pid"] + 4096} for one in value]}
    if question.startswith("statvfs "):
        return {**answer, "json": {**value, "free_bytes": max(0, value["free_bytes"] - 2**20)}}
    if question.rpartition(" ")[2] in COUNTERS:
        return {**answer, "json": _more(value)}
    return answer


def _more(value):
    if isinstance(value, list):
        return [_more(one) for one in value]
    if isinstance(value, dict):
        return {key: _more(one) for key, one in value.items()}
    return value + 1 if type(value) is int and value > 0 else value


#: A fault that comes back after it was cleared counts again; a start, or restarts, of a moment ago are an hour ago.
AGAIN = ("t4-xid-cleared", "containerd-restarts", "kubelet-restarts", "kubelet-first-minute", "hgx-h100-plugin-starting")


@recorded.each_host
def test_the_line_of_the_next_run_is_the_same(name):
    if name in AGAIN:
        return
    first = recorded.report_of(name)
    second = judged(ReplayBackend(_next_hour(recorded.tape_of(name))), recorded.profile_of(name), replayed=True)
    assert second.observed_at != first.observed_at
    if second.verdict == first.verdict:
        assert render(second, "line") == render(first, "line")
        assert (second.headline, second.action) == (first.headline, first.action)
    else:
        pytest.fail(f"{first.verdict} is {second.verdict} an hour later")


@over("name", recorded.NAMES)
def test_line_and_metrics_carry_no_serial_number(name):
    report = recorded.report_of(name)
    for form in ("line", "prometheus"):
        assert not SERIAL.search(render(report, form))


def test_a_serial_number_is_known_when_it_is_seen():
    assert SERIAL.search(render(recorded.report_of("hgx-h100-ubuntu2404"), "json"))


@over("name", recorded.NAMES)
def test_the_line_is_ascii_and_one_of_at_most_200_characters(name):
    line = render(recorded.report_of(name), "line")
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert len(line) <= 201
    assert line.isascii()
