"""Whatever refuses a run does so before a program of ``install.before`` runs, and leaves the host as it was."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.cli.changing import outcome_of
from hostagent.core.errors import HostagentError
from hostagent.core.steps import Step
from hostagent.core.unread import Unread
from hostagent.engine.target import Evidence
from hostagent.facts.hostfacts import HostFacts
from hostagent.install import apply, planning, remembered, replan, runs
from hostagent.install.apply import Apply, Replan, Wishes
from hostagent.install.outcome import RefusedError
from hostagent.install.target import StrayLinkError, Target
from hostagent.plan.document import document
from hostagent.plan.model import Asked, Portion, Refusal, Run, Write
from hostagent.profiles.profile import load
from tests import recorded
from tests.install_page import REFUSALS
from tests.plan_archives import Archive
from tests.plan_fakes import made, step
from tests.plan_hosts import DISTRIBUTIONS, made_view
from tests.test_plan_cases import CASES, loaded, plan_of

OTHERS = {
    "rocky8": "dnf",
    "rocky9": "dnf",
    "rocky10": "dnf",
    "amzn2023": "dnf",
    "fedora42": "dnf",
    "sles15": "zypper",
    "azurelinux3": "tdnf",
}
REFUSED = [path for path in CASES if loaded(path)["expect"].get("refusals")]
PROFILE = load("default", site_file="")


def written(root):
    return sorted(str(one.relative_to(root)) for one in Path(root).rglob("*"))


class Host:
    """An image with a hook, for one plan: whether the hook ran is a file beside the image."""

    def __init__(self, place, plan, *, fails=False, **policy):
        self.root, self.hooked, self.plan = place / "root", place / "hooked", plan
        (self.root / "etc").mkdir(parents=True)
        (self.root / "etc/os-release").write_text("ID=debian\n")
        hook = ("/bin/sh", "-c", f"echo ran >>{self.hooked}{'; exit 1' if fails else ''}")
        self.wishes = Wishes(replace(PROFILE.profile.install, before=(hook,), lock_timeout_s=0, **policy))
        self.before = written(self.root)
        views = Replan(lambda: (plan, document(plan, recorded.report_of("no-gpu-vm"))), lambda: plan.view)
        self.performance = Apply(Target(Evidence(root=str(self.root))), views, self.wishes, Quiet())

    def refuses(self):
        """The outcome; neither a hook nor a write came of it."""
        outcome = self.performance.perform()
        assert (outcome.word, outcome.code) == ("refused", 4)
        self.is_untouched()
        return outcome

    def is_untouched(self):
        assert not self.hooked.exists()
        assert written(self.root) == self.before
        assert not self.performance.began


class Quiet:
    def show(self, document):
        pass

    def agrees(self):
        return True

    begin = end = say = show


def planned(name, monkeypatch, **overlay):
    """The plan of `hostagent plan` on a host that runs."""
    seen = made_view(name)
    given = planning.Given(seen, PROFILE.profile, Asked(), planning.NOT_ASKED)
    archive = Archive(given, name)

    class Session:
        """The package manager's answers."""

        def __init__(self, host):
            assert host.program in ("apt-get", *OTHERS.values())

        def answer(self, offers, _, questions):
            return archive.answered(offers, questions)

        def close(self):
            pass

    monkeypatch.setattr(planning, "Session", Session)
    monkeypatch.setattr(planning, "view", lambda _: seen)
    monkeypatch.setattr(planning, "_has_package_manager", lambda *_: True)
    return planning.plan_of(HostFacts({}), load("default", site_file="", overlay=overlay), Asked(), Evidence())


def todo_plan(*do):
    """Of one step, that nothing refuses."""
    return replace(made(driver_steps=Portion(steps=(step(do=do or (Run(("true",)),)),))), resolved=True)


# -- what the plan refuses


@pytest.mark.parametrize("name", OTHERS)
def test_a_package_manager_that_is_only_planned_for_refuses_and_shows_the_whole_plan(name, tmp_path, monkeypatch):
    plan = planned(name, monkeypatch)
    assert [one.id for one in plan.refusals] == ["plan.manager"]
    assert {one.id for one in plan.todo} >= {"driver.packages", "toolkit.packages"}
    assert plan.choices.driver.version or name == "azurelinux3"
    said = Host(tmp_path, plan).refuses().message
    assert said == f"found {OTHERS[name]}, wanted apt-get: other plans are made to be read, and not carried out"


@pytest.mark.parametrize("name", sorted(set(DISTRIBUTIONS) - set(OTHERS)))
def test_apt_is_carried_out(name, monkeypatch):
    plan = planned(name, monkeypatch, driver={"install": "590" if name == "debian13" else "580", "version": ">=580"})
    assert plan.resolved
    assert not plan.refusals


def test_a_plan_of_another_package_manager_with_nothing_to_do_is_no_refusal(monkeypatch):
    owners = {"driver": {"owner": "provider"}, "toolkit": {"owner": "provider"}, "runtime": {"kind": "none"}}
    plan = planned("rocky9", monkeypatch, **owners)
    assert (plan.todo, plan.refusals) == ((), ())


def test_a_host_whose_package_manager_is_not_known_is_refused():
    from hostagent.plan.refusals.system import of_manager

    seen = replace(made_view("rocky9"), packages=Unread("denied", ""), os=Unread("denied", ""))
    (one,) = of_manager(seen)
    assert one.found == "a package manager that is not known"


@pytest.mark.parametrize("name", ["rocky9", "sles15", "azurelinux3"])
def test_the_command_ends_with_the_refusal_and_no_traceback(name, tmp_path, monkeypatch):
    plan = planned(name, monkeypatch)
    host = Host(tmp_path, plan)
    site = tmp_path / "site.yaml"
    site.write_text(json.dumps({"install": {"before": [["/bin/sh", "-c", f"echo ran >>{host.hooked}"]]}}))
    monkeypatch.setattr(replan, "replan_of", lambda *_, **__: host.performance.replan)
    done = CliRunner().invoke(cli, ["install", "--yes", "--root", str(host.root), "--profile", str(site)], standalone_mode=False)
    assert done.return_value == 4, done.output
    assert done.output.startswith("REFUSED  This version carries out no plan with ")
    assert "Traceback" not in done.output
    host.is_untouched()


@pytest.mark.parametrize("id_", REFUSALS)
def test_no_program_of_the_profile_runs_where_the_plan_refuses(id_, tmp_path):
    one = Refusal(f"plan.{id_}", "found a, wanted b", "A headline", "a", "b", "configure", (Step("configure", "Do this."),))
    assert Host(tmp_path, replace(todo_plan(), refusals=(one,))).refuses().message == "found a, wanted b"


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_no_program_of_the_profile_runs_where_a_real_plan_refuses(path, tmp_path):
    Host(tmp_path, plan_of(loaded(path))).refuses()


def test_a_plan_that_was_not_resolved_is_refused_too(tmp_path):
    Host(tmp_path, replace(todo_plan(), resolved=False)).refuses()


# -- what else refuses, once the plan is agreed to


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


LATER = {
    "the key": ("keys_of", RefusedError("the key", "Name one")),
    "a link that leads nowhere": ("places", StrayLinkError("a link", "Remove it")),
    "a link on the way to what is kept": ("retain", StrayLinkError("a link", "Remove it")),
    "the package manager's lock": ("wait_until_free", RefusedError("the lock", "Wait")),
    "no old package": ("retain", RefusedError("no package file", "Enable it")),
    "no room for a file": ("retain", OSError(errno.ENOSPC, "No space left on device")),
    "a file system to read alone": ("keys_of", OSError(errno.EROFS, "Read-only file system")),
}


@pytest.mark.parametrize("what", LATER)
def test_no_program_of_the_profile_runs_where_something_else_refuses(what, tmp_path, monkeypatch):
    name, error = LATER[what]
    monkeypatch.setattr(apply, name, raising(error))
    Host(tmp_path, todo_plan()).refuses()


@pytest.mark.parametrize("name", ["refuse_untrusted", "playbooks_path", "places"])
def test_no_program_of_the_profile_runs_where_hostagent_cannot_run(name, tmp_path, monkeypatch):
    monkeypatch.setattr(apply, name, raising(HostagentError("found that", "Do this")))
    host = Host(tmp_path, todo_plan())
    with pytest.raises(HostagentError):
        host.performance.perform()
    host.is_untouched()


def test_a_path_that_leads_nowhere_is_seen_before_any_program_runs(tmp_path):
    host = Host(tmp_path, todo_plan(Write("/etc/away/a.conf", "a")))
    (host.root / "etc/away").symlink_to("/nowhere")
    host.before = written(host.root)
    assert "leads nowhere" in host.refuses().message


def test_a_hook_that_fails_is_a_refusal_itself_and_nothing_is_written(tmp_path):
    host = Host(tmp_path, todo_plan(), fails=True)
    outcome = host.performance.perform()
    assert (outcome.word, outcome.message.partition(" ")[0]) == ("refused", "install.before:")
    assert host.hooked.read_text() == "ran\n"
    assert written(host.root) == host.before


def test_a_run_that_did_not_end_is_as_it_was_after_a_hook_that_fails(tmp_path):
    host = Host(tmp_path, todo_plan(Write("/etc/new.conf", "a")), fails=True)
    target = host.performance.target
    (host.root / "var/lib/hostagent").mkdir(parents=True, mode=0o700)
    with runs.opened(target) as run:
        run.save("before.json", {"packages": {}, "files": {}})
        run.add_plan({"steps": []})
        runs.begin(run)
    before = {name: (Path(run.path) / name).read_text() for name in ("before.json", "plan.json", "journal.jsonl")}
    assert host.performance.perform().word == "refused"
    assert {name: (Path(run.path) / name).read_text() for name in before} == before
    assert len(remembered.plans(run)) == 1


@pytest.mark.parametrize("name", ["add_plan", "note"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_run_without_hooks_that_has_no_room_to_begin_is_refused_and_leaves_nothing(name, number, tmp_path, monkeypatch):
    monkeypatch.setattr(runs.Run, name, raising(OSError(number, "No room")))
    host = Host(tmp_path, todo_plan())
    host.wishes.policy = replace(host.wishes.policy, before=())
    host.refuses()


# -- and nothing refuses afterwards


@pytest.mark.parametrize("error", [RefusedError("late", "Wait"), StrayLinkError("a link", "Remove it"), OSError(errno.ENOSPC, "No space")])
def test_behind_the_hooks_a_refusal_is_a_failed_run(error, tmp_path, monkeypatch):
    monkeypatch.setattr(Apply, "_part", raising(error))
    host = Host(tmp_path, todo_plan())
    outcome = outcome_of(host.performance.perform, lambda: host.performance.began)
    assert (outcome.word, outcome.code) == ("failed", 1)
    assert host.hooked.read_text() == "ran\n"
    assert runs.newest(host.performance.target).state == "begun"


def test_what_a_hook_changes_is_no_change_of_the_run(tmp_path, monkeypatch):
    host = Host(tmp_path, todo_plan())
    hook = ("/bin/sh", "-c", f"echo drained >{host.root}/etc/drained")
    host.wishes.policy = replace(host.wishes.policy, before=(hook,))
    monkeypatch.setattr(Apply, "_part", lambda *_: "stopped here")
    monkeypatch.setattr(Apply, "_end", lambda *_: None)
    host.performance.perform()
    assert "/etc/drained" in remembered.state_of(runs.newest(host.performance.target), "before.json")["files"]
