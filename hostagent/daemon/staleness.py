"""The stale message, for when no pass was judged for too long. The publisher makes it: the loop may hang, be stopped, or have no host."""

import re
from dataclasses import replace
from typing import Any

from hostagent.core.typed import plain
from hostagent.daemon import record, statedir
from hostagent.daemon.debounce import AGENT_STALE, State, stale, stale_text
from hostagent.daemon.labels import annotations, unknown_labels
from hostagent.daemon.message import Message
from hostagent.daemon.settings import Settings
from hostagent.engine.report import Verdicts
from hostagent.engine.report.node_status import Condition, NodeWords, Transition
from hostagent.engine.report.node_summary import beside

_UNKNOWN = Verdicts("unknown", "unknown")
_VERDICT = re.compile(r'^(hostagent_verdict\{.*verdict="(\w+)"\}) .*$', re.MULTILINE)
_READY = re.compile(r"^(hostagent_ready\{.*\}) .*$", re.MULTILINE)


def made_stale(what: Message, now: float) -> Message:
    """The same message with unknown verdicts; what the node is made of stays. `now`: seconds since the epoch."""
    text = stale_text(what.observed_at)
    since = {one.type: one.changed_at if one.status == "Unknown" else now for one in what.words.conditions}
    conditions = tuple(Condition(kind, "Unknown", AGENT_STALE, text, at) for kind, at in since.items())
    summary = beside(what.summary, _UNKNOWN, text) if what.summary else {}
    notes: dict[str, str | None] = annotations(summary) if summary else {"summary": None}
    words = NodeWords(conditions, what.words.removed, {**what.words.labels, **unknown_labels()}, notes)
    return replace(what, words=words, summary=summary, metrics=_metrics(what.metrics), is_stale=True)


def _metrics(text: str) -> str:
    """With verdicts that are unknown."""
    return _READY.sub(r"\1 0", _VERDICT.sub(lambda row: f"{row[1]} {int(row[2] == 'unknown')}", text))


def write(settings: Settings, what: Message, now: float) -> tuple[tuple[Transition, ...], tuple[str, ...]]:
    """Write the files that the loop writes otherwise, for their readers and for the next start of the daemon. `what`: made stale.

    Returns transitions, and problems of writing. Does nothing where the loop has written a later pass.
    """
    folder = settings.state_dir
    with statedir.alone(folder):
        state, problem = statedir.state_of(folder)
        written_at = state.get("observed_at")
        if isinstance(written_at, int | float) and written_at > what.observed_at:
            return (), ()
        boot_id = str(state.get("boot_id", ""))
        past = record.read(settings.record_dir)
        is_known = bool(past.record.statuses)  # else all would be new: the loop finds the transitions once it is back
        after, news = record.with_transitions(past.record, what.words.conditions, boot_id, now) if is_known else (past.record, ())
        problems = () if past.problem or not news else statedir.save(settings.record_dir, {statedir.RECORD: record.dump(after)})
        kept = statedir.published(folder, boot_id)
        texts = _texts(what, state, kept.value and stale(kept.value, what.observed_at, now), record.last(after.transitions))
        return news, tuple(filter(None, (problem, past.problem, kept.problem, *problems, *statedir.save(folder, texts))))


def _texts(what: Message, state: dict[str, Any], published: "State | None", last: "Transition | None") -> dict[str, str]:
    """The files of the state directory. `published`: None where it cannot be read; `last`: the newest transition."""
    texts = {statedir.SUMMARY: statedir.summary_text(what.summary)} if what.summary else {}
    if published and state:
        verdict = {"verdict": plain(_UNKNOWN), "measured": plain(_UNKNOWN)}
        words = {"headline": stale_text(what.observed_at), "action": "none", "todo": [], "conditions": plain(published.conditions)}
        texts[statedir.PUBLISHED] = statedir.published_text(published)
        texts[statedir.STATE] = statedir.state_text({**state, **verdict, **words, **({"last_transition": plain(last)} if last else {})})
    return texts
