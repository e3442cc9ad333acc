"""The commit this installation was built from, for ``--version``."""

import os


def commit() -> str:
    """Written into the wheel at build time; in a checkout read from git's own files; else "commit unknown"."""
    package = os.path.dirname(os.path.dirname(__file__))
    for path in (os.path.join(package, "_commit.txt"), os.path.join(os.path.dirname(package), ".git", "HEAD")):
        text = _line(path)
        if text.startswith("ref: "):
            text = _line(os.path.join(os.path.dirname(path), text[5:]))
        if text:
            return text[:12]
    return "commit unknown"


def _line(path: str) -> str:
    try:
        with open(path, encoding="ascii") as stream:
            return stream.readline().strip()
    except (OSError, UnicodeDecodeError):
        return ""
