"""Output options of a command: formats and files, their order, and the time that writing may take."""

# Files are written before standard output: its reader may end the run. `-` is standard input and output wherever a file is read
# or written. FORCE_COLOR colours no file.

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import click

from hostagent.cli.options import STANDARD, Command, completed, write
from hostagent.cli.streams import complain
from hostagent.core.deadline import COMPUTING_S, processor_limit
from hostagent.core.errors import OutOfTime, did_you_mean

#: Seconds that a pipe or device gets at least to take the report.
DELIVERING_S = 0.4
Form = TypeVar("Form", bound=str)
#: Formats that -o takes in kubectl; refused as file names, also where a command has no such format.
_ELSEWHERE = ("json", "yaml")


def output_option(text: str = "Write to FILE; - is standard output, the default.") -> Callable[[Command], Command]:
    """``-o`` for every command that takes one: it names a file, and refuses the name of a format."""
    return click.option("-o", "--output", default="", type=click.Path(), callback=_file, help=text, metavar="FILE")


def _file(context: click.Context, param: click.Parameter, path: str) -> str:
    found = next((one.type for one in context.command.params if "--format" in one.opts), None)
    formats = found.choices if isinstance(found, click.Choice) else ()
    said = path.removeprefix("=")  # of -o=json
    name = said.lower()
    if context.resilient_parsing or name not in (*formats, *_ELSEWHERE):
        return path
    use = f"use --format {name} without -o, or" if name in formats else "use"
    raise click.UsageError(
        f"found -o {said}, which is a format's name; -o names a file: {use} -o ./{said} for a file of that name", context
    )


_OPTIONS = (
    click.option(
        "--also",
        multiple=True,
        help="Write another format to a file, too (- for standard output); may be given several times.",
        metavar="FORMAT=FILE",
        shell_complete=completed("formats_and_files"),
    ),
    output_option(),
)


def output_options(command: Command) -> Command:
    """Adds ``--also`` and ``-o``; the command gets them as keywords for `outputs`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def one_form(named: Mapping[str, Form], default: Form) -> Form:
    """The one format that was asked for, by the options that name one; ``--format json --json`` is no mistake."""
    if len(set(named.values())) > 1:
        raise click.UsageError(f"found {' and '.join(named)}, wanted one of them; --also FORMAT=FILE writes a second format")
    return next(iter(named.values()), default)


def outputs(form: Form, output: str, also: tuple[str, ...], formats: Sequence[Form]) -> list[tuple[Form, str]]:
    """Each format with its file, "" for standard output. Regular files come first, because the reader of a pipe may end the run."""
    found = [(form, output), *(_other(text, formats) for text in also)]
    paths = [os.path.abspath(path) for _, path in found if path not in ("", STANDARD)]
    twice = next((path for path in paths if paths.count(path) > 1 and not path.startswith("/dev/")), "")
    if twice:
        raise click.UsageError(f"found two formats for {twice}, wanted one per file")
    return sorted(((kind, "" if path == STANDARD else path) for kind, path in found), key=lambda one: not one[1])


def _other(text: str, formats: Sequence[Form]) -> tuple[Form, str]:
    name, _, path = text.partition("=")
    form = next((one for one in formats if one == name), None)
    if form is None or not path:
        hint = did_you_mean(name, formats) if form is None else ""
        raise click.UsageError(f"found --also {text!r}, wanted FORMAT=FILE with one of the formats {', '.join(formats)}{hint}")
    return form, path


def deliver_all(wanted: Sequence[tuple[Form, str]], rendered: Callable[[Form, str], str], ends: float, mode: int | None = None) -> None:
    """Writes each of `outputs`: `rendered` makes its text by format and file. `ends`: the end of the run's time, by ``time.monotonic``.
    `mode`: of the files, None for the default.
    """
    for form, path in wanted:
        write(rendered(form, path), path, mode, ends=max(ends, time.monotonic() + DELIVERING_S))


def within_time(whole: Callable[[], str], shortened: Callable[[], str], within_s: float = COMPUTING_S) -> str:
    """Shortens a report that takes too long to write, so that its answer is printed in any case."""
    try:
        with processor_limit(within_s):
            return whole()
    except OutOfTime:
        complain(f"Warning: the report was not written in {within_s:g} s of processor time and is shortened.")
        return shortened()
