"""``platform``: the kind of host, and the owners of its parts."""

from typing import Any

from hostagent.core.typed import plain
from hostagent.core.unread import Unread
from hostagent.domains.report_json import fields_schema, object_schema, or_unread, picked
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.platform import Platform

_FIELDS = ("name", "base", "virtual", "contained", "operator", "gpus", "driver", "libraries", "toolkit", "runtime", "kubelet", "rdma")


def write(facts: HostFacts) -> Any:
    platform = facts.of(Platform)
    return plain(platform) if isinstance(platform, Unread) else picked(platform, _FIELDS)


def schema() -> dict[str, Any]:
    return or_unread(object_schema(fields_schema(Platform, _FIELDS)))
