"""The published JSON Schemas (2020-12), made from the types that read and write the documents."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hostagent.core.errors import HostagentError
from hostagent.core.field_texts import field_texts
from hostagent.core.typed import UNREAD_SCHEMA, schema

if TYPE_CHECKING:
    from hostagent.profiles.format import Rename

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def names() -> tuple[str, ...]:
    return tuple(_PUBLISHED)


def published(name: str) -> dict[str, Any]:
    """One schema with its dialect, id, title and description. Raises ``HostagentError`` for a name that is none."""
    if name not in _PUBLISHED:
        raise HostagentError(f"found no schema {name!r}, wanted one of {', '.join(_PUBLISHED)}", "Run 'hostagent schema report'")
    return _PUBLISHED[name]()


def _headed(name: str, version: int, title: str, description: str, body: Mapping[str, Any]) -> dict[str, Any]:
    head = {"$schema": DIALECT, "$id": f"urn:hostagent:schema:{name}:{version}", "title": title, "description": description}
    return {**head, **body}


def _report() -> dict[str, Any]:
    from hostagent.engine.report import SCHEMA_VERSION, Report
    from hostagent.engine.report.facts import facts_schema
    from hostagent.setup.document import SetUp

    body = schema(Report, texts=field_texts)
    setup = {"description": "Only in 'hostagent setup': what TAO's host set-up would print about this host."}
    body["properties"]["setup"] = {**schema(SetUp, texts=field_texts), **setup}
    _fill(body, schema_version={"const": SCHEMA_VERSION}, facts=facts_schema())
    return _headed(
        "report",
        SCHEMA_VERSION,
        "hostagent report",
        "One run over one host. Names are only ever added: readers must accept those that they do not know. "
        "Times are seconds since 1970; a value that could not be read is an object with the key unread.",
        _explained(_extensible(body)),
    )


def _fill(body: dict[str, Any], **shapes: Mapping[str, Any]) -> None:
    """Puts these in the places of properties, below the description that is there."""
    for name, shape in shapes.items():
        text = body["properties"][name].get("description")
        body["properties"][name] = {**shape, **({"description": text} if text else {})}


def _explained(body: Any) -> Any:
    """With the texts of facts, and of values that could not be read."""
    from hostagent.engine.report.facts_described import described

    return described(body)


def _summary() -> dict[str, Any]:
    from hostagent.engine.report.summary import SCHEMA_VERSION, summary_schema

    body = summary_schema()
    _fill(body, schema_version={"const": SCHEMA_VERSION})
    return _headed(
        "summary",
        SCHEMA_VERSION,
        "hostagent summary",
        "What a scheduler needs of one report, in at most 4 KiB. Names are only ever added: readers must accept those that they "
        "do not know. A value that could not be read is an object with the key unread.",
        _extensible(body),
    )


def _profile() -> dict[str, Any]:
    from hostagent.profiles.format import OURS, RENAMES, SCHEMA_VERSION

    return _headed(
        "profile",
        SCHEMA_VERSION,
        "hostagent profile",
        "Desired state of a host, as one layer: what it does not name comes from the profile it extends (default when it names none). "
        f"This is schema {OURS}; schema_version is the whole number {SCHEMA_VERSION}, or major and minor as a "
        f'text such as "{OURS}". Where a file says a newer minor, hostagent ignores keys that are not here, with '
        "a warning; in every other file they are mistakes. A deprecated key works as its new name does, with a warning.",
        profile_body(RENAMES),
    )


def profile_body(renames: "Iterable[Rename]") -> dict[str, Any]:
    """Keys of a layer: today's, and as deprecated those that `renames` still accepts."""
    from hostagent.profiles.format import SCHEMA_VERSION, VERSION_PATTERN, keys
    from hostagent.profiles.profile import Profile

    body = schema(Profile, partial=True)
    body["properties"]["schema_version"] = {"anyOf": [{"const": SCHEMA_VERSION}, {"type": "string", "pattern": f"^{VERSION_PATTERN}$"}]}
    for one in renames:
        *parents, name = keys(one.old)
        closed = _below(body, parents).get("properties")
        if closed is not None:  # by id and by parameter, anything may stand below checks
            text = f"Called {one.new} today; hostagent {one.until} reads that name alone."
            closed[name] = {**_below(body, keys(one.new)), "deprecated": True, "description": text}
    return body


def _below(body: dict[str, Any], path: Iterable[str]) -> dict[str, Any]:
    """The part of a schema that a key's value follows."""
    for key in path:
        body = body.get("properties", {}).get(key) or body.get("additionalProperties") or {}
    return body


def _snapshot() -> dict[str, Any]:
    from hostagent.host.recording import SCHEMA_VERSION, Tape

    body = schema(Tape)
    body["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    return _headed(
        "snapshot",
        SCHEMA_VERSION,
        "hostagent snapshot",
        "The answers of one host, by question, as far as they were used. An answer is text, base64 of bytes, JSON, or the reason why there "
        "is none; a part of an answer also has kept: its kind, and the names of what was kept.",
        body,
    )


def _topology() -> dict[str, Any]:
    from hostagent.engine.report import Judgement, Report
    from hostagent.engine.report.facts import facts_schema
    from hostagent.outputs.topology.document import PARTS, SCHEMA_VERSION, Document, MapFinding

    body = schema(Document, texts=_like({Document: Report, MapFinding: Judgement}))
    facts = _explained({"properties": {"facts": facts_schema()}})["properties"]["facts"]["properties"]
    parts = {**_whole(facts["topology"])["properties"], "fabric": facts["fabric"]}
    for name in (*PARTS, "fabric"):
        text = parts[name].pop("description")
        whole = _whole(parts[name]) if name == "fabric" else parts[name]
        body["properties"][name] = {"anyOf": [whole, UNREAD_SCHEMA], "description": body["properties"][name].get("description", text)}
    _fill(body, schema_version={"const": SCHEMA_VERSION})
    return _headed(
        "topology",
        SCHEMA_VERSION,
        "hostagent topology",
        "Topology of a host, as in a report's facts.topology and facts.fabric, and whether its kubelet admits some pods. Names are only "
        "ever added: readers must accept those that they do not know. A value that could not be read is an object with the key unread.",
        _explained(_extensible(body)),
    )


def _like(others: Mapping[type, type]) -> Callable[[type], Mapping[str, str]]:
    """Descriptions of fields; where a field has none, that of the same field of the other class."""
    return lambda kind: {**(field_texts(others[kind]) if kind in others else {}), **field_texts(kind)}


def _nccl() -> dict[str, Any]:
    from hostagent.domains.nccl.logs.explanation import SCHEMA_VERSION, Explanation

    number = {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "unknown"}]}
    body = schema(Explanation, texts=field_texts)
    _fill(body, ranks=number, nodes=number, schema_version={"const": SCHEMA_VERSION})
    return _headed(
        "nccl",
        SCHEMA_VERSION,
        "hostagent nccl explain",
        "The network that NCCL used, from the logs of one job. Names are only ever added: readers must accept those that they do not know.",
        _extensible(body),
    )


def _nccl_env() -> dict[str, Any]:
    from hostagent.domains.nccl.environment import SCHEMA_VERSION, Environment

    text = "The NCCL settings of a job on some hosts, or why there are none."
    return _answer("nccl-env", SCHEMA_VERSION, text, Environment)


def _fleet() -> dict[str, Any]:
    from hostagent.gate.fleet import SCHEMA_VERSION, Fleet

    return _answer("fleet", SCHEMA_VERSION, "Many nodes, by their summaries.", Fleet)


def _gate() -> dict[str, Any]:
    from hostagent.gate.answer import SCHEMA_VERSION, Answer
    from hostagent.gate.described import with_codes

    text = "Whether a job may be placed, on which nodes, and if not, why. Codes are only ever added, too."
    return with_codes(_answer("gate", SCHEMA_VERSION, text, Answer))  # type: ignore[no-any-return]


def _answer(name: str, version: int, text: str, kind: type) -> dict[str, Any]:
    """Of a command whose document is one class: `text` says what it is."""
    body = schema(kind, texts=field_texts)
    _fill(body, schema_version={"const": version})
    description = f"{text} Names are only ever added: readers must accept those that they do not know."
    return _headed(name, version, f"hostagent {name.replace('-', ' ')}", description, _extensible(body))


def _plan() -> dict[str, Any]:
    from hostagent.engine.report import Judgement, Report
    from hostagent.plan.document import SCHEMA_VERSION, Document
    from hostagent.plan.model import OPERATIONS, Refusal

    body = _extensible(schema(Document, texts=_like({Document: Report, Refusal: Judgement})))
    body["properties"]["schema_version"] |= {"const": SCHEMA_VERSION}
    step = body["properties"]["steps"]["items"]["properties"]
    for holder in (step, step["undo"]["properties"]):
        holder["do"]["items"] = {"anyOf": [_one_key(name, schema(kind)) for name, kind in OPERATIONS.items()]}
    return _headed(
        "plan",
        SCHEMA_VERSION,
        "hostagent plan",
        "The changes that a host needs, and their cost. Names are only ever added: readers must accept those that they do not know.",
        body,
    )


def _one_key(name: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [name], "properties": {name: value}, "additionalProperties": False}


def _whole(shape: dict[str, Any]) -> dict[str, Any]:
    """The object of a part that may be unread."""
    found: dict[str, Any] = next((one for one in shape.get("anyOf", ()) if "unread" not in one.get("properties", {})), shape)
    return found


def _extensible(shape: Any) -> Any:
    """Opens closed objects, for documents that may gain names; maps stay typed."""
    if isinstance(shape, dict):
        return {key: _extensible(value) for key, value in shape.items() if not (key == "additionalProperties" and value is False)}
    return [_extensible(item) for item in shape] if isinstance(shape, list) else shape


_PUBLISHED: Mapping[str, Callable[[], dict[str, Any]]] = {
    "report": _report,
    "profile": _profile,
    "snapshot": _snapshot,
    "topology": _topology,
    "nccl": _nccl,
    "nccl-env": _nccl_env,
    "gate": _gate,
    "fleet": _fleet,
    "plan": _plan,
    "summary": _summary,
}
