"""The command line: one module a command group, imported when its command is called."""

import errno
import gc
import os
import signal
import sys
from typing import Any

import click

from hostagent import REPORT_BUGS_TO, __version__
from hostagent.errors import HostagentError
from hostagent.visible import visible

#: Command, module, and the line in --help. Only the called command's module is imported.
COMMANDS = {
    "check": ("check", "Judge a host: is it ready for GPU jobs, and if not, why"),
    "status": ("status", "Print the last verdict of this host, without a new run"),
    "snapshot": ("snapshot", "Record, show, compare and adopt hosts"),
    "checks": ("checks", "List the checks, explain one"),
    "profile": ("profile", "List, show and validate profiles"),
    "schema": ("schema", "Print a published JSON Schema"),
}
USAGE = 2
#: New objects before Python looks for garbage among the young ones, 700 of its own accord: what a start imports lives on, and
#: looking at it again and again costs 7 % of a run.
_GC_AFTER = 50_000


class LazyGroup(click.Group):
    """Knows its commands by name only: importing them all would cost every start 60 ms."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        import importlib

        command: click.Command = importlib.import_module(f"hostagent.cli.{COMMANDS[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    if wanted and not ctx.resilient_parsing:
        from hostagent.cli.commit import commit

        click.echo(f"hostagent {__version__} ({commit()})")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Version and commit.")
def cli() -> None:
    """Make a GPU host ready, prove it, and tell every scheduler."""


def main() -> None:
    """Run the command line. A user's mistake is one sentence and exit 2; a bug keeps its traceback and exits 2 too."""
    if sys.stdout is None:
        click.echo("Error: there is no standard output.", err=True)
        sys.exit(USAGE)
    gc.set_threshold(_GC_AFTER)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that stops reading ends us as it ends every filter; click would exit 1
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(USAGE)
    except HostagentError as error:
        click.echo(
            visible(f"Error: {error.message}.") + "\n" + visible(error.next_step) + ("" if error.next_step.endswith("?") else "."), err=True
        )
        sys.exit(USAGE)
    except click.Abort:
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and not error.filename:
            click.echo("Error: cannot write standard output: no space left on device.", err=True)
            os._exit(USAGE)  # what is buffered cannot be written either

        import traceback

        traceback.print_exc()
        click.echo(f"This is a bug in hostagent: please report it to {REPORT_BUGS_TO} with the lines above.", err=True)
        sys.exit(USAGE)
