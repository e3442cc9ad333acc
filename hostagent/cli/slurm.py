"""``hostagent slurm``: the programs that slurmd runs on a node, and their removal."""

import click

from hostagent.cli import SETTINGS, Group, examples

#: Command, module, and the line in --help. Only the called command's module is imported.
_COMMANDS = {
    "health": ("slurmhealth", "HealthCheckProgram: drain this node while it is not ready"),
    "prolog": ("slurmprolog", "Prolog: refuse a job on a node that is not ready"),
    "epilog": ("slurmepilog", "Epilog: report whether the host failed during the job"),
    "clean": ("slurmclean", "Remove what hostagent has written to nodes"),
}


class _Slurm(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        import importlib

        command: click.Command = importlib.import_module(f"hostagent.cli.{_COMMANDS[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


@click.group(
    "slurm", cls=_Slurm, context_settings=SETTINGS, epilog=examples("hostagent slurm health --help", "hostagent slurm clean --help")
)
def command() -> None:
    """Drain a Slurm node that is not ready, keep jobs away from it, and report whether the host failed a job."""
