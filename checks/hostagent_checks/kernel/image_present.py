"""A kernel has modules and no kernel image: nothing on this disk can boot into it.

Images that are built in containers get headers and DKMS, and so a module, but no kernel package. The GPUs then work only if something
else brings the very kernel that the module was built for. A running kernel without an image was started from elsewhere, as by the
network or the hypervisor, and is not reported while no other kernel has one.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.packages.commands import install_kernel
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

from ._boot import is_image, judged


@check(
    title="Each kernel with an nvidia module is itself installed",
    severity="warning",
    since="0.2",
    headline="A kernel has modules, but is not installed itself",
    remedy=(Step("install", "Install that kernel, or remove what is left of it below /lib/modules."),),
    references=("Boot Loader Specification", "kernel-install(8)"),
    confirm=("ls -l /boot/vmlinuz-* /lib/modules",),
)
def image_present(kernel: Kernel, packages: Packages | Unread, os: Os | Unread) -> Findings:
    if not is_image(kernel) and not need(kernel.images) and not any(need(one.image) for one in need(kernel.installed)):
        skip("this host is not started from kernels of its own disk")
    for one in judged(kernel):
        if not need(one.image):
            text = f"kernel {one.release} has modules, and its image is missing"
            install = Step(
                "install",
                "Install that kernel, or remove what is left of it below /lib/modules.",
                install_kernel(packages, os, one.release),
            )
            yield fail(text, code="missing", found="none", wanted=f"vmlinuz-{one.release}", remedy=(install,))
