"""Lists of packages, short enough for a line."""

_SHOWN = 5


def first_names(names: list[str]) -> str:
    """The first ones, and how many there are besides."""
    return f"{', '.join(names[:_SHOWN])}{f' and {len(names) - _SHOWN} more' if len(names) > _SHOWN else ''}"
