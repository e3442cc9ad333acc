"""The teller process: it serves HTTP, writes to Kubernetes and to files of others. A thread each, so that none waits for another."""

import contextlib
import os
import pickle
import random
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hostagent.daemon.board import Board
from hostagent.daemon.outlets import features, written
from hostagent.daemon.saying import Saying
from hostagent.daemon.settings import Settings
from hostagent.errors import HostagentError
from hostagent.report.nodewords import NodeWords
from hostagent.source import memory

if TYPE_CHECKING:
    from hostagent.daemon.listening import Listening
    from hostagent.kube.config import Access

_MAX_MESSAGE = 64 * 1024 * 1024
#: Says a sentence on standard error.
Complain = Callable[[str], None]
#: Seconds after which a thread looks again though nothing woke it.
_LOOK_S = 5.0


def serve(line: socket.socket, settings: Settings, access: "Access | None", complain: Complain, http: "Listening | None" = None) -> None:
    """Until the loop closes the line, which takes what `hostagent.daemon.tellers` sends. `access`: as `access_of` found it at the start:
    a kubeconfig that cannot be used for a while costs no teller. `http`: what HTTP is served on.
    """
    memory.share()
    board = Board()
    sinks = _sinks(settings, access, complain)
    threads = [threading.Thread(target=run, args=(board,), daemon=True) for run in sinks]
    if http:
        from hostagent.daemon.http import Page, listen
        from hostagent.daemon.listening import is_loopback

        board.tick(time.monotonic())
        page = Page(settings, board, tells_kubernetes=access is not None, is_loopback=is_loopback(http.line))
        listen(http.line, page, http.certificates)
        if settings.auth_token_file and (problem := page.token()[1]):
            complain(f"Warning: nobody is given the report: {problem}")
    for one in threads:
        one.start()
    for message in _messages(line):
        _take(board, message)
        if isinstance(message, Saying):
            memory.trim()
    board.close()
    if settings.once:  # one delivery: each sink has had its turn
        for one in threads:
            one.join()


def _take(board: Board, message: Any) -> None:
    if isinstance(message, Saying):
        board.say(message, time.monotonic())
    elif message[0] == "waiting":
        board.wait(message[1], time.monotonic())
    else:
        board.tick(time.monotonic())


def _messages(line: socket.socket) -> Any:
    while True:
        head = _exactly(line, 4)
        size = int.from_bytes(head, "little")
        if len(head) < 4 or size > _MAX_MESSAGE:
            return
        data = _exactly(line, size)
        if len(data) < size:
            return
        message = pickle.loads(data)  # noqa: S301  by the loop, over a socket that nobody else has
        del data  # until the next one comes it would be kept beside what is in it
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


def _sinks(settings: Settings, access: "Access | None", complain: Complain) -> list[Callable[[Board], None]]:
    sinks: list[Callable[[Board], None]] = []
    if access:
        client = _client(settings, access)
        sinks.append(lambda board: _kubernetes(board, settings, client, complain))
    if settings.nfd_file:
        sinks.append(lambda board: _file(board, "nfd", settings.nfd_file, lambda said: features(said, settings.prefix), complain))
    if settings.textfile:
        sinks.append(lambda board: _file(board, "textfile", settings.textfile, lambda said: said.metrics, complain))
    return sinks


def _file(board: Board, sink: str, path: str, text_of: Callable[[Saying], str], complain: Complain) -> None:
    """Written after each pass: a file says by its age that somebody is at work."""
    said: Saying | None = None
    before = ""
    while True:
        said, is_new, is_open = board.newest(said, _LOOK_S)
        if is_new and said and not said.is_first:
            problem = written(path, text_of(said))
            if problem not in ("", before):
                complain(f"Warning: {problem}")
            before = problem
            board.delivered(sink, problem, time.time(), time.monotonic())
        if not is_open:
            return


def access_of(settings: Settings) -> "Access | None":
    """None where nobody is to be told: off, or auto without kubeconfig and service account. Raises ``HostagentError``."""
    if settings.kubernetes == "off":
        return None
    from hostagent.kube.config import in_cluster, kubeconfig

    access = kubeconfig(settings.kubeconfig) if settings.kubeconfig else in_cluster(os.environ)
    if access is None and settings.kubernetes == "on":
        raise HostagentError("found no service account of a pod, and no --kubeconfig", "Give --kubeconfig FILE, or --kubernetes off")
    return access


def _client(settings: Settings, access: "Access") -> Any:
    from hostagent import __version__
    from hostagent.kube.client import PatchClient
    from hostagent.kube.config import kubeconfig

    return PatchClient(lambda: kubeconfig(settings.kubeconfig) if settings.kubeconfig else access, f"hostagent/{__version__}")


def _kubernetes(board: Board, settings: Settings, client: Any, complain: Complain) -> None:
    from hostagent.kube.sink import Pace, Sink

    sink: Sink | None = None
    said: Saying | None = None
    words: NodeWords | None = None
    while True:
        left_s = _LOOK_S if sink is None else min(sink.due(time.monotonic()), _LOOK_S)
        said, is_new, is_open = board.newest(said, left_s)
        if not is_open and not settings.once:  # nothing is written at the end
            return
        if is_new and said and said.words != words:
            words = said.words
            sink = sink or Sink(client, said.node, Pace(settings.prefix, settings.heartbeat_s, random.random), time.monotonic())
            sink.offer(words, is_first=not words.annotations)  # as long as no pass was told, whatever the loop has found meanwhile
        if sink and sink.due(time.monotonic()) <= 0:
            before = sink.problem
            problem = sink.write(time.monotonic(), time.time()).problem
            if problem not in ("", before):  # each once: who reads the log of a pod asks no probe
                complain(f"Warning: Kubernetes is not told: {problem}")
            board.delivered("kubernetes", problem, time.time(), time.monotonic())
        if not is_open and not (sink and not sink.written_at and not sink.problem):
            return
