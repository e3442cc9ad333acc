"""The fact `Nccl`, of its parts."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hostagent.core.unread import Unread
from hostagent.domains.nccl.read_job import read_job
from hostagent.domains.nccl.read_libraries import read_found, read_libraries, read_plugins
from hostagent.domains.nccl.read_settings import files_there, has_environment, read_settings
from hostagent.facts.nccl import Nccl
from hostagent.host.source import Source


def read_nccl(source: Source, known: Callable[[type], Any]) -> Nccl:
    found = read_found(source)
    libraries = read_libraries(source, found)
    job = read_job(source)
    nccl = Nccl(
        libraries=libraries,
        plugins=read_plugins(source, found, libraries),
        settings=read_settings(source, libraries),
        has_environment=has_environment(source),
        files=files_there(source, libraries),
    )
    return nccl if isinstance(job, Unread) else _naming_nobody(nccl, job.shown)


def _naming_nobody(value: Any, shown: Callable[[str], str]) -> Any:
    """Why something could not be read names its path, too, and that may lie in a person's directory."""
    if isinstance(value, Unread):
        return Unread(value.why, shown(value.detail), shown(value.question), tuple(map(shown, value.evidence)))
    if isinstance(value, tuple):
        return tuple(_naming_nobody(one, shown) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _naming_nobody(getattr(value, one.name), shown) for one in fields(value)})
    return value
