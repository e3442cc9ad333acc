"""Lines of text for a person at a terminal: wrapped, indented, coloured."""

import textwrap

COLOURS = {
    "not_ready": "\x1b[1;31m",
    "unknown": "\x1b[1;35m",
    "degraded": "\x1b[1;33m",
    "ready": "\x1b[1;32m",
    "BLOCKS JOBS": "\x1b[1;31m",
    "TO LOOK AT": "\x1b[1;33m",
    "NOT CHECKED": "\x1b[1;35m",
}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
MIN_WIDTH = 20


class Page:
    """Lines so far, and how to add to them."""

    def __init__(self, colour: bool, width: int) -> None:
        self.lines: list[str] = []
        self._colour = colour
        self.width = max(width, MIN_WIDTH)

    def add(self, text: str, first: str = "", then: str = "", style: str = "") -> None:
        """`text`, wrapped; `first` and `then` indent the first and the following lines."""
        wrapped = textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=then or first, break_long_words=False, break_on_hyphens=False
        )
        code = (COLOURS.get(style, _BOLD) if style else "") if self._colour else ""
        self.lines += [f"{code}{line}{_PLAIN}" if code else line for line in wrapped]

    def add_line(self, text: str, style: str = "") -> None:
        """`text` on one line, however long, for a program that reads the page."""
        code = COLOURS.get(style, "") if self._colour else ""
        self.lines.append(f"{code}{text}{_PLAIN}" if code else text)

    def heading(self, text: str, style: str = "") -> None:
        self.lines.append("")
        self.add(text, style=style or text)
