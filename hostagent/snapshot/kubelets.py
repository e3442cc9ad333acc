"""Filter of a KubeletConfiguration: all keys, the values that its facts are made of, of others the type; and what is wrong with it."""

# Repeated keys of YAML are in a first member, in hexadecimal, because redaction takes `key "x"` for a secret; a document that
# does not decode is a zero byte and its error.

import re
from collections.abc import Callable
from typing import Any

from hostagent.domains.kubelet.config.documents import Document, decode_error, document_bytes, parse_document
from hostagent.domains.kubelet.config.values import Members
from hostagent.snapshot.documents import DURATION

Mask = Callable[[str], str]

_KEY = re.compile(r"[A-Za-z0-9_][\w./-]{0,80}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,20}(?:Z|[-+][0-9:]{4,6})")


def kubelet_document(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""Names are fields of the first level; their values stay as a whole.

    >>> kubelet_document(b"kind: X\nstaticPodURL: http://a\nport: 1\n", ("kind",), lambda text: "0a1b")
    b'{"kind":"X","staticPodURL":"~0a1b","port":1}'
    >>> kubelet_document(b"a: [", (), str)[:15]
    b'\x00yaml: line 2: '
    """
    try:
        document = parse_document(data)
    except ValueError:
        return b"\0" + decode_error(data).encode("utf-8", "replace")
    if not data.strip():
        return data
    value = document.value
    if isinstance(value, Members):
        kept = {name.lower() for name in names}
        value = Members((_key(key, mask), item if key.lower() in kept else _typed(item, mask)) for key, item in value)
    else:
        value = _typed(value, mask)
    return document_bytes(Document(value, document.strict))


def _typed(value: Any, mask: Mask) -> Any:
    """Numbers, truth values, durations and times as they are: the kubelet refuses some of them."""
    if isinstance(value, Members):
        return Members((_key(key, mask), _typed(item, mask)) for key, item in value)
    if isinstance(value, list):
        return [_typed(item, mask) for item in value]
    if type(value) is not str or not value or DURATION.fullmatch(value) or _TIME.fullmatch(value):
        return value
    return f"~{mask(value)[:12]}"


def _key(key: str, mask: Mask) -> str:
    return key if _KEY.fullmatch(key) else f"~{mask(key)[:12]}"
