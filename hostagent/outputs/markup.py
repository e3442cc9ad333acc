"""Escaping for HTML and XML."""

from hostagent.core.escape import visible

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def escaped(text: str) -> str:
    r"""`text` as element content or a quoted attribute; XML cannot hold control characters at all, so they are spelled out.

    >>> escaped('<a href="x">\x00')
    '&lt;a href=&quot;x&quot;&gt;\\x00'
    """
    return visible(text).translate(_ENTITIES)
