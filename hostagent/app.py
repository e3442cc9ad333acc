"""The pipeline on one screen: source, facts, checks, report."""

import time
from collections.abc import Iterable
from typing import Any

from hostagent import __version__, catalogue
from hostagent.collect import READERS, collect
from hostagent.evaluate import evaluate
from hostagent.facts.host import HostFacts
from hostagent.facts.system import Kernel, Machine, Os
from hostagent.facts.unread import Unread
from hostagent.profile import Loaded
from hostagent.report import SCHEMA_VERSION, HostIdentity, ProfileIdentity, Report, Tool, coverage, verdicts
from hostagent.reportfacts import report_facts
from hostagent.source import Source
from hostagent.source.base import Backend


def examine(reading: Backend, loaded: Loaded, only: Iterable[str] = (), *, replayed: bool = False) -> Report:
    """Read the host, judge it by the profile, report. Closes the backend."""
    only = tuple(only)
    started = time.perf_counter()
    try:
        checks = catalogue.load(loaded.profile.catalogues)
        catalogue.refuse_unknown_ids(checks, loaded)
        chosen = catalogue.select(checks, only) if only else checks
        loading = time.perf_counter()
        facts, timings_ms = collect(Source(reading), READERS)
    finally:
        reading.close()
    judging = time.perf_counter()
    judgements = evaluate(chosen, facts, loaded.profile, origins=loaded.origins)
    timings_ms["catalogue"] = round((loading - started) * 1000, 3)
    timings_ms["evaluate"] = round((time.perf_counter() - judging) * 1000, 3)
    timings_ms["total"] = round((time.perf_counter() - started) * 1000, 3)
    observed_at = _field(facts, Machine, "now", time.time())
    return Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool("hostagent", __version__),
        observed_at=observed_at,
        valid_until=observed_at + loaded.profile.report.valid_for_s,
        boot_id=_field(facts, Machine, "boot_id", ""),
        evidence=facts.kind,
        replayed=replayed,
        partial=bool(only),
        host=_identity(facts),
        profile=ProfileIdentity(loaded.title, loaded.digest, loaded.origins),
        verdict=verdicts(judgements),
        findings=judgements,
        reading_order=catalogue.reading_order(chosen),
        coverage=coverage(judgements),
        facts=report_facts(facts),
        timings_ms=timings_ms,
    )


def _identity(facts: HostFacts) -> HostIdentity:
    return HostIdentity(
        hostname=_field(facts, Machine, "hostname", ""),
        os=_field(facts, Os, "pretty_name", ""),
        kernel=_field(facts, Kernel, "release", ""),
        arch=_field(facts, Os, "arch", ""),
    )


def _field(facts: HostFacts, kind: type, name: str, unread: Any) -> Any:
    """A fact for the report's head, where "" and the agent's own clock stand for what could not be read."""
    fact = facts.of(kind)
    value = fact if isinstance(fact, Unread) else getattr(fact, name)
    return unread if isinstance(value, Unread) else value
