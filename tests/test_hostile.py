"""Hostile evidence: whatever a host answers, the run ends with a report, and garbage never makes anything pass."""

import contextlib
import inspect
import json
import os
import random
import re
import shlex
import typing
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.core.steps import Step
from hostagent.core.unread import Unread, UnreadError
from hostagent.engine import catalogue
from hostagent.engine.check import check, fail
from hostagent.engine.collect import ALL_READERS, collect
from hostagent.engine.evaluate import evaluate
from hostagent.engine.report import HostIdentity
from hostagent.facts.host import Identity
from hostagent.facts.hostfacts import HostFacts
from hostagent.host import recording
from hostagent.host.source import Source
from hostagent.outputs import FORMATS, render
from hostagent.profiles import profile
from tests.cpu import within
from tests.damage import JUNK, mutated, with_another_value
from tests.judged import judged
from tests.parsers import PARSERS, PIECES
from tests.test_redacted_judgement import RAIL, rails
from tests.unit.reports import ATTRIBUTES, SAMPLE, TAGS, Tags, judgement
from tests.unit.reports import report as a_report

HGX = Path(__file__).parent / "hosts/hgx-h100-ubuntu2404"
HOSTS = sorted(path.parent for path in Path(__file__).parent.glob("hosts/*/tape.json"))
_IDENTITY = Identity("node-7", "8f2e", 1.0, "6.8", simulated=False, as_root=True)
LOADED = profile.load("default", site_file="")
CHECKS = catalogue.load(LOADED.profile.catalogues)


TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=12).map("".join) | st.text(max_size=300)
BYTES = st.binary(max_size=400) | TEXTS.map(str.encode) | st.binary(max_size=60).map(lambda tail: b"\x7fELF\x02\x01\x01" + tail)


#: Of each parser: more in ``make fuzz``.
EXAMPLES = 60 if settings().derandomize else 300


@pytest.mark.parametrize("name", sorted(PARSERS))
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_parser_survives_any_text(name, data):
    function = PARSERS[name]
    hints = typing.get_type_hints(function)
    arguments = {}
    for parameter in inspect.signature(function).parameters.values():
        strategy = _strategy(hints.get(parameter.name))
        if strategy is None:
            if parameter.default is inspect.Parameter.empty:
                pytest.skip(f"{name} takes {hints.get(parameter.name)}: its own tests cover it")
            continue
        arguments[parameter.name] = data.draw(strategy)
    _ends(function, arguments)


@within(2)
def _ends(function, arguments):
    try:
        result = function(**arguments)
        if inspect.isgenerator(result):
            list(result)
    except (ValueError, UnreadError):
        pass


def _strategy(kind):
    if kind is str:
        return TEXTS
    if kind is bytes:
        return BYTES
    if typing.get_origin(kind) is not None and typing.get_args(kind)[:1] == (str,):
        return st.lists(TEXTS, max_size=4).map(tuple)
    return {int: st.integers(-5, 10**6), bool: st.booleans(), float: st.floats(0, 1e10)}.get(kind)


HEAD = '{"schema_version": 1, "recorded_by": "a", "recorded_at": 1, "kind": "live", "redacted": true, "answers": {'
TAPES = BYTES | (st.lists(st.sampled_from([*PIECES, '"read /a": ', '{"text": "a"}', '{"json": 1}', "}}"])).map("".join)).map(
    lambda rest: (HEAD + rest).encode()
)


@given(TAPES)
@within(2)
def test_a_snapshot_of_any_bytes_is_loaded_or_refused_in_a_sentence(data):
    descriptor = os.memfd_create("tape")
    try:
        os.write(descriptor, data)
        with contextlib.suppress(HostagentError):
            recording.load(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _refuse_crashes(fact):
    assert not (isinstance(fact.value, Unread) and "crashed" in fact.value.detail), fact


def _judge(answers, host):
    original = recording.load(str(host))
    replay = recording.ReplayBackend(recording.Tape(1, "test", 0.0, original.kind, False, answers))
    facts, _ = collect(Source(replay), ALL_READERS, on_fact=_refuse_crashes)
    judgements = evaluate(CHECKS, facts, LOADED.profile)
    crashed = [one for one in judgements if one.code == "crashed"]
    assert not crashed, crashed
    return judgements


@pytest.mark.parametrize("host", HOSTS, ids=lambda path: path.name)
def test_a_host_whose_answers_are_damaged_still_gets_a_report(host):
    rng = random.Random(host.name)
    answers = dict(recording.load(str(host)).answers)
    questions = sorted(answers)
    for _ in range(150 if os.environ.get("ATTACK") else 10):
        chosen = rng.sample(questions, k=min(len(questions), rng.choice([1, 2, 5, 40])))
        _judge({**answers, **{question: mutated(answers[question], rng) for question in chosen}}, host)


def test_answers_about_cards_that_are_damaged_still_give_a_report():
    """Of two lanes, with values that are deep inside."""
    rng = random.Random(7)
    answers = {**recording.load(str(HGX)).answers, **rails([{**RAIL, "mac": bytes([2, 0, 0, 0, 0, at])} for at in range(3)])}
    asked = sorted(question for question in answers if question.startswith(("rdma ", "network ", "pci_controls ")))
    for _ in range(600 if os.environ.get("ATTACK") else 60):
        damaged = {question: {"json": with_another_value(answers[question]["json"], rng)} for question in rng.sample(asked, k=rng.choice([1, 2, 9]))
                   if "json" in answers[question]}  # fmt: skip
        _judge({**answers, **damaged}, HGX)


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: json.dumps(junk)[:24])
def test_a_host_that_answers_everything_with_one_piece_of_junk_passes_nothing_that_needs_evidence(junk):
    host = HOSTS[0]
    judgements = _judge(dict.fromkeys(recording.load(str(host)).answers, junk), host)
    verdict = [one for one in judgements if one.severity == "critical" and one.outcome in ("fail", "unknown")]
    assert verdict, "junk was judged ready"


def test_a_report_of_junk_can_still_be_rendered(tmp_path):
    answers = {question: {"json": {"lines": ["\x1b[2J"]}} for question in recording.load(str(HOSTS[0])).answers}
    report = judged(recording.ReplayBackend(recording.Tape(1, "test", 0.0, "live", False, answers)), LOADED)
    for form in FORMATS:
        assert "\x1b" not in render(report, form)


#: What breaks out of a terminal, of HTML, of XML, of Prometheus, of JSON, of a template, of a shell and of a line; the last is long.
HOSTILE = (
    "\x1b[2J\x1b]0;pwned\x07", "\r\x08\x7f", "a\nb\u2028c\x85d", "\u202eevil\u2066", "\u200f\u200b\ufeff", "\ud800", "\x9b31m", "</title><script>alert(1)</script>",
    '" onmouseover="alert(1)', "' style='position:fixed'", "<!--", "]]><![CDATA[", "&amp;&lt;&#0;", "{found}{wanted}{device}{0}{found.__class__}", "%s%n", "$(reboot) `reboot` ; reboot",
    '"} 1\nhostagent_ready{scope="single_node"} 1\n#', "\\", "javascript:alert(1)", "x" * 10_000, "' '" * 500,
)  # fmt: skip


def _poisoned(value, poison):
    """Every text of an answer with something hostile behind it."""
    if isinstance(value, str):
        return value + poison
    if isinstance(value, list):
        return [_poisoned(one, poison) for one in value]
    return {key: _poisoned(one, poison) for key, one in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("poison", HOSTILE, ids=lambda text: ascii(text[:24]))
@pytest.mark.parametrize("name", ["hgx-h100-gpu-off-the-bus", "kubeadm-beside-docker", "no-gpu-vm"])
def test_a_host_that_says_hostile_things_is_harmless_in_every_format(name, poison):
    recorded = recording.load(str(Path(__file__).parent / "hosts" / name))
    rng = random.Random(f"{name} {poison!r}")
    answers = {question: _answer(answer, poison) if rng.random() < 0.3 else answer for question, answer in recorded.answers.items()}
    report = judged(recording.ReplayBackend(replace(recorded, answers=answers)), LOADED)
    for verbose in (False, True):
        assert_harmless(report, verbose=verbose)


def _answer(answer, poison):
    return {key: _poisoned(value, poison) if key in ("text", "json", "detail") else value for key, value in answer.items()}


def assert_harmless(report, **look):
    shown = {form: render(report, form, **(look if form == "text" else {})) for form in FORMATS}
    for form, text in shown.items():
        assert all(char.isprintable() or char == "\n" for char in text), form
        text.encode("utf-8")
    page = Tags(shown["html"])
    assert not page.open
    assert page.seen <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert all(link.startswith("#") for link in page.links)
    assert len(ET.fromstring(shown["junit"]).findall(".//testcase")) >= len(report.findings)
    assert json.loads(shown["json"])["verdict"] == {"single_node": report.verdict.single_node, "multi_node": report.verdict.multi_node}
    samples = [line for line in shown["prometheus"].splitlines() if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in samples)
    assert len([line for line in samples if line.startswith('hostagent_ready{scope="single_node"}')]) == 1
    assert shown["line"].count("\n") == 1
    assert len(shown["line"]) <= 201


@pytest.mark.parametrize("poison", HOSTILE, ids=lambda text: ascii(text[:24]))
def test_every_field_of_a_finding_may_be_hostile_in_every_format(poison):
    texts = dict.fromkeys(("id", "subject", "subject_kind", "device", "code", "message", "found", "wanted", "headline", "unread"), poison)
    step = Step("install", poison, poison)
    outcomes = ("fail", "warn", "unknown", "skip", "off", "pass")
    findings = [judgement(outcome=one, remedy=(step,), evidence=(poison, poison), **{**texts, "id": f"a.b{poison}"}) for one in outcomes]
    facts = {"gpus": [{"name": poison, "uuid": poison, "pci": poison}], "driver": {"loaded": poison}, "runtimes": [{"kind": poison}]}
    assert_harmless(
        a_report(*findings, host=HostIdentity(*[poison] * 5), facts=facts, boot_id=poison, reading_order=(poison,)), verbose=True
    )


@pytest.mark.parametrize("poison", [one for one in HOSTILE if len(one) < 400], ids=lambda text: ascii(text[:24]))
def test_what_is_shown_is_what_was_said(poison):
    """Escaped for the format and made visible, no more: a reader of each format finds the same words."""
    report = a_report(judgement(message=poison, headline="It broke"))
    said = visible(poison)
    assert said in Tags(render(report, "html")).text
    assert said.split() == render(report, "text", width=10_000).partition("gpu.row_remap  ")[2].partition("\n")[0].split()
    assert said in ET.fromstring(render(report, "junit")).find(".//failure").text
    assert json.loads(render(report, "json"))["findings"][0]["message"] == poison.encode("utf-8", "backslashreplace").decode()
    host = a_report(judgement(), facts={"driver": {"loaded": poison}})
    label = re.search(r'driver="((?:[^"\\]|\\.)*)"', render(host, "prometheus"))[1]
    assert re.sub(r"\\(.)", r"\1", label) == said


@pytest.mark.parametrize("found", HOSTILE, ids=lambda text: ascii(text[:24]))
def test_a_headline_fills_in_each_word_once(found):
    @check(title="It holds", severity="critical", since="0.1", remedy="", headline="{device} has {found}, not {wanted}")
    def hostile(identity: Identity):
        yield fail("broken", code="broken", found=found, wanted="{found}")

    told = evaluate([hostile._replace(id="a.hostile")], HostFacts({Identity: _IDENTITY}), LOADED.profile)[0].headline
    assert told.startswith(visible(" ".join(f"this host has {found[:50]}".split()))[:60])
    assert told.endswith("not {found}") or len(told) == 90
    assert len(told) <= 90


@frozen(subject="name", called="disk")
class Disk:
    name: str


def test_a_command_names_its_device_and_runs_nothing_else():
    @check(title="It holds", severity="critical", since="0.1", remedy=(Step("configure", "Look at it.", "look at {subject}"),))
    def hostile(disk: Disk):
        yield fail("broken", code="broken")

    odd = "a; $(reboot) `reboot` 'b'"
    found = evaluate([hostile._replace(id="a.hostile")], HostFacts({Disk: (Disk(odd),)}), LOADED.profile)[0]
    assert shlex.split(found.remedy[0].command) == ["look", "at", odd]
