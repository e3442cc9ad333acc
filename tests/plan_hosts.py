"""Made hosts for plans: what a view of a healthy host of each distribution has, without anything of NVIDIA's, and what is laid over it.

Names and versions of kernels are those of the distributions' packages. What a case does not name stays as it is here.
"""

from collections.abc import Mapping
from typing import Any

from hostagent.core.typed import build
from hostagent.core.unread import Unread
from hostagent.facts.accounts import Accounts
from hostagent.facts.cdi import Cdi
from hostagent.facts.cuda import Cuda
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Identity, Machine, Services, Storage
from hostagent.facts.installation import Installation
from hostagent.facts.kernel import Kernel
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.plan.view import View

NOW = 1_780_000_000.0
_ABSENT = {"unread": "absent", "detail": ""}
_UNITS = (
    *(
        "nvidia-persistenced",
        "nvidia-fabricmanager",
        "nvidia-imex",
        "nvidia-cdi-refresh",
        "nvidia-cdi-refresh.path",
        "containerd",
        "docker",
    ),
    *("docker.socket", "crio", "k3s", "k3s-agent", "rke2-server", "rke2-agent", "kubelet", "unattended-upgrades", "dnf-automatic.timer"),
)
#: Whose files are all among the facts.
FOLDERS = (
    *(
        "/etc/apt/sources.list.d",
        "/etc/apt/preferences.d",
        "/etc/apt/apt.conf.d",
        "/etc/modprobe.d",
        "/etc/modules-load.d",
        "/etc/containerd",
    ),
    *("/etc/containerd/conf.d", "/etc/docker", "/etc/crio/crio.conf.d", "/etc/yum.repos.d", "/etc/zypp/repos.d", "/etc/tdnf/locks.d"),
)
#: PCI ids of boards by the name that a case gives.
GPUS = {"H100": "0x2330", "A100": "0x20b2", "B200": "0x2901", "GH200": "0x2342", "GB200": "0x2941", "V100": "0x1db6", "P100": "0x15f8",
        "L4": "0x27b8", "unknown": "0x9999"}  # fmt: skip
#: Distribution, version, name, package database, kernel, and the packages of that kernel: (name, version).
DISTRIBUTIONS: Mapping[str, tuple[str, str, str, str, str, tuple[tuple[str, str], ...]]] = {
    "ubuntu2204": ("ubuntu", "22.04", "Ubuntu 22.04.5 LTS", "dpkg", "5.15.0-160-generic",
                   (("linux-image-5.15.0-160-generic", "5.15.0-160.170"), ("linux-image-generic", "5.15.0.160.159"))),
    "ubuntu2404": ("ubuntu", "24.04", "Ubuntu 24.04.3 LTS", "dpkg", "6.8.0-87-generic",
                   (("linux-image-6.8.0-87-generic", "6.8.0-87.88"), ("linux-image-generic", "6.8.0-87.88"))),
    "debian12": ("debian", "12", "Debian GNU/Linux 12 (bookworm)", "dpkg", "6.1.0-41-amd64",
                 (("linux-image-6.1.0-41-amd64", "6.1.158-1"), ("linux-image-amd64", "6.1.158-1"))),
    "debian13": ("debian", "13", "Debian GNU/Linux 13 (trixie)", "dpkg", "6.12.57+deb13-amd64",
                 (("linux-image-6.12.57+deb13-amd64", "6.12.57-1"), ("linux-image-amd64", "6.12.57-1"))),
    "rocky8": ("rocky", "8.10", "Rocky Linux 8.10 (Green Obsidian)", "rpm", "4.18.0-553.81.1.el8_10.x86_64", (("kernel", "4.18.0-553.81.1.el8_10"),)),
    "rocky9": ("rocky", "9.6", "Rocky Linux 9.6 (Blue Onyx)", "rpm", "5.14.0-570.52.1.el9_6.x86_64", (("kernel", "5.14.0-570.52.1.el9_6"),)),
    "rocky10": ("rocky", "10.0", "Rocky Linux 10.0 (Red Quartz)", "rpm", "6.12.0-55.39.1.el10_0.x86_64", (("kernel", "6.12.0-55.39.1.el10_0"),)),
    "amzn2023": ("amzn", "2023", "Amazon Linux 2023.9.20250929", "rpm", "6.1.153-175.280.amzn2023.x86_64", (("kernel", "6.1.153-175.280.amzn2023"),)),
    "sles15": ("sles", "15.7", "SUSE Linux Enterprise Server 15 SP7", "rpm", "6.4.0-150700.53.19-default",
               (("kernel-default", "6.4.0-150700.53.19.1"),)),
    "azurelinux3": ("azurelinux", "3.0", "Microsoft Azure Linux 3.0", "rpm", "6.6.104.2-4.azl3", (("kernel", "6.6.104.2-4.azl3"),)),
    "fedora42": ("fedora", "42", "Fedora Linux 42 (Server Edition)", "rpm", "6.16.9-200.fc42.x86_64", (("kernel-core", "6.16.9-200.fc42"),)),
}  # fmt: skip


def made_view(name: str = "ubuntu2404", gpus: "list[str] | None" = None, arch: str = "x86_64", **facts: Mapping[str, Any]) -> View:
    """The host `name` with these boards; `facts` are laid over it by the view's field names: ``driver={"loaded": True}``.

    A fact of several is replaced: ``runtimes=[{…}]``; one that is ``{"unread": …}`` has no fields.
    """
    id_, version, pretty, manager, kernel, of_kernel = DISTRIBUTIONS[name]
    kernel = kernel.replace("x86_64", arch) if manager == "rpm" else kernel.replace("amd64", "arm64") if arch == "aarch64" else kernel
    disk = {"path": "/", "holds": ["/", "/usr", "/var", "/boot"], "free_bytes": 200 * 2**30, "free_inodes": 10**7}
    base: dict[str, Any] = {
        "identity": {"hostname": "node1", "boot_id": "b", "now": NOW, "kernel": kernel, "simulated": False},
        "os": {"id": id_, "version_id": version, "pretty_name": pretty, "arch": arch, "selinux": "disabled", "selinux_container_devices": _ABSENT},
        "platform": _platform(),
        "packages": _packages(manager, of_kernel, arch),
        "installation": _installation(of_kernel, arch, "dracut" if manager == "rpm" else "update-initramfs"),
        "kernel": _kernel(kernel),
        "services": {"units": [_unit(one) for one in _UNITS]},
        "storage": {"filesystems": [disk], "shm_bytes": 2**36},
        "machine": _machine(),
        "driver": _driver(),
        "gpus": [_gpu(number, GPUS[board]) for number, board in enumerate(["H100"] * 2 if gpus is None else gpus)],
        "fabric": {"nvswitches": [], "driver_nvswitches": _ABSENT, "nvlink5_managers": [], "manager_log_errors": _ABSENT,
                   "manager_configured": _ABSENT, "imex_nodes": _ABSENT, "imex_channels": []},
        "toolkit": _toolkit(),
        "runtimes": [],
        "launchers": {"kubelets": [], "slurmd": False, "programs": [], "docker_hook": False, "plugin_sockets": [], "mounted_libraries": []},
        "cdi": _cdi(),
        "cuda": {"toolkits": [], "default": ""},
        "accounts": {"docker_group": False, "docker_members": [], "users": ["root", "ubuntu"], "has_other_users": False},
    }  # fmt: skip
    return viewed({field: _laid(value, facts.get(field)) for field, value in base.items()})


def viewed(facts: Mapping[str, Any], kind: Any = "live") -> View:
    """A view of plain facts by field name; what is not named of one is not-recorded."""
    kinds: dict[str, Any] = {
        "identity": Identity, "os": Os, "platform": Platform, "packages": Packages, "installation": Installation, "kernel": Kernel,
        "services": Services, "storage": Storage, "machine": Machine, "driver": Driver, "fabric": Fabric, "toolkit": Toolkit, "launchers": Launchers, "cdi": Cdi,
        "cuda": Cuda, "accounts": Accounts,
    }  # fmt: skip
    made = {
        field: build(kinds[field] | Unread, facts[field], field) if _is_unread(facts[field]) else _built(kinds[field], facts[field])
        for field in kinds
    }
    several = {"gpus": Gpu, "runtimes": Runtime}
    for field, one in several.items():
        value = facts[field]
        made[field] = build(one | Unread, value, field) if _is_unread(value) else tuple(_built(one, row) for row in value)
    return View(kind=kind, **made)


def _built(kind: Any, value: Any) -> Any:
    return build(kind, value, kind.__name__, lambda field: Unread("not-recorded", f"the case does not name {field}"))


def _is_unread(value: Any) -> bool:
    return isinstance(value, Mapping) and "unread" in value


def _laid(value: Any, over: Any) -> Any:
    return (
        value
        if over is None
        else {**value, **over}
        if isinstance(over, Mapping) and isinstance(value, dict) and not _is_unread(over)
        else over
    )


def _platform() -> dict[str, Any]:
    own = {"place": "", "owner": "host"}
    parts = dict.fromkeys(("gpus", "driver", "libraries", "toolkit", "runtime", "kubelet", "rdma"), own)
    return {"name": "", "base": "host", "virtual": "", "contained": False, "operator": [], **parts,
            "library_directories": [], "firmware_directories": [], "module_archives": []}  # fmt: skip


def package(name: str, version: str, origin: str = "distribution", arch: str = "amd64", **fields: Any) -> dict[str, Any]:
    """Of ``packages.installed``."""
    upstream = version.partition(":")[2] or version
    return {
        "name": name,
        "version": version,
        "upstream": upstream.partition("-")[0],
        "arch": arch,
        "state": "installed",
        "held": False,
        "origin": origin,
        **fields,
    }


def installed(name: str, version: str, arch: str = "amd64", **fields: Any) -> dict[str, Any]:
    """Of ``installation.packages``."""
    return {"name": name, "version": version, "arch": arch, "state": "installed", "held": False, "automatic": False, **fields}


def _packages(manager: str, of_kernel: tuple[tuple[str, str], ...], arch: str) -> dict[str, Any]:
    apt = manager == "dpkg"
    none: Any = _ABSENT
    return {
        "manager": manager, "installed": [package(name, version, arch=arch) for name, version in of_kernel], "interrupted": False, "locks": [],
        "ignored_preferences": [], "apt_sources": [] if apt else none, "apt_keys": [] if apt else none, "apt_version": "2.7.14" if apt else none,
        "apt_sqv": False if apt else none, "unattended_upgrades": False, "unattended_blacklist": [], "unattended_origins": [], "module_streams": [],
    }  # fmt: skip


def _installation(of_kernel: tuple[tuple[str, str], ...], arch: str, initramfs: str) -> dict[str, Any]:
    return {
        "packages": [installed(name, version, arch=arch) for name, version in of_kernel], "gpu_users": [], "containers": 0, "live_restore": False,
        "cloud_init_drivers": [], "repositories": [], "initramfs_tool": initramfs, "secure_boot_keys": [], "enrolled_keys": [], "files": [], "folders": list(FOLDERS),
    }  # fmt: skip


def _kernel(release: str) -> dict[str, Any]:
    nothing = dict.fromkeys(
        ("nvidia_version", "nvidia_license", "nvidia_vermagic", "nvidia_srcversion", "nvidia_owner", "nvidia_signer"), _ABSENT
    )
    one = {
        "release": release, "image": f"/boot/vmlinuz-{release}", "vermagic": f"{release} SMP mod_unload", "nvidia_path": "", "nvidia_named": [],
        **nothing, "nouveau": False, "indexed_at": NOW - 1e6, "headers": False, "initramfs": f"/boot/initrd.img-{release}", "initramfs_mtime": NOW - 1e6,
    }  # fmt: skip
    return {
        "release": release, "installed": [one], "next_release": release, "images": [release], "booted_at": NOW - 1e5, "loaded_modules": ["ext4"],
        "secure_boot": False, "module_signatures_enforced": False, "nouveau_blacklisted": True, "nouveau_blacklist_mtime": NOW - 2e6, "log": [],
    }  # fmt: skip


def _unit(name: str) -> dict[str, Any]:
    return {"name": name, "exists": False, "state": _ABSENT, "enabled": False, "masked": False, "active": False, "text": _ABSENT}


def _machine() -> dict[str, Any]:
    return {
        "memlock_bytes": -1, "memlock_origin": "", "clock_synchronised": True, "time_daemon": "chronyd",
        "reboot_required": False, "reboot_reasons": [], "package_lock_holder": "", "cloud_init_running": False, "processes": [],
        "listening_sockets": [], "unseen_sockets": [],
    }  # fmt: skip


def _driver() -> dict[str, Any]:
    lists = (
        "module_options",
        "libraries",
        "gsp_firmware",
        "dkms",
        "runfile_traces",
        "container_driver_evidence",
        "device_nodes",
        "char_links",
        "char_majors",
    )
    unread = ("loaded_version", "loaded_srcversion", "flavour", "proc_version", "refcount", "parameters", "nvml_error_code", "nvml_driver_version",
              "cuda_driver_version")  # fmt: skip
    return {
        "loaded": False, **dict.fromkeys(unread, _ABSENT), **{name: [] for name in lists}, "container_driver": False, "nodes_on_demand": False,
        "persistenced_socket": False, "cuda_toolkit_version": "",
    }  # fmt: skip


def _gpu(number: int, device_id: str) -> dict[str, Any]:
    return {
        "pci": f"0000:{0x1B + 16 * number:02x}:00.0",
        "on_pci": True,
        "device_id": device_id,
        "vga": False,
        "bound_to": "",
        "driver_override": "",
    }


def _toolkit() -> dict[str, Any]:
    unread = (
        "version",
        "config_path",
        "config_error",
        "mode",
        "ldconfig",
        "allows_any_ldconfig",
        "root",
        "no_cgroups",
        "runtimes",
        "runtimes_found",
    )
    return {"packages": [], "binaries": [], **dict.fromkeys(unread, _ABSENT), "operator_version": ""}


def _cdi() -> dict[str, Any]:
    return {
        "specs": [], "devices": [], "duplicates": [], "etc_is_volatile": False, "generated": False, "refresh_enabled": False,
        "refresh_result": _ABSENT, "refresh_after_target": False, "refresh_cycles": [],
    }  # fmt: skip
