"""Docker's engine, its service and its group: what a host gets, and what stays."""

import json
from dataclasses import replace

import pytest

from hostagent.core.unread import Unread
from hostagent.facts.accounts import Accounts
from hostagent.facts.installation import ConfigFile, InstalledPackage
from hostagent.plan.build import make
from hostagent.plan.docker import choose_docker, docker_steps
from hostagent.plan.model import Asked, DockerAsked, Run, Write
from hostagent.plan.offers import Candidate, Moved, Offers, Transaction
from tests.plan_fakes import given
from tests.plan_hosts import made_view

ASKED = DockerAsked(user="ubuntu")
UNREAD = Unread("denied", "no right")
OURS = {"driver": {"owner": "provider"}, "runtime": {"kind": "docker", "access": "handler"}, "toolkit": {"required": "always"}}
ENGINE = {
    "key": "docker", "kind": "docker", "version": "28.2.2", "judged_as": "", "installed": True, "in_use": True, "state": "accepted", "error": "",
    "config_files": ["/etc/docker/daemon.json"], "default_runtime": "runc", "cgroup_driver": "systemd", "running": True, "started_at": 200.0,
    "newest_config_mtime": 100.0,
    "handlers": [{"name": "nvidia", "runtime_type": "", "binary": "/usr/bin/nvidia-container-runtime", "binary_exists": True, "systemd_cgroup": True}],
}  # fmt: skip
UNITS = [
    {"name": "docker", "exists": True, "state": "enabled", "enabled": True, "masked": False, "active": True, "text": "[Service]\n"},
    {"name": "docker.socket", "exists": True, "state": "enabled", "enabled": True, "masked": False, "active": False, "text": "[Socket]\n"},
]


def host(name="ubuntu2404", *, engine=None, units=None, **facts):
    over = {"runtimes": [engine]} if engine else {}
    if units is not None or engine:
        over["services"] = {"units": UNITS if units is None else units}
    return replace(made_view(name, **over), **facts)


def unit(**fields):
    return [{**UNITS[0], **fields}, {**UNITS[1], "enabled": False}]


def offers(**versions):
    return Offers(
        asked=True,
        candidates={name.replace("_", "-"): tuple(Candidate(name, one, "https://d/") for one in at) for name, at in versions.items()},
    )


def chosen(view, docker=ASKED, said=None):
    return choose_docker(
        given(view, Asked(docker=docker), said or Offers(asked=True, candidates={"docker.io": (Candidate("docker.io", "28-1", "u"),)}))
    )


def steps(view, docker=ASKED, choice=None):
    one = given(view, Asked(docker=docker))
    return {step.id: step for step in docker_steps(one, choice or chosen(view, docker)[0]).steps}


def test_nobody_asks_for_docker_and_nothing_is_looked_at():
    view = host(runtimes=UNREAD, accounts=UNREAD, services=UNREAD)
    choice, portion = choose_docker(given(view))
    assert (choice.wanted, portion.refusals, docker_steps(given(view), choice).steps) == (False, (), ())


@pytest.mark.parametrize("key", ["docker"])
def test_an_engine_that_is_there_stays_whoever_installed_it(key):
    view = host(engine={**ENGINE, "key": key})
    assert chosen(view)[0].packages == ()
    assert list(steps(view)) == ["docker.units", "docker.group"]
    assert steps(view)["docker.units"].probe.done(view)


def test_a_configuration_that_no_engine_reads_is_none():
    assert chosen(host(engine={**ENGINE, "installed": False, "state": "absent"}))[0].wanted


def test_whether_an_engine_is_there_has_to_be_read():
    view = host(engine={**ENGINE, "installed": {"unread": "denied", "detail": ""}})
    plan = make(given(view, Asked(docker=ASKED), overlay=OURS))
    assert "plan.unread" in [one.id for one in plan.refusals]


def test_the_package_manager_chooses_the_version_by_its_own_pins():
    choice, _ = chosen(host())
    assert choice.packages == (("docker.io", ""),)
    (packages, *_) = steps(host(), choice=choice).values()
    assert packages.do[0].argv[-2:] == ("install", "docker.io")


def test_of_two_names_the_one_that_the_repositories_have():
    for cli in ("moby-cli", "docker-cli"):
        said = Offers(asked=True, candidates={name: (Candidate(name, "28-1", "u"),) if name in ("moby-engine", cli) else () for name in ("moby-engine", "moby-cli", "docker-cli")})  # fmt: skip
        assert chosen(host("fedora42"), said=said)[0].packages == (("moby-engine", ""), (cli, ""))
    said = Offers(asked=True, candidates={"moby-engine": (Candidate("moby-engine", "28-1", "u"),), "moby-cli": (), "docker-cli": ()})
    assert chosen(host("fedora42"), said=said)[0].packages == (("moby-engine", ""),)


def test_red_hats_family_takes_dockers_own_where_the_host_has_its_repository():
    names = ("docker-ce", "docker-ce-cli", "containerd.io")
    said = Offers(asked=True, candidates={name: (Candidate(name, "29-1", "u"),) for name in names})
    assert [name for name, _ in chosen(host("rocky9"), said=said)[0].packages] == [*names]
    (refusal,) = chosen(host("rocky9"), said=Offers(asked=True, candidates=dict.fromkeys(names, ())))[1].refusals
    assert refusal.id == "plan.docker-none"
    assert refusal.remedy[0].command == "dnf config-manager --add-repo https://download.docker.com/linux/centos/docker-ce.repo"


def test_podmans_command_called_docker_is_no_engine_and_in_the_way():
    view = host()
    podman = InstalledPackage("podman-docker", "4.9", "all", "installed", held=False, automatic=False)
    view = replace(view, installation=replace(view.installation, packages=(podman,)))
    (refusal,) = chosen(view)[1].refusals
    assert (refusal.id, refusal.remedy[0].command) == ("plan.docker-stand-in", "apt-get purge podman-docker")


def test_a_masked_unit_is_somebodys_word():
    (refusal,) = chosen(host(engine=ENGINE, units=unit(masked=True)))[1].refusals
    assert refusal.id == "plan.docker-masked"


@pytest.mark.parametrize(
    ("fields", "words", "undo"),
    [
        ({"enabled": False}, ("systemctl", "enable", "--now", "docker.service"), "units"),
        ({"enabled": False, "active": False}, ("systemctl", "enable", "--now", "docker.service"), "run"),
        ({"active": False}, ("systemctl", "start", "docker.service"), "run"),
    ],
)
def test_an_engine_that_is_off_is_turned_on_and_off_again(fields, words, undo):
    view = host(engine=ENGINE, units=unit(**fields))
    step = steps(view)["docker.units"]
    assert not step.probe.done(view)
    assert (step.do[0].argv, step.undo.kind) == (words, undo)
    assert step.probe.done(host(engine=ENGINE))


def test_an_engine_that_comes_is_stopped_by_the_rollback_whatever_its_package_stops():
    undo = next(step for step in whole(host()).todo if step.id == "docker.units").undo
    assert [(one.argv, one.codes) for one in undo.do] == [(("systemctl", "stop", "docker.service", "docker.socket"), (0, 5))]


def test_a_socket_that_starts_it_is_as_good_as_a_service_that_is_enabled():
    view = host(engine=ENGINE, units=[{**UNITS[0], "enabled": False}, UNITS[1]])
    assert steps(view)["docker.units"].probe.done(view)


def test_a_docker_that_another_unit_starts_is_left_to_it():
    view = host(engine=ENGINE, units=[{**UNITS[0], "exists": False, "enabled": False, "active": False}, UNITS[1]])
    assert list(steps(view)) == ["docker.group"]


def test_in_an_image_it_is_enabled_and_not_started():
    view = replace(host(engine=ENGINE, units=unit(enabled=False, active=False)), kind="image")
    step = steps(view)["docker.units"]
    assert step.do[0].argv == ("systemctl", "--root=/", "enable", "docker.service")
    assert step.probe.done(replace(host(engine=ENGINE, units=unit(active=False)), kind="image"))


def member(*names, group=True, users=("root", "ubuntu"), others=False):
    return Accounts(group, names, users, has_other_users=others)


def test_the_user_comes_into_the_group_once_and_leaves_it_by_the_rollback():
    view = host(engine=ENGINE, accounts=member("bob"))
    step = steps(view)["docker.group"]
    assert [one.argv for one in step.do] == [("gpasswd", "--add", "ubuntu", "docker")]
    assert step.undo.do == (Run(("gpasswd", "--delete", "ubuntu", "docker"), codes=(0, 3)),)
    assert not step.probe.done(view)
    assert not step.probe.done(host(accounts=Accounts(UNREAD, UNREAD, UNREAD, UNREAD)))
    assert step.probe.done(host(accounts=member("bob", "ubuntu")))
    assert step.kind == "group"


def test_a_docker_without_the_group_gets_it():
    step = steps(host(engine=ENGINE, accounts=member(group=False)))["docker.group"]
    assert [one.argv[0] for one in step.do] == ["groupadd", "gpasswd"]


@pytest.mark.parametrize("user", ["", "root"])
def test_nobody_and_root_need_no_group(user):
    view = host(engine=ENGINE, accounts=Accounts(UNREAD, UNREAD, UNREAD, UNREAD))
    assert "docker.group" not in steps(view, DockerAsked(user=user))


@pytest.mark.parametrize("user", ["eve", "-a", "--root=/", "a b", "a:b", "a,b", "a\nb", "\x1b[31m", "a/b"])
def test_who_does_not_exist_or_is_no_name_is_refused(user):
    (refusal,) = chosen(host(engine=ENGINE), DockerAsked(user=user))[1].refusals
    assert refusal.id == "plan.docker-user"
    assert "\x1b" not in refusal.message


def test_a_name_that_a_directory_may_know_is_left_to_gpasswd():
    view = host(engine=ENGINE, accounts=member(others=True))
    assert not chosen(view, DockerAsked(user="jane@corp.example"))[1].refusals
    assert chosen(view, DockerAsked(user="--root=/x"))[1].refusals


def whole(view, asked=ASKED, overlay=None, said=None):
    names = ("docker.io", "libnvidia-container-tools", "libnvidia-container1", "nvidia-container-toolkit", "nvidia-container-toolkit-base")
    rows = {name: (Candidate(name, "28.2.2-1" if name == "docker.io" else "1.19.0-1", "https://r/"),) for name in names}
    one = given(view, Asked(docker=asked), Offers(asked=True, candidates=rows), overlay or OURS)
    plan = make(one)
    answers = {
        question.words: Transaction(tuple(Moved(name, "amd64", "", rows[name][0].version, "https://r/") for name in names if any(name == word.partition("=")[0] for word in question.words)))
        for question in plan.questions
    }  # fmt: skip
    return make(one._replace(offers=replace(one.offers, transactions=answers)))


def todo(plan):
    return [step.id for step in plan.todo]


def test_docker_that_comes_is_configured_proved_and_restarted_after_the_toolkit():
    plan = whole(host())
    assert not plan.refusals
    order = todo(plan)
    assert order[-5:] == ["docker.packages", "docker.units", "docker.group", "runtime.docker.config", "runtime.restart-docker"]
    assert order.index("toolkit.packages") < order.index("docker.packages")
    (config,) = (step for step in plan.todo if step.id == "runtime.docker.config")
    write, judge = config.do
    assert json.loads(write.content) == {"runtimes": {"nvidia": {"args": [], "path": "/usr/bin/nvidia-container-runtime"}}}
    assert judge.argv == ("dockerd", "--validate", "--config-file=/etc/docker/daemon.json")
    (restart,) = (step for step in plan.todo if step.id == "runtime.restart-docker")
    assert restart.undo.kind == "packages"  # it goes with its package: nothing is left to restart
    assert not plan.irreversible


def test_a_file_that_is_there_without_docker_keeps_what_it_says():
    view = host()
    file = ConfigFile("/etc/docker/daemon.json", '{"data-root": "/data"}', 0o600, 0, 0)
    view = replace(view, installation=replace(view.installation, files=(file,)))
    (write,) = (one for step in whole(view).todo for one in step.do if isinstance(one, Write) and one.path == file.path)
    assert json.loads(write.content)["data-root"] == "/data"
    assert write.mode == 0o600
    broken = replace(view, installation=replace(view.installation, files=(replace(file, text="{"),)))
    assert [one.id for one in whole(broken).refusals] == ["plan.runtime-edit"]


def test_restart_never_and_an_image_write_the_configuration_alone():
    never = {**OURS, "install": {"restart": "never"}}
    assert "runtime.restart-docker" not in todo(whole(host(), overlay=never))
    image = replace(host(), kind="image")
    assert "runtime.restart-docker" not in todo(whole(image))
    assert "runtime.docker.config" in todo(whole(image))


def test_where_its_configuration_stays_no_docker_is_configured():
    asked = replace(ASKED, configure=False)
    assert not [one for one in todo(whole(host(), asked)) if one.startswith("runtime.")]
    bare = {**ENGINE, "handlers": []}
    assert not [one for one in todo(whole(host(engine=bare), asked)) if one.startswith("runtime.")]
    assert "runtime.docker.config" in todo(whole(host(engine=bare)))


def test_containers_that_a_restart_would_stop_are_a_reason_to_refuse():
    view = host(engine={**ENGINE, "handlers": []})
    busy = replace(view, installation=replace(view.installation, containers=2))
    assert [one.id for one in whole(busy).refusals] == ["plan.runtime-restart"]


def test_a_docker_that_the_plan_starts_restarts_once_it_is_configured():
    stopped = {**ENGINE, "running": False, "started_at": {"unread": "absent", "detail": ""}, "handlers": []}
    order = todo(whole(host(engine=stopped, units=unit(active=False))))
    assert order[-3:] == ["docker.group", "runtime.docker.config", "runtime.restart-docker"]
    assert "docker.units" in order
    assert "runtime.restart-docker" not in todo(make(given(host(engine=stopped, units=unit(active=False)), overlay=OURS)))


def test_a_host_that_has_it_all_is_left_alone():
    view = host(engine=ENGINE, accounts=member("ubuntu"))
    plan = whole(view)
    assert {step.id for step in plan.steps if step.part in ("docker", "runtime")} == {"docker.units", "docker.group"}
    assert not [one for one in todo(plan) if one.startswith(("docker.", "runtime."))]


def test_a_runtime_of_somebody_elses_is_refused_also_where_the_toolkit_is_theirs():
    view = host()
    owned = replace(view, platform=replace(view.platform, runtime=replace(view.platform.runtime, owner="operator")))
    overlay = {**OURS, "toolkit": {"owner": "container", "required": "always"}}
    assert "plan.runtime-owned" in [one.id for one in whole(owned, overlay=overlay).refusals]
    assert "plan.runtime-owned" not in [one.id for one in make(given(owned, overlay=overlay)).refusals]


def test_a_transaction_that_takes_another_runtime_away_is_refused():
    one = given(host(), Asked(docker=ASKED), Offers(asked=True, candidates={"docker.io": (Candidate("docker.io", "28-1", "u"),)}), OURS | {"toolkit": {"required": "never"}})  # fmt: skip
    (question,) = make(one).questions
    gone = Transaction((Moved("docker.io", "amd64", "", "28-1"), Moved("containerd.io", "amd64", "1.7-1", "")))
    plan = make(one._replace(offers=replace(one.offers, transactions={question.words: gone})))
    assert [each.id for each in plan.refusals] == ["plan.removes"]
