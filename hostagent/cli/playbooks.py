"""``hostagent playbooks``."""

import click

from hostagent.cli import SETTINGS, Group, examples
from hostagent.cli.streams import say


@click.group(
    "playbooks", cls=Group, context_settings=SETTINGS, epilog=examples("hostagent playbooks path", "hostagent playbooks export playbooks")
)
def command() -> None:
    """Find or copy the Ansible playbooks that apply a plan."""


@command.command("path", epilog=examples("hostagent playbooks path"))
def path() -> None:
    """Print the directory of apply.yaml and its roles."""
    from hostagent.install.playbooks import playbooks_path

    say(playbooks_path())


@command.command("export", epilog=examples("hostagent playbooks export playbooks"))
@click.argument("directory", metavar="DIR", type=click.Path())
def export_playbooks(directory: str) -> None:
    """Copy them into DIR, which must be new or empty: 'ansible-playbook DIR/apply.yaml -e @plan.json' works without hostagent."""
    from hostagent.install.playbooks import export

    export(directory)
