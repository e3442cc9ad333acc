"""Container runtimes as their own configuration loader sees them."""

from hostagent.facts.frozen import frozen
from hostagent.facts.unread import Unread, then


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

    key: str  # containerd, docker, crio, k3s, rke2, microk8s
    kind: str  # containerd, docker, crio
    version: str | Unread
    state: str | Unread  # accepted, rejected, cri_disabled; absent: a configuration that no installed program reads
    error: str | Unread  # why it is rejected, "" otherwise
    config_files: tuple[str, ...] | Unread  # main file first, then what it imports, in merge order
    config_version: int | Unread  # containerd: 1, 2, 3; a file without a version line is 1
    default_runtime: str | Unread
    handlers: tuple[Handler, ...] | Unread  # by name
    cgroup_driver: str | Unread  # systemd, cgroupfs: of the default runtime
    cdi_enabled: bool | Unread
    cdi_spec_dirs: tuple[str, ...] | Unread
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
