"""Makes the plan of a host with its package manager: rounds of questions and answers."""

import os
from collections.abc import Callable
from dataclasses import replace

from hostagent.core.unread import Unread
from hostagent.domains.packages.commands import program_of
from hostagent.engine.target import Evidence
from hostagent.facts.hostfacts import HostFacts
from hostagent.install.offers.session import Host, Session
from hostagent.install.remembered import unfinished
from hostagent.plan.build import make
from hostagent.plan.model import Asked, Given, Plan
from hostagent.plan.offers import NOT_ASKED, Offers
from hostagent.plan.refusals.system import of_manager
from hostagent.plan.repositories import laid
from hostagent.plan.view import View, view
from hostagent.profiles.profile import Loaded

#: Candidates, transactions, and what their answers bring up. A plan that still asks then is a bug.
_ROUNDS = 5


def plan_of(facts: HostFacts, loaded: Loaded, asked: Asked, place: Evidence, on_progress: Callable[[str], None] = lambda _: None) -> Plan:
    """The package manager is queried only where something is to do, and the host is no snapshot and no made tree. `on_progress`: gets what
    takes long.
    """
    before = unfinished(place)
    asked = replace(asked, continued=before.steps, held=before.held)
    given = Given(view(facts), loaded.profile, asked, Offers(asked=True) if _has_package_manager(place, facts) else NOT_ASKED)
    plan = make(given)
    if not given.offers.asked:
        return plan
    return _with_manager(_resolved(given, plan, loaded, place, on_progress))


def _with_manager(plan: Plan) -> Plan:
    """Refused where this version cannot apply it, before any program of the profile runs and any file is written."""
    if plan.refusals or not plan.todo:
        return plan
    refusals = tuple(of_manager(plan.view))
    return replace(plan, refusals=refusals, resolved=plan.resolved and not refusals)


def _resolved(given: Given, plan: Plan, loaded: Loaded, place: Evidence, on_progress: Callable[[str], None]) -> Plan:
    """`plan` with the answers to its questions."""
    if not plan.questions:
        return plan
    host = _host(given.view, loaded, place)
    on_progress(f"Asking {host.program or 'the package manager'} what the repositories have: a minute where one of them does not answer.")
    session = Session(host)
    try:
        for _ in range(_ROUNDS):
            offers = session.answer(given.offers, laid(given, plan.choices), plan.questions)
            given = given._replace(offers=offers)
            plan = make(given)
            if not plan.questions or offers.fault is not None:
                return plan
    finally:
        session.close()
    raise RuntimeError(f"the plan still asks after {_ROUNDS} rounds: {plan.questions}")


def _has_package_manager(place: Evidence, facts: HostFacts) -> bool:
    """Whether there is a package manager to query: a recording has none, and a made tree is no real host."""
    from hostagent.facts.host import Identity

    identity = facts.of(Identity)
    if place.snapshot or isinstance(identity, Unread):
        return False
    return isinstance(identity.simulated, Unread) or not identity.simulated


def _host(seen: View, loaded: Loaded, place: Evidence) -> Host:
    root = os.path.abspath(place.root or place.host_root or "/")  # processes there have another working directory
    return Host(root, seen.kind, program_of(seen.packages, seen.os), loaded.profile.install.lock_timeout_s)
