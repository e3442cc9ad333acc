"""What is told under what."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.errors import HostagentError
from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread, need
from hostagent.engine import catalogue
from hostagent.engine.check import check, fail, warn
from hostagent.engine.evaluate import evaluate
from hostagent.engine.report import Cause, verdicts
from hostagent.engine.root_cause import with_causes
from hostagent.facts.hostfacts import HostFacts
from hostagent.profiles.profile import load

PROFILE = load("default", site_file="").profile
NAMES = "abcdef"


@frozen(subject="name", called="disk")
class Disk:
    name: str
    size: "int | Unread" = 1


@frozen(subject="name", called="plug", parent="disk")
class Plug:
    name: str
    disk: "str | Unread" = ""
    bent: "bool | Unread" = False


@frozen
class Log:
    lost: "str | Unread" = ""


def declared(name, because=(), finding=None, of=Disk):
    """A check that finds `finding`, a function of its subject, or nothing."""

    def per_disk(disk: Disk):
        need(disk.size)
        if finding:
            yield finding(disk)

    def of_host(log: Log):
        need(log.lost)
        if finding:
            yield finding(log)

    def per_plug(plug: Plug):
        need(plug.bent)
        if finding:
            yield finding(plug)

    function = {Disk: per_disk, Plug: per_plug, Log: of_host}[of]
    made = check(title="It holds", severity="critical", since="0.1", remedy="Mend it.", because=because)(function)
    return made._replace(id=name)


def broken(_):
    return fail("broken", code="broken")


def told(checks, disks=("x", "y"), log=None, plugs=()):
    facts = HostFacts({Disk: tuple(one if isinstance(one, Disk) else Disk(one) for one in disks), Log: log or Log(), Plug: plugs})
    return {(one.id, one.subject): one.cause for one in evaluate(checks, facts, PROFILE)}


def test_a_finding_is_told_under_the_first_of_its_causes_that_was_found_about_the_same_device():
    first = declared("a", finding=lambda disk: fail("broken", code="broken") if disk.name == "x" else warn("weak", code="weak"))
    healthy = declared("b")
    found = told([first, healthy, declared("c", because=("b", "a"), finding=broken)])
    assert found["c", "x"] == Cause("a", "x")
    assert found["c", "y"] == Cause("a", "y"), "a warning is a cause too"
    assert (found["a", "x"], found["b", "x"]) == (Cause("a", "x"), Cause("", ""))


def test_a_cause_can_be_one_finding_of_a_check():
    first = declared("a", finding=lambda disk: fail("broken", code="gone" if disk.name == "x" else "small"))
    found = told([first, declared("b", because=("a:gone",), finding=broken)])
    assert (found["b", "x"], found["b", "y"]) == (Cause("a", "x"), Cause("b", "y"))


def test_what_concerns_the_host_explains_its_devices_and_never_the_other_way_round():
    host, device = declared("host", finding=broken, of=Log), declared("device", finding=broken)
    assert told([host, device._replace(because=("host",))])["device", "x"] == Cause("host", "")
    assert told([host._replace(because=("device",)), device])["host", ""] == Cause("host", "")


def test_a_finding_about_a_device_stands_with_those_of_that_device():
    seen = declared("log", because=("device",), finding=lambda _: fail("logged", code="logged", about="x"), of=Log)
    checks = [declared("device", finding=broken), seen]
    found = told(checks)
    assert (found["log", "x"], ("log", "") in found) == (Cause("device", "x"), False)
    facts = HostFacts({Disk: (Disk("x"),), Log: Log()})
    assert {(one.subject, one.subject_kind) for one in evaluate(checks, facts, PROFILE)} == {("x", "disk")}
    assert {one.subject_kind for one in evaluate([seen], HostFacts({Disk: (), Log: Log()}), PROFILE)} == {"device"}


PLUGS = (Plug("x:1", "x"), Plug("x:2", "x"), Plug("y:1", "y"), Plug("z:1", Unread("denied")))


def test_a_finding_about_a_part_is_told_under_what_it_is_a_part_of():
    found = told([declared("a", finding=broken), declared("b", because=("a",), finding=broken, of=Plug)], disks=("x",), plugs=PLUGS)
    assert [found["b", one.name] for one in PLUGS] == [Cause("a", "x"), Cause("a", "x"), Cause("b", "y:1"), Cause("b", "z:1")]


def test_its_own_finding_is_nearer_than_that_of_the_whole_and_that_nearer_than_the_hosts():
    own = declared("own", finding=lambda plug: fail("bent", code="bent" if plug.name == "x:1" else "straight"), of=Plug)
    last = declared("last", because=("own:bent", "disk", "host"), finding=broken, of=Plug)
    host = declared("host", finding=broken, of=Log)
    found = told([host, declared("disk", finding=broken), own, last], disks=("x",), plugs=PLUGS)
    assert [found["last", one.name] for one in PLUGS] == [Cause("own", "x:1"), Cause("disk", "x"), Cause("host", ""), Cause("host", "")]


def test_a_part_is_never_told_under_another_part_nor_the_whole_under_its_part():
    bent = declared("bent", finding=lambda _: fail("bent", code="bent", about="x:1"), of=Log)
    found = told([bent, declared("slow", because=("bent",), finding=broken, of=Plug)], plugs=PLUGS)
    assert (found["slow", "x:1"], found["slow", "x:2"]) == (Cause("bent", "x:1"), Cause("slow", "x:2"))
    assert told([bent, declared("disk", because=("bent",), finding=broken)], plugs=PLUGS)["disk", "x"] == Cause("disk", "x")


def test_a_chain_leads_from_the_part_to_the_cause_of_the_whole():
    checks = [declared("host", finding=broken, of=Log), declared("disk", because=("host",), finding=broken)]
    found = told([*checks, declared("plug", because=("disk",), finding=broken, of=Plug)], disks=("x",), plugs=PLUGS)
    assert (found["plug", "x:1"], found["plug", "y:1"]) == (Cause("host", ""), Cause("plug", "y:1"))


def test_a_part_is_called_by_its_name_and_what_it_is_a_part_of():
    facts = HostFacts({Plug: PLUGS})
    judged = evaluate([declared("bent", finding=broken, of=Plug)], facts, PROFILE)
    assert [one.device for one in judged] == ["plug x:1 (x)", "plug x:2 (x)", "plug y:1 (y)", "plug z:1"]
    about = declared("log", finding=lambda _: fail("bent", code="bent", about="x:2"), of=Log)
    (one,) = evaluate([about], HostFacts({Plug: PLUGS, Log: Log()}), PROFILE)
    assert (one.subject, one.subject_kind, one.device, one.headline) == ("x:2", "plug", "plug x:2 (x)", "plug x:2 (x): bent")


def test_a_finding_that_says_so_has_a_cause_of_its_own():
    own = declared("own", because=("a",), finding=lambda _: fail("else", code="else", because=()))
    assert told([declared("a", finding=broken), own])["own", "x"] == Cause("own", "x")


def test_a_chain_leads_to_its_first_cause():
    checks = [declared("a", finding=broken, of=Log), declared("b", because=("a",), finding=broken)]
    found = told([*checks, declared("c", because=("b",), finding=broken)])
    assert {found[name, "x"] for name in "bc"} == {Cause("a", "")}


def test_what_is_unknown_is_told_under_the_finding_about_the_answer_that_is_missing():
    gap = Unread("error", "GPU is lost", "nvml x")
    lost = declared("lost", finding=lambda _: fail("lost", code="lost", about=gap), of=Log)
    other = Unread("denied", "no", "read /y")
    found = told([lost, declared("sized")], disks=(Disk("x", gap), Disk("y", other)))
    assert (found["sized", "x"], found["sized", "y"]) == (Cause("lost", ""), Cause("sized", "y"))


def test_what_nobody_can_explain_is_one_gap_with_the_worst_of_it_first():
    gap = Unread("denied", "no", "read /y")
    heavy, light = declared("heavy", of=Log), declared("light", of=Log)._replace(severity="info")
    found = told([light, heavy, declared("sized")], disks=(Disk("x", gap),), log=Log(gap))
    assert set(found.values()) == {Cause("heavy", "")}


def _checks(because, broken_ids, opted_out, of_parts):
    def finding(name):
        return lambda _: fail("broken", code="broken", because=() if name in opted_out else None)

    kinds = {one: Plug if one in of_parts else Disk for one in NAMES}
    return [declared(one, tuple(because.get(one, ())), finding(one) if one in broken_ids else None, kinds[one]) for one in NAMES]


@st.composite
def catalogues(draw):
    """Of six checks, of disks or of their plugs, each told under some that stand before it."""
    because = {one: draw(st.lists(st.sampled_from(NAMES[:at]), unique=True, max_size=2)) for at, one in enumerate(NAMES) if at}
    broken_ids, opted_out, of_parts = (draw(st.sets(st.sampled_from(NAMES))) for _ in range(3))
    return _checks(because, broken_ids, opted_out, of_parts), because


@given(catalogues(), st.randoms())
def test_folding_hides_nothing_and_changes_no_verdict(made, chance):
    checks, because = made
    facts = HostFacts({Disk: (Disk("x"), Disk("y", Unread("denied", "no", "read /y"))), Log: Log(), Plug: PLUGS})
    judged = evaluate(checks, facts, PROFILE)
    bare = tuple(replace(one, cause=Cause("", "")) for one in judged)
    assert verdicts(judged) == verdicts(bare)
    own = {(one.id, one.subject) for one in judged if one.cause == Cause(one.id, one.subject)}
    for one in judged:
        assert (not one.cause.id) == (one.outcome in ("pass", "skip", "off"))
        if one.cause.id and one.outcome == "fail":
            assert (one.cause.id, one.cause.subject) in own, "whoever is named as the cause is told himself, at the top"
            assert one.cause.subject in (one.subject, facts.parents().get(one.subject, ""), "")
            assert one.cause.id == one.id or because[one.id]
    shuffled = list(bare)
    chance.shuffle(shuffled)
    again = {(one.id, one.subject): one.cause for one in with_causes(checks, tuple(shuffled), facts.parents())}
    opted_out = {one.id for one in judged if one.cause.id and one.cause.id == one.id and because.get(one.id)}
    assert all(again[one.id, one.subject] == one.cause for one in judged if one.id not in opted_out)


@pytest.mark.parametrize(
    ("because", "told"),
    [
        ({"a": ("nobody",)}, "the check a is told under 'nobody', wanted another check's id"),
        ({"a": ("a",)}, "the check a is told under 'a'"),
        ({"a": ("b",), "b": ("a",)}, "the check a is told under b, then under a, then under b, then under a: wanted at most 3 in a row"),
        ({"b": ("a",), "c": ("b",), "d": ("c",), "e": ("d",)}, "the check e is told under d, then under c, then under b, then under a"),
    ],
)
def test_a_cause_that_nobody_can_follow_is_refused(because, told):
    checks = {one: declared(one, because.get(one, ())) for one in NAMES}
    with pytest.raises(HostagentError, match=told):
        catalogue.refuse_unclear_causes(checks)


def test_three_above_one_another_are_followed():
    catalogue.refuse_unclear_causes(
        {one: declared(one, (before,)) for before, one in zip("abc", "bcd", strict=True)} | {"a": declared("a")}
    )
