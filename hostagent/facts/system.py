"""The operating system, the kernel, and the parts of the host that are not NVIDIA's."""

from hostagent.facts.frozen import frozen
from hostagent.facts.unread import Unread


@frozen
class Identity:
    """Who the host is, and when it was read: the head of every report, whatever else was asked for."""

    hostname: str | Unread
    boot_id: str | Unread  # not-running in an image
    now: float | Unread  # seconds since the epoch, by the host's clock
    kernel: str | Unread  # uname -r; absent in an image that no kernel was named for


@frozen
class Os:
    """The distribution. ``id`` and ``version_id`` are os-release's words (os-release(5))."""

    id: str | Unread
    version_id: str | Unread
    pretty_name: str | Unread
    arch: str | Unread  # uname -m: x86_64, aarch64; of an image: from its ELF loader
    managed_by: str | Unread  # who owns the OS image ("Container-Optimized OS"), "" when nobody does
    selinux: str | Unread  # enforcing, permissive, disabled
    selinux_container_devices: bool | Unread  # the boolean container_use_devices


@frozen
class InstalledKernel:
    """One kernel below /lib/modules, with the nvidia module that a boot into it loads.

    What is inside the module file is read for the running and the next kernel alone; of others it is not-recorded.
    """

    release: str
    nvidia_path: str | Unread  # path of nvidia.ko* by modules.dep, "" when modprobe would find none
    nvidia_version: str | Unread  # absent when there is no module, as for the next four
    nvidia_license: str | Unread  # "Dual MIT/GPL" is the open module, "NVIDIA" the proprietary one
    nvidia_vermagic: str | Unread
    nvidia_srcversion: str | Unread
    nvidia_signer: str | Unread  # "" when the module carries no signature, "unnamed" when that names nobody
    nouveau: bool | Unread  # the kernel has a nouveau module
    indexed_at: float | Unread  # seconds since the epoch: mtime of modules.dep, the last change of its modules
    headers: bool | Unread  # build/Makefile resolves
    initramfs: str | Unread  # its path, "" when there is none
    initramfs_mtime: float | Unread  # seconds since the epoch

    @property
    def nvidia_flavour(self) -> "str | Unread":
        """Open or proprietary, by the module's license."""
        if isinstance(self.nvidia_license, Unread):
            return self.nvidia_license
        known = {"Dual MIT/GPL": "open", "NVIDIA": "proprietary"}
        return known.get(self.nvidia_license, Unread("error", f"nvidia.ko of {self.release} has the license {self.nvidia_license!r}"))


@frozen
class Kernel:
    """The running kernel, or of an image the target kernel, and what it is told to load."""

    release: str | Unread  # uname -r; of an image the one named by --kernel, else that of the next boot
    installed: tuple[InstalledKernel, ...] | Unread  # oldest first, in package version order
    next_release: str | Unread  # the kernel the next boot takes: default boot entry, else the newest
    booted_at: float | Unread  # seconds since the epoch
    loaded_modules: tuple[str, ...] | Unread  # names of /sys/module entries that are loadable modules
    secure_boot: bool | Unread
    module_signatures_enforced: bool | Unread  # lockdown, or module.sig_enforce
    nouveau_blacklisted: bool | Unread  # by modprobe.d, or by the kernel command line
    nouveau_blacklist_mtime: float | Unread  # seconds since the epoch, of the newest such file; absent without one
    log: tuple[str, ...] | Unread  # kernel log lines of this boot that name the GPU driver or a module key; newest last

    def at(self, release: "str | Unread") -> "InstalledKernel | Unread":
        """The installed kernel of that release; absent when there is no such one."""
        if isinstance(release, Unread):
            return release
        if isinstance(self.installed, Unread):
            return self.installed
        absent = Unread("absent", f"/lib/modules has no kernel {release}")
        return next((one for one in self.installed if one.release == release), absent)


@frozen
class Filesystem:
    """statvfs of one filesystem that an installation or a job fills."""

    path: str  # the first of `holds`
    holds: tuple[str, ...]  # which of /, /usr, /var and /boot lie on it
    free_bytes: int | Unread  # for an unprivileged user
    free_inodes: int | Unread  # not-supported where the filesystem does not count them (btrfs, vfat)


@frozen
class Unit:
    """One systemd unit as the files and the process list show it; nothing is asked of systemd over D-Bus."""

    name: str
    exists: bool
    state: str | Unread  # the word of ``systemctl is-enabled``: enabled, disabled, static, masked, linked, alias …
    enabled: bool | Unread  # the state is enabled or enabled-runtime, or a vendor's wants link starts the unit
    masked: bool | Unread
    active: bool | Unread  # its cgroup has a process; without systemd, its daemon is in the process list
    text: str | Unread  # unit file with its drop-ins appended, in systemd's order


@frozen
class Services:
    """The units this project knows of, by name without the suffix unless it is not ``.service``."""

    units: tuple[Unit, ...] | Unread

    def unit(self, name: str) -> "Unit | Unread":
        """The unit called `name`; not-recorded where it was not looked for."""
        if isinstance(self.units, Unread):
            return self.units
        unknown = Unread("not-recorded", f"the unit {name} was not looked for")
        return next((unit for unit in self.units if unit.name == name), unknown)


@frozen
class Process:
    """A daemon that matters here (runtimes, kubelet, NVIDIA's daemons, time daemons)."""

    pid: int
    name: str
    argv: tuple[str, ...]
    started_at: float  # seconds since the epoch


@frozen
class Machine:
    """What a job or an installation needs from the host around the GPU."""

    filesystems: tuple[Filesystem, ...] | Unread
    memlock_bytes: int | Unread  # RLIMIT_MEMLOCK a runtime's containers inherit; -1 is unlimited
    memlock_origin: str | Unread  # the process or the setting that says so
    shm_bytes: int | Unread  # size of /dev/shm
    clock_synchronised: bool | Unread  # adjtimex: STA_UNSYNC not set
    time_daemon: str | Unread  # name of the running time daemon, "" for none
    reboot_required: bool | Unread  # the distribution's own mark; not-supported where it leaves none (RHEL family)
    reboot_reasons: tuple[str, ...] | Unread
    package_lock_holder: str | Unread  # "" when free, else "apt-get (pid 123)"
    cloud_init_running: bool | Unread
    virtual: bool | Unread  # a virtual machine, by what the firmware says of the board
    processes: tuple[Process, ...] | Unread
    listening_sockets: tuple[str, ...] | Unread  # paths of listening unix sockets
