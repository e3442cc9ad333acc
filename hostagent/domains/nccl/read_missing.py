"""Needed libraries of a plug-in that the loader does not find (ld.so(8)): NCCL then goes on without the plug-in."""

# ldd(1) agrees on 40 generated plug-ins (tests/real/test_libnccl_found.py). One step deep: what a needed library needs is not
# asked. libcudart, libnccl and what the driver brings are never missing.

from collections.abc import Iterator

from hostagent.core.answers import NcclFile
from hostagent.core.unread import NOT_THERE, Unread, need
from hostagent.domains.driver.read_ld_cache import read_ldcache
from hostagent.domains.nccl.read_places import DEFAULT, Candidate
from hostagent.domains.nccl.tables import libraries as known
from hostagent.host.source import Source


def missing(source: Source, plugin: Candidate, file: NcclFile, search: tuple[str, ...]) -> tuple[str, ...]:
    """Names of missing libraries, without those that every job has loaded before. Raises ``UnreadError``."""
    wanted = tuple(name for name in file.needed if not known.LOADED_BEFORE.fullmatch(name))
    if not wanted:
        return ()
    cached = {entry.soname for entry in need(read_ldcache(source, wanted)) if _is_there(source, entry.path)}
    directories = tuple(dict.fromkeys((*search, *own_paths(plugin, file.paths), *DEFAULT)))
    return tuple(name for name in wanted if name not in cached and not any(_is_there(source, f"{one}/{name}") for one in directories))


def own_paths(plugin: Candidate, paths: tuple[str, ...]) -> Iterator[str]:
    """
    Directories that a plug-in itself names for its libraries.

    >>> list(own_paths(Candidate("/opt/a/lib/libnccl-net.so", "directory", "/opt/a/lib/x/n.so"), ("/opt/efa/lib", "$ORIGIN/../b", "$LIB")))
    ['/opt/efa/lib', '/opt/a/lib/../b', '/opt/a/lib/x/../b']
    """
    for path in paths:
        for origin in (plugin.path, plugin.real) if "ORIGIN" in path else ("",):
            directory = path.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", origin.rpartition("/")[0])
            if directory.startswith("/") and "$" not in directory:
                yield directory


def _is_there(source: Source, path: str) -> bool:
    found = source.realpath(path)
    if isinstance(found, Unread) and found.why not in NOT_THERE:
        need(found)
    return not isinstance(found, Unread)
