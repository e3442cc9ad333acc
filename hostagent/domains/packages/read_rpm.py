"""rpm's package database, read with one `rpm` query because its format is private to rpm."""

# rpm of another distribution answers "nothing installed" with exit 0 for an image with its database elsewhere, so every query
# names the database by path. rpm skips what it cannot read and exits 0: a line `error:`, or no package at all, is unread. What it
# reads without an error is trusted: of 2,500 random damages 499 changed the answer, 2 of them silently (a page of SQLite
# with a damaged number of rows).

from hostagent.core.answers import Completed
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, then
from hostagent.domains.packages.read_dpkg import Record, merged_usr
from hostagent.domains.packages.tables.names import FAMILIES, RPM_DATABASES, TOOLKIT_PACKAGES
from hostagent.host.source import Source

_DATABASES = ("rpmdb.sqlite", "Packages.db", "Packages")
_QUERY = "%{NAME}\\t%{EPOCH}\\t%{VERSION}-%{RELEASE}\\t%{ARCH}\\t%{VENDOR}\\t%{SOURCERPM}\\n"


def parse_rpm_list(text: str, names: "str | tuple[str, ...]" = FAMILIES) -> tuple[Record, ...]:
    r"""Parses the output of ``rpm -qa`` for `_QUERY`, keeping packages with these name prefixes; raises ``ValueError``.

    >>> parse_rpm_list("nvidia-driver-cuda\t3\t580.95.05-1.el9\tx86_64\tNVIDIA\tnvidia-driver-580.95.05-1.el9.src.rpm\n")[0][:3]
    ('nvidia-driver-cuda', '3:580.95.05-1.el9', 'x86_64')
    """
    records = []
    for line in text.splitlines():
        if not line.startswith(names):
            continue
        fields = line.split("\t")
        if len(fields) != 6:
            raise ValueError(f"found {line[:80]!r}, wanted six columns")
        name, epoch, version, arch, vendor, source_rpm = fields
        full = f"{epoch}:{version}" if epoch.isdecimal() and epoch != "0" else version
        source = source_rpm.rsplit("-", 2)[0]
        records.append(Record(name, full, arch, "installed", held=False, source=source, origin=rpm_origin(name, vendor)))
    return tuple(records)


def rpm_origin(name: str, vendor: str) -> str:
    """The origin of a package, from its vendor tag.

    >>> rpm_origin("nvidia-driver", "NVIDIA Corporation"), rpm_origin("akmod-nvidia", "RPM Fusion"), rpm_origin("nvidia-driver", "(none)")
    ('cuda', 'distribution', 'unknown')
    """
    if name in TOOLKIT_PACKAGES:
        return "toolkit"
    if "nvidia" in vendor.lower():
        return "cuda"
    return "distribution" if vendor not in ("", "(none)") else "unknown"


def rpm_database(source: Source) -> "str | Unread":
    """The directory of the database; absent only if every place could be read.

    Every query names it: the rpm of another distribution (Debian's keeps its own in the home directory) would otherwise find no
    database of the image and answer, with success, that nothing is installed.
    """
    nowhere = Unread("absent", "neither a dpkg nor an rpm database")
    for path in RPM_DATABASES:
        for name in _DATABASES:
            stat = source.stat(f"{path}/{name}")
            if not isinstance(stat, Unread):
                return path
            if stat.why != "absent" and nowhere.why == "absent":
                nowhere = stat
    return nowhere


def _rpm(source: Source, keep: Keep, *arguments: str) -> "Completed | Unread":
    database = rpm_database(source)
    answer = then(database, lambda path: source.run("rpm", "--dbpath", path, *arguments, keep=keep))
    if isinstance(answer, Unread) and answer.why == "absent":
        return Unread("error", "there is an rpm database and no rpm to ask")
    return then(answer, lambda completed: _complete(arguments[0], completed))


def _complete(option: str, answer: Completed) -> "Completed | Unread":
    """The answer if rpm read everything: of what it skips, it only prints an ``error:`` line and exits 0."""
    problem = next((line for line in answer.stderr.splitlines() if line.startswith("error:")), "")
    if answer.exit_code != 0:
        return Unread("error", f"rpm {option}: exit {answer.exit_code}: {(problem or answer.stderr.strip())[:200]}")
    return Unread("error", f"rpm {option}: {problem[:200]}") if problem else answer


def read_rpm(source: Source, names: "tuple[str, ...]" = FAMILIES) -> "tuple[Record, ...] | Unread":
    """Packages with these name prefixes."""
    answer = _rpm(source, Keep("beginnings", names), "-qa", "--queryformat", _QUERY)
    if isinstance(answer, Unread):
        return answer
    if not answer.stdout.strip():
        return Unread("error", "rpm -qa: there is a database, and no package in it")
    try:
        return parse_rpm_list(answer.stdout, names)
    except ValueError as error:
        return Unread("error", f"rpm -qa: {error}")


def rpm_owners(source: Source, names: tuple[str, ...], paths: tuple[str, ...]) -> "dict[str, str | Unread]":
    """Which of the named packages owns each path, "" for none. Not by ``rpm -qf``, which would look for an image's file on this host."""
    if not names or not paths:
        return dict.fromkeys(paths, "")
    answer = _rpm(source, Keep("rows", paths), "-q", "--queryformat", "[%{FILENAMES}\\t%{=NAME}\\n]", *names)
    if isinstance(answer, Unread):
        return dict.fromkeys(paths, answer)
    rows = (line.partition("\t") for line in answer.stdout.splitlines())
    owners = {merged_usr(path): name for path, _, name in rows}
    return {path: owners.get(merged_usr(path), "") for path in paths}
