"""Texts of refusals."""

from collections.abc import Sequence

from hostagent.core.steps import Step
from hostagent.core.unread import NOT_APPLICABLE, Unread
from hostagent.plan.model import Refusal


def refusal(id_: str, headline: str, found: str, wanted: str, *steps: Step, detail: str = "") -> Refusal:
    """``plan.ID``; its action is that of its first step. `detail` follows found and wanted in its message."""
    message = f"found {found}, wanted {wanted}{f': {detail}' if detail else ''}"
    return Refusal(f"plan.{id_}", message, headline, found, wanted, steps[0].action if steps else "none", steps)


def profile_step(text: str) -> Step:
    """A step to change the profile."""
    return Step("configure", text)


def unread(fact: Unread, what: str) -> Refusal:
    """The plan needs `what`, which was not read: "could not read" is never "fine"."""
    why = f"{fact.why} ({fact.detail})" if fact.detail else fact.why
    return refusal("unread", f"{_upper(what)} could not be read", f"{what}: {why}", "to read it", _TO_READ.get(fact.why, _MEND))


_MEND = Step("rerun", "Correct what the reason names, then run it again.")
_TO_READ = {
    "not-recorded": Step("rerun", "Record the host again: this snapshot was made for checks alone.", "hostagent snapshot save host.json"),
    "denied": Step("rerun", "Run it as root, so that it reads the whole host.", "sudo hostagent plan"),
}


def is_gone(value: object) -> bool:
    """Whether a value is unread because this kind of host cannot have it: an image runs no process."""
    return isinstance(value, Unread) and value.why in NOT_APPLICABLE


def several(names: Sequence[str], most: int = 4) -> str:
    """The first names, and the number of the others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
