"""The least that each of our own processes needs, given up for good before it reads a byte that somebody else wrote.

What an image's files, a container's network or an answer from the network could make of a parser is then of little use. Each part
holds alone; what the kernel has not is missing in the `Sandbox` that is answered. docs/security.md has the table, "What each part runs as".
"""

import os
import resource
import sys
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import hostagent
from hostagent.core.answers import MIB
from hostagent.sandbox.privileges import Sandbox, forbid_new_privileges, keep_only, limit

if TYPE_CHECKING:
    from hostagent.sandbox.seccomp import Grant

#: Reads whatever its mode is; nothing else. For files of an image.
_IMAGE = ("dac_read_search",)
#: Also links of other processes, the kernel log, the whole PCI configuration, namespaces, and what a program is run by: as another user,
#: behind another root, ended at its deadline, and where there is no namespace in a directory of its own group.
_LIVE = ("chown", "dac_read_search", "kill", "setgid", "setuid", "sys_chroot", "sys_ptrace", "sys_admin", "syslog")
#: Who listens is told by the links of other processes.
_NETWORK = ("dac_read_search", "sys_ptrace")
#: Bytes of addresses that it may have, and of a file in memory, where its answers are; descriptors. A module that is unpacked has 128 MiB.
_MOST_MEMORY, _MOST_FILE, _MOST_FILES = 4096 * MIB, 128 * MIB, 64
#: Files are made with the mode that they have: nothing may change it later.
_UMASK = 0o022
#: Where Python and its libraries are, besides its own directories.
_LIBRARIES = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache")


def image_reader(root: str) -> Sandbox:
    """For the process that reads the image at `root`: it reads there, and loads modules; those of hostagent also where its directory was
    taken off Python's path (`hostagent.__main__`).
    """
    limit({resource.RLIMIT_AS: _MOST_MEMORY, resource.RLIMIT_FSIZE: _MOST_FILE, resource.RLIMIT_NOFILE: _MOST_FILES})
    reads = {root, sys.prefix, sys.base_prefix, *hostagent.__path__, *filter(os.path.isdir, sys.path), *_LIBRARIES}
    return _confined(_IMAGE, ("read-only", "memory"), reads=reads)


def network_worker() -> Sandbox:
    """For the worker that asks the kernel about the network: it opens sockets, and writes nothing."""
    return _confined(_NETWORK, ("read-only", "sockets"))  # in Landlock the links of other processes cannot be read


def fetcher() -> Sandbox:
    """For the process that fetches a file of others: it connects, reads its settings, and writes nothing."""
    return _confined((), ("read-only", "sockets"), writes=())


def publisher(directories: Iterable[str], *, runs_programs: bool) -> Sandbox:
    """For the process that serves HTTP and writes to Kubernetes: it writes below `directories` alone.

    `runs_programs`: one of the kubeconfig, which has caches of its own, shows who we are. Then no directory is closed.
    """
    os.umask(_UMASK)
    if runs_programs:
        return _confined((), ("sockets", "files", "programs"))
    return _confined((), ("sockets", "files"), writes=directories)


def live_reader() -> None:
    """For a process that reads a live host, and for one that runs programs."""
    forbid_new_privileges()
    keep_only(_LIVE)


def worker() -> None:
    """For a worker, until it knows what its driver has: a device node may be root's alone."""
    forbid_new_privileges()
    keep_only((*_LIVE, "dac_override"))


def _confined(
    capabilities: Collection[str],
    grants: "Collection[Grant]",
    reads: "Iterable[str] | None" = None,
    writes: "Iterable[str] | None" = None,
) -> Sandbox:
    """With `reads`, nothing is read elsewhere, and nothing written; with `writes`, nothing is written elsewhere. No path is opened by
    openat2(2) without Landlock: the filter cannot see for what.
    """
    from hostagent.sandbox import landlock  # now: a check of a live host needs neither
    from hostagent.sandbox.seccomp import refuse

    forbid_new_privileges()
    version = landlock.confine(reads, (), ()) if reads is not None else landlock.write_below(writes) if writes is not None else 0
    held = keep_only(capabilities)
    is_filtered = refuse((*grants, *(("openat2",) if version else ())))
    return Sandbox(held, os.geteuid(), "sockets" in grants, is_filtered, version)
