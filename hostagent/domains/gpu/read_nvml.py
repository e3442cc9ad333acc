"""NVML: the table of questions, and their calls. Runs only in the worker.

Questions, as ``source.nvml(…)`` asks them and a recording stores them (``nvml device 0 name``)::

    init                       true
    driver_version             "580.95.05"
    cuda_version               13000
    nvml_version               "13.580.95.05"
    device_count               8
    confidential               [1 where confidential computing is on, 1 where its GPUs take work]
    drain ADDRESS              1 where an administrator drains the GPU at ADDRESS, which NVML then no longer lists
    device INDEX NAME          NAME is one of DEVICE below; INDEX counts from "0" and is not stable over boots

An NVML error is an ``Unread`` with a detail that starts with nvmlReturn_t's number: ``15 GPU is lost (nvmlDeviceGetName)``.
"""

import contextlib
import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread
from hostagent.domains.gpu.nvml_errors import CORRUPTED_INFOROM, INVALID_ARGUMENT, NOT_SUPPORTED, why
from hostagent.domains.gpu.read_nvml_gate import driver_root
from hostagent.domains.gpu.read_nvml_library import LIBRARY, Loader
from hostagent.domains.gpu.read_nvml_times import FIRST_INIT_S
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.sandbox.worker_spec import CALL_S, ENTERING, LOAD_S, LOADING, SANDBOX, Ask, Rights

_GPUS = "/proc/driver/nvidia/gpus"
_CONFIDENTIAL, _DRAIN = "nvmlSystemGetConfComputeGpusReadyState", "nvmlDeviceQueryDrainState"
PERSISTENCE_SOCKET = "/run/nvidia-persistenced/socket"
#: Calls that every GPU answers, and the one that starts NVML; all others may not apply to a GPU.
_AT: dict[str, Literal["start", "call", "identity"]] = {
    "nvmlInit": "start",
    "nvmlDeviceGetHandleByIndex": "identity",
    "nvmlDeviceGetPciInfo": "identity",
}
_UNCORRECTED, _VOLATILE, _AGGREGATE = 1, 0, 1
_RECOVERY_ACTION_FIELD = 230
#: NVML_P2P_CAPS_INDEX_READ and _WRITE.
_READ_AND_WRITE = (0, 1)
_NOT_FOUND = 6


class Question(NamedTuple):
    name: str
    function: str  # NVML's name, for messages
    read: Callable[[Any, Any], Answer]  # (pynvml, device handle)


def answer_all(ask: Ask, files: Files, root: Root, rights: Rights) -> "Unread | None":
    """Asks all questions. Returns the reason if none could be asked."""
    socket = ask((), f"stat {PERSISTENCE_SOCKET}", partial(files.stat, PERSISTENCE_SOCKET))
    addresses = ask((), f"list {_GPUS}", partial(files.list, _GPUS))
    awake = isinstance(socket, dict) and socket["kind"] == "socket"
    first_s = CALL_S if awake else FIRST_INIT_S
    pynvml = ask((), f"{LOADING} the NVML binding", _binding, LOAD_S)
    loader = Loader(driver_root(root), rights)
    sandbox = ask(SANDBOX, ENTERING, loader.enter, LOAD_S)
    problem: Unread | None = (
        sandbox if isinstance(sandbox, Unread) else ask((), f"{LOADING} {LIBRARY}", partial(loader.load, pynvml), LOAD_S)
    )
    if problem is None:
        call_nvml = partial(_call, pynvml)
        started = ask(("nvml", "init"), "nvmlInit", partial(call_nvml, "nvmlInit", pynvml.nvmlInitWithFlags, 0), first_s)
        problem = started if isinstance(started, Unread) else None
    if problem is not None:
        return problem
    for name, function in _SYSTEM:
        ask(("nvml", name), function, partial(call_nvml, function, getattr(pynvml, function)))
    ask(("nvml", "confidential"), _CONFIDENTIAL, partial(call_nvml, _CONFIDENTIAL, _confidential, pynvml))
    count = ask(("nvml", "device_count"), "nvmlDeviceGetCount", partial(call_nvml, "nvmlDeviceGetCount", pynvml.nvmlDeviceGetCount))
    handles: dict[int, Any] = {}
    for index in range(0 if isinstance(count, Unread) else count):
        label = f"nvmlDeviceGetHandleByIndex {index}"  # the call that wakes this GPU
        ask(("nvml", "device", str(index), "handle"), label, partial(_handle, pynvml, index, handles), first_s)
    for question in DEVICE:
        for index, handle in handles.items():
            call = partial(call_nvml, question.function, question.read, pynvml, handle)
            if question.name == "persistence" and awake and not sandbox["sockets"]:
                call = partial(_without_daemon, call)
            ask(("nvml", "device", str(index), question.name), f"{question.function} {index}", call)
    for address in addresses if isinstance(addresses, list) else ():
        ask(("nvml", "drain", address), f"{_DRAIN} {address}", partial(call_nvml, _DRAIN, _drain, pynvml, address))
    return None


def shut_down() -> None:
    """Shuts NVML down, which would otherwise keep the kernel module in use until the process ends."""
    import sys

    pynvml = sys.modules.get("pynvml")
    if pynvml is not None:
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _binding() -> Any:
    import pynvml

    return pynvml


def _call(pynvml: Any, function: str, call: Callable[..., Answer], *arguments: Any) -> "Answer | Unread":
    try:
        answer = call(*arguments)
    except pynvml.NVMLError as error:
        return Unread(why(error.value, _AT.get(function, "call")), f"{error.value} {error} ({function})")
    except UnicodeDecodeError as error:  # NVML itself succeeded (0)
        return Unread("error", f"0 {error} ({function})")
    except Exception as error:  # the binding's own failures: a missing function, a rejected argument
        return Unread("error", f"{function}: {type(error).__name__}: {error}")
    return True if answer is None else answer


def _without_daemon(call: Callable[[], Answer]) -> "Answer | Unread":
    """NVML asks the persistence daemon first; without it, it returns the driver's own mode, which is off even if the daemon's is on."""
    answer = call()
    if not isinstance(answer, Unread) and answer == 0:
        return Unread("denied", f"{PERSISTENCE_SOCKET} is out of reach where device nodes are not everybody's to open")
    return answer


def _handle(pynvml: Any, index: int, handles: dict[int, Any]) -> "Answer | Unread":
    handle = _call(pynvml, "nvmlDeviceGetHandleByIndex", pynvml.nvmlDeviceGetHandleByIndex, index)
    if isinstance(handle, Unread):
        return handle
    handles[index] = handle
    return True


def _pci(pynvml: Any, device: Any) -> Answer:
    info = pynvml.nvmlDeviceGetPciInfo(device)
    address = info.busId.decode("ascii") if isinstance(info.busId, bytes) else info.busId
    return {"bus_id": address, "device_id": info.pciDeviceId, "subsystem_id": info.pciSubSystemId}


def _processes(pynvml: Any, device: Any) -> Answer:
    """How many compute, graphics and MPS processes NVML lists."""
    kinds = ("Compute", "Graphics", "MPSCompute")
    return [len(getattr(pynvml, f"nvmlDeviceGet{kind}RunningProcesses")(device)) for kind in kinds]


def _memory_use(pynvml: Any, device: Any) -> Answer:
    """Bytes in use, without those that the driver reserves: the second version of the call alone separates them."""
    return pynvml.nvmlDeviceGetMemoryInfo(device, version=pynvml.nvmlMemory_v2).used


def _mig_devices(pynvml: Any, device: Any) -> Answer:
    """How many MIG devices the GPU is cut into."""
    count = 0
    for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(device)):
        try:
            pynvml.nvmlDeviceGetMigDeviceHandleByIndex(device, index)
            count += 1
        except pynvml.NVMLError as error:
            if error.value not in (_NOT_FOUND, NOT_SUPPORTED):
                raise
    return count


def _license(pynvml: Any, device: Any) -> Answer:
    """[feature code, 1 when licensed] of each feature of a vGPU; a physical GPU needs no license, and is not supported."""
    if pynvml.nvmlDeviceGetVirtualizationMode(device) != pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU:
        raise pynvml.NVMLError(NOT_SUPPORTED)
    found = pynvml.nvmlDeviceGetGridLicensableFeatures(device)
    if not found.isGridLicenseSupported:
        raise pynvml.NVMLError(NOT_SUPPORTED)
    return [[one.featureCode, one.featureState] for one in found.gridLicensableFeatures[: found.licensableFeaturesCount]]


def _confidential(pynvml: Any) -> Answer:
    feature = pynvml.nvmlSystemGetConfComputeState().ccFeature
    return [feature, pynvml.nvmlSystemGetConfComputeGpusReadyState() if feature else 0]


def _drain(pynvml: Any, address: str) -> Answer:
    domain, bus, device = address.partition(".")[0].split(":")
    place = pynvml.nvmlPciInfo_t(domain=int(domain, 16), bus=int(bus, 16), device=int(device, 16))
    place.busId = f"{place.domain:08X}:{place.bus:02X}:{place.device:02X}.0".encode("ascii")
    place.busIdLegacy = f"{place.domain & 0xFFFF:04X}:{place.bus:02X}:{place.device:02X}.0".encode("ascii")
    return pynvml.nvmlDeviceQueryDrainState(place)


def _sram(pynvml: Any, device: Any) -> Answer:
    status = pynvml.c_nvmlEccSramErrorStatus_v1_t()  # sets its own version; without it the answer is error 25
    pynvml.nvmlDeviceGetSramEccErrorStatus(device, ctypes.byref(status))
    names = ("aggregateUncParity", "aggregateUncSecDed", "volatileUncParity", "volatileUncSecDed")
    return {"threshold_exceeded": bool(status.bThresholdExceeded), **{name: getattr(status, name) for name in names}}


def _fabric(pynvml: Any, device: Any) -> Answer:
    info = pynvml.c_nvmlGpuFabricInfo_v2_t()
    pynvml.nvmlDeviceGetGpuFabricInfoV(device, ctypes.byref(info))
    uuid = bytes(info.clusterUuid).hex()
    return {"state": info.state, "status": info.status, "clique_id": info.cliqueId, "cluster_uuid": uuid, "health_mask": info.healthMask}


def _links(pynvml: Any, device: Any) -> list[list[int]]:
    """[link, 1 when active] of each link that the GPU has."""
    links = []
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        try:
            links.append([link, pynvml.nvmlDeviceGetNvLinkState(device, link)])
        except pynvml.NVMLError as error:
            if error.value not in (INVALID_ARGUMENT, NOT_SUPPORTED):
                raise
    return links


def _link_errors(pynvml: Any, device: Any) -> Answer:
    """[link, replay + recovery + CRC errors] of each link that the GPU has."""
    counters = (pynvml.NVML_NVLINK_ERROR_DL_REPLAY, pynvml.NVML_NVLINK_ERROR_DL_RECOVERY, pynvml.NVML_NVLINK_ERROR_DL_CRC_FLIT)
    count = pynvml.nvmlDeviceGetNvLinkErrorCounter
    return [[link, sum(count(device, link, counter) for counter in counters)] for link, _ in _links(pynvml, device)]


def _peer_access(pynvml: Any, device: Any) -> list[list[int]]:
    """[index, nvmlGpuP2PStatus_t] of each other GPU: 0 if this one may read and write its memory. One that does not answer is left out."""
    found = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            other = pynvml.nvmlDeviceGetHandleByIndex(index)
            if _pointer(other) != _pointer(device):
                found.append([index, max(pynvml.nvmlDeviceGetP2PStatus(device, other, way) for way in _READ_AND_WRITE)])
        except pynvml.NVMLError as error:
            if why(error.value) == "not-supported":
                raise
    return found


def _pointer(device: Any) -> "int | None":
    return ctypes.cast(device, ctypes.c_void_p).value


def _inforom(pynvml: Any, device: Any) -> Answer:
    try:
        pynvml.nvmlDeviceValidateInforom(device)
    except pynvml.NVMLError as error:
        if error.value != CORRUPTED_INFOROM:
            raise
        return False
    return True


def _recovery_action(pynvml: Any, device: Any) -> Answer:
    field = pynvml.nvmlDeviceGetFieldValues(device, [_RECOVERY_ACTION_FIELD])[0]
    if field.nvmlReturn:  # an older driver reports an unknown field as an invalid argument
        raise pynvml.NVMLError(NOT_SUPPORTED if field.nvmlReturn == INVALID_ARGUMENT else field.nvmlReturn)
    return field.value.uiVal


def _retired(cause: int) -> Callable[[Any, Any], Answer]:
    return lambda n, d: len(n.nvmlDeviceGetRetiredPages(d, cause))


def _errors(counter: int) -> Callable[[Any, Any], Answer]:
    return lambda n, d: n.nvmlDeviceGetTotalEccErrors(d, _UNCORRECTED, counter)


_SYSTEM = (
    ("driver_version", "nvmlSystemGetDriverVersion"),
    ("cuda_version", "nvmlSystemGetCudaDriverVersion"),
    ("nvml_version", "nvmlSystemGetNVMLVersion"),
)

#: Each question is asked of all GPUs before the next: identity first, hardware reads last, so that a hang costs as little as
#: possible.
DEVICE = (
    Question("pci", "nvmlDeviceGetPciInfo", _pci),
    Question("name", "nvmlDeviceGetName", lambda n, d: n.nvmlDeviceGetName(d)),
    Question("uuid", "nvmlDeviceGetUUID", lambda n, d: n.nvmlDeviceGetUUID(d)),
    Question("serial", "nvmlDeviceGetSerial", lambda n, d: n.nvmlDeviceGetSerial(d)),
    Question("minor", "nvmlDeviceGetMinorNumber", lambda n, d: n.nvmlDeviceGetMinorNumber(d)),
    Question("memory", "nvmlDeviceGetMemoryInfo", lambda n, d: n.nvmlDeviceGetMemoryInfo(d).total),
    Question("processes", "nvmlDeviceGetComputeRunningProcesses", _processes),  # before the memory in use: one that ends between is counted
    Question("compute_capability", "nvmlDeviceGetCudaComputeCapability", lambda n, d: list(n.nvmlDeviceGetCudaComputeCapability(d))),
    Question("mig", "nvmlDeviceGetMigMode", lambda n, d: list(n.nvmlDeviceGetMigMode(d))),
    Question("mig_devices", "nvmlDeviceGetMigDeviceHandleByIndex", _mig_devices),
    Question("virtualization", "nvmlDeviceGetVirtualizationMode", lambda n, d: n.nvmlDeviceGetVirtualizationMode(d)),
    Question("license", "nvmlDeviceGetGridLicensableFeatures", _license),
    Question("persistence", "nvmlDeviceGetPersistenceMode", lambda n, d: n.nvmlDeviceGetPersistenceMode(d)),
    Question("compute_mode", "nvmlDeviceGetComputeMode", lambda n, d: n.nvmlDeviceGetComputeMode(d)),
    Question("memory_use", "nvmlDeviceGetMemoryInfo_v2", _memory_use),
    Question("ecc_mode", "nvmlDeviceGetEccMode", lambda n, d: list(n.nvmlDeviceGetEccMode(d))),
    Question("row_remap", "nvmlDeviceGetRemappedRows", lambda n, d: list(n.nvmlDeviceGetRemappedRows(d))),
    Question("recovery_action", "nvmlDeviceGetFieldValues", _recovery_action),
    Question("ecc_volatile", "nvmlDeviceGetTotalEccErrors", _errors(_VOLATILE)),
    Question("ecc_aggregate", "nvmlDeviceGetTotalEccErrors", _errors(_AGGREGATE)),
    Question("ecc_sram", "nvmlDeviceGetSramEccErrorStatus", _sram),
    Question("retired_single_bit", "nvmlDeviceGetRetiredPages", _retired(0)),
    Question("retired_double_bit", "nvmlDeviceGetRetiredPages", _retired(1)),
    Question("retired_pending", "nvmlDeviceGetRetiredPagesPendingStatus", lambda n, d: n.nvmlDeviceGetRetiredPagesPendingStatus(d)),
    Question("temperature", "nvmlDeviceGetTemperature", lambda n, d: n.nvmlDeviceGetTemperature(d, 0)),
    Question("temperature_slowdown", "nvmlDeviceGetTemperatureThreshold", lambda n, d: n.nvmlDeviceGetTemperatureThreshold(d, 1)),
    Question("power_limit", "nvmlDeviceGetEnforcedPowerLimit", lambda n, d: n.nvmlDeviceGetEnforcedPowerLimit(d)),
    Question("power_limit_default", "nvmlDeviceGetPowerManagementDefaultLimit", lambda n, d: n.nvmlDeviceGetPowerManagementDefaultLimit(d)),
    Question("clock_events", "nvmlDeviceGetCurrentClocksEventReasons", lambda n, d: n.nvmlDeviceGetCurrentClocksEventReasons(d)),
    Question("vbios", "nvmlDeviceGetVbiosVersion", lambda n, d: n.nvmlDeviceGetVbiosVersion(d)),
    Question("peer_access", "nvmlDeviceGetP2PStatus", _peer_access),
    Question("fabric", "nvmlDeviceGetGpuFabricInfoV", _fabric),
    Question("nvlink", "nvmlDeviceGetNvLinkState", _links),
    Question("nvlink_errors", "nvmlDeviceGetNvLinkErrorCounter", _link_errors),
    Question("inforom", "nvmlDeviceValidateInforom", _inforom),
)
