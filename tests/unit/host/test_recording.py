"""Tapes: what was answered is what is replayed; hostile files are one sentence; redaction keeps shape and equality."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent import snapshot
from hostagent.core.errors import HostagentError
from hostagent.core.unread import Unread
from hostagent.host import recording
from hostagent.profiles import profile
from hostagent.snapshot.redact import Redactor

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.binary() | JSON)
def test_an_answer_survives_the_tape(answer):
    written = recording.dumps(recording.Tape(1, "test", 0.0, "live", False, {"read /x": recording.encode(answer)}))
    data = json.loads(written)
    replay = recording.ReplayBackend(recording.Tape(**data))
    assert replay.ask("read", "/x") == answer


def test_an_unread_survives_the_tape():
    assert recording.decode(recording.encode(Unread("denied", "no")), "read /x") == Unread("denied", "no")


def test_a_question_the_tape_does_not_know_is_not_recorded():
    replay = recording.ReplayBackend(recording.Tape(1, "test", 0.0, "live", False, {}))
    assert replay.ask("read", "/x").why == "not-recorded"


@pytest.mark.parametrize(
    ("recorded_by", "detail"),
    [
        (recording.RECORDED_BY, "the snapshot does not know 'read /x'"),
        ("hostagent 0.1", "the snapshot does not know 'read /x': recorded by 0.1, which did not read this: record again"),
        (
            "h\x1b[2J\n" + "x" * 10**6,
            "the snapshot does not know 'read /x': recorded by h\\x1b[2J\\n" + "x" * 34 + ", which did not read this: record again",
        ),
    ],
    ids=["ours", "older", "hostile"],
)
def test_what_another_version_did_not_read_is_to_be_recorded_again(recorded_by, detail):
    replay = recording.ReplayBackend(recording.Tape(1, recorded_by, 0.0, "live", False, {}))
    assert replay.ask("read", "/x") == Unread("not-recorded", detail)


@given(JSON)
def test_an_answer_of_no_known_form_is_an_error_never_a_crash(encoded):
    decoded = recording.decode(encoded, "read /x")
    if not (isinstance(encoded, dict) and set(encoded) in ({"text"}, {"base64"}, {"json"}, {"unread", "detail"})):
        assert decoded.why == "error"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"schema_version": 99}',
        b'{"schema_version": 1}',
        b"[" * 100_000,
        b'{"schema_version": 1, "answers": 3}',
    ],
    ids=["empty", "truncated", "binary", "list", "future", "headless", "deep", "answers"],
)
def test_a_damaged_snapshot_is_one_sentence(tmp_path, content):
    path = tmp_path / "tape.json"
    path.write_bytes(content)
    with pytest.raises(HostagentError):
        recording.load(str(path))


def test_a_snapshot_that_is_no_file_is_one_sentence(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    os.symlink("a", tmp_path / "b")
    os.symlink("b", tmp_path / "a")
    for name in ("fifo", "nothing", "a", "."):
        with pytest.raises(HostagentError):
            recording.load(str(tmp_path / name))


REDACTOR = Redactor(b"k" * 32, ("gpu-17.example.com", "gpu-17"))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("node gpu-17 is up", "gpu-17"),
        ("ether 02:42:ac:11:00:02", "02:42:ac:11:00:02"),
        ("GPU-8d2a4c1e-1111-2222-3333-444455556666", "8d2a4c1e"),
        ("server 192.168.7.9 iburst", "192.168.7.9"),
        ("--token=abcdef", "abcdef"),
        ('"password": "hunter2"', "hunter2"),
        ("deb https://user:pw@mirror/x", "user:pw"),
        ("/home/alice/.kube", "alice"),
        ("fe80:0:0:0:1:2:3:4", "1:2:3:4"),
        ("0123456789abcdef0123456789abcdef", "0123456789abcdef"),
    ],
)
def test_an_identity_leaves_the_tape(text, secret):
    assert secret not in REDACTOR.text(text)


@pytest.mark.parametrize(
    "text", ["driver 580.159.03.1 on 0000:1b:00.0", "Linux version 6.8.0.31", "127.0.0.1 0.0.0.0", "00:00:00:00:00:00", "0x2330 10de:2330"]
)
def test_what_is_no_identity_stays(text):
    assert REDACTOR.text(text) == text


def test_redaction_keeps_equality_and_shape_under_one_key_only():
    uuid = "8d2a4c1e-1111-2222-3333-444455556666"
    once, again = REDACTOR.text(uuid), REDACTOR.text(f"x {uuid}")
    assert again == f"x {once}"
    assert [len(part) for part in once.split("-")] == [8, 4, 4, 4, 12]
    assert Redactor(b"other" * 8).text(uuid) != once


def differences(left, right):
    return snapshot.differences(snapshot.packed(left), snapshot.packed(right))


def one_tape(**answers):
    return recording.Tape(1, "test", 0.0, "live", True, {"read /x": {"text": "x\n"}, **answers})


def test_the_clock_and_counters_are_no_difference():
    left = one_tape(host={"json": {"now": 1.0, "uid": 0}}, **{"read /proc/stat": {"text": "cpu 1\nbtime 5\n"}})
    right = one_tape(host={"json": {"now": 2.0, "uid": 0}}, **{"read /proc/stat": {"text": "cpu 2\nbtime 5\n"}})
    assert list(differences(left, right)) == []
    assert list(differences(left, one_tape(host=7)))


def test_a_foreign_tape_cannot_write_to_a_terminal():
    evil = recording.Tape(1, "h\x1b[31m", float("nan"), "live", True, {"read /\x1b[2J": {"text": "a\x1b]0;pwn\x07\n\tb\u202e\n"}})
    lines = [*snapshot.summary(evil), *differences(evil, one_tape()), *snapshot.shown(evil.answers["read /\x1b[2J"])]
    assert all(char.isprintable() or char == "\t" for line in lines for char in line)


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), 1e300, -1e300])
def test_any_number_is_a_time(moment):
    assert list(snapshot.summary(recording.Tape(1, "test", moment, "live", True, {})))


def test_an_adoption_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "expect.yaml").mkdir()
    with pytest.raises(HostagentError, match="made: file exists"):
        snapshot.adopt(one_tape(), "{}", str(tmp_path / "made"), profile.load("default", site_file=""))
    assert [one.name for one in (tmp_path / "made").iterdir()] == ["expect.yaml"]
