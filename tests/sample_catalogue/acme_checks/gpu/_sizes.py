"""Sizes as Acme's handbook writes them. What the checks of a family share stands in a module with an underscore."""


def gib(size_bytes: int) -> int:
    """Whole GiB."""
    return size_bytes >> 30
