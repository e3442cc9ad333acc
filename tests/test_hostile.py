"""Hostile evidence: whatever a host answers, the run ends with a report, and garbage never makes anything pass."""

import contextlib
import inspect
import json
import os
import random
import typing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostagent import catalogue, profile
from hostagent.collect import collect
from hostagent.errors import HostagentError
from hostagent.evaluate import evaluate
from hostagent.facts.unread import Unread, UnreadError
from hostagent.source import Source, tape
from tests.cpu import within
from tests.judged import judged
from tests.parsers import PARSERS, PIECES

HOSTS = sorted(path.parent for path in Path(__file__).parent.glob("hosts/*/tape.json"))
LOADED = profile.load("default", site_file="")
CHECKS = catalogue.load(LOADED.profile.catalogues)


TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=12).map("".join) | st.text(max_size=300)
BYTES = st.binary(max_size=400) | TEXTS.map(str.encode) | st.binary(max_size=60).map(lambda tail: b"\x7fELF\x02\x01\x01" + tail)


@pytest.mark.parametrize("name", sorted(PARSERS))
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@within(2)
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
            tape.load(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


JUNK = [
    {"text": ""}, {"text": "\0\0"}, {"base64": "//79AAH//w=="}, {"json": None}, {"json": True}, {"json": -1}, {"json": []}, {"json": {}}, {"json": [1]},
    {"json": [{}]}, {"json": {"lines": 3}}, {"json": "NaN"}, {"json": 1e308}, {"text": "[" * 5000}, {"text": "{" * 5000}, {"text": "a: " * 3000},
    {"text": "=" * 20000}, {"nonsense": 1}, 7, None, {"unread": "error", "detail": "x"}, {"unread": "timeout", "detail": "x"}, {"unread": "made-up", "detail": ""},
]  # fmt: skip


def _mutated(encoded, rng):
    """The answer truncated, doubled, with a byte turned, or of another kind altogether."""
    kind = rng.randrange(5)
    if isinstance(encoded, dict) and isinstance(encoded.get("text"), str) and encoded["text"] and kind < 4:
        text = encoded["text"]
        at = rng.randrange(len(text))
        return {"text": [text[:at], text + text, text[:at] + rng.choice("\0\n=\"'[{]}:,~") + text[at + 1 :], text[at:]][kind]}
    if isinstance(encoded, dict) and isinstance(encoded.get("json"), dict) and encoded["json"] and kind < 3:
        changed = dict(encoded["json"])
        key = rng.choice(sorted(changed))
        if kind == 0:
            del changed[key]
        else:
            changed[key] = rng.choice([None, -1, "x", [], {}, 1e300, "9" * 300])
        return {"json": changed}
    return rng.choice(JUNK)


def _refuse_crashes(name, value, _):
    assert not (isinstance(value, Unread) and "crashed" in value.detail), f"{name}: {value!r}"


def _judge(answers, host):
    original = tape.load(str(host))
    replay = tape.ReplayBackend(tape.Tape(1, "test", 0.0, original.kind, False, answers))
    facts, _ = collect(Source(replay), told=_refuse_crashes)
    judgements = evaluate(CHECKS, facts, LOADED.profile)
    crashed = [one for one in judgements if one.code == "crashed"]
    assert not crashed, crashed
    return judgements


@pytest.mark.parametrize("host", HOSTS, ids=lambda path: path.name)
def test_a_host_whose_answers_are_damaged_still_gets_a_report(host):
    rng = random.Random(host.name)
    answers = dict(tape.load(str(host)).answers)
    questions = sorted(answers)
    for _ in range(150 if os.environ.get("ATTACK") else 30):
        chosen = rng.sample(questions, k=min(len(questions), rng.choice([1, 2, 5, 40])))
        _judge({**answers, **{question: _mutated(answers[question], rng) for question in chosen}}, host)


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: json.dumps(junk)[:24])
def test_a_host_that_answers_everything_with_one_piece_of_junk_passes_nothing_that_needs_evidence(junk):
    host = HOSTS[0]
    judgements = _judge(dict.fromkeys(tape.load(str(host)).answers, junk), host)
    verdict = [one for one in judgements if one.severity == "critical" and one.outcome in ("fail", "unknown")]
    assert verdict, "junk was judged ready"


def test_a_report_of_junk_can_still_be_rendered(tmp_path):
    from hostagent.sinks import FORMATS, render

    answers = {question: {"json": {"lines": ["\x1b[2J"]}} for question in tape.load(str(HOSTS[0])).answers}
    report = judged(tape.ReplayBackend(tape.Tape(1, "test", 0.0, "live", False, answers)), LOADED)
    for form in FORMATS:
        assert "\x1b" not in render(report, form)
