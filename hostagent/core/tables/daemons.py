"""Daemons that matter to a GPU host: their names in the process list, their systemd units, and what each is for.

Sources: the unit files of each project's own packages (containerd, Docker, CRI-O, Kubernetes, K3s, RKE2, k0s, MicroShift, Slurm, MUNGE,
NVIDIA's driver, Fabric Manager, IMEX, DCGM and Container Toolkit, chrony, ntpsec, systemd, linuxptp, open-vm-tools, VirtualBox);
Bottlerocket's units; the snaps of Docker, kubelet-eks, MicroK8s and Canonical Kubernetes; gpu-operator, state-driver/0500_daemonset.yaml
(hostPID), and gpu-driver-container, nvidia-driver (what it starts, as root). State of 2026-11.
"""

from typing import Literal, NamedTuple

#: What a daemon is for. kubelet: one, or a program that contains one; supervisor: starts a kubelet and a runtime as processes of their
#: own; slurm-auth: what slurmd authenticates by; socket: a unit that starts a daemon on the first connection; packages: package managers,
#: and services that run them. The GPU Operator's driver container also starts those of kind nvidia: as root, in its own root directory and
#: cgroup, and with the host's process ids (hostPID).
Kind = Literal["nvidia", "runtime", "kubelet", "supervisor", "slurm", "slurm-auth", "time", "socket", "packages"]


class Daemon(NamedTuple):
    """``process`` in full ("" for a unit that leaves no process, or that is seen by its cgroup); ``units`` without ``.service``.

    ``lives_in``: other services that start it; ``ptp4l@`` is each instance of that template.
    """

    kind: Kind
    process: str
    units: tuple[str, ...] = ()
    lives_in: tuple[str, ...] = ()


_RKE2 = ("rke2-server", "rke2-agent")
_K0S = ("k0scontroller", "k0sworker")
DOCKER_PROCESS = "dockerd"
#: Docker's snap, which cannot run programs of the host.
DOCKER_SNAP = "snap.docker.dockerd"
_CONTAINERD_IN = ("docker", DOCKER_SNAP, "k3s", "k3s-agent", *_RKE2, *_K0S, "snap.k8s.containerd", "host-containerd")
_MICROK8S = "snap.microk8s.daemon-kubelite"
_KUBELET_UNITS = ("kubelet", "snap.kubelet-eks.daemon", "snap.kubelet.daemon", "snap.k8s.kubelet")
_KUBELET_IN = (*_RKE2, *_K0S, "snap.microk8s.daemon-kubelet")

#: They create MIG slices at boot (NVIDIA/mig-parted, deployments/systemd; Azure/AgentBaker, mig-partition.service).
SLICE_UNITS = ("nvidia-mig-manager", "mig-partition")

DAEMONS = (
    Daemon("nvidia", "nvidia-persistenced", ("nvidia-persistenced",)),
    Daemon("nvidia", "nv-fabricmanager", ("nvidia-fabricmanager",)),
    Daemon("nvidia", "nvidia-imex", ("nvidia-imex",)),
    Daemon("nvidia", "", ("nvidia-cdi-refresh", "nvidia-cdi-refresh.path")),
    Daemon("nvidia", "", SLICE_UNITS),
    Daemon("nvidia", "nvlsm", lives_in=("nvidia-fabricmanager", "nvlsm")),
    Daemon("nvidia", "nv-hostengine", lives_in=("nvidia-dcgm", "dcgm", "snap.dcgm.nv-hostengine")),
    Daemon("runtime", "containerd", ("containerd", "snap.microk8s.daemon-containerd"), _CONTAINERD_IN),
    Daemon("runtime", DOCKER_PROCESS, ("docker", DOCKER_SNAP)),
    Daemon("runtime", "crio", ("crio",), ("cri-o",)),
    Daemon("socket", "", ("docker.socket",)),
    Daemon("kubelet", "kubelet", _KUBELET_UNITS, _KUBELET_IN),
    Daemon("kubelet", "kubelite", (_MICROK8S,)),
    Daemon("kubelet", "k3s-server", ("k3s",)),
    Daemon("kubelet", "k3s-agent", ("k3s-agent",)),
    Daemon("kubelet", "k3s", ("k3s", "k3s-agent")),
    Daemon("kubelet", "", ("microshift",)),  # seen by its unit
    Daemon("supervisor", "rke2", _RKE2),
    Daemon("supervisor", "microk8s"),
    Daemon("supervisor", "k0s", _K0S),
    Daemon("slurm", "slurmd", ("slurmd",)),
    Daemon("slurm-auth", "munged", ("munge",), ("munged", "munge@")),
    Daemon("time", "chronyd", lives_in=("chronyd", "chrony", "timemaster")),
    Daemon("time", "ntpd", lives_in=("ntpd", "ntp", "ntpsec", "openntpd", "timemaster")),
    Daemon("time", "ntpsec", lives_in=("ntpsec",)),
    Daemon("time", "systemd-timesyncd", lives_in=("systemd-timesyncd",)),
    Daemon("time", "openntpd", lives_in=("openntpd",)),
    Daemon("time", "ptp4l", lives_in=("ptp4l", "ptp4l@", "timemaster")),
    Daemon("time", "phc2sys", lives_in=("phc2sys", "phc2sys@", "timemaster")),
    # a guest's clock, set by its hypervisor
    Daemon("time", "vmtoolsd", lives_in=("vmtoolsd", "open-vm-tools")),
    Daemon("time", "VBoxService", lives_in=("vboxservice", "vboxadd-service", "virtualbox-guest-utils")),
    *(Daemon("packages", name) for name in ("apt-get", "apt", "dpkg", "unattended-upgr", "dnf", "yum", "zypper", "packagekitd")),
)
#: What process 1 logs when it starts a service again by Restart= (systemd, sd-messages.h, SD_MESSAGE_UNIT_RESTART_SCHEDULED).
RESTART_SCHEDULED = "5eb03494b6584870a536b337290809b3"
#: Link targets of daemons' names: Debian's update-alternatives of slurmd.
PROGRAMS = {"slurmd": "slurmd-wlm"}


def processes(*kinds: Kind) -> tuple[str, ...]:
    """Names in the process list of the daemons of these kinds, in the order of the table; without a kind, of all.

    >>> processes("runtime", "slurm")
    ('containerd', 'dockerd', 'crio', 'slurmd')
    """
    return tuple(one.process for one in DAEMONS if one.process and (not kinds or one.kind in kinds))


def units(*kinds: Kind) -> dict[str, tuple[str, ...]]:
    """The units of the daemons of these kinds, in the order of the table, each with the processes that it may start.

    >>> units("kubelet")["k3s"], units("slurm")
    (('k3s-server', 'k3s'), {'slurmd': ('slurmd',)})
    """
    chosen = [one for one in DAEMONS if not kinds or one.kind in kinds]
    names = dict.fromkeys(unit for one in chosen for unit in one.units)
    return {name: tuple(one.process for one in chosen if name in one.units and one.process) for name in names}


def services_of(process: str) -> frozenset[str]:
    """The services that may contain the daemon `process` in their cgroup; a template means all its instances.

    >>> sorted(services_of("nv-fabricmanager")), sorted(services_of("phc2sys"))
    (['nvidia-fabricmanager.service'], ['phc2sys.service', 'phc2sys@.service', 'timemaster.service'])
    """
    mine = (one for one in DAEMONS if one.process == process)
    return frozenset(f"{name}.service" for one in mine for name in (*one.units, *one.lives_in) if not name.endswith((".path", ".socket")))
