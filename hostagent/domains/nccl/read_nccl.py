"""The fact `Nccl`, of its parts."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hostagent.core.unread import Unread
from hostagent.domains.nccl.read_job import read_job
from hostagent.domains.nccl.read_libraries import read_candidates, read_libraries, read_plugins
from hostagent.domains.nccl.read_settings import files_there, has_environment, read_settings
from hostagent.facts.nccl import Nccl
from hostagent.host.source import Source


def read_nccl(source: Source, known: Callable[[type], Any]) -> Nccl:
    found = read_candidates(source)
    libraries = read_libraries(source, found)
    job = read_job(source)
    nccl = Nccl(
        libraries=libraries,
        plugins=read_plugins(source, found, libraries),
        settings=read_settings(source, libraries),
        has_environment=has_environment(source),
        files=files_there(source, libraries),
    )
    return nccl if isinstance(job, Unread) else _without_names(nccl, job.shown)


def _without_names(value: Any, shown: Callable[[str], str]) -> Any:
    """Removes names of people from values and reasons: a path in them may be in a home directory."""
    if isinstance(value, Unread):
        return Unread(value.why, shown(value.detail), shown(value.question), tuple(map(shown, value.evidence)))
    if isinstance(value, tuple):
        return tuple(_without_names(one, shown) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _without_names(getattr(value, one.name), shown) for one in fields(value)})
    return value
