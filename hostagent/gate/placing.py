"""The gate: a request and candidates in, an answer out."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.text import counted
from hostagent.core.unread import Unread
from hostagent.gate.answer import SCHEMA_VERSION, Answer, Backend, Code, Examined, Pin, Reason, Refused
from hostagent.gate.candidate import Candidate, rank
from hostagent.gate.choice import Choice, choose
from hostagent.gate.classes import Grouping, class_reason
from hostagent.gate.eligibility import Judge
from hostagent.gate.request import Request
from hostagent.gate.scheduling import PREFIX, Scheduling, env_of
from hostagent.gate.tolerations import toleration
from hostagent.gate.wording import are, names_of, shown


def place(request: Request, candidates: Iterable[Candidate], now: float, backend: Backend = "reports", pin: Pin = "nodes") -> Answer:
    """Whether the job may be placed at `now`, in seconds since 1970, on which nodes, and if not, why. Of several candidates of a node the
    one that was observed last counts.
    """
    placing = Placing(request, now)
    placing.add(candidates)
    return placing.answer(placing.choice(), Terms(backend, pin))


#: Reasons by which a scheduler keeps pods away, too.
_KEPT_OUT: tuple[Code, ...] = ("Cordoned", "Tainted", "NoFreeGpus", "NoFreePods", "Selector", "Dra")


class Terms(NamedTuple):
    """Further parts of an answer. ``incomplete``: why nodes that could have served were not read, "" where all were."""

    backend: Backend = "reports"
    pin: Pin = "nodes"
    prefix: str = PREFIX
    not_asked: tuple[str, ...] = ()
    not_examined: int = 0
    incomplete: str = ""
    warnings: tuple[str, ...] = ()
    is_whole: bool = True


class Placing:
    """The candidates of one request, each judged when it comes."""

    def __init__(self, request: Request, now: float) -> None:
        if not isfinite(now):
            raise HostagentError(f"found the time {now}, wanted seconds since 1970", "Give place() the time, such as time.time()")
        self._request, self._now = request, now
        self._grouping = Grouping(request)
        self._judge = Judge(request, now, self._grouping)
        self._nodes = dict[str, tuple[Candidate, ...]]()
        self._eligible = dict[str, Candidate]()
        self._refused = dict[str, tuple[Reason, ...]]()

    def add(self, candidates: Iterable[Candidate]) -> None:
        """Of several of a node the one that was observed last; of several of that time all, since any may be the right one."""
        changed = dict[str, None]()
        for one in candidates:
            kept = self._nodes.get(one.node)
            if kept is None or _time(one) > _time(kept[0]):
                self._nodes[one.node] = (one,)
            elif _time(one) == _time(kept[0]):
                self._nodes[one.node] = tuple(sorted((*kept, one), key=_order))
            else:
                continue
            changed[one.node] = None
        for name in changed:
            self._judge_node(name)

    def replace(self, candidates: Iterable[Candidate]) -> None:
        """Update these nodes with what was read since."""
        for one in candidates:
            self._nodes[one.node] = (one,)
            self._judge_node(one.node)

    def _judge_node(self, name: str) -> None:
        reports = self._nodes[name]
        boots = frozenset(one.boot_id for one in reports)
        self._eligible.pop(name, None)
        self._refused.pop(name, None)
        if reasons := tuple(dict.fromkeys(reason for one in reports for reason in self._judge.reasons(one, boots))):
            self._refused[name] = reasons
        else:
            self._eligible[name] = reports[0]

    @property
    def eligible(self) -> Sequence[Candidate]:
        """Nodes without a known reason to reject them."""
        return tuple(self._eligible.values())

    def choice(self) -> Choice:
        """The choice by what is read so far."""
        return choose(self._request, self._grouping, self.eligible)

    def answer(self, choice: Choice, terms: Terms) -> Answer:
        """`choice`: the last one."""
        chosen, request = choice.nodes, self._request
        examined = Examined(len(self._nodes), len(self._eligible), terms.not_examined)
        refused = dict(self._refused)
        if not chosen:
            refused |= _outside(self._grouping, choice, self.eligible)
        warnings = [*terms.warnings, *(_unmatched(request, self._nodes) if terms.is_whole else ()), *self._notes()]
        env, env_by_node = env_of(chosen, warnings, "; --reports DIR adds it" if terms.backend == "slurm" else "")
        labelled = chosen if terms.backend != "slurm" else ()  # Slurm has no labels of nodes
        scheduling = Scheduling(request, labelled, terms.prefix, warnings)
        if terms.pin == "class" and (others := self._of_class(scheduling)):
            warnings.append(f"{names_of(others)}: refused, but with the same labels: by labels alone the job may get {_it(others)}")
        return Answer(
            schema_version=SCHEMA_VERSION,
            backend=terms.backend,
            placeable=bool(chosen),
            request=request,
            nodes=tuple(one.node for one in chosen),
            gpus={one.node: one.gpu_count for one in chosen if not isinstance(one.gpu_count, Unread)},
            valid_until=_valid_until(request, chosen, self._now),
            fabric_class=_common([one.fabric_class for one in chosen]),
            domain=_common([one.domain for one in chosen]),
            reasons=() if chosen else _request_reasons(request, choice, examined, terms),
            refused=tuple(Refused(name, refused[name]) for name in sorted(refused)),
            warnings=tuple(warnings),
            examined=examined,
            not_asked=terms.not_asked,
            pin=terms.pin,
            selector=scheduling.selector,
            affinity=scheduling.affinity(terms.pin),
            tolerations=tuple(map(toleration, request.tolerations)) if chosen else (),
            env=env,
            env_by_node=env_by_node,
        )

    def _of_class(self, scheduling: Scheduling) -> list[str]:
        """Refused nodes that the labels of the chosen ones admit, and no scheduler keeps out."""
        return [
            name
            for name, reasons in sorted(self._refused.items())
            if not any(reason.code in _KEPT_OUT for reason in reasons) and scheduling.matches(self._nodes[name][0])
        ]

    def _notes(self) -> Iterable[str]:
        """Of nodes that are eligible in the end."""
        for note, found in sorted(self._judge.notes.items()):
            if names := sorted({name for name in found if name in self._eligible}):
                yield f"{names_of(names)}: {note}"


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _valid_until(request: Request, chosen: Sequence[Candidate], now: float) -> float | None:
    """The least of the chosen nodes' times; of a report that has expired, when it is older than the request allows."""
    times = list[float]()
    for one in chosen:
        if one.valid_until is not None and one.valid_until >= now:
            times.append(one.valid_until)
        if request.max_age_s is not None and one.observed_at is not None:
            times.append(one.observed_at + request.max_age_s)
    return min(times, default=None)


def _time(one: Candidate) -> float:
    return rank(one.observed_at, one.single_node, one.multi_node)[0]


def _order(one: Candidate) -> tuple[int, int, str, str]:
    """Of one time: the worst verdict first, then by file. What still is equal differs nowhere."""
    _, single_node, multi_node = rank(one.observed_at, one.single_node, one.multi_node)
    return -single_node, -multi_node, one.source, repr(one)


def _request_reasons(request: Request, choice: Choice, examined: Examined, terms: Terms) -> tuple[Reason, ...]:
    first = _request_reason(request, choice, examined, terms)
    if not terms.incomplete:
        return (first,)
    message = f"not every node that could serve was read: {terms.incomplete}"
    return first, Reason("NotEverythingRead", message, terms.incomplete, "all nodes")


def _request_reason(request: Request, choice: Choice, examined: Examined, terms: Terms) -> Reason:
    wanted = str(request.nodes)
    eligible = f"{examined.eligible} of {counted(examined.nodes, 'node')} {are(examined.eligible)} eligible"
    if examined.eligible >= request.nodes:
        most, place = choice.most, "class and domain" if request.same_domain else "class"
        message = f"{eligible}, and at most {most} of one {place}"
        return Reason("NoCommonClass", message, str(most), wanted)
    labels = f" with {' and '.join(request.node_selector)}" if request.node_selector else ""
    none = "no node has a report" if terms.backend == "reports" else f"no node with GPUs was found{labels}"
    return Reason("TooFewNodes", eligible if examined.nodes else none, str(examined.eligible), wanted)


def _outside(grouping: Grouping, choice: Choice, eligible: Sequence[Candidate]) -> dict[str, tuple[Reason, ...]]:
    """The eligible nodes outside the largest class, and inside it those outside its largest domain."""
    home, domain = choice.largest_class, choice.largest_domain
    inside, near = {one.node for one in home}, {one.node for one in domain}
    found = dict[str, tuple[Reason, ...]]()
    for one in eligible if home else ():
        if one.node not in inside:
            found[one.node] = (class_reason(grouping, one, home),)
        elif one.node not in near:
            here, there = shown(one.domain), shown(domain[0].domain)
            found[one.node] = (Reason("NotInDomain", f"domain {here}, {counted(len(domain), 'other')} {there}", here, there),)
    return found


def _unmatched(request: Request, nodes: Mapping[str, object]) -> list[str]:
    found = []
    for option, names in (("exclude", request.exclude), ("only", request.only)):
        if missing := [name for name in dict.fromkeys(names) if name not in nodes]:
            found.append(f"--{option} {names_of(missing)}: no node has {'this name' if len(missing) == 1 else 'these names'}")
    return found


def _common(values: "Sequence[str | Unread]") -> str:
    """The one value that all have, "" where there is none."""
    texts = {"" if isinstance(value, Unread) else value for value in values}
    return visible(texts.pop()) if len(texts) == 1 else ""
