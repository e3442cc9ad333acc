"""Running containers of containerd's clients: each has a shim with the client's namespace on its command line (Docker's is moby).

Sources: containerd 1.6 to 2.1, pkg/shim (``-namespace``), moby, daemon/config (``containerd-namespace``; with a suffix where user
namespaces are remapped). Read 2026-11. A shim lives as long as its container, whether the client runs or not; the containers of a pod
share one.
"""

from collections import Counter
from collections.abc import Iterator

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.process import Host, Process, is_gone

#: As the kernel cuts containerd-shim-runc-v2 and its like.
_COMM = b"containerd-shim"
_NAMES = ("-namespace", "--namespace")


def shims(root: Root) -> Answer:
    """The number of shims by namespace: only those of root, none in a container with its own PID namespace (they are another client's)."""
    host = Host(root)
    found: Counter[str] = Counter()
    try:
        need(host.first)
        for pid in _called_so(host.files):
            try:
                process = Process(host, pid, "containerd-shim")
                if process.is_outside and process.users[:2] == (0, 0):
                    found.update(filter(None, [parse_namespace(process.argv)]))
            except ProcessLookupError:
                continue
    except UnreadError as error:
        return error.unread
    finally:
        host.close()
    return dict(sorted(found.items()))


def _called_so(files: Files) -> Iterator[int]:
    for entry in need(files.list("/proc")):
        if entry.isascii() and entry.isdigit() and len(entry) < 10:
            comm = files.read(f"/proc/{entry}/comm", "64")
            if isinstance(comm, Unread) and not is_gone(files, entry):
                raise UnreadError(comm)
            if isinstance(comm, bytes) and comm.startswith(_COMM):
                yield int(entry)


def parse_namespace(argv: "list[str]") -> str:
    """The namespace in a shim's command line, "" for none.

    >>> parse_namespace(["/usr/bin/containerd-shim-runc-v2", "-namespace", "moby", "-id", "3f", "-address", "/run/x.sock"])
    'moby'
    """
    for number, word in enumerate(argv):
        name, equals, value = str(word).partition("=")
        if name in _NAMES:
            return (value if equals else "".join(argv[number + 1 : number + 2]))[:64]
    return ""
