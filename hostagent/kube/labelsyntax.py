"""Syntax of labels, annotations and taints of Kubernetes.

Sources: Kubernetes, "Labels and Selectors"; apimachinery, ``validation.IsQualifiedName``, ``IsDNS1123Subdomain``, ``IsValidLabelValue``:
the domain before a name has at most 253 characters, its parts have no limit of their own.
"""

import re

#: Patterns: a DNS subdomain, the name behind it, a key, and a value.
DOMAIN = r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)"
NAME = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)"
KEY = rf"(?:(?:(?=[a-z0-9.-]{{1,253}}/){DOMAIN}/)?{NAME})"
VALUE = rf"{NAME}?"
_KEY, _VALUE, _DOMAIN = (re.compile(one) for one in (KEY, VALUE, DOMAIN))


def is_domain(text: str) -> bool:
    """Whether it may stand before a name."""
    return len(text) <= 253 and _DOMAIN.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Whether a label or a taint can have this key.

    >>> is_key("nvidia.com/gpu.present"), is_key("a" * 64 + ".dev/x"), is_key("a" * 64), is_key("a." * 126 + "bc/x")
    (True, True, False, False)
    """
    return _KEY.fullmatch(text) is not None


def is_value(text: str) -> bool:
    """Whether a label or a taint can have this value."""
    return _VALUE.fullmatch(text) is not None
