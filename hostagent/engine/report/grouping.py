"""Groups findings by root cause, in display order, with the steps of their remedies."""

# A cause is the first check of `because` with a finding about the same device, its parent, or the host; what concerns the host is
# never listed under one device. Groups that are alike on several devices are one.

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hostagent.core.escape import visible
from hostagent.core.steps import Step
from hostagent.engine.report import Cause, Judgement, Report, subject_order
from hostagent.engine.report.remediation_plan import DRAIN, to_do

_FOUND = ("fail", "warn")
#: How much a finding counts, the most first: not ready, unknown, degraded, nothing.
_RANKS = {("critical", "fail"): 0, ("critical", "unknown"): 1, ("info", "fail"): 3, ("info", "warn"): 3, ("info", "unknown"): 3}
_DEGRADES, NOTHING = 2, 3
#: Devices that a headline names.
_NAMED = 8


class Entry(NamedTuple):
    """One finding, and all its subjects."""

    finding: Judgement
    subjects: tuple[str, ...]
    devices: tuple[str, ...]


class Group(NamedTuple):
    """A root cause and the findings that follow from it; of several devices where they are alike on each."""

    cause: Entry
    under: tuple[Entry, ...]
    unknown: tuple[Judgement, ...]
    rank: int

    @property
    def members(self) -> tuple[Entry, ...]:
        return (self.cause, *self.under)


def rank_of(one: Judgement) -> int:
    """How much it counts: 0 makes a host not ready, 1 unknown, 2 degraded, 3 nothing."""
    return _RANKS.get((one.severity, one.outcome), _DEGRADES)


def groups(report: Report) -> tuple[Group, ...]:
    """All causes, worst first, then in the order of families, then by device."""
    by_cause: dict[Cause, list[Judgement]] = {}
    for one in report.findings:
        if one.cause.id and one.outcome in (*_FOUND, "unknown"):
            by_cause.setdefault(one.cause, []).append(one)
    alike: dict[Any, list[list[Judgement]]] = {}
    for cause, members in by_cause.items():
        own = _own(cause, members)
        shape = (cause.id, own.headline.replace(own.device, "") if own.device else own.headline, _shape(members))
        alike.setdefault(shape, []).append(members)
    order = _ranked(report)
    made = [_group([one for members in bunch for one in members], order) for bunch in alike.values()]
    return tuple(sorted(made, key=lambda group: (group.rank, order(group.cause.finding))))


def _own(cause: Cause, members: list[Judgement]) -> Judgement:
    """The finding that is the cause; the worst of several."""
    own = [one for one in members if (one.id, one.subject) == (cause.id, cause.subject)] or members
    return min(own, key=lambda one: (rank_of(one), one.code, one.message))


def _shape(members: list[Judgement]) -> frozenset[tuple[str, str, str]]:
    return frozenset((one.id, one.code, one.outcome) for one in members)


def _group(members: list[Judgement], order: Callable[[Judgement], Any]) -> Group:
    shown = [one for one in members if _has_entry(one)]
    unknown = tuple(one for one in members if not _has_entry(one)) if shown else ()
    found = _alike(shown or members)  # a shortened report may lack the cause
    causes = [one for one in found if _is_cause(one.finding)] or found
    cause = min(causes, key=lambda one: (rank_of(one.finding), order(one.finding), one.finding.code, one.finding.message))
    under = sorted((one for one in found if one is not cause), key=lambda one: (order(one.finding), one.finding.code, one.finding.message))
    return Group(cause, tuple(under), unknown, min(rank_of(one) for one in members))


def _has_entry(one: Judgement) -> bool:
    return one.outcome in _FOUND or _is_cause(one)


def _is_cause(one: Judgement) -> bool:
    return (one.id, one.subject) == (one.cause.id, one.cause.subject)


def _alike(findings: Iterable[Judgement]) -> list[Entry]:
    """Findings that differ in their subject alone are one."""
    same: dict[Any, list[Judgement]] = {}
    for one in findings:
        headline = one.headline.replace(one.device, "") if one.device else one.headline
        key = (one.id, one.outcome, one.code, one.message, one.found, one.wanted, headline, _of_any(one), one.evidence)
        same.setdefault(key, []).append(one)
    return [_entry(sorted(ones, key=lambda one: subject_order(one.subject))) for ones in same.values()]


def _of_any(one: Judgement) -> tuple[Step, ...]:
    """The remedy without the address of its device."""
    return tuple(replace(step, command=step.command.replace(one.subject, "")) if one.subject else step for step in one.remedy)


def _entry(ones: list[Judgement]) -> Entry:
    named = [one for one in ones if one.subject]
    return Entry(ones[0], tuple(one.subject for one in named), tuple(one.device for one in named))


def _ranked(report: Report) -> Callable[[Judgement], tuple[Any, ...]]:
    """The key that sorts findings by the order of families, then by device; families without an order come last."""
    places: Mapping[str, int] = {name: place for place, name in enumerate(report.reading_order)}
    return lambda one: (places.get(one.id, len(places)), one.id, subject_order(one.subject))


def first_that_counts(report: Report) -> Group | None:
    """The group of the verdict line; None where nothing counts."""
    return next((group for group in groups(report) if group.rank < NOTHING), None)


def steps(report: Report) -> tuple[Step, ...]:
    """The steps for all causes that count, in order."""
    return to_do((_remedy(group) for group in groups(report) if group.rank < NOTHING), is_image=report.read_from == "image")


def first_steps(report: Report, group: Group) -> tuple[Step, ...]:
    """The first steps for one cause, for the current fault; where they end jobs, the node is drained before."""
    now = [step for step in to_do([_remedy(group)], is_image=report.read_from == "image") if not step.if_back]
    return tuple(now[: 2 if now[:1] == [DRAIN] else 1])


def _causes(group: Group) -> list[Entry]:
    """The cause on each of its devices, where the findings differ."""
    return [entry for entry in group.members if entry is group.cause or _is_cause(entry.finding)]


def _remedy(group: Group) -> tuple[Step, ...]:
    """The remedy of the cause on all its devices."""
    alike: dict[tuple[Step, ...], list[Entry]] = {}
    for entry in _causes(group):
        alike.setdefault(_of_any(entry.finding), []).append(entry)
    return tuple(step for ones in alike.values() for step in _of_all(ones))


def _of_all(ones: list[Entry]) -> Iterable[Step]:
    """One remedy for the devices of all: nvidia-smi takes several addresses with commas, other programs are run once per device."""
    one, subjects = ones[0].finding, sorted((subject for entry in ones for subject in entry.subjects), key=subject_order)
    for step in one.remedy:
        if not one.subject or one.subject not in step.command:
            yield step
        elif step.command.startswith("nvidia-smi "):
            yield replace(step, command=step.command.replace(one.subject, ",".join(subjects)))
        else:
            yield from (replace(step, command=step.command.replace(one.subject, subject)) for subject in subjects)


def headline(group: Group) -> str:
    """What happened, of one device or of several."""
    one = group.cause.finding
    text = one.headline or one.message
    return visible(text.replace(one.device, devices(concerned(group))) if one.device else text).rstrip(".")


def concerned(group: Group) -> tuple[str, ...]:
    """The devices of the cause, wherever it is."""
    return tuple(dict.fromkeys(device for entry in _causes(group) for device in entry.devices))


def subjects_of(group: Group) -> tuple[tuple[str, str], ...]:
    """Subject and device of each place where the cause is."""
    return tuple(dict.fromkeys(pair for entry in _causes(group) for pair in zip(entry.subjects, entry.devices, strict=True)))


def devices(names: tuple[str, ...]) -> str:
    """``GPU 4 (0000:9d:00.0)``, ``GPUs 0 to 7``, ``GPUs 1, 3, 4``, or the first names and how many there are.

    >>> devices(("port mlx5_0:1 (0000:1a:00.0)",)), devices(("port mlx5_0:1 (0000:1a:00.0)", "port mlx5_4:1 (0000:9a:00.0)"))
    ('port mlx5_0:1 (0000:1a:00.0)', 'ports mlx5_0:1, mlx5_4:1')
    """
    if len(names) <= 1:
        return visible(names[0]) if names else ""
    numbers = [name.split()[1] for name in names if name.startswith("GPU ") and name.split()[1].isdecimal()]
    if len(numbers) == len(names):
        return f"GPUs {_numbers(sorted(map(int, numbers)))}"
    if len(names) > 2 and all(name.startswith("GPU ") for name in names):
        return f"{len(names)} GPUs"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    if all(name.startswith("port ") for name in names):
        return f"ports {', '.join(visible(name.split()[1]) for name in names[:_NAMED])}{more}"
    return f"{', '.join(visible(name) for name in names[:_NAMED])}{more}"


def _numbers(numbers: list[int]) -> str:
    """Numbers in their order, as people write them.

    >>> _numbers([0, 1, 2, 3]), _numbers([1, 3, 4]), _numbers([2, 3])
    ('0 to 3', '1, 3, 4', '2, 3')
    """
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]} to {numbers[-1]}"
    more = f" and {len(numbers) - 2 * _NAMED} more" if len(numbers) > 2 * _NAMED else ""
    return f"{', '.join(map(str, numbers[: 2 * _NAMED]))}{more}"


def with_headline(report: Report) -> Report:
    """The report with the headline and the action of its first cause that counts."""
    first = first_that_counts(report)
    return replace(report, headline=headline(first), action=first.cause.finding.action) if first else report
