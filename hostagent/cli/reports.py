"""Reads saved reports of ``hostagent check``, full or summaries, of any machine."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hostagent.cli.folders import files_of
from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.smallfile import STANDARD_INPUT, read_small, read_standard_input, reason
from hostagent.engine.report import SCHEMA_VERSION
from hostagent.host.recording import MAX_BYTES, parse_tape

#: Reports of a set of hosts.
_MOST = 10_000
_NEXT = "Write one with 'hostagent check --format json -o FILE'"
_SUMMARY_VERSION = 1


class Saved(NamedTuple):
    """One report or summary, as its file has it."""

    name: str  # the file; of several in one file with its number: reports.json[3]
    report: Mapping[str, Any]

    @property
    def is_summary(self) -> bool:
        return "findings" not in self.report


def read_reports(paths: tuple[str, ...], *, summaries: bool = False) -> Iterator[Saved]:
    """The reports in files, in the ``.json`` files of directories, and in standard input (``-``): one, a list, or one on each line.

    One after the other: a caller keeps what it needs. Raises ``HostagentError`` for a file that has something else, such as a summary
    where the command takes full reports alone.
    """
    count = 0
    for path in paths:
        for file in _files(path):
            for one in _read(file, summaries=summaries):
                count += 1
                if count > _MOST:
                    raise HostagentError(f"found more than {_MOST} reports", "Give fewer of them at once")
                yield one


def _read(file: str, *, summaries: bool) -> Iterator[Saved]:
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
        kind = _kind(one)
        if kind != "a report" and not (summaries and kind == "a summary"):
            raise _refused(here, f"found {kind}, wanted a report{' or a summary' if summaries else ''}")
        wanted, version = _SUMMARY_VERSION if kind == "a summary" else SCHEMA_VERSION, one.get("schema_version")
        if version != wanted or isinstance(version, bool):
            raise _refused(here, f"found schema_version {version!r:.20}, wanted {wanted}")
        yield Saved(here, one)


def _kind(value: Any) -> str:
    """In words.

    >>> _kind({"findings": []}), _kind({"verdict": {}, "fabric": {}}), _kind({"answers": {}}), _kind([])
    ('a report', 'a summary', 'a snapshot', 'JSON of another kind')
    """
    if not isinstance(value, dict):
        return "JSON of another kind"
    if isinstance(value.get("findings"), list):
        return "a report"
    if "findings" not in value and isinstance(value.get("verdict"), dict) and isinstance(value.get("fabric"), dict):
        return "a summary"
    return "a snapshot" if "answers" in value else "JSON of another kind"


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
