"""A driver container owns the driver, and the host has a second driver of its own: the next boot loads the host's.

The driver container then cannot unload it ("Could not unload NVIDIA driver kernel modules, driver is in use") and its pod
restarts forever; or host tools use libraries that do not match the container's module.
"""

from hostagent.check import Findings, Step, check, fail, first_of, need
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel

from ._container import host_libraries


@check(
    title="The driver has one owner: the host or a driver container",
    severity="warning",
    part="",
    since="0.1",
    headline="The driver has two owners: packages of the host and a driver container",
    remedy=(Step("contact_owner", "Keep one: remove the host's packages, or set driver.enabled=false in the GPU Operator."),),
    references=("NVIDIA/gpu-operator issues 126 and 2166",),
    confirm=(
        "ls -a /run/nvidia/driver  # a driver container's files",
        "dpkg -l '*nvidia*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia*' | sort  # RHEL, SUSE",
    ),
)
def container_conflict(driver: Driver, kernel: Kernel) -> Findings:
    if not need(driver.container_driver):
        return
    modules = tuple(need(one.nvidia_path) for one in need(kernel.installed) if need(one.nvidia_path))
    libraries = tuple(one.path for one in host_libraries(driver) if one.cached)
    if modules or libraries:
        yield fail(
            "a driver container runs, and the host has a driver of its own",
            code="two-owners",
            found=first_of((*modules, *libraries)),
            wanted="none on the host",
            evidence=need(driver.container_driver_evidence),
        )
