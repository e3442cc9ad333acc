"""The parts of the host that are neither its operating system nor NVIDIA's: identity, units, daemons, space and limits."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread, then


@frozen
class Identity:
    """Identity of the host and time of the pass: the head of every report, whatever else was read."""

    hostname: str | Unread
    boot_id: str | Unread  # not-running in an image
    now: float | Unread  # seconds since the epoch, by the host's clock
    kernel: str | Unread  # uname -r; absent in an image without --kernel
    simulated: bool | Unread  # a made or unpacked tree below a host root: its /proc and /sys are not a kernel's
    as_root: bool | Unread  # what was read was read by root


@frozen
class Filesystem:
    """statvfs of one filesystem that an installation or a job fills."""

    path: str  # the first of `holds`
    holds: tuple[str, ...]  # which of /, /usr, /var and /boot lie on it
    free_bytes: int | Unread  # for an unprivileged user
    free_inodes: int | Unread  # not-supported where the filesystem does not count them (btrfs, vfat)


@frozen
class Storage:
    """Free space: a fact of its own because it changes all the time."""

    filesystems: tuple[Filesystem, ...] | Unread
    shm_bytes: int | Unread  # size of /dev/shm


@frozen
class Unit:
    """One systemd unit as the files and the process list show it; systemd is not queried over D-Bus."""

    name: str
    exists: bool
    state: str | Unread  # as by ``systemctl is-enabled``: enabled, disabled, static, masked, linked, alias …
    enabled: bool | Unread  # the state is enabled or enabled-runtime, or a vendor's wants link starts the unit
    masked: bool | Unread
    active: bool | Unread  # its cgroup has a process; without systemd, its daemon is in the process list
    text: str | Unread  # unit file with its drop-ins appended, in systemd's order


@frozen
class Services:
    """The units that hostagent reads, by name without the suffix unless it is not ``.service``."""

    units: tuple[Unit, ...] | Unread

    def unit(self, name: str) -> "Unit | Unread":
        """The unit called `name`; not-recorded where it was not read."""
        if isinstance(self.units, Unread):
            return self.units
        unknown = Unread("not-recorded", f"the unit {name} was not looked for")
        return next((unit for unit in self.units if unit.name == name), unknown)


@frozen
class UnitRestarts:
    """Automatic restarts of one unit in this boot, by the records of process 1 in the journal."""

    name: str  # without .service
    times: tuple[float, ...]  # seconds since the epoch, oldest first


@frozen
class Restarts:
    """Automatic restarts of the daemons that jobs need. The journal is asked only while one of them is down or started lately."""

    units: tuple[UnitRestarts, ...] | Unread  # () where all have run for longer than half an hour


@frozen
class Process:
    """A daemon that matters here (runtimes, kubelet, NVIDIA's daemons, time daemons)."""

    pid: int
    name: str
    argv: tuple[str, ...]
    started_at: float  # seconds since the epoch
    #: The service that runs it, "" for none (a driver container's, a host without systemd); unread where any user may have started it.
    unit: str | Unread
    path: str = ""  # PATH of a container runtime's environment, "" where it is not read
    address: str = ""  # the socket that its command line names, "" for none


@frozen
class Machine:
    """What a job or an installation needs from the host around the GPU."""

    memlock_bytes: int | Unread  # RLIMIT_MEMLOCK a runtime's containers inherit; -1 is unlimited
    memlock_origin: str | Unread  # the process or the setting that it is from
    clock_synchronised: bool | Unread  # adjtimex: STA_UNSYNC not set
    time_daemon: str | Unread  # name of the running time daemon, "" for none
    reboot_required: bool | Unread  # the distribution's own mark; not-supported without one (RHEL family)
    reboot_reasons: tuple[str, ...] | Unread
    package_lock_holder: str | Unread  # "" when free, else "apt-get (pid 123)"
    cloud_init_running: bool | Unread
    processes: tuple[Process, ...] | Unread
    listening_sockets: tuple[str, ...] | Unread  # paths of listening unix sockets with a file of root
    unseen_sockets: tuple[str, ...] | Unread  # and of those with a file that may not be read

    def daemons(self, *names: str) -> "tuple[Process, ...] | Unread":
        """`running` of the processes."""
        return then(self.processes, lambda found: running(found, *names))


def running(processes: tuple[Process, ...], *names: str) -> "tuple[Process, ...] | Unread":
    """The daemons of these names, which may be cut as the kernel cuts them; unread where only untrusted processes have such a name."""
    short = {name[:15] for name in names}
    found = [one for one in processes if one.name[:15] in short]
    own = tuple(one for one in found if not isinstance(one.unit, Unread))
    return own or next((one.unit for one in found if isinstance(one.unit, Unread)), ())


@frozen
class Volume:
    """A directory that a component which starts containers or jobs writes to, with the filesystem that holds it."""

    path: str  # with links resolved
    user: str  # a runtime's key, podman, kubelet, slurmd, enroot; "" for all of them
    #: data (images and containers), content (what a runtime keeps elsewhere than its images), pods, logs, state, spool, scratch (jobs' own
    #: files).
    role: str
    mount: str  # the mount point that holds it
    device: str  # its device, "" for a filesystem without one
    disk: str | Unread  # the kernel's name of that device: nvme1n1p1, dm-3; "" for a filesystem without one
    kind: str  # the filesystem's type: ext4, xfs, tmpfs
    #: rw, ro, ro-after-errors: the kernel made it read-only since it was mounted, or fstab mounts it writable.
    access: str
    total_bytes: int | Unread
    free_bytes: int | Unread  # for an unprivileged user
    total_inodes: int | Unread  # not-supported where the filesystem does not count them
    free_inodes: int | Unread
    unmounted: str  # the mount point above it in /etc/fstab or of a mount unit where nothing is mounted, "" for none
    unmounted_by: str | Unread  # the file that mounts it at boot; not-recorded in older recordings, which have /etc/fstab alone


@frozen
class Volumes:
    """The directories of runtimes in use, kubelets and slurmd: () where none of them is in use."""

    volumes: tuple[Volume, ...] | Unread


@frozen
class Limit:
    """A limit of the kernel or of a control group, and how much of it is used."""

    name: str  # process ids, threads, open files, tracked connections, ARP neighbours, IPv6 neighbours, tasks of GROUP
    setting: str  # the file that sets it
    used: int | Unread
    most: int | Unread


@frozen
class HostLimits:
    """What the host has for all its processes together: each limit that exists here."""

    limits: tuple[Limit, ...] | Unread
    shm_total_bytes: int | Unread  # of /dev/shm
    shm_free_bytes: int | Unread
    memory_total_bytes: int | Unread  # MemTotal
    memory_free_bytes: int | Unread  # MemFree
    memory_available_bytes: int | Unread  # MemAvailable
    memory_inactive_file_bytes: int | Unread  # Inactive(file): cached files that were not read again
    swap_total_bytes: int | Unread
    swap_free_bytes: int | Unread


@frozen
class MemoryModule:
    """A module of the host's memory with uncorrected errors since the boot, as EDAC counts them."""

    label: str  # the driver's or the board's label, else controller and place: mc3/dimm0
    uncorrected: int


@frozen
class MemoryErrors:
    """Uncorrected errors of the host's memory; all absent without an EDAC driver (virtual machines, some boards)."""

    modules: tuple[MemoryModule, ...] | Unread
    unplaced: int | Unread  # errors that EDAC assigns to no module
    ipmitool: bool | Unread  # the program is there, which reads the BMC's event log; False where there is no error
