"""SELinux on containers: which runtimes label them, and what the policy allows them."""

from collections.abc import Callable
from typing import Any

from hostagent.core.retention import WHOLE, Keep
from hostagent.core.unread import Unread, then
from hostagent.domains.runtime.read_settings import settings
from hostagent.domains.system.read_os import parse_selinux_boolean
from hostagent.facts.os import Os
from hostagent.facts.runtime import Confinement, Labelling, Runtime
from hostagent.host.source import Source

_BOOLEANS = "/sys/fs/selinux/booleans"
#: Modules for NVIDIA's containers (NVIDIA/dgx-selinux), below the store of each type of policy.
_STORES = tuple(f"/var/lib/selinux/{policy}/active/modules" for policy in ("targeted", "mls"))
#: What ``semanage fcontext`` adds (selabel_file(5)).
_LOCAL_LABELS, _DEVICES = "/etc/selinux/targeted/contexts/files/file_contexts.local", Keep("matches", (r"^/dev/nvidia[^\n]*",))
_PRIORITIES, _MODULES = ("100", "200", "300", "400", "500"), ("nvidia-container", "nvidia_container")


def read_confinement(source: Source, known: Callable[[type], Any]) -> Confinement:
    mode = then(known(Os), lambda one: one.selinux)
    if isinstance(mode, Unread) or mode != "enforcing":
        gap = mode if isinstance(mode, Unread) else Unread("absent", f"SELinux is {mode}")
        return Confinement(gap, gap, gap)
    runtimes = known(Runtime)
    return Confinement(
        runtimes=then(runtimes, lambda those: tuple(_labelling(source, one) for one in those if one.in_use is not False)),
        gpu_devices=_boolean(source, "container_use_xserver_devices"),
        gpu_policy=_has_policy(source),
    )


def _labelling(source: Source, runtime: Runtime) -> Labelling:
    return Labelling(runtime.key, then(settings(source, runtime), lambda one: one.selinux))


def _boolean(source: Source, name: str) -> "bool | Unread":
    return then(source.text(f"{_BOOLEANS}/{name}", keep=WHOLE), parse_selinux_boolean)


def _has_policy(source: Source) -> "bool | Unread":
    """Whether one of the modules is installed, or the administrator labels the devices; unread where the store may not be read."""
    labels = source.text(_LOCAL_LABELS, keep=_DEVICES, absent="")
    if not isinstance(labels, Unread) and "/dev/nvidia" in labels:
        return True
    for store in _STORES:
        if source.exists(store) is False:
            continue
        for priority in _PRIORITIES:
            for module in _MODULES:
                found = source.exists(f"{store}/{priority}/{module}")
                if isinstance(found, Unread) or found:
                    return found
    return False
