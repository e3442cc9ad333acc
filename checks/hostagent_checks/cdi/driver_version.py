"""A CDI specification was made for another driver: it mounts libraries that are gone, or that do not match the loaded module.

Containers fail with "error stat'ing file" or "unresolvable CDI devices", or start and then fail to initialise CUDA. A driver
upgrade leaves it behind, most often as a copy in /etc/cdi, which nothing refreshes.
"""

from hostagent.check import Findings, Unread, check, fail, need, skip, warn
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.cdi_versions import RENEW
from hostagent.facts.cdi import Cdi
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu

from ._specs import others_cover, valid_specs, without_copy


@check(
    title="The CDI specifications were made for the loaded driver",
    severity="critical",
    since="0.1",
    because=("driver.library_match",),
    headline="A CDI specification is for driver {found}, but driver {wanted} is loaded",
    remedy=(RENEW,),
    references=("NVIDIA Container Toolkit issue 1239", "NVIDIA Container Toolkit, support for the Container Device Interface"),
    confirm=(
        "grep -H libcuda.so /etc/cdi/* /var/run/cdi/*",
        "cat /sys/module/nvidia/version  # the loaded driver",
    ),
)
def driver_version(cdi: Cdi, driver: Driver, gpus: tuple[Gpu, ...] | Unread, choice: RuntimeChoice) -> Findings:
    specs = valid_specs(cdi, choice)
    mounting = [spec for spec in specs if spec.library_versions]
    if not mounting:
        skip("no CDI specification mounts a driver library")
    loaded = need(driver.loaded_version)
    for spec in mounting:
        for version in spec.library_versions:
            if version != loaded:
                say = (
                    warn if others_cover(spec, tuple(one for one in mounting if set(one.library_versions) == {loaded}), gpus, cdi) else fail
                )
                yield say(
                    f"{spec.path} is for driver {version}, but driver {loaded} is loaded",
                    code="stale",
                    found=version,
                    wanted=loaded,
                    evidence=(spec.path,),
                    remedy=(*without_copy(spec.path), RENEW),
                )
