"""What an administrator has said of faults: who is believed, and which faults it ends."""

import json

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_cleared import MOST, PATH, read_cleared
from hostagent.domains.gpu.read_events import parse_events
from hostagent.facts.gpu import Clearing
from hostagent.testing import host

WORD = {"subject": "0000:1b:00.0", "upto": 5.0, "at": 9.0, "reason": "tested"}
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=4, GPU has fallen off the bus."
REMAP = "NVRM: Xid (PCI:0000:1b:00): 64, pid=4, Row Remapper: Failed."
SXID = "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 11004, Fatal, Link 12 ingress invalid command"


def said(*words: object, boot_id: str = "b", version: int = 1) -> str:
    return json.dumps({"schema_version": version, "boot_id": boot_id, "cleared": words})


def test_what_was_said_in_this_boot_is_read():
    assert read_cleared(host({PATH: said(WORD)}), "b") == (Clearing("0000:1b:00.0", 5.0, 9.0, "tested"),)


@pytest.mark.parametrize("files", [{}, {PATH: said(WORD, boot_id="another")}, {f"read {PATH} 65536": Unread("not-recorded")}])
def test_nobody_has_said_anything(files):
    assert read_cleared(host(files), "b") == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{" * 100_000,
        said(WORD, version=2),
        said({**WORD, "upto": "5"}),
        said({**WORD, "upto": 10**400}),
        said({**WORD, "at": True}),
        said({**WORD, "upto": float("nan")}),
        said("all"),
        said(*[WORD] * (MOST + 1)),
    ],
)
def test_what_is_damaged_clears_nothing(text):
    answer = read_cleared(host({PATH: text}), "b")
    assert isinstance(answer, Unread)
    assert answer.why == "error"


@pytest.mark.parametrize("place", ["/run", "/run/hostagent", PATH])
@pytest.mark.parametrize("change", [{"uid": 1000}, {"mode": 0o664}, {"mode": 0o1777}])
def test_what_others_could_have_written_is_not_believed(place, change):
    stat = {"kind": "file", "mode": 0o644, "uid": 0, "gid": 0, "size": 1, "mtime": 0.0, "major": 0, "minor": 0, **change}
    answer = read_cleared(host({PATH: said(WORD), f"stat {place}": stat}), "b")
    assert isinstance(answer, Unread)
    assert answer.why == "denied"


def test_a_reason_cannot_move_the_cursor():
    assert read_cleared(host({PATH: said({**WORD, "reason": "a\x1b[2Jb"})}), "b")[0].reason == "a\\x1b[2Jb"


@pytest.mark.parametrize(
    ("lines", "times", "word", "wanted"),
    [
        ([XID], [5.0], Clearing("", 5.0, 9.0, "r"), ["cleared"]),
        ([XID], [5.0], Clearing("0000:1b:00.0", 5.0, 9.0, "r"), ["cleared"]),
        ([XID], [5.0], Clearing("0000:3b:00.0", 5.0, 9.0, "r"), [""]),
        ([XID], [5.1], Clearing("", 5.0, 9.0, "r"), [""]),
        ([XID, XID], [5.0, 6.0], Clearing("", 5.0, 9.0, "r"), ["cleared", ""]),
        ([XID], [Unread("not-recorded")], Clearing("", 5.0, 9.0, "r"), [""]),
        ([REMAP], [5.0], Clearing("", 5.0, 9.0, "r"), [""]),
    ],
    ids=["all", "its-own", "another", "later", "again", "without-a-time", "only-a-new-board"],
)
def test_a_word_ends_what_was_logged_before_it(lines, times, word, wanted):
    assert [one.ended_by for one in parse_events(lines, times, (word,)).xids] == wanted


def test_a_word_ends_faults_of_switches_too():
    assert [one.ended_by for one in parse_events([SXID], [5.0], (Clearing("", 5.0, 9.0, "r"),)).sxids] == ["cleared"]
