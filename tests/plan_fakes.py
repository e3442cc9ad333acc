"""Deciders that decide what a test says, and the small things that plans of tests are made of."""

from dataclasses import replace

from hostagent.plan.build import Deciders, make
from hostagent.plan.model import Asked, DriverChoice, Given, PlanStep, Portion, Probe, Run, ToolkitChoice, Undo
from hostagent.plan.offers import NOT_ASKED
from hostagent.profiles import profile
from tests.plan_hosts import made_view

PROFILE = profile.load("default", site_file="").profile


def given(view=None, asked=None, offers=NOT_ASKED, overlay=None):
    chosen = profile.load("default", site_file="", overlay=overlay).profile if overlay else PROFILE
    return Given(view or made_view(), chosen, asked or Asked(), offers)


def step(id_="driver.packages", *, done=False, **fields):
    """`done`: what its probe says; a function of the view, or an answer."""
    part = id_.partition(".")[0]
    holds = done if callable(done) else lambda _: done
    made = PlanStep(
        id_,
        part,
        "packages",
        f"Install {id_}",
        "the profile wants it",
        Probe(f"{id_} is installed", holds),
        (Run(("true",)),),
        Undo("packages"),
    )
    return replace(made, **fields)


def deciders(**portions):
    """Each part's portion by its name: before, driver, toolkit, repositories, driver_steps, toolkit_steps, runtime_steps, after; an exception is raised."""

    def answer(name, otherwise, made=lambda value: value):
        def decide(*_):
            value = portions.get(name, otherwise)
            if isinstance(value, Exception):
                raise value
            return made(value)

        return decide

    return Deciders(
        refused_before=answer("before", ()),
        choose_driver=answer("driver", Portion(), lambda portion: (DriverChoice(wanted=True, kernels=("6.8.0-87-generic",)), portion)),
        choose_toolkit=answer("toolkit", Portion(), lambda portion: (ToolkitChoice(wanted=True), portion)),
        repository_steps=answer("repositories", Portion()),
        driver_steps=answer("driver_steps", Portion()),
        toolkit_steps=answer("toolkit_steps", Portion()),
        runtime_steps=answer("runtime_steps", Portion()),
        refused_after=answer("after", ()),
    )


def made(of=None, **portions):
    return make(of or given(), deciders(**portions))
