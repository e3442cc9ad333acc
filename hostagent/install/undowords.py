"""Titles of the steps of a rollback. Pure."""

from collections.abc import Sequence

from hostagent.core.text import counted, first_of
from hostagent.install.inverse import Inverse

_MARKS = {
    "auto": "Mark {} as installed for others",
    "manual": "Mark {} as asked for",
    "hold": "Hold {} again",
    "unhold": "Lift the hold of {}",
}
_SHOWN = 2


def packages_title(wanted: Inverse) -> str:
    """Title of the package transaction.

    >>> packages_title(Inverse((("a:amd64", "1"), ("b:amd64", "1")), ("c:amd64",), ()))
    'Restore 2 packages and remove 1'
    >>> packages_title(Inverse((), ("c:amd64", "d:amd64"), ())), packages_title(Inverse((("a:amd64", "1"),), (), ()))
    ('Remove 2 packages', 'Restore 1 package')
    """
    if not wanted.back:
        return f"Remove {counted(len(wanted.removed), 'package')}"
    also = f" and remove {len(wanted.removed)}" if wanted.removed else ""
    return f"Restore {counted(len(wanted.back), 'package')}{also}"


def files_title(paths: Sequence[str]) -> str:
    """Title of the restore of files.

    >>> files_title(["/etc/a"]), files_title(["/etc/a", "/etc/b", "/etc/c"]), files_title([])
    ('Restore /etc/a', 'Restore /etc/a, /etc/b and 1 more', 'Look for files that differ')
    """
    return f"Restore {first_of(paths, _SHOWN)}" if paths else "Look for files that differ"


def program_title(words: Sequence[str]) -> str:
    """Title of a program.

    >>> program_title(("apt-mark", "hold", "a", "b")), program_title(("ldconfig",)), program_title(("depmod", "-a", "6.1.0"))
    ('Hold 2 packages again', 'Renew the cache of the linker', 'Run depmod -a 6.1.0')
    """
    match list(words):
        case ["apt-mark", word, *names] if word in _MARKS:
            return _MARKS[word].format(counted(len(names), "package"))
        case ["dpkg", *_]:
            return "Configure what an earlier run left open"
        case ["ldconfig"]:
            return "Renew the cache of the linker"
        case ["systemctl", "daemon-reload"]:
            return "Let systemd read its units again"
        case _:
            return f"Run {' '.join(words)}"
