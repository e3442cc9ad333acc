"""The command line: one module a command group, imported when its command is called."""

from typing import Any

import click

from hostagent import __version__

#: Command, module, and the line in --help. Only the called command's module is imported.
COMMANDS = {
    "check": ("check", "Judge a host: is it ready for GPU jobs, and if not, why"),
    "status": ("status", "Print the last verdict of this host, without a new run"),
    "snapshot": ("snapshot", "Record, show, compare and adopt hosts"),
    "checks": ("checks", "List the checks, explain one"),
    "profile": ("profile", "List, show and validate profiles"),
    "schema": ("schema", "Print a published JSON Schema"),
}


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
