"""No container runtime is in use here, and none is needed: jobs start their containers by programs without a daemon.

Slurm's jobs do so with Enroot or Apptainer, and users with podman and a CDI specification. This check says only which it is: whether
GPUs reach the containers of Enroot and Apptainer is their own configuration, which is not read.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.runtime.access import podman_has_gpus, slurm_has_containers
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.cdi import Cdi


@check(
    title="A runtime with a daemon starts the containers",
    severity="info",
    since="0.1",
    headline="Jobs start their containers without a daemon",
    remedy=(Step("none", "Nothing, if that is how jobs start containers; else install a container runtime."),),
    references=("Slurm, Containers Guide", "NVIDIA Container Toolkit, Support for Container Device Interface: podman"),
    confirm=(
        "systemctl status containerd docker crio",
        "ls -l /usr/bin/enroot /usr/bin/apptainer /usr/bin/podman",
    ),
)
def daemonless(choice: RuntimeChoice, cdi: Cdi) -> Findings:
    launchers = choice.launchers
    if choice.profile.runtime.kind == "none":
        skip("the profile asks for no container runtime")
    if choice.serving.by != "none":
        return
    if slurm_has_containers(launchers):
        yield fail(
            f"Slurm jobs start containers with {', '.join(need(launchers.programs))}, not through a daemon",
            code="slurm",
            found=launchers.programs,
            wanted="a container runtime",
        )
    elif podman_has_gpus(cdi, launchers):
        yield fail(
            "podman starts containers here, and gives them GPUs by CDI",
            code="podman",
            found=launchers.programs,
            wanted="a container runtime",
        )
    else:
        skip("nothing starts containers here; runtime.present checks that")
