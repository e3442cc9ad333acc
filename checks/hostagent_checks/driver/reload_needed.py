"""The module on disk is not the one that is loaded: the driver was changed since it was loaded, and a reboot is pending.

What runs keeps running. New processes use the new user libraries with the old module, see `driver.library_match`. If
the module files are older than this boot, the boot loaded another copy: the initramfs contains an old module, and a
reboot alone changes nothing.
"""

from hostagent.check import Findings, Unread, check, fail, need
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.boot import rebuild_initramfs
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages


@check(
    title="The loaded nvidia module is the one on disk",
    severity="warning",
    since="0.1",
    because=("driver.library_match", "kernel.module_vermagic"),
    headline="The loaded driver is not the one on disk",
    remedy=(REBOOT,),
    references=("modinfo(8), fields version and srcversion",),
    confirm=(
        "cat /sys/module/nvidia/version  # the loaded driver",
        "modinfo -F version nvidia  # the module on disk",
    ),
)
def reload_needed(driver: Driver, kernel: Kernel, packages: Packages | Unread) -> Findings:
    loaded = need(driver.loaded_version)
    on_disk = need(kernel.at(kernel.release))
    version = need(on_disk.nvidia_version)
    if version == loaded and need(on_disk.nvidia_srcversion) == need(driver.loaded_srcversion):
        return
    if not isinstance(on_disk.indexed_at, Unread) and not isinstance(kernel.booted_at, Unread) and on_disk.indexed_at < kernel.booted_at:
        is_same = version == loaded
        yield fail(
            f"this boot loaded {_named(loaded, version)}: the initramfs still has the old module",
            code="old-initramfs",
            found=need(driver.loaded_srcversion) if is_same else loaded,
            wanted=need(on_disk.nvidia_srcversion) if is_same else version,
            remedy=(rebuild_initramfs(packages, on_disk.release), REBOOT),
            headline=f"The initramfs still has another {'build of the driver' if is_same else 'driver'} than the disk",
        )
    elif version != loaded:
        yield fail(f"driver {loaded} is loaded, but {version} is on disk", code="version", found=loaded, wanted=version)
    else:
        yield fail(
            f"the disk has another build of driver {version} than the loaded one, perhaps of the other flavour",
            code="srcversion",
            found=need(driver.loaded_srcversion),
            wanted=need(on_disk.nvidia_srcversion),
        )


def _named(loaded: str, on_disk: str) -> str:
    if loaded == on_disk:
        return f"another build of driver {loaded} than the one on disk"
    return f"driver {loaded}, although {on_disk} was on disk"
