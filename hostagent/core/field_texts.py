"""Descriptions of the fields of a class, for its schema: the strings under the fields in the source, which Python drops."""

import ast
import functools
import sys
from collections.abc import Mapping
from typing import Any


@functools.cache
def field_texts(kind: type) -> Mapping[str, str]:
    """By name; a field without a text is not in it.

    >>> from hostagent.core.steps import Step
    >>> field_texts(Step)["text"]
    'The step, for people.'
    """
    return _module_texts(kind.__module__).get(kind.__name__, {})


@functools.cache
def _module_texts(module: str) -> Mapping[str, Mapping[str, str]]:
    loader: Any = sys.modules[module].__loader__
    return {node.name: dict(_texts(node)) for node in ast.parse(loader.get_source(module)).body if isinstance(node, ast.ClassDef)}


def _texts(node: ast.ClassDef) -> "list[tuple[str, str]]":
    return [
        (field.target.id, " ".join(below.value.value.split()))
        for field, below in zip(node.body, node.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    ]
