"""What a shell completes: commands and options as click has them, and the values that only hostagent knows.

Imported only where a shell asks.
"""

# Three corrections of click's, found with real shells: bash breaks words at `=`, zsh and fish replace the whole word `--only=x`,
# and fish's script ended a value at its first comma (`--only a,b`).

from collections.abc import Iterable
from typing import Any, get_args

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete, get_completion_class

from hostagent.core.errors import HostagentError
from hostagent.core.vocabulary import Extra
from hostagent.engine import catalogue
from hostagent.profiles import files, profile

#: What a shape of ``--pod`` may name, other than full resource names.
_SHAPE_KEYS = ("gpus", "cpus", "memory", "nics", "hugepages-2Mi", "hugepages-1Gi")


def profiles(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """The built-in profiles; where none begins like that, files."""
    return _beginning(incomplete, files.names()) or [CompletionItem(incomplete, type="file")]


def checks(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """The checks of the profile that the command line names."""
    return _beginning(incomplete, (one for one, is_family in _names(context) if not is_family))


def checks_and_families(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """The last of several, with commas; those before it are not offered again."""
    before, comma, last = incomplete.rpartition(",")
    given = {*before.split(","), *(name for text in context.params.get(param.name or "") or () for name in text.split(","))}
    return [CompletionItem(f"{before}{comma}{name}") for name, _ in _names(context) if name.startswith(last) and name not in given]


def formats_and_files(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """Of FORMAT=FILE, with the formats of the command's ``--format``."""
    found = next((one.type for one in context.command.params if "--format" in one.opts), None)
    formats = found.choices if isinstance(found, click.Choice) else ()
    _, equals, path = incomplete.partition("=")
    return [CompletionItem(path, type="file")] if equals else _beginning(incomplete, (f"{form}=" for form in formats))


def shapes_and_files(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """For ``--pod``: resources that the shape does not name yet; without ``=`` also files."""
    before, comma, last = incomplete.rpartition(",")
    given = {one.partition("=")[0] for one in before.split(",")}
    known = [f"{before}{comma}{name}=" for name in _SHAPE_KEYS if name.startswith(last) and name not in given]
    return _beginning(incomplete, known) or ([] if "=" in incomplete else [CompletionItem(incomplete, type="file")])


def extras(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """For ``--with``: the last of several, with commas; those before it are not offered again."""
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(f"{before}{comma}{one}") for one in get_args(Extra) if one.startswith(last) and one not in before.split(",")]


def backends(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """Of ``setup``."""
    from hostagent.setup.request import BACKENDS

    return _beginning(incomplete, BACKENDS)


def commands(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """The subcommands of the commands on the line."""
    root = context.find_root()
    found: click.Command | None = root.command
    for name in context.params.get("path") or ():
        found = found.get_command(root, name) if isinstance(found, click.Group) else None
    return _beginning(incomplete, found.list_commands(root)) if isinstance(found, click.Group) else []


def _beginning(incomplete: str, names: Iterable[str]) -> list[CompletionItem[Any]]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _names(context: click.Context) -> list[tuple[str, bool]]:
    """Each family and check, with whether it is a family. A profile that cannot be read completes as the default one."""
    try:
        loaded = profile.load(context.params.get("profile_name") or "")
        found = catalogue.load(loaded.profile.catalogues)
    except HostagentError:
        found = catalogue.load([catalogue.OURS])
    ids = {one.id for one in found}
    return [(name, name not in ids) for name in catalogue.names_of(found)]


#: As click has it, but that no space follows ``text=``.
_NO_SPACE = "            COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace"


class _Bash(BashComplete):
    """Bash hands ``--only=gpu.x`` and ``text=report`` over as three words, and replaces the last one."""

    source_template = BashComplete.source_template.replace("            COMPREPLY+=($value)", _NO_SPACE)

    def get_completion_args(self) -> tuple[list[str], str]:
        words, incomplete = super().get_completion_args()
        return _glued(words, incomplete)


class _Zsh(ZshComplete):
    """Zsh replaces the whole word."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        return _whole(incomplete, super().get_completions(args, incomplete))


class _Fish(FishComplete):
    """As zsh; what click prints for it ends a value at its first comma."""

    source_template = FishComplete.source_template.replace('string split "," $completion', 'string split --max 1 "," $completion')

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        return _whole(incomplete, super().get_completions(args, incomplete))


def _glued(words: list[str], incomplete: str) -> tuple[list[str], str]:
    glued: list[str] = []
    for word in [*words, incomplete]:
        if glued and word and (word == "=" or glued[-1].endswith("=")):
            glued[-1] += word
        else:
            glued.append(word)
    return glued[:-1], glued[-1]


def _whole(incomplete: str, found: list[CompletionItem[Any]]) -> list[CompletionItem[Any]]:
    option, equals, _ = incomplete.partition("=")
    if equals and option.startswith("--"):
        for one in found:
            one.value = f"{option}={one.value}"
    return found


def complete(cli: click.Command, program: str, variable: str, instruction: str) -> bool:
    """Print the completions; False where the environment is not that of a shell's completion."""
    shell, _, question = instruction.partition("_")
    ours: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}
    kind = ours.get(shell) or get_completion_class(shell)
    if kind is None or question not in ("source", "complete"):
        return False
    asked = kind(cli, {}, program, variable)
    click.echo(asked.source() if question == "source" else asked.complete(), nl=question == "complete")
    return True
