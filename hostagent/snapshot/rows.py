"""Filters of answers that are JSON: keys of an object, processes, sockets, the kernel log."""

import re
from collections.abc import Callable
from typing import Any

from hostagent.snapshot.flagwords import typed_words

Mask = Callable[[str], str]


def keys(answer: Any, names: tuple[str, ...], mask: Mask) -> Any:
    """The named keys of an object."""
    return {key: value for key, value in answer.items() if key in names}


def arguments(answer: Any, names: tuple[str, ...], mask: Mask) -> Any:
    """Processes with only the named flags of their command lines.

    They are followed by a path or a socket's, by any word (``FLAG#``) or by none (``FLAG!``). Of a process called NAME (``NAME*``) all
    words, as `hostagent.snapshot.flagwords` keeps them.

    >>> arguments([{"pid": 1, "argv": ["k3s", "--token", "x", "-c", "/a", "--config=/b", "--config", "c"]}], ("-c", "--config"), str)
    [{'pid': 1, 'argv': ['-c', '/a', '--config=/b', '--config', '']}]
    """
    flags = tuple(name.rstrip("#!") for name in names)
    return [{**row, "argv": _words(row, names, flags)} for row in answer]


def _words(row: Any, names: tuple[str, ...], flags: tuple[str, ...]) -> "list[str]":
    argv = row.get("argv")
    if f"{row.get('name')}*" in names and isinstance(argv, list | tuple):
        return typed_words(map(str, argv), flags)
    return _flags(argv, names)


def _flags(argv: Any, names: tuple[str, ...]) -> "list[str]":
    words = [str(word) for word in argv] if isinstance(argv, list | tuple) else []
    found: list[str] = []
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if f"{word}!" in names:
            found.append(word)
        elif name in names or f"{name}#" in names:
            value = value if equals else next(iter(words[number + 1 : number + 2]), "")
            kept = value if f"{name}#" in names or value.startswith(("/", "unix:/")) else ""
            found += [f"{name}={kept}"] if equals else [name, kept]
    return found


def paths(answer: Any, names: tuple[str, ...], mask: Mask) -> Any:
    """Rows with a path that is a name; /var/run is /run."""
    wanted = {_run_path(name) for name in names}
    return [row for row in answer if _run_path(str(row.get("path", ""))) in wanted]


def _run_path(path: str) -> str:
    return path.removeprefix("/var") if path.startswith("/var/run/") else path


def messages(answer: Any, names: tuple[str, ...], mask: Mask) -> Any:
    """Messages of the kernel that one of the patterns is found in: texts, or pairs of seconds and text.

    >>> messages({"lines": [[1.5, "NVRM: x"], "Command line: y"], "complete": True}, ("NVRM",), str)
    {'lines': [[1.5, 'NVRM: x']], 'complete': True}
    """
    wanted = re.compile("|".join(f"(?:{name})" for name in names))
    found = [line for line in answer["lines"] if wanted.search(line if isinstance(line, str) else str(line[-1]))]
    return {**answer, "lines": found}
