"""A kernel has modules and no kernel image: nothing on this disk can boot into it.

Images that are built in containers get headers and DKMS, and so a module, but no kernel package. The GPUs then work only if something
else brings the very kernel that the module was built for. A running kernel without an image was started from elsewhere, as by the
network or the hypervisor, and is not reported while no other kernel has one.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.kernel import Kernel

from ._boot import is_image, judged


@check(
    title="The kernel that the module is for is installed",
    severity="warning",
    since="0.2",
    headline="The kernel that the module is for is not installed",
    remedy=(
        Step(
            "install",
            "Install the kernel package of that release (Debian: linux-image-<kernel>; RHEL: kernel-core-<kernel>; SUSE: "
            "kernel-default), or remove what is left of it below /lib/modules.",
        ),
    ),
    references=("Boot Loader Specification", "kernel-install(8)"),
    confirm=("ls -l /boot/vmlinuz-* /lib/modules",),
)
def image_present(kernel: Kernel) -> Findings:
    if not is_image(kernel) and not need(kernel.images) and not any(need(one.image) for one in need(kernel.installed)):
        skip("this host is not started from kernels of its own disk")
    for one in judged(kernel):
        if not need(one.image):
            yield fail(
                f"kernel {one.release} has modules and no kernel image", code="missing", found="none", wanted=f"vmlinuz-{one.release}"
            )
