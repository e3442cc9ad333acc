"""Checks that take a join: what is read for it, what an unread input of it does to them, and that it is made once per pass."""

import pytest

from hostagent.core.frozen import frozen
from hostagent.core.join import Join, cached
from hostagent.core.unread import Unread, UnreadError
from hostagent.engine.check import check, fail, need
from hostagent.engine.evaluate import evaluate
from hostagent.engine.inputs import JoinCache, resolve
from hostagent.engine.lint import lint
from hostagent.facts.hostfacts import HostFacts
from hostagent.profiles.profile import Profile, load

PROFILE = load("default", site_file="/nonexistent").profile
DENIED = Unread("denied", "open /clock")


@frozen
class Clock:
    """A fact."""

    offset: float | Unread


@frozen
class Zone:
    """Another one."""

    name: str | Unread


@frozen(subject="name", called="disk")
class Disk:
    """A subject."""

    name: str
    size: int | Unread


@frozen
class Sizes(Join):
    """The disks of a host, and where it is."""

    clock: Clock
    disks: tuple[Disk, ...]
    zone: Zone | Unread
    profile: Profile

    @cached
    def total(self) -> int:
        CALLS.append("total")
        return sum(need(disk.size) for disk in self.disks)


@frozen
class Halves(Join):
    """A join of a join."""

    sizes: Sizes

    @cached
    def half(self) -> int:
        return self.sizes.total // 2


@frozen
class Known(Join):
    """A join that takes another one unread."""

    sizes: Sizes | Unread


CALLS: list[str] = []


def small(sizes: Sizes):
    if sizes.total < 10:
        yield fail("small", code="small")


def halved(halves: Halves):
    if halves.half < 10:
        yield fail("small", code="small")


def known(known: Known, clock: Clock | Unread):
    if isinstance(known.sizes, Unread):
        yield fail(f"no sizes: {known.sizes.why}, clock {isinstance(clock, Unread)}", code="unknown")


def each(disk: Disk, sizes: Sizes):
    if need(disk.size) * 2 < sizes.total:
        yield fail("less than half", code="less")


def declare(function):
    return check(title="It holds", severity="critical", since="0.1", remedy="Mend it.")(function)


DISKS = (Disk("a", 4), Disk("b", 20))


def judged(*functions, **lost):
    facts = HostFacts({Clock: lost.get("clock", Clock(0.0)), Disk: lost.get("disks", DISKS), Zone: DENIED})
    CALLS.clear()
    found = evaluate(map(declare, functions), facts, PROFILE)
    return [(one.id, one.subject, one.outcome, one.code, one.message) for one in found]


def test_a_check_reads_what_its_joins_are_made_of():
    assert resolve(small).kinds == resolve(halved).kinds == (Clock, Zone, Disk)
    assert resolve(small).needed == resolve(halved).needed == (Clock, Disk)
    assert (resolve(known).kinds, resolve(known).needed) == ((Clock, Zone, Disk), ())
    assert (resolve(each).kinds, resolve(each).needed) == ((Disk, Clock, Zone), (Clock, Disk))


def test_a_join_is_made_once_for_all_checks_of_a_pass():
    assert judged(small, halved, each) == [
        ("each", "a", "fail", "less", "less than half"),
        ("each", "b", "pass", "", "It holds"),
        ("halved", "", "pass", "", "It holds"),
        ("small", "", "pass", "", "It holds"),
    ]
    assert CALLS == ["total"]
    judged(small)
    assert CALLS == ["total"], "another pass makes its own"


def test_a_join_that_no_check_uses_is_not_computed():
    def untouched(sizes: Sizes):
        yield from ()

    assert judged(untouched) == [("untouched", "", "pass", "", "It holds")]
    assert CALLS == []


@pytest.mark.parametrize(("why", "outcome"), [("denied", "unknown"), ("absent", "skip")])
@pytest.mark.parametrize("lost", ["clock", "disks"])
def test_an_unread_input_of_a_join_stops_each_check_that_takes_it(lost, why, outcome):
    found = judged(small, halved, each, **{lost: Unread(why, "the detail")})
    assert [one[2] for one in found] == [outcome] * len(found)
    assert all("the detail" in one[4] for one in found)


def test_a_join_says_which_of_its_inputs_was_not_read():
    joined = JoinCache(HostFacts({Clock: DENIED, Disk: (), Zone: DENIED}), PROFILE)
    assert joined.of(Halves) is joined.of(Sizes) is DENIED
    assert judged(known, clock=DENIED) == [("known", "", "fail", "unknown", "no sizes: denied, clock True")]


def test_what_is_unread_within_a_join_is_unread_at_each_use():
    found = judged(small, halved, disks=(Disk("a", Unread("timeout", "no size")),))
    assert [(one[2], one[3]) for one in found] == [("unknown", "unread-timeout")] * 2
    assert CALLS == ["total"]
    sizes = Sizes(Clock(0.0), (Disk("a", DENIED),), DENIED, PROFILE)
    for _ in range(2):
        with pytest.raises(UnreadError):
            sizes.total  # noqa: B018  looking is enough


@frozen
class OfOne(Join):
    """It would be another one for each disk."""

    disk: Disk


@frozen
class OfNumber(Join):
    """No fact."""

    size: int


class Bare(Join):
    """Without fields."""


@pytest.mark.parametrize(
    ("kind", "mistake"),
    [
        (OfOne, "the join OfOne: found a subject or Params"),
        (OfNumber, "'size' is annotated <class 'int'>, wanted a fact"),
        (Bare, "the join Bare is no class of @frozen"),
    ],
)
def test_a_join_that_cannot_be_made_is_refused_where_a_check_takes_it(kind, mistake):
    def taking(one):
        yield from ()

    taking.__annotations__["one"] = kind
    with pytest.raises(ValueError, match=mistake):
        declare(taking)


TAKES = """
from hostagent.check import Findings, check, fail
from hostagent.domains.network.rails import Rails

@check(title="There is a rail", severity="info", since="0.1", remedy="Add one.")
def railed(rails: Rails) -> Findings:
    if not rails.ports:
        yield fail("no rail", code="none")
"""
MAKES = """
from hostagent.check import Join, cached
from hostagent.domains.network.rails import Rails
from hostagent.check import frozen
from hostagent.facts.network import Network

@frozen
class Own(Join):
    rails: Rails
    network: Network

    @cached
    def names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.rails.ports)
"""


@pytest.mark.parametrize("source", [TAKES, MAKES])
def test_the_lint_lets_a_catalogue_take_joins_and_make_its_own(source):
    assert lint(source) == ()


def test_the_lint_refuses_what_a_join_s_module_imported_itself():
    assert lint("from hostagent.check import Any")
    assert lint("from hostagent.domains.network.rails import load")
