"""Databases of rpm that somebody has written, and the five ways in which a host's is read."""

import contextlib
import os
import sqlite3
import struct
import subprocess
from pathlib import Path

from hostagent.core.deadline import within
from hostagent.engine.questions import live_backend
from hostagent.host.source import Source
from tests.attack import spaces
from tests.real import rpms

MS_BIND, MS_REC = 0x1000, 0x4000
#: In place: by the host's own rpm, where nothing has to be made beside the database. Else by a copy of it.
WAYS = ("image", "host-root copied", "host-root in place", "live copied", "live in place")
_AWAY = "alter table Packages rename to Others"
_ENDLESS = "with recursive r(n) as (select 1 union all select n + 1 from r)"


def view(columns: str, before: str = "") -> tuple[str, ...]:
    """Packages are what somebody's query says."""
    return _AWAY, f"create view Packages as {before} select {columns}"


#: What is done to a healthy database.
BROKEN = {
    "a header that is none": ("insert into Packages values (10001, x'deadbeefdeadbeef')",),
    "a header that is a number": ("insert into Packages values (10001, 42)",),
    "a view of a table that is not there": view("* from nowhere"),
    "a view with a function that is not there": view("hnum, nofunction(blob) as blob from Others"),
    "a view that fails after some packages": view(
        "hnum, case when hnum > 2 then abs(-9223372036854775808) else blob end as blob from Others"
    ),
    "a view without rows": view("* from Others where 0"),
    "no packages": ("delete from Packages",),
    "no table of packages": (_AWAY,),
}
#: What takes long, or much.
HEAVY = {
    "a view that does not end": view("n as hnum, x'00' as blob from r where n < 0", _ENDLESS),
    "a view of packages without end": view("n as hnum, (select blob from Others limit 1) as blob from r", _ENDLESS),
    "a view of gigabytes": view("hnum, zeroblob(900000000) as blob from Others"),
    "a view that sorts gigabytes": view("n as hnum, randomblob(100000) as blob from r where n < 1000000 order by 2", _ENDLESS),
}


def installed(tmp_path: Path) -> Path:
    """The directory of a healthy database."""
    rpms.install(tmp_path / "installed")
    return tmp_path / "installed/var/lib/rpm"


def change(database: Path, *statements: str) -> None:
    connection = sqlite3.connect(database / "rpmdb.sqlite")
    for one in statements:
        connection.execute(one)
    connection.commit()
    connection.close()


def read_by(way: str, database: Path, tmp_path: Path, seconds: float = 20) -> Source:
    """A host that has this database. In mounts of this process's own."""
    spaces.unshare("mount")
    kind, _, how = way.partition(" ")
    root = Path("/") if kind == "live" else tmp_path / "host"
    if kind != "live":
        (root / "var/lib/rpm").mkdir(parents=True)
    if kind == "host-root":
        spaces.mount("/", str(root), "", MS_BIND | MS_REC)
    for suffix in ("-shm", "-wal"):
        (database / f"rpmdb.sqlite{suffix}").unlink(missing_ok=True)
    if how == "in place":
        with contextlib.suppress(subprocess.TimeoutExpired):  # it makes the two
            subprocess.run(["rpm", "--dbpath", str(database), "-q", "zlib"], capture_output=True, timeout=1, check=False)
        for suffix in ("-shm", "-wal"):
            (database / f"rpmdb.sqlite{suffix}").touch()
    spaces.mount(str(database), str(root / "var/lib/rpm"), "", MS_BIND)
    return Source(live_backend(str(root), kind, deadline=within(seconds)))


def add_journal(database: Path, victim: Path) -> None:
    """A journal of an interrupted change, by which SQLite deletes `victim` (atomiccommit.html, "super-journal")."""
    change(database, "pragma journal_mode = delete")
    magic = bytes.fromhex("d9d505f920a163d7")
    name, page = str(victim).encode(), 4096
    pages = (database / "rpmdb.sqlite").stat().st_size // page
    header = (magic + struct.pack(">5I", 0, 0, pages, 512, page)).ljust(512, b"\0")
    record = struct.pack(">I", 0x40000000 // page + 1) + name + struct.pack(">2I", len(name), sum(name)) + magic
    (database / "rpmdb.sqlite-journal").write_bytes(header + record)


def become_berkeley(database: Path, load: str) -> None:
    """The headers as rpm 4.14 keeps them: a hash by number, with the highest one under 0 (rpm, lib/backend/db3.c)."""
    connection = sqlite3.connect(database / "rpmdb.sqlite")
    headers = connection.execute("select hnum, blob from Packages").fetchall()
    connection.close()
    rows = [(0, struct.pack("<I", max(number for number, _ in headers))), *headers]
    lines = "".join(f" {struct.pack('<I', number).hex()}\n {data.hex()}\n" for number, data in rows)
    (database / "rpmdb.sqlite").unlink()
    text = f"VERSION=3\nformat=bytevalue\ntype=hash\nHEADER=END\n{lines}DATA=END\n"
    subprocess.run([load, str(database / "Packages")], input=text, text=True, check=True, timeout=20)


def with_program(name: str, script: str, tmp_path: Path) -> None:
    """Another program in the place of this machine's, for this process."""
    program = tmp_path / f"{name}-script"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    spaces.mount(str(program), f"/usr/bin/{name}", "", MS_BIND)


def sparse(path: Path, size: int) -> None:
    with open(path, "wb") as stream:
        os.truncate(stream.fileno(), size)
