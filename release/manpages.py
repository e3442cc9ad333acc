"""The man pages and completion files of the command line, made from its own texts, and the unit of a package.

Run as a program, with the modules of what is packed: ``python -I release/manpages.py MODULES OUT VERSION EPOCH``. It writes
OUT/man/NAME.1 for each command, OUT/completion/bash, zsh and fish, and OUT/hostagent.service.
"""

import contextlib
import io
import os
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import click

PROGRAM = "hostagent"
SHELLS = ("bash", "zsh", "fish")
#: groff_char(7): what a formatter would turn into a typographic sign, or read as the start of an escape.
_SIGNS = {"\\": r"\(rs", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}
_EXAMPLES = "Examples:"
_WIDTH = 1000


class Page(NamedTuple):
    """One command: `path` are the words that call it, `line` its line in a list of commands."""

    path: tuple[str, ...]
    context: click.Context
    line: str

    @property
    def name(self) -> str:
        return "-".join(self.path)

    @property
    def command(self) -> click.Command:
        return self.context.command


def escaped(text: str) -> str:
    r"""`text` as roff shows it, whatever is in it.

    >>> print(escaped("'C:\\it' --x"), escaped(".so é"))
    \(aqC:\(rsit\(aq \-\-x \&.so \[u00E9]
    """
    shown = "".join(_SIGNS.get(one, one) if one.isascii() else f"\\[u{ord(one):04X}]" for one in text)
    return f"\\&{shown}" if shown.startswith(".") else shown


def walk(
    command: click.Command, path: tuple[str, ...] = (PROGRAM,), above: "click.Context | None" = None, line: str = ""
) -> Iterator[Page]:
    """The command and those below it, but for the hidden ones."""
    settings = command.context_settings
    context = click.Context(command, above, path[-1], help_option_names=settings.get("help_option_names"))
    yield Page(path, context, line or command.get_short_help_str(_WIDTH).rstrip("."))
    for below, text in commands(context):
        yield from walk(below, (*path, below.name or ""), context, text)


def commands(context: click.Context) -> list[tuple[click.Command, str]]:
    """What is called below a command, with its line in --help: of the first level the command line has lines of its own."""
    from hostagent.cli import COMMANDS

    group = context.command
    if not isinstance(group, click.Group):
        return []
    found = [group.get_command(context, name) for name in group.list_commands(context)]
    is_first = context.parent is None
    return [
        (one, COMMANDS[one.name or ""][1] if is_first else one.get_short_help_str(_WIDTH).rstrip("."))
        for one in found
        if one is not None and not one.hidden
    ]


def paragraphs(text: str) -> Iterator[tuple[bool, list[str]]]:
    r"""The paragraphs of a help text of click: whether its lines stay as they are (it begins with \b), and the lines.

    >>> list(paragraphs("One\nline.\n\n\b\nExamples:\n  hostagent check"))
    [(False, ['One', 'line.']), (True, ['Examples:', '  hostagent check'])]
    """
    for part in text.partition("\f")[0].split("\n\n"):
        lines = [line.rstrip() for line in part.strip("\n").split("\n")]
        as_it_is = lines[0].strip() == "\b"
        lines = lines[1:] if as_it_is else [line.strip() for line in lines]
        if any(lines):
            yield as_it_is, lines


def page(one: Page, version: str, date: str, others: "list[Page]") -> str:
    """The page of a command. `others`: all pages, for those that it names."""
    title = f'.TH "{escaped(one.name.upper())}" 1 "{date}" "{PROGRAM} {escaped(version)}" "User commands"'
    lines = [title, ".nh", ".ad l", ".SH NAME", f"{escaped(one.name)} \\- {escaped(one.line)}", ".SH SYNOPSIS", *_synopsis(one)]
    lines += [".SH DESCRIPTION", *_prose(one.command.help or one.line)]
    below = commands(one.context)
    if below:
        lines.append(".SH COMMANDS")
        for command, line in below:
            lines += [".TP", f".B {escaped(command.name or '')}", escaped(line)]
    records = [param.get_help_record(one.context) for param in one.command.get_params(one.context) if isinstance(param, click.Option)]
    lines.append(".SH OPTIONS")
    for names, text in filter(None, records):
        lines += [".TP", _marked(names), escaped(" ".join(text.split()))]
    lines += _epilog(one.command.epilog or "")
    lines += [".SH SEE ALSO", *_see_also(one, others)]
    return "\n".join(lines) + "\n"


def _synopsis(one: Page) -> list[str]:
    """As --help has it, on lines of its own where it has several."""
    formatter = click.HelpFormatter(width=_WIDTH)
    one.command.format_usage(one.context, formatter)
    lines = formatter.getvalue().strip().removeprefix("Usage: ").splitlines()
    called, first = " ".join(one.path), lines[0]
    rest = [_breakable(first.removeprefix(called).strip()), *(_breakable(line.strip()) for line in lines[1:])]
    return [f".B {escaped(called)}", *("\n.br\n".join(filter(None, rest)).splitlines())]


def _prose(text: str) -> list[str]:
    lines: list[str] = []
    for as_it_is, found in paragraphs(text):
        lines += [".PP"] if lines else []
        lines += _block(found) if as_it_is else [escaped(" ".join(found))]
    return lines


def _block(lines: list[str]) -> list[str]:
    return [".EX", *(escaped(line) if line.strip() else "" for line in lines), ".EE"]


def _epilog(text: str) -> list[str]:
    """The end of --help: examples become a section."""
    lines: list[str] = []
    for as_it_is, found in paragraphs(text):
        if as_it_is and found[0] == _EXAMPLES:
            lines += [".SH EXAMPLES", *_block([line.removeprefix("  ") for line in found[1:]])]
        else:
            lines += [".PP", *(_block(found) if as_it_is else [escaped(" ".join(found))])]
    return lines


def _marked(names: str) -> str:
    """The names of an option bold, and what it takes slanted."""
    words = []
    for word in names.split(" "):
        bare = word.rstrip(",")
        font = "B" if word.startswith("-") else "I" if bare.isupper() else "R"
        words.append(f"\\f{font}{_breakable(bare)}\\fR{word[len(bare) :]}")
    return " ".join(words)


def _breakable(text: str) -> str:
    """A list of choices may be longer than a line."""
    return escaped(text).replace("|", "|\\:")


def _see_also(one: Page, others: "list[Page]") -> list[str]:
    """The commands above and directly below."""
    near = [other for other in others if other.path in (one.path[:-1], one.path[:1]) or other.path[:-1] == one.path]
    named = dict.fromkeys(other.name for other in near if other.path != one.path)
    rows = [f".BR {escaped(name)} (1)" for name in named]
    return [f"{row}," for row in rows[:-1]] + rows[-1:]


def completion(shell: str) -> str:
    """What ``_HOSTAGENT_COMPLETE=SHELL_source hostagent`` prints."""
    from hostagent.cli import cli
    from hostagent.cli.completion import complete

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if not complete(cli, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE", f"{shell}_source"):
            raise ValueError(f"the command line has no completion for {shell}")
    return printed.getvalue().rstrip("\n") + "\n"


def write(out: str, version: str, epoch: int) -> None:
    from hostagent.cli import cli
    from hostagent.daemon.unit import unit

    date = time.strftime("%Y-%m-%d", time.gmtime(epoch))
    every = list(walk(cli))
    texts = {f"man/{one.name}.1": page(one, version, date, every) for one in every}
    texts |= {f"completion/{shell}": completion(shell) for shell in SHELLS}
    texts["hostagent.service"] = unit(f"/usr/bin/{PROGRAM}")
    for name, text in texts.items():
        path = os.path.join(out, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)


if __name__ == "__main__":
    modules, folder, called, commit_time = sys.argv[1:]
    sys.path.insert(0, modules)
    write(folder, called, int(commit_time))
