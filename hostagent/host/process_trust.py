"""Decides whether a process really is the system daemon of its name. No I/O.

Any user, and any pod, may run a program called containerd. They cannot choose their cgroup, which systemd or a container runtime sets,
nor their pid namespace, and cannot run as root of the host.
"""

# The cgroup is anchored at that of process 1, because a kind node has a systemd with the same names; of two hierarchies the older
# counts, because containers may stay in their runtime's group in the newer. chronyd and the persistence daemon have user ids of
# their own. Talos runs its kubelet in a container, so that process is not trusted.

import re
from collections.abc import Collection
from typing import Literal, Protocol

from hostagent.core.unread import Unread, UnreadError, need

#: A group that contains the reader's own container: the kernel hides its name.
_HIDDEN = "?"
_INSTANCE = re.compile(r"@[^/]*(?=\.service\Z)")


class Evidence(Protocol):
    """Properties of a process, read lazily in the order of `trusted_service`."""

    @property
    def service(self) -> "str | Unread":
        """The result of `service_of`."""

    @property
    def may_be_of_driver_container(self) -> "bool | Unread":
        """Whether there is a driver container, and it starts daemons of this name."""

    @property
    def is_outside(self) -> "bool | Unread":
        """Whether it is in no pid namespace of a container: it has only one process id."""

    @property
    def is_root(self) -> "bool | Unread":
        """Whether its real, effective, saved and file system user are root."""

    @property
    def root(self) -> "Literal['host', 'driver', ''] | Unread":
        """Its root directory: the host's, the driver container's, or another."""

    @property
    def has_own_program(self) -> "bool | Unread":
        """Whether it runs a program of its own name that only root may change."""


def trusted_service(seen: Evidence, services: Collection[str], *, has_systemd: bool) -> "str | Unread | None":
    """The service of a trusted daemon, "" for one without a service, None for an untrusted process; unread if unknown.

    `services`: those that start the daemon of this name.
    """
    try:
        service = need(seen.service) if has_systemd else ""
        if _INSTANCE.sub("@", service) in services:
            return service if need(seen.is_outside) else None
        # In another service, or without systemd, only root's own programs count: a service may run programs of users.
        may_be_roots = not has_systemd or service != ""
        in_container = need(seen.may_be_of_driver_container)
        if not (may_be_roots or in_container) or not (need(seen.is_outside) and need(seen.is_root)):
            return None
        root = need(seen.root)
        if root == "driver" and in_container:
            return ""
        return service if root == "host" and may_be_roots and need(seen.has_own_program) else None
    except UnreadError as error:
        return error.unread


def service_of(cgroup: str, of_first: str) -> "str | Unread":
    """The service of the system's manager that contains a process by its cgroup, "" for none.

    Both are /proc/<pid>/cgroup (cgroups(7)), of the process and of process 1. A container may have a systemd of its own, and then its
    services have the same names: what counts is their place below that of process 1.

    >>> service_of("0::/runtime.slice/containerd.service/init", "0::/init.scope")
    'containerd.service'
    >>> service_of("0::/system.slice/docker-1f.scope/system.slice/containerd.service", "0::/init.scope")
    ''
    >>> service_of("0::/../../../system.slice/containerd.service", "0::/../../../init.scope")  # from a container
    'containerd.service'
    """
    hierarchy, first = _systemds(of_first)
    path = _paths(cgroup).get(hierarchy, "")
    if not first or not path:
        return Unread("error", "no cgroup in the hierarchy of systemd")
    place = _below(path, first.removesuffix("/init.scope"))
    slices = place[1:] if place[:1] == (_HIDDEN,) else place
    unit = next((part for part in slices if not part.endswith(".slice")), "")
    # user@1000.service is a user's own manager
    return unit if unit.endswith(".service") and not unit.startswith("user@") else ""


def _below(path: str, base: str) -> "tuple[str, ...]":
    """The groups from `base` to `path`; () if it is elsewhere.

    Read in a container, outside paths begin with ``..``, once per level of its own group. With fewer ``..`` than in `base` the groups
    between are hidden. One hidden group is accepted: its parent is the root group, where only root creates groups.
    """
    ups, parts = _split(path)
    base_ups, base_parts = _split(base)
    hidden = base_ups - ups
    if hidden and (base_parts or hidden != 1 or not ups):
        return ()
    return (_HIDDEN,) * hidden + parts[len(base_parts) :] if parts[: len(base_parts)] == base_parts else ()


def _split(path: str) -> "tuple[int, tuple[str, ...]]":
    """How often a path goes up, and the rest of it.

    >>> _split("/../../a/b"), _split("/")
    ((2, ('a', 'b')), (0, ()))
    """
    parts = tuple(part for part in path.split("/") if part)
    ups = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    return ups, parts[ups:]


def _paths(text: str) -> dict[str, str]:
    """By hierarchy: ``name=systemd`` is systemd's of version 1, "" the one of version 2."""
    rows = (line.split(":", 2) for line in text.split("\n"))  # not splitlines: a group's name may contain other line separators
    return {row[1]: row[2] for row in rows if len(row) == 3}


def _systemds(text: str) -> "tuple[str, str]":
    """The hierarchy in which systemd keeps its units, and the path in it. Of two, container runtimes use the older one alone."""
    paths = _paths(text)
    return next(((name, paths[name]) for name in ("name=systemd", "") if name in paths), ("", ""))


def parse_status(text: str) -> "tuple[tuple[int, ...], int]":
    r"""The four user ids of /proc/<pid>/status (proc_pid_status(5)), and how many process ids it has; none and 0 where a line is missing.

    >>> parse_status("Name:\tx\nUid:\t0\t0\t0\t0\nNSpid:\t812\t1\n")
    ((0, 0, 0, 0), 2)
    """
    rows = dict(line.split(":", 1) for line in text.split("\n") if ":" in line)
    users, ids = (rows.get(name, "").split() for name in ("Uid", "NSpid"))
    return tuple(int(one) for one in users if one.isascii() and one.isdigit()), len(ids)
