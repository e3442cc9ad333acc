"""TOML with one kind of error, loaded when it is needed: importing the parser costs more than reading most files."""

import sys
from typing import Any


def parse_toml(text: str) -> dict[str, Any]:
    """The document; raises ``ValueError``, also for nesting that is too deep.

    >>> parse_toml("mode = 'auto'")
    {'mode': 'auto'}
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
