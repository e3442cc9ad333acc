"""What is published when no pass was judged for too long: by the publisher, because the loop may hang, be stopped, or see no host."""

import re
from dataclasses import replace
from typing import Any

from hostagent.daemon import record, statedir
from hostagent.daemon.labels import annotations, unknown_labels
from hostagent.daemon.saying import Saying
from hostagent.daemon.settings import Settings
from hostagent.daemon.told import AGENT_STALE, State, stale, stale_text
from hostagent.report import Verdicts
from hostagent.report.nodewords import Condition, NodeWords, Transition
from hostagent.report.summarized import beside
from hostagent.typed import plain

_UNKNOWN = Verdicts("unknown", "unknown")
_VERDICT = re.compile(r'^(hostagent_verdict\{.*verdict="(\w+)"\}) .*$', re.MULTILINE)
_READY = re.compile(r"^(hostagent_ready\{.*\}) .*$", re.MULTILINE)


def made_stale(what: Saying, now: float) -> Saying:
    """The same with everything that says how well the node is unknown; what the node is stays. `now`: seconds since the epoch."""
    text = stale_text(what.observed_at)
    conditions = tuple(Condition(one.type, "Unknown", AGENT_STALE, text, now) for one in what.words.conditions)
    summary = beside(what.summary, _UNKNOWN, text) if what.summary else {}
    notes: dict[str, str | None] = annotations(summary) if summary else {"summary": None}
    words = NodeWords(conditions, what.words.removed, {**what.words.labels, **unknown_labels()}, notes)
    return replace(what, words=words, summary=summary, metrics=_metrics(what.metrics), is_stale=True)


def _metrics(text: str) -> str:
    """With verdicts that are unknown."""
    return _READY.sub(r"\1 0", _VERDICT.sub(lambda row: f"{row[1]} {int(row[2] == 'unknown')}", text))


def write(settings: Settings, what: Saying, now: float) -> tuple[tuple[Transition, ...], tuple[str, ...]]:
    """The files that the loop writes otherwise, so that whoever reads them, and a daemon that is started next, knows. `what`: made stale.

    Returns what turned, and what could not be written. Files that are newer than `what` are left alone: the loop is back.
    """
    folder = settings.state_dir
    state, problem = statedir.state_of(folder)
    if not state or state.get("observed_at") != what.observed_at:
        return (), (problem,) if problem else ()
    boot_id = str(state.get("boot_id", ""))
    saved = record.load(statedir.text(settings.history_dir, statedir.RECORD).value or "null")
    after, news = record.turned(saved.record, what.words.conditions, boot_id, now)
    problems = statedir.save(settings.history_dir, {statedir.RECORD: record.dump(after)} if news else {})
    return news, (
        *problems,
        *statedir.save(folder, _texts(what, state, statedir.told(folder, boot_id).value, record.last(after.transitions))),
    )


def _texts(what: Saying, state: dict[str, Any], kept: "State | None", last: Transition | None) -> dict[str, str]:
    """The files of the state directory. `kept`: what was told, None where it cannot be read; `last`: the newest transition."""
    texts = {statedir.SUMMARY: statedir.summary_text(what.summary)} if what.summary else {}
    if kept:
        told = stale(kept, what.observed_at, what.words.conditions[0].changed_at)
        verdict = {"verdict": plain(_UNKNOWN), "measured": plain(_UNKNOWN)}
        words = {"headline": stale_text(what.observed_at), "action": "none", "todo": [], "conditions": plain(told.conditions)}
        texts[statedir.TOLD] = statedir.told_text(told)
        texts[statedir.STATE] = statedir.state_text({**state, **verdict, **words, **({"last_transition": plain(last)} if last else {})})
    return texts
