"""The pipeline on one screen: source, facts, checks, report."""

import time
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from hostagent import __version__
from hostagent.core.unread import Unread
from hostagent.engine import catalogue
from hostagent.engine.check import Check
from hostagent.engine.collect import HEAD, READERS
from hostagent.engine.collection import Collected, Reading
from hostagent.engine.evaluate import concluded, judge_each
from hostagent.engine.report import SCHEMA_VERSION, HostIdentity, ProfileIdentity, Report, Tool, coverage, security, verdicts
from hostagent.engine.report.facts import report_facts
from hostagent.engine.report.grouping import with_headline
from hostagent.engine.report.times import iso
from hostagent.engine.result_cache import ResultCache
from hostagent.facts.host import Identity
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.platform import Platform
from hostagent.host.policy import Policy
from hostagent.profiles.profile import Loaded


class Prepared(NamedTuple):
    """Profile, checks and fact types of a pass: prepared once per profile, used for any number of passes."""

    loaded: Loaded
    checks: tuple[Check, ...]
    kinds: tuple[str, ...]  # names of the fact types that they need, and of those that the report's head needs
    partial: bool
    took_ms: float


def prepare(loaded: Loaded, only: Iterable[str] = (), skip: Iterable[str] = ()) -> Prepared:
    """Catalogue and inputs of the profile's checks, of those that `only` names, without those that `skip` names. Raises ``HostagentError``.

    Warnings about the profile are in ``Prepared.loaded.warnings``.
    """
    started = time.perf_counter()
    only, skip = tuple(only), tuple(skip)
    checks = catalogue.load(loaded.profile.catalogues, readable=READERS)
    loaded = catalogue.refuse_unknown_ids(checks, loaded)
    chosen = catalogue.select(checks, only) if only else checks
    left_out = {one.id for one in catalogue.select(checks, skip)} if skip else set()
    chosen = tuple(one for one in chosen if one.id not in left_out)
    is_partial = bool(only or skip)
    kinds = (*HEAD, *(kind.__name__ for one in chosen for kind in one.inputs.kinds)) if is_partial else tuple(READERS)
    return Prepared(loaded, chosen, tuple(dict.fromkeys(kinds)), is_partial, _ms_since(started))


def examine(reading: Reading, prepared: Prepared, node_name: str = "") -> Report:
    """One pass: read the host, judge it by the profile, report. `node_name`: its name in schedulers, "" for its host name."""
    return judge(reading.collect(policy_of(prepared)), reading, prepared, node_name)


def policy_of(prepared: Prepared) -> Policy:
    """Settings of the profile that readers need."""
    profile = prepared.loaded.profile
    configz = profile.kubelet.configz
    return Policy(
        nvml_optional=profile.nvml == "optional",
        configz=(configz.address, configz.ca, configz.token_file),
        verbs_optional=profile.verbs == "optional",
        pci_optional=profile.pci_configuration == "optional",
    )


def judge(collected: Collected, reading: Reading, prepared: Prepared, node_name: str = "", cache: ResultCache | None = None) -> Report:
    """The report about the collected facts. `cache`: results of earlier passes."""
    started, facts, loaded = time.perf_counter(), collected.facts, prepared.loaded
    if cache:
        cache.begin(facts)
    judged = judge_each(prepared.checks, facts, loaded.profile, origins=loaded.origins, cache=cache)
    judgements = concluded(prepared.checks, judged, facts)
    compute = partial(report_facts, hcas=loaded.profile.rdma.hcas)
    host_facts = cache.computed(loaded.profile, compute) if cache else compute(facts)
    took_ms = {**collected.timings_ms, "catalogue": prepared.took_ms, "evaluate": _ms_since(started), "total": _ms_since(reading.started)}
    observed_at = _known(facts, Identity, "now", reading.recorded_at)
    expires = observed_at + loaded.profile.report.valid_for_s
    whole = Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool("hostagent", __version__),
        observed_at=observed_at,
        valid_until=expires,
        observed_at_iso=iso(observed_at),
        valid_until_iso=iso(expires),
        boot_id=_known(facts, Identity, "boot_id", ""),
        read_from=facts.kind,
        replayed=reading.replayed,
        simulated=_known(facts, Identity, "simulated", False),
        partial=prepared.partial,
        host=_identity(facts, node_name),
        profile=ProfileIdentity(loaded.title, loaded.digest, loaded.origins),
        verdict=verdicts(judgements),
        headline="",
        action="none",
        findings=judgements,
        reading_order=catalogue.reading_order(prepared.checks),
        coverage=coverage(judgements),
        security=security(judgements, loaded.profile.security),
        facts=host_facts,
        cages=reading.cages,
        timings_ms=took_ms,
    )
    return with_headline(whole)


def _identity(facts: HostFacts, node_name: str) -> HostIdentity:
    hostname = _known(facts, Identity, "hostname", "")
    return HostIdentity(
        hostname=hostname,
        os=_known(facts, Os, "pretty_name", ""),
        kernel=_known(facts, Kernel, "release", _known(facts, Identity, "kernel", "")),
        arch=_known(facts, Os, "arch", ""),
        platform=_known(facts, Platform, "name", ""),
        node_name=node_name or hostname.lower(),  # as the kubelet makes it of the host name
    )


def _known(facts: HostFacts, kind: type, name: str, unread: Any) -> Any:
    """A fact for the report's head, or the default where it could not be read."""
    fact = facts.of(kind)
    value = fact if isinstance(fact, Unread) else getattr(fact, name)
    return unread if isinstance(value, Unread) else value


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
