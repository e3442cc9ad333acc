"""STUB: to be written."""

from collections.abc import Callable
from typing import Any

from hostagent.facts.unread import Unread
from hostagent.source import Source


def read_gpus(source: Source, known: Callable[[type], Any]) -> Any:
    return Unread("not-recorded", "not written yet")


def read_accelerators(source: Source, known: Callable[[type], Any]) -> Any:
    return Unread("not-recorded", "not written yet")
