"""``toolkit``: the NVIDIA Container Toolkit."""

from typing import Any

from hostagent.core.typed import plain
from hostagent.core.unread import Unread
from hostagent.domains.report_json import each, fields_schema, object_schema, or_unread, package, packages_schema
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.toolkit import Toolkit


def write(facts: HostFacts) -> Any:
    toolkit = facts.of(Toolkit)
    if isinstance(toolkit, Unread):
        return plain(toolkit)
    return {"version": plain(toolkit.version), "packages": each(toolkit.packages, package)}


def schema() -> dict[str, Any]:
    return or_unread(object_schema({**fields_schema(Toolkit, ("version",)), "packages": packages_schema()}))
