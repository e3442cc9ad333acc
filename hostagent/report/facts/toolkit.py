"""``toolkit``: the NVIDIA Container Toolkit."""

from typing import Any

from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.unread import Unread
from hostagent.report.facts.values import each, fields_schema, object_schema, or_unread, package, packages_schema
from hostagent.typed import plain


def write(facts: HostFacts) -> Any:
    toolkit = facts.of(Toolkit)
    if isinstance(toolkit, Unread):
        return plain(toolkit)
    return {"version": plain(toolkit.version), "packages": each(toolkit.packages, package)}


def schema() -> dict[str, Any]:
    return or_unread(object_schema({**fields_schema(Toolkit, ("version",)), "packages": packages_schema()}))
