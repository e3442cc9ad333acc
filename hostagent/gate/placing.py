"""The gate: a request and candidates in, an answer out."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from hostagent.errors import HostagentError
from hostagent.facts.unread import Unread
from hostagent.gate.answer import SCHEMA_VERSION, Answer, Backend, Examined, Reason, Refused
from hostagent.gate.candidate import Candidate, rank
from hostagent.gate.choice import Choice, choose
from hostagent.gate.classes import Grouping, class_reason
from hostagent.gate.eligibility import Judge
from hostagent.gate.request import Request
from hostagent.gate.scheduling import affinity_of, env_of, selector_of
from hostagent.gate.wording import are, count_of, names_of, shown
from hostagent.visible import visible


def place(request: Request, candidates: Iterable[Candidate], now: float, backend: Backend = "reports") -> Answer:
    """Whether the job may be placed at `now`, in seconds since 1970, on which nodes, and if not, why. Of several candidates of a node the
    one that was observed last counts.
    """
    if not isfinite(now):
        raise HostagentError(f"found the time {now}, wanted seconds since 1970", "Give place() the time, such as time.time()")
    grouping = Grouping(request)
    judge = Judge(request, now, grouping)
    nodes = _latest(candidates)
    eligible, refused = list[Candidate](), dict[str, tuple[Reason, ...]]()
    for name, reports in nodes.items():
        boots = frozenset(one.boot_id for one in reports)
        if reasons := tuple(dict.fromkeys(reason for one in reports for reason in judge.reasons(one, boots))):
            refused[name] = reasons
        else:
            eligible.append(reports[0])
    choice = choose(request, grouping, eligible)
    warnings = [
        *_unmatched(request, nodes),
        *(f"{names_of(sorted(set(found)))}: {note}" for note, found in sorted(judge.notes.items())),
    ]
    examined = Examined(len(nodes), len(eligible), 0)
    if not choice.nodes:
        refused |= _outside(grouping, choice, eligible)
    return _answer(_Case(request, backend, choice, examined), refused, warnings)


class _Case(NamedTuple):
    """What an answer is about."""

    request: Request
    backend: Backend
    choice: Choice
    examined: Examined


def _answer(case: _Case, refused: Mapping[str, tuple[Reason, ...]], warnings: list[str]) -> Answer:
    request, _, choice, examined = case
    chosen = choice.nodes
    env, env_by_node = env_of(chosen, warnings)
    selector, affinity = selector_of(request, chosen, warnings), affinity_of(request, chosen, warnings)
    return Answer(
        schema_version=SCHEMA_VERSION,
        backend=case.backend,
        placeable=bool(chosen),
        request=request,
        nodes=tuple(one.node for one in chosen),
        fabric_class=_common([one.fabric_class for one in chosen]),
        domain=_common([one.domain for one in chosen]),
        reasons=() if chosen else (_request_reason(request, choice, examined),),
        refused=tuple(Refused(name, refused[name]) for name in sorted(refused)),
        warnings=tuple(warnings),
        examined=examined,
        selector=selector,
        affinity=affinity,
        tolerations=(),
        env=env,
        env_by_node=env_by_node,
    )


def _latest(candidates: Iterable[Candidate]) -> dict[str, tuple[Candidate, ...]]:
    """By node the candidate that was observed last; of several of that time all, for none of them is known to be the right one."""
    found = dict[str, tuple[Candidate, ...]]()
    for one in candidates:
        kept = found.get(one.node)
        if kept is None or _time(one) > _time(kept[0]):
            found[one.node] = (one,)
        elif _time(one) == _time(kept[0]):
            found[one.node] = tuple(sorted((*kept, one), key=_order))
    return found


def _time(one: Candidate) -> float:
    return rank(one.observed_at, one.single_node, one.multi_node)[0]


def _order(one: Candidate) -> tuple[int, int, str, str]:
    """Of one time: the worst verdict first, then by file. What still is equal differs nowhere."""
    _, single_node, multi_node = rank(one.observed_at, one.single_node, one.multi_node)
    return -single_node, -multi_node, one.source, repr(one)


def _request_reason(request: Request, choice: Choice, examined: Examined) -> Reason:
    wanted = str(request.nodes)
    eligible = f"{examined.eligible} of {count_of(examined.nodes, 'node')} {are(examined.eligible)} eligible"
    if examined.eligible >= request.nodes:
        most, place = choice.most, "class and domain" if request.same_domain else "class"
        message = f"{eligible}, and at most {most} of one {place}"
        return Reason("NoCommonClass", message, str(most), wanted)
    return Reason("TooFewNodes", eligible if examined.nodes else "no node has a report", str(examined.eligible), wanted)


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
            found[one.node] = (Reason("NotInDomain", f"domain {here}, {count_of(len(domain), 'other')} {there}", here, there),)
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
