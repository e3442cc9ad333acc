"""Asking rpm: as nobody, and about a private copy of the database where it would create files next to it.

What is in a database decides what rpm does, and an image's is anybody's: views compute without end, and SQLite obeys a
journal that names a file to delete. So rpm runs confined, and gets what it reads and nothing else.
"""

import os
import re
from typing import Any

from hostagent.core.answers import MIB, Answer
from hostagent.core.unread import Unread
from hostagent.domains.packages.tables.names import RPM_DATABASES
from hostagent.host.encoding import STRICT
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.programs import Runner, provide, run_task
from hostagent.host.runner import Runs, serve
from hostagent.host.task import COPIES, Task
from hostagent.sandbox.child import Send
from hostagent.sandbox.confinement import unused_user
from hostagent.sandbox.least_privileges import live_reader
from hostagent.sandbox.privileges import has

#: The database of a host with every package of its distribution is an eighth of this.
LIMIT = 1024 * MIB
_SQLITE = "rpmdb.sqlite"
#: Of SQLite, Berkeley DB and ndb. SQLite's journal and Berkeley DB's DB_CONFIG are orders to their library, not data.
_COPIED = (_SQLITE, f"{_SQLITE}-wal", "Packages", "Packages.db", "Index.db")
#: A format of a query, and names of packages.
_FORM, _NAME = re.compile(r"[\w\[\]%{}=:\\-]{1,400}"), re.compile(r"\w[\w.+:~^-]{0,400}")
#: Seconds for one question.
_MOST_S = 5.0
_READ_BY_ALL, _SEARCHED_BY_ALL = 0o4, 0o1


def ask_rpm(files: Files, argv: tuple[str, ...], timeout_s: float, root: str, program: "str | Unread | None") -> Answer:
    """``rpm --dbpath DATABASE …``: by the rpm of the host at `root`, or by this machine's with a copy in the place of the database.

    `program` is the host's rpm, or why it may not be run; None where no program of the host is. A container that takes SETUID away has no
    other user to offer: rpm then runs as this one, whose rights are few.
    """
    name, option, database, *arguments = argv
    user = 0 if os.geteuid() or not has("setuid") else unused_user()
    if program is not None and not _needs_copy(files, database):
        if isinstance(program, Unread):
            return program
        return run_task(Task((program, *argv[1:]), timeout_s, root, confined=True, user=user))
    question = (name, option, COPIES, *map(_without_index, arguments))
    copied = tuple(f"{database}/{file}" for file in _COPIED)
    return run_task(_on_copies(Task(question, timeout_s, user=user, host=root, copied=copied)))


def provide_rpm(root: str) -> None:
    """For the process that reads the image at `root` and then loses the right to run anything: who runs rpm for it, and nothing else.

    Whatever it is asked, it lists packages by this machine's rpm, confined, on copies out of the image. Raises ``OSError``.
    """
    place = Root(root)

    def serve_rpm(send: Send, tasks: int) -> None:
        live_reader()
        serve(send, tasks, lambda runs, row: _answered(runs, row, place.path), STRICT)

    if any(map(place.exists, RPM_DATABASES)):
        provide(Runner(serve_rpm, STRICT))


def _answered(runs: Runs, row: Any, root: str) -> Answer:
    """`row`: a `Task` of which no word is believed. What rpm's macros would run, and files elsewhere, are in none of these words."""
    match row:
        case [["rpm", "--dbpath", _, "-qa", "--queryformat", str(form), *names], float() | int() as seconds, _, _, _, _, [*copied], *_]:
            if _FORM.fullmatch(form) and all(isinstance(one, str) and _NAME.fullmatch(one) for one in names):
                argv = ("rpm", "--dbpath", COPIES, "-qa", "--queryformat", form, *names)
                user = 0 if os.geteuid() else unused_user()
                task = Task(argv, min(max(0.1, seconds), _MOST_S), user=user, host=root, copied=tuple(map(str, copied)))
                return runs.answer(_on_copies(task))
    return Unread("error", "rpm: found a question that is none of this program")


def _on_copies(task: Task) -> Task:
    return task._replace(confined=True, limit=LIMIT)


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
