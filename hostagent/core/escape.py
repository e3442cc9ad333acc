"""Escapes characters in text of a host that could move a cursor, hide or reorder text."""


def visible(text: str) -> str:
    r"""`text` on one line, with every unprintable character escaped.

    >>> visible("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def cut(text: str, most: int) -> str:
    """`text` cut to `most` characters.

    >>> cut("abc", 3), cut("abcd", 3)
    ('abc', 'ab…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
