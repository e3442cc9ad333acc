"""Looks up a path part by part: where openat2(2) is refused, and to check each part on the way.

Every part is opened without following links, links are read and followed here, and ``..`` returns to the directory that the walk came
from, never to the kernel's parent: a directory that is moved meanwhile cannot lead out of the root.
"""

import errno
import os
import stat
from collections.abc import Callable

#: The kernel's limit of one look-up (path_resolution(7)).
_MAX_LINKS = 40
_PATH_MAX = 4096
#: Directories below each other; each costs a descriptor. The deepest path of a host has some 30.
_MAX_DEPTH = 256


class Walk:
    """A look-up below the directory `root`, a descriptor. It holds the directories below it open until `close`."""

    def __init__(self, root: int, look: "Callable[[os.stat_result, str], None] | None" = None) -> None:
        """`look` is called for the root, every directory on the way and the result, with its path; its exception ends the walk."""
        self._root = root
        self._look = look
        self._held: list[int] = []
        self._names: list[str] = []
        self._links = _MAX_LINKS

    def close(self) -> None:
        """Back to the root; closes all directories."""
        while self._held:
            self._up()

    @property
    def place(self) -> str:
        """Where the walk is: a path below the root, without a link in it."""
        return "/" + "/".join(self._names)

    def open(self, path: str, flags: int) -> int:
        """openat2(2) with RESOLVE_IN_ROOT, and its ``OSError``; but a magic link (proc_pid_root(5)) is followed by its text."""
        if not path or len(os.fsencode(path)) >= _PATH_MAX:
            raise _error(errno.ENAMETOOLONG if path else errno.ENOENT)
        self._inspect(self._root)
        todo, directory = _parts(path), path.endswith("/")
        while todo:
            part = todo.pop()
            if part == "..":
                self._up()
            elif part != "." and todo:
                todo += self._follow(self._down(part))
            elif part != ".":
                asked = flags | os.O_DIRECTORY if directory else flags
                found = self._last(part, asked, follow=directory or not flags & os.O_NOFOLLOW)
                if isinstance(found, int):
                    return found
                directory = directory or found.endswith("/")
                todo += self._follow(found)
        return os.open(".", flags | os.O_CLOEXEC, dir_fd=self._here)

    @property
    def _here(self) -> int:
        return self._held[-1] if self._held else self._root

    def _up(self) -> None:
        if self._held:
            os.close(self._held.pop())
            self._names.pop()

    def _inspect(self, descriptor: int) -> None:
        if self._look:
            self._look(os.fstat(descriptor), self.place)

    def _down(self, part: str) -> str:
        """Enter a directory and return "", or return the text of a link to follow."""
        if len(self._held) >= _MAX_DEPTH:
            raise _error(errno.ENAMETOOLONG)
        try:
            self._held.append(os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._here))
        except NotADirectoryError as error:
            return self._text(part, error)
        self._names.append(part)
        self._inspect(self._here)
        return ""

    def _last(self, part: str, flags: int, *, follow: bool) -> "int | str":
        """A descriptor of the last part, or the text of a link to follow."""
        try:
            descriptor = os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._here)
        except OSError as error:
            if follow and error.errno in (errno.ELOOP, errno.ENOTDIR):
                return self._text(part, error)
            raise
        try:
            if follow and flags & os.O_PATH and stat.S_ISLNK(os.fstat(descriptor).st_mode):
                text = os.readlink("", dir_fd=descriptor)
                os.close(descriptor)
                return text
            self._names.append(part)
            self._inspect(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _text(self, part: str, otherwise: OSError) -> str:
        """The text of a link; raises `otherwise` for anything else."""
        try:
            return os.readlink(part, dir_fd=self._here)
        except OSError as error:
            raise otherwise from error

    def _follow(self, text: str) -> list[str]:
        """The parts of a link's text to follow; none for ""."""
        if not text:
            return []
        self._links -= 1
        if self._links < 0:
            raise _error(errno.ELOOP)
        if text.startswith("/"):
            self.close()
        return _parts(text)


def _parts(path: str) -> list[str]:
    """The parts of a path, the last one first; a dot stays at its end alone, where it asks for a directory that may be searched.

    >>> _parts("/a//b/./../c"), _parts("a/"), _parts("a/.")
    (['c', '..', 'b', 'a'], ['a'], ['.', 'a'])
    """
    parts = [part for part in path.split("/") if part]
    return [part for at, part in enumerate(parts, 1) if part != "." or at == len(parts)][::-1]


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
