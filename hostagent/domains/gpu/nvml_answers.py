"""Converts NVML's answers for one GPU to facts. Recorded answers are untrusted, so every type is checked."""

from typing import Any

from hostagent.core.tables.recovery_actions import DRIVER_ACTIONS
from hostagent.core.unread import Unread, then
from hostagent.facts.gpu import Ecc, FabricInfo, Mig, NvLink, RetiredPages, RowRemap

Answers = dict[str, Any]  # by question name, see `hostagent.domains.gpu.read_nvml`

_COMPUTE_MODES = ("default", "exclusive-thread", "prohibited", "exclusive-process")
#: nvml.h, nvmlClocksEventReason*, by bit.
_CLOCK_EVENTS = (
    "gpu-idle",
    "applications-clocks",
    "sw-power-cap",
    "hw-slowdown",
    "sync-boost",
    "sw-thermal-slowdown",
    "hw-thermal-slowdown",
    "hw-power-brake",
    "display-clocks",
    "board-limit",
    "reliability",
)
#: nvml.h, NVML_GPU_VIRTUALIZATION_MODE_*.
_VIRTUALIZATION = ("none", "passthrough", "vgpu", "host-vgpu", "host-vsga")
_FABRIC_STATES = ("not-supported", "not-started", "in-progress", "completed")
_TRUE_FALSE = ("not-supported", "true", "false")
_MISCONFIGURED = (
    "not-supported",
    "none",
    "incorrect-system-guid",
    "incorrect-chassis-serial",
    "no-partition",
    "insufficient-nvlinks",
    "incompatible-gpu-firmware",
    "invalid-location",
    "gpu-state-invalid",
)
#: nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_*: name, shift, width in bits, names by value.
_HEALTH = (
    ("degraded-bandwidth", 0, 2, _TRUE_FALSE),
    ("route-recovery", 2, 2, _TRUE_FALSE),
    ("route-unhealthy", 4, 2, _TRUE_FALSE),
    ("access-timeout-recovery", 6, 2, _TRUE_FALSE),
    ("incorrect-configuration", 8, 4, _MISCONFIGURED),
    ("partition-assigned", 12, 2, _TRUE_FALSE),
    ("manager", 14, 2, ("not-supported", "connected", "disconnected")),
)


def parse_health(mask: int) -> tuple[tuple[str, str], ...]:
    """The fields of a fabric health mask. 2 is "false", so a healthy mask is not 0.

    >>> dict(parse_health(0x1AA))["degraded-bandwidth"], dict(parse_health(0x1A9))["degraded-bandwidth"]
    ('false', 'true')
    """
    return tuple((name, _word(words, mask >> shift & (1 << width) - 1)) for name, shift, width, words in _HEALTH)


def parse_clock_events(bits: int) -> tuple[str, ...]:
    """Names of the bits that are set.

    >>> parse_clock_events(0x44)
    ('sw-power-cap', 'hw-thermal-slowdown')
    """
    return tuple(_word(_CLOCK_EVENTS, bit) for bit in range(64) if bits >> bit & 1)


def _word(words: tuple[str, ...], value: int) -> str:
    return words[value] if 0 <= value < len(words) else f"unknown-{value}"


def number(answers: Answers, name: str) -> "int | Unread":
    value = answers[name]
    return value if isinstance(value, Unread) or (type(value) is int and value >= 0) else _odd(name, value)


def text(answers: Answers, name: str) -> "str | Unread":
    value = answers[name]
    return value if isinstance(value, Unread | str) else _odd(name, value)


def flag(answers: Answers, name: str) -> "bool | Unread":
    value = answers[name]
    return value if isinstance(value, Unread | bool) else _odd(name, value)


def numbers(answers: Answers, name: str, length: int) -> "tuple[int, ...] | Unread":
    value = answers[name]
    if isinstance(value, Unread):
        return value
    if isinstance(value, list) and len(value) == length and all(type(one) is int and one >= 0 for one in value):
        return tuple(value)
    return _odd(name, value)


def _odd(name: str, value: Any) -> Unread:
    return Unread("error", f"nvml {name}: found {str(value)[:60]!r}, wanted something else")


def on(value: "int | Unread") -> "bool | Unread":
    return then(value, lambda one: one == 1)


def word(value: "int | Unread", words: tuple[str, ...]) -> "str | Unread":
    return then(value, lambda one: _word(words, one))


def compute_mode(answers: Answers) -> "str | Unread":
    return word(number(answers, "compute_mode"), _COMPUTE_MODES)


def recovery_action(answers: Answers) -> "str | Unread":
    return word(number(answers, "recovery_action"), DRIVER_ACTIONS)


def clock_event_reasons(answers: Answers) -> "tuple[str, ...] | Unread":
    return then(number(answers, "clock_events"), parse_clock_events)


def compute_capability(answers: Answers) -> "str | Unread":
    return then(numbers(answers, "compute_capability", 2), lambda found: f"{found[0]}.{found[1]}")


def ecc(answers: Answers) -> "Ecc | Unread":
    """Unread without an ECC mode (the card has no ECC); each counter may be unread separately."""
    mode = numbers(answers, "ecc_mode", 2)
    if isinstance(mode, Unread) and mode.why == "not-supported":
        return mode
    sram = answers["ecc_sram"]
    if not isinstance(sram, Unread | dict):
        sram = _odd("ecc_sram", sram)
    return Ecc(
        enabled=then(mode, lambda found: found[0] == 1),
        pending=then(mode, lambda found: found[1] == 1),
        volatile_uncorrectable=number(answers, "ecc_volatile"),
        volatile_sram_uncorrectable=then(sram, _sram_errors),
        aggregate_uncorrectable=number(answers, "ecc_aggregate"),
        sram_threshold_exceeded=then(sram, _sram_threshold),
    )


def _sram_threshold(sram: Answers) -> "bool | Unread":
    found = sram.get("threshold_exceeded")
    return found if isinstance(found, bool) else _odd("ecc_sram", sram)


def _sram_errors(sram: Answers) -> "int | Unread":
    """The sum of parity and SEC-DED errors: a driver counts an error in one of them."""
    found = [sram.get(name) for name in ("volatileUncParity", "volatileUncSecDed")]
    counts = [one for one in found if type(one) is int and one >= 0]
    return sum(counts) if len(counts) == len(found) else _odd("ecc_sram", sram)


def row_remap(answers: Answers) -> "RowRemap | Unread":
    return then(numbers(answers, "row_remap", 4), lambda found: RowRemap(found[1], found[2] != 0, found[3] != 0))


def retired_pages(answers: Answers) -> "RetiredPages | Unread":
    single, double = number(answers, "retired_single_bit"), number(answers, "retired_double_bit")
    pending = number(answers, "retired_pending")
    for one in (single, double, pending):
        if isinstance(one, Unread):
            return one
    return RetiredPages(single, double, pending == 1)  # type: ignore[arg-type]  # the loop returned the unread ones


def mig(answers: Answers) -> "Mig | Unread":
    return then(numbers(answers, "mig", 2), lambda found: Mig(found[0] == 1, found[1] == 1))


def vgpu_licensed(answers: Answers) -> "bool | Unread":
    """Whether a vGPU has a license for one of its features: it needs that of its own type alone."""
    found = answers["license"]
    if isinstance(found, Unread):
        return found
    if not isinstance(found, list) or not all(isinstance(one, list) and len(one) == 2 and type(one[1]) is int for one in found):
        return _odd("license", found)
    return any(state for _, state in found) if found else Unread("not-supported", "NVML names no feature that needs a license")


def fabric(answers: Answers) -> "FabricInfo | Unread":
    found = answers["fabric"]
    if isinstance(found, Unread):
        return found
    names = ("state", "status", "clique_id", "health_mask")
    if not isinstance(found, dict) or not all(type(found.get(name)) is int and found[name] >= 0 for name in names):
        return _odd("fabric", found)
    cluster = found.get("cluster_uuid")
    if not isinstance(cluster, str):
        return _odd("fabric", found)
    return FabricInfo(
        state=_word(_FABRIC_STATES, found["state"]),
        status=found["status"],
        clique_id=found["clique_id"],
        cluster_uuid=cluster,
        health=parse_health(found["health_mask"]),
    )


def nvlinks(answers: Answers) -> "tuple[NvLink, ...] | Unread":
    """One entry per link of the card. Error counters are a separate question, which may fail alone."""
    links, errors = _pairs(answers, "nvlink"), _pairs(answers, "nvlink_errors")
    if isinstance(links, Unread):
        return links
    missing = Unread("absent", "NVML counts no errors for this link")
    return tuple(
        NvLink(index, active == 1, errors if isinstance(errors, Unread) else errors.get(index, missing)) for index, active in links.items()
    )


def _pairs(answers: Answers, name: str) -> "dict[int, int] | Unread":
    value = answers[name]
    if isinstance(value, Unread):
        return value
    is_pairs = isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(one) is int and one >= 0 for one in pair) for pair in value
    )
    return dict(value) if is_pairs else _odd(name, value)


def facts(answers: Answers) -> dict[str, Any]:
    """The fields of `hostagent.facts.gpu.Gpu` that NVML knows."""
    return {
        "minor": number(answers, "minor"),
        "name": text(answers, "name"),
        "uuid": text(answers, "uuid"),
        "serial": text(answers, "serial"),
        "memory_bytes": number(answers, "memory"),
        "memory_used_bytes": number(answers, "memory_use"),
        "listed_processes": then(numbers(answers, "processes", 3), sum),
        "compute_capability": compute_capability(answers),
        "ecc": ecc(answers),
        "row_remap": row_remap(answers),
        "retired_pages": retired_pages(answers),
        "mig": mig(answers),
        "mig_devices": number(answers, "mig_devices"),
        "virtualization": word(number(answers, "virtualization"), _VIRTUALIZATION),
        "vgpu_licensed": vgpu_licensed(answers),
        "persistence": on(number(answers, "persistence")),
        "compute_mode": compute_mode(answers),
        "temperature_celsius": number(answers, "temperature"),
        "temperature_slowdown_celsius": number(answers, "temperature_slowdown"),
        "power_limit_milliwatts": number(answers, "power_limit"),
        "power_limit_default_milliwatts": number(answers, "power_limit_default"),
        "clock_event_reasons": clock_event_reasons(answers),
        "nvlinks": nvlinks(answers),
        "fabric": fabric(answers),
        "inforom_valid": flag(answers, "inforom"),
        "recovery_action": recovery_action(answers),
        "vbios": text(answers, "vbios"),
    }
