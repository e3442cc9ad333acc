"""Saved reports as commands take them: one or many, from anybody."""

import json
import os
import subprocess
import sys

import pytest

from hostagent.cli.reports import read_reports
from hostagent.core.errors import HostagentError
from hostagent.engine.report import SCHEMA_VERSION

ONE = {"schema_version": SCHEMA_VERSION, "findings": [], "host": {"hostname": "a"}}


def names(*paths):
    return [(one.name, one.report["host"]["hostname"]) for one in read_reports(tuple(map(str, paths)))]


def test_a_file_a_list_lines_and_directories(tmp_path):
    other = {**ONE, "host": {"hostname": "b"}}
    (tmp_path / "one.json").write_text(json.dumps(ONE, indent=1))
    (tmp_path / "list.json").write_text(json.dumps([ONE, other]))
    (tmp_path / "lines").write_text(f"{json.dumps(ONE)}\n\n{json.dumps(other)}\n")
    (tmp_path / "below").mkdir()
    (tmp_path / "below/c.json").write_text(json.dumps(other))
    (tmp_path / "link.json").symlink_to("one.json")
    here = str(tmp_path)
    assert names(tmp_path / "lines") == [(f"{here}/lines[0]", "a"), (f"{here}/lines[1]", "b")]
    assert names(tmp_path) == [
        (f"{here}/below/c.json", "b"), (f"{here}/list.json[0]", "a"), (f"{here}/list.json[1]", "b"), (f"{here}/one.json", "a"),
    ]  # fmt: skip
    script = "from hostagent.cli.reports import read_reports; print([one.name for one in read_reports(('-',))])"
    done = subprocess.run([sys.executable, "-c", script], input=json.dumps(ONE), capture_output=True, text=True, check=True)
    assert done.stdout == "['standard input']\n"


SUMMARY = {"schema_version": 1, "verdict": {}, "fabric": {}, "node": "a"}


def test_summaries_are_read_where_the_command_takes_them(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([SUMMARY, ONE]))
    assert [one.is_summary for one in read_reports((str(tmp_path),), summaries=True)] == [True, False]
    with pytest.raises(HostagentError, match=r"found a summary, wanted a report\. Write"):
        names(tmp_path)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({**SUMMARY, "schema_version": 2}, "found schema_version 2, wanted 1"),
        ({**SUMMARY, "schema_version": True}, "found schema_version True, wanted 1"),
        ({**SUMMARY, "fabric": []}, "found JSON of another kind, wanted a report or a summary"),
        ({**SUMMARY, "findings": {}}, "found JSON of another kind, wanted a report or a summary"),
        ({"answers": {}}, "found a snapshot, wanted a report or a summary"),
        ({**SUMMARY, "findings": []}, "found schema_version 1, wanted 2"),
    ],
    ids=range(6),
)
def test_what_is_neither_names_both(tmp_path, document, words):
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(HostagentError) as refused:
        list(read_reports((str(tmp_path),), summaries=True))
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"[]", "found an empty list, wanted a report"),
        (b"\n \n", "it is empty"),
        (b"\xff\xfe", "codec can't decode"),
        (b"[1]", "found JSON of another kind, wanted a report"),
        (b'{"schema_version": 1, "answers": {}}', "found a snapshot, wanted a report"),
        (b'{"schema_version": 3, "findings": []}', "found schema_version 3, wanted 2"),
        (b'{"schema_version": "\\u001b[2J", "findings": []}', "found schema_version '\\x1b[2J', wanted 2"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{}\n" * 800_000, "in line 2"),
        (b"[" + b"0," * 3_000_000 + b"0]", "more than 2000000 values"),
        (b'{"findings": NaN}', "the number NaN"),
        (b" " * (16 * 1024 * 1024 + 1), "more than 16777216 bytes"),
        (json.dumps(ONE).encode()[:-9], "damaged JSON, in line 1"),
    ],
    ids=range(14),
)
def test_what_is_no_report_is_one_sentence(tmp_path, data, words):
    (tmp_path / "x\x1b.json").write_bytes(data)
    with pytest.raises(HostagentError) as refused:
        names(tmp_path / "x\x1b.json")
    assert words in refused.value.message
    assert refused.value.message.isprintable()


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").mkdir()
    for path in ("fifo", "empty", "absent"):
        with pytest.raises(HostagentError):
            names(tmp_path / path)
    for path in ("/dev/zero", "x\0", "x\udcff"):
        with pytest.raises(HostagentError):
            names(path)
