"""Resolves a path argument: the file itself, or the files of a directory."""

import errno
import os
from collections.abc import Iterator

from hostagent.core.smallfile import STANDARD_INPUT

#: Directories below the one that is named.
_DEEPEST = 8


def files_of(path: str, most: int, suffix: str = "") -> list[str]:
    """The path itself where it is no directory, else its regular files by name, `most` of a directory. Links are not followed.

    Raises ``OSError``.
    """
    if path == STANDARD_INPUT or not os.path.isdir(path):
        return [path]
    return sorted(_below(path, most, suffix, _DEEPEST))


def _below(folder: str, most: int, suffix: str, depth: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if number >= most:
                raise OSError(errno.EFBIG, f"found more than {most} files in it")
            if entry.is_file(follow_symlinks=False):
                if entry.name.endswith(suffix):
                    yield entry.path
            elif depth and entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path, most, suffix, depth - 1)
