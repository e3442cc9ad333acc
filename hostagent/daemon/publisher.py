"""The publisher process: serves HTTP, writes to Kubernetes and to files for other programs, each in a thread of its own."""

import contextlib
import os
import pickle
import random
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hostagent.core.errors import HostagentError
from hostagent.core.secret.in_use import InUse
from hostagent.daemon.file_outputs import features, write_file
from hostagent.daemon.message import Message
from hostagent.daemon.metrics import of_node
from hostagent.daemon.settings import Settings
from hostagent.daemon.shared_state import SharedState
from hostagent.outputs.log import Log
from hostagent.sandbox import memory

if TYPE_CHECKING:
    from hostagent.http.listening import Listening
    from hostagent.kube.config import Access

_MAX_MESSAGE = 64 * 1024 * 1024
#: Seconds for which an Event is of use: the API server forgets them after so long.
_EVENT_S = 3600.0
#: Seconds after which a thread checks again without notification.
_LOOK_S = 5.0


def serve(line: socket.socket, settings: Settings, access: "Access | None", log: Log, http: "Listening | None" = None) -> None:
    """Run until the loop closes `line`, which carries what `publisher_process` sends. `access`: as `access_of` read it at the start: a
    kubeconfig that cannot be used for a while ends no publisher. `http`: the listening socket.
    """
    memory.share()
    _give_up_rights(settings, access, log)
    secrets = InUse()
    log = log.through(secrets.without)
    shared = SharedState(settings.stale_after_s, secrets.without)
    sinks = [*_sinks(settings, access, log, secrets), *(() if settings.once else (lambda shared: _watch(shared, settings, log),))]
    threads = [threading.Thread(target=run, args=(shared,), daemon=True) for run in sinks]
    if http:
        from hostagent.daemon.page import Page
        from hostagent.http.listening import is_loopback
        from hostagent.http.server import listen

        shared.tick(time.monotonic())
        page = Page(settings, shared, publishes_to_kubernetes=access is not None, is_loopback=is_loopback(http.line))
        listen(http.line, page, http.certificates)
        if settings.auth_token_file and (problem := page.token()[1]):
            log.problem(f"nobody is given the report: {problem}")
    for one in threads:
        one.start()
    for message in _messages(line):
        _take(shared, message)
        if isinstance(message, Message):
            memory.trim()
    shared.close()
    if settings.once:  # one delivery: each sink has had its turn
        for one in threads:
            one.join()


def _give_up_rights(settings: Settings, access: "Access | None", log: Log) -> None:
    """All but what the sinks and HTTP need, before a byte comes from the network."""
    from hostagent.sandbox.least_privileges import publisher

    files = [os.path.dirname(path) for path in (settings.textfile, settings.nfd_file) if path]
    sandbox = publisher({settings.state_dir, settings.record_dir, *files}, runs_programs=bool(access and access.program))
    if sandbox.capabilities or not sandbox.system_calls:
        log.problem("the process that publishes keeps rights that it does not need: this kernel, or a filter, lets it give up no more")


def _take(shared: SharedState, message: Any) -> None:
    if isinstance(message, Message):
        shared.publish(message, time.monotonic())
    elif message[0] == "waiting":
        shared.wait(message[1], time.monotonic())
    else:
        shared.tick(time.monotonic())


def _messages(line: socket.socket) -> Any:
    while True:
        head = _exactly(line, 4)
        size = int.from_bytes(head, "little")
        if len(head) < 4 or size > _MAX_MESSAGE:
            return
        data = _exactly(line, size)
        if len(data) < size:
            return
        message = pickle.loads(data)  # noqa: S301  from the loop, over a private socket pair
        del data  # else it would be kept until the next message
        yield message


def _exactly(line: socket.socket, size: int) -> bytearray:
    found = bytearray()
    while len(found) < size:
        piece = b""
        with contextlib.suppress(ConnectionError):
            piece = line.recv(min(size - len(found), 1024 * 1024))
        if not piece:
            break
        found += piece
    return found


def _sinks(settings: Settings, access: "Access | None", log: Log, secrets: InUse) -> list[Callable[[SharedState], None]]:
    sinks: list[Callable[[SharedState], None]] = []
    if access:
        client = _client(settings, access, secrets)
        sinks.append(lambda shared: _kubernetes(shared, settings, client, log))
        if settings.kubernetes_events:
            sinks.append(lambda shared: _events(shared, settings, _client(settings, access, secrets), log))
    if settings.nfd_file:
        sinks.append(lambda shared: _file(shared, "nfd", settings.nfd_file, lambda message: features(message, settings.prefix), log))
    if settings.textfile:
        sinks.append(lambda shared: _file(shared, "textfile", settings.textfile, of_node, log))
    return sinks


def _watch(shared: SharedState, settings: Settings, log: Log) -> None:
    """Until the end: when no pass is judged for too long, publish and write unknown."""
    from hostagent.daemon.staleness import write  # now: the disk may be what hangs then

    message: Message | None = None
    is_open = True
    last: float | None = None  # the last pass before the silence that was handled
    while is_open:
        message, _, is_open = shared.newest(message, _LOOK_S)
        wall = time.time()
        stale_message = shared.stale(time.monotonic(), wall)
        if stale_message is None or stale_message.judged_by == last:
            continue
        last = stale_message.judged_by
        log.problem(f"no pass was judged for {settings.stale_after_s:g} s: everything that is published is unknown until one is")
        try:
            news, problems = write(settings, stale_message, wall)
        except Exception as error:  # whatever is wrong with a file, this thread is what finds the next silence
            news, problems = (), (f"the files of {settings.state_dir} do not say so: {type(error).__name__}: {error}",)
        shared.add_transitions(stale_message, news)
        for one in news:
            log.turned(one)
        for problem in problems:
            log.problem(problem)


def _events(shared: SharedState, settings: Settings, client: Any, log: Log) -> None:
    """A core/v1 Event for each transition, in their order."""
    from hostagent.kube.nodestatus import event
    from hostagent.kube.pacing import pause

    message: Message | None = None
    done: set[tuple[int, float]] = set()
    failures, problem, again_at = 0, "", 0.0
    while True:
        message, _, is_open = shared.newest(message, _LOOK_S)
        oldest = time.time() - _EVENT_S
        news = {(one.number, one.at): one for one in message.news if one.at > oldest} if message else {}
        done &= news.keys()
        waiting = [one for key, one in news.items() if key not in done]
        while message and waiting and time.monotonic() >= again_at:
            reply = client.create_event(event(waiting[0], message.node, settings.prefix))
            before, problem = problem, reply.problem
            shared.delivered("kubernetes-events", problem, time.time(), time.monotonic())
            if problem not in ("", before):
                log.problem(f"Kubernetes takes no Event: {problem}")
            if problem and not reply.is_refused:
                failures += 1
                again_at = time.monotonic() + pause(failures, random.random(), is_waiting=True)  # noqa: S311  spread over a fleet
                break
            one, failures = waiting.pop(0), 0
            done.add((one.number, one.at))
        if not is_open:
            return


def _file(shared: SharedState, sink: str, path: str, text_of: Callable[[Message], str], log: Log) -> None:
    """Write the file after each pass: its age shows that the daemon works."""
    message: Message | None = None
    before, folder = "", os.path.dirname(path)
    opened = _directory(folder)
    while True:
        message, is_new, is_open = shared.newest(message, _LOOK_S)
        if is_new and message and (message.has_pass or message.is_stale):
            problem = write_file(path, text_of(message))
            if problem and _directory(folder) not in (None, opened):
                log.problem(f"{folder} is another directory than at the start: the process that publishes begins anew, to write there")
                os._exit(0)
            if problem not in ("", before):
                log.problem(problem)
            before = problem
            shared.delivered(sink, problem, time.time(), time.monotonic())
        if not is_open:
            return


def _directory(path: str) -> "tuple[int, int] | None":
    """Device and inode; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def access_of(settings: Settings) -> "Access | None":
    """None where Kubernetes is not written to: off, or auto without kubeconfig and service account. Raises ``HostagentError``."""
    if settings.kubernetes == "off":
        return None
    from hostagent.kube.config import ACCOUNT, in_cluster, kubeconfig

    access = kubeconfig(settings.kubeconfig) if settings.kubeconfig else in_cluster(os.environ)
    if access is None and os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise HostagentError(
            f"found no token of a service account in {ACCOUNT}, wanted one: without it this pod cannot publish the conditions of its node",
            "Mount the token, give --kubeconfig FILE, or say with --kubernetes off that the cluster is not written to",
        )
    if access is None and settings.kubernetes == "on":
        raise HostagentError("found no service account of a pod, and no --kubeconfig", "Give --kubeconfig FILE, or --kubernetes off")
    return access


def _client(settings: Settings, access: "Access", secrets: InUse) -> Any:
    from hostagent import __version__
    from hostagent.kube.client import PatchClient
    from hostagent.kube.config import kubeconfig

    return PatchClient(lambda: kubeconfig(settings.kubeconfig) if settings.kubeconfig else access, f"hostagent/{__version__}", secrets)


def _kubernetes(shared: SharedState, settings: Settings, client: Any, log: Log) -> None:
    from hostagent.kube.sink import Pace, Sink

    sink: Sink | None = None
    message: Message | None = None
    while True:
        left_s = _LOOK_S if sink is None else min(sink.due(time.monotonic()), _LOOK_S)
        message, is_new, is_open = shared.newest(message, left_s)
        if not is_open and not settings.once:  # nothing is written at the end
            return
        if is_new and message and (message.is_stale or not message.is_kept):
            sink = sink or Sink(client, message.node, Pace(settings.prefix, settings.heartbeat_s, random.random), time.monotonic())
            sink.offer(message.words, message.observed_at, is_last=message.is_stale)
        if sink and sink.due(time.monotonic()) <= 0:
            before = sink.problem
            problem = sink.write(time.monotonic(), time.time()).problem
            if problem not in ("", before):  # each once, for readers of the pod's log
                log.problem(f"Kubernetes is not written to: {problem}")
            shared.delivered("kubernetes", problem, time.time(), time.monotonic())
        if not is_open and not (sink and not sink.written_at and not sink.problem):
            return
