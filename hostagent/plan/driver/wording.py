"""How this decider refuses."""

from hostagent.plan.model import Refusal
from hostagent.steps import Step


def refusal(id_: str, headline: str, found: str, wanted: str, *steps: Step) -> Refusal:
    return Refusal(f"plan.{id_}", f"found {found}, wanted {wanted}", headline, found, wanted, steps[0].action, steps)


def profile_step(text: str) -> Step:
    """What an administrator changes in the profile."""
    return Step("configure", text)


def listed(names: "tuple[str, ...] | list[str]", most: int = 6) -> str:
    """The first of them, and how many more."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
