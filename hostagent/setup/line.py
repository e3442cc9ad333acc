"""One line of standard output."""

from typing import Literal, NamedTuple

Mark = Literal["OK", "MISSING", "WARN", "INFO"]


class Line(NamedTuple):
    """`mark` "" is a hint without a mark."""

    mark: Literal["OK", "MISSING", "WARN", "INFO", ""]
    text: str

    def __str__(self) -> str:
        return f"{self.mark}: {self.text}" if self.mark else self.text
