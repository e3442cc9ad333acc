"""Options that several commands share."""

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from hostagent.cli.streams import complain, put
from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import reason
from hostagent.engine.target import Evidence

if TYPE_CHECKING:
    from hostagent.engine.pipeline import Prepared
    from hostagent.profiles.profile import Loaded

#: The environment variable for ``--profile``.
PROFILE = "HOSTAGENT_PROFILE"
#: For standard input and standard output.
STANDARD = "-"
Command = TypeVar("Command", bound=Callable[..., Any])

_WIDTH = 100
_MAX_WARNINGS = 20
_MAX_WIDTH = 10_000
_DIRECTORY = click.Path()  # looked at in a child: its disk may not answer


class Seconds(click.FloatRange):
    """How long, between two bounds."""

    name = "number of seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):  # it is in no range and outside of none
            self.fail(f"{value!r} is no number of seconds.", param, ctx)
        return seconds


#: ``--deadline``, of whatever reads a host.
DEADLINE = click.option(
    "--deadline",
    "deadline_s",
    type=Seconds(min=0.1, max=3600),
    default=30,
    show_default=True,
    help="Seconds for the whole run.",
    metavar="S",
)
_EVIDENCE = (
    click.option("--host-root", type=_DIRECTORY, help="A live host whose / is mounted at DIR.", metavar="DIR"),
    click.option("--root", type=_DIRECTORY, help="An image tree at DIR that is not running.", metavar="DIR"),
    click.option("--kernel", default="", help="The kernel the image will boot (with --root).", metavar="RELEASE"),
    click.option(
        "--from",
        "snapshot",
        type=click.Path(exists=True, allow_dash=True),
        help="A recorded host: snapshot file or directory, - for standard input.",
        metavar="FILE",
    ),
    DEADLINE,
    click.option("--debug", is_flag=True, help="Print every read of the host to standard error: result, time, source, question."),
)


def evidence_options(command: Command) -> Command:
    """Adds the evidence options; the command gets them as keywords for `evidence`."""
    for option in reversed(_EVIDENCE):
        command = option(command)
    return command


def evidence(
    host_root: str | None, root: str | None, kernel: str, snapshot: str | None, deadline_s: float, *, debug: bool = False
) -> Evidence:
    """At most one place to read; raises ``click.UsageError``."""
    places = {"--host-root": host_root, "--root": root, "--from": snapshot}
    named = [flag for flag, value in places.items() if value is not None]
    if empty := [flag for flag in named if not places[flag]]:  # of a variable that is not set: never this machine instead
        raise click.UsageError(f"found {empty[0]} '', wanted a path")
    if len(named) > 1:
        raise click.UsageError(f"found {' and '.join(named)}, wanted at most one place to read a host from")
    if "/" in kernel or kernel in (".", ".."):
        raise click.UsageError(f"found --kernel {kernel}, wanted a kernel release, a name below /lib/modules")
    if kernel and not root:
        raise click.UsageError("found --kernel without --root: a live host says itself which kernel it runs")
    place = Evidence(host_root or "", root or "", kernel, snapshot or "", deadline_s)
    if not debug:
        return place
    from hostagent.cli.debug import shown

    return place._replace(on_answer=shown(is_recorded=bool(snapshot)))


#: ``--env-file``, for commands that judge a job. `with_environment` reads it.
env_file_option = click.option(
    "--env-file",
    "env_file",
    default=None,
    type=click.Path(allow_dash=True),
    help="The environment of a job: NAME=VALUE lines, or /proc/PID/environ; - for standard input. Writes no state.",
    metavar="FILE",
)


def one_standard_input(given: "Mapping[str, str | None]", several: "Mapping[str, Iterable[str]] | None" = None) -> None:
    """Raises ``click.UsageError`` where more than one option reads standard input. `several`: options with several values."""
    values = [*given.items(), *((flag, value) for flag, found in (several or {}).items() for value in found)]
    named = [
        f"{PROFILE}=-" if flag == "--profile" and is_profile_of_the_variable() else f"{flag} -"
        for flag, value in values
        if value == STANDARD
    ]
    if len(named) > 1:
        raise click.UsageError(f"found {' and '.join(named)}, wanted at most one of them from standard input")


def with_environment(place: Evidence, env_file: str | None) -> Evidence:
    """`place` as a job with that environment finds it. Raises ``HostagentError`` for a file that is no environment, without its content."""
    if env_file is None:
        return place
    if not env_file:  # of a variable that is not set: never judged without it instead
        raise click.UsageError("found --env-file '', wanted a file")
    from hostagent.core.smallfile import read_small, read_standard_input
    from hostagent.domains.nccl.env_file import MAX_BYTES, NEXT_STEP, parse_environment

    name = "standard input" if env_file == STANDARD else env_file
    try:
        data = read_standard_input(MAX_BYTES) if env_file == STANDARD else read_small(env_file, MAX_BYTES)
        return place._replace(environment=parse_environment(data))
    except OSError as error:
        raise HostagentError(f"cannot read {name}: {reason(error)}", NEXT_STEP) from error
    except ValueError as error:
        raise HostagentError(f"{name} is no environment of a job: {error}", NEXT_STEP) from None


def completed(name: str) -> Callable[..., Any]:
    """A function of `hostagent.cli.completion` by name, imported when a shell asks for completions."""

    def complete(context: click.Context, param: click.Parameter, incomplete: str) -> Any:
        from hostagent.cli import completion

        return getattr(completion, name)(context, param, incomplete)

    return complete


def profile_option(text: str, default: str = "") -> Callable[[Command], Command]:
    """``--profile`` for every command that takes one; its default is the variable, unless that is empty."""
    return click.option(
        "--profile",
        "profile_name",
        default=default,
        show_default=bool(default),
        envvar=PROFILE,
        show_envvar=True,
        callback=_named,
        help=text,
        metavar="P",
        shell_complete=completed("profiles"),
    )


def _named(context: click.Context, param: click.Parameter, name: str) -> str:
    """Refuses an empty name, as an unset shell variable gives: it never means the default profile."""
    if not name and context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE:
        raise click.UsageError("found --profile '', wanted a built-in profile or a file")
    return name


#: ``--json``, for commands that print JSON and one other thing.
json_option = click.option("--json", "as_json", is_flag=True, help="Short for --format json.")


def desired(name: str, **options: Any) -> "Loaded":
    """The profile, by `hostagent.profiles.profile.load`. Raises ``ProfileError`` with what is wrong in it, the checks it names included."""
    from hostagent.profiles import profile

    try:
        return profile.load(name, **options)
    except HostagentError as error:
        from hostagent.engine import catalogue
        from hostagent.profiles.mistakes import ProfileError

        found = catalogue.with_unknown_ids(error) if isinstance(error, ProfileError) else error
        if name and is_profile_of_the_variable():
            found.details = (*found.details, f"The variable {PROFILE} names this profile.")
        raise found from error.__cause__


def is_profile_of_the_variable() -> bool:
    """Whether the profile of the command that runs was named by the variable."""
    context = click.get_current_context(silent=True)
    return context is not None and ParameterSource.ENVIRONMENT in map(context.get_parameter_source, ("profile_name", "name"))


def prepared_for(place: Evidence, profile_name: str, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()) -> "Prepared":
    """The profile and the selected checks for a pass over `place`."""
    from hostagent.engine import pipeline
    from hostagent.profiles import profile

    # The site file is this machine's policy: a recorded host gives the same report on every laptop without it.
    prepared = pipeline.prepare(desired(profile_name, site_file="" if place.snapshot or place.root else profile.SITE_FILE), only, skip)
    warn(prepared.loaded.warnings)
    if (only or skip) and not prepared.checks:
        raise click.UsageError("found --only and --skip that leave no check, wanted at least one")
    return prepared


color_option = click.option(
    "--color",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour of --format text. auto: on a terminal, subject to NO_COLOR, FORCE_COLOR and TERM.",
)


def colour_wanted(path: str, asked: str = "auto") -> bool:
    """Whether text that goes to `path`, "" for standard output, has colour. What is asked for wins, then NO_COLOR, then FORCE_COLOR,
    then TERM=dumb, as in Python's own programs; else a terminal has colour. A file has it only when it is asked for.
    """
    if asked != "auto":
        return asked == "always"
    if path or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and sys.stdout is not None and sys.stdout.isatty()


def write(text: str, path: str, mode: int | None = None, ends: float = math.inf) -> None:
    """To standard output, or whole into a file (see `deliver`)."""
    text = text if text.endswith("\n") else f"{text}\n"
    if path in ("", STANDARD):
        put(text)
        return
    from hostagent.core.filewrite import deliver

    try:
        deliver(text, path, mode, ends=ends)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {reason(error)}") from error


def warn(sentences: Iterable[str]) -> None:
    """Warnings on standard error, a line each, cut at a maximum: a profile of a newer hostagent may have hundreds."""
    lines = tuple(sentences)
    for sentence in lines[:_MAX_WARNINGS]:
        complain(f"Warning: {sentence}.")
    if len(lines) > _MAX_WARNINGS:
        complain(f"Warning: {len(lines) - _MAX_WARNINGS} more of these.")


def terminal_width() -> int:
    """Columns of the terminal; COLUMNS wins; 100 where there is neither. shutil has this, for another 3 ms a start."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and 0 < len(columns) <= len(str(_MAX_WIDTH)):
        return min(int(columns), _MAX_WIDTH) or _WIDTH
    try:
        return os.get_terminal_size(1).columns or _WIDTH
    except OSError:
        return _WIDTH
