"""What device plug-ins have registered with the kubelet, by GPU."""

from hostagent.check import need, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Device, Kubelet, KubeletState

from ._host import skip_without


def given(kubelet: Kubelet) -> KubeletState:
    """The check does not apply where there is no kubelet."""
    skip_without(kubelet)
    return need(kubelet.given)


def of_gpu(gpu: Gpu, devices: tuple[Device, ...]) -> tuple[Device, ...]:
    """The devices that are this GPU as a whole; the check does not apply where no plug-in names one by its UUID.

    NVIDIA's plug-in does, with ``::3`` behind it for the third that share a GPU; GKE's calls them nvidia0, and parts of a GPU are MIG-….
    """
    if not any(one.id.startswith("GPU-") for one in devices):
        skip("no device plug-in has registered a GPU by its UUID")
    uuid = need(gpu.uuid)
    return tuple(one for one in devices if one.id.partition("::")[0] == uuid)
