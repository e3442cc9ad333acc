"""Paths of a host whose root is mounted somewhere: links are resolved inside that root and never lead out of it."""

import errno
import os
import stat

_MAX_LINKS = 40  # what the kernel allows in one look-up (path_resolution(7))


class Root:
    """Translates paths of the judged host into paths of this process. One object a run: directories are remembered."""

    def __init__(self, path: str = "/") -> None:
        self.path = os.path.realpath(path)
        self._directories: dict[str, str] = {}

    def locate(self, path: str, *, follow: bool = True) -> str:
        """Where `path` is for this process; `follow` false leaves a link at its end unresolved.

        With the root at ``/`` the kernel resolves; below any other root each link is followed here. A part that does
        not exist stays as it is, for the caller's own look to fail on. Raises ``OSError`` (ELOOP).
        """
        if self.path == "/":
            return path
        parent, _, name = path.rstrip("/").rpartition("/")
        if parent not in self._directories:
            self._directories[parent] = self._walk(parent, [_MAX_LINKS])
        if not follow and name not in ("", ".", ".."):
            return f"{self._directories[parent]}/{name}"
        return self._walk(name, [_MAX_LINKS], self._directories[parent])

    def open(self, path: str, flags: int = os.O_RDONLY, *, follow: bool = True) -> int:
        """A descriptor of what is at `path`, closed on exec, by the flags that the system call takes. Raises ``OSError``."""
        return os.open(self.locate(path, follow=follow), flags | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))

    def inside(self, located: str) -> str:
        """The reverse of `locate`."""
        return located if self.path == "/" else located[len(self.path) :] or "/"

    def _walk(self, path: str, links: list[int], start: str = "") -> str:
        """`path` from the directory `start`, every link on the way followed; ``..`` stops at the root."""
        located = start or self.path
        for part in path.split("/"):
            if part == "..":
                located = self.path if located == self.path else os.path.dirname(located)
            elif part not in ("", "."):
                located = self._followed(f"{located}/{part}", links)
        return located

    def _followed(self, located: str, links: list[int]) -> str:
        """`located` itself, or where its link leads inside the root."""
        try:
            if not stat.S_ISLNK(os.lstat(located).st_mode):
                return located
        except (FileNotFoundError, NotADirectoryError):
            return located
        links[0] -= 1
        if links[0] < 0:
            raise OSError(errno.ELOOP, "too many symbolic links", located)
        target = os.readlink(located)
        return self._walk(target, links, self.path if target.startswith("/") else os.path.dirname(located))
