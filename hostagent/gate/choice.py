"""Chooses nodes for a job among the eligible ones. The choice does not depend on the order of the nodes."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from hostagent.core.unread import Unread
from hostagent.gate.candidate import Candidate
from hostagent.gate.classes import Grouping
from hostagent.gate.request import Request
from hostagent.gate.scheduling import HOSTNAME


class Choice(NamedTuple):
    """The nodes, none where the job cannot be placed; the largest class, with same_domain the largest domain of it, by name; and how many
    nodes there are at most for one job: of one class, with same_domain of one domain of any class.
    """

    nodes: tuple[Candidate, ...]
    largest_class: tuple[Candidate, ...]
    largest_domain: tuple[Candidate, ...]
    most: int


class _Group(NamedTuple):
    """The eligible nodes of one class."""

    name: str
    members: list[Candidate]
    domains: dict[str, list[Candidate]]

    @property
    def order(self) -> tuple[int, str]:
        """Most nodes first, then by name."""
        return -len(self.members), self.name


def choose(request: Request, grouping: Grouping, eligible: Sequence[Candidate]) -> Choice:
    """Of nodes without a reason."""
    if request.nodes == 1:
        best = min(eligible, key=lambda one: _spare(request, one), default=None)
        return Choice((best,) if best else (), (), (), len(eligible))
    groups = _groups(grouping, eligible)
    largest = min(groups, key=lambda group: group.order, default=None)
    if largest is None:
        return Choice((), (), (), 0)
    home = _by_name(largest.members)
    domain = _by_name(largest.domains[_domain_order(largest.domains)[0]]) if request.same_domain and largest.domains else home
    sizes = [len(nodes) for group in groups for nodes in group.domains.values()] if request.same_domain else [len(home)]
    return Choice(_placed(request, groups), home, domain, max(sizes, default=0))


def _groups(grouping: Grouping, eligible: Sequence[Candidate]) -> list[_Group]:
    members = defaultdict[object, list[Candidate]](list)
    for one in eligible:
        members[grouping.key(one)].append(one)
    found = list[_Group]()
    for _, nodes in sorted(members.items(), key=lambda item: str(item[0])):
        domains = defaultdict[str, list[Candidate]](list)
        names = list[str]()
        for one in nodes:
            if not isinstance(one.domain, Unread):
                domains[one.domain].append(one)
            if not isinstance(own := grouping.class_of(one), Unread):
                names.append(own)
        found.append(_Group(min(names, default=""), nodes, domains))
    return sorted(found, key=lambda group: group.name)


def _placed(request: Request, groups: list[_Group]) -> tuple[Candidate, ...]:
    """Of the first class that holds the job."""

    def holding(group: _Group) -> list[str]:
        return [name for name in _domain_order(group.domains) if len(group.domains[name]) >= request.nodes]

    fitting = [group for group in groups if (holding(group) if request.same_domain else len(group.members) >= request.nodes)]
    if not fitting:
        return ()
    group = min(fitting, key=lambda group: (not holding(group), group.order))
    domains = holding(group)
    pool = group.domains[domains[0]] if domains else group.members
    chosen = sorted(pool, key=lambda one: _spare(request, one))[: request.nodes]
    return _by_name(chosen)


def _domain_order(domains: dict[str, list[Candidate]]) -> list[str]:
    return sorted(domains, key=lambda name: (-len(domains[name]), name))


def _spare(request: Request, one: Candidate) -> tuple[bool, int, str]:
    """The fewest GPUs to spare first, then by name. A node of a cluster without the kubelet's label comes last: the pods of one job are
    kept apart by it.
    """
    count = one.gpu_count if one.free_gpus is None else one.free_gpus
    is_unlabelled = one.labels is not None and HOSTNAME not in one.labels
    return is_unlabelled, (0 if isinstance(count, Unread) else count - request.gpus_per_node), one.node


def _by_name(nodes: Sequence[Candidate]) -> tuple[Candidate, ...]:
    return tuple(sorted(nodes, key=lambda one: one.node))
