"""Rows of the tables of `hostagent.domains.kubelet.tables.defaults*`: words with spaces between, rows with semicolons between."""

from collections.abc import Iterator


def rows_of(table: str) -> Iterator[list[str]]:
    return (row for row in (text.split() for text in table.split(";")) if row)


def holds(columns: list[str], minor: int) -> bool:
    """Whether a row's last column, ``30-``, ``-34``, ``31-36`` or nothing, holds a minor version.

    >>> holds(["30-"], 29), holds(["-34"], 34), holds([], 29)
    (False, True, True)
    """
    if not columns:
        return True
    first, _, last = columns[0].partition("-")
    return int(first or 0) <= minor <= int(last or 99)
