"""Each precondition: a host that meets it is not refused, one that does not is, with what was found and a first step."""

from dataclasses import replace

import pytest

from hostagent.core.steps import Step as Remedy
from hostagent.core.unread import Unread
from hostagent.plan.model import Asked, Choices, DriverChoice, Given, Portion, Probe, Run, ToolkitChoice, Undo
from hostagent.plan.model import PlanStep as Step
from hostagent.plan.offers import NOT_ASKED, Moved, Offers, RefreshFault, Transaction
from hostagent.plan.preconditions import refused_after, refused_before
from hostagent.plan.refusals.packages import held_lock
from hostagent.plan.refusals.words import refusal
from hostagent.profiles import profile
from tests.plan_hosts import made_view

DEFAULT = profile.load("default", site_file="").profile
PACKAGES = (("libnvidia-compute-580", "580.178.04-1ubuntu1"), ("nvidia-dkms-580-open", "580.178.04-1ubuntu1"))
CHOSEN = Choices(
    DriverChoice(wanted=True, branch="580", version="580.178.04", kernels=("6.8.0-87-generic",), packages=PACKAGES),
    ToolkitChoice(wanted=True, version="1.19.0", packages=(("nvidia-container-toolkit", "1.19.0-1"),)),
)
PLAIN = Asked()
APT = ("apt-get", "install", "x")


def step(*, done=False):
    probe = Probe("it is there", lambda _: done)
    return Step("driver.packages", "driver", "packages", "Install", "", probe, (Run(APT),), Undo("packages"))


def given(view, asked=PLAIN, offers=NOT_ASKED, **laid):
    return Given(view, profile.load("default", site_file="", overlay=laid).profile if laid else DEFAULT, asked, offers)


def before(view, asked=PLAIN, **laid):
    return refused_before(given(view, asked, **laid))


def after(view, choices=CHOSEN, asked=PLAIN, offers=NOT_ASKED, space=(), **laid):
    return refused_after(given(view, asked, offers, **laid), choices, Portion(steps=(step(),), space=space))


def ids(refusals):
    return [one.id for one in refusals]


def bound(*drivers):
    """A host of one GPU per driver."""
    view = made_view(gpus=["H100"] * len(drivers))
    return replace(view, gpus=tuple(replace(one, bound_to=driver) for one, driver in zip(view.gpus, drivers, strict=True)))


def owned(name, owner, base="host", **parts):
    part = {"place": "", "owner": owner}
    return {"name": name, "base": base, "driver": part, "libraries": part, "toolkit": part, "runtime": part, **parts}


@pytest.mark.parametrize(
    "name", ["ubuntu2204", "ubuntu2404", "debian12", "debian13", "rocky8", "rocky9", "rocky10", "amzn2023", "sles15", "azurelinux3"]
)
def test_an_ordinary_host_is_not_refused(name):
    view = made_view(name)
    assert before(view) == ()
    assert after(view) == ()


@pytest.mark.parametrize(
    ("id_", "facts"),
    [
        ("plan.architecture", {"os": {"arch": "ppc64le"}}),
        ("plan.distribution", {"os": {"id": "arch"}}),
        ("plan.distribution", {"os": {"version_id": "24.10"}}),
        ("plan.container", {"platform": {"contained": True}}),
        ("plan.managed-system", {"platform": owned("Talos Linux", "image", "managed")}),
        ("plan.managed-system", {"platform": owned("WSL2", "provider", "guest")}),
        ("plan.dgx-os", {"platform": owned("DGX OS", "host")}),
        ("plan.driver-owned", {"platform": {"driver": {"place": "", "owner": "operator"}}}),
        ("plan.toolkit-owned", {"platform": {"toolkit": {"place": "/usr/local/nvidia/toolkit", "owner": "operator"}}}),
        ("plan.driver-container", {"driver": {"container_driver": True, "container_driver_evidence": ["/run/nvidia/driver"]}}),
        ("plan.runfile", {"driver": {"runfile_traces": ["/usr/bin/nvidia-uninstall"]}}),
        ("plan.no-gpu", {"gpus": []}),
        ("plan.cloud-init", {"installation": {"cloud_init_drivers": ["nvidia 580-server"]}}),
        ("plan.cloud-init-running", {"machine": {"cloud_init_running": True}}),
    ],
)
def test_what_forbids_any_change(id_, facts):
    found = before(made_view(**facts))
    assert ids(found) == [id_]
    assert found[0].remedy
    assert found[0].message == f"found {found[0].found}, wanted {found[0].wanted}"
    assert len(found[0].remedy[0].text) <= 95  # the way of the GPU Operator, as checks say it


def test_an_image_shows_no_gpu_and_no_running_cloud_init():
    view = made_view(gpus=[], machine={"cloud_init_running": {"unread": "not-running", "detail": ""}})
    assert before(replace(view, kind="image")) == ()


def test_a_profile_that_requires_no_gpu_may_have_none():
    assert before(made_view(gpus=[]), gpus={"required": False}) == ()


def test_one_gpu_of_a_virtual_machine_leaves_the_others():
    assert before(bound("vfio-pci", "nvidia")) == ()
    assert ids(before(bound("vfio-pci", "vfio-pci"))) == ["plan.passthrough"]


def test_what_the_profile_gives_to_others_is_not_refused():
    operators = {"driver": {"place": "", "owner": "operator"}}
    view = made_view(platform=operators, driver={"container_driver": True, "container_driver_evidence": ["/run/nvidia/driver"]})
    assert before(view, driver={"owner": "container"}) == ()


def test_a_part_that_nobody_asks_for_may_be_somebody_elses():
    view = made_view(platform={"driver": {"place": "", "owner": "operator"}}, driver={"runfile_traces": ["/usr/bin/nvidia-uninstall"]})
    assert before(view, Asked(only=("toolkit", "runtime"))) == ()


@pytest.mark.parametrize("field", ["os", "platform", "driver", "gpus", "installation", "machine"])
def test_a_fact_that_was_not_read_refuses(field):
    view = replace(made_view(), **{field: Unread("denied", "Permission denied")})
    found = before(view)
    assert set(ids(found)) == {"plan.unread"}
    assert all("denied (Permission denied)" in one.message for one in found)


@pytest.mark.parametrize(
    ("why", "first"),
    [("denied", "Run it as root"), ("error", "Correct what the reason names"), ("timeout", "Correct"), ("not-recorded", "Record")],
)
def test_who_is_root_already_is_not_told_to_become_root(why, first):
    found = before(replace(made_view(), machine=Unread(why, "what was said")))
    assert {one.remedy[0].text.startswith(first) for one in found} == {True}


def test_a_snapshot_that_was_made_for_checks_says_so():
    found = before(replace(made_view(), installation=Unread("not-recorded", "")))
    assert "Record the host again" in found[0].remedy[0].text


def test_nothing_to_do_is_not_refused():
    view = made_view(storage={"filesystems": [{"path": "/", "holds": ["/"], "free_bytes": 1, "free_inodes": 1}]})
    assert refused_after(given(view), CHOSEN, Portion(steps=(step(done=True),), space=(("/usr", 10**9),))) == ()


def test_an_empty_install_names_what_would_be_installed():
    found = after(made_view(), driver={"version": "", "install": ""})
    assert ids(found) == ["plan.install-empty"]
    assert "driver.install" in found[0].message


@pytest.mark.parametrize("file", ["/etc/apt/preferences.d/site", "/etc/dnf/plugins/versionlock.list"])
def test_a_pin_of_somebody_else_is_named_with_its_file(file):
    lock = {"file": file, "package": "libnvidia-compute-*", "version": "570.172.08-*"}
    found = after(made_view(packages={"locks": [lock]}))
    assert ids(found) == ["plan.pin"]
    assert file in found[0].message


@pytest.mark.parametrize(
    "lock",
    [
        {"file": "/etc/apt/preferences.d/hostagent-driver", "package": "libnvidia-*", "version": "570.172.08-*"},
        {"file": "/etc/apt/preferences.d/site", "package": "libnvidia-compute-580", "version": "580.178.04-1ubuntu1"},
        {"file": "/etc/apt/preferences.d/site", "package": "libnvidia-compute-580", "version": "580.*"},
        {"file": "/etc/apt/preferences.d/site", "package": "postgresql-*", "version": "14.*"},
        {"file": "/etc/apt/preferences.d/site", "package": "nvidia-*", "version": ""},
    ],
)
def test_a_pin_that_allows_it_is_silent(lock):
    assert after(made_view(packages={"locks": [lock]})) == ()


@pytest.mark.parametrize(
    ("id_", "transaction"),
    [
        ("plan.transaction", Transaction(error="E: Unable to correct problems, you have held broken packages.")),
        ("plan.removes", Transaction(moved=(Moved("ubuntu-desktop", "amd64", "1.5", ""),))),
        ("plan.kernel", Transaction(moved=(Moved("linux-image-6.8.0-90-generic", "amd64", "", "6.8.0-90.91"),))),
    ],
)
def test_what_a_transaction_must_not_do(id_, transaction):
    assert ids(after(made_view(), offers=Offers(asked=True, transactions={APT: transaction}))) == [id_]


def test_other_branches_of_the_driver_may_go():
    moved = (
        Moved("libnvidia-compute-570", "amd64", "570.172.08-1ubuntu1", ""),
        Moved("nvidia-dkms-580-open", "amd64", "", "580.178.04-1ubuntu1"),
    )
    assert after(made_view(), offers=Offers(asked=True, transactions={APT: Transaction(moved=moved)})) == ()


def test_a_kernel_may_come_along_where_the_profile_allows_it():
    moved = (Moved("linux-image-6.8.0-90-generic", "amd64", "", "6.8.0-90.91"),)
    assert after(made_view(), offers=Offers(asked=True, transactions={APT: Transaction(moved=moved)}), install={"allow_kernel": True}) == ()


@pytest.mark.parametrize("code", ["signature", "weak-key", "unreachable", "conflict", "lock", "key", "error"])
def test_what_the_repositories_say(code):
    found = after(made_view(), offers=Offers(asked=True, fault=RefreshFault(code, "E: its words", "https://mirror/")))
    assert ids(found) == [f"plan.repository-{code}"]
    assert "E: its words" in found[0].message


def test_a_full_disk_is_refused_by_the_transactions_own_figures():
    small = [{"path": "/", "holds": ["/", "/usr", "/var", "/boot"], "free_bytes": 10**9, "free_inodes": 10**6}]
    view = made_view(storage={"filesystems": small})
    big = Offers(asked=True, transactions={APT: Transaction(download_bytes=4 * 10**8, disk_bytes=9 * 10**8)})
    assert ids(after(view, offers=big)) == ["plan.space"]
    assert after(view, offers=Offers(asked=True, transactions={APT: Transaction(download_bytes=10**8, disk_bytes=2 * 10**8)})) == ()


def test_what_two_transactions_share_needs_its_room_once():
    """The driver's second transaction is asked about with the first in it, and the part that asks says the same figures."""
    small = [{"path": "/", "holds": ["/", "/usr", "/var", "/boot"], "free_bytes": 10**9, "free_inodes": 10**6}]
    first, second = ("apt-get", "install", "dkms=3"), ("apt-get", "install", "dkms=3", "nvidia-dkms-580-open=580.142-1")
    answers = {
        first: Transaction(download_bytes=10**8, disk_bytes=10**8),
        second: Transaction(download_bytes=3 * 10**8, disk_bytes=4 * 10**8),
    }
    view = made_view(storage={"filesystems": small})
    space = (("/usr", 4 * 10**8), ("/var", 3 * 10**8))
    assert after(view, offers=Offers(asked=True, transactions=answers), space=space) == ()


def test_two_filesystems_are_judged_apart():
    disks = [{"path": "/", "holds": ["/", "/usr", "/var"], "free_bytes": 10**10, "free_inodes": 10**6},
             {"path": "/boot", "holds": ["/boot"], "free_bytes": 10**8, "free_inodes": 10**6}]  # fmt: skip
    assert ids(after(made_view(storage={"filesystems": disks}), space=(("/boot", 3 * 10**8), ("/usr", 2 * 10**9)))) == ["plan.space"]


LOADED = {"loaded": True, "loaded_version": "570.172.08", "flavour": "open", "refcount": 3, "loaded_srcversion": "A"}
USERS = {"gpu_users": [{"pid": 4711, "program": "python3", "device": "/dev/nvidia0"}]}


def test_a_module_in_use_is_not_exchanged():
    found = after(made_view(driver=LOADED, installation=USERS))
    assert ids(found) == ["plan.gpu-in-use"]
    assert "python3 (pid 4711)" in found[0].message


def test_in_use_installs_for_the_next_boot():
    assert after(made_view(driver=LOADED, installation=USERS), asked=Asked(in_use=True)) == ()


def test_a_module_that_stays_may_be_in_use():
    assert after(made_view(driver={**LOADED, "loaded_version": "580.178.04"}, installation=USERS)) == ()


def test_users_that_could_not_be_read_are_not_nobody():
    unread = {"gpu_users": {"unread": "denied", "detail": "/proc/1/fd"}}
    assert ids(after(made_view(driver=LOADED, installation=unread))) == ["plan.unread"]


@pytest.mark.parametrize("state", ["secure_boot", "module_signatures_enforced"])
def test_secure_boot_needs_an_enrolled_key_for_dkms(state):
    view = made_view(kernel={state: True})
    assert ids(after(view)) == ["plan.secure-boot"]
    enrolled = {"secure_boot_keys": ["/var/lib/dkms/mok.pub"], "enrolled_keys": ["/var/lib/dkms/mok.pub"]}
    assert after(made_view(kernel={state: True}, installation=enrolled)) == ()
    signed = CHOSEN._replace(driver=replace(CHOSEN.driver, delivery="precompiled"))
    assert after(view, signed) == ()


def test_a_secure_boot_that_could_not_be_read_is_not_off():
    assert ids(after(made_view(kernel={"secure_boot": {"unread": "denied", "detail": "efivars"}}))) == ["plan.unread"]


def test_an_advisory_refuses_only_where_the_profile_says_critical():
    old = CHOSEN._replace(driver=replace(CHOSEN.driver, version="580.65.06"))
    assert after(made_view(), old) == ()
    assert ids(after(made_view(), old, security="critical")) == ["plan.security"]


def test_a_lock_that_is_held_too_long_names_its_holder():
    assert held_lock("apt-get (pid 12)", 120).message == "found apt-get (pid 12) after 120 s, wanted a free lock"


def test_a_message_says_what_was_found_then_what_is_wanted_then_what_else_there_is_to_say():
    steps = (Remedy("configure", "Free space."), Remedy("rerun", "Then plan again."))
    plain = refusal("space", "There is too little space", "1 GiB", "3 GiB", *steps)
    assert (plain.id, plain.message, plain.action, plain.remedy) == ("plan.space", "found 1 GiB, wanted 3 GiB", "configure", steps)
    told = refusal("space", "There is too little space", "1 GiB", "3 GiB", *steps, detail="the disk is small")
    assert told == replace(plain, message="found 1 GiB, wanted 3 GiB: the disk is small")
