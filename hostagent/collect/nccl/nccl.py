"""The fact `Nccl`, of its parts."""

from collections.abc import Callable
from typing import Any

from hostagent.collect.nccl.libraries import read_found, read_libraries, read_plugins
from hostagent.collect.nccl.settings import files_there, has_environment, read_settings
from hostagent.facts.nccl import Nccl
from hostagent.source import Source


def read_nccl(source: Source, known: Callable[[type], Any]) -> Nccl:
    found = read_found(source)
    libraries = read_libraries(source, found)
    return Nccl(
        libraries=libraries,
        plugins=read_plugins(source, found, libraries),
        settings=read_settings(source, libraries),
        has_environment=has_environment(source),
        files=files_there(source, libraries),
    )
