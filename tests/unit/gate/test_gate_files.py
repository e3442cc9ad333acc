"""The backend of files: what is no report is a warning by its name, costs no other file anything, and hangs nothing."""

import json
import os

import pytest

from hostagent.core.errors import HostagentError
from hostagent.core.typed import plain
from hostagent.engine.report.node_summary import summary as summary_of
from hostagent.gate.backends.files import MAX_BYTES, Documents
from hostagent.gate.candidate import parse_candidate
from tests.gate_summaries import summary
from tests.recorded import report_of

HOST = "hgx-h100-roce"


def read(folder):
    documents = Documents([str(folder)])
    found = {name: made["node"] for name, made in documents}
    assert all(one.isprintable() for one in documents.warnings)
    return found, documents.warnings


def write(folder, name, text):
    path = os.path.join(os.fsencode(folder), name if isinstance(name, bytes) else name.encode())
    with open(path, "wb") as stream:
        stream.write(text if isinstance(text, bytes) else text.encode())


BAD = {
    "empty": (b"", "empty"),
    "blank": (b" \n", "empty"),
    "no JSON": (b"{", "no JSON"),
    "not UTF-8": (b'{"node": "\xff"}', "no JSON"),
    "deep": (b"[" * 200_000, "no JSON"),
    "deep objects": (b'{"a":' * 200_000, "no JSON"),
    "a long number": (b'{"schema_version": 1, "node": "x", "gpus": ' + b"9" * 5000 + b"}", "no JSON"),
    "a list": (b"[1]", "another kind"),
    "a number": (b"NaN", "another kind"),
    "an object": (b"{}", "no node"),
    "another version": (json.dumps(summary("x") | {"schema_version": 2}).encode(), "schema_version 2"),
    "a version of another type": (json.dumps(summary("x") | {"schema_version": True}).encode(), "schema_version True"),
    "a version as text": (json.dumps(summary("x") | {"schema_version": "1\x1b"}).encode(), "schema_version"),
    "no version": (json.dumps({"node": "x"}).encode(), "schema_version None"),
    "a node of another type": (json.dumps(summary(7)).encode(), "no text"),
    "an empty node": (json.dumps(summary("")).encode(), "a node ''"),
    "a blank node": (json.dumps(summary(" ")).encode(), "a node ' '"),
    "a node that does not print": (json.dumps(summary("a\x1b[2Jb")).encode(), "that print"),
    "half a pair": (b'{"schema_version": 1, "node": "\\ud800"}', "that print"),
    "a node from right to left": (json.dumps(summary("a\u202eb")).encode(), "that print"),
    "a long node": (json.dumps(summary("x" * 254)).encode(), "253"),
    "too large": (b'{"schema_version": 1, "node": "x"}' + b" " * MAX_BYTES, "more than 5242880 bytes"),
    "a report of another version": (json.dumps({"findings": [], "facts": {}, "schema_version": 1}).encode(), "schema_version 1"),
    "half a report": (json.dumps({"findings": [], "facts": {}, "schema_version": 2, "partial": False}).encode(), "another shape"),
    "a report of nothing": (json.dumps({"findings": 1, "facts": 2, "schema_version": 2, "partial": False}).encode(), "another shape"),
    "a partial report": (json.dumps({"findings": [], "facts": {}, "schema_version": 2, "partial": True}).encode(), "some checks"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_report_is_named_and_left_out(tmp_path, kind):
    text, why = BAD[kind]
    write(tmp_path, "bad.json", text)
    write(tmp_path, "good.json", json.dumps(summary("n1")))
    found, (warning,) = read(tmp_path)
    assert found == {"good.json": "n1"}
    assert warning.startswith("bad.json: ")
    assert why in warning
    assert len(warning) < 500


def test_what_is_no_file_hangs_nothing(tmp_path):
    os.mkfifo(tmp_path / "fifo.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "dangling.json").symlink_to("nowhere")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "device.json").symlink_to("/dev/zero")
    found, warnings = read(tmp_path)
    assert found == {}
    assert [one.partition(":")[0] for one in warnings] == ["dangling.json", "device.json", "fifo.json", "folder.json", "loop.json"]


def test_a_name_that_does_not_print_is_shown_escaped_and_its_file_is_left_out(tmp_path):
    for name in (b"\xff.json", b"a\x1b[2J.json", b"a\nb.json", "\u202e.json".encode()):
        write(tmp_path, name, json.dumps(summary("n1")))
    found, warnings = read(tmp_path)
    assert found == {}
    assert len(warnings) == 4


def test_a_file_that_may_not_be_read_is_a_warning(tmp_path, monkeypatch):
    """As root every file may be read: the refusal is made."""
    write(tmp_path, "a.json", "{}")
    monkeypatch.setattr(
        "hostagent.gate.backends.files.read_small", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    assert read(tmp_path) == ({}, ["a.json: permission denied"])


def test_only_json_of_the_directory_itself_is_read_in_the_order_of_names(tmp_path):
    for name in ("b.json", "a.json", ".hidden.json", "c.txt", "json"):
        write(tmp_path, name, json.dumps(summary(name)))
    (tmp_path / "below").mkdir()
    write(tmp_path / "below", "d.json", json.dumps(summary("d")))
    (tmp_path / "link.json").symlink_to("c.txt")
    found, warnings = read(tmp_path)
    assert (list(found), warnings) == ([".hidden.json", "a.json", "b.json", "link.json"], [])


def test_unknown_fields_are_accepted(tmp_path):
    write(tmp_path, "a.json", json.dumps(summary("n1") | {"findings": "of a later release", "new": {"deep": [1]}}))
    assert read(tmp_path) == ({"a.json": "n1"}, [])


@pytest.mark.parametrize("name", ["nowhere", "fifo", "a\0b"])
def test_a_path_that_is_neither_a_directory_nor_a_file_is_a_mistake(tmp_path, name):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(HostagentError, match="cannot read the reports"):
        Documents([str(tmp_path / name)])


def test_a_file_is_a_path_too(tmp_path):
    write(tmp_path, "n1.txt", json.dumps(summary("n1")))
    assert [name for name, _ in Documents([str(tmp_path / "n1.txt")])] == ["n1.txt"]


def test_of_a_full_report_the_summary_is_made_anew(tmp_path):
    report = plain(report_of(HOST))
    for one in ("summary", "fabric"):  # what a report might say of itself
        report[one] = {"class": "1-stored", "fabric": {"class": "1-stored"}}
    write(tmp_path, "a.json", json.dumps(report))
    ((_, found),) = Documents([str(tmp_path)])
    made = summary_of(report_of(HOST))
    assert repr(parse_candidate(found)) == repr(parse_candidate(json.loads(json.dumps(plain(made)))))
    assert found["fabric"]["class"].startswith("1-")
    assert "stored" not in json.dumps(found)
