"""Reports for the tests of what is made of a report."""

import html.parser
import re
from dataclasses import replace

from hypothesis import strategies as st

from hostagent.core.steps import Step
from hostagent.core.vocabulary import ACTIONS
from hostagent.engine.report import (
    SCHEMA_VERSION,
    Cause,
    HostIdentity,
    Judgement,
    ProfileIdentity,
    Report,
    Tool,
    coverage,
    security,
    verdicts,
)
from hostagent.engine.report.grouping import with_headline

HOSTILE = "a\x00\x1b[2J\u202e<script>&\"'\\\n]]>\ud800\u2028é"
GPUS = tuple(f"0000:{bus:02x}:00.0" for bus in range(0x10, 0x18))


def judgement(check="gpu.row_remap", outcome="fail", severity="critical", **fields):
    """One that is its own cause, of a device by its address."""
    base = {
        "id": check, "outcome": outcome, "severity": severity, "scope": "node", "axis": "fitness", "subject": "", "subject_kind": "",
        "device": "", "code": "code", "message": "a message", "found": "", "wanted": "", "headline": "", "action": "none", "remedy": (),
        "evidence": (), "unread": "",
    }  # fmt: skip
    one = Judgement(**{**base, **fields})
    named = replace(one, device=one.device or (f"device {one.subject}" if one.subject else ""))
    return replace(named, cause=Cause(one.id, one.subject) if not one.cause.id and outcome in ("fail", "warn", "unknown") else one.cause)


def report(*judgements, **fields):
    whole = Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool("hostagent", "0.1"),
        observed_at=1_780_000_000.0,
        valid_until=1_780_000_900.0,
        observed_at_iso="2026-05-28T20:26:40Z",
        valid_until_iso="2026-05-28T20:41:40Z",
        boot_id="8f2e",
        read_from="live",
        replayed=False,
        simulated=False,
        partial=False,
        host=HostIdentity("node-7", "Ubuntu 24.04", "6.8.0-51-generic", "x86_64", ""),
        profile=ProfileIdentity("default", "0123456789abcdef", {"driver.version": "default"}),
        verdict=verdicts(judgements),
        headline="",
        action="none",
        findings=judgements,
        reading_order=(),
        coverage=coverage(judgements),
        security=security(judgements, "advisory"),
        facts={},
        cages={},
        timings_ms={"total": 120.0},
    )
    return with_headline(replace(whole, **fields))


texts = st.one_of(st.text(max_size=30), st.just(HOSTILE))
judgements = st.builds(
    Judgement,
    id=st.sampled_from(["gpu.row_remap", "driver.loaded", "host.disk", "acme_checks.gpu.burn", "cdi.specs"]),
    outcome=st.sampled_from(["pass", "warn", "fail", "unknown", "skip", "off"]),
    severity=st.sampled_from(["critical", "warning", "info"]),
    scope=st.sampled_from(["node", "fabric"]),
    subject=st.one_of(st.just(""), st.sampled_from(GPUS), texts),
    subject_kind=st.sampled_from(["", "gpu", "rdma_port"]),
    axis=st.sampled_from(["fitness", "security"]),
    unread=st.just(""),
    code=texts,
    message=texts,
    found=texts,
    wanted=texts,
    device=texts,
    headline=texts,
    action=st.sampled_from(ACTIONS),
    remedy=st.lists(st.builds(Step, st.sampled_from(ACTIONS), texts, texts, st.booleans()), max_size=2).map(tuple),
    cause=st.one_of(st.just(Cause("", "")), st.builds(Cause, st.sampled_from(["gpu.row_remap", "driver.loaded"]), st.just(""))),
    evidence=st.lists(texts, max_size=5).map(tuple),
)
reports = st.lists(judgements, max_size=12).map(lambda many: report(*many, host=HostIdentity(HOSTILE, HOSTILE, "", HOSTILE, HOSTILE)))

#: A line of Prometheus' text format.
SAMPLE = re.compile(r'hostagent_[a-z_]+(\{([a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? \S+')
#: What a page is made of.
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "footer", "h1", "h2", "h3", "p", "div", "span", "small", "a",
    "article", "strong", "code", "details", "summary", "ol", "ul", "li", "pre", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES = {"lang", "charset", "http-equiv", "name", "content", "class", "id", "href", "data-of"}


class Tags(html.parser.HTMLParser):
    """The tags of a page, whether they nest, its links and its places."""

    VOID = ("meta",)

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.links, self.places, self.attributes, self.text = [], set(), [], [], set(), ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name == "href"]
        self.places += [value for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
