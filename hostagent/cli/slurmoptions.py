"""Options that the programs of Slurm share."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hostagent.cli.options import Seconds, desired, evidence, profile_option, warn
from hostagent.errors import HostagentError
from hostagent.evidence import Evidence

if TYPE_CHECKING:
    from hostagent.app import Prepared
    from hostagent.slurm.judging import Judged
    from hostagent.slurm.verdict import Author

#: The daemon's state directory on the judged host.
RUN = "/run/hostagent"
#: How much of the time a look at the host may take: the rest is for judging it, and for Slurm's commands.
_READING, _JUDGING = 0.5, 0.8
#: No ``Path(exists=True)``: what does not exist is a usage error when it is read, too.
_PATH = click.Path()
_NODE = click.option("--node", default="", help="Node of Slurm. Default: $SLURMD_NODENAME, else the short host name.", metavar="NAME")
_OPTIONS = (
    click.option("--state-dir", default="", type=_PATH, help=f"The daemon's. Default: {RUN} of the judged host.", metavar="DIR"),
    profile_option("Built-in profile, or a file. Default: the site file's, else 'default'."),
    click.option("--host-root", default=None, type=_PATH, help="A live host whose / is mounted at DIR.", metavar="DIR"),
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


class Asked(NamedTuple):
    """The options of one run. ``ends``: on the monotonic clock."""

    node: str
    state_dir: str
    profile_name: str
    place: Evidence
    slurm_conf: str
    bin_dir: str
    deadline_s: float
    ends: float
    is_dry: bool


class OwnFaultError(HostagentError):
    """Files of the site or of the installation do not load: a fault that is not the node's."""


def slurm_options(command: Callable[..., Any], node: Callable[..., Any] = _NODE) -> Callable[..., Any]:
    """The command gets them as keywords for `asked`. `node`: the option of that name."""
    for option in reversed((node, *_OPTIONS)):
        command = option(command)
    return command


def asked(
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
) -> Asked:
    """Raises ``click.UsageError``."""
    place = evidence(host_root=host_root, root=None, kernel="", snapshot=snapshot, deadline_s=deadline)
    if place.snapshot and not state_dir:
        raise click.UsageError("found --from without --state-dir, wanted both: a recording has no state directory on this machine")
    folder = os.path.abspath(state_dir or f"{place.host_root}{RUN}")
    return Asked(
        node_name(node), folder, profile_name, place, slurm_conf, bin_dir, deadline, ends=time.monotonic() + deadline, is_dry=dry_run
    )


def node_name(given: str) -> str:
    """Raises ``click.UsageError``."""
    from hostagent.slurm.spool import is_node_name, short_host_name

    name = given or os.environ.get("SLURMD_NODENAME", "") or short_host_name()
    if not is_node_name(name):
        raise click.UsageError(f"found the node name {name!r:.80}, wanted letters, digits, '-', '.' and '_'")
    return name


def boot_id(options: Asked) -> str | None:
    """Of the recording; None for this machine's. Raises ``click.UsageError`` for a --from that does not load."""
    if not options.place.snapshot:
        return None
    from hostagent.daemon.passes import who

    try:
        return who(options.place)[0]
    except HostagentError as error:
        raise click.UsageError(f"--from: {error}") from error


def examined(options: Asked, author: "Author", valid_for_s: float, limit_s: float = 0.0) -> "Judged":
    """One check of the host, of at most `limit_s` seconds; 0 leaves time for Slurm's commands.

    Raises ``click.UsageError`` for a --profile or --from that does not load, ``OwnFaultError`` for files of the site or of hostagent that
    do not, ``HostagentError`` where the host cannot be read, ``OutOfTime``.
    """
    from hostagent.deadline import time_limit
    from hostagent.slurm.judging import Times, judged

    left_s = options.ends - time.monotonic()
    whole_s = max(0.1, min(limit_s or left_s * _JUDGING, left_s))
    place = options.place._replace(deadline_s=min(whole_s * 0.9, left_s * _READING))
    try:
        with time_limit(whole_s):
            return judged(place, lambda: _prepared(options), Times(options.node, valid_for_s, author))
    except OwnFaultError:
        raise
    except HostagentError as error:
        if place.snapshot:
            raise click.UsageError(f"--from: {error}") from error
        raise


def _prepared(options: Asked) -> "Prepared":
    from hostagent import app, profile
    from hostagent.profiles.mistakes import ProfileError

    name, is_named = options.profile_name, bool(options.profile_name)
    try:
        loaded = desired(name, site_file="" if options.place.snapshot else profile.SITE_FILE)
    except HostagentError as error:
        raise click.UsageError(f"--profile: {error}") if is_named else _own(error) from error
    try:
        prepared = app.prepare(loaded)
    except HostagentError as error:
        is_its = is_named and isinstance(error, ProfileError)
        raise click.UsageError(f"--profile: {error}") if is_its else _own(error) from error
    warn(prepared.loaded.warnings)
    return prepared


def _own(error: HostagentError) -> OwnFaultError:
    return OwnFaultError(error.message, error.next_step, error.details)
