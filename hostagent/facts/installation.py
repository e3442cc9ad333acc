"""Facts that only a change of the host needs: read by ``plan``, ``install`` and ``snapshot save``, never by ``check``."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class InstalledPackage:
    """One package of the whole database, whatever its family."""

    name: str
    version: str  # as the package manager prints it
    arch: str
    state: str  # "installed", or dpkg's state: half-configured, config-files …
    held: bool  # dpkg's own hold; a lock of dnf, zypper or tdnf that covers it
    automatic: bool | Unread  # installed as a dependency, by the marks of apt, dnf or zypper; False where there are none


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
    """A file that a plan may change: runtimes' configuration, the package manager's sources and pins, modprobe.d."""

    path: str
    text: str | Unread  # whole; absent where there is none; not-recorded on a tape, which has no whole files
    mode: int | Unread  # permission bits
    uid: int | Unread
    gid: int | Unread


@frozen
class Installation:
    """The host as a package manager and an administrator see it."""

    packages: tuple[InstalledPackage, ...] | Unread  # all, sorted by name, then architecture
    gpu_users: tuple[GpuUser, ...] | Unread  # sorted by pid; not-running in an image
    containers: int | Unread  # running containers of Docker, by their shims; 0 without Docker; not-running in an image
    #: Docker keeps containers while it restarts: daemon.json and dockerd's flags; unread where dockerd is older than a file that sets it.
    live_restore: bool | Unread
    cloud_init_drivers: tuple[str, ...] | Unread  # what cloud-init's drivers: installs ("nvidia 580-server"); () for nothing
    repositories: tuple[Repository, ...] | Unread  # of dnf, zypper or tdnf
    initramfs_tool: str | Unread  # update-initramfs, dracut, mkinitrd; "" none
    secure_boot_keys: tuple[str, ...] | Unread  # paths of module signing keys on the disk: MOK of shim and of DKMS
    enrolled_keys: tuple[str, ...] | Unread  # those with a certificate that the kernel trusts
    files: tuple[ConfigFile, ...] | Unread  # sorted by path
    folders: tuple[str, ...] = ()  # all their files, not those of folders below, are among `files`

    def file(self, path: str) -> "ConfigFile | Unread":
        """The file at `path`, with an absent text where there is none; not-recorded where it was not read."""
        if isinstance(self.files, Unread):
            return self.files
        found = next((one for one in self.files if one.path == path), None)
        if found is not None:
            return found
        if path.rpartition("/")[0] not in self.folders:
            return Unread("not-recorded", f"{path} was not looked for")
        none = Unread("absent", f"{path}: no such file")
        return ConfigFile(path, none, none, none, none)
