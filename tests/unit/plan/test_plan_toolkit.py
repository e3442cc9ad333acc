"""Which toolkit a host gets, and when it stays as it is."""

from dataclasses import replace

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.packages.tables.names import TOOLKIT_PACKAGES
from hostagent.facts.installation import InstalledPackage
from hostagent.facts.packages import Package, VersionLock
from hostagent.plan.model import Asked, Choices, DriverChoice
from hostagent.plan.offers import Candidate, Offers, Transaction
from hostagent.plan.repositories.fetching import fetch_steps
from hostagent.plan.toolkit import choose_toolkit, toolkit_steps
from tests.plan_fakes import given
from tests.plan_hosts import made_view

NAMES = tuple(sorted(TOOLKIT_PACKAGES))
PROGRAMS = (("/usr/bin/nvidia-container-runtime", True), ("/usr/bin/nvidia-ctk", True))


def host(version="", *, names=NAMES, held=True, pinned=False, state="installed", **versions):
    view = made_view("debian12")
    at = {name: versions.get(name.replace("-", "_"), version) for name in names} if version else {}
    packages = tuple(Package(name, f"{one}-1", one, "amd64", state, held, "toolkit") for name, one in at.items())
    own = tuple(InstalledPackage(name, f"{one}-1", "amd64", state, held and not pinned, automatic=False) for name, one in at.items())
    locks = tuple(VersionLock("/etc/apt/preferences.d/hostagent-toolkit", name, "1.19.0-1") for name in names) if pinned else ()
    return replace(
        view,
        toolkit=replace(view.toolkit, packages=packages, version=version or Unread("absent", ""), binaries=PROGRAMS if at else ()),
        packages=replace(view.packages, installed=packages, locks=locks),
        installation=replace(view.installation, packages=own),
    )


def offered(*versions, lacking=""):
    rows = {
        name: tuple(Candidate(name, one, "https://r/") for one in versions if not (name == lacking and one == "1.19.0-1")) for name in NAMES
    }
    return Offers(asked=True, candidates=rows)


def chosen(view, offers=None, asked=None, **overlay):
    return choose_toolkit(given(view, asked or Asked(), offers or offered("1.20.0-1", "1.19.1-1", "1.19.0-1", "1.18.2-1"), overlay or None))


def test_from_nothing_the_four_packages_come_at_the_version_that_the_profile_names():
    choice, portion = chosen(host())
    assert choice.wanted
    assert choice.packages == tuple((name, "1.19.0-1") for name in NAMES)
    assert not portion.refusals


def test_what_satisfies_the_profile_stays_also_where_something_newer_exists():
    for version in ("1.19.0", "1.19.1", "1.20.0"):
        choice, portion = chosen(host(version))
        assert (choice.wanted, choice.version) == (False, version)
        assert not portion.questions


def test_upgrade_takes_what_the_profile_names_and_never_goes_back():
    upgrade = Asked(upgrade=True)
    assert chosen(host("1.19.0"), asked=upgrade, toolkit={"install": "1.20.0"})[0].version == "1.20.0"
    assert not chosen(host("1.20.0"), asked=upgrade)[0].wanted


@pytest.mark.parametrize("install", ["1.19", "1.19.*"])
def test_a_branch_is_its_newest_version_and_upgrade_looks_for_one(install):
    wanted = {"install": install}
    upgrade = Asked(upgrade=True)
    assert chosen(host(), toolkit=wanted)[0].version == "1.19.1"
    assert not chosen(host("1.19.0"), toolkit=wanted)[0].wanted
    assert chosen(host("1.19.0"), asked=upgrade, toolkit=wanted)[0].packages[0][1] == "1.19.1-1"
    for version in ("1.19.1", "1.20.0"):  # the newest of the branch, and one beyond it
        choice, portion = chosen(host(version), asked=upgrade, toolkit=wanted)
        assert (choice.wanted, choice.version, portion.refusals) == (False, version, ())
    gone = chosen(host("1.19.0"), offered("1.20.0-1"), upgrade, toolkit=wanted)  # the repository has left the branch behind
    assert (gone[0].wanted, gone[1].refusals) == (False, ())


def test_a_branch_that_has_no_accepted_version_is_refused_with_both_wishes():
    choice, portion = chosen(host(), offered("1.20.0-1"), toolkit={"install": "1.*", "version": ">=1.19.0,<1.20"})
    assert not choice.wanted
    assert [one.message for one in portion.refusals] == ["found 1.20.0-1 of the toolkit, wanted 1.* that meets >=1.19.0,<1.20"]


@pytest.mark.parametrize(
    ("view", "version"),
    [
        (host("1.18.2"), "1.19.0"),
        (host("1.19.1", names=NAMES[:3]), "1.19.1"),  # its own version is completed
        (host("1.18.2", names=NAMES[:2]), "1.19.0"),
        (host("1.19.0", nvidia_container_toolkit="1.18.2"), "1.19.0"),
        (host("1.19.0", state="half-configured"), "1.19.0"),
    ],
)
def test_another_version_an_incomplete_and_a_mixed_set_are_put_right(view, version):
    choice, _ = chosen(view)
    assert (choice.wanted, choice.version, len(choice.packages)) == (True, version, 4)


def test_cdi_alone_needs_the_base_package_alone():
    assert not chosen(host("1.19.0", names=("nvidia-container-toolkit-base",)), runtime={"access": "cdi"})[0].wanted
    assert chosen(host("1.19.0", names=("nvidia-container-toolkit-base",)))[0].wanted


@pytest.mark.parametrize(
    "overlay",
    [
        {"toolkit": {"owner": "container"}},
        {"toolkit": {"owner": "provider"}},
        {"toolkit": {"required": "never"}},
        {"runtime": {"kind": "none"}},
    ],
)
def test_a_toolkit_of_somebody_else_and_one_that_nobody_wants_are_left_alone(overlay):
    choice, portion = chosen(host(), **overlay)
    assert not choice.wanted
    assert not portion.questions


def test_programs_that_no_package_brings_stay_where_they_satisfy_the_profile():
    view = host()
    snap = replace(view, toolkit=replace(view.toolkit, version="1.19.1", binaries=(("/snap/docker/current/usr/bin/nvidia-ctk", True),)))
    assert chosen(snap)[0].wanted is False
    old = replace(snap, toolkit=replace(snap.toolkit, version="1.17.0"))
    assert chosen(old)[0].wanted is True


def test_a_version_that_is_not_offered_whole_is_refused_by_the_package_that_lacks_it():
    choice, portion = chosen(host(), offered("1.20.0-1", "1.19.0-1", lacking="libnvidia-container1"))
    assert not choice.wanted
    (refusal,) = portion.refusals
    assert refusal.id == "plan.toolkit-missing"
    assert refusal.message == "found 1.20.0-1 of libnvidia-container1, wanted 1.19.0"


def test_a_profile_that_names_no_version_refuses_what_it_would_install_and_nothing_else():
    assert [one.id for one in chosen(host(), toolkit={"install": "", "version": ""})[1].refusals] == ["plan.toolkit-unnamed"]
    assert chosen(host("1.18.2"), toolkit={"install": "", "version": ""})[1].refusals == ()


def test_without_offers_the_version_stays_open_and_the_question_too():
    choice, portion = choose_toolkit(given(host()))
    assert choice.packages[0][1] == "1.19.0-*"
    assert [one.kind for one in portion.questions] == ["candidates"]


def test_holds_are_put_where_a_run_ended_before_them_and_where_some_are_missing():
    assert not chosen(host("1.19.0", held=False))[0].wanted  # nothing upgrades it by itself
    assert chosen(host("1.19.0", pinned=True))[0].wanted  # our own pin, and no hold yet
    view = host("1.19.0")
    free = replace(view.toolkit.packages[0], held=False)
    toolkit = replace(view.toolkit, packages=(free, *view.toolkit.packages[1:]))
    packages = tuple(replace(one, held=one.name != free.name) for one in view.installation.packages)
    partly = replace(view, toolkit=toolkit, installation=replace(view.installation, packages=packages))
    assert chosen(partly)[0].wanted
    assert not chosen(partly, install={"hold": False})[0].wanted


def steps(view, **overlay):
    offers = offered("1.19.0-1")
    choice, _ = chosen(view, offers, **overlay)
    return toolkit_steps(given(view, Asked(), offers, overlay or None), choice)


def test_packages_hold_and_units_are_done_by_what_the_facts_show():
    portion = steps(host("1.18.2"))
    assert [step.id for step in portion.steps] == ["toolkit.packages", "toolkit.hold", "toolkit.units"]
    packages, hold, units = portion.steps
    for view, expected in ((host("1.18.2"), (False, False)), (host("1.19.0", held=False), (True, False)), (host("1.19.0"), (True, True))):
        assert (packages.probe.done(view), hold.probe.done(view)) == expected
    assert not units.probe.done(host("1.19.0"))
    assert [one.kind for one in portion.questions] == ["transaction"]
    assert {one.before for one in portion.packages} == {"1.18.2-1"}


def test_a_transaction_that_was_answered_is_asked_no_more():
    view, offers = host(), offered("1.19.0-1")
    choice, _ = chosen(view, offers)
    (question,) = toolkit_steps(given(view, Asked(), offers), choice).questions
    answered = replace(offers, transactions={question.words: Transaction()})
    assert toolkit_steps(given(view, Asked(), answered), choice).questions == ()


def test_units_are_enabled_only_for_cdi_and_a_masked_one_stays():
    assert "toolkit.units" not in [step.id for step in steps(host(), runtime={"access": "handler"}).steps]
    view = host()
    units = tuple(replace(one, exists=True, masked=True) if one.name == "nvidia-cdi-refresh" else one for one in view.services.units)
    assert "toolkit.units" not in [step.id for step in steps(replace(view, services=replace(view.services, units=units))).steps]


def test_what_could_not_be_read_stops_the_decision():
    view = host()
    for toolkit in (Unread("denied", ""), replace(view.toolkit, packages=Unread("denied", ""))):
        with pytest.raises(UnreadError):
            chosen(replace(view, toolkit=toolkit))


@pytest.mark.parametrize("programs", [(), PROGRAMS[:1], (PROGRAMS[0], ("/usr/bin/nvidia-ctk", False))])
def test_programs_that_are_gone_though_their_package_is_there_come_once_more(programs):
    view = host("1.19.0")
    view = replace(view, toolkit=replace(view.toolkit, binaries=programs))
    choice, _ = chosen(view)
    assert (choice.wanted, choice.version) == (True, "1.19.0")
    made = given(view, Asked(), offered("1.20.0-1", "1.19.0-1"))
    step = next(one for one in toolkit_steps(made, choice).steps if one.id == "toolkit.packages")
    assert not step.probe.done(view)
    assert step.do[0].argv[-3:] == ("--reinstall", "install", "nvidia-container-toolkit-base=1.19.0-1")
    assert step.probe.done(host("1.19.0"))
    fetch = fetch_steps(made, Choices(DriverChoice(wanted=False), choice), "apt-get")
    assert [one.id for one in fetch if not one.probe.done(view)] == ["repositories.refresh", "repositories.download"]
    assert "--reinstall" in fetch[1].do[0].argv


@pytest.mark.parametrize("install", ["1.19", "1.19.*"])
def test_without_offers_a_branch_is_written_as_a_branch(install):
    choice, _ = choose_toolkit(given(host(), overlay={"toolkit": {"install": install}}))
    assert (choice.version, {version for _, version in choice.packages}) == ("1.19.*", {"1.19.*"})
