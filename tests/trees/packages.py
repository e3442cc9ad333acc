"""Package databases and what feeds, pins and upgrades packages: apt and dpkg; dnf, and what rpm would answer."""

from collections.abc import Mapping

from tests.trees import formats
from tests.trees.tree import Tree

#: A mirror in no real domain.
MIRROR = "https://mirror.example.invalid"
TOOLKIT = ("libnvidia-container-tools", "libnvidia-container1", "nvidia-container-toolkit", "nvidia-container-toolkit-base")
_CUDA_KEYRING = "/usr/share/keyrings/cuda-archive-keyring.gpg"
_TOOLKIT_KEYRING = "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"
#: NVIDIA, Driver Installation Guide: packages of the CUDA repository for a compute-only host, branch 580.
CUDA_UBUNTU = (
    "libnvidia-cfg1-580", "libnvidia-compute-580", "libnvidia-decode-580", "libnvidia-encode-580", "libnvidia-gpucomp-580",
    "nvidia-compute-utils-580", "nvidia-dkms-580-open", "nvidia-kernel-common-580", "nvidia-kernel-source-580-open", "nvidia-utils-580",
    "nvidia-modprobe", "nvidia-persistenced",
)  # fmt: skip
CUDA_DEBIAN = (
    "libcuda1", "libnvidia-cfg1", "libnvidia-ml1", "libnvidia-gpucomp", "nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-kernel-support",
    "nvidia-modprobe", "nvidia-persistenced", "nvidia-smi",
)  # fmt: skip
SWITCH_PACKAGES = ("nvidia-fabricmanager", "libnvidia-nscq", "libnvsdm")
_RPM_DATABASE = "/var/lib/rpm"
_RPM_QUERY = "%{NAME}\\t%{EPOCH}\\t%{VERSION}-%{RELEASE}\\t%{ARCH}\\t%{VENDOR}\\t%{SOURCERPM}\\n"


def dpkg(
    tree: Tree, packages: Mapping[str, str], *, held: tuple[str, ...] = (), maintainer: str = "Ubuntu Developers <devel@example.invalid>"
) -> None:
    """Add installed packages: name to version (deb-control(5))."""
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[tree.arch]
    for name, version in packages.items():
        tree.append(
            "/var/lib/dpkg/status",
            f"Package: {name}\nStatus: {'hold' if name in held else 'install'} ok installed\nPriority: optional\nSection: misc\n"
            f"Installed-Size: 1024\nMaintainer: {maintainer}\nArchitecture: {arch}\nVersion: {version}\nDescription: {name}\n\n",
        )
    tree.directory("/var/lib/dpkg/updates")
    tree.write("/var/lib/dpkg/lock-frontend")


def set_version(tree: Tree, name: str, version: str) -> None:
    """Another version of an installed package."""
    _set(tree, name, "Version", version)


def release(tree: Tree, name: str) -> None:
    """``apt-mark unhold``."""
    _set(tree, name, "Status", "install ok installed")


def _set(tree: Tree, name: str, key: str, value: str) -> None:
    before = tree.text("/var/lib/dpkg/status")
    start = before.index(f"Package: {name}\n")
    end = before.index("\n\n", start)
    stanza = "\n".join(f"{key}: {value}" if line.startswith(f"{key}: ") else line for line in before[start:end].split("\n"))
    tree.write("/var/lib/dpkg/status", before[:start] + stanza + before[end:])


def automatic(tree: Tree, *names: str) -> None:
    """``apt-mark auto`` (apt's extended states, as ``apt-mark showauto`` reads them)."""
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[tree.arch]
    text = "".join(f"Package: {name}\nArchitecture: {arch}\nAuto-Installed: 1\n\n" for name in names)
    tree.append("/var/lib/apt/extended_states", text)


def cuda_rpm_repository(tree: Tree, distribution: str, *, directory: str = "/etc/yum.repos.d") -> None:
    """The file that NVIDIA's set-up pages have people download, the distribution's own beside it, and that signatures are checked."""
    arch = {"x86_64": "x86_64", "aarch64": "sbsa"}[tree.arch]
    place = f"{MIRROR}/compute/cuda/repos/{distribution}/{arch}"
    tree.write(
        f"{directory}/cuda-{distribution}.repo",
        f"[cuda-{distribution}-{arch}]\nname=cuda-{distribution}-{arch}\nbaseurl={place}\nenabled=1\ngpgcheck=1\ngpgkey={place}/D42D0685.pub\n",
    )
    tree.write(f"{directory}/base.repo", f"[baseos]\nname=BaseOS\nbaseurl={MIRROR}/baseos/$releasever/$basearch/os/\nenabled=1\n")
    if directory.startswith("/etc/yum"):
        tree.write("/etc/dnf/dnf.conf", "[main]\ngpgcheck=1\ninstallonly_limit=3\nclean_requirements_on_remove=True\nbest=True\n")


def files_of(tree: Tree, package: str, *paths: str) -> None:
    """dpkg's list of a package's files."""
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[tree.arch]
    tree.append(f"/var/lib/dpkg/info/{package}:{arch}.list", "".join(f"{path}\n" for path in paths))


def apt(tree: Tree, distribution: str) -> None:
    """The two repositories of NVIDIA's set-up pages with their keyrings (made up), pins and automatic upgrades that leave the driver alone."""
    arch = {"x86_64": "x86_64", "aarch64": "sbsa"}[tree.arch]
    tree.write(_CUDA_KEYRING, formats.public_key("cuda"))
    tree.write(_TOOLKIT_KEYRING, formats.public_key("toolkit"))
    tree.write(
        f"/etc/apt/sources.list.d/cuda-{distribution}-{arch}.list",
        f"deb [signed-by={_CUDA_KEYRING}] {MIRROR}/compute/cuda/repos/{distribution}/{arch}/ /\n",
    )
    tree.write(
        "/etc/apt/sources.list.d/nvidia-container-toolkit.list",
        f"deb [signed-by={_TOOLKIT_KEYRING}] {MIRROR}/libnvidia-container/stable/deb/$(ARCH) /\n",
    )
    tree.write("/etc/apt/preferences.d/cuda-repository-pin-600", "Package: *\nPin: release l=NVIDIA CUDA\nPin-Priority: 600\n")
    tree.write("/etc/apt/apt.conf.d/20auto-upgrades", 'APT::Periodic::Update-Package-Lists "1";\nAPT::Periodic::Unattended-Upgrade "1";\n')
    tree.write(
        "/etc/apt/apt.conf.d/50unattended-upgrades",
        'Unattended-Upgrade::Allowed-Origins {\n\t"${distro_id}:${distro_codename}-security";\n};\n'
        'Unattended-Upgrade::Package-Blacklist {\n\t"nvidia-";\n\t"libnvidia-";\n\t"libcuda";\n\t"cuda-";\n\t"linux-modules-nvidia-";\n};\n',
    )


def pin(tree: Tree, name: str, version: str, *packages: str) -> None:
    """A file of apt preferences that holds `packages` at `version`."""
    stanzas = (f"Package: {package}\nPin: version {version}\nPin-Priority: 1001\n" for package in packages)
    tree.write(f"/etc/apt/preferences.d/{name}", "\n".join(stanzas))


def rpm(tree: Tree, packages: Mapping[str, str], *, vendor: str = "NVIDIA Corporation") -> None:
    """An rpm database that nobody can read, and what rpm would answer about it: name to [epoch:]version-release."""
    tree.write(f"{_RPM_DATABASE}/rpmdb.sqlite", b"SQLite format 3\0")
    question = ("rpm", "--dbpath", _RPM_DATABASE, "-qa", "--queryformat", _RPM_QUERY)
    lines = tree.programs.get(question, "")
    for name, full in packages.items():
        epoch, colon, version = full.rpartition(":")
        lines += f"{name}\t{epoch if colon else '(none)'}\t{version}\t{tree.arch}\t{vendor}\t{name}-{version}.src.rpm\n"
    tree.programs[question] = lines


def rpm_files(tree: Tree, package: str, *paths: str) -> None:
    """Files that rpm would name when asked for those of `package` and others."""
    question = ("rpm", "--dbpath", _RPM_DATABASE, "-q", "--queryformat", "[%{FILENAMES}\\t%{=NAME}\\n]")
    tree.programs[question] = tree.programs.get(question, "") + "".join(f"{path}\t{package}\n" for path in paths)
