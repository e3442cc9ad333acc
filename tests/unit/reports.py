"""Reports for the tests of what is made of a report."""

from dataclasses import replace

from hypothesis import strategies as st

from hostagent.report import (
    SCHEMA_VERSION,
    HostIdentity,
    Judgement,
    ProfileIdentity,
    Report,
    Tool,
    coverage,
    security,
    verdicts,
)

HOSTILE = "a\x00\x1b[2J\u202e<script>&\"'\\\n]]>\ud800\u2028é"
GPUS = tuple(f"0000:{bus:02x}:00.0" for bus in range(0x10, 0x18))


def judgement(check="gpu.row_remap", outcome="fail", severity="critical", **fields):
    one = Judgement(check, outcome, severity, "node", "fitness", "", "", "code", "a message", "", "", "", (), "")
    return replace(one, **fields)


def report(*judgements, **fields):
    whole = Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool("hostagent", "0.1"),
        observed_at=1_780_000_000.0,
        valid_until=1_780_000_900.0,
        boot_id="8f2e",
        evidence="live",
        replayed=False,
        simulated=False,
        partial=False,
        host=HostIdentity("node-7", "Ubuntu 24.04", "6.8.0-51-generic", "x86_64"),
        profile=ProfileIdentity("default", "0123456789abcdef", {"driver.version": "default"}),
        verdict=verdicts(judgements),
        findings=judgements,
        reading_order=(),
        coverage=coverage(judgements),
        security=security(judgements, "advisory"),
        facts={},
        cages={},
        timings_ms={"total": 120.0},
    )
    return replace(whole, **fields)


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
    remediation=texts,
    evidence=st.lists(texts, max_size=5).map(tuple),
)
reports = st.lists(judgements, max_size=12).map(lambda many: report(*many, host=HostIdentity(HOSTILE, HOSTILE, "", HOSTILE)))
