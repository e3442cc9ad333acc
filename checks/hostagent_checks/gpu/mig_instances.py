"""MIG is on and the GPU has no slice: no program can use the GPU, neither whole nor in part.

The mode survives a reboot, the slices do not. Something has to make them again: NVIDIA's mig-parted as a unit of the host, a start script,
or a component of Kubernetes. On a node of Kubernetes slices are made when they are wanted, and `cdi.mig_devices` looks at them; where the
host itself has a unit that makes them there may be none for a moment. It is a warning where another GPU is left for jobs, and where the
profile asks for MIG: a job's prolog may make slices.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.runtime.access import slice_maker
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Services
from hostagent.facts.runtime import Launchers
from hostagent.facts.toolkit import Toolkit
from hostagent.profile import Profile


@check(
    title="A GPU with MIG on has slices",
    severity="critical",
    since="0.1",
    because=("gpu.mig_mode",),
    headline="MIG of {device} is on, and it has no slice",
    remedy=(
        Step("configure", "To use the GPU in slices, make them again (-lgip lists the kinds).", "nvidia-smi mig -i {subject} -cgi 19 -C"),
        Step("reset_gpu", "Or, to use it whole, turn MIG off; before Hopper it then needs a reset.", "nvidia-smi -i {subject} -mig 0"),
    ),
    references=("NVIDIA Multi-Instance GPU User Guide",),
    confirm=("nvidia-smi -L  # lists the MIG devices there are",),
)
def mig_instances(
    gpu: Gpu, gpus: tuple[Gpu, ...], launchers: Launchers, toolkit: Toolkit, services: Services, profile: Profile
) -> Findings:
    if not need(gpu.mig).current or need(gpu.mig_devices):
        return
    if need(launchers.kubelets):
        skip("slices are made for Kubernetes when they are wanted")
    if maker := slice_maker(launchers, toolkit, services):
        skip(f"{maker} makes slices")
    yield fail(
        "MIG is on, and neither NVML nor the driver's own list has a slice of the GPU",
        code="none",
        found="no slice",
        wanted="slices, or MIG off",
        at_most="warning" if profile.gpus.mig == "enabled" or any(_takes_jobs(one) for one in gpus) else None,
    )


def _takes_jobs(gpu: Gpu) -> bool:
    """Without MIG, or in slices. What could not be read takes none."""
    if isinstance(gpu.mig, Unread):
        return gpu.mig.why in NOT_APPLICABLE
    return not gpu.mig.current or (not isinstance(gpu.mig_devices, Unread) and gpu.mig_devices > 0)
