"""``runtimes``: container runtimes, with their handlers by name."""

from typing import Any

from hostagent.core.typed import plain
from hostagent.core.unread import Unread
from hostagent.domains.report_json import each, fields_schema, object_schema, or_unread, picked
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.runtime import Handler, Runtime

_RUNTIME = ("kind", "version", "state", "error", "config_files", "default_runtime", "cgroup_driver")
_HANDLER = ("runtime_type", "binary", "systemd_cgroup")


def write(facts: HostFacts) -> Any:
    return each(facts.of(Runtime), _runtime)


def _runtime(runtime: Runtime) -> dict[str, Any]:
    handlers = runtime.handlers
    by_name = plain(handlers) if isinstance(handlers, Unread) else {one.name: picked(one, _HANDLER) for one in handlers}
    return {**picked(runtime, _RUNTIME), "handlers": by_name}


def schema() -> dict[str, Any]:
    handlers = or_unread({"type": "object", "additionalProperties": object_schema(fields_schema(Handler, _HANDLER))})
    return or_unread({"type": "array", "items": object_schema({**fields_schema(Runtime, _RUNTIME), "handlers": handlers})})
