"""Follows the kernel log between passes: each record is read once, without journalctl."""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable
from typing import Any, Literal

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread
from hostagent.host.kernel_log import (
    KMSG,
    KMSG_NUMBERS,
    MESSAGE,
    Record,
    is_kept,
    is_of_link,
    is_word,
    kind_of_line,
    kind_of_word,
    line_of,
    may_hide_one,
    parse_kmsg,
    parse_syslog,
    system_call,
    thinned,
    word_of,
)
from hostagent.host.paths import Root

#: Seconds between two reads by the system call, which has no notification.
LOOK_S = 2.0
_READ = 65536
#: Records kept between passes, at most.
_MOST = 4096
_SHORT = 2
#: Kinds of new records: one that a reader uses, and one about a network link, which is not kept.
News = Literal["record", "link"]


class _Lines:
    """The answer to one of the two questions about the kernel log: that of a pass, and the records since."""

    def __init__(self, line: Callable[[Record], list[Any]], kind: Callable[[str], object]) -> None:
        self._line, self._kind = line, kind
        self._answer: dict[str, Any] | None = None
        self._records: list[Record] = []

    def add(self, records: list[Record]) -> None:
        short = [one._replace(message=one.message[:MESSAGE]) for one in records]
        self._records = [*self._records, *short][-_MOST:]  # without a pass that uses the log it is never emptied

    def start_from(self, answer: Any) -> None:
        if isinstance(answer, dict) and self._answer is None:
            self._answer = answer

    def answer(self, *, is_torn: bool) -> Answer:
        if self._answer is None:
            return None
        lines = [_record(one) for one in self._answer["lines"]]
        known = {(one.seconds, one.message) for one in lines}
        more = [one for one in self._records if (one.seconds, one.message) not in known]
        self._records = []
        whole = thinned([*lines, *more], self._kind)
        self._answer = {
            **self._answer,
            "lines": [self._line(one) for one in whole],
            "complete": self._answer["complete"] and not is_torn,
        }
        return self._answer


def _record(line: "list[Any]") -> Record:
    """A line of either answer: ``[seconds, message]``, ``[seconds, caller, message]``."""
    return Record(line[0], line[-1], line[1] if len(line) > _SHORT else "")


class KernelWatch:
    """Reads records from its start on. Without access to the device and the system call there are none: `is_open` is False."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._descriptor = -1
        self._rest = b""
        self._is_made = False
        self._system_call = False
        self._looked_at = 0.0
        self._last: bytes | None = None  # the last line of the previous read by the system call
        self._log, self._words = _Lines(line_of, kind_of_line), _Lines(word_of, kind_of_word)
        self._is_torn = False
        self._is_word_torn = False
        try:
            self._descriptor = root.open_device(KMSG, *KMSG_NUMBERS, os.O_RDONLY | os.O_NONBLOCK)
            self._is_made = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
            os.lseek(self._descriptor, 0, os.SEEK_END)
        except OSError:
            self._system_call = not root.simulated and not isinstance(system_call(), Unread)

    @property
    def is_open(self) -> bool:
        return self._descriptor >= 0 or self._system_call

    @property
    def descriptor(self) -> int:
        """Readable when there is a new record; -1 without one: then call `look` regularly."""
        return -1 if self._is_made else self._descriptor

    def look(self, now: float) -> frozenset[News]:
        """Read new records; returns the kinds among them. `now`: monotonic seconds."""
        if self._descriptor >= 0:
            if self._is_made and not self._follow():
                return frozenset()
            records = list(self._read())
        elif self._system_call and now - self._looked_at >= LOOK_S:
            self._looked_at = now
            records = list(self._read_syslog())
        else:
            return frozenset()
        log, other = [one for one in records if is_kept(one.message)], [one for one in records if is_word(one.message)]
        self._log.add(log)
        self._words.add(other)
        found: list[News] = ["record"] if log or other else []
        if any(is_of_link(one.message) for one in records):
            found.append("link")
        return frozenset(found)

    def start_from(self, log: Any, words: Any = None) -> None:
        """Set the answers of a pass to ``kernel_log`` and ``kernel_words``, to which later records are added."""
        self._log.start_from(log)
        self._words.start_from(words)

    def answer(self) -> Answer:
        """The whole log as an answer for a pass; None before the first `start_from`."""
        return self._log.answer(is_torn=self._is_torn) if self.is_open else None

    def words(self) -> Answer:
        """The same for ``kernel_words``."""
        return self._words.answer(is_torn=self._is_torn or self._is_word_torn) if self.is_open else None

    def _follow(self) -> bool:
        """Whether a simulated tree's log may have more: it is longer, or was replaced by another file, which is then followed."""
        with contextlib.suppress(OSError):
            found, ours = os.stat(self._root.path + KMSG, follow_symlinks=False), os.fstat(self._descriptor)
            if os.path.samestat(found, ours):
                return found.st_size != os.lseek(self._descriptor, 0, os.SEEK_CUR)
            fresh = self._root.open_device(KMSG, *KMSG_NUMBERS, os.O_RDONLY | os.O_NONBLOCK)
            if os.path.samestat(os.fstat(fresh), os.fstat(self._descriptor)):
                os.close(fresh)
            else:
                os.close(self._descriptor)
                self._descriptor, self._rest = fresh, b""
        return True

    def _read(self) -> Iterable[Record]:
        """One read(2) of the device returns one record; EPIPE means that some were overwritten."""
        chunks = [self._rest]
        if self._is_made and os.fstat(self._descriptor).st_size < os.lseek(self._descriptor, 0, os.SEEK_CUR):
            os.lseek(self._descriptor, 0, os.SEEK_SET)  # it was truncated
            chunks = []
        while True:
            try:
                chunk = os.read(self._descriptor, _READ)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.EPIPE:
                    break
                self._is_torn = True
                continue
            if not chunk:
                break
            chunks.append(chunk)
        whole, line_feed, self._rest = b"".join(chunks).rpartition(b"\n")
        return parse_kmsg(whole + line_feed)

    def _read_syslog(self) -> Iterable[Record]:
        """Records of the ring buffer after the last line of the previous read. If that line is gone, others may be, too."""
        text = system_call()
        if isinstance(text, Unread):
            self._is_torn = True
            return
        before, self._last = self._last, text[text.rstrip(b"\n").rfind(b"\n") + 1 :]
        if before is None:
            return
        place = text.rfind(before) if before else 0
        self._is_torn |= place < 0
        try:
            records = list(parse_syslog(text[place + len(before) :] if place >= 0 else text))
        except ValueError:
            self._is_torn = True
            return
        self._is_torn |= may_hide_one(records)
        self._is_word_torn |= may_hide_one(records, is_word)
        yield from records

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
