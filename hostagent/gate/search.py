"""Reads a cluster in pages, until the job can be placed or every node that could serve was read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from hostagent.core.unread import Unread
from hostagent.gate.answer import Answer, Backend, Pin, Reason
from hostagent.gate.candidate import Candidate
from hostagent.gate.choice import Choice
from hostagent.gate.placing import Placing, Terms
from hostagent.gate.request import Request
from hostagent.gate.scheduling import PREFIX

#: Nodes of which free GPUs are asked at once; twice as many each time.
_FIRST = 8
#: Limits that are not checked, and may still reject the job or let it wait.
_NOT_ASKED: Mapping[Backend, tuple[str, ...]] = {"kubernetes": ("ResourceQuota", "LimitRange"), "slurm": ("accounts", "QOS")}


class Free(NamedTuple):
    """What running jobs leave free on a node. ``reasons``: why it takes no job all the same."""

    gpus: int
    reasons: tuple[Reason, ...] = ()


class Cluster(Protocol):
    """A backend that asks a cluster. ``now``: seconds since 1970, by the cluster's clock. ``incomplete``: why a part was not read."""

    now: float
    warnings: list[str]
    incomplete: str

    def pages(self) -> Iterator[Sequence[Candidate]]:
        """Nodes that may serve come first, then those that explain a refusal."""

    def free(self, candidates: Sequence[Candidate]) -> Mapping[str, Free]:
        """Of nodes with unknown ``free_gpus``."""

    def not_examined(self) -> int:
        """Nodes of the cluster that were in no page so far."""


class SearchOptions(NamedTuple):
    """Options of the search. ``read_all``: to the last page, also where the job can be placed before."""

    backend: Backend
    pin: Pin = "nodes"
    prefix: str = PREFIX
    read_all: bool = False


def search(request: Request, cluster: Cluster, asked: SearchOptions) -> Answer:
    """The same pages give the same answer. Raises ``HostagentError`` where the cluster cannot be read."""
    placing = Placing(request, cluster.now)
    is_whole = True
    for page in cluster.pages():
        placing.add(page)
        if not asked.read_all and _known_choice(placing, cluster).nodes:
            is_whole = False
            break
    choice = _known_choice(placing, cluster)
    if not choice.nodes:
        _ask(placing, cluster, _unknown(placing.eligible))
        choice = _known_choice(placing, cluster)
    terms = Terms(
        asked.backend,
        asked.pin,
        asked.prefix,
        not_asked=_NOT_ASKED.get(asked.backend, ()),
        not_examined=cluster.not_examined(),
        incomplete=cluster.incomplete,
        warnings=tuple(cluster.warnings),
        is_whole=is_whole,
    )
    return placing.answer(choice, terms)


def _known_choice(placing: Placing, cluster: Cluster) -> Choice:
    """A choice of nodes with enough free GPUs, of all nodes read so far."""
    number = _FIRST
    while True:
        choice = placing.choice()
        unknown = _unknown(choice.nodes)
        if not unknown:
            return choice
        if len(unknown) < number:  # others of their class may be next
            names = {one.node for one in unknown}
            others = [one for one in _unknown(placing.eligible) if one.node not in names and _class(one) == _class(unknown[0])]
            unknown = [*unknown, *others[: number - len(unknown)]]
        _ask(placing, cluster, unknown)
        number *= 2


def _class(one: Candidate) -> str:
    return "" if isinstance(one.fabric_class, Unread) else one.fabric_class


def _unknown(candidates: Sequence[Candidate]) -> list[Candidate]:
    return [one for one in candidates if one.free_gpus is None]


def _ask(placing: Placing, cluster: Cluster, candidates: Sequence[Candidate]) -> None:
    if candidates:
        free = cluster.free(candidates)
        placing.replace(
            replace(one, free_gpus=free[one.node].gpus, own_reasons=(*one.own_reasons, *free[one.node].reasons)) for one in candidates
        )
