"""Asking rpm: as nobody, and about a private copy of the database where it would create files next to it.

What is in a database decides what rpm does, and an image's is anybody's: views compute without end, and SQLite obeys a
journal that names a file to delete. So rpm runs confined, and gets what it reads and nothing else.
"""

import os

from hostagent.facts.unread import Unread
from hostagent.source.base import MIB, Answer
from hostagent.source.confinement import nobody
from hostagent.source.files import Files
from hostagent.source.programs import run_task
from hostagent.source.task import COPIES, Task

#: The database of a host with every package of its distribution is an eighth of this.
LIMIT = 1024 * MIB
_SQLITE = "rpmdb.sqlite"
#: Of SQLite, Berkeley DB and ndb. SQLite's journal and Berkeley DB's DB_CONFIG are orders to their library, not data.
_COPIED = (_SQLITE, f"{_SQLITE}-wal", "Packages", "Packages.db", "Index.db")
_READ_BY_ALL, _SEARCHED_BY_ALL = 0o4, 0o1


def ask_rpm(files: Files, argv: tuple[str, ...], timeout_s: float, root: str, program: "str | Unread | None") -> Answer:
    """``rpm --dbpath DATABASE …``: by the rpm of the host at `root`, or by this machine's with a copy in the place of the database.

    `program` is the host's rpm, or why it may not be run; None where no program of the host is.
    """
    name, option, database, *arguments = argv
    user = 0 if os.geteuid() else nobody()
    if program is not None and not _needs_copy(files, database):
        if isinstance(program, Unread):
            return program
        return run_task(Task((program, *argv[1:]), timeout_s, root, confined=True, user=user))
    question = (name, option, COPIES, *map(_without_index, arguments))
    copied = tuple(f"{database}/{file}" for file in _COPIED)
    return run_task(Task(question, timeout_s, confined=True, user=user, host=root, copied=copied, limit=LIMIT))


def _without_index(argument: str) -> str:
    """``-q NAME`` looks into an index, which Berkeley DB has in a file of its own; ``-qa NAME`` looks at each package."""
    return "-qa" if argument == "-q" else argument


def _needs_copy(files: Files, database: str) -> bool:
    """Whether rpm, as nobody, could not read it where it is: SQLite creates files next to one in WAL mode that nobody has open.

    What is no file is not for rpm to find out: the copy says so at once.
    """
    found = [files.stat(f"{database}/{name}") for name in (_SQLITE, f"{_SQLITE}-shm", f"{_SQLITE}-wal")]
    if isinstance(found[0], Unread):
        return False
    directory = files.stat(database)
    is_open = isinstance(directory, dict) and directory["mode"] & _SEARCHED_BY_ALL
    return not is_open or any(isinstance(one, Unread) or one["kind"] != "file" or not one["mode"] & _READ_BY_ALL for one in found)
