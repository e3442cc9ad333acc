"""Errors that the user can correct, and the exception at the end of a time limit."""

from collections.abc import Iterable


class HostagentError(Exception):
    """What was found and wanted, and what to do next ("" where the message has it); `details` are further sentences. The command line
    prints all of it and exits 2.
    """

    def __init__(self, message: str, next_step: str, details: Iterable[str] = ()) -> None:
        self.message = message
        self.next_step = next_step
        self.details = tuple(details)
        super().__init__(" ".join(filter(None, (ended(message), *self.details, next_step))))


def ended(sentence: str) -> str:
    """With a full stop, unless it ends in another mark."""
    return sentence if sentence.endswith(("?", ":")) else f"{sentence}."


_MAX_SHOWN = 20


def at_once(sentences: Iterable[str], head: str) -> tuple[str, tuple[str, ...]]:
    """Message and details of a ``HostagentError`` with several sentences; a single one is the message.

    >>> at_once(["no check a"], "found {} mistakes:"), at_once(["no check a", "no check b"], "found {} mistakes:")
    (('no check a', ()), ('found 2 mistakes:', ('no check a', 'no check b')))
    """
    listed = tuple(sentences)
    if len(listed) == 1:
        return listed[0], ()
    more = (f"and {len(listed) - _MAX_SHOWN} more",) if len(listed) > _MAX_SHOWN else ()
    return head.format(len(listed)), (*listed[:_MAX_SHOWN], *more)


def nearest(word: object, known: Iterable[str]) -> str:
    """The known name closest to `word`, "" where none is close.

    >>> nearest("gpu.xdi", ["gpu.xid", "gpu.lost"]), nearest("9", ["gpu.xid"])
    ('gpu.xid', '')
    """
    import difflib  # only where there is a mistake

    return next(iter(difflib.get_close_matches(str(word)[:200], list(known), n=1)), "")


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """`nearest` as the end of a sentence: "; did you mean gpu.xid?", or ""."""
    close = nearest(word, known)
    return f"; did you mean {close}?" if close else ""


class OutOfTime(BaseException):
    """The time is up. A ``BaseException``: no ``except Exception`` may take it for a fault of the host. See `hostagent.core.deadline`."""
