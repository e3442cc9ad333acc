"""Docker's running containers, and whether they survive its restart."""

# A shim lives as long as its container, even if dockerd does not run, so containers' configurations, which hold their
# environment, are not opened. live_restore in a file newer than the running dockerd is an error: dockerd may not have read it. A
# dockerd with another --containerd-namespace is not found.

import json
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import DOCKER_PROCESS
from hostagent.core.unread import Unread, need
from hostagent.domains.system.read_processes import read_processes
from hostagent.facts.host import running
from hostagent.facts.runtime import Runtime
from hostagent.host.source import Source

#: With a suffix if user namespaces are remapped.
_NAMESPACE = "moby"
_FLAG = "--live-restore"
_FALSE = frozenset({"false", "f", "0"})
_PROCESSES = Keep("arguments", (f"{_FLAG}!", f"{_FLAG}#"))
_FILE = Keep("json", ("live-restore#",))

Runtimes = tuple[Runtime, ...]


def _docker(runtimes: "Runtimes | Unread") -> "Runtime | None":
    return next((one for one in need(runtimes) if one.kind == "docker"), None)


@stops_at_unread
def read_containers(source: Source, runtimes: "Runtimes | Unread") -> int:
    if _docker(runtimes) is None:
        return 0
    counts = need(source.shims())
    mine = [count for name, count in counts.items() if name.split("-")[0] == _NAMESPACE]
    return sum(count for count in mine if type(count) is int)


@stops_at_unread
def read_live_restore(source: Source, runtimes: "Runtimes | Unread") -> "bool | Unread":
    """The value in the running dockerd, which reads its file at its start and on SIGHUP."""
    docker = _docker(runtimes)
    if docker is None:
        return False
    processes = read_processes(source, _PROCESSES)
    daemon = next(iter(need(running(need(processes), DOCKER_PROCESS))), None) if not _is_image(processes) else None
    if daemon is not None and (enabled := parse_live_restore_flag(daemon.argv)) is not None:
        return enabled
    files = need(docker.config_files)
    path = files[0] if files else "/etc/docker/daemon.json"
    says = parse_live_restore(need(source.text(path, keep=_FILE, absent="")), path)
    if says is True and daemon is not None and need(source.stat(path)).mtime > daemon.started_at:
        return Unread("error", f"{path} is newer than the dockerd that runs: whether that has read live-restore in it is not known")
    return says


def _is_image(processes: Any) -> bool:
    return isinstance(processes, Unread) and processes.why == "not-running"


def parse_live_restore(text: str, path: str) -> "bool | Unread":
    """
    The value in daemon.json.

    >>> parse_live_restore('{"live-restore": true}', "f"), parse_live_restore("", "f"), parse_live_restore("{", "f").why
    (True, False, 'error')
    """
    try:
        document = json.loads(text.removeprefix("\ufeff").strip() or "{}")
    except (ValueError, RecursionError) as error:
        return Unread("error", f"{path}: {error}")
    value = document.get("live-restore", False) if isinstance(document, dict) else None
    return value if isinstance(value, bool) else Unread("error", f"{path}: live-restore is no truth value")


def parse_live_restore_flag(argv: tuple[str, ...]) -> "bool | None":
    """The value on dockerd's command line, None if unset; the last flag counts.

    >>> parse_live_restore_flag((DOCKER_PROCESS, "--live-restore")), parse_live_restore_flag((DOCKER_PROCESS, "--live-restore=false"))
    (True, False)
    """
    enabled = None
    for word in argv:
        name, equals, value = word.partition("=")
        if name == _FLAG:
            enabled = not equals or value.lower() not in _FALSE
    return enabled
