"""Drops all privileges that a process of ours does not need, before it reads untrusted data.

So an exploit of a parser, by an image's files, a container's network or a network answer, gains little. Each measure works alone; those
that the kernel lacks are missing in the returned `Sandbox`. docs/security.md has the table, "What each part runs as".
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

#: Reads files of an image whatever their mode.
_IMAGE = ("dac_read_search",)
#: Also /proc links of other processes, the kernel log, the whole PCI configuration, namespaces; and what running a program needs: another
#: user, chroot, a kill at its deadline, and where there is no namespace a directory of its own group.
_LIVE = ("chown", "dac_read_search", "kill", "setgid", "setuid", "sys_chroot", "sys_ptrace", "sys_admin", "syslog")
#: The listener of a port is found by /proc links of other processes.
_NETWORK = ("dac_read_search", "sys_ptrace")
#: Bytes of address space, bytes of a file (its answers are in a memfd), descriptors. An unpacked kernel module has 128 MiB.
_MOST_MEMORY, _MOST_FILE, _MOST_FILES = 4096 * MIB, 128 * MIB, 64
#: Files get their final mode at creation: the system call filter refuses chmod.
_UMASK = 0o022
#: Where Python and its libraries are, apart from its own directories.
_LIBRARIES = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache")


def image_reader(root: str) -> Sandbox:
    """For the process that reads the image at `root`: it reads there and imports modules; those of hostagent also where its directory was
    taken off Python's path (`hostagent.__main__`).
    """
    limit({resource.RLIMIT_AS: _MOST_MEMORY, resource.RLIMIT_FSIZE: _MOST_FILE, resource.RLIMIT_NOFILE: _MOST_FILES})
    reads = {root, sys.prefix, sys.base_prefix, *hostagent.__path__, *filter(os.path.isdir, sys.path), *_LIBRARIES}
    return _confine(_IMAGE, ("read-only", "memory"), reads=reads)


def network_worker() -> Sandbox:
    """For the worker of the network lane: it opens sockets and writes nothing."""
    return _confine(_NETWORK, ("read-only", "sockets"))  # Landlock would forbid /proc links of other processes


def fetcher() -> Sandbox:
    """For the process that downloads a file: it connects, reads its settings, and writes nothing."""
    return _confine((), ("read-only", "sockets"), writes=())


def publisher(directories: Iterable[str], *, runs_programs: bool) -> Sandbox:
    """For the process that serves HTTP and writes to Kubernetes: it writes only below `directories`.

    `runs_programs`: the kubeconfig names a credential program, which has caches of its own. Then all directories stay writable.
    """
    os.umask(_UMASK)
    if runs_programs:
        return _confine((), ("sockets", "files", "programs"))
    return _confine((), ("sockets", "files"), writes=directories)


def live_reader() -> None:
    """For a process that reads a live host, and for one that runs programs."""
    forbid_new_privileges()
    keep_only(_LIVE)


def worker() -> None:
    """For a worker, until it knows its device nodes: one may be accessible to root only."""
    forbid_new_privileges()
    keep_only((*_LIVE, "dac_override"))


def _confine(
    capabilities: Collection[str],
    grants: "Collection[Grant]",
    reads: "Iterable[str] | None" = None,
    writes: "Iterable[str] | None" = None,
) -> Sandbox:
    """With `reads`, nothing else is readable and nothing writable; with `writes`, nothing else is writable. openat2(2) is allowed only
    with Landlock: the filter cannot see its flags.
    """
    from hostagent.sandbox import landlock  # lazy: a check of a live host needs neither
    from hostagent.sandbox.seccomp import refuse

    forbid_new_privileges()
    version = landlock.confine(reads, (), ()) if reads is not None else landlock.write_below(writes) if writes is not None else 0
    held = keep_only(capabilities)
    is_filtered = refuse((*grants, *(("openat2",) if version else ())))
    return Sandbox(held, os.geteuid(), "sockets" in grants, is_filtered, version)
