"""What every attack has to leave standing: `wrongs` lists what did not, in words; empty is held."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import jsonschema

from hostagent.cli.schemas import published
from hostagent.core.vocabulary import VERDICTS
from tests.attack.held_run import LIMIT_KIB

PLACEABLE = ("ready", "degraded")
_HEADS = {"READY": "ready", "DEGRADED": "degraded", "NOT READY": "not_ready", "UNKNOWN": "unknown"}
_LINE_CHARS = 201
_VOID = {"meta", "link", "br", "hr", "img"}
_PAGE = ("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "h1", "h2", "p", "section")
_LISTS = ("ol", "ul", "li", "table", "thead", "tbody", "tr", "td", "th", "pre", "small", "div", "span", "a", "h3", "nav")
_KINDS = {*_PAGE, *_LISTS, "article", "dl", "dt", "dd", "code", "strong", "details", "summary"}
_SAMPLE = re.compile(r'hostagent_[a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (?:[-+]?[0-9.]+(?:e[-+]?[0-9]+)?)')


def wrongs(outcome, form="", *, never=(), codes=(0, 1, 2), tabs=False):
    """`form`: that of a report, "" for a command that judges nothing. `never`: verdicts that are wrong about this host."""
    return [*_process(outcome, codes), *_words(outcome, form, tabs), *(_verdict(outcome, form, never) if form else ())]


def _process(outcome, codes):
    if outcome.code not in codes:
        yield f"exit {outcome.code}"
    if is_traceback(outcome):
        yield f"traceback: {' | '.join(outcome.err.splitlines()[-3:])[-300:]}"
    if crashed := re.search(r"\breading \w+ crashed\b[^\n]{,80}|\bthe (?:check|reading process) crashed\b[^\n]{,80}", outcome.out):
        yield crashed.group()
    if outcome.peak_kib > LIMIT_KIB:
        yield f"{outcome.peak_kib // 1024} MiB"
    if outcome.left:
        yield f"left {outcome.left}"


def is_traceback(outcome):
    return any(word in told for word in ("Traceback", "This is a bug", "Fatal Python") for told in (outcome.out, outcome.err))


def _words(outcome, form, tabs):
    if outcome.code == 2 and not is_traceback(outcome) and not is_one_sentence(outcome):
        yield f"exit 2 in no sentence: {outcome.err[-200:]!r}, and on standard output {outcome.out[:80]!r}"
    for name, text in (("stdout", outcome.out if form in ("", "text") else ""), ("stderr", outcome.err)):
        odd = {char for char in text if not char.isprintable() and char != "\n" and not (tabs and char == "\t")}
        if odd:
            yield f"{name} holds {sorted(odd)!r}"


def is_one_sentence(outcome):
    """A mistake is one sentence that begins with Error, and no report."""
    sentences = [line for line in outcome.err.splitlines() if line.startswith("Error: ")]
    return len(sentences) == 1 and not outcome.out


def _verdict(outcome, form, never):
    if outcome.code not in (0, 1):
        return
    try:
        found = verdict(outcome.out, form)
    except Exception as error:
        yield f"{form}: {type(error).__name__}: {error}"[:300]
        return
    if found in never:
        yield f"wrong verdict {found}"
    if found and (found in PLACEABLE) is not (outcome.code == 0):
        yield f"verdict {found}, exit {outcome.code}"


_SUMMARY = jsonschema.Draft202012Validator(published("summary"))


def verdict(text, form):
    """The single-node verdict that a report tells; raises where it is no lawful document of its form. JUnit and a part tell none."""
    return {"text": _text, "line": _line, "json": _json, "html": _html, "junit": _junit, "prometheus": _prometheus, "summary": _summary}[
        form
    ](text)


def _text(text):
    return _HEADS[re.split(r"  | for | by ", text.replace("\n", " "))[0]]


def _line(text):
    assert len(text.splitlines()) == 1
    assert len(text) <= _LINE_CHARS
    return _HEADS[re.split(r": | by | \(|\n", text)[0]]


def _json(text):
    def refuse(word):
        raise ValueError(word)

    text.encode("ascii")
    report = json.loads(text, parse_constant=refuse)
    json.dumps(report, ensure_ascii=False).encode("utf-8")
    found = report["verdict"]["single_node"]
    assert found in VERDICTS
    return found


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.kinds, self.attributes, self.verdicts, self.is_badge = [], set(), set(), [], False

    def handle_starttag(self, tag, attrs):
        self.kinds.add(tag)
        self.attributes |= {name for name, _ in attrs}
        assert dict(attrs).get("href", "#").startswith("#"), "a report leads to itself alone"
        self.is_badge = self.is_badge or (tag == "strong" and "badge" in dict(attrs).get("class", ""))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_data(self, data):
        if self.is_badge:
            self.verdicts.append(_HEADS[data])
            self.is_badge = False

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}>"


def _html(text):
    page = _Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert page.kinds <= _KINDS, page.kinds
    assert page.attributes <= {"class", "lang", "charset", "name", "content", "http-equiv", "id", "href", "data-of"}, page.attributes
    text.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    return page.verdicts[0]


def _junit(text):
    suites = ET.fromstring(text.encode("utf-8"))
    kinds = {one.tag for one in suites.iter()}
    assert kinds <= {"testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"}, kinds
    assert len(list(suites.iter("testcase"))) == int(suites.get("tests"))
    assert not re.search(r"[\x1b\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    return ""


def _prometheus(text):
    assert text.endswith("\n")
    samples = [line for line in text[:-1].split("\n") if not line.startswith("# ")]
    odd = [line for line in samples if not _SAMPLE.fullmatch(line)]
    assert not odd, odd[:2]
    text.encode("utf-8")
    found = [word for word in VERDICTS if f'hostagent_verdict{{scope="single_node",verdict="{word}"}} 1' in samples]
    assert len(found) == 1, found
    return found[0]


def _summary(text):
    assert len(text.splitlines()) == 1
    assert len(text.encode("utf-8")) <= 4097
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    summary = json.loads(text, parse_constant=int)
    _SUMMARY.validate(summary)
    return summary["verdict"]["single_node"]
