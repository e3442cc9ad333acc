"""What only a change of the host needs to know: read by ``plan``, ``install`` and ``snapshot save``, never by ``check``."""

from hostagent.facts.frozen import frozen
from hostagent.facts.unread import Unread


@frozen
class InstalledPackage:
    """One package of the whole database, whatever its family."""

    name: str
    version: str  # as the package manager prints it
    arch: str
    state: str  # "installed", or dpkg's word: half-configured, config-files …
    held: bool  # dpkg's own hold; a lock of dnf, zypper or tdnf that covers it
    automatic: bool  # installed as somebody else's dependency (apt's and dnf's mark); False where there are no such marks


@frozen
class GpuUser:
    """A process that holds a device node of the driver open."""

    pid: int
    program: str  # name of its executable, without arguments
    device: str  # the first of the nodes: /dev/nvidia0


@frozen
class Repository:
    """One repository of dnf, zypper or tdnf."""

    file: str
    id: str
    url: str  # without credentials
    enabled: bool
    checks_signatures: bool | Unread
    keys: tuple[str, ...]  # gpgkey


@frozen
class ConfigFile:
    """A file that a plan may change: runtimes' configuration, apt's sources and preferences, modprobe.d."""

    path: str
    text: str | Unread  # absent where there is none; not-recorded on a tape, which has no whole file
    mode: int | Unread  # permission bits
    uid: int | Unread
    gid: int | Unread


@frozen
class Installation:
    """The host as a package manager and an administrator see it."""

    packages: tuple[InstalledPackage, ...] | Unread  # all, sorted by name, then architecture
    gpu_users: tuple[GpuUser, ...] | Unread  # sorted by pid; not-running in an image
    containers: int | Unread  # running containers of Docker; not-running in an image
    live_restore: bool | Unread  # Docker keeps containers while it restarts
    cloud_init_drivers: tuple[str, ...] | Unread  # what cloud-init's drivers: installs ("nvidia 580-server"); () for nothing
    repositories: tuple[Repository, ...] | Unread  # of dnf, zypper or tdnf
    initramfs_tool: str | Unread  # update-initramfs, dracut, mkinitrd; "" none
    secure_boot_keys: tuple[str, ...] | Unread  # paths of module signing keys on the disk: MOK of shim and of DKMS
    enrolled_keys: tuple[str, ...] | Unread  # of those, the ones whose certificate the kernel trusts
    files: tuple[ConfigFile, ...] | Unread  # sorted by path

    def file(self, path: str) -> "ConfigFile | Unread":
        """The file at `path`; not-recorded where it was not looked for."""
        if isinstance(self.files, Unread):
            return self.files
        return next((one for one in self.files if one.path == path), Unread("not-recorded", f"{path} was not looked for"))
