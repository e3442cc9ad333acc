"""State of the host that an installation depends on: packages, repositories, files, users of GPUs, keys."""

from collections.abc import Callable
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, need
from hostagent.domains.driver.read_files import FOLDERS, read_files
from hostagent.domains.driver.read_keys import read_enrolled_keys, read_signing_keys
from hostagent.domains.packages.read_all_packages import read_all_packages
from hostagent.domains.packages.read_repositories import read_repositories
from hostagent.domains.runtime.read_docker_containers import read_containers, read_live_restore
from hostagent.domains.system.read_cloud_init import read_cloud_init_drivers
from hostagent.facts.installation import GpuUser, Installation
from hostagent.facts.packages import Packages
from hostagent.facts.runtime import Runtime
from hostagent.host.source import Source

#: Tools that rebuild an initramfs, by path; the first that exists is used.
_INITRAMFS = (
    ("update-initramfs", ("/usr/sbin/update-initramfs", "/usr/bin/update-initramfs")),
    ("dracut", ("/usr/bin/dracut", "/usr/sbin/dracut")),
    ("mkinitrd", ("/usr/sbin/mkinitrd", "/sbin/mkinitrd", "/usr/bin/mkinitrd")),
)


def read_installation(source: Source, known: Callable[[type], Any]) -> Installation:
    packages, runtimes = known(Packages), known(Runtime)
    keys = read_signing_keys(source)
    return Installation(
        packages=read_all_packages(source, packages),
        gpu_users=_gpu_users(source),
        containers=read_containers(source, runtimes),
        live_restore=read_live_restore(source, runtimes),
        cloud_init_drivers=read_cloud_init_drivers(source),
        repositories=read_repositories(source, packages),
        initramfs_tool=_initramfs_tool(source),
        secure_boot_keys=keys,
        enrolled_keys=read_enrolled_keys(source, keys),
        files=read_files(source, runtimes),
        folders=FOLDERS,
    )


def _gpu_users(source: Source) -> "tuple[GpuUser, ...] | Unread":
    rows = source.gpu_users()
    if isinstance(rows, Unread):
        return rows
    found = []
    for row in rows:
        pid, program, device = (row.get(key) for key in ("pid", "program", "device"))
        if type(pid) is not int or not isinstance(program, str) or not isinstance(device, str):
            return Unread("error", f"a GPU user without pid, program or device: {str(row)[:80]}", "gpu_users")
        found.append(GpuUser(pid, program, device))
    return tuple(sorted(found, key=lambda one: one.pid))


@stops_at_unread
def _initramfs_tool(source: Source) -> str:
    return next((name for name, paths in _INITRAMFS if any(need(source.exists(path)) for path in paths)), "")
