"""Kernel messages of this boot: /dev/kmsg, and the journal where the ring buffer is denied or has wrapped."""

import errno
import os
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from hostagent.facts.unread import Unread
from hostagent.source.base import Answer
from hostagent.source.files import unread
from hostagent.source.paths import Root

#: Lines worth keeping; the first message of every boot shows that the log is complete.
_FIRST = "Linux version "
_KEYS = "[Kk]ey was rejected|unavailable key|unsigned module|Required key|trusted key|module verification"
PATTERN = f"{_FIRST}|NVRM|nvidia|nouveau|{_KEYS}|gsp_|fallen off the bus"
_KEEP = re.compile(PATTERN)
_MAX_BYTES = 64 * 1024 * 1024
_MAX_S = 2.0
_KMSG = (1, 11)  # Documentation/admin-guide/devices.txt


def kernel_log(root: Root, run: Callable[..., Answer]) -> Answer:
    """``{"lines": [...], "complete": bool}``; `run` starts journalctl when the ring buffer does not suffice."""
    ring = _ring(root)
    if isinstance(ring, dict) and ring["complete"]:
        return ring
    answer = run("journalctl", "-k", "-b", "0", "--no-pager", "-q", "-o", "cat", "-g", PATTERN)
    if not isinstance(answer, Unread) and answer["exit_code"] == 0:
        journal = _kept(answer["stdout"].splitlines())
        if journal["complete"] or isinstance(ring, Unread):
            return journal
    return ring


def _ring(root: Root) -> Answer:
    try:
        descriptor = root.open_device("/dev/kmsg", *_KMSG)
    except FileNotFoundError:
        return Unread("error", "/dev/kmsg is not there: give the container the host's /dev")  # every kernel has one
    except OSError as error:
        return unread(error, "/dev/kmsg")
    try:
        return _kept(parse_records(_all(descriptor)))
    except OSError as error:
        return unread(error, "/dev/kmsg")
    finally:
        os.close(descriptor)


def _all(descriptor: int) -> str:
    """Every record there is now. One read(2) of the device gives one record; EPIPE means some were overwritten."""
    chunks: list[bytes] = []
    size, ends = 0, time.monotonic() + _MAX_S
    while size < _MAX_BYTES and time.monotonic() < ends:
        try:
            chunk = os.read(descriptor, 65536)
        except BlockingIOError:
            break
        except OSError as error:
            if error.errno == errno.EPIPE:
                continue
            raise
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks).decode("utf-8", "replace")


def parse_records(text: str) -> Iterable[str]:
    """The messages of /dev/kmsg records (Linux kernel, Documentation/ABI/testing/dev-kmsg).

    >>> list(parse_records("6,339,5140900,-;NVRM: loading"))
    ['NVRM: loading']
    """
    for line in text.split("\n"):
        prefix, semicolon, message = line.partition(";")
        if semicolon and prefix[:1].isdigit():
            yield message


def _kept(messages: Iterable[str]) -> dict[str, Any]:
    lines = [message for message in messages if _KEEP.search(message)]
    complete = any(line.startswith(_FIRST) for line in lines)
    return {"lines": [line for line in lines if not line.startswith(_FIRST)], "complete": complete}
