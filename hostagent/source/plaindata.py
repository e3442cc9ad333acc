"""What our processes write to each other. The one that reads believes no byte of it: who reads the files of others may be theirs.

By pickle, which is fast, and of which nothing is taken but plain values and, where they are asked for, the fact types of one package:
no function is called. (marshal says of itself that it is not for data of others.)
"""

import io
import pickle
import sys
from typing import Any


class _Plain(pickle.Unpickler):
    """Takes no class."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"found {module}.{name}, wanted plain values")


class _OfPackage(pickle.Unpickler):
    """Takes classes that a module of `package` defines."""

    def __init__(self, data: bytes, package: str) -> None:
        super().__init__(io.BytesIO(data))
        self._package = package

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith(f"{self._package}."):
            __import__(module)
            found = getattr(sys.modules[module], name, None)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"found {module}.{name}, wanted a class of {self._package}")


def dumps(value: Any) -> bytes:
    return pickle.dumps(value, protocol=5)


def loads(data: bytes) -> Any:
    """Plain values. Raises ``ValueError`` for anything else."""
    return _loaded(_Plain(io.BytesIO(data)))


def loads_classes(data: bytes, package: str) -> Any:
    """Plain values, and instances of classes of that package. Raises ``ValueError`` for anything else."""
    return _loaded(_OfPackage(data, package))


def _loaded(unpickler: pickle.Unpickler) -> Any:
    try:
        return unpickler.load()
    except Exception as error:  # pickle raises whatever a damaged stream makes it do
        raise ValueError(f"the data of another process is damaged: {type(error).__name__}: {error}") from error
