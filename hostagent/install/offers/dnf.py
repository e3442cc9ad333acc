"""Queries dnf and tdnf of the target in a room."""

# dnf and zypper pass over a repository that cannot be read and exit 0; their words say it. tdnf follows its source alone.

from collections.abc import Iterable, Mapping
from functools import cmp_to_key
from typing import ClassVar

from hostagent.core.unread import Unread
from hostagent.facts.version import compare_rpm
from hostagent.install.offers.programs import Completed, Programs
from hostagent.install.offers.rpmtext import (
    Offered,
    parse_repoquery,
    parse_repositories,
    parse_table,
    parse_tdnf_list,
    parse_versions,
)
from hostagent.install.offers.words import fault_of, repository_url, shown, worst
from hostagent.plan import rpmcommands
from hostagent.plan.offers import Candidate, Moved, RefreshFault, Transaction

#: Seconds: dnf reads all metadata in Python before each answer.
_REFRESH_S, _ANSWER_S = 150.0, 90.0
_FORMAT = "%{name}\t%{evr}\t%{arch}\t%{repoid}\t%{downloadsize}\t%{installsize}\n"
_INSTALLED = "%{NAME}\t%{EPOCH}:%{VERSION}-%{RELEASE}\t%{ARCH}\t%{SIZE}\n"
#: A table is cut to the width of its terminal.
_WIDE = {"COLUMNS": "500"}
#: A mirror that hangs is given up.
_PATIENCE = ("--setopt=timeout=10", "--setopt=retries=1")
_IS_WANTED = ("Operation aborted", "Exiting on user", "Is this ok")


class Dnf:
    TRUSTED: ClassVar[tuple[str, ...]] = (
        *("/usr/bin/dnf", "/usr/bin/rpm", "/usr/bin/gpg", "/usr/bin/python3", "/etc/dnf", "/etc/dnf/plugins", "/etc/yum.repos.d"),
        "/etc/rpm",
    )
    program = "dnf"

    def __init__(self, programs: Programs, lock_timeout_s: int) -> None:
        self._run_it = programs.run

    def settings(self) -> Mapping[str, bytes]:
        return {}

    def refresh(self) -> "RefreshFault | Unread | None":
        """A skipped repository counts as unread."""
        found = self._run(rpmcommands.refresh(self.program), _REFRESH_S)
        if isinstance(found, Unread):
            return RefreshFault("unreachable", found.detail) if found.why == "timeout" else found
        output = f"{found.stderr}\n{found.stdout}"
        if found.exit_code == 0 and "Ignoring repositories" not in output and "Failed to download metadata" not in output:
            return None
        lines = [line.strip(" -") for line in output.splitlines()]
        errors = [line for line in lines if "rror" in line or line.startswith(("Failed to", "Ignoring "))]
        return worst(map(fault_of, errors)) or RefreshFault("error", shown(output[-500:]))

    def candidates(self, names: Iterable[str]) -> "Mapping[str, tuple[Candidate, ...]] | Unread":
        wanted = tuple(names)
        offered, installed, urls = self._offered(wanted), self._installed(), self._urls()
        if isinstance(offered, Unread):
            return offered
        if isinstance(installed, Unread):
            return installed
        if isinstance(urls, Unread):
            return urls
        return {name: candidates_of(name, offered, installed, urls) for name in wanted}

    def transaction(self, argv: tuple[str, ...]) -> "Transaction | Unread":
        found = self._run((argv[0], "--assumeno", *(word for word in argv[1:] if word != "-y")), _ANSWER_S)
        installed = self._installed()
        if isinstance(found, Unread):
            return found
        if isinstance(installed, Unread):
            return installed
        output = f"{found.stdout}\n{found.stderr}"
        changes = parse_table(found.stdout, {name: one.version for name, one in installed.items()})
        if not changes and found.exit_code == 0:
            return Transaction()
        if not changes or not any(word in output for word in _IS_WANTED):
            lines = [line for line in output.splitlines() if line.startswith(("Error", " Problem", "  - ", "No match", "No package"))]
            return Transaction(error=shown("\n".join(lines) or output.strip()[-500:]))
        offered, urls = self._offered(tuple(dict.fromkeys(one.name for one in changes if one.after))), self._urls()
        if isinstance(offered, Unread):
            return offered
        if isinstance(urls, Unread):
            return urls
        by_name = {(one.name, one.version): one for one in offered}
        new = [by_name.get((one.name, one.after)) for one in changes]
        moved = tuple(Moved(*one, urls.get(of.repository, "") if of else "") for one, of in zip(changes, new, strict=True))
        gone = sum(installed[one.name].installed_bytes for one in changes if one.before and one.name in installed)
        return Transaction(moved, sum(one.size_bytes for one in new if one), sum(one.installed_bytes for one in new if one) - gone)

    def fetch(self, packages: Iterable[tuple[str, str]]) -> "Unread | None":
        return Unread("not-supported", f"{self.program} is not asked for packages to keep")

    def _offered(self, names: tuple[str, ...]) -> "tuple[Offered, ...] | Unread":
        if not names:
            return ()
        found = self._run(("dnf", "-q", "repoquery", "--show-duplicates", "--qf", _FORMAT, *names), _ANSWER_S)
        return found if isinstance(found, Unread) else parse_repoquery(found.stdout)

    def _installed(self) -> "dict[str, Offered] | Unread":
        found = self._run(("rpm", "-qa", "--qf", _INSTALLED), _ANSWER_S)
        return found if isinstance(found, Unread) else parse_versions(found.stdout)

    def _urls(self) -> "dict[str, str] | Unread":
        found = self._run(("dnf", "-v", "repolist"), _ANSWER_S)
        return found if isinstance(found, Unread) else parse_repositories(found.stdout)

    def _run(self, argv: tuple[str, ...], seconds: float) -> "Completed | Unread":
        patient = (argv[0], *_PATIENCE, *argv[1:]) if argv[0] == "dnf" else argv
        return self._run_it(patient, seconds, _WIDE)


class Tdnf(Dnf):
    TRUSTED: ClassVar[tuple[str, ...]] = ("/usr/bin/tdnf", "/usr/bin/rpm", "/etc/tdnf", "/etc/tdnf/plugins", "/etc/yum.repos.d", "/etc/rpm")
    program = "tdnf"

    def _offered(self, names: tuple[str, ...]) -> "tuple[Offered, ...] | Unread":
        """It exits with an error where it knows none of them."""
        found = self._run(("tdnf", "list", *names), _ANSWER_S) if names else None
        return () if found is None else found if isinstance(found, Unread) else parse_tdnf_list(found.stdout)

    def _urls(self) -> "dict[str, str] | Unread":
        """As its files have them, with their variables."""
        found = self._run(("grep", "-rhE", r"^[[:space:]]*(\[|baseurl[[:space:]]*=)", "/etc/yum.repos.d"), _ANSWER_S)
        return found if isinstance(found, Unread) else _addresses(found.stdout)


def _addresses(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in map(str.strip, text.splitlines()):
        key, _, value = line.partition("=")
        if line.startswith("[") and line.endswith("]"):
            name = line[1:-1]
        elif name and key.strip() == "baseurl" and value.strip():
            found.setdefault(name, repository_url(value.split()[0]))
    return found


def candidates_of(
    name: str, offered: tuple[Offered, ...], installed: Mapping[str, Offered], urls: Mapping[str, str]
) -> tuple[Candidate, ...]:
    """The newest first; what is installed and nowhere else is there without a repository."""
    found = [one for one in offered if one.name == name and one.repository]
    candidates = [Candidate(name, one.version, urls.get(one.repository, ""), one.repository, one.size_bytes) for one in found]
    own = installed.get(name)
    if own and own.version not in {one.version for one in candidates}:
        candidates.append(Candidate(name, own.version, ""))
    return tuple(sorted(candidates, key=cmp_to_key(_order), reverse=True))


def _order(left: Candidate, right: Candidate) -> int:
    """Epoch, version, release: the first that differs."""
    pairs = zip(_parts(left.version), _parts(right.version), strict=True)
    return next((order for order in (compare_rpm(*pair) for pair in pairs) if order), 0)


def _parts(version: str) -> tuple[str, str, str]:
    epoch, colon, rest = version.partition(":")
    upstream, _, release = (rest if colon else version).rpartition("-")
    return (epoch if colon else "0", upstream, release)
