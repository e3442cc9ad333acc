"""The kubelet knows NVIDIA's GPUs as a resource and offers none: no pod that asks for a GPU is placed here, without any error on the host.

A device plug-in registers its devices with the kubelet. When its pod ends, or calls every GPU unhealthy, the resource stays, with no
device. The kubelet keeps the resources of plug-ins in its checkpoint, and forgets one some minutes after its plug-in is gone, unless a
container still holds a device of it. Where GPUs are allocated by DRA, and where no plug-in has registered yet, nothing is missing. In the
first minutes of a kubelet its plug-ins register again. Where root alone may read the kubelet's files, other checks of the kubelet say so.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip
from hostagent.facts.host import Identity
from hostagent.facts.kubelet import Kubelet

from ._devices import given

_NVIDIA = "nvidia.com/"


class Params(NamedTuple):
    """start_seconds: how long after its start a kubelet may wait for its plug-ins, seconds"""

    start_seconds: int = 300


@check(
    title="The kubelet offers the GPUs that it knows",
    severity="warning",
    since="0.1",
    part="",
    because=("driver.loaded",),
    headline="The kubelet knows NVIDIA's GPUs, and offers none to pods",
    remedy=(
        Step("restart_service", "Read the log of this node's nvidia-device-plugin pod, and correct what it names."),
        Step("restart_service", "Restart that pod; if it was removed on purpose, restart the kubelet."),
    ),
    references=("NVIDIA device plug-in for Kubernetes", "Kubernetes, Device Plugins"),
    confirm=("cat /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint  # RegisteredDevices", "nvidia-smi -L"),
)
def plugin_gone(kubelet: Kubelet, identity: Identity, params: Params) -> Findings:
    state = given(kubelet)
    if not need(kubelet.runs):
        skip("the kubelet does not run")
    if _is_denied(state.known_resources) and _is_denied(state.cpu_policy):
        skip("the kubelet's files may be read by root alone")
    known = [name for name in need(state.known_resources) if name.startswith(_NVIDIA)]
    if not known:
        skip("no device plug-in of NVIDIA's has registered, or it offers GPUs")
    if any(one.resource.startswith(_NVIDIA) and one.healthy is True for one in need(state.devices)):
        return
    if need(state.dra_only):
        skip("GPUs are allocated by DRA")
    started = kubelet.started_at
    if not isinstance(started, Unread) and need(identity.now) - started < params.start_seconds:
        skip(f"the kubelet started less than {params.start_seconds} s ago: its plug-ins may register again")
    yield fail(
        f"the kubelet knows {first_of(known)}, and no device of it is registered or healthy",
        code="none-offered",
        found="no device",
        wanted="the GPUs of this host",
    )


def _is_denied(value: object) -> bool:
    return isinstance(value, Unread) and value.why == "denied"
