"""The secondary lists of a report: checks that passed, do not apply, or are turned off."""

from typing import NamedTuple

from hostagent.engine.report import Judgement, Report
from hostagent.outputs.digest import short, short_name


class CheckRow(NamedTuple):
    """A check, its text, and the number of devices that it applies to, of all judged ones."""

    id: str
    text: str
    number: int
    of: int


def rows(report: Report, outcome: str) -> tuple[CheckRow, ...]:
    """One per check and text; the text of a passed check is its title."""
    looked_at: dict[str, int] = {}
    alike: dict[tuple[str, str], int] = {}
    for one in report.findings:
        looked_at[one.id] = looked_at.get(one.id, 0) + 1
        if one.outcome == outcome:
            key = (one.id, one.message)
            alike[key] = alike.get(key, 0) + 1
    return tuple(CheckRow(short_name(name), short(text), number, looked_at[name]) for (name, text), number in alike.items())


def reasons(report: Report, outcome: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(why, checks with their subject)."""
    by_message: dict[str, dict[str, None]] = {}
    for one in report.findings:
        if one.outcome == outcome:
            by_message.setdefault(one.message, {})[_where(one)] = None
    return tuple((short(message), tuple(names)) for message, names in by_message.items())


def _where(one: Judgement) -> str:
    return f"{short_name(one.id)} ({short_name(one.subject)})" if one.subject else short_name(one.id)


def passed(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(short_name(one.id) for one in report.findings if one.outcome == "pass"))
