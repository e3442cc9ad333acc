"""Saved reports that a command is given: what ``hostagent check --format json`` wrote, from any machine and by anybody."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hostagent.cli.folders import files_of
from hostagent.errors import HostagentError
from hostagent.report import SCHEMA_VERSION
from hostagent.smallfile import STANDARD_INPUT, read_small, read_standard_input, reason
from hostagent.source.tape import MAX_BYTES, parse_tape
from hostagent.visible import visible

#: Reports of a set of hosts.
_MOST = 10_000
_NEXT = "Write one with 'hostagent check --format json -o FILE'"


class Saved(NamedTuple):
    """One report, as its file has it."""

    name: str  # the file; of several in one file with its number: reports.json[3]
    report: Mapping[str, Any]


def read_reports(paths: tuple[str, ...]) -> Iterator[Saved]:
    """The reports in files, in the ``.json`` files of directories, and in standard input (``-``): one, a list, or one on each line.

    One after the other: a caller keeps what it needs. Raises ``HostagentError`` for a file that has something else.
    """
    told = 0
    for path in paths:
        for file in _files(path):
            for one in _read(file):
                told += 1
                if told > _MOST:
                    raise HostagentError(f"found more than {_MOST} reports", "Give fewer of them at once")
                yield one


def _read(file: str) -> Iterator[Saved]:
    name = "standard input" if file == STANDARD_INPUT else file
    try:
        data = read_standard_input(MAX_BYTES) if file == STANDARD_INPUT else read_small(file, MAX_BYTES)
        found = _parsed(data)
    except OSError as error:
        raise _refused(name, reason(error)) from error
    except json.JSONDecodeError as error:
        raise _refused(name, f"found no JSON, or damaged JSON, in line {error.lineno}") from error
    except ValueError as error:  # characters, numbers, too much of it
        raise _refused(name, str(error)[:200]) from error
    for number, one in enumerate(found):
        here = name if len(found) == 1 else f"{name}[{number}]"
        if not isinstance(one, dict) or not isinstance(one.get("findings"), list):
            what = "a snapshot" if isinstance(one, dict) and "answers" in one else "JSON of another kind"
            raise _refused(here, f"found {what}, wanted a report")
        if one.get("schema_version") != SCHEMA_VERSION:
            raise _refused(here, f"found schema_version {one.get('schema_version')!r:.20}, wanted {SCHEMA_VERSION}")
        yield Saved(here, one)


def _parsed(data: bytes) -> list[Any]:
    r"""One report, those of a list, or those of lines; an empty file has none that could be read.

    >>> _parsed(b'{"a": 1}'), _parsed(b'[{"a": 1}, 2]'), _parsed(b'{"a": 1}\n{"b": 2}\n')
    ([{'a': 1}], [{'a': 1}, 2], [{'a': 1}, {'b': 2}])
    """
    if not data.strip():
        raise ValueError("it is empty")
    try:
        found = parse_tape(data)
    except ValueError:
        lines = [line for line in data.split(b"\n", _MOST + 1) if line.strip()]
        if not 2 <= len(lines) <= _MOST or not all(line.strip().endswith(b"}") for line in lines):
            raise
        return [parse_tape(line) for line in lines]
    if found == []:
        raise ValueError("found an empty list, wanted a report")
    return found if isinstance(found, list) else [found]


def _files(path: str) -> list[str]:
    try:
        found = files_of(path, _MOST, ".json")
    except OSError as error:
        raise _refused(path, reason(error)) from error
    if not found:
        raise _refused(path, "found no .json file in it")
    return found


def _refused(name: str, why: str) -> HostagentError:
    return HostagentError(f"cannot read the report {visible(name)}: {visible(why)}", _NEXT)
