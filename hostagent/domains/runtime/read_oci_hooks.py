"""Programs that CRI-O runs at each container start: the files of its hook directories, oci-hooks(5)."""

import json
from typing import Any

from hostagent.core.parsing import Allowance, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.host.source import Source
from hostagent.host.values import names_in

_KEEP = Keep("json", ("hook/path",))
_MAX_BYTES = 256 * 1024
#: The toolkit's hook, and its name before 1.13.
_PROGRAMS = frozenset({"nvidia-container-runtime-hook", "nvidia-container-toolkit"})


@stops_at_unread
def read_hooks(source: Source, directories: tuple[str, ...]) -> tuple[str, ...]:
    """The files that name an executable hook of the toolkit."""
    found = []
    size = Allowance("bytes of OCI hooks", _MAX_BYTES)
    for directory in directories:
        for path in (f"{directory}/{name}" for name in need(names_in(source, directory)) if name.endswith(".json")):
            data = need(source.read(path, _MAX_BYTES, keep=_KEEP))
            size.take(len(data))
            program = parse_hook(data)
            if program.rpartition("/")[2] in _PROGRAMS and _can_be_run(source, program):
                found.append(path)
    return tuple(found)


def parse_hook(data: bytes) -> str:
    """The program of one file, "" for none.

    >>> parse_hook(b'{"version": "1.0.0", "hook": {"path": "/usr/bin/nvidia-container-runtime-hook"}, "stages": ["prestart"]}')
    '/usr/bin/nvidia-container-runtime-hook'
    """
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    hook = document.get("hook") if isinstance(document, dict) else None
    path = hook.get("path") if isinstance(hook, dict) else ""
    return path if isinstance(path, str) else ""


def _can_be_run(source: Source, path: str) -> bool:
    stat = source.stat(path)
    if isinstance(stat, Unread) and stat.why in NOT_APPLICABLE:
        return False
    return need(stat).kind == "file" and bool(need(stat).mode & 0o111)
