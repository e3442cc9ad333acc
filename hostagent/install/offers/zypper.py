"""Queries zypper of the target in a room."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from hostagent.core.unread import Unread
from hostagent.install.offers.dnf import candidates_of
from hostagent.install.offers.programs import Completed, Programs
from hostagent.install.offers.rpmtext import parse_zypper_repositories, parse_zypper_search, parse_zypper_summary, zypper_errors
from hostagent.install.offers.words import fault_of, shown
from hostagent.plan import rpmcommands
from hostagent.plan.offers import Candidate, Moved, RefreshFault, Transaction

_REFRESH_S, _ANSWER_S = 150.0, 90.0
#: Its own lock is below /run, which is only to be read.
_OWN = {"ZYPP_LOCKFILE_ROOT": "/var/tmp", "ZYPP_MEDIA_CURL_DEBUG": "0"}  # noqa: S108  in memory
_PROGRESS = ("Forcing", "Building", "Retrieving", "All ", "Warning: ", "Error code")
#: Exit codes (zypper(8)) of what it would do: now, with a reboot, with a restart of itself.
_GOOD = frozenset({0, 100, 101, 102, 103, 106})


class Zypper:
    TRUSTED: ClassVar[tuple[str, ...]] = (
        *("/usr/bin/zypper", "/usr/bin/rpm", "/usr/bin/gpg2", "/etc/zypp", "/etc/zypp/repos.d", "/etc/zypp/services.d"),
        *("/usr/lib/zypper/commands", "/usr/lib/zypp/plugins", "/etc/rpm"),
    )

    def __init__(self, programs: Programs, lock_timeout_s: int) -> None:
        self._programs = programs

    def settings(self) -> Mapping[str, bytes]:
        return {}

    def refresh(self) -> "RefreshFault | Unread | None":
        found = self._run(rpmcommands.refresh("zypper"), _REFRESH_S)
        if isinstance(found, Unread):
            return RefreshFault("unreachable", found.detail) if found.why == "timeout" else found
        output = f"{found.stderr}\n{found.stdout}"
        if found.exit_code == 0 and "Skipping repository" not in output:
            return None
        return fault_of("\n".join(line for line in output.splitlines() if not line.startswith(_PROGRESS)))

    def candidates(self, names: Iterable[str]) -> "Mapping[str, tuple[Candidate, ...]] | Unread":
        """Without sizes, which zypper does not print. A version that is only installed is in a repository of its own, without an
        address.
        """
        wanted = tuple(names)
        found = self._run(_xml("search", "-s", "--match-exact", "-t", "package", *wanted), _ANSWER_S) if wanted else None
        urls = self._urls()
        if isinstance(urls, Unread):
            return urls
        if isinstance(found, Unread):
            return found
        try:
            offered = parse_zypper_search(found.stdout) if found else ()
        except ValueError as error:
            return Unread("error", f"zypper search: {error}")
        return {name: candidates_of(name, offered, {}, urls) for name in wanted}

    def transaction(self, argv: tuple[str, ...]) -> "Transaction | Unread":
        at = argv.index("install") + 1
        found = self._run((argv[0], "--xmlout", *argv[1:at], "--dry-run", *argv[at:]), _ANSWER_S)
        if isinstance(found, Unread):
            return found
        try:
            summary = parse_zypper_summary(found.stdout)
            if found.exit_code not in _GOOD or (summary is None and "Nothing to do" not in found.stdout):
                return Transaction(error=shown(zypper_errors(found.stdout) or found.stderr or found.stdout[-500:]))
        except ValueError as error:
            return Unread("error", f"zypper install --dry-run: {error}")
        if summary is None:
            return Transaction()
        changes, download, disk = summary
        offered = self.candidates(dict.fromkeys(one.name for one in changes if one.after))
        if isinstance(offered, Unread):
            return offered
        urls = {(one.name, one.version): one.url for several in offered.values() for one in reversed(several)}
        return Transaction(tuple(Moved(*one, urls.get((one.name, one.after), "")) for one in changes), download, disk)

    def fetch(self, packages: Iterable[tuple[str, str]]) -> "Unread | None":
        return Unread("not-supported", "zypper is not asked for packages to keep")

    def _urls(self) -> "dict[str, str] | Unread":
        found = self._run(_xml("repos", "-u"), _ANSWER_S)
        if isinstance(found, Unread):
            return found
        try:
            return parse_zypper_repositories(found.stdout)
        except ValueError as error:
            return Unread("error", f"zypper repos: {error}")

    def _run(self, argv: tuple[str, ...], seconds: float) -> "Completed | Unread":
        return self._programs.run(argv, seconds, _OWN)


def _xml(*words: str) -> tuple[str, ...]:
    return ("zypper", "--non-interactive", "--xmlout", "--no-refresh", *words)
