"""Meanings of NVIDIA's SXid codes (faults of an NVSwitch), and the actions to take.

Source: NVIDIA, "Fabric Manager User Guide" (DU-09883-001 v1.3), appendix D "NVSwitch SXid Errors", sections D.4 to D.7, as
leptonai/gpud repeats it; read 2026-11. The words are ours.

``effect`` is what a code does where its line does not say Fatal; a fatal one always needs a reset:

- ``none``: the hardware corrected it, or it says nothing about a fault;
- ``job``: the job on that link ends or goes on slower, and the switch goes on;
- ``stalls``: traffic stops, or does not go on reliably, until GPUs and switches are reset;
- ``line``: the guide knows it as fatal, or tells no effect of it: the line decides.
"""

from dataclasses import replace
from typing import Literal, NamedTuple

from hostagent.core.steps import Step
from hostagent.core.tables.recovery_actions import REBOOT, RESET_ALL_COMMAND

Effect = Literal["none", "job", "stalls", "line"]

_SERVICE = Step("replace", "Have the baseboard serviced.", if_back=True)
_REBOOT_IF_BACK = replace(REBOOT, if_back=True)
#: What ends a fatal SXid of any code.
BY_LINE = (REBOOT, _SERVICE)
_NONE = (Step("none", "Nothing: jobs and links are not affected."),)
_JOB_AGAIN = Step("rerun", "Start the job again: the switch goes on.")
_CONNECTION = (_JOB_AGAIN, _REBOOT_IF_BACK, Step("replace", "Check the link's connectors and the baseboard.", if_back=True))
_COOLING = (
    Step("rerun", "Nothing now: links are slower while the switch is hot."),
    Step("drain_and_inspect", "Check the fans, the air flow or coolant, and the inlet temperature.", if_back=True),
)
_RESET = (Step("reset_gpu", "Reset all GPUs and NVSwitches of the node together.", RESET_ALL_COMMAND), _REBOOT_IF_BACK, _SERVICE)


class SxidMeaning(NamedTuple):
    """One row of the guide's tables."""

    code: int
    effect: Effect
    meaning: str
    action: tuple[Step, ...]


_CORRECTED = (
    11012, 11021, 11022, 11023, 12021, 12023, 15008, 15011,
    19049, 19055, 19057, 19059, 19062, 19065, 19068, 19071, 24001, 24002, 24003,
)  # fmt: skip

_ROWS: tuple[tuple[int, Effect, str, tuple[Step, ...]], ...] = (
    # D.4, not fatal
    (11004, "stalls", "a packet that no partition allows; traffic stalls", _RESET),
    (12028, "stalls", "a request was refused; traffic stalls", _RESET),
    (19084, "stalls", "a heartbeat in the switch ran out of time", _RESET),
    (20001, "none", "a packet was sent again", _NONE),
    (20012, "job", "a link's connection is broken or its other end is gone", _CONNECTION),
    (22012, "job", "a link's connection is broken or its other end is gone", _CONNECTION),
    (22013, "none", "a request of a link, to be ignored", _NONE),
    # D.5, fatal to the partition that uses the link
    (11001, "line", "invalid command at a port's entry", BY_LINE),
    (11009, "line", "invalid virtual channel at a port's entry", BY_LINE),
    (11013, "line", "uncorrectable header at a port's entry", BY_LINE),
    (11018, "line", "uncorrectable routing table (RID)", BY_LINE),
    (11019, "line", "uncorrectable routing table (RLAN)", BY_LINE),
    (11020, "line", "parity error at a port's entry", BY_LINE),
    (12001, "line", "too many packets at a port's exit", BY_LINE),
    (12002, "line", "packet at the wrong exit", BY_LINE),
    (12022, "line", "uncorrectable input of a port's exit", BY_LINE),
    (12024, "line", "uncorrectable output of a port's exit", BY_LINE),
    (12025, "line", "too many credits at a port's exit", BY_LINE),
    (12026, "line", "request for another destination", BY_LINE),
    (12027, "line", "response for another destination", BY_LINE),
    (12030, "line", "parity error at a port's exit", BY_LINE),
    (12031, "line", "parity error of credits at a port's exit", BY_LINE),
    (12032, "line", "part of a packet has the wrong type", BY_LINE),
    (14017, "line", "a request has no answer in time", BY_LINE),
    (15001, "line", "buffer of the routing unit ran over or empty", BY_LINE),
    (15006, "line", "the routing unit counts its transfers wrongly", BY_LINE),
    (15009, "line", "uncorrectable table of the routing unit", BY_LINE),
    (15010, "line", "parity error in the routing unit", BY_LINE),
    (15012, "line", "uncorrectable input of the routing unit", BY_LINE),
    (15013, "line", "parity error of the routing unit's credits", BY_LINE),
    *(
        (code, "line", f"uncorrectable {what} in the link's transaction layer", BY_LINE)
        for what, codes in (
            ("header", (19047, 19054, 19060, 19063, 19066, 19069)),
            ("data", (19048, 19056, 19058, 19061, 19064, 19067, 19070)),
        )
        for code in codes
    ),
    (20034, "line", "a link went down", BY_LINE),
    *((code, "line", "uncorrectable memory of requests under way", BY_LINE) for code in (24004, 24005, 24006)),
    (24007, "line", "a request under way ran out of time", BY_LINE),
    # D.6, fatal to the whole fabric
    (12020, "line", "packets out of order at a port's exit", BY_LINE),
    (22003, "line", "the links' controller halted", BY_LINE),
    (22011, "line", "error outside the links' controller", BY_LINE),
    *((code, "line", "buffer at the crossbar's entry ran over", BY_LINE) for code in (23001, 23010)),
    *((code, "line", "buffer at the crossbar's entry ran empty", BY_LINE) for code in (23002, 23011)),
    *((code, "line", "too many credits at the crossbar's exit", BY_LINE) for code in (23003, 23012)),
    *((code, "line", "too few credits at the crossbar's exit", BY_LINE) for code in (23004, 23013)),
    *((code, "line", "burst of packets at the crossbar's entry", BY_LINE) for code in (23005, 23014)),
    *((code, "line", "packets mixed up at the crossbar's entry", BY_LINE) for code in (23006, 23015)),
    *((code, "line", "gap within a packet at the crossbar's entry", BY_LINE) for code in (23007, 23016)),
    (23008, "line", "unknown destination at the crossbar's entry", BY_LINE),
    (23009, "line", "parity error of a packet at the crossbar's entry", BY_LINE),
    (23017, "line", "parity error of credits at the crossbar's entry", BY_LINE),
    # D.7, others
    (10001, "line", "the host's access to the switch failed", BY_LINE),
    (10002, "line", "the host's access to the switch ran out of time", BY_LINE),
    (10003, "stalls", "an interrupt that nothing handles", _RESET),
    (10004, "job", "the switch is too hot and slows its links down", _COOLING),
    (10005, "none", "the switch has cooled down", _NONE),
)  # fmt: skip

CATALOGUE: dict[int, SxidMeaning] = {
    **{code: SxidMeaning(code, "none", "a single-bit error was corrected", _NONE) for code in _CORRECTED},
    **{row[0]: SxidMeaning(*row) for row in _ROWS},
}


def sxid_meaning(code: int) -> SxidMeaning:
    """The meaning of a code; of an unknown one (without a meaning) the line decides.

    >>> sxid_meaning(22013).effect, sxid_meaning(99999).effect
    ('none', 'line')
    """
    return CATALOGUE.get(code) or SxidMeaning(code, "line", "", BY_LINE)
