"""CUDA toolkits below /usr/local."""

from collections.abc import Callable
from typing import Any

from hostagent.facts.cuda import Cuda
from hostagent.facts.unread import Unread
from hostagent.source import Source


def read_cuda(_source: Source, _known: Callable[[type], Any]) -> Cuda:
    later = Unread("not-recorded", "not read yet")
    return Cuda(later, later)
