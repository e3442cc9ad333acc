"""Facts meet checks: what passes, what cannot be judged, what does not apply."""

import signal
import time
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.errors import HostagentError, OutOfTime
from hostagent.core.frozen import frozen
from hostagent.core.steps import Step
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, Why
from hostagent.engine.check import check, fail, need, skip, warn
from hostagent.engine.evaluate import evaluate
from hostagent.engine.report import verdicts
from hostagent.facts.hostfacts import HostFacts
from hostagent.profiles.profile import CheckPolicy, Profile, load
from tests.over import over

PROFILE = load("default", site_file="/nonexistent").profile
WHYS = get_args(Why)


@frozen(subject="name", called="disk")
class Disk:
    """One of several."""

    name: str
    size: "int | Unread"
    wear: "int | Unread" = 0


@frozen(subject="name", called="drive")
class Drive:
    """One of several of another kind."""

    name: str


@dataclass(frozen=True)
class Clock:
    """One on a host."""

    offset: "float | Unread"
    source: "str | Unread" = "ntp"


class Params(NamedTuple):
    """Thresholds."""

    floor: int = 10
    ratio: float = 0.5
    strict: bool = False
    ignored: tuple[int, ...] = ()


@frozen
class Excepting(CheckPolicy):
    """A policy that leaves subjects out."""

    excepted: tuple[str, ...] = ()


def declare(function, **fields):
    base = {"title": "It holds", "severity": "critical", "since": "0.1", "remedy": "Mend it.", "references": ("A manual",)}
    return check(**{**base, **fields})(function)


def run(one, *facts, policy=None, profile=PROFILE):
    values = {type(fact[0]) if isinstance(fact, tuple) else type(fact): fact for fact in facts}
    if policy:
        profile = replace(profile, checks={one.id: policy})
    return evaluate([one], HostFacts(values), profile)


def size(disk: Disk):
    if need(disk.size) < 10:
        yield fail("too small", code="small", found=disk.size, wanted=">= 10")


def clock(clock: Clock):
    if abs(need(clock.offset)) > 1:
        yield fail("clock is off", code="off")
    if need(clock.source) == "":
        yield warn("no source", code="no-source")


SIZE, CLOCK = declare(size), declare(clock)


def test_yielding_nothing_is_a_pass():
    (one,) = run(CLOCK, Clock(0.0))
    assert (one.outcome, one.message, one.subject) == ("pass", "It holds", "")


def test_a_check_with_a_subject_runs_once_for_each_in_order_of_their_keys():
    told = run(SIZE, (Disk("b", 1), Disk("a", 100)))
    assert [(one.subject, one.outcome) for one in told] == [("a", "pass"), ("b", "fail")]
    assert (told[1].found, told[1].wanted, told[1].remedy) == ("1", ">= 10", (Step("none", "Mend it."),))


def test_no_subject_is_a_skip_and_never_a_vacuous_pass():
    (one,) = evaluate([SIZE], HostFacts({Disk: ()}), PROFILE)
    assert (one.outcome, one.code, one.message) == ("skip", "no-subject", "this host has no disk")


def test_a_judgement_says_what_its_subject_is_and_the_host_is_none():
    assert [(one.subject, one.subject_kind) for one in run(SIZE, (Disk("a", 1), Disk("b", 100)))] == [("a", "disk"), ("b", "disk")]
    for told in (
        run(CLOCK, Clock(0.0)),
        evaluate([SIZE], HostFacts({Disk: ()}), PROFILE),
        evaluate([SIZE], HostFacts({}), PROFILE),
    ):
        assert {(one.subject, one.subject_kind) for one in told} == {("", "")}


def test_subjects_come_in_the_order_in_which_a_person_counts():
    names = ("mlx5_10", "mlx5_2", "mlx5_2:1", "0000:9d:00.0", "0000:10:00.0")
    told = run(SIZE, tuple(Disk(name, 10) for name in names))
    assert [one.subject for one in told] == ["0000:10:00.0", "0000:9d:00.0", "mlx5_2", "mlx5_2:1", "mlx5_10"]


def test_a_subject_list_that_nobody_read_is_one_unknown():
    (one,) = evaluate([SIZE], HostFacts({}), PROFILE)
    assert (one.outcome, one.code) == ("unknown", "unread-not-recorded")


@pytest.mark.parametrize("why", WHYS)
def test_an_unread_value_skips_where_it_does_not_apply_and_is_unknown_otherwise(why):
    (one,) = run(CLOCK, Clock(Unread(why, "the detail")))
    assert one.outcome == ("skip" if why in NOT_APPLICABLE else "unknown")
    assert "the detail" in one.message


values = st.one_of(st.integers(-20, 20), st.builds(Unread, st.sampled_from(WHYS)))


@given(st.lists(st.tuples(values, values), max_size=5))
def test_an_unread_input_never_passes(rows):
    def both(disk: Disk):
        if need(disk.size) < 0 or need(disk.wear) > 10:
            yield warn("worn", code="worn")

    disks = tuple(Disk(str(number), *row) for number, row in enumerate(rows))
    for one in evaluate([declare(both)], HostFacts({Disk: disks}), PROFILE):
        disk = next((disk for disk in disks if disk.name == one.subject), None)
        if one.outcome == "pass":
            assert not isinstance(disk.size, Unread)
            assert not isinstance(disk.wear, Unread)


USES = (
    "bool(value)", "not value", "len(value)", "list(value)", "str(value)", "f'{value}'", "f'{value:>3}'", "int(value)", "float(value)",
    "[1][value]", "value < 1", "value <= 1", "value > 1", "value >= 1", "1 < value", "value == 1", "value != 1", "1 == value", "value == ''",
    "value == None", "1 in value", "value in [1]", "value in (1, 2)", "value in {1, 2}", "value in frozenset((1,))", "{1: 2}.get(value)", "{value}", "{value: 1}", "hash(value)",
    "value['a']", "value[0]", "value + 1", "value - 1", "value()",
    "value.version", "sorted([value, 1])", "max(value, 1)", "any(value)", "[*value]", "','.join(value)", "value and 1",
)  # fmt: skip


@over("why", WHYS)
@over("use", USES)
def test_a_check_that_forgets_need_does_not_pass_either(use, why):
    def careless(clock: Clock):
        if eval(use, {"value": clock.offset}) is use:
            yield fail("never", code="never")

    (one,) = run(declare(careless), Clock(Unread(why)))
    assert one.outcome == ("skip" if why in NOT_APPLICABLE else "unknown")


def test_findings_before_an_unread_value_are_kept_beside_the_unknown():
    told = run(CLOCK, Clock(5.0, Unread("denied")))
    assert [one.outcome for one in told] == ["fail", "unknown"]


def test_findings_before_an_inapplicable_value_stand_alone():
    assert [one.outcome for one in run(CLOCK, Clock(5.0, Unread("absent")))] == ["fail"]


def test_the_owner_of_an_absence_fails_and_everybody_else_skips():
    owner = declare(clock, owns=("Clock.offset",))
    assert run(owner, Clock(Unread("absent", "no clock")))[0].outcome == "fail"
    assert run(CLOCK, Clock(Unread("absent", "no clock")))[0].outcome == "skip"
    assert run(owner, Clock(0.0, Unread("absent")))[0].outcome == "skip", "it owns one field, not all"
    assert run(owner, Clock(Unread("not-supported")))[0].outcome == "skip", "it owns an absence, nothing else"


def test_what_does_not_apply_is_a_skip_with_its_reason():
    def clock(clock: Clock):
        skip("no network")
        yield

    (one,) = run(declare(clock), Clock(0.0))
    assert (one.outcome, one.code, one.message) == ("skip", "not-applicable", "does not apply (no network)")


def test_a_skip_after_findings_takes_nothing_back():
    def clock(clock: Clock):
        yield warn("it drifts", code="drift")
        skip("no network")

    assert [(one.outcome, one.code) for one in run(declare(clock), Clock(0.0))] == [("warn", "drift")]


@pytest.mark.parametrize("body", ["1 / 0", "None", "[3]", "'text'", "need(clock.offset).real.none"])
def test_a_check_that_crashes_is_unknown(body):
    def crash(clock: Clock):
        return eval(body, {"clock": clock, "need": need})

    (one,) = run(declare(crash), Clock(0.0))
    assert (one.outcome, one.code) == ("unknown", "crashed")
    assert "Error" in one.message


def test_a_crash_leaves_its_traceback_and_no_place_of_this_machine():
    def crash(clock: Clock):
        yield from deeper(0)

    def deeper(number):
        return 1 / number

    (one,) = run(declare(crash), Clock(0.0))
    assert one.message.startswith("the check crashed: ZeroDivisionError: division by zero at test_evaluate.py:")
    assert [line.partition(":")[0] for line in one.evidence] == [
        "hostagent/engine/evaluate.py",
        "test_evaluate.py",
        "test_evaluate.py",
        "ZeroDivisionError",
    ]
    assert [line.rpartition(" in ")[2] for line in one.evidence[:3]] == ["_run", "crash", "deeper"]


def test_the_traceback_of_a_crash_is_short_and_tells_what_it_came_from():
    def crash(clock: Clock):
        try:
            _ = {}["x" * 1000]
        except KeyError as error:
            raise RuntimeError("\n".join("y" * 300 for _ in range(30)) if clock.offset else "second") from error
        yield

    long, chained = (run(declare(crash), Clock(offset))[0].evidence for offset in (1.0, 0.0))
    assert len(long) == 20
    assert max(map(len, long)) == 200
    assert chained[-1] == "RuntimeError: second"
    assert "and from that:" in chained
    assert any(line.startswith("KeyError: 'xxx") for line in chained)


def test_an_error_that_cannot_say_what_it_is_is_a_crash_like_any_other():
    def crash(clock: Clock):
        raise ValueError(clock.source)

    (one,) = run(declare(crash), Clock(0.0, Unread("denied")))
    assert (one.outcome, one.code, one.evidence[-1]) == ("unknown", "crashed", "ValueError")


def test_what_was_seen_when_a_reader_crashed_is_evidence_of_every_check_it_stopped():
    (one,) = run(CLOCK, Clock(Unread("error", "reading Clock crashed", evidence=("collect/clock.py:3 in read_clock", "KeyError: 'x'"))))
    assert (one.code, one.evidence) == ("unread-error", ("collect/clock.py:3 in read_clock", "KeyError: 'x'"))


def spin():
    while True:
        pass


def endless(clock: Clock):
    spin()
    yield


def test_a_check_that_runs_out_of_time_is_unknown_and_the_ones_after_it_are_judged():
    def slow(disk: Disk):
        started.append(disk.name)
        yield fail("found before", code="before")
        if disk.name == "b":
            raise OutOfTime

    started = []
    checks = [CLOCK._replace(id="a.first"), declare(slow)._replace(id="b.slow"), CLOCK._replace(id="c.last")]
    told = evaluate(checks, HostFacts({Disk: (Disk("a", 1), Disk("b", 1), Disk("c", 1)), Clock: Clock(0.0)}), PROFILE)
    assert [(one.id, one.subject, one.outcome, one.code) for one in told] == [
        ("a.first", "", "pass", ""),
        ("b.slow", "", "unknown", "unread-timeout"),
        ("c.last", "", "pass", ""),
    ]
    assert started == ["a", "b"], "it is not begun again"


def test_after_the_sixth_check_that_runs_out_of_time_the_rest_is_not_judged():
    def slow(clock: Clock):
        started.append(clock)
        raise OutOfTime

    started = []
    checks = [declare(slow)._replace(id=f"a.slow{number}") for number in range(8)] + [CLOCK._replace(id="z.last")]
    told = evaluate(checks, HostFacts({Clock: Clock(0.0)}), PROFILE)
    assert {one.code for one in told} == {"unread-timeout"}
    assert (len(told), len(started)) == (9, 6)


def test_a_check_that_waits_for_a_busy_machine_is_judged():
    def waits(clock: Clock):
        time.sleep(0.4)
        return ()

    (one,) = evaluate([declare(waits)], HostFacts({Clock: Clock(0.0)}), PROFILE, within_s=0.2)
    assert one.outcome == "pass", "it did not work for all that time"


def test_two_checks_of_one_name_are_judged_to_an_end():
    assert [one.outcome for one in evaluate([CLOCK, CLOCK], HostFacts({Clock: Clock(0.0)}), PROFILE)] == ["pass", "pass"]


@pytest.mark.parametrize(
    ("policy", "declared", "outcome", "severity"),
    [
        (CheckPolicy(), "critical", "unknown", "critical"),
        (CheckPolicy(), "warning", "unknown", "info"),
        (CheckPolicy(severity="critical"), "warning", "unknown", "critical"),
        (CheckPolicy(severity="warning"), "critical", "unknown", "info"),
        (CheckPolicy(severity="info"), "critical", "unknown", "info"),
        (CheckPolicy(off="known"), "critical", "off", "critical"),
    ],
)
def test_a_check_that_was_not_judged_counts_where_it_is_critical_and_keeps_what_the_profile_says_of_it(policy, declared, outcome, severity):
    def slow(clock: Clock):
        raise OutOfTime

    checks = [declare(slow, severity="info")._replace(id=f"a.slow{number}") for number in range(6)]
    checks.append(declare(clock, severity=declared))
    *_, one = evaluate(checks, HostFacts({Clock: Clock(0.0)}), replace(PROFILE, checks={"clock": policy}))
    assert (one.id, one.outcome, one.severity) == ("clock", outcome, severity)


@pytest.mark.parametrize(("severity", "verdict"), [("critical", "unknown"), ("warning", "ready")])
def test_a_check_that_was_not_judged_changes_the_verdict_only_where_it_is_critical(severity, verdict):
    def slow(clock: Clock):
        raise OutOfTime

    told = evaluate([CLOCK, declare(slow, severity=severity, scope="fabric")], HostFacts({Clock: Clock(0.0)}), PROFILE)
    assert verdicts(told).multi_node == verdict


def test_a_subject_that_the_profile_excepts_is_off_and_says_who_wished_it():
    def size(disk: Disk):
        judged.append(disk.name)
        yield from ()

    judged = []
    policy = Excepting(excepted=("b", "not-there"))
    profile = replace(PROFILE, checks={"size": policy})
    facts = HostFacts({Disk: (Disk("a", 1), Disk("b", 1))})
    told = evaluate([declare(size)], facts, profile, origins={"checks.size.except": "/etc/hostagent/profile.yaml"})
    assert [(one.subject, one.subject_kind, one.outcome, one.code) for one in told] == [
        ("a", "disk", "pass", ""),
        ("b", "disk", "off", "excepted"),
    ]
    assert told[1].message == "excepted by the profile /etc/hostagent/profile.yaml"
    assert judged == ["a"], "what is off does not run"
    assert evaluate([declare(size)], facts, profile)[1].message == "excepted by the profile"


def test_what_a_check_of_the_host_finds_about_an_excepted_subject_is_off():
    def size(disks: tuple[Disk, ...]):
        yield from (fail(f"disk {disk.name}", code="small", about=disk.name) for disk in disks)

    profile = replace(PROFILE, checks={"size": Excepting(excepted=("b",))})
    told = evaluate([declare(size)], HostFacts({Disk: (Disk("a", 1), Disk("b", 1))}), profile)
    assert [(one.subject, one.outcome, one.code) for one in told] == [("a", "fail", "small"), ("b", "off", "excepted")]


def test_off_says_why_and_does_not_run_the_check():
    def explode(clock: Clock):
        raise AssertionError

    (one,) = run(declare(explode), Clock(0.0), policy=CheckPolicy(off="vendor says so"))
    assert (one.outcome, one.message) == ("off", "turned off by the profile: vendor says so")


def test_the_profile_can_change_a_severity():
    assert run(CLOCK, Clock(5.0), policy=CheckPolicy(severity="info"))[0].severity == "info"


def tuned(disk: Disk, params: Params):
    if need(disk.size) < params.floor:
        yield fail("too small", code="small", wanted=params.floor)


def test_thresholds_are_the_checks_own_unless_the_profile_has_others():
    disks = (Disk("a", 15),)
    assert run(declare(tuned), disks)[0].outcome == "pass"
    assert run(declare(tuned), disks, policy=CheckPolicy(params={"floor": 20}))[0].wanted == "20"


@pytest.mark.parametrize(
    "params",
    [
        {"flor": 1}, {"floor": "1"}, {"floor": True}, {"floor": 1.5}, {"strict": 1}, {"ratio": "x"}, {"ratio": False},
        {"ratio": 10**400}, {"ignored": 13}, {"ignored": ["13"]}, {"ignored": [True]}, {"ignored": {"a": 1}},
    ],
)  # fmt: skip
def test_a_threshold_of_another_name_or_type_is_the_users_mistake(params):
    with pytest.raises(HostagentError, match=r"checks\.tuned\.params.*found .*, wanted"):
        run(declare(tuned), (Disk("a", 15),), policy=CheckPolicy(params=params))


def test_a_threshold_of_a_check_that_has_none_is_the_users_mistake():
    with pytest.raises(HostagentError, match=r"checks\.size\.params: found floor, wanted none"):
        run(SIZE, (Disk("a", 15),), policy=CheckPolicy(params={"floor": 1}))


def test_a_threshold_can_be_a_list():
    def ignoring(disk: Disk, params: Params):
        if need(disk.size) not in params.ignored:
            yield fail("no", code="no", wanted=params.ignored)

    assert run(declare(ignoring), (Disk("a", 15),))[0].outcome == "fail"
    assert run(declare(ignoring), (Disk("a", 15),), policy=CheckPolicy(params={"ignored": [13, 15]}))[0].outcome == "pass"


def test_a_whole_number_serves_where_a_number_is_wanted():
    assert run(declare(tuned), (Disk("a", 15),), policy=CheckPolicy(params={"ratio": 1}))[0].outcome == "pass"


def test_a_check_may_see_all_subjects_and_the_profile_beside_its_own():
    def alike(disk: Disk, disks: tuple[Disk, ...], profile: Profile):
        if len(disks) != 2 or profile.name != "default":
            yield fail("no", code="no")

    assert [one.outcome for one in run(declare(alike), (Disk("a", 1), Disk("b", 1)))] == ["pass", "pass"]


@given(st.permutations(range(6)), st.permutations(range(4)))
def test_the_order_of_judgements_depends_on_ids_and_subjects_alone(checks, disks):
    many = [SIZE._replace(id=f"family.check{number}") for number in checks]
    told = evaluate(many, HostFacts({Disk: tuple(Disk(f"d{number}", number * 5) for number in disks)}), PROFILE)
    assert [(one.id, one.subject) for one in told] == sorted((one.id, one.subject) for one in told)


@pytest.mark.parametrize("use", USES)
def test_every_use_of_an_unread_value_raises_and_names_its_reason(use):
    with pytest.raises(UnreadError, match="denied: the detail"):
        eval(use, {"value": Unread("denied", "the detail")})


@pytest.mark.parametrize(
    "use", ["value * 2", "value / 2", "value // 2", "value % 2", "-value", "abs(value)", "round(value)", "1 + value", "value & 1"]
)
def test_what_is_left_of_arithmetic_raises_as_for_any_object(use):
    with pytest.raises((UnreadError, TypeError)):
        eval(use, {"value": Unread("denied", "the detail")})


def test_unread_values_are_equal_by_reason_and_detail_alone():
    assert Unread("denied", "x") == Unread("denied", "x")
    assert Unread("denied", "x") != Unread("denied", "y")


def test_evidence_that_was_not_read_makes_the_check_unknown_and_the_report_printable():
    def clock(clock: Clock):
        yield fail("it drifts", code="drift", evidence=(clock.source,))

    (judged,) = run(declare(clock), Clock(1.0, Unread("denied", "no")))
    assert (judged.outcome, judged.code) == ("unknown", "unread-denied")


def test_a_finding_of_no_known_outcome_is_a_crash_not_a_pass():
    def clock(clock: Clock):
        yield fail("x", code="x")._replace(outcome="pass")

    (judged,) = run(declare(clock), Clock(1.0))
    assert (judged.outcome, judged.code) == ("unknown", "crashed")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_threshold_that_every_value_meets_is_refused(value):
    def clock(clock: Clock, params: Params):
        if need(clock.offset) > params.ratio:
            yield fail("x", code="x")

    with pytest.raises(HostagentError, match="ratio"):
        run(declare(clock), Clock(1.0), policy=CheckPolicy(params={"ratio": value}))


def two(disk: Disk, drive: Drive):
    yield from ()


def bare(disk):
    yield from ()


def number(disk: Disk, size: int):
    yield from ()


def clocks(clocks: tuple[Clock, ...]):
    yield from ()


class Named(NamedTuple):
    """Thresholds of which one has no value of its own."""

    floor: int


Named.__name__ = "Params"


def unset(disk: Disk, params: Named):
    yield from ()


@pytest.mark.parametrize(
    ("function", "fields", "mistake"),
    [
        (two, {}, "found two subjects, disk and drive, wanted at most one"),
        (bare, {}, "'disk' is annotated None, wanted a fact"),
        (number, {}, "'size' is annotated <class 'int'>, wanted a fact"),
        (clocks, {}, "'clocks' is annotated .*Clock.*, wanted a fact"),
        (unset, {}, "Params: found no default of floor"),
        (size, {"severity": "bad"}, "severity is 'bad', wanted one of critical, warning, info"),
        (size, {"scope": "nodes"}, "scope is 'nodes', wanted one of node, fabric"),
        (clock, {"owns": ("Clock.offest",)}, r"owns 'Clock.offest', wanted a field of its inputs \(Clock\), perhaps Clock.offset"),
        (clock, {"owns": ("Disk.size",)}, "owns 'Disk.size', wanted a field of its inputs"),
    ],
)
def test_a_declaration_that_cannot_hold_is_refused_with_the_name_of_the_mistake(function, fields, mistake):
    with pytest.raises(ValueError, match=mistake):
        declare(function, **fields)


def test_inputs_are_resolved_where_the_check_is_declared():
    def whole(disk: Disk, clock: Clock, drives: tuple[Drive, ...], profile: Profile, params: Params):
        yield from ()

    inputs = declare(whole).inputs
    assert inputs[:7] == ({"clock": Clock}, ("disk", Disk), {"drives": Drive}, ("params", Params), "profile", frozenset(), {})
    assert inputs.kinds == (Disk, Clock, Drive)
    assert inputs.needed == (Clock, Drive, Disk)


def test_one_finding_can_weigh_less_or_more_than_its_check():
    def clock(clock: Clock):
        need(clock.offset)
        yield fail("worth knowing", code="a", at_most="info")
        yield warn("no more than a warning", code="b", at_most="warning")
        yield fail("as its check", code="c")
        yield fail("never less", code="d", at_least="warning")

    told = run(declare(clock), Clock(0.0))
    assert [one.severity for one in told] == ["info", "warning", "critical", "critical"]
    told = run(declare(clock, severity="info"), Clock(0.0))
    assert [one.severity for one in told] == ["info", "info", "info", "warning"]
    told = run(declare(clock), Clock(0.0), policy=CheckPolicy(severity="info"))
    assert [one.severity for one in told] == ["info", "info", "info", "info"], "what a profile says of a check, nothing raises"


@pytest.mark.parametrize(("policy", "weight"), [("advisory", "info"), ("warning", "warning"), ("critical", "critical")])
def test_what_a_security_check_counts_is_the_profiles_word(policy, weight):
    advisory = declare(clock, axis="security", severity="warning")
    profile = replace(PROFILE, security=policy)
    (one,) = run(advisory, Clock(5.0), profile=profile)
    assert (one.axis, one.outcome, one.severity) == ("security", "fail", weight)
    (one,) = run(advisory, Clock(Unread("denied")), profile=profile)
    assert (one.axis, one.outcome, one.severity) == ("security", "unknown", weight)
    (one,) = run(advisory, Clock(5.0), profile=replace(profile, checks={advisory.id: CheckPolicy(severity="critical")}))
    assert one.severity == "critical"
    (one,) = run(CLOCK, Clock(5.0), profile=profile)
    assert (one.axis, one.severity) == ("fitness", "critical")


def unread_sizes(wear, why="denied"):
    def wears(disk: Disk):
        if need(disk.wear) > 5:
            yield fail("worn", code="worn")

    sized, worn = declare(size, proved_by=("wears",)), declare(wears)
    disks = tuple(Disk(name, Unread(why, "no size", "read /size"), one) for name, one in wear.items())
    judged = evaluate([sized, worn], HostFacts({Disk: disks}), PROFILE)
    return {one.subject: one for one in judged if one.id == "size"}


def test_what_could_not_be_read_says_how_it_could_be():
    told = {why: unread_sizes({"a": 9}, why)["a"] for why in ("denied", "timeout", "not-recorded", "error")}
    assert {why: one.action for why, one in told.items()} == dict.fromkeys(told, "rerun")
    assert "as root" in told["denied"].remedy[0].text
    assert "--deadline" in told["timeout"].remedy[0].text
    assert told["error"].remedy == ()


def test_what_a_proof_of_the_same_device_shows_stops_no_job():
    told = unread_sizes({"a": 1, "b": 9, "c": Unread("denied")})
    assert {key: one.severity for key, one in told.items()} == {"a": "info", "b": "critical", "c": "critical"}
    assert {one.outcome for one in told.values()} == {"unknown"}, "it is still told"
    assert told["a"].message == "permission denied: no size; wears passed, which shows it at work"
    assert told["a"].unread == "read /size"


def test_a_proof_that_did_not_run_proves_nothing():
    sized = declare(size, proved_by=("wears",))
    (one,) = evaluate([sized], HostFacts({Disk: (Disk("a", Unread("denied")),)}), PROFILE)
    assert one.severity == "critical"


def test_a_proof_of_the_host_holds_for_each_device_and_those_of_all_devices_for_the_host():
    def whole(disks: tuple[Disk, ...], clock: Clock):
        need(clock.offset)
        return
        yield

    sized, of_host = declare(size, proved_by=("whole",)), declare(whole)
    facts = HostFacts({Disk: (Disk("a", Unread("denied")),), Clock: Clock(0.0)})
    assert [one.severity for one in evaluate([sized, of_host], facts, PROFILE) if one.id == "size"] == ["info"]
    of_host, sized = declare(whole, proved_by=("size",)), declare(size)
    for sizes, severity in (((100, 100), "info"), ((100, 1), "critical"), ((100, Unread("denied")), "critical")):
        disks = tuple(Disk(name, one) for name, one in zip("ab", sizes, strict=True))
        facts = HostFacts({Disk: disks, Clock: Clock(Unread("denied"))})
        assert [one.severity for one in evaluate([sized, of_host], facts, PROFILE) if one.id == "whole"] == [severity]


def test_a_crash_is_proved_by_nothing():
    def broken(clock: Clock):
        yield 1 / 0

    told = evaluate([declare(broken, proved_by=("clock",)), CLOCK], HostFacts({Clock: Clock(0.0)}), PROFILE)
    assert [(one.id, one.severity) for one in told] == [("broken", "critical"), ("clock", "critical")]


def test_an_endless_check_costs_its_own_judgement():
    checks = [CLOCK._replace(id="a.first"), declare(endless)._replace(id="b.endless"), CLOCK._replace(id="c.last")]
    started = time.process_time()
    told = evaluate(checks, HostFacts({Clock: Clock(0.0)}), PROFILE, within_s=0.3)
    assert [(one.id, one.outcome, one.code) for one in told] == [
        ("a.first", "pass", ""),
        ("b.endless", "unknown", "unread-timeout"),
        ("c.last", "pass", ""),
    ]
    assert told[1].message == "not judged (timeout: 0.3 s of processor time were up)"
    assert 0.2 < time.process_time() - started < 0.8
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_many_endless_checks_come_to_an_end(monkeypatch):
    monkeypatch.setattr("hostagent.engine.evaluate._REST_S", 0.1)
    checks = [declare(endless)._replace(id=f"a.endless{number}") for number in range(20)]
    started = time.process_time()
    told = evaluate(checks, HostFacts({Clock: Clock(0.0)}), PROFILE, within_s=0.3)
    assert {one.code for one in told} == {"unread-timeout"}
    assert time.process_time() - started < 2


def test_a_collection_that_can_only_excuse_is_taken_unread():
    def excused(clock: Clock, disks: tuple[Disk, ...] | Unread):
        if need(clock.offset) and (isinstance(disks, Unread) or not disks):
            yield fail("nothing excuses it", code="off")

    one = declare(excused)
    assert (one.inputs.collections, one.inputs.lenient) == ({"disks": Disk}, {"disks"})
    for disks in (Unread("not-running"), Unread("denied")):
        assert [judgement.outcome for judgement in evaluate([one], HostFacts({Clock: Clock(5.0), Disk: disks}), PROFILE)] == ["fail"]
    assert [judgement.outcome for judgement in run(one, Clock(5.0), (Disk("a", 1),))] == ["pass"]


def test_a_fact_that_serves_the_words_alone_is_taken_unread():
    """A remedy says less without it; what is found stays."""

    def said(disk: Disk, clock: Clock | Unread):
        if need(disk.size) < 10:
            yield fail("full", code="full", remedy="Free space." if isinstance(clock, Unread) else f"Free space by {clock.offset}.")

    one = declare(said)
    assert one.inputs.lenient == {"clock"}
    for clock in (Unread("timeout"), Unread("denied"), Unread("absent")):
        (judged,) = evaluate([one], HostFacts({Disk: (Disk("a", 1),), Clock: clock}), PROFILE)
        assert (judged.outcome, judged.remedy[0].text) == ("fail", "Free space.")
