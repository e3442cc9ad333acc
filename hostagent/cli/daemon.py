"""``hostagent daemon``."""

import signal
import time
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hostagent.cli import SETTINGS, Group, examples
from hostagent.cli.clusteroptions import checked_prefix
from hostagent.cli.ending import Ended
from hostagent.cli.options import Seconds, evidence, prepared_for, profile_option
from hostagent.cli.streams import complain, put
from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import reason
from hostagent.daemon.settings import KEPT, RUN

if TYPE_CHECKING:
    from hostagent.daemon.loop import Load, Loop, Publisher, Wake
    from hostagent.daemon.notify import Notify
    from hostagent.daemon.publisher_process import PublisherProcess
    from hostagent.daemon.settings import Settings
    from hostagent.engine.pipeline import Prepared
    from hostagent.outputs.log import Log

_LISTEN = "127.0.0.1:9476"
#: Seconds between two checks whether the other daemon of this state directory has ended; and for the publisher to end.
_WAIT_S, _CLOSE_S, _ONCE_S = 1.0, 0.5, 15.0
_EXAMPLES = examples(
    "hostagent daemon --from host.json --state-dir state --once",
    "hostagent daemon --from host.json --state-dir state --once --dry-run",
)


class _Daemon(Group):
    """The daemon itself, and the command that prints its history."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["history"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != "history":
            return None
        from hostagent.cli.daemonhistory import command as history

        return history


@click.group("daemon", cls=_Daemon, invoke_without_command=True, context_settings=SETTINGS, epilog=_EXAMPLES)
@click.option("--host-root", default=None, type=click.Path(), help="A live host whose / is mounted at DIR.", metavar="DIR")
@click.option(
    "--from",
    "snapshot",
    default=None,
    type=click.Path(),
    help="A recorded host (a simulation), read again when it changes.",
    metavar="FILE",
)
@profile_option("Built-in profile, or a file. Default: the site file's, else 'default'.")
@click.option("--deadline", default=30.0, show_default=True, type=Seconds(1, 300), help="Seconds for reading, per pass.", metavar="S")
@click.option("--node-name", default="", help="What schedulers call this host. Default: $NODE_NAME, else the host name.", metavar="N")
@click.option("--interval", default=60.0, show_default=True, type=Seconds(5, 3600), help="Seconds between passes.", metavar="S")
@click.option(
    "--heartbeat", default=300.0, show_default=True, type=Seconds(30, 3600), help="Seconds between full writes to Kubernetes.", metavar="S"
)
@click.option("--state-dir", default="", type=click.Path(), help=f"Where its files are. Default: {RUN} of the judged host.", metavar="DIR")
@click.option("--listen", default=_LISTEN, show_default=True, help="Serve HTTP at this address; '' is off.", metavar="ADDRESS:PORT")
@click.option("--tls-cert", default="", type=click.Path(), help="Serve HTTPS with this certificate.", metavar="FILE")
@click.option("--tls-key", default="", type=click.Path(), help="The key of that certificate.", metavar="FILE")
@click.option(
    "--auth-token-file", default="", type=click.Path(), help="File with the token that requests of /v1/report must send.", metavar="FILE"
)
@click.option(
    "--kubernetes",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="Write the node's conditions. auto: in a pod, which then needs a token, or with --kubeconfig.",
)
@click.option(
    "--kubeconfig",
    default="",
    type=click.Path(),
    help="The cluster to write to. Default: the pod's own, as its service account.",
    metavar="FILE",
)
@click.option(
    "--prefix",
    default="hostagent.dev",
    show_default=True,
    callback=checked_prefix,
    help="Prefix of conditions, labels and annotations.",
    metavar="DOMAIN",
)
@click.option("--label-valid-until", is_flag=True, help="Also label until when the verdict holds, in half hours.")
@click.option(
    "--nfd-file", default="", type=click.Path(), help="Write the labels into FILE too, for node feature discovery.", metavar="FILE"
)
@click.option(
    "--textfile",
    default="",
    type=click.Path(),
    help="Write metrics into FILE too, for the node exporter: its name ends with .prom.",
    metavar="FILE",
)
@click.option(
    "--kubernetes-events", is_flag=True, help="Also create an Event about the node for each transition; an overlay has the RBAC rule."
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Lines on standard error: key=value, or JSON.",
)
@click.option(
    "--history-dir",
    default="",
    type=click.Path(),
    help=f"Where transitions are kept over boots. Default: {KEPT} of the judged host; with --state-dir, there.",
    metavar="DIR",
)
@click.option("--once", is_flag=True, help="One pass, one delivery; exit as 'hostagent check'.")
@click.option("--dry-run", is_flag=True, help="One pass: print what would be published, and write nothing.")
@click.option("--print-unit", is_flag=True, help="Print the systemd unit that runs this copy with these options, and exit.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    host_root: str | None,
    snapshot: str | None,
    profile_name: str,
    deadline: float,
    *,
    print_unit: bool,
    **given: Any,
) -> int:
    """Run as a service: monitor the host and publish its readiness.

    It checks the host at an interval and after each event, writes the state directory, serves HTTP, and writes the node's conditions to
    Kubernetes. SIGTERM ends it: exit 0. With --once it exits as 'hostagent check'. 2: usage, or hostagent could not run.
    """
    if ctx.invoked_subcommand:
        named = [name for name in ctx.params if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE]
        if named:
            raise click.UsageError(f"found options of the daemon before '{ctx.invoked_subcommand}', wanted its own behind it")
        return 0
    from hostagent.cli.daemonsettings import settings_of

    place = evidence(host_root=host_root, root=None, kernel="", snapshot=snapshot, deadline_s=deadline)
    settings = settings_of(place, profile_name, **given)
    if print_unit:
        from hostagent.cli.daemonunit import print_unit as print_it

        return print_it(ctx, settings)
    try:
        return _run(settings)
    except Ended:
        return 0
    except KeyboardInterrupt:
        return 0


def _run(settings: "Settings") -> int:
    from hostagent.daemon.notify import Notify
    from hostagent.daemon.publisher import access_of, serve
    from hostagent.daemon.publisher_process import PublisherProcess
    from hostagent.http.listening import listening
    from hostagent.outputs.log import Log

    if settings.dry_run:
        from hostagent.daemon.dry_run import DryRun

        loop, wake = _loop(settings, DryRun(settings, put), Log(settings.log_format, complain, once=True), Reload())
        return _once(loop, wake)
    notify = Notify.of_environment()
    access = access_of(settings)  # a mistake in it is reported now
    if settings.kubernetes_events and access is None:
        raise HostagentError("found --kubernetes-events, and no cluster that is written to", "Give --kubeconfig FILE, or leave it away")
    log = Log(settings.log_format, complain, once=settings.once)
    settings = _with_history(settings, log)
    is_served = bool(settings.listen) and not settings.once
    http = listening(settings.listen, settings.tls_cert, settings.tls_key) if is_served else None
    publisher = PublisherProcess(lambda line: serve(line, settings, access, log, http), (2, *((http.line.fileno(),) if http else ())))
    try:
        _alone(settings.state_dir, publisher, notify, once=settings.once)
        publisher.look(time.monotonic())  # started before the modules of the loop are loaded, which would take memory in each process
        reload = Reload()
        loop, wake = _loop(settings, publisher, log, reload)
        if settings.once:
            code = _once(loop, wake)
            publisher.drain()
            return code
        signal.signal(signal.SIGHUP, lambda *_: reload.ask(wake))
        loop.begin()
        loop.forever(wake, notify)
    except (Ended, KeyboardInterrupt) as ended:
        log.event("stop", signal=signal.Signals(getattr(ended, "number", signal.SIGINT)).name)
        raise
    finally:
        notify.stopping()
        publisher.close(_ONCE_S if settings.once else _CLOSE_S)
    return 0


def _with_history(settings: "Settings", log: "Log") -> "Settings":
    """Keeps the history in the state directory where its own is read-only, as the host's files may be in a pod."""
    from dataclasses import replace

    from hostagent.daemon import statedir

    if statedir.is_writable(settings.history_dir):
        return settings
    log.problem(f"{settings.history_dir} cannot be written: transitions are kept in {settings.state_dir}, and may be lost with a boot")
    return replace(settings, history_dir=settings.state_dir)


class Reload:
    """Whether SIGHUP asked to read the profile again, changed or not; and why the last load failed."""

    def __init__(self) -> None:
        self.is_asked = False
        self.problem = ""

    def ask(self, wake: "Wake") -> None:
        self.is_asked = True
        wake.add_event("configuration")


def _loop(settings: "Settings", publisher: "Publisher", log: "Log", reload: Reload) -> "tuple[Loop, Wake]":
    """Raises ``HostagentError``."""
    from hostagent.daemon.events import Events
    from hostagent.daemon.loop import Loop

    wake = Events(settings.evidence, settings.interval_s)
    return Loop(settings, lambda before: _load(settings, before, reload, log), publisher, log), wake


def _once(loop: "Loop", wake: "Wake") -> int:
    from hostagent.engine.report.exit_code import Asked

    report = loop.once(wake)
    return 0 if Asked("single_node", "not-ready").succeeds(report) else 1


def _alone(folder: str, publisher: "PublisherProcess", notify: "Notify", *, once: bool) -> int:
    """Takes the lock of the state directory and waits for it; a single pass does not wait. Raises ``HostagentError``."""
    from hostagent.engine.report import daemon_lock, state

    why = f"another daemon keeps {folder}"
    try:
        state.make(folder)
        while (lock := daemon_lock.take(folder)) is None:
            if once:
                raise HostagentError(f"found another daemon at work in {folder}", "Stop it, or give another --state-dir")
            publisher.publish(("waiting", why), time.monotonic())
            notify.waiting(f"waiting: {why}")
            time.sleep(_WAIT_S)
    except OSError as error:
        raise HostagentError(
            f"the state directory {folder} cannot be used: {reason(error)}", "Give another one with --state-dir"
        ) from error
    return lock


def _load(settings: "Settings", before: "Prepared | None", reload: Reload, log: "Log") -> "Load":
    """The profile, or the one in force where a changed file does not load. Raises ``HostagentError`` at the start."""
    from hostagent.daemon.loop import Load
    from hostagent.profiles import files

    if before and not (reload.is_asked or reload.problem) and not files.changes(before.loaded.files):
        return Load(before, "")
    reload.is_asked = False
    try:
        fresh = prepared_for(settings.evidence, settings.profile_name)
        if before:
            log.event("reload", profile=fresh.loaded.title, hash=fresh.loaded.digest)
        reload.problem = ""
        return Load(fresh, "")
    except HostagentError as error:
        if before is None:
            raise
        reload.problem = f"the profile does not load, and the one before it stays in force: {error.message}"
        return Load(before, reload.problem)
