"""Snapshots from strangers: whatever a file holds, a command ends with a sentence or a report, in little memory."""

import contextlib
import json

import pytest

from tests.attack.held_run import FULL, Rows


def head(time, answers=""):
    return (
        f'{{"schema_version": 1, "recorded_by": "x", "recorded_at": {time}, "kind": "live", "redacted": false, "answers": {{{answers}}}}}'
    )


def clock(now):
    return head(0, f'"host": {{"json": {{"hostname": "h", "now": {now}, "uid": 0}}}}')


def answer(question, json_text):
    return head(0, f'"{question}": {json_text}')


MIB = 1024 * 1024
#: A snapshot of about 16 MiB, and one of 126 that is none.
NO_SNAPSHOTS = {
    "brackets of 126 MiB": lambda: "[]," * (126 * MIB // 3),
    "brackets": lambda: answer("x", f"[{'[],' * (5 * MIB)}[]]"),
    "numbers": lambda: answer("x", f"[{'1,' * 2_000_001}1]"),
    "keys": lambda: head(0, ",".join(f'"{number}":1' for number in range(1_500_000)) + f',"x":[{"1," * 600_000}1]'),
    "a time of 400 digits": lambda: head(10**400),
    "a time of 39 digits": lambda: head(10**39),
    "a time beyond all": lambda: head("1e400"),
    "a time beyond all, with a sign": lambda: head("-1.5E+0999"),
    "no number": lambda: head("NaN"),
    "an infinite clock": lambda: clock("-Infinity"),
    "a clock of 400 digits": lambda: clock(10**400),
    "a number of 4300 digits": lambda: answer("adjtimex", f'{{"json": {"9" * 4300}}}'),
    "a number of a million digits": lambda: answer("adjtimex", f'{{"json": {"9" * MIB}}}'),
    "half a character": lambda: answer("read /x", '{"text": "\\ud800"}'),
    "half a character in a name": lambda: answer("read /\\udfff", '{"text": ""}'),
    "levels": lambda: answer("x", "[" * 40 + "1" + ",1" * 30_000 + "]" * 40),
    "many levels": lambda: "[" * 100_000,
    "bytes": lambda: "\x00\x01",
}
#: What is one, and odd.
SNAPSHOTS = {
    "a clock of 39 digits": lambda: clock(10**38),
    "a clock before all": lambda: clock("-1e300"),
    "brackets in a text": lambda: answer("read /x", f'{{"text": "{"[]," * 700_000}"}}'),
    "quotes in a text": lambda: answer("read /x", '{"text": "' + '\\"' * 2_000_000 + '"}'),
    "a whole character in two halves": lambda: answer("read /x", '{"text": "\\ud83d\\ude00"}'),
    "objects": lambda: answer("x", '{"json": [' + '{"a":1},' * 990_000 + "{}]}"),
    "names": lambda: answer("x", '{"json": {' + ",".join(f'"a{number}":1.5' for number in range(900_000)) + "}}"),
    "questions": lambda: head(0, ",".join(f'"q{number}":{{}}' for number in range(900_000))),
    "lines": lambda: answer(
        "kernel_log", '{"json": {"complete": true, "lines": [' + '"NVRM: Xid (PCI:0000:1b:00): 79",' * 400_000 + '""]}}'
    ),
}

#: The most that two million values can be: what takes the most memory of each, not every command.
LARGE = {
    "objects": [("check", "--from", "tape.json"), ("snapshot", "show", "tape.json", "x")],
    "names": [("snapshot", "diff", "tape.json", "tape.json"), ("snapshot", "adopt", "tape.json", "made")],
    "questions": [("snapshot", "show", "--list", "tape.json"), ("snapshot", "save", "made.json", "--from", "tape.json")],
}
#: Of a long kernel log, whose lines each command but ``check`` and ``save`` only loads: these two and a difference; the others with ATTACK=1.
if not FULL:
    LARGE["lines"] = [
        ("check", "--from", "tape.json"),
        ("snapshot", "save", "made.json", "--from", "tape.json"),
        ("snapshot", "diff", "tape.json", "other.json"),
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Exit code, what it printed on stderr, and the most memory it used, in MiB."""

    def told(*arguments, cwd):
        outcome = rows.run(*arguments, cwd=cwd, timeout_s=120)
        return outcome.code, outcome.err, outcome.peak_kib // 1024

    with contextlib.closing(Rows(tmp_path_factory.mktemp("temporary"))) as rows:
        yield told


def commands(file, made):
    yield "check", "--from", file
    yield "snapshot", "show", file
    yield "snapshot", "show", file, "x"
    yield "snapshot", "show", "--list", file
    yield "snapshot", "diff", file, file
    yield "snapshot", "adopt", file, made
    yield "snapshot", "save", f"{made}.json", "--from", file


@pytest.mark.parametrize("name", NO_SNAPSHOTS)
def test_what_is_no_snapshot_is_one_sentence_in_every_command(name, run, tmp_path):
    (tmp_path / "tape.json").write_text(NO_SNAPSHOTS[name]())
    for command in commands("tape.json", "made"):
        code, said, mib = run(*command, cwd=tmp_path)
        assert (code, said.count("\n"), "Traceback" in said) == (2, 2, False), (command, said)  # the sentence and the next step
        assert all(line.isprintable() for line in said.splitlines()), said
        assert mib < 256, command
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tape.json"]


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_an_odd_snapshot_costs_no_more_than_half_a_gibibyte(name, run, tmp_path):
    (tmp_path / "tape.json").write_text(SNAPSHOTS[name]())
    assert json.loads((tmp_path / "tape.json").read_text())["schema_version"] == 1
    assert (tmp_path / "tape.json").stat().st_size < 16 * MIB
    chosen = commands("tape.json", "made") if name not in LARGE else LARGE[name]
    for command in chosen if name in LARGE else (*chosen, ("snapshot", "diff", "tape.json", "other.json")):
        (tmp_path / "other.json").write_text(answer("x", '{"json": [1]}'))
        code, said, mib = run(*command, cwd=tmp_path)
        assert code in (0, 1, 2), (command, said)
        assert "Traceback" not in said, (command, said)
        assert mib < 512, (command, mib)
