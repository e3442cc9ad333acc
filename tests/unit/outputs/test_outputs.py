"""What every rendering of a report promises, whatever a host put into it."""

import json
import os
import re
import stat
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.cli.schemas import published
from hostagent.core.escape import visible
from hostagent.core.filewrite import deliver
from hostagent.core.steps import Step
from hostagent.engine.report import Cause
from hostagent.engine.report.exit_code import Asked
from hostagent.engine.report.facts import report_facts
from hostagent.facts.hostfacts import HostFacts
from hostagent.outputs import FORMATS, render
from hostagent.outputs.digest import gaps
from hostagent.outputs.tracebacks import tracebacks
from tests.unit.reports import ATTRIBUTES, GPUS, HOSTILE, SAMPLE, TAGS, Tags, judgement, report, reports

VALIDATE = jsonschema.Draft202012Validator(published("report"))
RED = "\x1b[1;31m"


def eight(outcome="fail", **fields):
    return [judgement(subject=pci, outcome=outcome, **fields) for pci in GPUS]


@given(reports, st.sampled_from(FORMATS), st.integers(0, 200), st.booleans())
@settings(deadline=None)
def test_no_text_of_a_host_reaches_a_terminal_unescaped(whole, form, width, verbose):
    shown = render(whole, form, width=width, verbose=verbose)
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert shown.endswith("\n")
    shown.encode("utf-8")


@given(reports)
@settings(deadline=None)
def test_the_json_validates_against_the_published_schema(whole):
    facts = report_facts(HostFacts({}))
    document = json.loads(render(report(*whole.findings, facts=facts), "json"))
    VALIDATE.validate(document)
    assert [one["id"] for one in document["findings"]] == [one.id for one in whole.findings]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_json_has_no_number_that_is_none(number):
    text = render(report(facts={"x": [{"y": number}]}), "json")
    assert json.loads(text, parse_constant=pytest.fail)["facts"]["x"][0]["y"]["unread"] == "error"


ASKED = st.builds(Asked, st.sampled_from(["single_node", "multi_node"]), st.sampled_from(["not-ready", "degraded"]))


@given(reports, ASKED)
@settings(deadline=None)
def test_junit_is_xml_whose_counts_are_its_cases(whole, asked):
    root = ET.fromstring(render(whole, "junit", asked=asked))
    cases = root.findall(".//testcase")
    assert len(cases) == int(root.get("tests"))
    assert len([case for case in cases if case.get("classname") not in ("verdict", "coverage")]) == len(whole.findings)
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert root.get(attribute) in (None, str(len(root.findall(f".//{tag}"))))
        assert all(int(suite.get(attribute)) == len(suite.findall(f".//{tag}")) for suite in root)


@given(reports, ASKED)
@settings(deadline=None)
def test_junit_fails_exactly_what_sets_the_exit_code(whole, asked):
    root = ET.fromstring(render(whole, "junit", asked=asked))
    assert (root.get("failures"), root.get("errors")) == ("0", "0") or not asked.succeeds(whole)
    assert (root.get("failures"), root.get("errors")) != ("0", "0") or asked.succeeds(whole)


@given(reports, ASKED, st.data())
@settings(deadline=None)
def test_a_finding_that_fails_junit_fails_the_run_by_itself(whole, asked, data):
    """And what does not fail it could be taken away: the exit code would be the same, unless nothing is left that was checked."""
    if whole.findings:
        one = data.draw(st.sampled_from(whole.findings))
        assert not asked.is_failed_by(one) or not asked.succeeds(report(one))
        counts = tuple(other for other in whole.findings if asked.is_failed_by(other))
        assert not counts or not asked.succeeds(report(*counts))


@pytest.mark.parametrize(
    ("outcome", "severity", "scope", "tags"),
    [
        ("pass", "critical", "node", (None, None, None, None)),
        ("fail", "critical", "node", ("failure", "failure", "failure", "failure")),
        ("fail", "critical", "fabric", ("system-out", "system-out", "failure", "failure")),
        ("fail", "warning", "node", ("system-out", "failure", "system-out", "failure")),
        ("fail", "warning", "fabric", ("system-out", "system-out", "system-out", "failure")),
        ("warn", "critical", "node", ("system-out", "failure", "system-out", "failure")),
        ("fail", "info", "node", ("system-out", "system-out", "system-out", "system-out")),
        ("unknown", "critical", "node", ("error", "error", "error", "error")),
        ("unknown", "warning", "node", ("system-out", "error", "system-out", "error")),
        ("skip", "critical", "node", ("skipped", "skipped", "skipped", "skipped")),
        ("off", "critical", "node", ("skipped", "skipped", "skipped", "skipped")),
    ],
)
def test_junit_fails_a_build_only_for_what_counts(outcome, severity, scope, tags):
    whole = report(judgement("a.passed", "pass"), judgement("b.case", outcome, severity, scope=scope))
    asked = (Asked(whose, fail_on) for whose in ("single_node", "multi_node") for fail_on in ("not-ready", "degraded"))
    cases = [ET.fromstring(render(whole, "junit", asked=one)).find(".//testcase[@name='case']") for one in asked]
    assert [case[0].tag if len(case) else None for case in cases] == list(tags)


@given(reports)
@settings(deadline=None)
def test_prometheus_lines_follow_the_exposition_format(whole):
    lines = render(whole, "prometheus").splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in samples)
    names = [line.rpartition(" ")[0] for line in samples]
    assert len(names) == len(set(names)), "a series appears once"
    typed = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(typed) == len(set(typed))
    assert {re.match(r"\w+", line)[0] for line in samples} <= set(typed)


@pytest.mark.parametrize(("outcome", "ready"), [("pass", "1"), ("warn", "1"), ("fail", "0"), ("unknown", "0")])
def test_prometheus_calls_a_scope_ready_when_it_is_placeable(outcome, ready):
    assert f'hostagent_ready{{scope="single_node"}} {ready}\n' in render(report(judgement(outcome=outcome)), "prometheus")


@given(reports)
@settings(deadline=None)
def test_html_nests_fetches_nothing_and_runs_nothing(whole):
    page = Tags(render(whole, "html"))
    assert not page.open
    assert page.seen <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src' in render(whole, "html")


@given(reports)
@settings(deadline=None)
def test_html_links_lead_to_places_of_the_page(whole):
    page = Tags(render(whole, "html"))
    assert len(page.places) == len(set(page.places))
    assert all(re.fullmatch(r"[A-Za-z0-9_.:-]+", place) for place in page.places)
    assert {f"#{place}" for place in page.places} == set(page.links)


def test_html_says_what_happened_and_what_to_do_before_all_else():
    page = render(report(judgement(headline="GPU 4 has gone", remedy=REBOOT)), "html")
    told = ["<h1>GPU 4 has gone.</h1>", "node-7, read at", "What to do", "Reboot the node.", "<dt>System</dt>", "Blocks jobs"]
    assert sorted(told, key=page.index) == told


@pytest.mark.parametrize(
    ("outcome", "severity", "colour"),
    [
        ("fail", "critical", "bad"),
        ("unknown", "critical", "unknown"),
        ("warn", "critical", "warn"),
        ("fail", "warning", "warn"),
        ("unknown", "warning", "warn"),
        ("fail", "info", "note"),
        ("unknown", "info", "note"),
    ],
)
def test_html_has_one_colour_per_cause_by_what_it_counts(outcome, severity, colour):
    page = render(report(judgement(outcome=outcome, severity=severity)), "html")
    assert re.findall(r'<article class="(\w+)"', page) == [colour]


def test_html_has_commands_that_a_click_selects():
    step = Step("install", "Look at it with 'lspci -d 10de:' and the driver's log. It isn't 'here'.", "apt-get install x")
    page = render(report(judgement(remedy=(step,))), "html")
    assert '<pre class="run">apt-get install x</pre>' in page
    assert '<code class="run">lspci -d 10de:</code> and the driver&#39;s log. It isn&#39;t <code class="run">here</code>.' in page


def test_html_counts_on_how_many_devices_a_check_passed():
    some = [judgement(subject=pci, outcome="fail" if at < 3 else "pass", message="It holds") for at, pci in enumerate(GPUS)]
    page = render(report(*some, judgement("a.b", "pass", message="All is well"), judgement("a.c", "skip", message="no NIC")), "html")
    assert '<td>It holds</td><td class="number" data-of="devices">5/8</td>' in page
    assert "Passed <small>1 check, and 1 on some devices</small>" in page
    assert "Not applicable <small>1 check</small>" in page


REBOOT = (Step("reboot", "Reboot the node."),)


def test_the_text_starts_with_the_verdict_what_happened_and_what_to_do():
    lines = render(report(judgement(headline="a GPU has gone", remedy=REBOOT), judgement("zzz.last")), "text").splitlines()
    assert lines[0] == "NOT READY  a GPU has gone. Drain the node. Reboot the node."
    assert lines[1] == "node-7: Ubuntu 24.04, kernel 6.8.0-51-generic, x86_64, profile default"


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (judgement(outcome="pass"), "READY  1 check passed"),
        (judgement(outcome="warn"), "DEGRADED  a message."),
        (judgement(outcome="unknown"), "UNKNOWN  a message."),
    ],
)
def test_each_verdict_has_its_word(one, line):
    assert render(report(one), "text").splitlines()[0] == line


def test_a_report_of_nothing_says_so():
    assert render(report(), "text").startswith("UNKNOWN  Nothing was checked.\n")
    assert render(report(partial=True), "text").startswith("UNKNOWN by the selected checks  None of the selected checks applies here.\n")
    of_several = report(judgement("fabric.ports", outcome="pass", scope="fabric"), partial=True)
    assert render(of_several, "text").startswith("READY by the selected checks")


def test_a_host_without_a_name_is_told_without_one():
    unnamed = report(judgement(outcome="pass"))
    assert not any(line.startswith(":") for line in render(replace(unnamed, host=replace(unnamed.host, hostname="")), "text").splitlines())


def test_scopes_that_differ_get_a_line_each():
    text = render(report(judgement(outcome="pass"), judgement("fabric.ports", scope="fabric")), "text")
    assert text.startswith("READY for single-node jobs  1 check passed\nNOT READY for multi-node jobs  a message.\n")


def test_failures_come_before_warnings_before_unknowns_before_the_summary():
    text = render(
        report(
            judgement("c.c", "unknown", message="could not read (denied: x)"),
            judgement("b.b", "warn"),
            judgement("a.a", "fail", "warning"),
            judgement("z.z", "fail", "critical"),
            judgement("i.i", "fail", "info"),
            judgement("o.o", "off", message="turned off by the profile: known"),
        ),
        "text",
    )
    titles = (
        "BLOCKS JOBS (1 cause, 1 check)",
        "z.z",
        "TO LOOK AT (2 causes, 2 checks)",
        "a.a",
        "b.b",
        "WORTH KNOWING",
        "NOT CHECKED",
        "c.c",
    )
    order = [text.index(part) for part in (*titles, "TURNED OFF")]
    assert order == sorted(order)
    assert text.endswith("\n1 failed, 1 unknown, 2 to look at, 1 worth knowing, 1 off (0.12 s). Why: hostagent checks show z.z\n")


def test_equally_bad_causes_come_in_the_order_that_the_report_gives_then_by_id():
    many = [judgement(name, message=f"{name} failed") for name in ("a.a", "b.b", "c.c", "d.d")]
    text = render(report(*many, reading_order=("c.c", "b.b")), "text")
    assert text.startswith("NOT READY  c.c failed.")
    places = [text.index(f"  {name}  ") for name in ("c.c", "b.b", "a.a", "d.d")]
    assert places == sorted(places)


def test_causes_of_one_check_come_by_their_subjects_as_a_person_counts():
    text = render(report(judgement(subject="mlx5_2", code="a"), judgement(subject="mlx5_10", code="b")), "text")
    assert text.index("device mlx5_2") < text.index("device mlx5_10")


def test_what_a_profile_excepts_is_named():
    one = judgement("nic.link", "off", code="excepted", message="excepted by the profile site.yaml", subject="mlx5_4", subject_kind="nic")
    assert "excepted by the profile site.yaml: nic.link (mlx5_4)" in render(
        report(one, judgement("nic.link", "pass", subject="mlx5_0")), "text"
    )


def test_a_crash_is_told_once_with_where_to_report_it():
    lines = ("hostagent/engine/evaluate.py:1 in _run", f"KeyError: {HOSTILE}")
    crashed = [
        judgement(name, "unknown", code="unread-error", message="could not read (error: x)", evidence=lines) for name in ("a.a", "b.b")
    ]
    own = [
        judgement("c.c", "unknown", subject=pci, code="crashed", message="the check crashed: KeyError", evidence=("KeyError",))
        for pci in GPUS
    ]
    quiet = [judgement("d.d", "unknown", code="unread-denied"), judgement("e.e", "fail", evidence=("seen",)), judgement("f.f", "pass")]
    told = list(tracebacks(report(*crashed, *own, *quiet)))
    assert [text.splitlines()[0] for text in told] == ["a.a, b.b: could not read (error: x)", "c.c: the check crashed: KeyError"]
    assert all("please report it to" in text.splitlines()[-1] for text in told)
    assert "  hostagent/engine/evaluate.py:1 in _run" in told[0]
    assert all(char.isprintable() or char == "\n" for text in told for char in text)


def test_a_finding_shows_what_was_found_where_its_message_does_not_say_it():
    text = render(report(judgement(message="the driver is another one", found="570.1", wanted="580.*")), "text")
    assert "gpu.row_remap  the driver is another one (found 570.1, wanted 580.*)" in text
    assert "found" not in render(report(judgement(message="driver 570.1 is another one", found="570.1", wanted="580.*")), "text")


def test_eight_gpus_with_one_fault_are_one_cause():
    gpus = [judgement(subject=pci, device=f"GPU {at} ({pci})", headline=f"GPU {at} ({pci}) is broken") for at, pci in enumerate(GPUS)]
    text = render(report(*gpus), "text")
    assert text.startswith("NOT READY  GPUs 0 to 7 is broken.")
    assert "BLOCKS JOBS (1 cause, 1 check)" in text
    assert text.count("gpu.row_remap  a message") == 1
    some = [replace(one, outcome="pass", cause=Cause("", "")) if at > 2 else one for at, one in enumerate(gpus)]
    assert "GPUs 0 to 2 is broken" in render(report(*some), "text")


def _reset(at, command="nvidia-smi --gpu-reset -i {}", **fields):
    pci = GPUS[at]
    remedy = (Step("reset_gpu", "Reset the GPU.", command.format(pci)),)
    return judgement(subject=pci, device=f"GPU {at} ({pci})", headline=f"GPU {at} ({pci}) wants a reset", remedy=remedy, **fields)


def test_one_command_resets_all_gpus_whatever_was_found_on_each():
    for fields in ({}, {"found": "{at} times"}):
        gpus = [_reset(at, **{name: text.format(at=at) for name, text in fields.items()}) for at in (5, 2, 3)]
        text = render(report(*gpus), "text")
        assert text.startswith("NOT READY  GPUs 2, 3, 5 wants a reset.")
        assert text.count("nvidia-smi") == 1
        assert f"\n     nvidia-smi --gpu-reset -i {GPUS[2]},{GPUS[3]},{GPUS[5]}\n" in text


def test_a_program_that_takes_one_device_is_run_once_per_device():
    text = render(report(*(_reset(at, "ip link set {} up") for at in (1, 2))), "text")
    assert f"Reset the GPU.\n     ip link set {GPUS[1]} up\n     ip link set {GPUS[2]} up\n" in text


def test_what_follows_is_told_under_its_cause_without_its_remedy():
    cause = Cause("gpu.on_bus", GPUS[0])
    first = judgement("gpu.on_bus", subject=GPUS[0], headline="GPU 0 has gone", remedy=REBOOT)
    then = judgement("gpu.lost", subject=GPUS[0], cause=cause, remedy=(Step("configure", "Do something else."),), message="lost")
    silent = judgement("gpu.temperature", "unknown", subject=GPUS[0], cause=cause, message="could not read (error: 15)")
    text = render(report(then, first, silent), "text")
    assert text.startswith("NOT READY  GPU 0 has gone. Drain the node. Reboot the node.")
    assert "Do something else" not in text
    assert text.index("gpu.on_bus") < text.index("gpu.lost    lost") < text.index("NOT CHECKED")
    assert "BLOCKS JOBS (1 cause, 2 checks)" in text


def test_a_cause_stands_where_its_worst_member_belongs():
    first = judgement("a.a", "warn", "warning", headline="weak")
    text = render(report(first, judgement("b.b", cause=Cause("a.a", ""))), "text")
    assert text.startswith("NOT READY  weak.")
    assert "TO LOOK AT" not in text


def test_steps_are_numbered_and_told_once():
    one, two = judgement("a.a", remedy=REBOOT), judgement("b.b", remedy=(Step("install", "Install it.", "apt-get install x"), *REBOOT))
    back = judgement("c.c", remedy=(Step("replace", "Have the GPU replaced.", if_back=True),))
    text = render(report(one, two, back), "text")
    assert (
        "WHAT TO DO\n  1. Install it.\n     apt-get install x\n  2. Drain the node.\n  3. Reboot the node.\n  4. If it comes back: Have the"
        in text
    )


def test_gpus_that_differ_in_what_was_found_stay_apart():
    text = render(report(judgement(subject=GPUS[0], found="1"), judgement(subject=GPUS[1], found="2")), "text")
    assert "found 1" in text
    assert "found 2" in text


def test_one_reason_that_stops_many_checks_is_told_once():
    many = [judgement(f"a.c{number}", "unknown", "warning", message="could not read (denied: /dev/kmsg)") for number in range(5)]
    whole = report(*many, judgement("z.z", "unknown", "critical", message="could not read (denied: /dev/kmsg)"))
    told = render(whole, "text").split("NOT CHECKED")[1]
    assert told.count("/dev/kmsg") == 1
    assert "6 checks: could not read" in told
    assert "z.z, a.c0, a.c1" in render(whole, "text", verbose=True).split("NOT CHECKED")[1]


@given(reports)
@settings(deadline=None)
def test_every_finding_that_counts_has_its_line(whole):
    text, all_of_it = (render(whole, "text", width=10_000, verbose=verbose) for verbose in (False, True))
    for one in whole.findings:
        if one.outcome in ("fail", "warn") and one.cause.id:
            named = f"{visible(one.id)}  " if one.message.strip() else visible(one.id)
            assert named in (all_of_it if one.severity == "info" else text)


def test_what_was_found_is_shown_although_the_check_could_not_read_the_rest():
    cause = Cause("gpu.row_remap", "")
    found = judgement(outcome="warn", code="bad", message="a row is bad", cause=cause)
    text = render(report(found, judgement(outcome="unknown", code="", message="could not read the others", cause=cause)), "text", width=200)
    assert "TO LOOK AT (1 cause, 1 check)\n  gpu.row_remap  a row is bad\n" in text
    assert "NOT CHECKED  gpu.row_remap: could not read the others\n" in text


@given(reports)
@settings(deadline=None)
def test_the_line_is_one_of_at_most_200_characters(whole):
    line = render(whole, "line")
    assert line.count("\n") == 1
    assert len(line) <= 201
    assert all(char.isprintable() for char in line[:-1])


def test_what_passed_is_shown_only_on_request():
    whole = report(judgement(outcome="pass"), judgement("a.b", "skip", message="does not apply (absent: none)"))
    assert "gpu.row_remap" not in render(whole, "text")
    assert "gpu.row_remap" in render(whole, "text", verbose=True)
    assert "a.b" in render(whole, "text", verbose=True)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"read_from": "image"}, "an image"),
        ({"replayed": True}, "a snapshot"),
        ({"simulated": True}, "a made-up host"),
        ({"partial": True}, "selected checks"),
    ],
)
def test_what_limits_a_verdict_is_said_before_the_findings(fields, words):
    text = render(report(judgement(), **fields), "text")
    assert 0 < text.index(words) < text.index("BLOCKS JOBS")


def test_the_others_passed_only_where_they_passed_something():
    lost = [judgement(name, "unknown", subject=GPUS[0], message="NVML error 15, GPU is lost") for name in ("gpu.a", "gpu.b")]
    spared = [judgement(name, "skip", subject=GPUS[1]) for name in ("gpu.a", "gpu.b")]
    half = [judgement("gpu.a", "pass", subject=GPUS[2]), judgement("gpu.b", "skip", subject=GPUS[2])]
    broken = [judgement("gpu.a", "pass", subject=GPUS[3]), judgement("gpu.b", "warn", subject=GPUS[3])]
    told = {"none": (*lost, *spared), "one": (*lost, *spared, *half, *broken)}
    assert {key: [gap.others for gap in gaps(report(*ones))] for key, ones in told.items()} == {"none": [0], "one": [1]}


def test_colour_is_there_only_when_asked_for_and_changes_no_word():
    whole = report(judgement(), *eight("warn"), judgement("a.b", "unknown"))
    plain, coloured = render(whole, "text"), render(whole, "text", colour=True)
    assert "\x1b" not in plain
    assert coloured.startswith(RED)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


@given(st.integers(40, 200))
@settings(deadline=None)
def test_lines_fit_the_width(width):
    text = render(
        report(*eight(message="several words that have to be wrapped somewhere " * 4, remedy=(Step("none", "one two three "),) * 30)),
        "text",
        width=width,
    )
    assert max(map(len, text.splitlines())) <= width


def test_evidence_is_told_on_request():
    whole = report(judgement(evidence=("a line of the log",)))
    assert "a line of the log" not in render(whole, "text")
    assert "a line of the log" in render(whole, "text", verbose=True)
    assert "a line of the log" in render(whole, "html")


@pytest.mark.parametrize("seconds", [1e30, -1e30, float("nan"), float("inf")])
@pytest.mark.parametrize("form", FORMATS)
def test_any_time_on_a_tape_can_be_rendered(form, seconds):
    assert render(report(observed_at=seconds, valid_until=seconds), form)


def test_visible_text_keeps_letters_of_every_language():
    assert visible("Knoten 7 é 節点") == "Knoten 7 é 節点"
    assert visible(HOSTILE).isprintable()


def test_delivery_replaces_a_file_whole_with_the_mode_asked_for(tmp_path):
    path = tmp_path / "report.prom"
    path.write_text("old")
    deliver("new\n", str(path), mode=0o640)
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["report.prom"], "nothing is left beside it"


def test_delivery_replaces_a_link_and_leaves_its_target_alone(tmp_path):
    (tmp_path / "target").write_text("keep")
    (tmp_path / "link").symlink_to("target")
    deliver("new", str(tmp_path / "link"))
    assert (tmp_path / "target").read_text() == "keep"
    assert (tmp_path / "link").read_text() == "new"


def test_a_failed_delivery_leaves_nothing_behind(tmp_path):
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError, match="directory"):
        deliver("new", str(tmp_path / "directory"))
    assert os.listdir(tmp_path) == ["directory"]
    with pytest.raises(FileNotFoundError):
        deliver("new", str(tmp_path / "none" / "report"))


def test_delivery_writes_into_a_device_and_does_not_replace_it():
    before = os.stat("/dev/null").st_rdev
    deliver("new", "/dev/null")
    assert os.stat("/dev/null").st_rdev == before


def test_delivery_to_standard_output_goes_through_the_pipe():
    program = "from hostagent.core.filewrite import deliver; deliver('x' * 300000, '/dev/stdout')"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, timeout=30)
    assert len(done.stdout) == 300000
    assert os.path.islink("/dev/stdout")


def test_delivery_to_a_pipe_waits_for_a_slow_reader_and_refuses_one_without(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="No such device"):
        deliver("new", str(pipe))
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    while True:
        try:
            deliver("x" * 300000, str(pipe))
            break
        except OSError:
            continue
    reader.join(10)
    assert len(got[0]) == 300000


def test_text_that_is_no_unicode_is_delivered_with_escapes(tmp_path):
    deliver("a\ud800", str(tmp_path / "x"))
    assert (tmp_path / "x").read_text() == "a\\ud800"


def test_delivery_to_standard_output_appends_where_standard_output_appends(tmp_path):
    (tmp_path / "log").write_text("before\n")
    code = "from hostagent.core.filewrite import deliver; deliver('after\\n', '/dev/stdout')"
    with open(tmp_path / "log", "a") as log:
        subprocess.run([sys.executable, "-c", code], stdout=log, check=True)
    assert (tmp_path / "log").read_text() == "before\nafter\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="making a device needs root: run the tests as root")
def test_delivery_never_replaces_or_writes_a_block_device(tmp_path):
    os.mknod(tmp_path / "disk", stat.S_IFBLK | 0o600, os.makedev(7, 200))
    with pytest.raises(OSError, match="block device"):
        deliver("new", str(tmp_path / "disk"))
    assert stat.S_ISBLK(os.stat(tmp_path / "disk").st_mode)
