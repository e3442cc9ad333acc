"""Reports in files: every ``*.json`` of a directory, read one by one. A file that is no report only adds a warning."""

import errno
import json
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.core.escape import cut, visible
from hostagent.core.smallfile import read_small, reason

#: Bytes of a file: a full report of a host with 16 GPUs has 0.8 MB.
MAX_BYTES = 5 << 20
#: And of a summary: a buffer for the largest report costs more than reading a summary does.
_SMALL = 16 << 10
_SUFFIX = ".json"
#: schema_version of a summary and of a full report.
_SUMMARY, _REPORT = 1, 2
#: A node's name has at most so many characters, as in Kubernetes.
_LONGEST = 253
_SHOWN = 120
_NEXT = "Collect summaries into a directory, such as each node's summary.json under the node's name"


class _NoReportError(ValueError):
    """A file that is no report; the message says why."""


class Documents:
    """Summaries of the reports in some files, with the file's name; what is no report adds a sentence to `warnings`.

    Each path is a directory, of which the ``*.json`` are read by name, or a file. Raises ``HostagentError`` for a path that is neither and
    for a directory that cannot be listed.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.warnings: list[str] = []
        self._files = [file for path in paths for file in _files(path)]

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for path, name in self._files:
            if not name.isprintable():
                self._warn(name, "found a name that does not print")
                continue
            try:
                summary = _summary(_read(path))
            except OSError as error:
                self._warn(name, reason(error))
            except _NoReportError as error:
                self._warn(name, str(error))
            else:
                yield name, summary

    def _warn(self, name: str, why: str) -> None:
        self.warnings.append(f"{visible(cut(name, _SHOWN + 1))}: {visible(why)}")


def _files(path: str) -> list[tuple[str, str]]:
    """Path and name of each file."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            with os.scandir(path) as entries:
                return sorted((entry.path, entry.name) for entry in entries if entry.name.endswith(_SUFFIX))
    except OSError as error:
        raise HostagentError(f"cannot read the reports in {visible(path)}: {reason(error)}", _NEXT) from error
    except ValueError as error:  # a zero byte
        raise HostagentError(f"cannot read the reports in {visible(path)}: found a name that no file can have", _NEXT) from error
    if not stat.S_ISREG(mode):
        raise HostagentError(f"cannot read the reports in {visible(path)}: found neither a directory nor a file", _NEXT)
    return [(path, os.path.basename(path))]


def _read(path: str) -> bytes:
    """A summary, into a small buffer; a full report in a second go. Raises ``OSError``."""
    try:
        return read_small(path, _SMALL)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
    return read_small(path, MAX_BYTES)


def _summary(data: bytes) -> dict[str, Any]:
    """The summary in a file, or that of the full report in it; raises ``_NoReportError``."""
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise _NoReportError("found no JSON" if data.strip() else "found an empty file") from None
    if type(document) is not dict:
        raise _NoReportError("found JSON of another kind, wanted a report")
    if "node" not in document and "findings" in document:
        document = _of_report(document)
    return _checked(document)


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    """The same, if its version is known and its node has a name."""
    version, node = document.get("schema_version"), document.get("node")
    if type(node) is not str:
        raise _NoReportError("found no node, wanted a report" if node is None else "found a node that is no text, wanted a name")
    if type(version) is not int or version != _SUMMARY:
        raise _NoReportError(f"found schema_version {_value(version)}, wanted {_SUMMARY}")
    if not node or len(node) > _LONGEST or not node.isprintable() or " " in node:
        raise _NoReportError(f"found a node {_value(node)}, wanted a name of 1 to {_LONGEST} characters that print, without blanks")
    return document


def _of_report(document: dict[str, Any]) -> dict[str, Any]:
    """Computed again from facts and verdict: the class in the report is not read."""
    from hostagent.core.unread import UnreadError
    from hostagent.engine.report.node_summary import summary_of_report

    version = document.get("schema_version")
    if type(version) is not int or version != _REPORT:
        raise _NoReportError(f"found schema_version {_value(version)} of a full report, wanted {_REPORT}")
    if document.get("partial") is not False:
        raise _NoReportError("found a report of some checks, which says nothing of the whole host, wanted one of all checks")
    try:
        summary: dict[str, Any] = summary_of_report(document)
    except HostagentError as error:
        raise _NoReportError(error.message) from error
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, UnreadError):
        raise _NoReportError("found a full report of another shape") from None
    return summary


def _value(found: Any) -> str:
    """The value found there, shortened."""
    return repr(found)[:40] if isinstance(found, str | int | float | None) else "of another type"
