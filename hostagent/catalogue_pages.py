"""Pages about checks, made from the checks' own data: what ``checks show`` prints and what ``checks/docs`` holds."""

import inspect
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from hostagent.check import Check
from hostagent.facts.frozen import called_of
from hostagent.steps import in_words

_MEANS = {
    "critical": "critical: a failure makes the host not ready",
    "warning": "warning: a failure makes the host degraded",
    "info": "info: worth knowing, never counts against the host",
}
_SECURITY = "security: what it counts is the profile's `security` (advisory: in no verdict), or its severity under `checks`"
_SCOPES = {"node": "node: counts for every job", "fabric": "fabric: counts for multi-node jobs"}


def render_page(one: Check) -> str:
    """One check as Markdown."""
    parts = [f"# {one.id}", f"**{one.title}.**", inspect.cleandoc(one.doc), _table(_properties(one))]
    parts += ["## Remedy", in_words(one.remedy)]
    if one.inputs.params:
        parts += ["## Parameters", _parameters(one, one.inputs.params[1]())]
    if one.owns:
        parts += ["## Owned absence", _owned(one)]
    if one.proved_by:
        parts += ["## Proved by", _proofs(one)]
    if one.references:
        parts += ["## References", "\n".join(f"- {reference}" for reference in one.references)]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_index(checks: Iterable[Check], folder: str) -> str:
    """A table a family; pages are linked in `folder`."""
    parts = []
    for family, members in groupby(sorted(checks, key=lambda one: one.id), _family):
        of_one = list(members)
        rows = "\n".join(f"| [{one.id}]({folder}/{one.id}.md) | {_cell(one.title)} | {one.severity} | {one.scope} |" for one in of_one)
        title = of_one[0].family.title
        parts.append(f"## {family}{title and f': {title}'}\n\n| check | holds when | severity | scope |\n| --- | --- | --- | --- |\n{rows}")
    return "\n\n".join(parts) + "\n"


def _family(one: Check) -> str:
    return one.id.rpartition(".")[0]


def _properties(one: Check) -> dict[str, str]:
    return {
        "severity": _MEANS[one.severity],
        "scope": _SCOPES[one.scope],
        **({"axis": _SECURITY} if one.axis == "security" else {}),
        "judged": _judged(one),
        "reads": ", ".join(_inputs(one)) or "nothing",
        "since": one.since,
    }


def _judged(one: Check) -> str:
    return f"once for each {called_of(one.inputs.subject[1])}" if one.inputs.subject else "once for the host"


def _inputs(one: Check) -> list[str]:
    inputs = one.inputs
    single = (*((inputs.subject[1],) if inputs.subject else ()), *inputs.facts.values())
    named = [kind.__name__ for kind in single] + [f"all of {kind.__name__}" for kind in inputs.collections.values()]
    return [*named, "the profile"] if inputs.profile else named


def _table(properties: Mapping[str, str]) -> str:
    rows = "\n".join(f"| {name} | {_cell(value)} |" for name, value in properties.items())
    return f"| | |\n| --- | --- |\n{rows}"


def _parameters(one: Check, defaults: Any) -> str:
    rows = "\n".join(f"| `{name}` | {_cell(_shown(getattr(defaults, name)))} |" for name in defaults._fields)
    return f"A profile sets them under `checks: {{{one.id}: {{params: …}}}}`.\n\n| parameter | default |\n| --- | --- |\n{rows}"


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return str(value).lower() if isinstance(value, bool) else f"`{value}`"


def _owned(one: Check) -> str:
    fields = ", ".join(f"`{path}`" for path in one.owns)
    return f"This check fails where {fields} is absent; every other check that needs it does not apply then."


def _proofs(one: Check) -> str:
    names = " and ".join(f"[{proof}]({proof}.md)" for proof in one.proved_by)
    return f"Where this check cannot judge, it counts in no verdict if {names} passed: they show the same function at work."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
