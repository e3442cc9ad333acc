"""Who answers what a live host is asked: the lanes, and the domains' own questions. What answers is imported when it is asked."""

from collections.abc import Sequence

from hostagent.core.answers import Answer
from hostagent.core.deadline import Deadline
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.domains.gpu.read_nvidia_worker import NVIDIA
from hostagent.domains.network.read_network_worker import NETWORK
from hostagent.domains.network.read_rdma_worker import RDMA
from hostagent.host.live import Domains, LiveBackend
from hostagent.sandbox.worker import HungWorker, Worker


def live_backend(
    root: str = "/",
    kind: Kind = "live",
    *,
    workers: "Sequence[Worker | HungWorker]" = (),
    deadline: Deadline | None = None,
    kernel: str = "",
) -> LiveBackend:
    """The backend of a real host, with all that the domains answer."""
    backend = LiveBackend(root, kind, DOMAINS, workers=workers, deadline=deadline)
    backend.kernel = kernel
    return backend


def _run(host: LiveBackend, *argv: str) -> "Answer | Unread":
    """Rpm reads a copy of its database; every other program runs as it is."""
    if argv[:2] != ("rpm", "--dbpath"):
        return host.run(*argv)
    from hostagent.domains.packages.read_rpm_copy import ask_rpm

    place = None if host.kind == "image" or host.root.simulated else host.program("rpm")
    return ask_rpm(host.files, argv, host.program_timeout_s, host.root.path, place)


def _gpu_users(host: LiveBackend) -> "Answer | Unread":
    from hostagent.domains.driver.read_gpu_users import gpu_users

    return gpu_users(host.root, host.own_pids)


def _shims(host: LiveBackend) -> "Answer | Unread":
    from hostagent.domains.runtime.read_container_shims import shims

    return shims(host.root)


def _enrolled(host: LiveBackend, *paths: str) -> "Answer | Unread":
    from hostagent.domains.driver.read_mok import enrolled

    return enrolled(host.files, paths)


def _podresources(host: LiveBackend, *_: str) -> "Answer | Unread":
    from hostagent.domains.kubelet.read_podresources import ask

    return ask(host.root)


def _configz(host: LiveBackend, address: str, ca: str, token_file: str) -> "Answer | Unread":
    from hostagent.domains.kubelet.read_configz import ask

    if host.root.simulated:
        return Unread("error", "configz is not asked: this is no live host")
    return ask(host.files, address, ca, token_file)


def _modinfo(host: LiveBackend, path: str) -> "Answer | Unread":
    from hostagent.domains.driver.read_modinfo import modinfo

    return host.files.open_and(path, lambda descriptor, size: modinfo(descriptor, path, size))


def _nccl_library(host: LiveBackend, path: str) -> "Answer | Unread":
    from hostagent.domains.nccl.read_elf import nccl_library

    return host.files.open_and(path, lambda descriptor, size: nccl_library(descriptor, path, size))


def _state_file(host: LiveBackend, path: str) -> "Answer | Unread":
    from hostagent.domains.kubelet.state_file import MAX_BYTES, judged

    data = host.files.read(path, str(MAX_BYTES))
    return judged(path, data) if isinstance(data, bytes) else data


DOMAINS = Domains(
    (NVIDIA, RDMA, NETWORK),
    {
        "run": _run,
        "gpu_users": _gpu_users,
        "shims": _shims,
        "enrolled": _enrolled,
        "podresources": _podresources,
        "configz": _configz,
        "modinfo": _modinfo,
        "nccl_library": _nccl_library,
        "state_file": _state_file,
    },
)
