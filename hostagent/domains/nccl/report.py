"""``nccl``: libraries, plug-ins and settings that a job finds, and what NCCL would choose with them."""

from typing import Any

from hostagent.core.typed import plain
from hostagent.core.unread import Unread, then
from hostagent.domains.report_json import each, fields_schema, list_schema, object_schema, or_unread, picked
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.nccl import Nccl, NcclLibrary, NcclPlugin, NcclSetting

_LIBRARY = ("path", "version", "cuda")
_CHOICE = ("network", "interface", "hcas", "gdr")
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def write(facts: HostFacts) -> Any:
    nccl = facts.of(Nccl)
    if isinstance(nccl, Unread):
        return plain(nccl)
    from hostagent.domains.nccl.choice import choice

    chosen = choice(facts)
    return {
        "libraries": each(nccl.libraries, lambda one: picked(one, _LIBRARY)),
        "plugins": each(nccl.plugins, _plugin),
        "settings": each(nccl.settings, _setting),
        "choice": {**picked(chosen, _CHOICE), "why": chosen.why},
    }


def _plugin(one: NcclPlugin) -> dict[str, Any]:
    return {"path": one.path, "kind": plain(then(one.kinds, ",".join)), "missing": plain(one.missing)}


def _setting(one: NcclSetting) -> dict[str, Any]:
    return {
        "name": one.name,
        "value": plain(one.kept),
        "from": one.origin,
        "line": one.line,
        "wins": one.wins,
    }


def schema() -> dict[str, Any]:
    plugin = {"path": _TEXT, "kind": or_unread(_TEXT), **fields_schema(NcclPlugin, ("missing",))}
    setting = {"name": _TEXT, "value": or_unread(_TEXT), "from": _TEXT, "line": {"type": "integer"}, "wins": {"type": "boolean"}}
    chosen = {name: or_unread(_TEXTS if name == "hcas" else _TEXT) for name in _CHOICE}
    parts = {
        "libraries": list_schema(object_schema(fields_schema(NcclLibrary, _LIBRARY))),
        "plugins": list_schema(object_schema(plugin)),
        "settings": list_schema(object_schema(setting)),
        "choice": object_schema({**chosen, "why": _TEXT}),
    }
    return or_unread(object_schema(parts))
