"""Files of profiles, as bytes with their fingerprint. Without YAML: ``status`` compares them."""

import os
from collections.abc import Collection, Iterable, Mapping

from hostagent.core.hashes import hexdigest
from hostagent.core.smallfile import is_absent, read_small, reason

#: Where the built-in profiles are.
BUILT_IN = os.path.dirname(__file__)
MAX_BYTES = 256 * 1024
NEXT_STEP = "See 'hostagent schema profile'; 'hostagent profile init' prints every key with what it means"
_SUFFIX = ".json"
_BUILT_IN_PREFIX = "built-in:"
#: The fingerprint of a missing file.
ABSENT = ""


def names() -> tuple[str, ...]:
    """The built-in profiles."""
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in os.listdir(BUILT_IN) if name.endswith(_SUFFIX)))


def listed(profile: str, *, built_in: bool = False) -> str:
    """How a file is listed: ``built-in:NAME``, or its absolute path."""
    return f"{_BUILT_IN_PREFIX}{profile}" if built_in else os.path.abspath(profile)


def read(file: str, owners: Collection[int] = ()) -> bytes:
    """The bytes of a listed file. Raises ``OSError``, also for what is no regular file or has more than `MAX_BYTES`; see `read_small`."""
    return read_small(_path(file), MAX_BYTES, owners)


def commented(profile: str) -> str:
    """A built-in profile as YAML with its comments. Raises ``OSError``."""
    return read_small(os.path.join(BUILT_IN, f"{profile}.yaml"), MAX_BYTES).decode()


def trusted_owners() -> Collection[int]:
    """Owners of the files that this process may trust: only root as root; () for all, as an ordinary user decides only for itself."""
    return (0,) if os.geteuid() == 0 else ()


def fingerprint(data: bytes) -> str:
    """SHA-256, as 64 hex digits."""
    return hexdigest("sha256", data)


def changes(files: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Changes of files since their fingerprints were taken, by name: ``changed``, ``gone``, ``appeared``, or ``unreadable: …``.
    Unchanged files are not listed.
    """
    found = {file: _change(file, before) for file, before in files}
    return {file: change for file, change in found.items() if change}


def _change(file: str, before: str) -> str:
    try:
        now = ABSENT if is_absent(_path(file)) else fingerprint(read(file))
    except OSError as error:
        return f"unreadable: {reason(error)}"
    if now == before:
        return ""
    return "gone" if now == ABSENT else "appeared" if before == ABSENT else "changed"


def _path(file: str) -> str:
    return os.path.join(BUILT_IN, file.removeprefix(_BUILT_IN_PREFIX) + _SUFFIX) if file.startswith(_BUILT_IN_PREFIX) else file
