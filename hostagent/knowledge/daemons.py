"""Daemons that matter to a GPU host: their names in the process list, their systemd units, and what each is for.

Sources: the unit files of each project's own packages (containerd, Docker, CRI-O, Kubernetes, K3s, RKE2, Slurm, NVIDIA's driver, Fabric
Manager, IMEX, DCGM and Container Toolkit, chrony, ntpsec, systemd, linuxptp, open-vm-tools, VirtualBox). State of 2026-11.
"""

from typing import Literal, NamedTuple

#: What a daemon is for. kubelet: one, or a program that contains one; supervisor: starts a kubelet and a runtime as processes
#: of their own; packages: package managers, and what runs them unasked.
Kind = Literal["nvidia", "runtime", "kubelet", "supervisor", "slurm", "time", "packages"]


class Daemon(NamedTuple):
    """``process`` in full ("" for a unit that leaves no process); ``units`` without ``.service``."""

    kind: Kind
    process: str
    units: tuple[str, ...] = ()


DAEMONS = (
    Daemon("nvidia", "nvidia-persistenced", ("nvidia-persistenced",)),
    Daemon("nvidia", "nv-fabricmanager", ("nvidia-fabricmanager",)),
    Daemon("nvidia", "nvidia-imex", ("nvidia-imex",)),
    Daemon("nvidia", "", ("nvidia-cdi-refresh", "nvidia-cdi-refresh.path")),
    Daemon("nvidia", "nvlsm"),
    Daemon("nvidia", "nv-hostengine"),
    Daemon("runtime", "containerd", ("containerd",)),
    Daemon("runtime", "dockerd", ("docker",)),
    Daemon("runtime", "crio", ("crio",)),
    Daemon("kubelet", "kubelet", ("kubelet",)),
    Daemon("kubelet", "k3s-server", ("k3s",)),
    Daemon("kubelet", "k3s-agent", ("k3s-agent",)),
    Daemon("kubelet", "k3s", ("k3s", "k3s-agent")),
    Daemon("supervisor", "rke2", ("rke2-server", "rke2-agent")),
    Daemon("supervisor", "microk8s"),
    Daemon("supervisor", "k0s"),
    Daemon("slurm", "slurmd"),
    *(Daemon("time", name) for name in ("chronyd", "ntpd", "ntpsec", "systemd-timesyncd", "openntpd", "ptp4l", "phc2sys")),
    *(Daemon("time", name) for name in ("vmtoolsd", "VBoxService")),  # a guest's clock, set by its hypervisor
    *(Daemon("packages", name) for name in ("apt-get", "apt", "dpkg", "unattended-upgr", "dnf", "yum", "zypper", "packagekitd")),
)


def processes(*kinds: Kind) -> tuple[str, ...]:
    """Names in the process list of the daemons of these kinds, in the order of the table; without a kind, of all.

    >>> processes("runtime", "slurm")
    ('containerd', 'dockerd', 'crio', 'slurmd')
    """
    return tuple(one.process for one in DAEMONS if one.process and (not kinds or one.kind in kinds))


def units(*kinds: Kind) -> dict[str, tuple[str, ...]]:
    """The units of the daemons of these kinds, in the order of the table, each with the processes that it may start.

    >>> units("runtime")
    {'containerd': ('containerd',), 'docker': ('dockerd',), 'crio': ('crio',)}
    """
    chosen = [one for one in DAEMONS if not kinds or one.kind in kinds]
    names = dict.fromkeys(unit for one in chosen for unit in one.units)
    return {name: tuple(one.process for one in chosen if name in one.units and one.process) for name in names}
