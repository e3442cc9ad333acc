"""What an NVML error means, by its number (nvml.h, nvmlReturn_t) and by whether NVML had started.

Before NVML has started, "driver not loaded" and "library not found" say that this host has no NVML. After it has, they are faults of the
GPU that the call is about: only "not supported" and "function not found" say that a question does not apply.
"""

import re
from typing import Any, Literal

from hostagent.core.unread import Unread, Why

INVALID_ARGUMENT, NOT_SUPPORTED, CORRUPTED_INFOROM, LOST_GPU, RESET_REQUIRED = 2, 3, 14, 15, 16
_DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND = 9, 12
#: 25 (argument version mismatch) is an error: this program passed a wrong struct.
_WHY: dict[int, Why] = {
    NOT_SUPPORTED: "not-supported",
    13: "not-supported",  # this driver's library is older than the question
    4: "denied",
    10: "timeout",
}
_WHY_AT_START: dict[int, Why] = {**_WHY, _DRIVER_NOT_LOADED: "absent", _LIBRARY_NOT_FOUND: "absent"}
#: NVML answers these of one call only if the driver no longer has the GPU, whatever the other calls say.
_DRIVER_GONE = frozenset({1, _DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND})
#: A permission, a time or a cgroup stopped the call: nothing is known of the GPU.
_PROVES_NOTHING = frozenset({4, 10, 17})
_OF_A_CALL = re.compile(r"(\d{1,4}) .*\(nvml\w+\)", re.ASCII | re.DOTALL)
_OF_A_GPU = re.compile(r"(\d{1,4}) .*\(nvmlDevice(?!GetCount\))\w+\)", re.ASCII | re.DOTALL)


def why(code: int, at: Literal["start", "call", "identity"] = "call") -> Why:
    """`at`: NVML's start, a call after it, or one that every GPU answers.

    >>> why(9, "start"), why(9), why(3), why(3, "identity"), why(2)
    ('absent', 'error', 'not-supported', 'error', 'error')
    """
    if at == "start":
        return _WHY_AT_START.get(code, "error")
    found = _WHY.get(code, "error")
    return "error" if at == "identity" and found == "not-supported" else found


def after_start(answer: "Unread") -> Unread:
    """An answer about a GPU, of a recording from before these reasons too.

    >>> after_start(Unread("absent", "9 Driver Not Loaded (nvmlDeviceGetName)")).why
    'error'
    """
    code = code_of(answer)
    return Unread("error", answer.detail, answer.question) if answer.why == "absent" and code in _DRIVER_GONE else answer


def code_of(answer: Unread) -> int:
    """NVML's number of a call about a GPU, 0 for any other reason.

    >>> code_of(Unread("error", "999 Unknown Error (nvmlDeviceGetHandleByIndex)")), code_of(Unread("absent", "9 Not Loaded (nvmlInit)"))
    (999, 0)
    """
    match = _OF_A_GPU.fullmatch(answer.detail)
    return int(match[1]) if match else 0


def is_odd(answer: Unread) -> bool:
    """Whether NVML refused one call, or did not answer it in time, for a reason that does not say that the driver or the GPU is gone.

    >>> is_odd(Unread("error", "999 Unknown Error (nvmlSystemGetConfComputeState)")), is_odd(Unread("error", "15 GPU is lost (nvmlInit)"))
    (True, False)
    """
    match = _OF_A_CALL.fullmatch(answer.detail)
    gone = {*_DRIVER_GONE, LOST_GPU, RESET_REQUIRED}
    return answer.why in ("denied", "error", "timeout") and (int(match[1]) not in gone if match else answer.why == "timeout")


def one_gap(answers: dict[str, Any]) -> dict[str, Any]:
    """The answers with one reason for all that the driver refused because it no longer has the GPU: it is one gap.

    >>> first, later = (Unread("error", f"9 Driver Not Loaded ({call})", call) for call in ("nvmlDeviceGetName", "nvmlDeviceGetUUID"))
    >>> one_gap({"name": first, "uuid": later})["uuid"].question
    'nvmlDeviceGetName'
    """
    gone = {name: one for name, one in answers.items() if isinstance(one, Unread) and code_of(one) in _DRIVER_GONE}
    first = next(iter(gone.values()), None)
    return {**answers, **dict.fromkeys(gone, first)} if gone else answers


def refusal(answers: dict[str, Any]) -> "int | Unread":
    """NVML's error about a GPU that answers nothing, or that the driver no longer has; 0 for a GPU that answers.

    >>> gone = Unread("error", "9 Driver Not Loaded (nvmlDeviceGetName)")
    >>> refusal({"name": gone, "minor": 3}), refusal({"name": "NVIDIA H100", "minor": 3})
    (9, 0)
    """
    unread = [one for one in answers.values() if isinstance(one, Unread)]
    codes = [code_of(one) for one in unread]
    gone = next((code for code in codes if code in _DRIVER_GONE), 0)
    if gone or len(unread) < len(answers):
        return gone
    if not all(codes) or _PROVES_NOTHING & set(codes):
        return next((one for one, code in zip(unread, codes, strict=True) if not code or code in _PROVES_NOTHING), Unread("absent"))
    return codes[0]
