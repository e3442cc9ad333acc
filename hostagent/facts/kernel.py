"""The kernels: the running one, those that are installed, and what each would load."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import NOT_APPLICABLE, Unread


@frozen
class InstalledKernel:
    """One kernel below /lib/modules, with the nvidia module that a boot into it loads.

    What is inside the module file is read for the running and the next kernel alone; of others it is not-recorded.
    """

    release: str
    image: str | Unread  # path of the kernel itself, "" without one: nothing can boot into it from this disk
    vermagic: str | Unread  # of a module that came with the kernel; absent when none is known
    nvidia_path: str | Unread  # path of the module that modprobe loads for nvidia, "" when it would find none
    nvidia_named: tuple[str, ...] | Unread  # nvidia modules that modules.dep has under Debian's names: nvidia-current
    nvidia_version: str | Unread  # absent when there is no module, as for the next four
    nvidia_license: str | Unread  # "Dual MIT/GPL" is the open module, "NVIDIA" the proprietary one
    nvidia_vermagic: str | Unread
    nvidia_srcversion: str | Unread
    nvidia_owner: str | Unread  # package that owns the file, "" when none does; absent where the module was built for this release
    nvidia_signer: str | Unread  # "" when the module carries no signature, "unnamed" when that has no name
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
    """The running kernel, or of an image the target kernel, and what it is configured to load."""

    release: str | Unread  # uname -r; of an image the one named by --kernel, else that of the next boot
    installed: tuple[InstalledKernel, ...] | Unread  # oldest first, in package version order
    next_release: str | Unread  # the kernel the next boot takes: default boot entry, else the newest
    images: tuple[str, ...] | Unread  # releases that a kernel in /boot is named after, sorted
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

    @property
    def next_releases(self) -> "tuple[str, ...] | Unread":
        """The kernels that the next boot may take: `next_release` if known, else all candidates, the running one first."""
        if not isinstance(self.next_release, Unread):
            return (self.next_release,)
        if self.next_release.why in NOT_APPLICABLE:  # there is no kernel
            return self.next_release
        if isinstance(self.installed, Unread):
            return self.installed
        if isinstance(self.images, Unread):
            return self.images
        running = () if isinstance(self.release, Unread) else (self.release,)
        return tuple(dict.fromkeys((*running, *(one.release for one in self.installed), *self.images)))
