"""The published JSON Schemas (2020-12), made from the types that read and write the documents."""

from collections.abc import Callable, Mapping
from typing import Any

from hostagent.errors import HostagentError
from hostagent.shape import schema

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
    from hostagent.report import SCHEMA_VERSION, Report
    from hostagent.reportfacts import facts_schema

    body = schema(Report)
    body["properties"]["facts"] = facts_schema()
    body["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    return _headed(
        "report",
        SCHEMA_VERSION,
        "hostagent report",
        "One run over one host. Names are only ever added: readers must accept those that they do not know. "
        "Times are seconds since 1970; a value that could not be read is an object with the key unread.",
        _extensible(body),
    )


def _profile() -> dict[str, Any]:
    from hostagent.profile import SCHEMA_VERSION, Profile

    body = schema(Profile, partial=True)
    body["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    return _headed(
        "profile",
        SCHEMA_VERSION,
        "hostagent profile",
        "Desired state of a host, as one layer: what it does not name comes from the profile it extends (default when it names none).",
        body,
    )


def _snapshot() -> dict[str, Any]:
    from hostagent.source.tape import SCHEMA_VERSION, Tape

    body = schema(Tape)
    body["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    return _headed(
        "snapshot",
        SCHEMA_VERSION,
        "hostagent snapshot",
        "The raw answers of one host, by question. An answer is text, base64 of bytes, JSON, or the reason why there is none.",
        body,
    )


def _extensible(shape: Any) -> Any:
    """A document that only ever gains names has a schema that lets it: closed objects are opened, maps stay typed."""
    if isinstance(shape, dict):
        return {key: _extensible(value) for key, value in shape.items() if not (key == "additionalProperties" and value is False)}
    return [_extensible(item) for item in shape] if isinstance(shape, list) else shape


_PUBLISHED: Mapping[str, Callable[[], dict[str, Any]]] = {"report": _report, "profile": _profile, "snapshot": _snapshot}
