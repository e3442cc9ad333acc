"""The ring buffer and the journal together: how far the log reaches back, and what it then holds."""

import json

import pytest

from hostagent.core.unread import Unread
from hostagent.engine.questions import live_backend
from hostagent.host.kernel_log import read_both
from hostagent.host.paths import Root

FIRST = "Linux version 6.8.0-87-generic (buildd@lcy02) #88-Ubuntu SMP"
OLD, NEW = (f"NVRM: Xid (PCI:0000:1b:00): {code}, pid=1" for code in (79, 31))


def answer(tmp_path, ring, journal):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text("".join(f"6,{number},{at * 1_000_000},-;{text}\n" for number, (at, text) in enumerate(ring)))
    entries = [{"MESSAGE": text, "SYSLOG_FACILITY": "0", "_SOURCE_MONOTONIC_TIMESTAMP": str(at * 1_000_000)} for at, text in journal or ()]
    stdout = "".join(f"{json.dumps(one)}\n" for one in entries)
    ran = Unread("absent") if journal is None else {"exit_code": 0, "stdout": stdout, "stderr": ""}
    return read_both(Root(str(tmp_path)), lambda *_: ran).kernel_log


@pytest.mark.parametrize(
    ("ring", "journal", "expected"),
    [
        ([(0, FIRST), (5, NEW)], None, ([[5.0, NEW]], True, 0.0)),
        ([(7, "usb 1-1: new device"), (9, NEW)], None, ([[9.0, NEW]], False, 7.0)),
        ([(7, "usb 1-1: new device"), (9, NEW)], [(0, FIRST), (2, OLD), (9, NEW)], ([[2.0, OLD], [9.0, NEW]], True, 0.0)),
        ([(7, "usb 1-1: new device"), (9, NEW)], [(2, OLD)], ([[2.0, OLD], [9.0, NEW]], False, 2.0)),
        ([(7, "usb 1-1: new device"), (9, NEW)], [(9, NEW)], ([[9.0, NEW]], False, 7.0)),
        ([], None, ([], False, None)),
    ],
)
def test_what_the_ring_has_lost_the_journal_may_still_have(tmp_path, ring, journal, expected):
    assert answer(tmp_path, ring, journal) == dict(zip(("lines", "complete", "oldest"), expected, strict=True))


WORD = "mlx5_core 0000:19:00.0: poll_health:837:(pid 0): device's health compromised - reached miss count"


def test_one_read_answers_both_questions_and_each_has_a_journal_of_its_own(tmp_path):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text(f"6,1,7000000,-;usb 1-1: new device\n4,2,9000000,-,caller=C4;{WORD}\n6,3,9500000,-;{NEW}\n")
    asked = []

    def run(*argv):
        asked.append(argv[argv.index("-g") + 1])
        if "mlx5_core" in asked[-1]:
            return Unread("error", "journalctl wrote too much")
        entry = {"MESSAGE": OLD, "SYSLOG_FACILITY": "0", "_SOURCE_MONOTONIC_TIMESTAMP": "2000000"}
        return {"exit_code": 0, "stdout": f"{json.dumps(entry)}\n", "stderr": ""}

    log, words = read_both(Root(str(tmp_path)), run)
    assert log == {"lines": [[2.0, OLD], [9.5, NEW]], "complete": False, "oldest": 2.0}
    assert words == {"lines": [[9.0, "C4", WORD]], "complete": False, "oldest": 7.0}
    assert len(asked) == 2


def test_a_question_asks_its_own_journal_alone(tmp_path, monkeypatch):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text(f"4,2,9000000,-,caller=C4;{WORD}\n")
    asked = []
    backend = live_backend(str(tmp_path), "host-root")
    monkeypatch.setattr(backend, "run", lambda *argv: asked.append(argv) or Unread("absent", "no journalctl"))
    assert backend.ask("kernel_log")["lines"] == []
    assert len(asked) == 1
    (tmp_path / "dev/kmsg").write_text("")
    assert backend.ask("kernel_words")["lines"] == [[9.0, "C4", WORD]]  # of the read before
    assert len(asked) == 2
