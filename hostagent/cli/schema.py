"""``hostagent schema``: the published JSON Schemas."""

import json

import click

from hostagent import schemas


@click.command("schema", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", type=click.Choice(sorted(schemas.SCHEMAS)))
def command(name: str) -> None:
    """Print the JSON Schema (2020-12) of a document hostagent reads or writes."""
    click.echo(json.dumps(schemas.SCHEMAS[name](), indent=1))
