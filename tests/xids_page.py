"""Renders docs/xids.md from the tables of Xids and SXids: ``python -m tests.docs``; a test holds it against drift."""

from collections.abc import Iterable

from hostagent.core.steps import Step, in_words
from hostagent.domains.gpu.tables.nvlink_xids import NVLINK_FAULTS, REGISTERS, NvlinkFault
from hostagent.domains.gpu.tables.sxids import CATALOGUE as SXIDS
from hostagent.domains.gpu.tables.sxids import Effect
from hostagent.domains.gpu.tables.xids import CATALOGUE, ENDED_BY_REPLACEMENT, IGNORED_BY_PLUGINS, weighed_by
from hostagent.domains.gpu.xid_readings import JOB_AGAIN, NO_STEP, WORDED

PAGE = "docs/xids.md"
_PAGE = """\
# Xids

Made by `make docs` from `hostagent/domains/gpu/tables/`; edit those, not this page. Each code has an anchor: `xids.md#xid-79`.

An Xid is a fault that NVIDIA's driver writes into the kernel log: `NVRM: Xid (PCI:0000:1b:00): 79, …`. `hostagent check` reads every Xid of this
boot. The meanings and steps follow NVIDIA's [Xid catalog](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html); the words are ours.

| kind | effect |
|---|---|
| critical | the host is not ready until a reset, a reboot or a service ends the fault: [gpu.xid](../checks/docs/gpu.xid.md) |
| warning | the host is degraded: the GPU continues, and an administrator looks at the event: [gpu.xid](../checks/docs/gpu.xid.md) |
| application | worth knowing: the program is the usual cause: [gpu.xid_application](../checks/docs/gpu.xid_application.md) |
| notice | not reported: the GPU is not affected |

A fault is over after a reset (an Xid 154 to "None"), after a new load of the driver's module, or after `hostagent events clear`. Only a new board ends
{replaced}.

## All codes

{ignored} stay in use with NVIDIA's device plugin for Kubernetes and its DRA driver: they ignore these codes.

| Xid | kind | meaning | what to do | source |
|---|---|---|---|---|
{codes}

Any other code is a warning: it is not in the catalogue.

## Words that decide

Some codes have several meanings. These words of the line decide.

| Xid | words | kind | meaning | what to do |
|---|---|---|---|---|
{worded}

<a id="recovery"></a>
## The recovery action of an Xid 154

The driver writes an Xid 154 when it changes what a GPU needs. It wins over the steps of every other Xid of that GPU. `Drain and Reset` leaves the host
degraded, the others make it not ready; `None` ends the GPU's faults.

<a id="nvlink-5"></a>
## NVLink 5: Xid 144 to 150

The line names a unit, a severity and a link, then words: the first describes the interrupt, the second is the error status.

```
NVRM: Xid (PCI:0000:c3:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 06 (0x04085a07 0x00000004 …)
```

- A fatal fault makes the host not ready. `i1` marks an injected error: a test.
- A nonfatal one without an Xid 154 asks for a new start of the job. It counts for a day (`again_hours`).
- Corrected errors are worth knowing.
- Many nonfatal lines within ten minutes are a storm, and make the host not ready (`storm_lines`, `storm_lines_node`).
- A line without severity is judged by the status, and is fatal without one.

Several bits of a status count by the most severe one. A sub-code is bits 20 to 25 of the first word. Sources: the catalogue's sheet
"Xid 144-150 Decode", as `leptonai/gpud` repeats it; `NVIDIA/NVSentinel` issue 1357.

| Xid | unit | status | severity | effect | what to do without an Xid 154 | where to look |
|---|---|---|---|---|---|---|
{nvlink}

RLW_RXPIPE: status 0x1 to 0x4 asks for a reset where bit 10 of the first word is set (drivers before R575) or bit 7 (later ones).

<a id="xid-74-registers"></a>
## Registers of an Xid 74

On Hopper the registers in the line (`link 14(0x0, 0x0, 0x10000, …)`) say more; the second, sixth and seventh have no meaning. Where all set bits
are ignored or corrected, the host is degraded and nothing is reset. Source: the catalogue's WORKFLOW_NVLINK_ERR, `NVIDIA/NVSentinel` issue 364.

| register | bits | class |
|---|---|---|
{registers}

<a id="sxids"></a>
## SXids: faults of an NVSwitch

The driver writes `nvidia-nvswitch3: SXid (PCI:0000:0a:00.0): 22013, Non-fatal, Link 55 …`, then `Severity …` and `Data {{…}}` with the same code: one
SXid. [nvswitch.sxid](../checks/docs/nvswitch.sxid.md) reports it. A line that says `Fatal` makes the host not ready, whatever its code: reboot the node.
Else the code decides, by NVIDIA's Fabric Manager User Guide, appendix D; the words are ours.

| effect of a line without `Fatal` | |
|---|---|
{effects}

Any other code is a warning. Each code has an anchor: `xids.md#sxid-22013`.

| SXid | effect | meaning | what to do |
|---|---|---|---|
{sxids}
"""
_SXID_EFFECTS: dict[Effect, str] = {
    "none": "worth knowing: jobs and links are not affected",
    "job": "the host is degraded: the job on the link ends or goes on slower, the switch goes on",
    "stalls": "the host is not ready: traffic stops until all GPUs and NVSwitches are reset",
    "line": "the host is degraded: the guide knows the code as fatal, or tells no effect of it",
}
_EFFECTS = {
    "none": "none",
    "application": "the job on this GPU ends (Xid 45)",
    "poison": "data is marked as bad: an Xid 48, 94 or 95 follows",
    "packets": "packets may be lost",
    "gpu": "the job ends, packets may be lost",
    "link": "the link is down, packets may be lost",
}
_LOOKS = {
    "": "",
    "vendor": "vendor",
    "link": "the link's signal",
    "cables": "cables and connectors",
    "peer": "the other end of the link",
    "host": "the host took it down",
    "software": "a program or an administrator took it down",
}
_CLASSES = {
    "ignored": "ignored",
    "corrected": "corrected: a threshold was passed, nothing was lost",
    "secondary": "follows another fault",
    "parity": "parity or ECC: hardware if it comes back on the same link",
    "mechanical": "connection or hardware: check and reseat",
    "signal": "signal integrity of the link",
    "repeated": "report it if it comes back",
    "unexpected": "not expected: report it",
    "fabric": "follows another fault; the fabric needs a reset",
}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")


def page() -> str:
    """docs/xids.md as it should be today."""
    codes = sorted(CATALOGUE)
    return _PAGE.format(
        replaced=_codes(sorted(ENDED_BY_REPLACEMENT)),
        ignored=_codes(IGNORED_BY_PLUGINS),
        codes=_rows((f'<a id="xid-{one}"></a>{one}', *CATALOGUE[one][1:3], _steps(CATALOGUE[one].action), _source(one)) for one in codes),
        worded=_rows((str(code), f"`{words}`", one.kind, one.meaning, _steps(one.action)) for code, words, one in WORDED),
        nvlink=_rows(_nvlink()),
        effects=_rows(_SXID_EFFECTS.items()),
        sxids=_rows((f'<a id="sxid-{one}"></a>{one}', *SXIDS[one][1:3], _steps(SXIDS[one].action)) for one in sorted(SXIDS)),
        registers=_rows((_ORDINALS[register], ", ".join(map(str, bits)), _CLASSES[name]) for register, bits, name in REGISTERS),
    )


def _nvlink() -> Iterable[tuple[str, ...]]:
    """One row for all statuses and sub-codes of a unit that mean the same."""
    alike: dict[tuple[object, ...], list[NvlinkFault]] = {}
    for row in NVLINK_FAULTS:
        alike.setdefault((row.code, row.unit, row.resolution, row.effect, row.look), []).append(row)
    for rows in alike.values():
        row = rows[0]
        is_down = row.unit == "NETIR_LINK_DOWN"
        steps = {"reset": "reset all GPUs", "job": JOB_AGAIN.text, "none": "find out why" if row.is_fatal else NO_STEP.text}[row.resolution]
        status = f"sub-code {', '.join(str(one.subcode) for one in rows)}" if is_down else ", ".join(f"0x{one.status:x}" for one in rows)
        severity = "fatal" if row.is_fatal else "nonfatal"
        yield str(row.code), row.unit, status, severity, _EFFECTS[row.effect], steps, _LOOKS[row.look]


def _source(code: int) -> str:
    return weighed_by(code).partition(" by ")[2]


def _steps(steps: tuple[Step, ...]) -> str:
    return in_words(steps) or "nothing"


def _codes(codes: Iterable[int]) -> str:
    return ", ".join(f"[{one}](#xid-{one})" for one in codes)


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
