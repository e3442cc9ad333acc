"""The public face for people who write checks: what a check is declared with, and the words that its findings are made of."""

from hostagent.core.frozen import frozen
from hostagent.core.join import Join, cached
from hostagent.core.majority import most, of_more_than_half, tally
from hostagent.core.steps import Step, shell
from hostagent.core.text import counted, first_of, size
from hostagent.core.unread import NOT_APPLICABLE, NOT_THERE, Unread, UnreadError, need, then
from hostagent.core.vocabulary import Severity
from hostagent.engine.check import Check, Family, Finding, Findings, check, fail, skip, warn

__all__ = [
    "NOT_APPLICABLE", "NOT_THERE", "Check", "Family", "Finding", "Findings", "Join", "Severity", "Step", "Unread", "UnreadError",
    "cached", "check", "counted", "fail", "first_of", "frozen", "most", "need", "of_more_than_half", "shell", "size", "skip", "tally",
    "then", "warn",
]  # fmt: skip
