"""Version pins of apt and version locks of dnf 4, dnf 5, zypper and tdnf."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import chain

from hostagent.core.parsing import at_most, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, need
from hostagent.domains.packages.deb822 import parse_stanzas
from hostagent.domains.packages.read_dpkg import Record
from hostagent.facts.packages import VersionLock
from hostagent.host.source import Source
from hostagent.host.values import paths_in

PREFERENCES_DIR = "/etc/apt/preferences.d"
_PINS, _MENTION = Keep("stanzas", ("package", "pin=version ", "pin-priority")), Keep("matches", ("(?i:nvidia|cuda)",))
#: One package per line, and nothing else; dnf 5's are tables.
_LOCKS = Keep("matches", (r"^[^\S\n]*[^\s#!;\[]\S*[^\S\n]*$",))
_LOCK_TABLES = Keep("toml", ("packages/name", *(f"packages/conditions/{key}" for key in ("key", "comparator", "value"))))
_LOCK_STANZAS = Keep("settings", ("solvable_name", "version"))
#: A priority above the 500 of an ordinary repository: the pinned version wins over a newer one.
_WINS_OVER_NEWER = 500
#: Suffixes that apt ignores silently (Dir::Ignore-Files-Silently): files disabled on purpose.
_DISABLED = re.compile(r"~$|\.(?:disabled|bak|save|orig|distUpgrade|dpkg-[a-z]+)$")
#: Every lock is matched with every package; more locks than in practice would cost minutes.
_MOST_LOCKS, _LONGEST = 1000, 200
_NEVRA = re.compile(r"(?P<name>[^:]+?)-(?:[0-9]+:)?(?P<version>[0-9][^-]*)(?:-[^-]+)?")

#: Letters, dots that may repeat, escaped punctuation: expressions that are equivalent to a glob.
_SIMPLE = re.compile(r"\^?(?:[A-Za-z0-9_:-]|\.[*+]?|\\[.+-])*\$?")
_GLOB_OF = {".": "?", ".*": "*", ".+": "?*"}

Locks = tuple[VersionLock, ...]


def apt_reads(name: str) -> bool:
    """Whether apt reads a file of this name in a directory of preferences (apt_preferences(5)).

    >>> apt_reads("nvidia"), apt_reads("nvidia.pref"), apt_reads("nvidia.conf"), apt_reads("nvidia 580")
    (True, True, False, False)
    """
    return bool(re.fullmatch(r"[A-Za-z0-9_.-]+", name)) and not name.startswith(".") and ("." not in name or name.endswith(".pref"))


def parse_preferences(text: str, file: str) -> Locks:
    r"""The version pins in a file of apt preferences; pins to a release or an origin are skipped.

    >>> for lock in parse_preferences("Package: cuda-drivers* src:nvidia-open:any\nPin: version 580.126.09-*\nPin-Priority: 1000\n", "p"):
    ...     print(lock.package, lock.version)
    cuda-drivers* 580.126.09-*
    src:nvidia-open 580.126.09-*
    """
    return _all(lock for fields in parse_stanzas(text) for lock in _pins(fields, file))


def _all(locks: Iterable[VersionLock]) -> Locks:
    """Raises ``ValueError`` if there are too many."""
    found = tuple(at_most(_MOST_LOCKS, "locks", locks))
    if any(len(one.package) + len(one.version) > _LONGEST for one in found):
        raise ValueError(f"found a lock longer than {_LONGEST} characters")
    return found


def _pins(fields: dict[str, str], file: str) -> Iterator[VersionLock]:
    kind, _, version = fields.get("pin", "").partition(" ")
    priority = re.match(r"-?[0-9]{1,9}", fields.get("pin-priority", ""))
    if kind.lower() == "version" and priority and int(priority[0]) > _WINS_OVER_NEWER:
        for pattern in fields.get("package", "").split():
            yield VersionLock(file, re.sub(r":(?:any|native|all|[a-z0-9]+)$", "", _glob(pattern)), version.strip())


def _glob(pattern: str) -> str:
    """Converts one of apt's /regular expressions/, which match anywhere in the name, to a glob."""
    if len(pattern) < 2 or not (pattern.startswith("/") and pattern.endswith("/")):
        return pattern
    body = pattern[1:-1]
    return regex_glob(body if body.startswith("^") else f".*{body}")


def regex_glob(pattern: str) -> str:
    """Converts a regular expression that is matched from the start of a name to a glob.

    Most are prefixes with ``.*``. An expression with no equivalent glob is returned unchanged and matches nothing: running untrusted
    expressions could take unbounded time.

    >>> regex_glob("nvidia-"), regex_glob("^libnvidia-.*$"), regex_glob("linux-(image|modules)")
    ('nvidia-*', 'libnvidia-*', 'linux-(image|modules)')
    """
    if not _SIMPLE.fullmatch(pattern):
        return pattern
    body = re.sub(r"\.[*+]?|\\(.)", lambda match: match[1] or _GLOB_OF[match[0]], pattern.removeprefix("^"))
    return body[:-1] if body.endswith("$") else f"{body}*"


def parse_versionlock(text: str, file: str) -> Locks:
    r"""The list of dnf 4's versionlock, or of tdnf: a package pattern a line, an exclamation mark for an exclusion.

    A pattern followed by a note matches no package.

    >>> parse_versionlock("# by hand\nnvidia-driver-3:580.95.05-1.el9.*\n*nvidia*580*\n!kernel-6.*\n", "v")
    (VersionLock(file='v', package='nvidia-driver', version='580.95.05'), VersionLock(file='v', package='*nvidia*', version='580*'))
    """
    lines = (line.split() for line in text.split("\n"))
    return _all(_nevra(words[0], file) for words in lines if len(words) == 1 and words[0][0] not in "#!;[")


def _nevra(pattern: str, file: str) -> VersionLock:
    glob = re.fullmatch(r"(?P<name>.*\*)(?P<version>[0-9]{3}[0-9.]*\*?)", pattern)
    match = glob or _NEVRA.fullmatch(pattern)
    return VersionLock(file, match["name"], match["version"]) if match else VersionLock(file, pattern, "")


def parse_versionlock_toml(text: str, file: str) -> Locks:
    """The list of dnf 5's versionlock; raises ``ValueError``.

    >>> parse_versionlock_toml('''version = "1.0"
    ... [[packages]]
    ... name = "nvidia-driver"
    ... [[packages.conditions]]
    ... key = "evr"
    ... comparator = "="
    ... value = "3:580.95.05-1.fc42"
    ... ''', "t")
    (VersionLock(file='t', package='nvidia-driver', version='3:580.95.05-1.fc42'),)
    """
    from hostagent.core.toml import parse_toml

    rows = parse_toml(text.encode()).get("packages", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows):
        raise ValueError("found packages of another shape, wanted tables with a name")
    return _all(VersionLock(file, row["name"], _condition(row)) for row in rows)


def _condition(row: "dict[str, object]") -> str:
    conditions = row.get("conditions", [])
    for one in conditions if isinstance(conditions, list) else []:
        if isinstance(one, dict) and one.get("key") in ("evr", "version") and one.get("comparator") in ("=", "=="):
            return str(one.get("value", ""))
    return ""


def parse_zypp_locks(text: str, file: str) -> Locks:
    r"""Locks of zypper: stanzas with ``solvable_name`` and perhaps ``version``.

    >>> parse_zypp_locks("type: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: nvidia-compute-utils-G06\n", "z")
    (VersionLock(file='z', package='nvidia-compute-utils-G06', version=''),)
    """
    stanzas = (dict(line.split(": ", 1) for line in one.splitlines() if ": " in line) for one in re.split(r"\n[ \t]*\n", text))
    named = (one for one in stanzas if "solvable_name" in one)
    return _all(VersionLock(file, one["solvable_name"].strip(), one.get("version", "").strip(" =")) for one in named)


def covers(lock: VersionLock, record: Record) -> bool:
    """Whether a lock holds this package at its installed version."""
    name = f"src:{record.source}" if lock.package.startswith("src:") else record.name
    if not fnmatchcase(name, lock.package):
        return False
    version = lock.version.rstrip("*") + "*"
    return any(fnmatchcase(one, version) for one in (record.version, record.version.partition(":")[2] or record.version))


_LISTS = (
    ("/etc/dnf/plugins/versionlock.list", parse_versionlock, _LOCKS),
    ("/etc/yum/pluginconf.d/versionlock.list", parse_versionlock, _LOCKS),
    ("/etc/dnf/versionlock.toml", parse_versionlock_toml, _LOCK_TABLES),
    ("/etc/zypp/locks", parse_zypp_locks, _LOCK_STANZAS),
)


@stops_at_unread
def read_locks(source: Source) -> "tuple[Locks, tuple[str, ...]] | Unread":
    """All pins and locks, and the preferences files that mention NVIDIA but that apt ignores because of their name."""
    locks: Locks = ()
    ignored: list[str] = []
    try:
        for file in ("/etc/apt/preferences", *paths_in(source, PREFERENCES_DIR)):
            name = file.rpartition("/")[2]
            is_read = file == "/etc/apt/preferences" or apt_reads(name)
            text = need(source.text(file, keep=_PINS if is_read else _MENTION, absent=""))
            if is_read:
                locks = _all(chain(locks, parse_preferences(text, file)))
            elif not _DISABLED.search(name) and re.search("nvidia|cuda", text, re.IGNORECASE):
                ignored.append(file)
        for file, parse, keep in (*_LISTS, *((file, parse_versionlock, _LOCKS) for file in paths_in(source, "/etc/tdnf/locks.d"))):
            if text := need(source.text(file, keep=keep, absent="")):
                locks = _all(chain(locks, parse(text, file)))
    except ValueError as error:
        return Unread("error", f"{file}: {error}")
    return locks, tuple(ignored)
