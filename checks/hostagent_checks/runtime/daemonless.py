"""No container runtime is in use here, and none is needed: jobs start their containers by programs without a daemon.

Slurm's jobs do so with Enroot or Apptainer, and users with podman and a CDI specification. This page says only which it is: whether
GPUs reach the containers of Enroot and Apptainer is their own configuration, which is not read.
"""

from hostagent.check import Findings, Step, check, fail, skip
from hostagent.derived.access import podman_has_gpus, slurm_has_containers
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._choice import who_serves


@check(
    title="Containers are started by a runtime with a daemon",
    severity="info",
    since="0.1",
    headline="Containers are started without a daemon",
    remedy=(Step("none", "Nothing, where jobs start no other containers; otherwise install a container runtime and enable its service."),),
    references=("Slurm, Containers Guide", "NVIDIA Container Toolkit, Support for Container Device Interface: podman"),
    confirm=(
        "systemctl status containerd docker crio",
        "ls -l /usr/bin/enroot /usr/bin/apptainer /usr/bin/podman",
    ),
)
def daemonless(runtimes: tuple[Runtime, ...], launchers: Launchers, cdi: Cdi, profile: Profile) -> Findings:
    if profile.runtime.kind == "none":
        skip("the profile wants no container runtime")
    if who_serves(runtimes, launchers, profile).by != "none":
        return
    if slurm_has_containers(launchers):
        yield fail("Slurm's jobs start containers without a daemon", code="slurm", found=launchers.programs, wanted="a container runtime")
    elif podman_has_gpus(cdi, launchers):
        yield fail("containers are podman's, by CDI", code="podman", found=launchers.programs, wanted="a container runtime")
    else:
        skip("nothing starts containers here: runtime.present says so")
