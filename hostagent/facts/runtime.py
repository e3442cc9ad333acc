"""Container runtimes as their own configuration loader sees them."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread, then


@frozen
class Handler:
    """One runtime entry of the effective configuration."""

    name: str  # runc, nvidia, nvidia-cdi …
    runtime_type: str  # io.containerd.runc.v2; oci for CRI-O; "" is the defect of toolkit issue 1956
    binary: str  # BinaryName, runtime_path, or docker's path; "" when the default is used
    binary_exists: bool | Unread  # of "" the default binary
    systemd_cgroup: bool | Unread

    @property
    def nvidia(self) -> bool:
        """Whether it is NVIDIA's, by its name or its binary."""
        return self.name.startswith("nvidia") or "nvidia-container-runtime" in self.binary


@frozen(subject="key", called="container runtime")
class Runtime:
    """One container runtime, with its configuration merged as that version of it merges."""

    key: str  # containerd, docker, crio, k3s, rke2, microk8s, k0s
    kind: str  # containerd, docker, crio
    version: str | Unread
    #: older: its version is not known, and an older one would read its files otherwise; newer: than any that was measured; "" otherwise.
    judged_as: str | Unread
    installed: bool | Unread  # a package, a program or a process of it is there
    in_use: bool | Unread  # its unit or socket unit is enabled, or it runs
    state: str | Unread  # accepted, rejected, cri_disabled; absent: a configuration that no installed program reads
    error: str | Unread  # why it is rejected, "" otherwise
    config_files: tuple[str, ...] | Unread  # main file first, then what it imports, in merge order
    config_version: int | Unread  # containerd: 1 to 4; a file without a version line is 1
    default_runtime: str | Unread
    handlers: tuple[Handler, ...] | Unread  # by name
    cgroup_driver: str | Unread  # systemd, cgroupfs: of the default runtime
    cdi_enabled: bool | Unread
    cdi_spec_dirs: tuple[str, ...] | Unread
    oci_hooks: tuple[str, ...] | Unread  # files that make CRI-O run the toolkit's hook for each container
    misplaced: tuple[str, ...] | Unread  # table paths that this version does not read, with an nvidia entry in them
    shadowed: tuple[str, ...] | Unread  # "DROP-IN: KEY" of main-file settings that an older drop-in overrides
    newest_config_mtime: float | Unread  # seconds since the epoch, over config_files
    running: bool | Unread
    started_at: float | Unread  # of its oldest process, seconds since the epoch
    socket: str | Unread
    socket_listening: bool | Unread
    unimported: tuple[str, ...] | Unread  # drop-ins with an nvidia entry that nothing imports

    @property
    def nvidia_handlers(self) -> "tuple[Handler, ...] | Unread":
        """NVIDIA's handlers in the effective configuration."""
        return then(self.handlers, lambda handlers: tuple(one for one in handlers if one.nvidia))


@frozen
class Launcher:
    """A kubelet in use as a client of a runtime: its unit is enabled, or it runs."""

    unit: str  # without .service
    endpoint: str | Unread  # path of the runtime's socket that it uses; "" where it is not configured yet
    runtime: str | Unread  # key of the runtime that listens there; "" without an endpoint
    cgroup_driver: str | Unread  # systemd, cgroupfs; "" where neither a flag nor its file sets it
    shim_listens: bool | Unread  # a process listens on the socket of cri-dockerd; not-supported where the kubelet does not use it


@frozen
class Launchers:
    """What starts containers for jobs, and what gives them GPUs apart from a runtime's handler."""

    kubelets: tuple[Launcher, ...] | Unread
    slurmd: bool | Unread  # its unit is enabled, or it runs, or slurm.conf names this host as a node
    programs: tuple[str, ...] | Unread  # of enroot, apptainer, singularity and podman
    docker_hook: bool | Unread  # nvidia-container-runtime-hook, an executable, where dockerd looks for it
    plugin_sockets: tuple[str, ...] | Unread  # of NVIDIA's device plugins and DRA driver, and the runtime's for NRI
    mounted_libraries: tuple[str, ...] | Unread  # of the driver, with bytes in them, in a directory that a provider mounts into containers


@frozen
class Labelling:
    """Whether one runtime starts containers under SELinux."""

    key: str  # of the runtime
    enabled: bool | Unread


@frozen
class Confinement:
    """SELinux on container processes; all absent where the host does not enforce SELinux."""

    runtimes: tuple[Labelling, ...] | Unread  # those in use
    gpu_devices: bool | Unread  # container_use_xserver_devices: devices of graphics drivers, /dev/nvidia* among them
    gpu_policy: bool | Unread  # a policy module for NVIDIA's containers is installed, or /dev/nvidia* has labels of the administrator
