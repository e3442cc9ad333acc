"""Times as people and programs read them. A snapshot can hold any number."""

import time


def iso(seconds: float) -> str:
    """In UTC by ISO 8601, "" for a time that no calendar has.

    >>> iso(1_780_000_000.9), iso(float("inf"))
    ('2026-05-28T20:26:40Z', '')
    """
    return _formatted(seconds, "%Y-%m-%dT%H:%M:%SZ")


def moment(seconds: float) -> str:
    """The same for a sentence."""
    return _formatted(seconds, "%Y-%m-%d %H:%M:%S UTC") or f"{seconds} s since 1970"


def ago(seconds: float) -> str:
    """A time span.

    >>> ago(40), ago(400), ago(90_000), ago(400_000)
    ('40 s', '6 min', '25 h', '4 days')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds // 60:.0f} min"
    return f"{seconds // 3600:.0f} h" if seconds < 172_800 else f"{seconds // 86_400:.0f} days"


def _formatted(seconds: float, form: str) -> str:
    try:
        return time.strftime(form, time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return ""
