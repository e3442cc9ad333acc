"""NCCL's variables for a job from summaries of nodes, where all have the same settings.

A summary has the settings for one node without their inputs: where those of two nodes differ, full reports are needed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hostagent.domains.nccl import preconditions
from hostagent.domains.nccl.agreement import ROWS, Refusal, differing, names
from hostagent.domains.nccl.class_inputs import CLASS_INPUTS, CUT, release
from hostagent.domains.nccl.environment import SCHEMA_VERSION, Environment, Variable, derive
from hostagent.domains.nccl.job_variables import GID_BY_ITSELF
from hostagent.domains.nccl.node import Node, shown
from hostagent.domains.nccl.tables.changes import Version, max_hcas, parse_nccl_version
from hostagent.domains.nccl.tables.variables import OLDEST

_PLACEABLE = ("ready", "degraded")
_NONE, _UNKNOWN = "none", "unknown"
_HCAS, _RAILS, _PLUGIN, _SETTINGS = "NCCL_IB_HCA", "hcas", "net_plugin", "settings"
#: Inputs of the class that `hostagent.domains.nccl.agreement` knows by another code.
_CODES = {
    "gpu_product": "gpu", "gpu_memory": "memory", "gpu_count": "gpus",
    "gpus_per_numa": "numa", "driver_branch": "driver", _RAILS: "rails", "rate_gbps": "rate",
    "mtu": "netdev_mtu", "gid_type": "gid", "traffic_class": "priorities",
}  # fmt: skip
_WORDS = {code: what for code, what, _ in ROWS}
_HOST_WORDS = {_SETTINGS: "settings of NCCL on the hosts", _PLUGIN: "network plug-ins of NCCL"}
_WHY_UNALIKE = "each summary has what is right for its own node alone"


class Source(NamedTuple):
    """A summary, and its node where known: the settings are then derived from the node."""

    file: str
    summary: Mapping[str, Any]
    node: Node | None = None


class _Summary(NamedTuple):
    """A summary's values; None, "" or no such name where one was not read or has another type."""

    label: str
    boot: tuple[str, str]
    valid_until: float | None
    verdict: str
    headline: str
    fabric_class: str
    gap: str  # why it has none
    host_class: str
    inputs: Mapping[str, str]
    nccl: str  # version of the host's NCCL; none
    env: Mapping[str, str] | None
    is_full: bool
    refusals: tuple[Refusal, ...]


def derive_from_summaries(sources: Sequence[Source], version: "Version | None" = None, now: "float | None" = None) -> Environment:
    """As `hostagent.domains.nccl.environment.derive`, with a refusal ``needs_reports`` where the summaries do not suffice."""
    labels = preconditions.distinct([_label(one) for one in sources], [one.file for one in sources])
    found = [_summary(one, label, version) for one, label in zip(sources, labels, strict=True)]
    refusals = [*_of_each(found, now), *_of_classes(found), *_of_settings(found, brings_its_own=version is not None)]
    if not refusals and (reason := next(_missing(found, version), None)):
        refusals = [_needs_reports(*reason)]
    words = _words(found, version)
    if refusals:
        return Environment(SCHEMA_VERSION, False, tuple(labels), words, (), (), None, tuple(refusals), ())
    env = found[0].env or {}
    why = f"as the summaries of all {len(found)} nodes have it" if len(found) > 1 else f"as the summary of {labels[0]} has it"
    emitted = tuple(Variable(name, env[name], why) for name in preconditions.PROPOSED if name in env)
    notes = ("made from summaries: whether the interfaces share a network, kernels and warnings are in full reports alone",)
    return Environment(SCHEMA_VERSION, True, tuple(labels), words, emitted, (), None, (), notes)


def _label(source: Source) -> str:
    return shown(_text(source.summary.get("node"))) or shown(source.file) or "this host"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _object(value: Any) -> Mapping[str, Any]:
    """An object, {} for anything else; an ``unread`` one has no key that is read here."""
    return value if isinstance(value, Mapping) else {}


def _summary(source: Source, label: str, version: "Version | None") -> _Summary:
    document = source.summary
    fabric, nccl, until = _object(document.get("fabric")), _object(document.get("nccl")), document.get("valid_until")
    env, refusals = (_env(nccl.get("env")), ()) if source.node is None else _derived(source.node, label, version)
    return _Summary(
        label=label,
        boot=(_text(document.get("node")), _text(document.get("boot_id"))),
        valid_until=until if isinstance(until, int | float) and not isinstance(until, bool) else None,
        verdict=_text(_object(document.get("verdict")).get("multi_node")),
        headline=_text(document.get("headline")),
        fabric_class=_text(fabric.get("class")),
        gap=_gap(fabric),
        host_class=_text(fabric.get("host_class")),
        inputs={name: value for name, value in _object(fabric.get("inputs")).items() if isinstance(value, str) and name != "unread"},
        nccl=_nccl(nccl.get("version")),
        env=env,
        is_full=source.node is not None,
        refusals=refusals,
    )


def _gap(fabric: Mapping[str, Any]) -> str:
    """The first input that was not read, and why."""
    unread = ((name, _object(value).get("unread")) for name, value in _object(fabric.get("inputs")).items() if name in CLASS_INPUTS)
    return next((f" ({name}: {shown(why)})" for name, why in unread if isinstance(why, str)), "")


def _nccl(value: Any) -> str:
    if isinstance(value, Mapping):
        return _NONE if value.get("unread") == "absent" else ""
    return _text(value) if parse_nccl_version(_text(value)) else ""


def _env(value: Any) -> "Mapping[str, str] | None":
    r"""None where it has another name or type than those that are emitted, or a value in which a backslash may be an escape."""
    if not isinstance(value, Mapping) or not all(isinstance(one, str) and one and "\\" not in one for one in value.values()):
        return None
    return value if set(value) <= set(preconditions.PROPOSED) else None


def _derived(node: Node, label: str, version: "Version | None") -> tuple[Mapping[str, str], tuple[Refusal, ...]]:
    """From the node itself: a summary may have left its settings out."""
    found = derive([replace(node, label=label)], version)
    own = (each for one in found.by_node for each in one.variables)
    return {one.name: one.value for one in (*found.variables, *own)}, found.refusals


def _of_each(found: Sequence[_Summary], now: "float | None") -> Iterator[Refusal]:
    """Refusals of single nodes: by age, verdict, or the full report."""
    old = tuple(one.label for one in found if now is not None and not (one.valid_until is not None and now <= one.valid_until))
    if old:
        yield Refusal("stale", f"summaries: that of {names(old)} has expired, or does not say when it will. {preconditions.AGAIN}", old)
    seen: dict[tuple[str, str], str] = {}
    for one in found:
        first = seen.setdefault(one.boot, one.label)
        if all(one.boot) and first != one.label:
            yield Refusal("twice", f"summaries: {first} and {one.label} are of one host and one boot", (first, one.label))
    for one in found:
        if one.refusals:
            yield from one.refusals
        elif one.verdict not in _PLACEABLE:
            what = {"not_ready": "is not ready", _UNKNOWN: "has an unknown verdict"}.get(one.verdict, "has no verdict")
            headline = f": {shown(one.headline)}" if one.headline else ""
            yield Refusal("not_ready", f"{one.label} {what} for jobs of several nodes{headline}", (one.label,))


def _of_classes(found: Sequence[_Summary]) -> Iterator[Refusal]:
    """Refusals for nodes without a fabric class, and for several classes."""
    if unread := [one for one in found if not one.fabric_class]:
        labels = tuple(one.label for one in unread)
        yield Refusal("unread", f"fabric class: not known of {names(labels)}{unread[0].gap}", labels)
        return
    if len({one.fabric_class for one in found}) == 1:
        return
    every = _without_full(found)
    if len({release(one.fabric_class) for one in found}) > 1:
        yield _needs_reports("the fabric classes are of different releases of hostagent", every)
        return
    apart = (_differing(found, name) for name in CLASS_INPUTS)
    yield next((one for one in apart if one), None) or _needs_reports("the fabric classes differ in an input that was cut", every)


def _differing(found: Sequence[_Summary], name: str) -> "Refusal | None":
    code = _CODES.get(name, name)
    if not all(name in one.inputs for one in found):
        return None
    return differing(_WORDS.get(code, name), code, {one.label: shown(one.inputs[name]) for one in found})


def _without_full(found: Sequence[_Summary]) -> tuple[str, ...]:
    return tuple(one.label for one in found if not one.is_full)


def _of_settings(found: Sequence[_Summary], *, brings_its_own: bool) -> Iterator[Refusal]:
    """Refusals for settings that differ by node, and for network plug-ins where the job takes NCCL from the nodes."""
    if not brings_its_own and all(_PLUGIN in one.inputs for one in found):
        refusal = differing("network plug-ins of NCCL", "plugins", {one.label: shown(one.inputs[_PLUGIN]) for one in found})
        yield from [refusal] if refusal else []
    if all(CUT not in one.inputs.get(_SETTINGS, CUT) for one in found):
        yield from _unequal({one.label: _parsed(one.inputs[_SETTINGS]) for one in found})


def _parsed(settings: str) -> Mapping[str, str]:
    """By name.

    >>> _parsed("NCCL_ALGO=Ring, NCCL_X=unknown value"), _parsed("none")
    ({'NCCL_ALGO': 'Ring', 'NCCL_X': 'unknown value'}, {})
    """
    pairs = (one.partition("=") for one in settings.split(", "))
    return {name: value for name, equals, value in pairs if equals}


def _unequal(settings: Mapping[str, Mapping[str, str]]) -> Iterator[Refusal]:
    """Variables that name a node's own devices may differ: full reports decide."""
    for name in sorted({name for of_node in settings.values() for name in of_node} - set(preconditions.OWN)):
        values = {label: preconditions.setting_in_words(of_node.get(name)) for label, of_node in settings.items()}
        refusal = differing(shown(name), "setting_differs", values)
        yield from [refusal] if refusal else []


def _missing(found: Sequence[_Summary], version: "Version | None") -> "Iterator[tuple[str, tuple[str, ...]]]":
    """Why summaries do not suffice, and the nodes that need full reports."""
    every = _without_full(found)
    if lacking := tuple(one.label for one in found if one.env is None):
        yield f"settings of NCCL: not known of {names(lacking)}", lacking
    yield from _of_version(found, version)
    for name in (_SETTINGS,) if version else (_SETTINGS, _PLUGIN):
        values = [one.inputs.get(name, CUT) for one in found]
        if len(found) > 1 and not _is_one_host_class(found) and (len(set(values)) > 1 or CUT in values[0]):
            yield f"{_HOST_WORDS[name]}: not all of it is in the summaries, or it differs by node", every
    for name in preconditions.PROPOSED:
        if len({(one.env or {}).get(name) for one in found}) > 1:
            yield f"{name} differs by node, and {_WHY_UNALIKE}", every
    if provided := tuple(one.label for one in found if _may_be_provided(one)):
        yield f"{names(provided)}: the network may be a provider's, which summaries do not name", every


def _is_one_host_class(found: Sequence[_Summary]) -> bool:
    """Then the hosts' own settings and plug-ins are the same, also those that their inputs do not show."""
    return bool(found[0].host_class) and len({one.host_class for one in found}) == 1


def _of_version(found: Sequence[_Summary], version: "Version | None") -> "Iterator[tuple[str, tuple[str, ...]]]":
    """The settings of a summary are for the NCCL of its host, with the plug-ins of the host."""
    if version:
        others = tuple(one.label for one in found if not one.is_full and not _is_for(one, version))
        if others:
            yield f"the settings of {names(others)} are not for NCCL {_dotted(version)}", others
        plugged = tuple(one.label for one in found if not one.is_full and one.inputs.get(_PLUGIN) != _NONE)
        if plugged:
            yield f"network plug-ins of {names(plugged)}: a job with its own NCCL does not take them", plugged
        return
    if lacking := tuple(one.label for one in found if not one.nccl):
        yield f"version of NCCL: not known of {names(lacking)}", lacking
    refusal = differing("version of NCCL", "nccl_version", {one.label: shown(one.nccl) for one in found})
    if refusal:
        yield f"{refusal.message}, and their settings are for these. Give --nccl VERSION, too", _without_full(found)


def _is_for(one: _Summary, version: Version) -> bool:
    """Whether its settings are right for this version, too: from 2.21.5 on they do not depend on it, as long as it opens all rails."""
    of_host = parse_nccl_version(one.nccl)
    if of_host == version:
        return True
    hcas = (one.env or {}).get(_HCAS, "").count(",") + 1
    is_new = version >= GID_BY_ITSELF and (one.nccl == _NONE or (of_host is not None and of_host >= GID_BY_ITSELF))
    return is_new and hcas <= max_hcas(OLDEST)


def _may_be_provided(one: _Summary) -> bool:
    """Nodes with rails have their HCAs set, unless a provider's network chooses; that may be one without rails, with a plug-in."""
    has_neither = one.inputs.get(_RAILS) in ("0", _NONE) and one.inputs.get(_PLUGIN) == _NONE
    return _HCAS not in (one.env or {}) and not has_neither


def _needs_reports(why: str, nodes: tuple[str, ...]) -> Refusal:
    text = f"{why}. Full reports are needed of {names(nodes)}: run 'hostagent check --format json -o FILE' there"
    return Refusal("needs_reports", text, nodes)


def _words(found: Sequence[_Summary], version: "Version | None") -> str:
    of_hosts = {parse_nccl_version(one.nccl) for one in found}
    known = version or (of_hosts.pop() if len(of_hosts) == 1 else None)
    return _dotted(known) if known else _UNKNOWN


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
