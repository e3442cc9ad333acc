"""The gate: a request and candidates in, an answer out."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from hostagent.errors import HostagentError
from hostagent.facts.unread import Unread
from hostagent.gate.answer import SCHEMA_VERSION, Answer, Backend, Examined, Reason, Refused
from hostagent.gate.candidate import Candidate
from hostagent.gate.choice import Choice, choose
from hostagent.gate.classes import Grouping, apart
from hostagent.gate.eligibility import Judge
from hostagent.gate.levers import affinity_of, env_of, selector_of
from hostagent.gate.request import Request
from hostagent.gate.wording import count_of, names_of, shown
from hostagent.visible import visible

_BADNESS = {"ready": 0, "degraded": 1, "unknown": 2, "not_ready": 3}
_NO_BOOTS = frozenset[str]()


def place(request: Request, candidates: Iterable[Candidate], now: float, backend: Backend = "reports") -> Answer:
    """Whether the job may be placed at `now`, in seconds since 1970, on which nodes, and if not, why. One candidate a node is kept: the
    one that was observed last.
    """
    if not isfinite(now):
        raise HostagentError(f"found the time {now}, wanted seconds since 1970", "Give place() the time, such as time.time()")
    grouping = Grouping(request)
    judge = Judge(request, now, grouping)
    nodes = _latest(candidates)
    eligible, refused = list[Candidate](), dict[str, tuple[Reason, ...]]()
    for name, (one, boots) in nodes.items():
        if reasons := judge.reasons(one, boots):
            refused[name] = reasons
        else:
            eligible.append(one)
    choice = choose(request, grouping, eligible)
    warnings = [
        *_unmatched(request, nodes),
        *(f"{names_of(sorted(found))}: {note}" for note, found in sorted(judge.notes.items())),
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
        fabric_class=_alike([one.fabric_class for one in chosen]),
        domain=_alike([one.domain for one in chosen]),
        reasons=() if chosen else (_whole(request, choice, examined),),
        refused=tuple(Refused(name, refused[name]) for name in sorted(refused)),
        warnings=tuple(warnings),
        examined=examined,
        selector=selector,
        affinity=affinity,
        tolerations=(),
        env=env,
        env_by_node=env_by_node,
    )


def _latest(candidates: Iterable[Candidate]) -> "dict[str, tuple[Candidate, frozenset[str]]]":
    """By node the candidate that was observed last, and where others are of the same time, the boots of all of them."""
    found = dict[str, tuple[Candidate, frozenset[str]]]()
    for one in candidates:
        if one.node not in found:
            found[one.node] = one, _NO_BOOTS
            continue
        kept, boots = found[one.node]
        mine, theirs = _time(one), _time(kept)
        if mine > theirs:
            found[one.node] = one, _NO_BOOTS
        elif mine == theirs:
            found[one.node] = min(one, kept, key=_rank), boots | {one.boot_id, kept.boot_id}
    return found


def _time(one: Candidate) -> float:
    return float("-inf") if one.observed_at is None else one.observed_at


def _rank(one: Candidate) -> tuple[int, int, str, str]:
    """Of two of one time: the worse verdict first, then the first file; what still is alike differs nowhere."""
    return -_badness(one.single_node), -_badness(one.multi_node), one.source, repr(one)


def _badness(verdict: "str | Unread") -> int:
    return 2 if isinstance(verdict, Unread) else _BADNESS.get(verdict, 2)


def _whole(request: Request, choice: Choice, examined: Examined) -> Reason:
    wanted = str(request.nodes)
    if examined.eligible >= request.nodes:
        most, place = len(choice.largest_domain), "class and domain" if request.same_domain else "class"
        message = f"{examined.eligible} of {examined.nodes} nodes are eligible, and at most {most} of one {place}"
        return Reason("NoCommonClass", message, str(most), wanted)
    message = f"{examined.eligible} of {count_of(examined.nodes, 'node')} are eligible" if examined.nodes else "no node has a report"
    return Reason("TooFewNodes", message, str(examined.eligible), wanted)


def _outside(grouping: Grouping, choice: Choice, eligible: Sequence[Candidate]) -> dict[str, tuple[Reason, ...]]:
    """The eligible nodes outside the largest class, and inside it those outside its largest domain."""
    home, domain = choice.largest_class, choice.largest_domain
    inside, near = {one.node for one in home}, {one.node for one in domain}
    found = dict[str, tuple[Reason, ...]]()
    for one in eligible if home else ():
        if one.node not in inside:
            found[one.node] = (apart(grouping, one, home),)
        elif one.node not in near:
            here, there = shown(one.domain), shown(domain[0].domain)
            found[one.node] = (Reason("NotInDomain", f"domain {here}, {count_of(len(domain), 'other')} {there}", here, there),)
    return found


def _unmatched(request: Request, nodes: Mapping[str, object]) -> list[str]:
    found = []
    for option, names in (("exclude", request.exclude), ("only", request.only)):
        if missing := [name for name in dict.fromkeys(names) if name not in nodes]:
            found.append(f"{option}: no report is of {names_of(missing)}")
    return found


def _alike(values: "Sequence[str | Unread]") -> str:
    """The one value that all have, "" where there is none."""
    texts = {"" if isinstance(value, Unread) else value for value in values}
    return visible(texts.pop()) if len(texts) == 1 else ""
