"""The command line: one module a command group, imported when its command is called."""

from typing import Any

import click

from hostagent import __version__

#: Command, module, and the line in --help. Only the called command's module is imported.
COMMANDS = {
    "check": ("check", "Check a host: is it ready for GPU jobs, and if not, why"),
    "demo": ("demo", "Check a recorded host: what a report looks like, without a GPU"),
    "status": ("status", "Print the last verdict of this host, without a new run"),
    "events": ("events", "Acknowledge faults in the kernel log"),
    "npd": ("npd", "Report one condition to node-problem-detector"),
    "topology": ("topology", "Show sockets, NUMA nodes, GPUs and NICs, and whether the kubelet admits a pod"),
    "fleet": ("fleet", "Summarize many hosts: verdicts, causes, classes and how outliers differ"),
    "nccl": ("nccl", "Find in a job's log which network NCCL used, and why"),
    "gate": ("gate", "Decide whether a job may be placed, on which nodes, and if not, why"),
    "plan": ("plan", "Show what install would change on this host, and what it costs"),
    "daemon": ("daemon", "Run as a service: monitor the host and publish its readiness"),
    "kubernetes": ("kubernetes", "Show why a node is closed, or remove what hostagent has written to nodes"),
    "slurm": ("slurm", "Drain a Slurm node that is not ready, and check it before and after its jobs"),
    "controller": ("controller", "Taint nodes that are not ready or have a silent agent"),
    "install": ("install", "Apply the plan, verify it, and keep what a rollback needs"),
    "setup": ("setup", "Stand-in for TAO's set-up script: check whether this host is ready, or make it so"),
    "rollback": ("rollback", "Undo the newest install, without a network"),
    "playbooks": ("playbooks", "Find or copy the Ansible playbooks that apply a plan"),
    "snapshot": ("snapshot", "Record, show, compare and adopt hosts"),
    "checks": ("checks", "List the checks, explain one"),
    "profile": ("profile", "List, show and validate profiles"),
    "schema": ("schema", "Print a published JSON Schema"),
    "help": ("help", "Print the help of a command"),
}
SETTINGS = {"help_option_names": ["-h", "--help"]}


class Group(click.Group):
    """A group that suggests the command closest to a mistyped one."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and not ctx.resilient_parsing and args[0] not in self.list_commands(ctx):
            from hostagent.core.errors import did_you_mean

            raise click.UsageError(f"no command {args[0]!r:.60}{did_you_mean(args[0], self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
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


def examples(*lines: str) -> str:
    """The end of a command's help. A test runs each line."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


@click.group(
    cls=LazyGroup,
    context_settings=SETTINGS,
    epilog=examples("hostagent check", "hostagent status", "hostagent help check"),
)
@click.option("-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Version and commit.")
def cli() -> None:
    """Make a GPU host ready, verify it, and publish its state to every scheduler."""
