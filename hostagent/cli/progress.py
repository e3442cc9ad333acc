"""Progress on standard error: a line that grows on a terminal, plain lines elsewhere."""

import sys

from hostagent.cli.streams import complain
from hostagent.core.escape import visible


class Progress:
    """One thing after the other: each begins and ends."""

    def __init__(self) -> None:
        self._grows = sys.stderr.isatty()

    def begin(self, line: str) -> None:
        if self._grows:
            sys.stderr.write(f"{visible(line)} … ")
            sys.stderr.flush()
        else:
            complain(line)

    def end(self, seconds: float, problem: str, name: str = "") -> None:
        """Ends the step; `name` precedes the result on a line of its own."""
        word = f"failed: {problem}" if problem else f"{seconds:.1f} s"
        complain(word if self._grows else f"      {f'{name}: ' if name else ''}{word}")
