"""``@over("path", PATHS)``: one test for a law that holds for each file, check or host.

Where ``pytest.mark.parametrize`` makes a test of each value, this makes one that tries all of them and names every offender: a test costs
some milliseconds in each worker, ten thousand names in a list cost minutes.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

#: Offenders that are shown with their message; the others are named.
_SHOWN = 5
Values = Iterable[Any] | Callable[[], Iterable[Any]]


def over(
    names: "str | Sequence[str]", values: Values, ids: "Callable[[Any], object] | Iterable[object] | None" = None
) -> Callable[[Any], Any]:
    """As ``pytest.mark.parametrize`` with the same arguments; `values` may be a function, which is called when the test runs.

    Other parameters of the test are fixtures.
    """
    keys = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def looped(**fixtures: Any) -> None:
            rows = list(values() if callable(values) else values)
            labels = list(map(ids, rows)) if callable(ids) else list(ids) if ids is not None else rows
            assert rows, f"{names}: there is none"
            offenders = []
            for label, row in zip(labels, rows, strict=True):
                try:
                    test(**fixtures, **dict(zip(keys, (row,) if len(keys) == 1 else row, strict=True)))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # a row that skips proves nothing
                    offenders.append((label, error))
            if offenders:
                shown = [f"{label}: {type(error).__name__}: {error}" for label, error in offenders[:_SHOWN]]
                others = [str(label) for label, _ in offenders[_SHOWN:]]
                raise AssertionError("\n".join((f"{len(offenders)} of {len(rows)}:", *shown, *others))) from offenders[0][1]

        signature = inspect.signature(test)
        looped.__signature__ = signature.replace(parameters=[one for name, one in signature.parameters.items() if name not in keys])
        del looped.__wrapped__  # pytest would read the test's own parameters
        return looped

    return decorate
