"""Collects the files of ``changes/`` into CHANGELOG.md: ``python -m release.changes VERSION DATE``. changes/README.md has their form."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG, FOLDER = ROOT / "CHANGELOG.md", ROOT / "changes"
#: In the order of the headings, as https://keepachangelog.com has them.
TYPES = ("added", "changed", "deprecated", "removed", "fixed", "security")
_NAME = re.compile(rf"[a-z0-9]+(?:-[a-z0-9]+)*\.({'|'.join(TYPES)})\.md")
_TEXT = re.compile(r"(?![-*#\s])(?:(?!\n\n).)+\.\n", re.DOTALL)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_SECTION = re.compile(r"^### (\w+)\n\n(.*?)\n(?=\n###|\Z)", re.DOTALL | re.MULTILINE)


def fragments(folder: Path) -> dict[str, list[str]]:
    """By type, in the order of their names. Ends with a sentence if one has another form."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.iterdir()):
        if path.name == "README.md":
            continue
        name = _NAME.fullmatch(path.name)
        if not name:
            raise SystemExit(
                f"Error: found changes/{path.name}, wanted a name such as cache.fixed.md with one of the types {', '.join(TYPES)}."
            )
        text = path.read_text(encoding="utf-8")
        if not _TEXT.fullmatch(text):
            raise SystemExit(f"Error: changes/{path.name} is not one paragraph that ends with a full stop. Write what a user notices.")
        found.setdefault(name[1], []).append(text.rstrip())
    return found


def collected(changelog: str, new: Mapping[str, list[str]], version: str, date: str) -> str:
    """The changelog with a section of this version: that which is not released yet, if there is one, else a new one on top."""
    pattern = re.compile(rf"^## {re.escape(version)} - unreleased\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    open_one = pattern.search(changelog)
    parts = {title.lower(): lines for title, lines in _SECTION.findall(open_one[1].strip() + "\n" if open_one else "")}
    for kind, texts in new.items():
        more = "\n".join("- " + text.replace("\n", "\n  ") for text in texts)
        parts[kind] = f"{parts[kind]}\n{more}" if kind in parts else more
    written = [f"### {kind.title()}\n\n{parts[kind]}\n" for kind in TYPES if kind in parts]
    section = "\n".join([f"## {version} - {date}\n", *written])
    if open_one:
        rest = changelog[open_one.end() :]
        return changelog[: open_one.start()] + section + ("\n" if rest else "") + rest
    head, found, rest = changelog.partition("\n## ")
    return f"{head}\n{section}{found}{rest}"


def main(version: str, date: str) -> None:
    if not _DATE.fullmatch(date):
        raise SystemExit(f"Error: found the date {date}, wanted one such as 2027-03-01.")
    new = fragments(FOLDER)
    CHANGELOG.write_text(collected(CHANGELOG.read_text(encoding="utf-8"), new, version, date), encoding="utf-8")
    for path in FOLDER.iterdir():
        if path.name != "README.md":
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("Usage: python -m release.changes VERSION DATE")
    main(*sys.argv[1:])
