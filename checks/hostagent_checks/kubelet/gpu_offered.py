"""The device plug-in does not offer a GPU to pods, or calls it unhealthy: the node has fewer GPUs for jobs than the host.

NVIDIA's device plug-in takes a GPU for unhealthy after certain Xids, until it is started again, and leaves out those that its configuration
does not name. The scheduler counts what is left: a job that takes all GPUs of the host is never placed here, without any error on the host.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Kubelet

from ._devices import given, of_gpu

_LOG = Step("restart_service", "Read the log of this node's nvidia-device-plugin pod, and restart it.")


@check(
    title="The kubelet offers the GPU to pods",
    severity="warning",
    since="0.1",
    because=(
        "gpu.on_bus",
        "gpu.lost",
        "gpu.xid",
        "gpu.initialised",
        "gpu.init_failed",
        "gpu.bound",
        "gpu.passthrough",
        "gpu.excluded",
    ),
    headline="The kubelet does not offer {device} to pods",
    remedy=(_LOG,),
    references=("NVIDIA device plug-in for Kubernetes", "Kubernetes, Device Plugins"),
    confirm=("cat /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint  # RegisteredDevices", "nvidia-smi -L"),
)
def gpu_offered(gpu: Gpu, kubelet: Kubelet) -> Findings:
    devices = need(given(kubelet).devices)
    mine = of_gpu(gpu, devices)
    if not mine:
        mig = gpu.mig
        if isinstance(mig, Unread) and mig.why not in NOT_APPLICABLE:
            need(mig)
        if not isinstance(mig, Unread) and mig.current:
            skip("the GPU is offered in parts (MIG)")
        yield fail(
            "no device plug-in has registered it with the kubelet", code="not-registered", found="not registered", wanted="registered"
        )
    elif not all(need(one.healthy) for one in mine):
        yield fail("the device plug-in calls it unhealthy", code="unhealthy", found="unhealthy", wanted="healthy")
