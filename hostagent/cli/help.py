"""``hostagent help``."""

import click

from hostagent.cli import SETTINGS, Group, cli, examples
from hostagent.cli.options import completed
from hostagent.cli.streams import put


@click.command("help", context_settings=SETTINGS, epilog=examples("hostagent help", "hostagent help snapshot save"))
@click.argument("path", nargs=-1, metavar="[COMMAND]...", shell_complete=completed("commands"))
@click.pass_context
def command(context: click.Context, path: tuple[str, ...]) -> None:
    """Print the help of a command, as its --help does."""
    found: click.Command = cli
    place = context.find_root()
    for name in path:
        if not isinstance(found, Group):
            raise click.UsageError(f"{found.name} has no commands of its own, found {name!r:.60}", place)
        _, inner, _ = found.resolve_command(place, [name])
        if inner is None:
            raise click.UsageError(f"no command {name!r:.60}", place)
        found, place = inner, click.Context(inner, parent=place, info_name=name)
    put(found.get_help(place) + "\n")
