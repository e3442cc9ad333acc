"""The command line of ``hostagent setup``, read as the script reads its own: in order, the first mistake ends it."""

import os
from collections.abc import Mapping, Sequence
from typing import IO, Any

import click

from hostagent.cli.options import STANDARD, one_standard_input
from hostagent.core.escape import visible
from hostagent.core.smallfile import read_small, read_standard_input, reason
from hostagent.setup.request import FLAGS, MISSING, Flags, Request, RequestError, request_of

_HELP = ("-h", "--help")
#: The script's own: it reads their value from the next word alone, and "--backend=docker" is nothing that it knows.
_APART = ("--backend", *FLAGS)
_USAGE = (
    "[--backend docker|local-docker|kubernetes|k8s]",
    "[--check-only|--install] [--yes]",
    "[--min-driver-version V] [--min-cuda-version V]",
    "[--min-container-toolkit-version V]",
    "[--skip-docker-install] [--skip-docker-config]",
    "[--skip-docker-group] [OPTIONS]",
)


class Refused(click.UsageError):
    """The script's error message and usage; `code` is its exit code."""

    def __init__(self, error: RequestError, context: click.Context) -> None:
        super().__init__(error.message, context)
        self.detail = error.detail
        self.code = error.code

    def show(self, file: "IO[Any] | None" = None) -> None:
        usage = [] if self.ctx is None else [self.ctx.get_usage()]
        click.echo("\n".join(filter(None, (visible(self.message), visible(self.detail), *usage))), file=file)


class ScriptCommand(click.Command):
    """A command whose mistakes are the script's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            try:
                args = _until_help(self.params, args)
            except RequestError as error:
                raise Refused(error, ctx) from None
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A flag a piece: click would break them at their dashes."""
        head = f"Usage: {ctx.command_path} "
        formatter.write(head + f"\n{' ' * len(head)}".join(_USAGE) + "\n")


def _until_help(params: Sequence[click.Parameter], args: Sequence[str]) -> list[str]:
    """`args`, up to a flag for help. Raises ``RequestError`` for an unknown argument or a missing value."""
    takes = {name: not getattr(one, "is_flag", False) for one in params for name in (*one.opts, *one.secondary_opts)}
    words, read = list(args), 0
    while read < len(words):
        word = words[read]
        name, equals, _ = word.partition("=")
        read += 1
        if word in _HELP:
            return words[:read]
        if equals and name.startswith("--") and name not in _APART and takes.get(name):
            continue
        if word not in takes:
            raise RequestError(f"Unknown argument: {word}")
        if takes[word]:
            if read == len(words):
                raise RequestError(f"found {word} without a value, wanted one behind it", MISSING)
            read += 1
    return words


def asked_for(context: click.Context, snapshot: str | None, asked: Mapping[str, Any]) -> Request:
    """The request of flags, variables and the model's file. Raises `Refused`."""
    one_standard_input({"--from": snapshot, "--requirements": asked["requirements"]})
    skipped = (asked["skip_docker_install"], asked["skip_docker_config"], asked["skip_docker_group"])
    minimums = (asked["driver"], asked["cuda"], asked["toolkit"])
    try:
        flags = Flags(asked["backend"], asked["exact"], minimums, *(not one for one in skipped))
        return request_of(flags, os.environ, _required(asked["requirements"]))
    except RequestError as error:
        raise Refused(error, context) from None


def _required(path: str | None) -> tuple[str, str, str]:
    if path is None:
        return "", "", ""
    from hostagent.setup.requirements import LIMIT, parse_requirements

    if not path:  # of a variable that is not set: never the defaults instead
        raise RequestError("found --requirements '', wanted a file")
    name = "standard input" if path == STANDARD else path
    try:
        data = read_standard_input(LIMIT) if path == STANDARD else read_small(path, LIMIT)
    except OSError as error:
        raise RequestError(f"cannot read {name}: {reason(error)}") from error
    return parse_requirements(data, name)
