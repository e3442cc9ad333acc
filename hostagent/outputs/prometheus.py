"""The report as a textfile for the node exporter: no timestamps, no label of the node's own, bounded label values."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hostagent.core.vocabulary import VERDICTS
from hostagent.engine.report import PLACEABLE, Report
from hostagent.engine.report.devices import address_of, uuids
from hostagent.engine.report.host_coverage import coverage_of_report
from hostagent.outputs.digest import short

Sample = tuple[Mapping[str, str], float]
#: Outcomes with a series for each judgement.
NOT_WELL = ("fail", "warn", "unknown")


def render_prometheus(report: Report, *, named: bool = False) -> str:
    """Text exposition format. A scope is ready (1) when its verdict lets a job be placed: ready or degraded. `named`: a device that is not
    well is named by PCI address and UUID, which is more series than a text file should have, and a number that identifies the board.
    """
    total = report.coverage
    coverage = (("judged", total.judged), ("unknown", total.unknown), ("skipped", total.skipped), ("off", total.off))
    profile = {"name": report.profile.name, "hash": report.profile.hash}
    seen = coverage_of_report(report)
    families = [
        family("build_info", "The agent that wrote this file.", [({"version": report.tool.version}, 1)]),
        family("profile_info", "The profile that the host was checked by.", [(profile, 1)]),
        family("inventory_info", "Versions the host has; empty where unread.", [(_inventory(report.facts), 1)]),
        *(() if report.partial else _verdicts(report)),
        *([family("coverage_info", "What could not be read here; full: nothing is missing.", [({"coverage": seen}, 1)])] if seen else []),
        family(
            "check_judgements",
            "Findings of each check by outcome; several where it looks at several devices.",
            _judgements(report, named=named),
        ),
        family("checks", "Checks by what came of them.", [({"state": name}, count) for name, count in coverage]),
        family("security_advisories", "Known security faults of the versions that the host has.", [({}, report.security.advisories)]),
        family("report_partial", "Whether only some checks were asked for.", [({}, report.partial)]),
        family("last_run_timestamp_seconds", "When the host was read.", [({}, report.observed_at)]),
        family("valid_until_timestamp_seconds", "When the verdict becomes stale.", [({}, report.valid_until)]),
    ]
    if "total" in report.timings_ms:
        families.append(family("run_duration_seconds", "How long the run took.", [({}, report.timings_ms["total"] / 1000)]))
    return "".join(families)


def _verdicts(report: Report) -> tuple[str, ...]:
    """Verdicts; none of a partial report, because selected checks do not decide whether a job may be placed."""
    scopes = (("single_node", report.verdict.single_node), ("multi_node", report.verdict.multi_node))
    ready = [({"scope": name}, verdict in PLACEABLE) for name, verdict in scopes]
    each = [({"scope": name, "verdict": word}, word == verdict) for name, verdict in scopes for word in VERDICTS]
    return family("ready", "Whether a job may be placed.", ready), family("verdict", "The verdict of each scope, one of which is 1.", each)


def _judgements(report: Report, *, named: bool) -> list[Sample]:
    """Series of judgements; healthy ones are counted over all devices."""
    known = uuids(report.facts)
    counts: Counter[tuple[str, ...]] = Counter()
    for one in report.findings:
        pci = address_of(one.subject, one.device) if named and one.outcome in NOT_WELL else ""
        counts[one.id, one.severity, one.scope, one.outcome, pci] += 1
    return [
        (
            {
                "check": name,
                "severity": severity,
                "scope": scope,
                "outcome": outcome,
                **({"pci": pci, "uuid": known.get(pci, "")} if pci else {}),
            },
            count,
        )
        for (name, severity, scope, outcome, pci), count in sorted(counts.items())
    ]


def _inventory(facts: Mapping[str, Any]) -> dict[str, str]:
    paths = {"driver": ("driver", "loaded"), "toolkit": ("toolkit", "version")}
    found = {name: _text(facts.get(part), field) for name, (part, field) in paths.items()}
    gpus = facts.get("gpus")
    names = {_text(gpu, "name") for gpu in gpus} if isinstance(gpus, list) else set()
    return {**found, "gpu": ", ".join(sorted(names - {""}))}


def _text(fact: Any, field: str) -> str:
    value = fact.get(field) if isinstance(fact, dict) else None
    return value if isinstance(value, str) else ""


def family(name: str, meaning: str, samples: Iterable[Sample], kind: str = "gauge", prefix: str = "hostagent_") -> str:
    """One metric with all its samples."""
    head = f"# HELP {prefix}{name} {meaning}\n# TYPE {prefix}{name} {kind}\n"
    return head + "".join(f"{prefix}{name}{_labels(labels)} {_number(value)}\n" for labels, value in samples)


def _labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return short(value).replace("\\", "\\\\").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, int) or value.is_integer() else repr(value)
