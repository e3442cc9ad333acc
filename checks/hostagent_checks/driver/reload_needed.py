"""The module on disk is not the one that is loaded: the driver was changed since it was loaded, and a reboot is pending.

What runs keeps running. New processes use the new user libraries with the old module, see `driver.library_match`. Where
the module files are older than this boot, the boot loaded another copy: the initramfs holds an old module, and a
reboot alone changes nothing.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.unread import Unread


@check(
    title="The loaded nvidia module is the one on disk",
    severity="warning",
    since="0.1",
    because=("driver.library_match", "kernel.module_vermagic"),
    headline="The loaded driver is not the one on disk: a reboot is due",
    remedy=(Step("reboot", "Reboot the node."),),
    references=("modinfo(8), fields version and srcversion",),
)
def reload_needed(driver: Driver, kernel: Kernel) -> Findings:
    loaded = need(driver.loaded_version)
    on_disk = need(kernel.at(kernel.release))
    version = need(on_disk.nvidia_version)
    if version == loaded and need(on_disk.nvidia_srcversion) == need(driver.loaded_srcversion):
        return
    if not isinstance(on_disk.indexed_at, Unread) and not isinstance(kernel.booted_at, Unread) and on_disk.indexed_at < kernel.booted_at:
        yield fail(
            f"this boot loaded driver {loaded} although {version} was on disk: the initramfs holds the old module",
            code="old-initramfs",
            found=loaded,
            wanted=version,
            remedy=(
                Step("configure", "Rebuild the initramfs ('update-initramfs -u' or 'dracut --force')."),
                Step("reboot", "Reboot the node."),
            ),
        )
    elif version != loaded:
        yield fail(f"driver {loaded} is loaded, {version} is on disk: a reboot is pending", code="version", found=loaded, wanted=version)
    else:
        yield fail(
            f"another build of driver {version} is on disk than the loaded one, perhaps of the other flavour: a reboot is pending",
            code="srcversion",
            found=need(driver.loaded_srcversion),
            wanted=need(on_disk.nvidia_srcversion),
        )
