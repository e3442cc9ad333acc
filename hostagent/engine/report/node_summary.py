"""A report as its summary: at most 4 KiB of JSON, for an annotation of the node and for files.

What does not fit is left out: the settings of NCCL, then the NUMA nodes, the last reasons, the inputs of the class.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, Literal, get_args

from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.typed import ShapeError, build, plain
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, Why
from hostagent.domains.nccl.class_inputs import CUT
from hostagent.engine.report import SCHEMA_VERSION as REPORT_VERSION
from hostagent.engine.report import Report, Verdicts
from hostagent.engine.report.gpu_labels import product_label
from hostagent.engine.report.grouping import NOTHING, groups
from hostagent.engine.report.host_coverage import coverage_of
from hostagent.engine.report.node_status import compact
from hostagent.engine.report.summary import SCHEMA_VERSION, Advisories, Fabric, Gpus, Kubelet, Nccl, Numa, Reason, Summary
from hostagent.facts.cpulist import parse_cpulist

#: Bytes of the whole, as compact JSON.
LONGEST = 4096
_REASONS, _TEXT, _NAME, _NODE, _INPUT, _NUMA = 8, 200, 100, 253, 400, 64
_NEXT = "Write it with 'hostagent check --format json -o FILE'"
#: Reasons that are kept longest.
_FIRST_REASONS = 3
_WHYS: Mapping[str, Why] = {why: why for why in get_args(Why)}
#: Letters of a text, where all else did not make the summary short enough.
_NARROW = 20
_GIB = 1024**3
_SHORTENED: Why = "not-recorded"
#: Between the names of an input.
_BETWEEN = ", "
#: GPUs for virtual machines (kubevirt-gpu-device-plugin): no container gets them.
_OF_MACHINES = "nvidia.com/pgpu"
#: Parts of a report that no summary has, in the shape that `Report` wants.
_UNUSED: Mapping[str, Any] = {
    "tool": {"name": "", "version": ""},
    "observed_at_iso": "",
    "valid_until_iso": "",
    "profile": {"name": "", "hash": "", "origin": {}},
    "coverage": {"judged": 0, "unknown": 0, "skipped": 0, "off": 0},
    "cages": {},
    "timings_ms": {},
}


def summary_of_report(document: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of a report that was read from JSON, by its facts, findings and verdict. Raises ``HostagentError`` for other JSON."""
    findings = document.get("findings")
    if document.get("schema_version") != REPORT_VERSION or not isinstance(findings, list) or not isinstance(document.get("facts"), Mapping):
        raise HostagentError("found JSON of another shape, wanted a report", _NEXT)
    counting = [one for one in findings if not (isinstance(one, Mapping) and one.get("outcome") in ("pass", "skip", "off"))]
    try:
        report: Report = build(Report, {**document, **_UNUSED, "findings": counting}, "report", unknown=lambda _: None)
        found = summary(report)
    except (ShapeError, LookupError, TypeError, AttributeError, ValueError, ArithmeticError, UnreadError, RecursionError) as error:
        raise HostagentError(f"found a report of another shape: {visible(str(error))[:_TEXT]}", _NEXT) from error
    if not (isfinite(report.observed_at) and isfinite(report.valid_until)):
        raise HostagentError("found a report with a time that is no finite number", _NEXT)
    return found


def summary(report: Report, verdict: "Verdicts | None" = None, headline: str = "") -> dict[str, Any]:
    """The summary as data. `verdict` and `headline`: the published ones, where they differ from those of this report."""
    from hostagent.domains.nccl.node import gpus_for_jobs

    published = verdict or report.verdict
    facts, node = report.facts, _nccl_node(report)
    gpus = gpus_for_jobs(facts)
    found = Summary(
        schema_version=SCHEMA_VERSION,
        node=_in_bytes(report.host.node_name or report.host.hostname, _NODE),
        boot_id=_in_bytes(report.boot_id, _NAME),
        observed_at=report.observed_at,
        valid_until=report.valid_until,
        verdict={"single_node": published.single_node, "multi_node": published.multi_node},
        headline=_in_bytes(headline or report.headline, _TEXT),
        action="none" if headline else report.action,
        security=Advisories(report.security.advisories, report.security.unknown),
        coverage=coverage_of(facts, gpus),
        reasons=_reasons(report),
        gpus=_gpus(gpus),
        driver=_text(facts.get("driver"), "loaded"),
        cuda=_text(facts.get("driver"), "cuda"),
        toolkit=_text(facts.get("toolkit"), "version"),
        fabric=_fabric(node, gpus),
        nccl=_nccl(node),
        kubelet=_kubelet(facts, gpus),
    )
    return _fitted(_bare(plain(found)))


def fabric_class(report: Report) -> str:
    """The class of its fabric, "" where that is unknown."""
    from hostagent.domains.nccl.fabric_class import fabric_class as class_of
    from hostagent.domains.nccl.fabric_class import inputs

    node = _nccl_node(report)
    found = node if isinstance(node, Unread) else class_of(inputs(node))
    return "" if isinstance(found, Unread) else found


def class_in(document: Mapping[str, Any]) -> str:
    """The same of a summary."""
    found = document["fabric"].get("class")
    return found if isinstance(found, str) else ""


def beside(document: Mapping[str, Any], verdict: Verdicts, headline: str) -> dict[str, Any]:
    """The summary of an earlier pass, with the verdict and headline that are published now."""
    changed = {"verdict": plain(verdict), **({"headline": _in_bytes(headline, _TEXT), "action": "none"} if headline else {})}
    return _fitted({**copy.deepcopy(dict(document)), **changed})


def of_now(document: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """The summary of an earlier, equal report, with the times of this one."""
    return _fitted({**copy.deepcopy(dict(document)), "observed_at": report.observed_at, "valid_until": report.valid_until})


def _fitted(document: dict[str, Any]) -> dict[str, Any]:
    def without_reason(least: int) -> None:
        if len(document["reasons"]) > least:
            document["reasons"].pop()

    cuts: tuple[Callable[[], Any], ...] = (
        lambda: document["nccl"].update(env={"unread": _SHORTENED}),
        lambda: isinstance(document["kubelet"].get("numa"), list) and document["kubelet"].update(numa={"unread": _SHORTENED}),
        *(lambda: without_reason(_FIRST_REASONS) for _ in range(_REASONS)),
        lambda: document["fabric"].update(inputs={"unread": _SHORTENED}),
        *(lambda: without_reason(0) for _ in range(_REASONS)),
        lambda: document.update({name: value if name == "node" else _narrow(value) for name, value in document.items()}),
    )
    for cut in cuts:
        if len(compact(document).encode()) <= LONGEST:
            break
        cut()
    return document


def _narrow(value: Any) -> Any:
    """A letter may be twelve bytes of JSON."""
    if isinstance(value, dict):
        return {key: _narrow(one) for key, one in value.items()}
    return value[:_NARROW] if isinstance(value, str) else value


def _bare(value: Any) -> Any:
    """Reduces an unread value to its reason, and escapes characters that do not print."""
    if isinstance(value, dict):
        return {"unread": value["unread"]} if value.keys() == {"unread", "detail"} else {key: _bare(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_bare(one) for one in value]
    return visible(value) if isinstance(value, str) else value


def _in_bytes(text: str, most: int) -> str:
    return visible(text[:most]).encode()[:most].decode("utf-8", "ignore")


def _unread(value: Any, missing: str = "the report does not say it") -> Unread:
    """The ``Unread`` of a report's JSON."""
    if isinstance(value, Mapping) and "unread" in value:
        why = value["unread"]
        return Unread(_WHYS.get(why, "error") if isinstance(why, str) else "error", str(value.get("detail", "")))
    return Unread("not-recorded", missing)


def _text(part: Any, name: str) -> "str | Unread":
    value = part.get(name) if isinstance(part, Mapping) and "unread" not in part else part
    return _in_bytes(value, _NAME) if isinstance(value, str) else _unread(value)


def _reasons(report: Report) -> tuple[Reason, ...]:
    counting = [group.cause for group in groups(report) if group.rank < NOTHING][:_REASONS]
    return tuple(
        Reason(
            id=_in_bytes(entry.finding.id, _NAME),
            code=_in_bytes(entry.finding.code, _NAME),
            severity=entry.finding.severity,
            subject=_in_bytes(",".join(entry.subjects), _NAME),
            action=entry.finding.action,
        )
        for entry in counting
    )


def _gpus(rows: Any) -> "Gpus | Unread":
    if not isinstance(rows, list):
        return _unread(rows)

    def alike(of: Callable[[Mapping[str, Any]], Any]) -> Any:
        values = [of(row) for row in rows]
        unread = next((_unread(value) for value in values if isinstance(value, Mapping)), None)
        if unread is not None or not values:
            return Unread("absent", "there is no GPU") if unread is None else unread
        return values[0] if len(set(values)) == 1 else None

    memory, capability = alike(_memory), alike(lambda row: row.get("compute_capability", {}))
    capability = _in_bytes(capability, _NAME) if isinstance(capability, str) else capability
    names = [row.get("name", {}) for row in rows]
    product = alike(lambda row: row.get("name", {}))
    if product is None:
        product = ",".join(sorted({product_label(str(name)) for name in names}))
    mixed = Unread("not-supported", "the GPUs differ")
    return Gpus(
        count=len(rows),
        product=_in_bytes(product_label(product) if "," not in product else product, _NAME) if isinstance(product, str) else product,
        memory_gib=mixed if memory is None else memory,
        compute_capability=mixed if capability is None else capability,
        mig=_mig(rows),
    )


def _memory(row: Mapping[str, Any]) -> Any:
    value = row.get("memory_bytes", {})
    return round(value / _GIB) if isinstance(value, int) else value


def _mig(rows: list[Any]) -> "bool | Unread":
    """Whether MIG is on for one GPU. A GPU without MIG has it off; one that NVML did not answer for may have it on."""
    found = [_mig_of(row) for row in rows]
    if any(one is True for one in found):
        return True
    unread = [one for one in found if isinstance(one, Unread)]
    gaps = [one for one in unread if one.why not in NOT_APPLICABLE]
    if not gaps and len(unread) < len(found):
        return False
    return next(iter(gaps or unread), Unread("absent", "there is no GPU"))


def _mig_of(row: Mapping[str, Any]) -> "bool | Unread":
    value = row.get("mig")
    current = value.get("current") if isinstance(value, Mapping) and "unread" not in value else value
    if isinstance(current, bool):
        return current
    gap = _unread(current)
    is_asked = isinstance(row.get("compute_capability"), str)
    return gap if is_asked or gap.why not in NOT_APPLICABLE else Unread("denied", "NVML was not asked about this GPU")


def _nccl_node(report: Report) -> Any:
    """The node that NCCL's settings are made of; why there is none."""
    from hostagent.domains.nccl.node import PASSED, parse_node

    findings = tuple(one for one in report.findings if one.outcome not in PASSED)  # no more is read of them there
    try:
        return parse_node(plain(replace(report, findings=findings)))
    except HostagentError as error:
        return Unread("error", error.message)


def _fabric(node: Any, gpus: Any) -> Fabric:
    from hostagent.domains.nccl.fabric_class import fabric_class, host_class, inputs

    rows = gpus if isinstance(gpus, list) else []
    domains = {row["nvlink_domain"] if isinstance(row.get("nvlink_domain"), str) else "" for row in rows}
    first = next((row.get("nvlink_domain") for row in rows if not isinstance(row.get("nvlink_domain"), str)), None)
    one = domains.pop() if len(domains) == 1 else ""
    domain: str | Unread = _in_bytes(one, _NAME) if one else _unread(first if rows else gpus, "the GPUs are of several domains")
    if isinstance(node, Unread):
        return Fabric(inputs=node, domain=domain, firmware=node, class_=node, host_class=node)
    found = inputs(node)
    return Fabric(
        inputs={name: cut_at_names(visible(value), _INPUT) if isinstance(value, str) else value for name, value in found.items()},
        domain=domain,
        firmware=_firmware(node),
        class_=fabric_class(found),
        host_class=host_class(found),
    )


def _firmware(node: Any) -> "str | Unread":
    """Of the rails; of several versions, how many have which."""
    from hostagent.domains.nccl.agreement import in_words, rails

    try:
        versions = sorted(in_words(port.firmware) for port in rails(node))
    except UnreadError as error:
        return error.unread
    text = versions[0] if len(set(versions)) == 1 else in_words(tuple(versions))
    return cut_at_names(visible(text), _NAME)


def cut_at_names(text: str, most: int) -> str:
    """A list of names with commas, at most so many characters: whole names, and how many more there are.

    >>> cut_at_names("mlx5_0, mlx5_1, mlx5_2", 20), cut_at_names("mlx5_0, mlx5_1", 20), cut_at_names("x" * 30, 20)
    ('mlx5_0, … (+2)', 'mlx5_0, mlx5_1', '… (+1)')
    """
    if len(text) <= most:
        return text
    names = text.split(_BETWEEN)
    kept, room = list[str](), most - len(f"{CUT}{len(names)})")
    for name in names:
        room -= len(name) + len(_BETWEEN)
        if room < 0:
            break
        kept.append(name)
    return _BETWEEN.join((*kept, f"{CUT}{len(names) - len(kept)})"))


def _nccl(node: Any) -> Nccl:
    from hostagent.domains.nccl.environment import derive
    from hostagent.domains.nccl.fabric_class import inputs

    if isinstance(node, Unread):
        return Nccl(node, node)
    version = inputs(node, ("nccl",))["nccl"]
    if isinstance(version, str) and version == "none":
        version = Unread("absent", "no libnccl on this host")
    found = derive([node])
    if not found.emitted:
        return Nccl(version, Unread("error", found.refusals[0].message if found.refusals else "refused"))
    own = [one for of_node in found.by_node for one in of_node.variables]
    return Nccl(version, {one.name: one.value for one in (*found.variables, *own)})


def _kubelet(facts: Mapping[str, Any], gpus: Any) -> "Kubelet | Unread":
    part = facts.get("kubelet")
    if not isinstance(part, Mapping) or "unread" in part:
        return _unread(part)
    state, settings = part.get("state"), part.get("config")
    if state == "absent":
        return Unread("absent", "no kubelet on this host")
    return Kubelet(
        policy=_text(settings, "topologyManagerPolicy"),
        scope=_text(settings, "topologyManagerScope"),
        cpu_manager=_text(settings, "cpuManagerPolicy"),
        memory_manager=_text(settings, "memoryManagerPolicy"),
        devices=_devices(part.get("given"), gpus),
        numa=_numa(facts, settings, gpus),
    )


def _devices(given: Any, gpus: Any) -> "Literal['numa', 'plain', 'dra'] | Unread":
    """By the devices that its plug-ins registered; where only the checkpoint has them, by the GPUs' own nodes, which plug-ins read."""
    from hostagent.domains.kubelet.placement.node import is_gpu_resource

    if not isinstance(given, Mapping) or "unread" in given:
        return _unread(given)
    dra_only, listed = given.get("dra_only"), given.get("devices")
    if dra_only is True:
        return "dra"
    if not isinstance(listed, list):
        return _unread(listed)
    rows = gpus if isinstance(gpus, list) else []
    by_uuid = {str(row.get("uuid")): row.get("numa_node") for row in rows}
    ours = [one for one in listed if is_gpu_resource(str(one.get("resource"))) and one.get("resource") != _OF_MACHINES]
    found = [_nodes(one, by_uuid) for one in ours]
    if any(found):
        return "numa"
    if None in found:
        return Unread("not-recorded", "the NUMA nodes of a GPU")
    if found:
        return "plain"
    return _unread(dra_only) if isinstance(dra_only, Mapping) else Unread("absent", "no GPU is registered")


def _nodes(device: Mapping[str, Any], by_uuid: Mapping[str, Any]) -> "bool | None":
    """Whether the kubelet knows nodes of a device; None where that was not read."""
    nodes = device.get("nodes")
    if isinstance(nodes, list):
        return bool(nodes)
    own = by_uuid.get(str(device.get("id")).partition("::")[0])
    return own >= 0 if isinstance(own, int) else None


def _numa(facts: Mapping[str, Any], settings: Any, gpus: Any) -> "tuple[Numa, ...] | Unread":
    topology = facts.get("topology")
    nodes = topology.get("numa_nodes") if isinstance(topology, Mapping) and "unread" not in topology else topology
    if not isinstance(nodes, list):
        return _unread(nodes)
    kept = _cpus(settings.get("reservedSystemCPUs", "") if isinstance(settings, Mapping) else "")
    if len(nodes) > _NUMA:
        return Unread(_SHORTENED, f"more than {_NUMA} NUMA nodes")
    return tuple(Numa(_gpus_at(gpus, node["id"]), _free(_cpus(node.get("cpus")), kept), _gib(node.get("memory_bytes"))) for node in nodes)


def _gpus_at(rows: Any, numa: Any) -> "int | Unread":
    if not isinstance(rows, list):
        return _unread(rows)
    places = [row.get("numa_node") for row in rows]
    unread = next((_unread(place) for place in places if not isinstance(place, int)), None)
    if unread is not None and unread.why not in NOT_APPLICABLE:
        return unread
    return [place == numa for place in places].count(True)


def _cpus(text: Any) -> "frozenset[int] | Unread":
    return frozenset(parse_cpulist(text)) if isinstance(text, str) else _unread(text)


def _free(cpus: "frozenset[int] | Unread", kept: "frozenset[int] | Unread") -> "int | Unread":
    if isinstance(cpus, Unread):
        return cpus
    return kept if isinstance(kept, Unread) else len(cpus - kept)


def _gib(value: Any) -> "int | Unread":
    return value // _GIB if isinstance(value, int) else _unread(value)
