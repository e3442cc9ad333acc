"""Imports `requests` without modules that no request to an API server uses: a third of its memory in a long-running process."""

# Left out: charset_normalizer and its codecs, idna, zstd: 3.5 MiB that no request uses.

import contextlib
import importlib
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

#: `requests` and urllib3 work without these: they guess the encoding of a text, or unpack answers that are compressed in a rarer way.
_OPTIONAL = ("chardet", "charset_normalizer", "brotli", "brotlicffi", "backports.zstd")
#: `requests` imports it for its name, and once more where a host has a name that is not ASCII: then it comes whole.
_LATER = ("idna",)


def imported() -> Any:
    """The module. During its import other threads do not find the modules left out; afterwards they do."""
    if "requests" not in sys.modules:
        with contextlib.suppress(ImportError), _without():  # a release that insists on one of them
            return importlib.import_module("requests")
    return importlib.import_module("requests")


@contextlib.contextmanager
def _without() -> "Iterator[None]":
    stand_ins: dict[str, Any] = {**dict.fromkeys(_OPTIONAL), **{name: types.ModuleType(name) for name in _LATER}}
    hidden = {name: one for name, one in stand_ins.items() if name not in sys.modules}
    sys.modules.update(hidden)  # None: there is no such module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `requests`, that it guesses no encoding
            yield
    finally:
        for name in hidden:
            del sys.modules[name]
