"""Publisher for `--dry-run`: prints conditions and labels of one pass, and the request that would set them."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from hostagent.core.escape import visible
from hostagent.daemon.message import Message
from hostagent.daemon.settings import Settings
from hostagent.engine.report.node_status import NodeWords
from hostagent.kube.nodestatus import body

_WIDTHS = (15, 8, 24)


class DryRun:
    """As `hostagent.daemon.loop.Publisher`, by printing."""

    def __init__(self, settings: Settings, put: Callable[[str], Any]) -> None:
        self._prefix, self._put = settings.prefix, put

    def publish(self, what: Message, now: float) -> None:
        patch = json.dumps(body(what.words, self._prefix, what.observed_at), indent=1)
        node = visible(what.node)
        lines = (f"Node {node}", "", *_lines(what.words, self._prefix), "", f"PATCH /api/v1/nodes/{node}/status", patch)
        self._put("\n".join(lines) + "\n")

    def tick(self, now: float) -> None:
        """No probe is served."""


def _lines(words: NodeWords, prefix: str) -> Iterator[str]:
    yield "Conditions:"
    yield _row("TYPE", "STATUS", "REASON", "MESSAGE")
    for one in words.conditions:
        yield _row(one.type, one.status, one.reason, one.message)
    yield ""
    yield "Labels:"
    for name, value in words.labels.items():
        yield f"  {prefix}/{name}={value}" if value is not None else f"  {prefix}/{name} is removed"


def _row(*cells: str) -> str:
    *first, last = cells
    return "  " + " ".join(cell.ljust(width) for cell, width in zip(first, _WIDTHS, strict=True)) + f" {last}"
