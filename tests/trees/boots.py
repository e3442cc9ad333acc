"""Hosts whose next boot, or whose module, is not where one looks first; and beside each the same with one thing broken."""

from pathlib import Path

from tests.trees import containers, driver, formats, gpus, grub, others, packages, system
from tests.trees.claim import claims
from tests.trees.hosts import toolkit
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, INSTALLED_AT, Tree

_NEWER = "6.8.0-90-generic"
_EL_NEWER = "5.14.0-570.62.1.el9_6.x86_64"


@claims(source="NVIDIA, DGX Spark release notes; GRUB manual, default")
def pinned_second_kernel(root: Path) -> Tree:
    """The kernel that the driver was built for is pinned by its place, GRUB_DEFAULT="1>2"; a newer one has no module.

    NVIDIA DGX Spark user guide, notes on kernel versions; Microsoft, "Boot into a previous kernel on an Azure Linux VM"; Proxmox wiki.
    """
    tree = others.k3s_worker(root)
    system.install_kernel(tree, _NEWER, headers=False)
    grub.install_grub(tree, _NEWER, tree.kernel, default="1>2")
    return tree


@claims("kernel.next_has_module", twin="pinned-second-kernel")
def pinned_first_kernel(root: Path) -> Tree:
    """The same, pinned one place too early: "1>1" is the recovery mode of the newer kernel, which has no module."""
    tree = pinned_second_kernel(root)
    grub.install_grub(tree, _NEWER, tree.kernel, default="1>1")
    return tree


@claims(source="GRUB manual, default; Ubuntu wiki, Grub2")
def saved_entry_of_a_removed_kernel(root: Path) -> Tree:
    """GRUB_DEFAULT=saved, and the kernel that was saved is gone: GRUB takes the first entry (Ubuntu wiki, Grub2; GRUB manual, default)."""
    tree = others.k3s_worker(root)
    grub.install_grub(tree, tree.kernel, default="saved")
    grub.environment(tree, "/boot/grub", saved_entry="Advanced options for Ubuntu>Ubuntu, with Linux 6.8.0-31-generic")
    return tree


@claims("kernel.next_has_module", twin="saved-entry-of-a-removed-kernel")
def saved_entry_without_module(root: Path) -> Tree:
    """The same, and the first entry is a newer kernel without a module."""
    tree = saved_entry_of_a_removed_kernel(root)
    system.install_kernel(tree, _NEWER, headers=False)
    grub.install_grub(tree, _NEWER, tree.kernel, default="saved")
    return tree


@claims(source="Red Hat, Changing the default kernel; Boot Loader Specification")
def rhel9_bls_next_entry(root: Path) -> Tree:
    """A newer kernel came without its module; grubby keeps the default on the one that has it (Red Hat, "Changing the default kernel")."""
    tree = others.rhel9_module_streams(root)
    system.install_kernel(tree, _EL_NEWER, headers=False, files="vmlinuz-{0} initramfs-{0}.img config-{0}")
    grub.install_bls(tree, "Rocky Linux", tree.kernel, _EL_NEWER, saved=tree.kernel)
    return tree


@claims("kernel.next_has_module", twin="rhel9-bls-saved")
def rhel9_bls_newest(root: Path) -> Tree:
    """The same without a saved entry: blscfg's first entry is the newest kernel's."""
    tree = rhel9_bls_next_entry(root)
    grub.environment(tree, "/boot/grub2", boot_success="1")
    return tree


@claims(source="Amazon Linux 2023 user guide, GPU drivers")
def amazon_linux_2023(root: Path) -> Tree:
    """Amazon Linux 2023: entries and no saved one, and the newest kernel has its module (Amazon Linux 2023 user guide, "GPU drivers")."""
    tree = others.rhel9_module_streams(root, "amzn2023", "6.1.156-177.286.amzn2023.x86_64")
    system.install_kernel(tree, "6.1.147-172.266.amzn2023.x86_64", headers=False, files="vmlinuz-{0} initramfs-{0}.img config-{0}")
    tree.remove("/etc/yum.repos.d/cuda-rhel9.repo")
    packages.cuda_rpm_repository(tree, "amzn2023")
    tree.remove("/boot/loader/entries")
    grub.install_bls(tree, "Amazon Linux (2023)", tree.kernel, "6.1.147-172.266.amzn2023.x86_64")
    return tree


@claims(never=("dkms",), source="AlmaLinux/almalinux-deploy issue 271; weak-modules(8)")
def almalinux9_weak_modules(root: Path) -> Tree:
    """AlmaLinux's signed open module, built for the first kernel of 9.6 and linked for the later one by weak-modules; Secure Boot is on.

    AlmaLinux wiki, "NVIDIA drivers"; almalinux-deploy issue 271; weak-modules(8) of kmod.
    """
    tree = others.rhel9_module_streams(root, "almalinux9")
    system.secure_boot(tree, on=True)
    tree.write("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
    built_for = "5.14.0-570.el9.x86_64"
    _replace_dkms(tree)
    data = formats.kernel_module(driver.modinfo(tree, built_for, tree.driver), signer="AlmaLinux OS Foundation")
    file = f"/lib/modules/{built_for}/extra/nvidia/nvidia.ko"
    tree.write(file, data)
    _index(tree, "weak-updates/nvidia/nvidia.ko")
    tree.link(f"/lib/modules/{tree.kernel}/weak-updates/nvidia/nvidia.ko", file)
    packages.rpm(tree, {"kmod-nvidia-open": f"3:{tree.driver}-1.el9"}, vendor="AlmaLinux")
    packages.rpm_files(tree, "kmod-nvidia-open", file)
    grub.install_bls(tree, "AlmaLinux", tree.kernel, saved=tree.kernel)
    return tree


@claims("kernel.module_vermagic", never=("dkms",), twin="almalinux9-weak-modules")
def almalinux9_copied_module(root: Path) -> Tree:
    """The same, after somebody copied the file to where weak-modules has a link: nobody compared its symbols."""
    tree = almalinux9_weak_modules(root)
    data = tree.at("/lib/modules/5.14.0-570.el9.x86_64/extra/nvidia/nvidia.ko").read_bytes()
    tree.remove(f"/lib/modules/{tree.kernel}/weak-updates/nvidia/nvidia.ko")
    _index(tree, "extra/nvidia.ko")
    tree.write(f"/lib/modules/{tree.kernel}/extra/nvidia.ko", data)
    tree.write("/sys/module/nvidia/srcversion", f"{driver.srcversion('580.142', 'open')}\n")
    return tree


def _replace_dkms(tree: Tree) -> None:
    """The module of DKMS, its tree and its package go."""
    tree.remove(f"/lib/modules/{tree.kernel}/extra")
    tree.remove("/var/lib/dkms")
    for question, answer in tree.programs.items():
        lines = (line for line in answer.splitlines(keepends=True) if not line.startswith(("kmod-nvidia-open-dkms\t", "dkms\t")))
        tree.programs[question] = "".join(lines)


def _index(tree: Tree, *files: str) -> None:
    """depmod: the kernel's own modules, and these."""
    path = f"/lib/modules/{tree.kernel}/modules.dep"
    own = "".join(line for line in tree.text(path).splitlines(keepends=True) if line.startswith("kernel/") and "nvidia" not in line)
    tree.write(path, own + "".join(f"{file}:\n" for file in files), time=INSTALLED_AT)


@claims(never=("dkms",), source="SUSE, NVIDIA open driver G06 signed")
def sles15_kmp(root: Path) -> Tree:
    """SLES 15 SP6: SUSE's signed kernel module package beside NVIDIA's userland, and an entry that is saved by its title.

    SUSE, "Installing NVIDIA GPU drivers on SUSE Linux Enterprise" (nvidia-open-driver-G06-signed-kmp, nvidia-compute-utils-G06).
    """
    tree = others.rhel9_module_streams(root)
    old = tree.kernel
    tree.kernel = "6.4.0-150600.23.73-default"
    tree.write("/usr/lib/os-release", system.OS_RELEASE["sles15"])
    for path in (
        f"/lib/modules/{old}",
        f"/boot/vmlinuz-{old}",
        f"/boot/initramfs-{old}.img",
        f"/boot/config-{old}",
        "/boot/loader",
        "/boot/grub2",
    ):
        tree.remove(path)
    tree.remove("/var/lib/dkms")
    tree.write("/proc/sys/kernel/osrelease", f"{tree.kernel}\n")
    system.install_kernel(tree, tree.kernel, headers=False, files="vmlinuz-{0} initrd-{0} config-{0}")
    driver.install_module(
        tree, "6.4.0-150600.21-default", directory="updates", suffix=".ko.zst", signer="SUSE Linux Enterprise Secure Boot Signkey"
    )
    tree.remove("/lib/modules/6.4.0-150600.21-default/modules.dep")
    _index(tree, "weak-updates/updates/nvidia.ko.zst")
    built = "/lib/modules/6.4.0-150600.21-default/updates/nvidia.ko.zst"
    tree.link(f"/lib/modules/{tree.kernel}/weak-updates/updates/nvidia.ko.zst", built)
    _sles_packages(tree, built)
    grub.install_grub(tree, tree.kernel, default="saved", name="SLES 15-SP6", directory="/boot/grub2")
    grub.environment(tree, "/boot/grub2", saved_entry="SLES 15-SP6")
    return tree


def _sles_packages(tree: Tree, module: str) -> None:
    """Userland of NVIDIA's repository for SLES 15, the module of SUSE's."""
    tree.programs.clear()
    version = f"{tree.driver}-1"
    names = ("nvidia-compute-G06", "nvidia-compute-utils-G06", "nvidia-persistenced", "nvidia-modprobe", "nvidia-common-G06")
    packages.rpm(tree, dict.fromkeys(names, version))
    packages.rpm(tree, dict.fromkeys(packages.TOOLKIT, "1.19.1-1"))
    kmp = "nvidia-open-driver-G06-signed-kmp-default"
    packages.rpm(
        tree,
        {kmp: f"{tree.driver}_k6.4.0_150600.21-150600.3.73.1", "kernel-default": "6.4.0-150600.23.73.1"},
        vendor="SUSE LLC <https://www.suse.com/>",
    )
    packages.rpm(tree, {"containerd": "1.7.27-150000.123.1", "docker": "28.3.3_ce-150000.230.1"}, vendor="SUSE LLC <https://www.suse.com/>")
    packages.rpm_files(tree, "nvidia-compute-G06", *(f"/usr/lib64/{name}.so.{tree.driver}" for name in ("libcuda", "libnvidia-ml")))
    packages.rpm_files(tree, kmp, module)
    for path in ("/etc/dnf/dnf.conf", "/etc/yum.repos.d"):
        tree.remove(path)
    packages.cuda_rpm_repository(tree, "sles15", directory="/etc/zypp/repos.d")
    tree.write("/var/lib/zypp/AutoInstalled", "# written by zypper\nnvidia-common-G06\nnvidia-modprobe\n")
    tree.write(
        "/etc/zypp/locks",
        "".join(
            f"\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: {name}\n"
            for name in ("nvidia-*", "kernel-default", "nvidia-container-toolkit*", "libnvidia-container*")
        ),
    )


@claims("kernel.next_has_module", never=("dkms",), twin="sles15-kmp")
def sles15_next_entry(root: Path) -> Tree:
    """The same; somebody chose another kernel for the next boot, for which there is no module."""
    tree = sles15_kmp(root)
    newer = "6.4.0-150600.23.84-default"
    system.install_kernel(tree, newer, headers=False, files="vmlinuz-{0} initrd-{0} config-{0}")
    grub.install_grub(tree, newer, tree.kernel, default="saved", name="SLES 15-SP6", directory="/boot/grub2")
    grub.environment(tree, "/boot/grub2", saved_entry="SLES 15-SP6", next_entry="0")
    return tree


@claims("driver.library_present", twin="k3s-worker", source="soperator pull request 2684")
def libraries_cut_short(root: Path) -> Tree:
    """What mounts the libraries failed half-way: one is empty, one is cut short (soperator pull request 2684)."""
    tree = others.k3s_worker(root)
    for name, size in (("libcuda", 0), ("libnvidia-ml", 100)):
        path = f"{tree.libraries}/{name}.so.{tree.driver}"
        tree.write(path, formats.shared_library()[:size])
    return tree


@claims(twin="k3s-worker", source="nvidia-modprobe(1); open-gpu-kernel-modules issue 547; go-tpm-tools issue 925")
def uvm_nodes_later(root: Path) -> Tree:
    """nvidia_uvm is loaded at boot by modules-load.d, and no CUDA program has run: the setuid nvidia-modprobe makes its nodes then.

    NVIDIA, nvidia-modprobe(1); open-gpu-kernel-modules issue 547; go-tpm-tools issue 925.
    """
    tree = others.k3s_worker(root)
    for name, minor in (("nvidia-uvm", 0), ("nvidia-uvm-tools", 1)):
        tree.remove(f"/dev/{name}")
        tree.remove(f"/dev/char/{driver.UVM_MAJOR}:{minor}")
    tree.edit("/var/run/cdi/nvidia.yaml", "    - path: /dev/nvidia-uvm-tools\n    - path: /dev/nvidia-uvm\n", "", time=BOOTED_AT + 60)
    return tree


@claims("driver.device_majors", twin="uvm-nodes-later")
def uvm_nodes_never(root: Path) -> Tree:
    """The same without the setuid bit: no program of an ordinary user can make the nodes."""
    tree = uvm_nodes_later(root)
    tree.at("/usr/bin/nvidia-modprobe").chmod(0o755)
    return tree


_DEBIAN_DRIVER, _DEBIAN_KERNEL = "535.261.03", "6.1.0-40-amd64"
#: Packages of bookworm that have the driver's version (packages.debian.org, source nvidia-graphics-drivers).
_DEBIAN_PACKAGES = ("libcuda1", "libnvidia-cfg1", "libnvidia-ml1", "nvidia-alternative", "nvidia-driver-bin", "nvidia-smi")


@claims(source="Debian, source package nvidia-graphics-drivers 535.261.03-1")
def debian12_own_driver(root: Path) -> Tree:
    """Debian 12 with its own packages: the proprietary module by DKMS, under names and alternatives of Debian's.

    Files of Debian's packages nvidia-kernel-support and nvidia-alternative 535.261.03-1; links as update-alternatives and update-glx make them.
    """
    tree = Tree(root, kernel=_DEBIAN_KERNEL, driver=_DEBIAN_DRIVER, flavour="proprietary")
    _debian(tree, "nvidia-current")
    system.install_kernel(tree, tree.kernel)
    _debian_modules(tree, "nvidia-current")
    system.boot(tree, "render-05")
    packages.dpkg(tree, {f"linux-image-{tree.kernel}": "6.1.153-1"}, maintainer=_DEBIAN)
    grub.install_grub(tree, tree.kernel, name="Debian")
    driver.load_driver(tree)
    gpus.install_gpus(tree, gpus.T4, gpus.HGX[:1])
    system.run(tree, Daemon(610, ("/usr/lib/systemd/systemd-timesyncd",), "systemd-timesyncd.service", started_s=8))
    packages.apt(tree, "debian12")
    tree.remove("/etc/apt/sources.list.d/cuda-debian12-x86_64.list")
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "1.7.28-1~debian.12~bookworm", "docker-ce": "5:28.5.2-1~debian.12~bookworm"})
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}})
    containers.cdi(tree, 1)
    tree.edit("/var/run/cdi/nvidia.yaml", f"{tree.libraries}/lib", f"{tree.libraries}/nvidia/current/lib")
    return tree


@claims("driver.version", twin="debian12-own-driver")
def debian12_own_driver_pinned_580(root: Path) -> Tree:
    """The same, judged by a profile that wants branch 580."""
    return debian12_own_driver(root)


@claims("kernel.module_present", twin="debian12-own-driver")
def debian12_alternative_gone(root: Path) -> Tree:
    """The same after a reboot with the alternative removed: modprobe finds nothing behind the name nvidia."""
    tree = debian12_own_driver(root)
    tree.remove("/etc/alternatives/nvidia--nvidia-modprobe.conf")
    tree.remove("/sys/module/nvidia")
    for name in ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"):
        tree.edit("/proc/modules", f"{name} 16384 0 - Live 0x0000000000000000\n", "")
    tree.remove("/proc/driver/nvidia")
    tree.write("/proc/devices", "Character devices:\n  1 mem\n  4 tty\n  5 /dev/tty\n\nBlock devices:\n259 blkext\n")
    for path in ("nvidia0", "nvidiactl", "nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools"):
        tree.remove(f"/dev/{path}")
    return tree


@claims("driver.version", source="Debian, nvidia-open-kernel-dkms 535.261.03-1, installed in a container")
def debian12_image_without_kernel(root: Path) -> Tree:
    """An image as it is built in a container: headers and the open module by DKMS, and no kernel."""
    tree = Tree(root, kernel=_DEBIAN_KERNEL, driver=_DEBIAN_DRIVER)
    _debian(tree, "nvidia-current-open")
    _debian_modules(tree, "nvidia-current-open")
    tree.write(f"/usr/src/linux-headers-{tree.kernel}/Makefile", "VERSION = 6\n")
    tree.link(f"/lib/modules/{tree.kernel}/build", f"/usr/src/linux-headers-{tree.kernel}")
    return tree


_DEBIAN = "Debian NVIDIA Maintainers <pkg-nvidia-devel@lists.example.invalid>"


def _debian(tree: Tree, name: str) -> None:
    """Userland, configuration and packages; `name` is the module's."""
    flavour = name.removeprefix("nvidia-")
    system.install_os(tree, "debian12", "render-05")
    parts = (
        ("nvidia-kernel-dkms", "nvidia-kernel-support")
        if flavour == "current"
        else ("nvidia-open-kernel-dkms", "nvidia-open-kernel-support")
    )
    packages.dpkg(tree, dict.fromkeys((*_DEBIAN_PACKAGES, *parts), f"{tree.driver}-1"), maintainer=_DEBIAN)
    packages.dpkg(
        tree,
        {
            "nvidia-modprobe": "535.161.07-1~deb12u1",
            "firmware-nvidia-gsp": f"{tree.driver}-1",
            f"linux-headers-{tree.kernel}": "6.1.153-1",
            "apt": "2.6.1",
            "dkms": "3.0.10-8+deb12u1",
        },
        maintainer=_DEBIAN,
    )
    place = f"{tree.libraries}/nvidia/current"
    driver.install_userland(tree, directory=place, cached=False)
    for library in ("libcuda.so.1", "libnvidia-ml.so.1"):
        tree.link(f"{tree.libraries}/{library}", f"/etc/alternatives/nvidia--{library}-x86_64-linux-gnu")
        tree.link(f"/etc/alternatives/nvidia--{library}-x86_64-linux-gnu", f"{place}/{library}")
    driver.cache(tree, tree.libraries)
    packages.files_of(tree, "libcuda1", f"{place}/libcuda.so.{tree.driver}")
    packages.files_of(tree, "libnvidia-ml1", f"{place}/libnvidia-ml.so.{tree.driver}")
    install = "".join(
        f"install {made} modprobe -i {name}{made.removeprefix('nvidia')} $CMDLINE_OPTS\n\n"
        for made in ("nvidia", "nvidia-uvm", "nvidia-peermem")
    )
    tree.write(f"/etc/nvidia/{flavour}/nvidia-modprobe.conf", f"{install}alias char-major-195* nvidia\n")
    tree.write(f"/etc/nvidia/{flavour}/nvidia-blacklists-nouveau.conf", "# see #580894\nblacklist nouveau\n")
    for file, link in (("nvidia-modprobe.conf", "nvidia.conf"), ("nvidia-blacklists-nouveau.conf", "nvidia-blacklists-nouveau.conf")):
        tree.link(f"/etc/modprobe.d/{link}", f"/etc/alternatives/glx--{file}")
        tree.link(f"/etc/alternatives/glx--{file}", f"/etc/nvidia/{file}")
        tree.link(f"/etc/nvidia/{file}", f"/etc/alternatives/nvidia--{file}")
        tree.link(f"/etc/alternatives/nvidia--{file}", f"/etc/nvidia/{flavour}/{file}")


def _debian_modules(tree: Tree, name: str) -> None:
    """DKMS builds them, and depmod lists them, by Debian's names; inside they are called as NVIDIA's."""
    directory = f"/lib/modules/{tree.kernel}"
    for made in ("", "-uvm", "-modeset", "-drm", "-peermem"):
        data = formats.kernel_module(driver.modinfo(tree, tree.kernel, tree.driver))
        tree.write(f"{directory}/updates/dkms/{name}{made}.ko", data)
        tree.append(f"{directory}/modules.dep", f"updates/dkms/{name}{made}.ko:\n")
        tree.write(f"/var/lib/dkms/{name}/{tree.driver}/{tree.kernel}/{tree.arch}/module/{name}{made}.ko")
    tree.link(f"/var/lib/dkms/{name}/{tree.driver}/source", f"/usr/src/{name}-{tree.driver}")
