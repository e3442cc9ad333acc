"""Text of a judged host, made safe to show: what could move a cursor, hide or reorder text is spelled out."""


def visible(text: str) -> str:
    r"""`text` on one line, with every character that does not print as its escape.

    >>> visible("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def cut(text: str, most: int) -> str:
    """At most so many characters of it.

    >>> cut("abc", 3), cut("abcd", 3)
    ('abc', 'ab…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
