"""A plan out of what the deciders say: what is whole, what is refused, what still has to be asked."""

from hypothesis import given as with_any
from hypothesis import strategies as st

from hostagent.core.unread import Unread, UnreadError
from hostagent.plan.build import joined
from hostagent.plan.model import Asked, PlannedPackage, Portion, Refusal, Undo, Write
from hostagent.plan.offers import Offers, Question
from tests.plan_fakes import given, made, step

REFUSAL = Refusal("plan.space", "found 1 GiB, wanted 3 GiB", "There is too little space", "1 GiB", "3 GiB", "configure", ())
QUESTION = Question("candidates", ("nvidia-open",))
PACKAGE = PlannedPackage("nvidia-open", "driver", None, "580.*", "cuda", None)


def test_steps_are_in_the_order_of_the_parts_and_none_is_named_twice():
    plan = made(
        runtime_steps=Portion(steps=(step("runtime.cdi"),)),
        toolkit_steps=Portion(steps=(step("toolkit.packages"),)),
        driver_steps=Portion(steps=(step("driver.headers"), step("driver.packages"))),
        repositories=Portion(steps=(step("repositories.refresh"),)),
    )
    assert [one.id for one in plan.steps] == [
        "repositories.refresh",
        "driver.headers",
        "driver.packages",
        "toolkit.packages",
        "runtime.cdi",
    ]


def test_a_step_is_to_do_exactly_when_its_probe_does_not_hold_and_what_is_unread_is_not_done():
    def unread(_):
        raise UnreadError(Unread("denied", "/var/lib/dpkg"))

    plan = made(driver_steps=Portion(steps=(step("driver.a", done=True), step("driver.b"), step("driver.c", done=unread))))
    assert [one.id for one in plan.todo] == ["driver.b", "driver.c"]


def test_a_host_that_is_as_it_should_be_is_resolved_costs_nothing_and_asks_nothing():
    whole = Portion(steps=(step(done=True),), questions=(QUESTION,), packages=(PACKAGE,), irreversible=("x",), space=(("/usr", 5),))
    plan = made(driver_steps=whole)
    assert plan.resolved
    assert (plan.questions, plan.packages, plan.files, plan.irreversible, plan.space) == ((), (), (), (), ())


def test_a_reboot_that_is_due_is_told_even_where_nothing_is_to_do():
    assert made(driver_steps=Portion(reboot=("the module of 570.1 is loaded",))).reboot.needed


def test_questions_are_open_until_they_are_answered():
    portion = Portion(steps=(step(),), questions=(QUESTION, QUESTION))
    assert made(driver_steps=portion).questions == (QUESTION,)
    assert not made(driver_steps=portion).resolved
    asked = given(offers=Offers(asked=True))
    assert not made(asked, driver_steps=portion).resolved
    assert made(asked, driver_steps=Portion(steps=(step(),))).resolved
    assert not made(driver_steps=Portion(steps=(step(),))).resolved  # nobody asked the repositories


def test_what_forbids_any_change_ends_the_plan_before_anything_is_chosen():
    boom = AssertionError("asked after a refusal")
    plan = made(before=(REFUSAL,), driver=boom, toolkit=boom, repositories=boom, driver_steps=boom, after=boom)
    assert plan.refusals == (REFUSAL,)
    assert (plan.steps, plan.questions, plan.resolved) == ((), (), False)


def test_all_refusals_are_told_at_once_and_each_once_and_nothing_is_asked_then():
    other = Refusal("plan.lock", "found f, wanted w", "h", "f", "w", "configure", ())
    plan = made(
        driver=Portion(refusals=(REFUSAL,)),
        toolkit=Portion(refusals=(REFUSAL,), questions=(QUESTION,)),
        driver_steps=Portion(steps=(step(),)),
        after=(other,),
    )
    assert plan.refusals == (REFUSAL, other)
    assert not plan.resolved
    assert not plan.questions


def test_a_fact_that_a_decider_cannot_do_without_is_refused_once_with_its_own_words():
    lost = UnreadError(Unread("denied", "/etc/containerd/config.toml: EACCES"))
    for name in ("before", "driver", "toolkit", "repositories", "driver_steps", "toolkit_steps", "runtime_steps", "after"):
        plan = made(**{name: lost})
        assert [one.id for one in plan.refusals] == ["plan.unread"], name
        assert "EACCES" in plan.refusals[0].message
    assert len(made(driver=lost, runtime_steps=lost).refusals) == 1


def test_a_part_that_nobody_asks_for_is_neither_chosen_nor_changed():
    boom = AssertionError("asked though --only leaves it out")
    plan = made(
        given(asked=Asked(only=("toolkit",))),
        driver=boom,
        driver_steps=boom,
        runtime_steps=boom,
        toolkit_steps=Portion(steps=(step("toolkit.packages"),)),
    )
    assert [one.id for one in plan.steps] == ["toolkit.packages"]
    assert not plan.choices.driver.wanted


def test_a_step_that_cannot_be_taken_back_is_told_with_its_reason_while_it_is_to_do():
    undo = Undo("none", "a module that is loaded stays loaded")
    portion = Portion(steps=(step("driver.load", undo=undo), step("driver.units", undo=Undo("none"))))
    assert made(driver_steps=portion).irreversible == ("Install driver.load: a module that is loaded stays loaded",)
    assert made(driver_steps=Portion(steps=(step("driver.load", done=True, undo=undo), step()))).irreversible == ()


def test_a_package_that_stays_is_no_change():
    stays = PlannedPackage("dkms", "driver", "3.0", "3.0", "distribution")
    assert made(driver_steps=Portion(steps=(step(),), packages=(PACKAGE, stays))).packages == (PACKAGE,)


def test_files_are_those_of_the_steps_that_are_to_do():
    writes = (Write("/etc/modprobe.d/a.conf", "blacklist nouveau\n"),)
    assert [one.path for one in made(driver_steps=Portion(steps=(step(do=writes),))).files] == ["/etc/modprobe.d/a.conf"]
    assert made(driver_steps=Portion(steps=(step(do=writes, done=True), step()))).files == ()


@with_any(st.lists(st.tuples(st.sampled_from(["/usr", "/var", "/boot"]), st.integers(0, 10**12))))
def test_space_at_one_path_adds_up(rows):
    found = dict(joined(*(Portion(space=(row,)) for row in rows)).space)
    assert found == {path: sum(size for one, size in rows if one == path) for path, _ in rows}
