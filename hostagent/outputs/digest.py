"""A report condensed for people: what happened, what to do, then the findings, equal ones merged."""

# A section lists the first 4 causes of each check and 32 of all, a cause 12 findings of one code; texts are cut at 400
# characters, names at 100, with their length. Findings that differ only in what was found are one cause of all their devices.

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from hostagent.core.escape import visible
from hostagent.core.text import counted
from hostagent.core.vocabulary import Kind, Verdict
from hostagent.engine.report import PLACEABLE, Judgement, Report
from hostagent.engine.report.grouping import NOTHING, Entry, Group, devices, first_steps, groups, headline, rank_of, steps
from hostagent.engine.report.host_coverage import gap_in_words, gap_word
from hostagent.engine.report.inventory import gpus, inventory
from hostagent.engine.report.times import ago, moment
from hostagent.outputs.counts import counts

#: How a verdict is printed.
WORDS: Mapping[Verdict, str] = {"not_ready": "NOT READY", "ready": "READY", "degraded": "DEGRADED", "unknown": "UNKNOWN"}

#: Found values that need no subject, because the message has it.
_ONE_WORD = ("", "none", "0", "missing", "stopped", "off", "disabled", "excluded", "unreadable")
SAID = frozenset((*_ONE_WORD, "not loaded", "not running", "not installed", "not said", "none held"))

_READ_FROM = {"host-root": "a live host below another root", "image": "an image, which is not running"}
#: Characters of one text, of a name and of a command on a page: JSON has them whole.
_TEXT, _NAME = 400, 100
#: Causes of one check and of all, and findings of one check under one cause, that are listed in full.
_CAUSES, _ALL_CAUSES, _FINDINGS = 4, 32, 12


class Observed(Protocol):
    """Time and source of a report, a plan or the map of a host."""

    @property
    def observed_at(self) -> float: ...
    @property
    def read_from(self) -> Kind: ...
    @property
    def replayed(self) -> bool: ...
    @property
    def simulated(self) -> bool: ...


class Statement(NamedTuple):
    """A verdict with what happened and what to do first; "" where nothing did."""

    verdict: Verdict
    jobs: str  # "for single-node jobs"; "" where both verdicts agree
    what: str
    todo: str

    @property
    def words(self) -> str:
        return f"{WORDS[self.verdict]}{f' {self.jobs}' if self.jobs else ''}"


class Section(NamedTuple):
    """Causes under one heading, worst first."""

    title: str
    groups: tuple[Group, ...]

    @property
    def counts(self) -> bool:
        """Whether a verdict depends on it."""
        return self.groups[0].rank < NOTHING

    @property
    def size(self) -> str:
        checks = {entry.finding.id for group in self.groups for entry in group.members}
        return f"{counted(len(self.groups), 'cause')}, {counted(len(checks), 'check')}"


class More(NamedTuple):
    """Findings of one check that are not listed one by one."""

    id: str
    number: int
    devices: tuple[str, ...]


class Gap(NamedTuple):
    """One missing answer, the checks that need it, and their effect on the verdict."""

    reason: str
    ids: tuple[str, ...]
    devices: tuple[str, ...]
    others: int  # how many devices passed all of these checks
    rank: int


class Todo(NamedTuple):
    """One thing to do, and the commands that do it: several where they name different devices."""

    text: str
    commands: tuple[str, ...]


def short(text: str, most: int = _TEXT) -> str:
    """`text`, made visible; of a very long one its start and its length."""
    return visible(text) if len(text) <= most else f"{visible(text[:most])}... ({len(text)} characters)"


def sentence(text: str) -> str:
    """`text` with its full stop, where it was not cut."""
    return text if not text or text.endswith((".", "…")) else f"{text}."


def short_name(text: str) -> str:
    return short(text, _NAME)


def statements(report: Report) -> tuple[Statement, ...]:
    """One where both verdicts agree, else one per verdict."""
    single, multi = report.verdict.single_node, report.verdict.multi_node
    causes = groups(report)
    if report.partial or single == multi:
        return (_statement(report, causes, single, "by the selected checks" if report.partial else ""),)
    node = tuple(group for group in causes if _scopes(group) == {"node"})
    return (_statement(report, node, single, "for single-node jobs"), _statement(report, causes, multi, "for multi-node jobs"))


def _scopes(group: Group) -> set[str]:
    return {one.scope for one in (*(entry.finding for entry in group.members), *group.unknown)}


def _statement(report: Report, causes: Iterable[Group], verdict: Verdict, jobs: str) -> Statement:
    if verdict == "ready":
        return Statement(verdict, jobs, f"{counted(counts(report)['passed'], 'check')} passed", "")
    first = next((group for group in causes if group.rank < NOTHING), None)
    if first is None:
        return Statement(verdict, jobs, why_nothing(report), "")
    return Statement(verdict, jobs, short(headline(first)), short(" ".join(step.text for step in first_steps(report, first))))


def why_nothing(report: Report) -> str:
    """The reason for a verdict without findings."""
    if not report.partial:
        return "Nothing was checked"
    applies = {one.severity for one in report.findings if one.outcome not in ("skip", "off")}
    return "Only informational checks were selected: no verdict" if applies == {"info"} else "None of the selected checks applies here"


def is_quiet(report: Report) -> bool:
    """Whether it is ready for every job: then a short report is enough."""
    return report.verdict.single_node == report.verdict.multi_node == "ready"


def host_line(report: Report) -> str:
    host = report.host
    kernel = f"kernel {host.kernel}" if host.kernel else ""
    parts = (inventory(report), host.platform, host.os, kernel, host.arch, f"profile {report.profile.name}")
    said = ", ".join(short(part) for part in parts if part)
    return f"{short_name(host.hostname)}: {said}" if host.hostname else said


def gpu_lines(report: Report) -> tuple[str, ...]:
    """``GPU 0  0000:1b:00.0  NVIDIA H100 80GB HBM3  80 GiB  GPU-5d43…  serial 1652…``, one line per GPU."""
    lines = []
    for row in gpus(report):
        said = {**row, "index": f"GPU {row['index']}".rstrip(), "serial": f"serial {row['serial']}" if row["serial"] else ""}
        lines.append("  ".join(short_name(cell) for cell in said.values() if cell))
    return tuple(lines)


def read_line(report: Observed, now: float = 0) -> str:
    """Time and source of the report, and its age at `now`: on top, so that an old one is not mistaken for a new one."""
    kind = "a made-up host" if report.simulated else _READ_FROM.get(report.read_from, "")
    when = moment(report.observed_at)
    if report.replayed and not report.simulated and now >= report.observed_at:
        when = f"{when} ({ago(now - report.observed_at)} ago)"
    if report.replayed:
        return f"from a snapshot{f' of {kind}' if kind else ''}, {when}"
    return f"read at {when}{f' from {kind}' if kind else ''}"


def remarks(report: Report) -> tuple[str, ...]:
    """Limits of the verdict."""
    lines = []
    if report.read_from == "image" and not report.host.kernel and not report.partial:
        lines.append("this image has no kernel below /lib/modules: the driver's module, and what must match it, were not checked")
    if (
        report.verdict.multi_node in PLACEABLE
        and not report.partial
        and not any((one.scope, one.severity) == ("fabric", "critical") and one.outcome != "skip" for one in report.findings)
    ):
        lines.append("multi-node: only this node was checked")
    if word := gap_word(report):
        lines.append(gap_in_words(word))
    return tuple(lines)


def cage_lines(report: Report) -> tuple[str, ...]:
    """The sandbox of each driver library, or of an image, and its parts that the kernel lacks."""
    lines = []
    for lane, cage in report.cages.items():
        rights = ", ".join(cage["capabilities"]) or "none"
        calls = "system calls refused" if cage["system_calls"] else "no filter of system calls"
        files = f"Landlock {cage['landlock']}" if cage["landlock"] else "no Landlock"
        what = "the image was read" if lane == "image" else f"the {lane} library was asked"
        lines.append(f"{what} in a cage: user {cage['user']}, capabilities {rights}, {calls}, {files}")
    return tuple(lines)


def todo(report: Report) -> tuple[Todo, ...]:
    """The steps in order, those with equal words as one."""
    by_text: dict[str, list[str]] = {}
    for step in steps(report):
        text = f"If it comes back: {step.text}" if step.if_back else step.text
        by_text.setdefault(short(text), []).extend([visible(step.command)] if step.command else [])
    return tuple(Todo(text, tuple(dict.fromkeys(commands))) for text, commands in by_text.items())


def sections(report: Report) -> tuple[Section, ...]:
    """The findings, in display order, without sections that have no cause."""
    found = [shown for group in groups(report) if (shown := _found(group)) is not None]
    noted = [group for group in found if group.rank == NOTHING]
    made = (
        Section("BLOCKS JOBS", tuple(group for group in found if group.rank == 0)),
        Section("TO LOOK AT", tuple(group for group in found if 0 < group.rank < NOTHING)),
        Section("SECURITY", tuple(group for group in noted if group.cause.finding.axis == "security")),
        Section("WORTH KNOWING", tuple(group for group in noted if group.cause.finding.axis != "security")),
    )
    return tuple(section for section in made if section.groups)


def _found(group: Group) -> Group | None:
    """What was found of a cause, also where the check could not read the rest; `gaps` has what was not read."""
    if group.cause.finding.outcome != "unknown":
        return group
    known = [one for one in group.under if one.finding.outcome != "unknown"]
    return Group(known[0], tuple(known[1:]), (), min(rank_of(one.finding) for one in known)) if known else None


def first_causes(all_of_them: Sequence[Group]) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """(listed in full, the rest): the first causes of each check, up to a total."""
    seen: dict[str, int] = {}
    first: list[Group] = []
    rest: list[Group] = []
    for group in all_of_them:
        name = group.cause.finding.id
        seen[name] = seen.get(name, 0) + 1
        (first if seen[name] <= _CAUSES and len(first) < _ALL_CAUSES else rest).append(group)
    return tuple(first), tuple(rest)


def first_findings(group: Group) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """(listed in full, the rest): the first findings of each code of a check."""
    seen: dict[tuple[str, str], int] = {}
    first: list[Entry] = []
    rest: list[Entry] = []
    for one in group.members:
        key = (one.finding.id, one.finding.code)
        seen[key] = seen.get(key, 0) + 1
        (first if seen[key] <= _FINDINGS else rest).append(one)
    return tuple(first), tuple(rest)


def more(rest: Iterable[Entry]) -> tuple[More, ...]:
    """One line per check for findings that are not listed one by one."""
    by_id: dict[str, list[Entry]] = {}
    for one in rest:
        by_id.setdefault(one.finding.id, []).append(one)
    return tuple(
        More(name, len(ones), tuple(dict.fromkeys(device for one in ones for device in one.devices))) for name, ones in by_id.items()
    )


def gaps(report: Report) -> tuple[Gap, ...]:
    """Unknown checks, one entry per missing answer, those that stop jobs first."""
    by_reason: dict[str, list[Judgement]] = {}
    for one in sorted((one for one in report.findings if one.outcome == "unknown"), key=_gap_order):
        by_reason.setdefault(one.unread or one.message, []).append(one)
    clean: dict[str, dict[str, bool]] = {}  # by check and device without a finding: whether it passed, or the check does not apply
    for one in report.findings:
        if one.outcome in ("pass", "skip") and one.device:
            clean.setdefault(one.id, {})[one.device] = one.outcome == "pass"
    return tuple(_gap(ones, clean) for ones in by_reason.values())


def _gap_order(one: Judgement) -> tuple[int, str, str]:
    """The key for an order that does not depend on that of the findings."""
    return rank_of(one), one.id, one.subject


def _gap(ones: list[Judgement], clean: Mapping[str, Mapping[str, bool]]) -> Gap:
    ids, named = dict.fromkeys(one.id for one in ones), dict.fromkeys(one.device for one in ones if one.device)
    of_devices = [clean.get(name, {}) for name in dict.fromkeys(one.id for one in ones if one.device)]
    others = set.intersection(*map(set, of_devices)) if of_devices else set[str]()
    passed = sum(any(found[device] for found in of_devices) for device in others)  # checks that were only skipped prove nothing
    return Gap(short(ones[0].message), tuple(ids), tuple(named), passed, rank_of(ones[0]))


def gap_line(gap: Gap) -> str:
    """``26 checks of GPU 4 (0000:9d:00.0): NVML error 15, GPU is lost. The other 7 passed what applies to them.``"""
    checks = short_name(gap.ids[0]) if len(gap.ids) == 1 else f"{len(gap.ids)} checks"
    jobs = f" of {short(devices(gap.devices))}" if gap.devices else ""
    others = f". The other {gap.others} passed {'it' if len(gap.ids) == 1 else 'what applies to them'}" if gap.others else ""
    return f"{checks}{jobs}: {gap.reason}{others}"


def entry_line(entry: Entry) -> str:
    """``message (found X, wanted Y)``, without values that the message has already."""
    one = entry.finding
    pairs = ((label, text) for label, text in (("found", one.found), ("wanted", one.wanted)) if text and text not in one.message)
    is_said = one.found in SAID or one.found in one.message
    added = "" if is_said else ", ".join(f"{label} {short(text)}" for label, text in pairs)
    return f"{short(one.message)}{f' ({added})' if added else ''}"
