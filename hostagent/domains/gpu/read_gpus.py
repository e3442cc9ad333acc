"""GPUs: facts from PCI, /proc/driver/nvidia and NVML, joined by PCI address and never by index."""

# `link_speed_max` and `link_width_max` are the lower of card and port. `gpu.pcie_speed` compares the cards' own maximum
# (`link_speed_card`): including the slots' limits, a workstation with two kinds of slots would be degraded.

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from hostagent.core.retention import WHOLE, Keep
from hostagent.core.unread import Unread, then
from hostagent.domains.gpu import nvml_answers, nvml_errors, read_vfio
from hostagent.domains.gpu.bars import parse_resource
from hostagent.domains.gpu.nvml_errors import LOST_GPU, RESET_REQUIRED
from hostagent.domains.gpu.read_node_holders import read_node_holders
from hostagent.domains.topology import read_pci
from hostagent.facts.gpu import Accelerators, Bar, Gpu, Mig, OtherAccelerator, PeerAccess
from hostagent.host.source import Source

_PROC = "/proc/driver/nvidia/gpus"
#: The driver's list of GPU instances (gi0) and of compute instances in them (ci0), by the GPU's minor number.
_CAPABILITIES = "/proc/driver/nvidia/capabilities/gpu{}/mig"
#: Those of them that recordings up to questions 1 do not have: no other fact of the GPU depends on them.
LATER = ("processes", "memory_use", "mig_devices", "virtualization", "license")
#: NVML questions per GPU; the names are of `hostagent.domains.gpu.read_nvml`.
QUESTIONS = (
    *("pci", "name", "uuid", "serial", "minor", "memory", "compute_capability", "mig", "persistence", "compute_mode", "ecc_mode"),
    *("row_remap", "recovery_action", "ecc_volatile", "ecc_aggregate", "ecc_sram", "retired_single_bit", "retired_double_bit"),
    *("retired_pending", "temperature", "temperature_slowdown", "power_limit", "power_limit_default", "clock_events", "vbios"),
    *("fabric", "nvlink", "nvlink_errors", "inforom"),
    *LATER,
)
#: Asked of each GPU too, and no sign of its own state: an answer about a pair fails with either.
OF_PAIRS = "peer_access"
#: More than any host has: bounds the work that a recording can cause.
_MAX_DEVICES = 1024
#: Recordings without these lose nothing else: `LATER`, and what only the report's inventory reads.
_IGNORED = ("serial", *LATER)
_INFORMATION = Keep("settings", ("Device Minor", "GPU Excluded", "GPU UUID", "Model", "Video BIOS"))
_CODE = re.compile(r"(\d{1,4}) ", re.ASCII)


class _Nvml(NamedTuple):
    """NVML's side of the join. Devices without a PCI address are in ``unplaced``, by index."""

    at: dict[str, tuple[int, nvml_answers.Answers]]  # by PCI address
    unplaced: dict[int, nvml_answers.Answers]
    unread: "Unread | None"  # why an address that is not in ``at`` has no answers; None: NVML has no such GPU


def read_gpus(source: Source, known: Callable[[type], Any]) -> "tuple[Gpu, ...] | Unread":
    """One `Gpu` for each address that any of the three has, in order of address."""
    functions = read_pci.scan(source)
    on_pci = then(functions, lambda scanned: _on_pci(source, scanned))
    rows = _proc(source)
    nvml = _nvml(source)
    addresses = {*(() if isinstance(on_pci, Unread) else on_pci), *(() if isinstance(rows, Unread) else rows), *nvml.at}
    if not addresses and isinstance(on_pci, Unread) and on_pci.why != "absent":
        return on_pci
    nvml = _place_by_identity(nvml, addresses, {} if isinstance(rows, Unread) else rows)
    addresses |= set(nvml.at)
    return tuple(_gpu(source, address, on_pci, rows, nvml) for address in sorted(addresses))


def read_accelerators(source: Source, known: Callable[[type], Any]) -> Accelerators:
    """Other vendors' GPUs; unread if a function's vendor is unknown and it may be one of theirs."""
    functions = read_pci.scan(source)
    ids = read_vfio.read_ids(source)
    if isinstance(functions, Unread):
        return Accelerators(functions, ids)
    unclear = next((one for one in _on_pci(source, functions).values() if isinstance(one, Unread)), None)
    others = tuple(
        OtherAccelerator(one.pci, f"0x{one.vendor:04x}", device if isinstance(device, str) else "unknown")
        for one in functions
        if isinstance(one.vendor, int) and one.vendor in read_pci.OTHER_VENDORS and isinstance(one.kind, int)
        for device in (read_pci.identity(source, one.pci, "device"),)
    )
    return Accelerators(others if unclear is None else unclear, ids)


def _on_pci(source: Source, functions: tuple[read_pci.Function, ...]) -> "dict[str, bool | Unread]":
    """NVIDIA's GPUs among the functions. A function with an unreadable class or vendor may be one, and is included as unread."""
    found: dict[str, bool | Unread] = {}
    for one in functions:
        if isinstance(one.vendor, int) and one.vendor != read_pci.NVIDIA:
            continue
        unclear = next((part for part in (one.vendor, one.kind) if isinstance(part, Unread)), None)
        if unclear is not None:
            found[one.pci] = unclear
        elif one.kind in (read_pci.VGA, read_pci.THREE_D) and not read_pci.is_virtual(source, one.pci):
            found[one.pci] = True
    return found


def parse_information(text: str) -> dict[str, str]:
    r"""``/proc/driver/nvidia/gpus/<address>/information``.

    >>> parse_information("Model: \t\t NVIDIA H100 80GB HBM3\nDevice Minor: \t 0\nGPU Excluded:\t No\n")
    {'Model': 'NVIDIA H100 80GB HBM3', 'Device Minor': '0', 'GPU Excluded': 'No'}
    """
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _proc_names(source: Source) -> "tuple[str, ...] | Unread":
    names = source.listdir(_PROC)
    if (
        isinstance(names, Unread)
        and names.why == "absent"
        and not isinstance(source.read("/sys/module/nvidia/initstate", keep=WHOLE), Unread)
    ):
        return Unread("error", f"{_PROC} is not there, though the module is loaded: the host's /proc is not seen whole")
    return names


def _proc(source: Source) -> "dict[str, dict[str, str] | Unread] | Unread":
    names = _proc_names(source)
    if isinstance(names, Unread):
        return names
    rows: dict[str, dict[str, str] | Unread] = {}
    for name in names:
        try:
            address = read_pci.parse_address(name)
        except ValueError:
            continue
        rows[address] = then(source.text(f"{_PROC}/{name}/information", keep=_INFORMATION), parse_information)
    return rows


def _device_count(source: Source) -> "int | Unread":
    started = source.nvml("init")
    if isinstance(started, Unread):
        return started
    count = source.nvml("device_count")
    if isinstance(count, Unread) or (type(count) is int and 0 <= count <= _MAX_DEVICES):
        return count
    return Unread("error", f"nvml device_count: found {str(count)[:40]!r}, wanted a number")


def _nvml(source: Source) -> _Nvml:
    count = _device_count(source)
    if isinstance(count, Unread):
        return _Nvml({}, {}, count)
    nvml = _Nvml({}, {}, None)
    for index in range(count):
        handle = _answer(source, index, "handle")
        if isinstance(handle, Unread):
            answers: nvml_answers.Answers = dict.fromkeys(QUESTIONS, handle)
        else:
            answers = nvml_errors.one_gap({name: _answer(source, index, name) for name in QUESTIONS})
        where = answers["pci"]
        try:
            address = read_pci.parse_address(str(where["bus_id"])) if isinstance(where, dict) else ""
        except (ValueError, KeyError):
            address = ""
        if address and address not in nvml.at:
            nvml.at[address] = (index, answers)
        else:
            nvml.unplaced[index] = answers
    return nvml


def _answer(source: Source, index: int, name: str) -> Any:
    answer = source.nvml("device", str(index), name)
    return nvml_errors.after_start(answer) if isinstance(answer, Unread) else answer


def _place_by_identity(nvml: _Nvml, addresses: set[str], rows: "dict[str, dict[str, str] | Unread]") -> _Nvml:
    """A failing GPU may not report its PCI address. Match it by UUID or minor number; if one GPU and one address remain, pair them."""
    at, unplaced = dict(nvml.at), dict(nvml.unplaced)
    for index, answers in nvml.unplaced.items():
        for address in sorted(addresses - set(at)):
            row = rows.get(address)
            if isinstance(row, dict) and _same(answers, row):
                at[address] = (index, unplaced.pop(index))
                break
    missing = addresses - set(at)
    if len(missing) == len(unplaced) == 1:
        at[missing.pop()] = unplaced.popitem()
    return _Nvml(at, {}, nvml.unread if nvml.unread is not None else _nowhere(unplaced, len(missing)))


def _nowhere(unplaced: dict[int, nvml_answers.Answers], missing: int) -> "Unread | None":
    """The reason why GPUs that NVML could not locate have no NVML facts."""
    if not unplaced:
        return None
    odd = Unread("error", "nvml pci: taken or no address")
    wheres = [answers["pci"] for answers in unplaced.values()]
    reasons = {one.detail: one for one in (where if isinstance(where, Unread) else odd for where in wheres)}
    if len(reasons) == 1 and len(unplaced) == missing:
        return reasons.popitem()[1]
    indices = ", ".join(str(index) for index in sorted(unplaced))
    asked = next((reasons[detail].question for detail in sorted(reasons) if reasons[detail].question), "")
    return Unread("error", f"GPU {indices} of NVML does not say where it is: {'; '.join(sorted(reasons))}", asked)


def _same(answers: nvml_answers.Answers, row: dict[str, str]) -> bool:
    uuid, minor = answers["uuid"], answers["minor"]
    if isinstance(uuid, str):
        return uuid == row.get("GPU UUID")
    return type(minor) is int and str(minor) == row.get("Device Minor")


def _gpu(
    source: Source,
    address: str,
    on_pci: "dict[str, bool | Unread] | Unread",
    rows: "dict[str, dict[str, str] | Unread] | Unread",
    nvml: _Nvml,
) -> Gpu:
    row = then(rows, lambda listed: listed.get(address, Unread("absent", f"{_PROC} has no {address}")))
    there = then(on_pci, lambda listed: listed.get(address, False))
    nothing = nvml.unread if nvml.unread is not None else _not_in_nvml(there)
    index, answers = nvml.at.get(address, (nothing, dict.fromkeys(QUESTIONS, nothing)))
    of_nvml = nvml_answers.facts(answers)
    of_proc = _proc_facts(row)
    for name, value in of_proc.pop("instead").items():
        if isinstance(of_nvml[name], Unread) and not isinstance(value, Unread):
            of_nvml[name] = value
    of_nvml["mig_devices"] = _mig_devices(source, of_nvml["minor"], of_nvml["mig"], of_nvml["mig_devices"])
    lost, reset_required, detail = _verdict(answers)
    return Gpu(
        pci=address,
        on_pci=there,
        in_proc=then(rows, lambda listed: address in listed),
        in_nvml=_in_nvml(address, nvml),
        peer_access=then(index, lambda number: _peer_access(source, number, nvml)),
        bars=_bars(source, address),
        index=index,
        lost=lost,
        reset_required=reset_required,
        nvml_detail=detail,
        nvml_refusal=nvml_errors.refusal(answers),
        drained=_drained(source, address, row),
        node_holders=read_node_holders(source, of_nvml["minor"], of_nvml["memory_used_bytes"], of_nvml["listed_processes"]),
        **read_pci.facts(source, address),
        **of_proc,
        **of_nvml,
    )


def _bars(source: Source, address: str) -> "tuple[Bar, ...] | Unread":
    path = f"{read_pci.DEVICES}/{address}/resource"
    return then(source.text(path, keep=WHOLE), lambda text: parse_resource(text, path))


def _peer_access(source: Source, index: int, nvml: _Nvml) -> "tuple[PeerAccess, ...] | Unread":
    """By address, from pairs of an index and a status; a GPU that has no address is left out."""
    if len(nvml.at) < 2:
        return ()
    answer = source.nvml("device", str(index), OF_PAIRS)
    if isinstance(answer, Unread):
        return answer
    addresses = {number: address for address, (number, _) in nvml.at.items()}
    try:
        found = {addresses[number]: status == 0 for number, status in answer if number in addresses}
    except (TypeError, ValueError):
        return Unread("error", f"nvml peer_access: found {str(answer)[:40]!r}, wanted pairs of numbers")
    return tuple(PeerAccess(address, is_allowed) for address, is_allowed in sorted(found.items()))


def _mig_devices(source: Source, minor: "int | Unread", mig: "Mig | Unread", listed: "int | Unread") -> "int | Unread":
    """NVML shows a process the slices that it may use, the driver's own list has all. Asked where MIG is on and NVML shows none."""
    if isinstance(mig, Unread) or isinstance(minor, Unread) or isinstance(listed, Unread) or listed or not mig.current:
        return listed
    place = _CAPABILITIES.format(minor)
    instances = source.listdir(place)
    if isinstance(instances, Unread):
        return instances
    count = 0
    for name in (one for one in instances if one.startswith("gi")):
        found = source.listdir(f"{place}/{name}")
        if isinstance(found, Unread):
            return found
        count += sum(one.startswith("ci") for one in found)
    return count


def _drained(source: Source, address: str, row: "dict[str, str] | Unread") -> "bool | Unread":
    """Asked by address: NVML no longer lists a GPU that is drained."""
    if isinstance(row, Unread):
        return row
    state = source.nvml("drain", address)
    if isinstance(state, Unread):
        return nvml_errors.after_start(state)
    return bool(state) if state in (0, 1) else Unread("error", f"nvml drain: found {str(state)[:40]!r}, wanted 0 or 1")


def _not_in_nvml(on_pci: "bool | Unread") -> Unread:
    """If PCI could not be read, absence in NVML proves nothing."""
    return on_pci if isinstance(on_pci, Unread) and on_pci.why != "absent" else Unread("absent", "the GPU is not in NVML")


def _proc_facts(row: "dict[str, str] | Unread") -> dict[str, Any]:
    """Fields from /proc; under "instead" those that replace unread ones of NVML."""
    uuid, minor = _row(row, "GPU UUID"), _row(row, "Device Minor")
    return {
        "proc_uuid": uuid,
        "excluded": then(_row(row, "GPU Excluded"), lambda word: word.lower() == "yes"),
        "instead": {
            "name": _row(row, "Model"),
            "vbios": _row(row, "Video BIOS"),
            "uuid": Unread("absent", "never initialised") if isinstance(uuid, str) and "?" in uuid else uuid,
            "minor": int(minor) if isinstance(minor, str) and re.fullmatch(r"\d{1,9}", minor, re.ASCII) else Unread("absent"),
        },
    }


def _row(row: "dict[str, str] | Unread", key: str) -> "str | Unread":
    return then(row, lambda lines: lines.get(key, Unread("absent", f"{_PROC}: no line {key!r}")))


def _in_nvml(address: str, nvml: _Nvml) -> "bool | Unread":
    if address in nvml.at:
        return True
    return nvml.unread if nvml.unread is not None else False


def _verdict(answers: nvml_answers.Answers) -> "tuple[bool | Unread, bool | Unread, str | Unread]":
    """Lost, reset required, and the error text. Any call may report it, so an unanswered call makes it unread; an error that all
    calls share is NVML's own (it did not start) and proves nothing about the GPU. Questions that no check reads are ignored.

    >>> _verdict({"name": "NVIDIA H100", "row_remap": Unread("error", "15 GPU is lost (nvmlDeviceGetRemappedRows)")})
    (True, False, '15 GPU is lost (nvmlDeviceGetRemappedRows)')
    >>> _verdict({"name": Unread("error", "18 RM has detected an NVML/RM version mismatch. (nvmlInit)")})[0]
    Unread('error', '18 RM has detected an NVML/RM version mismatch. (nvmlInit)')
    """
    unread = [one for one in answers.values() if isinstance(one, Unread)]
    by_code = {int(match[1]): one.detail for one in unread if (match := _CODE.match(one.detail))}
    is_mute = len(unread) == len(answers) and not {LOST_GPU, RESET_REQUIRED} & set(by_code)
    asked = [one for name, one in answers.items() if isinstance(one, Unread) and name not in _IGNORED]
    silent = next((one for one in asked if is_mute or (not _CODE.match(one.detail) and one.why != "not-supported")), None)
    lost = True if LOST_GPU in by_code else silent if silent is not None else False
    reset = True if RESET_REQUIRED in by_code else silent if silent is not None else False
    return lost, reset, by_code.get(LOST_GPU) or by_code.get(RESET_REQUIRED) or Unread("absent", "no call said so")
