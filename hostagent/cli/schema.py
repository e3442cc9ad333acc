"""``hostagent schema``: the published JSON Schemas."""

import json

import click

from hostagent.cli.streams import put
from hostagent.schemas import names, published


@click.command("schema", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", type=click.Choice(names()))
def command(name: str) -> None:
    """Print the JSON Schema (2020-12) of a document hostagent reads or writes."""
    put(json.dumps(published(name), indent=1) + "\n")
