"""Options that the programs of Slurm share."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hostagent.cli.options import Seconds, evidence, prepared_for, profile_option
from hostagent.core.errors import HostagentError
from hostagent.engine.report import state
from hostagent.engine.target import Evidence

if TYPE_CHECKING:
    from hostagent.engine.pipeline import Prepared
    from hostagent.slurm.programs.verdict import Author

#: Of the judged host.
_RUN = os.path.dirname(state.PATH)
#: How much of the time a look at the host may take: the rest is for hostcheck it, and for Slurm's commands.
_READING, _JUDGING = 0.5, 0.8
#: No ``Path(exists=True)``: what does not exist is a usage error when it is read, too.
_PATH = click.Path()
_NODE = click.option("--node", default="", help="Node of Slurm. Default: $SLURMD_NODENAME, else the short host name.", metavar="NAME")
_OPTIONS = (
    click.option("--state-dir", default="", type=_PATH, help=f"The daemon's. Default: {_RUN} of the judged host.", metavar="DIR"),
    profile_option("Built-in profile, or a file. Default: the site file's, else 'default'."),
    click.option("--host-root", default=None, type=_PATH, help="A live host with its / mounted at DIR.", metavar="DIR"),
    click.option("--from", "snapshot", default=None, type=_PATH, help="A recorded host (a simulation). Needs --state-dir.", metavar="FILE"),
    click.option(
        "--slurm-conf",
        default="",
        type=_PATH,
        help="slurm.conf for Slurm's commands. Default: $SLURM_CONF, else Slurm's own.",
        metavar="FILE",
    ),
    click.option("--bin-dir", default="", type=_PATH, help="Where scontrol is. Default: the usual places.", metavar="DIR"),
    click.option("--deadline", default=25.0, show_default=True, type=Seconds(1, 300), help="Seconds for the whole program.", metavar="S"),
    click.option("--dry-run", is_flag=True, help="Print what it would do, and write nothing."),
)


refusal_code = click.option(
    "--refusal-code",
    type=click.IntRange(1, 255),
    default=1,
    show_default=True,
    help="Exit code of a refusal. One other than 1 differs from that of a Python that cannot start.",
    metavar="N",
)


class Options(NamedTuple):
    """Of one run. ``ends``: on the monotonic clock."""

    node: str
    state_dir: str
    profile_name: str
    place: Evidence
    slurm_conf: str
    bin_dir: str
    deadline_s: float
    ends: float
    is_dry: bool

    @property
    def is_default_state(self) -> bool:
        return self.state_dir == os.path.abspath(f"{self.place.host_root}{_RUN}")


class OptionError(HostagentError):
    """A profile or a recording that an option names does not load."""


def slurm_options(command: Callable[..., Any], node: Callable[..., Any] = _NODE) -> Callable[..., Any]:
    """The command gets them as keywords for `parse_options`. `node`: the option of that name."""
    for option in reversed((node, *_OPTIONS)):
        command = option(command)
    return command


def parse_options(
    *,
    node: str,
    state_dir: str,
    profile_name: str,
    host_root: str | None,
    snapshot: str | None,
    slurm_conf: str,
    bin_dir: str,
    deadline: float,
    dry_run: bool,
) -> Options:
    """Raises ``click.UsageError``."""
    place = evidence(host_root=host_root, root=None, kernel="", snapshot=snapshot, deadline_s=deadline)
    if place.snapshot and not state_dir:
        raise click.UsageError("found --from without --state-dir, wanted both: a recording has no state directory on this machine")
    folder, ends = os.path.abspath(state_dir or f"{place.host_root}{_RUN}"), time.monotonic() + deadline
    return Options(_node_name(node), folder, profile_name, place, slurm_conf, bin_dir, deadline, ends, is_dry=dry_run)


def _node_name(given: str) -> str:
    from hostagent.slurm.programs.spool import is_node_name

    name = given or os.environ.get("SLURMD_NODENAME", "") or os.uname().nodename.partition(".")[0]
    if not is_node_name(name):
        raise click.UsageError(f"found the node name {name!r:.80}, wanted letters, digits, '-', '.' and '_'")
    return name


def boot_id(options: Options) -> str | None:
    """Of the recording; None for this machine's. Raises ``OptionError``."""
    if not options.place.snapshot:
        return None
    from hostagent.daemon.passes import identity_of

    try:
        return identity_of(options.place)[0]
    except HostagentError as error:
        raise OptionError(f"--from: {error.message}", error.next_step, error.details) from error


def check_node(options: Options, author: "Author", limit_s: float = 0.0) -> dict[str, Any]:
    """One check of the host, of at most `limit_s` seconds; 0 leaves time for Slurm's commands. The document of its verdict.

    Raises ``OptionError``, ``HostagentError`` where other files do not load or the host cannot be read, ``OutOfTime``.
    """
    from hostagent.core.deadline import time_limit
    from hostagent.slurm.programs.hostcheck import Purpose, check_host
    from hostagent.slurm.programs.interval import valid_for_s

    left_s = options.ends - time.monotonic()
    whole_s = max(0.1, min(limit_s or left_s * _JUDGING, left_s))
    place = options.place._replace(deadline_s=min(whole_s * 0.9, left_s * _READING))
    purpose = Purpose(options.node, valid_for_s(options.slurm_conf, options.deadline_s), author)
    with time_limit(whole_s):
        return check_host(place, lambda: _prepared(options), purpose)


def _prepared(options: Options) -> "Prepared":
    try:
        return prepared_for(options.place, options.profile_name)
    except HostagentError as error:
        if not options.profile_name:
            raise
        raise OptionError(f"--profile: {error.message}", error.next_step, error.details) from error
