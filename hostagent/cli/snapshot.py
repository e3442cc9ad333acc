"""``hostagent snapshot``: save, show, diff, adopt."""

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from hostagent import snapshot
from hostagent.cli import SETTINGS, Group, examples
from hostagent.cli.options import (
    STANDARD,
    desired,
    env_file_option,
    evidence,
    evidence_options,
    one_standard_input,
    profile_option,
    warn,
    with_environment,
    write,
)
from hostagent.cli.streams import complain, put, say
from hostagent.core.deadline import within
from hostagent.core.errors import HostagentError, did_you_mean
from hostagent.engine.collect import ALL_READERS
from hostagent.engine.target import open_host
from hostagent.host import recording

_MIN_KEY_BYTES = 16
#: Written at once: an answer may have millions.
_LINES = 10_000


@click.group(
    "snapshot",
    cls=Group,
    context_settings=SETTINGS,
    epilog=examples("hostagent snapshot save new.json", "hostagent check --from host.json", "hostagent snapshot diff host.json other.json"),
)
def command() -> None:
    """Record, show, compare and adopt hosts."""


@command.command(
    "save",
    epilog=examples(
        "hostagent snapshot save new.json",
        "hostagent snapshot save - | gzip > new.json.gz",
        "head -c 32 /dev/urandom > key && hostagent snapshot save --key-file key new.json",
    ),
)
@click.argument("path", metavar="FILE")
@click.option("--no-redact", is_flag=True, help="Keep host names, addresses, ids and secrets in the file.")
@click.option("--key-file", type=click.Path(exists=True, dir_okay=False), help="Redact under this key: files of one key can be compared.")
@env_file_option
@evidence_options
def save(path: str, no_redact: bool, key_file: str | None, env_file: str | None, **where: Any) -> None:
    """Record what the checks read of this host into FILE (mode 0600; - is standard output), redacted. Read FILE before you share it.

    'hostagent check --from FILE' then gives the same report anywhere.
    """
    place = evidence(**where)
    one_standard_input({"--from": place.snapshot, "--env-file": env_file})
    place = with_environment(place, env_file)
    key = _key(key_file)
    deadline = within(place.deadline_s)
    with open_host(place, ALL_READERS) as reading:
        recorded, text = snapshot.save(reading, key, deadline, redact=not no_redact)
    _refuse_too_long(recorded, text)
    write(text, path, mode=0o600)
    path = "standard output" if path == STANDARD else path
    redaction = "redacted" if recorded.redacted else "not redacted"
    complain(f"{path}: {len(recorded.answers)} answers, {redaction}. It holds:")
    for thing in snapshot.things(recorded):
        complain(f"  {thing}")
    risk = "no pattern finds every name and every secret" if recorded.redacted else "names of hosts and users, addresses and ids are in it"
    complain(f"Read it before you give it away ({risk}): 'hostagent snapshot show --list FILE'")


def _refuse_too_long(recorded: recording.Tape, text: str) -> None:
    """Refuses a snapshot that is too long to be loaded again."""
    size = len(text.encode())
    if size > recording.MAX_BYTES:
        largest = max(recorded.answers, key=lambda asked: len(str(recorded.answers[asked])))
        raise HostagentError(
            f"the snapshot has {size} bytes, wanted at most {recording.MAX_BYTES}",
            f"Look why this is long: '{largest}'; then record again",
        )


@command.command("show", epilog=examples("hostagent snapshot show host.json", "hostagent snapshot show host.json 'read /proc/cmdline'"))
@click.argument("path", metavar="FILE")
@click.argument("question", default="")
@click.option("--list", "list_questions", is_flag=True, help="List the questions.")
def show(path: str, question: str, list_questions: bool) -> None:
    """Print what FILE is, its questions, or the answer to one QUESTION ('read /proc/cmdline')."""
    recorded = recording.load(path)
    if question:
        if question not in recorded.answers:
            hint = did_you_mean(question, recorded.answers)
            raise HostagentError(f"{path} does not know the question {question!r}{hint}", f"Run 'hostagent snapshot show --list {path}'")
        _print(snapshot.shown(recorded.answers[question]))
        return
    for line in snapshot.summary(recorded):
        say(line)
    if list_questions:
        say(*recorded.answers)


@command.command(
    "diff",
    epilog=examples("hostagent snapshot diff host.json other.json", "hostagent snapshot save - | hostagent snapshot diff host.json -"),
)
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
def diff(left: str, right: str) -> int:
    """Compare two snapshots answer by answer, but for the time. Exit 0 equal, 1 different, 2 usage."""
    if left == right == STANDARD:
        raise click.UsageError("found - and -, wanted at most one of them from standard input")
    is_different = _print(snapshot.differences(snapshot.packed(recording.load(left)), snapshot.packed(recording.load(right))))
    if not is_different:
        say("no difference")
    return 1 if is_different else 0


@command.command(
    "adopt", epilog=examples("hostagent snapshot adopt host.json adopted", "hostagent snapshot adopt --missing new.json older")
)
@click.argument("path", metavar="FILE")
@click.argument("directory", metavar="DIR")
@click.option("--missing", is_flag=True, help="Add to the test in DIR the answers that it lacks and FILE has, of the same host.")
@profile_option("The profile the test judges by.", "default")
def adopt(path: str, directory: str, missing: bool, profile_name: str) -> None:
    """Turn FILE into a test: DIR/tape.json and DIR/expect.yaml with today's verdict. Read the verdict before you commit it."""
    recorded = recording.load(path)
    loaded = desired(profile_name, site_file="")
    warn(loaded.warnings)
    if missing:
        expected, added = snapshot.add_missing(recording.load(directory), recorded, directory, loaded)
        for asked in added:
            say(f"  added   {asked}")
    else:
        expected = snapshot.adopt(recorded, recording.dumps(recorded), directory, loaded)
    say(f"{directory}: single-node {expected['single_node']}, multi-node {expected['multi_node']}")
    for outcome in ("fail", "warn", "unknown", "not_recorded"):
        for check_id in expected.get(outcome, ()):
            say(f"  {outcome:<7} {check_id}")


def _print(lines: Iterator[str]) -> bool:
    """Whether there were any."""
    some: list[str] = []
    while more := list(islice(lines, _LINES)):
        some = more
        put("\n".join([*some, ""]))
    return bool(some)


def _key(path: str | None) -> bytes:
    if not path:
        return os.urandom(32)
    with open(path, "rb") as stream:
        key = stream.read(4096)
    if len(key) < _MIN_KEY_BYTES:
        raise HostagentError(
            f"{path} holds {len(key)} bytes, wanted at least {_MIN_KEY_BYTES}", "Make one: 'head -c 32 /dev/urandom > FILE'"
        )
    return key
