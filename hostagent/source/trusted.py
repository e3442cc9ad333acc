"""Whether a path of the host is root's alone to change."""

import os
import stat

from hostagent.source.paths import Root

_MAX_LINKS = 8


def only_roots(root: Root, path: str) -> bool:
    """Whether each part of `path`, and of what its links lead to, is root's, and nobody else's to write.

    From the top, and never into what is somebody else's: that may be a file system that does not answer. Raises ``OSError``.
    """
    parts = _parts(path)
    here: list[str] = []
    links = _MAX_LINKS
    while True:
        place = root.open("/" + "/".join(here), os.O_PATH | os.O_NOFOLLOW, follow=False)
        try:
            found = os.fstat(place)
            is_link = stat.S_ISLNK(found.st_mode)
            if found.st_uid != 0 or (not is_link and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
                return False
            if is_link:
                links -= 1
                target = os.readlink("", dir_fd=place)
                here = [] if target.startswith("/") else here[:-1]
                parts += _parts(target)
        finally:
            os.close(place)
        if links < 0:
            return False
        while parts and parts[-1] == "..":
            parts.pop()
            here = here[:-1]
        if not is_link and not parts:
            return True
        if parts:
            here = [*here, parts.pop()]


def _parts(path: str) -> list[str]:
    """The last first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
