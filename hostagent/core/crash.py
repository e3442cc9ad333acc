"""A traceback as a few short lines without paths of this machine."""

from collections.abc import Iterator

#: Lines kept, the last ones, and characters of each.
_LINES, _WIDTH = 20, 200


def crash_text(error: BaseException) -> str:
    """``TypeError: message``; only the type where the message cannot be rendered."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # an argument that has no text, such as an ``Unread``
        return type(error).__name__


def crash_lines(error: BaseException) -> tuple[str, ...]:
    """The traceback of `error` and of what it was raised from, without source lines: reading those would be I/O.

    >>> try:
    ...     int("none")
    ... except ValueError as error:
    ...     crash_lines(error)[-1]
    "ValueError: invalid literal for int() with base 10: 'none'"
    """
    return tuple(line[:_WIDTH] for line in list(_lines(error, frozenset()))[-_LINES:])


def _lines(error: BaseException, seen: frozenset[int]) -> Iterator[str]:
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen:
        yield from _lines(before, seen | {id(error)})
        yield "and from that:"
    trace = error.__traceback__
    while trace:
        code = trace.tb_frame.f_code
        yield f"{_place(code.co_filename, trace.tb_frame.f_globals.get('__name__'))}:{trace.tb_lineno} in {code.co_name}"
        trace = trace.tb_next
    yield from crash_text(error).splitlines()


def _place(path: str, module: object) -> str:
    """``hostagent/engine/evaluate.py``: the end of a file's path, as many parts as its module's name has."""
    parts = path.split("/")
    depth = str(module).count(".") + (2 if parts[-1] == "__init__.py" else 1)
    return "/".join(parts[-depth:])
