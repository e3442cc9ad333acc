"""Steps of a remedy."""

from collections.abc import Iterable
from dataclasses import dataclass

from hostagent.core.vocabulary import Action


@dataclass(frozen=True)
class Step:
    """One thing to do."""

    action: Action
    """What kind of step it is."""
    text: str
    """The step, for people."""
    command: str = ""
    """What a shell runs as it stands; <name> is what hostagent cannot know. Empty where there is none."""
    if_back: bool = False
    """Whether it is only for a fault that comes back."""


def shell(words: str, *texts: str) -> str:
    """A command with `texts` for ``{}``, each quoted as one shell word.

    >>> shell("rm {}", "/etc/cdi/a.yaml"), shell("rm {}", "/etc/cdi/a; reboot")
    ('rm /etc/cdi/a.yaml', "rm '/etc/cdi/a; reboot'")
    """
    from shlex import quote

    return words.format(*map(quote, texts))


def as_steps(remedy: "str | tuple[Step, ...]", action: Action) -> tuple[Step, ...]:
    """A remedy as steps; a text is one step of `action`."""
    if isinstance(remedy, str):
        return (Step(action, remedy),) if remedy else ()
    return remedy


def in_words(steps: Iterable[Step]) -> str:
    """All steps as one text.

    >>> in_words([Step("reboot", "Reboot the node."), Step("replace", "Replace the GPU.", if_back=True)])
    'Reboot the node. If it comes back: Replace the GPU.'
    """
    return " ".join(f"If it comes back: {step.text}" if step.if_back else step.text for step in steps)
