"""Queries apt of the target in a room: by the commands that an installation runs, with its keys, repositories and pins."""

# apt's Dir:: options would need no mounts, but take 0.6 s instead of 0.24 s and miss pins. apt-get update exits 0 where a
# repository cannot be read unless APT::Update::Error-Mode=any is set. Hooks are cleared in the room (`#clear` at the end of
# apt.conf), so packagekit hears of the real update alone. A mirror that takes a connection and says nothing costs 41 s (10 s, one
# retry).

from collections.abc import Iterable, Mapping
from typing import ClassVar

from hostagent.core.unread import Unread
from hostagent.install.offers.apttext import Record, Source, messages, parse_policy, parse_records, parse_simulation, parse_uris, refusal
from hostagent.install.offers.programs import Completed, Programs
from hostagent.install.offers.room import KEPT
from hostagent.install.offers.words import fault_of, shown, worst
from hostagent.plan import aptcommands
from hostagent.plan.offers import Candidate, Moved, RefreshFault, Transaction

#: Seconds for reading all repositories, and for one answer of the solver on a busy machine.
_REFRESH_S, _ANSWER_S, _DOWNLOAD_S = 120.0, 60.0, 1800.0
#: apt's message where installed packages lack dependencies, before it handles the request.
_UNMET = "apt --fix-broken install"
#: Hooks of an update do not run; a mirror that hangs is given up; unused texts are not fetched;
#: what images of containers turn off makes each answer twice as fast.
_SETTINGS_FILE = "/etc/apt/apt.conf"
_SETTINGS = """
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Update::Post-Invoke-Stats;
#clear AptCli::Hooks;
#clear DPkg::Pre-Install-Pkgs;
#clear Binary::apt-get::APT::Update;
#clear Acquire::Languages;
Acquire::Languages { "none"; };
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
Acquire::Retries "1";
Acquire::http::Timeout "10";
Acquire::https::Timeout "10";
Acquire::ftp::Timeout "10";
"""


class Apt:
    """Queries; no method raises for an error of apt or the network."""

    #: Programs that apt runs, and files that configure them: a user that may write one of them can become root on this machine.
    TRUSTED: ClassVar[tuple[str, ...]] = (
        *("/usr/bin/apt-get", "/usr/bin/apt-cache", "/usr/bin/dpkg", "/usr/bin/gpgv", "/usr/bin/sqv", "/usr/bin/apt-key"),
        *("/usr/lib/apt/methods", "/usr/lib/apt/solvers", "/usr/lib/apt/planners", "/etc/apt/apt.conf", "/etc/apt/apt.conf.d"),
    )

    def __init__(self, programs: Programs, lock_timeout_s: int) -> None:
        self._run = programs.run
        self._read = programs.read
        self._lock_timeout_s = lock_timeout_s
        self._native = ""

    def settings(self) -> Mapping[str, bytes]:
        """Files that are written before the first query."""
        own = self._read(_SETTINGS_FILE)
        return {_SETTINGS_FILE: (b"" if isinstance(own, Unread) else own) + _SETTINGS.encode()}

    def refresh(self) -> "RefreshFault | Unread | None":
        found = self._run(aptcommands.refresh(self._lock_timeout_s), _REFRESH_S)
        if isinstance(found, Unread):
            return RefreshFault("unreachable", found.detail) if found.why == "timeout" else found
        if found.exit_code == 0:
            return None
        fault = worst(map(fault_of, messages(found.stderr)))
        return fault or RefreshFault("error", shown(found.stderr or found.stdout[-500:]))

    def candidates(self, names: Iterable[str]) -> "Mapping[str, tuple[Candidate, ...]] | Unread":
        wanted = tuple(names)
        table = self._policy(wanted)
        if isinstance(table, Unread):
            return table
        records = self._records(wanted)
        if isinstance(records, Unread):
            return records
        return {name: tuple(_candidate(name, one, records) for one in _distinct(table.get(name, ()))) for name in wanted}

    def transaction(self, argv: tuple[str, ...]) -> "Transaction | Unread":
        found = self._run(aptcommands.simulated(argv), _ANSWER_S)
        if not isinstance(found, Unread) and found.exit_code != 0 and _UNMET in found.stdout + found.stderr:
            argv = self._repaired(argv)
            found = self._run(aptcommands.simulated(argv), _ANSWER_S)
        if isinstance(found, Unread):
            return found
        if found.exit_code != 0:
            return Transaction(error=shown(refusal(found.stdout, found.stderr)))
        native = self._architecture()
        if isinstance(native, Unread):
            return native
        changes = parse_simulation(found.stdout, native)
        if not changes:
            return Transaction()
        uris = self._run(_with("--print-uris", argv), _ANSWER_S)
        if isinstance(uris, Unread):
            return uris
        names = tuple(dict.fromkeys(f"{one.name}:{one.arch}" if one.arch not in {native, "all"} else one.name for one in changes))
        table, records = self._policy(names), self._records(names)
        if isinstance(table, Unread):
            return table
        if isinstance(records, Unread):
            return records
        moved = tuple(Moved(*one, _url(table, one.name, one.arch, one.after)) for one in changes)
        disk = sum(_installed(records, one.name, one.after) - _installed(records, one.name, one.before) for one in changes)
        return Transaction(moved, parse_uris(uris.stdout), disk)

    def _repaired(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """With packages that an interrupted run left out: the plan's first step, not done yet, installs them."""
        found = self._run(aptcommands.simulated(aptcommands.fix_broken(self._lock_timeout_s)), _ANSWER_S)
        native = self._architecture()
        if isinstance(found, Unread) or found.exit_code != 0 or isinstance(native, Unread):
            return argv
        named = {word.partition("=")[0].removesuffix("-") for word in argv[argv.index("install") + 1 :]}
        changes = (one for one in parse_simulation(found.stdout, native) if one.after and one.name not in named)
        return (
            *argv,
            *(f"{one.name}={one.after}" if one.arch in {native, "all"} else f"{one.name}:{one.arch}={one.after}" for one in changes),
        )

    def fetch(self, packages: Iterable[tuple[str, str]]) -> "Unread | None":
        """Download these packages at these versions into `KEPT`, without those that are not available."""
        wanted = tuple(f"{name}={version}" for name, version in packages)
        found = self._download(wanted)
        if isinstance(found, Unread) or found.exit_code == 0:
            return found if isinstance(found, Unread) else None
        for one in wanted:  # one that is not available must not fail the others
            found = self._download((one,))
            if isinstance(found, Unread):
                return found
        return None

    def _download(self, words: tuple[str, ...]) -> "Completed | Unread":
        return self._run(("env", f"--chdir={KEPT}", "apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *words), _DOWNLOAD_S)

    def _policy(self, names: tuple[str, ...]) -> "dict[str, tuple[Source, ...]] | Unread":
        found = self._run(("apt-cache", "policy", *names), _ANSWER_S) if names else None
        return {} if found is None else found if isinstance(found, Unread) else parse_policy(found.stdout)

    def _records(self, names: tuple[str, ...]) -> "dict[tuple[str, str], Record] | Unread":
        """apt-cache exits with 100 where one of several names is unknown, and prints the others."""
        found = self._run(("apt-cache", "show", "--all-versions", *names), _ANSWER_S) if names else None
        return {} if found is None else found if isinstance(found, Unread) else parse_records(found.stdout)

    def _architecture(self) -> "str | Unread":
        if not self._native:
            found = self._run(("dpkg", "--print-architecture"), _ANSWER_S)
            if isinstance(found, Unread):
                return found
            self._native = found.stdout.strip()
        return self._native


def _with(word: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    """With an option: apt-get takes them anywhere before the packages."""
    return (argv[0], word, *argv[1:])


def _distinct(sources: tuple[Source, ...]) -> list[Source]:
    """Without versions of the package database that a repository has, too."""
    offered = {one.version for one in sources if one.url}
    return [one for one in dict.fromkeys(sources) if one.url or one.version not in offered]


def _candidate(name: str, source: Source, records: Mapping[tuple[str, str], Record]) -> Candidate:
    record = records.get((name, source.version))
    return Candidate(name, source.version, source.url, source.suite, record.size_bytes if record else 0)


def _url(table: Mapping[str, tuple[Source, ...]], name: str, arch: str, version: str) -> str:
    sources = table.get(name) or table.get(f"{name}:{arch}") or ()
    return next((one.url for one in sources if one.version == version and one.url), "")


def _installed(records: Mapping[tuple[str, str], Record], name: str, version: str) -> int:
    found = records.get((name, version))
    return found.installed_bytes if found else 0
