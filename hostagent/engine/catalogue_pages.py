"""Pages about checks, made from the checks' own data, for ``checks show`` and ``checks/docs``.

Order of a page: what is wrong, how to confirm it, how to fix it, background.
"""

import inspect
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from hostagent.core.frozen import called_of
from hostagent.core.steps import in_words
from hostagent.core.tables.recovery_actions import ENDS_JOBS
from hostagent.core.text import joined
from hostagent.engine.check import Check, Step, id_of
from hostagent.engine.inputs import join_inputs
from hostagent.engine.links import parts
from hostagent.facts.hostfacts import subject_key

_MEANS = {
    "critical": "critical: a failure makes the host not ready",
    "warning": "warning: a failure makes the host degraded",
    "info": "info: worth knowing, never counts against the host",
}
_AXES = {
    "fitness": "",
    "security": "security: the profile's `security` says what a finding counts (by default it is an advisory, in no verdict)",
}
_SCOPES = {"node": "node: counts for every job", "fabric": "fabric: counts for multi-node jobs only"}
_DRAIN = """\
Drain the node first: these steps end the jobs that run on it.
   ```sh
   kubectl drain <node> --ignore-daemonsets --delete-emptydir-data  # Kubernetes
   scontrol update nodename=<node> state=drain reason="hostagent {id}"  # Slurm
   ```"""
_RESUME = ("kubectl uncordon <node>  # Kubernetes", "scontrol update nodename=<node> state=resume  # Slurm")
_COMMAND = re.compile(r"(?<!\w)'([^'`]+)'(?!\w)")


def render_page(one: Check, *, folds: bool = False) -> str:
    """One check as Markdown: links and folds for a viewer with `folds`, else bare addresses and headings for a terminal."""
    what, _, more = inspect.cleandoc(one.doc).partition("\n\n")
    sections = [
        ("", f"# {one.id}"),
        ("", f"**{_joined(what)}**" if what else f"**{_unfilled(one.headline)}**" if one.headline else ""),
        ("", more),
        ("", f"It passes when this holds: {_sentence(one.title)}"),
        ("", _look_first(one, folds)),
        ("Confirm it by hand", _commands(one.confirm)),
        ("Fix it", _steps(one, folds)),
        ("Afterwards", _afterwards(one)),
        ("Parameters", _parameters(one, one.inputs.params[1]) if one.inputs.params else ""),
        ("What it counts", _bullets(_weight(one, folds))),
        ("Links", _bullets("".join(_link(part.text, part.url, folds) for part in parts(name)) for name in one.references)),
    ]
    shown = [f"## {name}\n\n{text}" if name else text for name, text in sections if text]
    return "\n\n".join([*shown, _folded(_bullets(_inputs(one)), folds)]) + "\n"


def render_index(checks: Iterable[Check], folder: str) -> str:
    """A table per family; pages are linked in `folder`."""
    tables = []
    for family, members in groupby(sorted(checks, key=lambda one: one.id), _family):
        of_one = list(members)
        rows = "\n".join(f"| [{one.id}]({folder}/{one.id}.md) | {_cell(one.title)} | {one.severity} | {one.scope} |" for one in of_one)
        title = of_one[0].family.title
        tables.append(
            f"## {family}{title and f': {title}'}\n\n| check | passes when | severity | scope |\n| --- | --- | --- | --- |\n{rows}"
        )
    return "\n\n".join(tables) + "\n"


def _family(one: Check) -> str:
    return one.id.rpartition(".")[0]


def _look_first(one: Check, folds: bool) -> str:
    if not one.because:
        return ""
    first = _names(tuple(dict.fromkeys(map(id_of, one.because))), folds, "or")
    return f"Often it follows from something else: look first at {first}. A report tells it under that finding."


def _steps(one: Check, folds: bool) -> str:
    """The check's own steps, numbered; the drain comes before the first that ends jobs."""
    if all(step.action == "none" for step in one.remedy):
        return _quoted(in_words(one.remedy), folds)
    lines = []
    drained = False
    for step in one.remedy:
        if step.action in ENDS_JOBS and not drained:
            lines.append(_DRAIN.format(id=one.id))
            drained = True
        lines.append(_step(step, folds))
    numbered = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    return f"In general; `hostagent check --only {one.id}` prints the steps for what it finds on a host.\n\n{numbered}"


def _step(step: Step, folds: bool) -> str:
    text = _quoted(f"If it comes back: {step.text}" if step.if_back else step.text, folds)
    return f"{text}\n   ```sh\n   {step.command}\n   ```" if step.command else text


def _quoted(text: str, folds: bool) -> str:
    """Text between single quotes as code; an apostrophe, which follows a letter, is none."""
    return _COMMAND.sub(r"`\1`", text) if folds else text


def _afterwards(one: Check) -> str:
    again = _commands((f"hostagent check --only {one.id}",))
    if not any(step.action in ENDS_JOBS for step in one.remedy):
        return again
    return f"{again}\n\nWhen it passes, check the whole host, then let jobs back:\n\n{_commands(('hostagent check', *_RESUME))}"


def _commands(lines: Sequence[str]) -> str:
    return "\n".join(("```sh", *lines, "```")) if lines else ""


def _parameters(one: Check, params: type[Any]) -> str:
    """Name, default, meaning; the meanings are lines ``name: meaning`` of the class's docstring."""
    defaults = params()
    lines = inspect.cleandoc(params.__doc__ or "").splitlines()
    meanings = {name: meaning for name, colon, meaning in (line.partition(": ") for line in lines) if colon}
    rows = "\n".join(f"| `{name}` | {_default(getattr(defaults, name))} | {_cell(meanings.get(name, ''))} |" for name in params._fields)
    head = "| parameter | default | meaning |\n| --- | --- | --- |"
    return f"A profile sets them under `checks: {{{one.id}: {{params: …}}}}`.\n\n{head}\n{rows}"


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`" if value != "" else "empty"


def _weight(one: Check, folds: bool) -> Iterable[str]:
    subject = f"once per {called_of(one.inputs.subject[1])}" if one.inputs.subject else "once per host"
    proofs = (
        f"if it cannot be checked, that counts in no verdict where {_names(one.proved_by, folds, 'and')} passed" if one.proved_by else ""
    )
    actions = [f"`{step.action}`" for step in one.remedy if step.action != "none"]
    action = f"actions: {', '.join(dict.fromkeys(actions))}" if actions else ""
    axis = _AXES[one.axis]
    return filter(None, (_MEANS[one.severity], _SCOPES[one.scope], axis, f"runs {subject}, since {one.since}", action, proofs))


def _inputs(one: Check) -> Iterable[str]:
    inputs = one.inputs
    joined = [kind for join in inputs.joins.values() for kind in join_inputs(join).kinds]
    single = (*((inputs.subject[1],) if inputs.subject else ()), *(kind for kind in inputs.kinds if not subject_key(kind)))
    collected = dict.fromkeys((*inputs.collections.values(), *filter(subject_key, joined)))
    yield from (f"reads `{kind.__name__}`" for kind in single)
    yield from (f"reads each `{kind.__name__}` of the host" for kind in collected)
    if inputs.reads_profile:
        yield "reads the profile"
    yield from (f"takes the join `{join.__name__}` of `{join.__module__}`" for join in inputs.joins.values())
    yield from (f"`{path}`: fails where it is absent; every other check that needs it is skipped then" for path in one.owns)


def _folded(text: str, folds: bool) -> str:
    title = "For developers: what it reads"
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>" if folds else f"## {title}\n\n{text}"


def _names(ids: Sequence[str], folds: bool, last: str) -> str:
    named = [f"[{name}]({name}.md)" if folds else name for name in ids]
    return joined(named, last)


def _link(text: str, url: str, folds: bool) -> str:
    if not url or text == url:
        return text
    return f"[{text}]({url})" if folds else f"{text} <{url}>"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _unfilled(headline: str) -> str:
    return headline.replace("{device}", "a device").replace("{found}", "…").replace("{wanted}", "…")


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _joined(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _joined(text).replace("|", "\\|")
