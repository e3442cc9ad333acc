"""A CDI specification has a major number for /dev/nvidia-uvm that the kernel no longer uses for it.

The number is dynamic: it can differ after each boot. Containers then get a node that leads nowhere, and cuInit ends with
999 inside them while everything works outside.
"""

from hostagent.check import Findings, Unread, check, fail, need, warn
from hostagent.domains.driver.boot import load_at_boot
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.cdi_versions import RENEW
from hostagent.facts.cdi import Cdi
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu

from ._specs import others_cover, valid_specs, without_copy


@check(
    title="The CDI specifications have the kernel's number for nvidia-uvm",
    severity="critical",
    since="0.1",
    headline="A CDI specification has the wrong device number for nvidia-uvm",
    remedy=(
        load_at_boot("nvidia-uvm"),
        RENEW,
    ),
    references=("NVIDIA Container Toolkit issue 1934", "proc_devices(5)"),
    confirm=(
        "grep nvidia-uvm /proc/devices",
        "ls -l /dev/nvidia-uvm",
        "grep -A3 -w nvidia-uvm /etc/cdi/* /var/run/cdi/*",
    ),
)
def uvm_major(cdi: Cdi, driver: Driver, gpus: tuple[Gpu, ...] | Unread, choice: RuntimeChoice) -> Findings:
    specs = valid_specs(cdi, choice)
    for spec in specs:
        for major in spec.uvm_majors:
            current = [number for name, number in need(driver.char_majors) if name == "nvidia-uvm"]
            if major not in current:
                now = ", ".join(str(number) for number in current) or "none: nvidia-uvm is not loaded"
                right = tuple(one for one in specs if set(one.uvm_majors) <= set(current))
                say = warn if others_cover(spec, right, gpus, cdi) else fail
                yield say(
                    f"{spec.path} has major {major} for nvidia-uvm, the kernel has {now}",
                    code="other-major",
                    found=major,
                    wanted=now,
                    evidence=(spec.path,),
                    remedy=(*without_copy(spec.path), load_at_boot("nvidia-uvm"), RENEW),
                )
