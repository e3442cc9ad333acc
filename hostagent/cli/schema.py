"""``hostagent schema``: the published JSON Schemas."""

import json

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.schemas import names, published
from hostagent.cli.streams import put


@click.command(
    "schema", context_settings=SETTINGS, epilog=examples("hostagent schema report", "hostagent schema profile > profile.schema.json")
)
@click.argument("name", type=click.Choice(names()))
def command(name: str) -> None:
    """Print the JSON Schema (2020-12) of a document hostagent reads or writes."""
    put(json.dumps(published(name), indent=1) + "\n")
