"""SHA256SUMS of what was built: ``sha256sum --check SHA256SUMS`` in the same directory."""

import hashlib
from pathlib import Path

NAME = "SHA256SUMS"


def write(folder: Path) -> Path:
    """Of every file below `folder`, by paths from there, sorted."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and path != folder / NAME)
    lines = [f"{sha256(folder / path)}  {path}\n" for path in paths]
    (folder / NAME).write_text("".join(lines), encoding="utf-8")
    return folder / NAME


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
