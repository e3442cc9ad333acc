"""Which driver is chosen for a host, out of what is offered; and that a plan that was carried out leaves nothing to do."""

from dataclasses import replace

import pytest

from hostagent.core.unread import Unread
from hostagent.facts.driver import DkmsBuild
from hostagent.plan.driver import choose, driver_steps
from hostagent.plan.model import Asked, Run
from tests.plan_driver import (
    ARCHIVE,
    after,
    debian_cuda,
    given,
    of_kernel,
    offer,
    resolved,
    ubuntu_cuda,
    with_module,
    with_packages,
)
from tests.plan_hosts import made_view

NOBLE = of_kernel("6.8.0-87-generic", "generic")
BOOKWORM = of_kernel("6.1.0-41-amd64", "amd64")
SET_580 = (
    ("libnvidia-compute-580", "580.142-1ubuntu1"),
    ("nvidia-utils-580", "580.142-1ubuntu1"),
    ("nvidia-dkms-580-open", "580.142-1ubuntu1"),
)


def names(choice):
    return {name for name, _ in choice.packages}


def ids(portion):
    return [one.id for one in portion.refusals]


def argv(portion, step):
    return next(one.argv for made in portion.steps if made.id == step for one in made.do if isinstance(one, Run))


def installed_580(version="580.142", **more):
    view = with_packages(made_view("ubuntu2404"), *((name, f"{version}-1ubuntu1") for name, _ in SET_580), held=True)
    return with_module(view, version, **more)


def test_ubuntu_takes_the_newest_of_the_branch_from_nvidias_repository():
    rows = [*ubuntu_cuda("580", "580.142", "580.178.04", "580.95.05"), *ubuntu_cuda("570", "570.211.01"), *NOBLE]
    choice, chosen, stepped = resolved(given(made_view("ubuntu2404"), rows), rows)
    assert (choice.version, choice.origin, choice.delivery, choice.flavour) == ("580.178.04", "cuda", "dkms", "open")
    assert not chosen.refusals
    assert names(choice) >= {"libnvidia-compute-580", "nvidia-utils-580", "nvidia-dkms-580-open"}
    assert dict(choice.before) == {"linux-headers-6.8.0-87-generic": "1", "linux-headers-generic": "1", "dkms": "3.0"}
    assert "nvidia-dkms-580-open=580.178.04-1ubuntu1" in argv(stepped, "driver.packages")


def test_debian_takes_its_names_and_each_package_its_own_revision():
    rows = [*debian_cuda("580.178.04", "595.71.05"), *BOOKWORM]
    choice, _, _ = resolved(given(made_view("debian12"), rows), rows)
    assert dict(choice.packages)["nvidia-kernel-open-dkms"] == "580.178.04-1"
    assert "nvidia-driver-cuda" in names(choice)


@pytest.mark.parametrize(
    ("host", "rows"), [("ubuntu2404", [*ubuntu_cuda("580", "580.178.04"), *NOBLE]), ("debian12", [*debian_cuda("580.178.04"), *BOOKWORM])]
)
def test_what_was_carried_out_leaves_nothing_to_do_and_asks_nothing(host, rows):
    view = made_view(host)
    made = given(view, rows)
    choice, _, stepped = resolved(made, rows)
    assert {one.id for one in stepped.steps if not one.probe.done(view)} >= {
        "driver.headers",
        "driver.packages",
        "driver.hold",
        "driver.load",
    }
    later = after(view, choice, stepped.steps)
    again = given(later)
    stays, portion = choose(again)
    steps = driver_steps(again, stays)
    assert (stays.wanted, stays.version, portion.questions, steps.questions) == (False, "580.178.04", (), ())
    assert [one.id for one in steps.steps if not one.probe.done(later)] == []
    assert [one.id for one in stepped.steps if not one.probe.done(later)] == []


def test_nothing_is_asked_where_the_driver_is_what_the_profile_asks_for_even_if_something_newer_exists():
    made = given(installed_580())
    choice, portion = choose(made)
    assert (choice.wanted, choice.version, portion.questions) == (False, "580.142", ())


def test_upgrade_takes_the_newest_of_the_branch_and_leaves_the_newest_alone():
    made = given(installed_580(), asked=Asked(upgrade=True))
    rows = [*ubuntu_cuda("580", "580.142", "580.178.04"), *NOBLE]
    assert resolved(made, rows)[0].version == "580.178.04"
    only = [*ubuntu_cuda("580", "580.142"), *NOBLE]
    choice, _, stepped = resolved(made, only)
    assert (choice.wanted, choice.version) == (False, "580.142")
    assert not stepped.questions


def test_before_anybody_was_asked_versions_are_open():
    choice, portion = choose(given(made_view("ubuntu2404")))
    assert (choice.version, choice.branch) == ("", "580")
    assert [one.kind for one in portion.questions] == ["candidates"]
    assert driver_steps(given(made_view("ubuntu2404")), choice).questions == ()


def test_a_version_whose_set_is_not_whole_is_not_the_newest():
    rows = [*ubuntu_cuda("580", "580.142"), *ubuntu_cuda("580", "580.178.04", but=("nvidia-utils-580",)), *NOBLE]
    assert resolved(given(made_view("ubuntu2404"), rows), rows)[0].version == "580.142"


def test_a_set_that_is_whole_nowhere_is_refused_with_what_lacks():
    rows = [*ubuntu_cuda("580", "580.178.04", but=("nvidia-utils-580",)), *NOBLE]
    _, chosen, _ = resolved(given(made_view("ubuntu2404"), rows), rows)
    assert ids(chosen) == ["plan.set-incomplete"]
    assert "nvidia-utils-580" in chosen.refusals[0].found


def test_a_set_is_not_put_together_from_two_origins():
    rows = [*ubuntu_cuda("580", "580.178.04", but=("nvidia-utils-580",)), *NOBLE]
    rows += offer("nvidia-utils-580", versions=("580.178.04",), url=ARCHIVE, revision="-0ubuntu0.24.04.1")
    assert ids(resolved(given(made_view("ubuntu2404"), rows), rows)[1]) == ["plan.set-incomplete"]


def test_the_fabric_manager_is_a_part_of_the_set_where_the_host_has_nvswitches():
    view = made_view("ubuntu2404", fabric={"nvswitches": [{"pci": "0000:05:00.0", "device_id": "0x22a3", "bound_to": ""}]})
    rows = [*ubuntu_cuda("580", "580.178.04"), *NOBLE]
    choice, _, stepped = resolved(given(view, rows), rows)
    assert names(choice) >= {"nvidia-fabricmanager", "libnvidia-nscq", "libnvsdm"}
    assert "nvidia-fabricmanager" in next(one for one in stepped.steps if one.id == "driver.units").title
    without = [*ubuntu_cuda("580", "580.178.04", but=("nvidia-fabricmanager",)), *NOBLE]
    assert ids(resolved(given(view, without), without)[1]) == ["plan.set-incomplete"]


def test_no_such_branch_is_refused_with_what_there_is():
    rows = [*debian_cuda("595.71.05"), *of_kernel("6.12.57+deb13-amd64", "amd64")]
    _, chosen, _ = resolved(given(made_view("debian13"), rows), rows)
    assert ids(chosen) == ["plan.version-missing"]
    assert "595.71.05" in chosen.refusals[0].found
    assert chosen.refusals[0].wanted == "driver 580"
    _, starred, _ = resolved(given(made_view("debian13"), rows, driver={"install": "580.*"}), rows)
    assert starred.refusals[0].wanted == "driver 580.*"


def test_an_exact_version_is_that_version():
    rows = [*ubuntu_cuda("580", "580.142", "580.178.04"), *NOBLE]
    choice, _, _ = resolved(given(made_view("ubuntu2404"), rows, driver={"install": "580.142"}), rows)
    assert choice.version == "580.142"
    _, chosen, _ = resolved(given(made_view("ubuntu2404"), rows, driver={"install": "580.95.05"}), rows)
    assert ids(chosen) == ["plan.version-missing"]


def test_headers_that_nobody_has_are_refused():
    rows = ubuntu_cuda("580", "580.178.04")
    _, chosen, _ = resolved(given(made_view("ubuntu2404"), rows), rows)
    assert ids(chosen) == ["plan.headers-missing"]
    assert "6.8.0-87-generic" in chosen.refusals[0].wanted


def test_packages_of_another_branch_go_and_no_others():
    view = with_packages(
        made_view("ubuntu2404"),
        ("libnvidia-compute-570", "570.211.01-1ubuntu1"),
        ("nvidia-dkms-570-open", "570.211.01-1ubuntu1"),
        ("nvidia-utils-570", "570.211.01-1ubuntu1"),
        ("nvidia-firmware-570-570.211.01", "570.211.01-1ubuntu1"),
        ("nvidia-modprobe", "570.211.01-1ubuntu1"),
        ("nvidia-driver-pinning-570", "570-1ubuntu1"),
    )
    view = with_packages(view, ("nvidia-container-toolkit", "1.19.0-1"), origin="toolkit")
    rows = [*ubuntu_cuda("580", "580.178.04"), *NOBLE]
    choice, _, _ = resolved(given(with_module(view, "570.211.01"), rows), rows)
    assert set(choice.removed) == {
        "libnvidia-compute-570",
        "nvidia-dkms-570-open",
        "nvidia-utils-570",
        "nvidia-firmware-570-570.211.01",
        "nvidia-driver-pinning-570",
    }
    assert dict(choice.packages)["nvidia-modprobe"] == "580.178.04-1ubuntu1"


def test_down_from_the_branches_without_a_branch_in_their_names():
    old = ("libnvidia-compute", "nvidia-utils", "nvidia-dkms-open", "nvidia-modprobe", "nvidia-kernel-common", "nvidia-open")
    view = with_packages(made_view("ubuntu2404"), *((name, "595.71.05-1ubuntu1") for name in old))
    rows = [*ubuntu_cuda("580", "580.178.04"), *offer(*old, versions=("595.71.05",), revision="-1ubuntu1"), *NOBLE]
    choice, _, _ = resolved(given(with_module(view, "595.71.05"), rows), rows)
    assert choice.version == "580.178.04"
    assert set(choice.removed) == {"libnvidia-compute", "nvidia-utils", "nvidia-dkms-open", "nvidia-kernel-common"}
    assert {"nvidia-modprobe", "nvidia-open"} <= names(choice)


def test_down_on_debian_moves_the_same_names():
    old = ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-persistenced", "nvidia-modprobe", "libcuda1")
    view = with_packages(made_view("debian12"), *((name, "595.71.05-1") for name in old))
    rows = [*debian_cuda("595.71.05", "580.178.04"), *offer("libcuda1", versions=("595.71.05", "580.178.04")), *BOOKWORM]
    choice, _, stepped = resolved(given(with_module(view, "595.71.05"), rows), rows)
    assert (choice.removed, dict(choice.packages)["libcuda1"]) == ((), "580.178.04-1")
    assert "--allow-downgrades" in argv(stepped, "driver.packages")


def test_the_other_flavour_goes():
    view = with_packages(
        made_view("ubuntu2404"), ("libnvidia-compute-580", "580.95.05-1ubuntu1"), ("nvidia-dkms-580", "580.95.05-1ubuntu1")
    )
    view = with_module(view, "580.95.05", "proprietary")
    rows = [*ubuntu_cuda("580", "580.95.05", "580.178.04"), *NOBLE]
    choice, _, _ = resolved(given(view, rows, driver={"flavour": "open"}), rows)
    assert "nvidia-dkms-580" in choice.removed
    assert "nvidia-dkms-580-open" in names(choice)


def test_partial_versions_become_one():
    view = with_packages(made_view("ubuntu2404"), *SET_580[:2], ("nvidia-dkms-580-open", "580.178.04-1ubuntu1"))
    rows = [*ubuntu_cuda("580", "580.142", "580.178.04"), *NOBLE]
    choice, _, _ = resolved(given(with_module(view, "580.178.04"), rows), rows)
    assert set(dict(choice.packages).values()) == {"580.178.04-1ubuntu1"}


def test_a_half_configured_package_is_put_right_at_its_version():
    view = installed_580()
    broken = tuple(
        replace(one, state="half-configured") if one.name == "nvidia-dkms-580-open" else one for one in view.installation.packages
    )
    view = replace(view, installation=replace(view.installation, packages=broken))
    rows = [*ubuntu_cuda("580", "580.142", "580.178.04"), *NOBLE]
    choice, _, stepped = resolved(given(view, rows), rows)
    assert (choice.wanted, choice.version) == (True, "580.142")
    assert "driver.packages" in [one.id for one in stepped.steps if not one.probe.done(view)]


def test_a_module_that_was_not_built_is_built_again():
    view = with_module(with_packages(made_view("ubuntu2404"), *SET_580), "580.142", loaded=False, kernels=())
    rows = [*ubuntu_cuda("580", "580.142"), *NOBLE]
    choice, _, stepped = resolved(given(view, rows), rows)
    todo = [one.id for one in stepped.steps if not one.probe.done(view)]
    assert choice.version == "580.142"
    assert "driver.modules" in todo
    again = next(one.argv for made in stepped.steps if made.id == "driver.modules" for one in made.do if "--reinstall" in one.argv)
    assert again[-1] == "nvidia-dkms-580-open=580.142-1ubuntu1"


def test_a_module_that_is_damaged_is_built_once_more_though_dkms_takes_it_for_built():
    """As a disk that was full leaves it: the file is there, and nothing in it."""
    view, nothing = installed_580(loaded=False), Unread("error", "no 64-bit little-endian ELF file: it starts with ''")
    inside = ("nvidia_version", "nvidia_license", "nvidia_vermagic", "nvidia_srcversion", "nvidia_signer")
    (one,) = (replace(one, **dict.fromkeys(inside, nothing)) for one in view.kernel.installed)
    built = DkmsBuild("nvidia", "580.142", (one.release,), failed=False, failed_kernel="", error="", log="")
    view = replace(view, kernel=replace(view.kernel, installed=(one,)), driver=replace(view.driver, dkms=(built,)))
    rows = [*ubuntu_cuda("580", "580.142"), *NOBLE]
    choice, chosen, stepped = resolved(given(view, rows), rows)
    assert (ids(chosen), choice.version, choice.wanted) == ([], "580.142", True)
    todo = {one.id: [run.argv for run in one.do if isinstance(run, Run)] for one in stepped.steps if not one.probe.done(view)}
    what = ("-m", "nvidia", "-v", "580.142")
    assert todo["driver.modules"][:3] == [
        ("dkms", "remove", *what, "-k", one.release),
        ("dkms", "add", *what),
        ("dkms", "autoinstall", "-k", one.release),
    ]


@pytest.mark.parametrize(
    ("boards", "profile", "wanted"),
    [
        (["H100"], "any", "open"),
        (["V100"], "any", "proprietary"),
        (["H100", "V100"], "any", "proprietary"),
        (["B200"], "any", "open"),
        ([], "any", "open"),
        (["H100"], "proprietary", "proprietary"),
        (["unknown"], "open", "open"),
        (["B200", "V100"], "any", "plan.flavour-invalid"),
        (["B200"], "proprietary", "plan.flavour-invalid"),
        (["unknown"], "any", "plan.flavour-unknown"),
    ],
)
def test_flavour(boards, profile, wanted):
    rows = [*ubuntu_cuda("580", "580.178.04"), *NOBLE]
    choice, chosen, _ = resolved(given(made_view("ubuntu2404", gpus=boards), rows, driver={"flavour": profile}), rows)
    assert (ids(chosen) or [choice.flavour]) == [wanted]


def test_the_last_branch_of_a_gpu():
    _, chosen = choose(given(made_view("ubuntu2404", gpus=["V100"]), driver={"install": "595", "version": "595.*"}))
    assert ids(chosen) == ["plan.flavour-invalid"]
    assert "580" in chosen.refusals[0].wanted


def test_no_driver_stays_for_a_gpu_that_its_branch_no_longer_drives():
    view = installed_580(flavour="proprietary")
    _, chosen = choose(given(replace(view, gpus=tuple(replace(one, device_id="0x128b") for one in view.gpus))))
    assert ids(chosen) == ["plan.flavour-invalid"]
    assert "470" in chosen.refusals[0].wanted


SERVER = [
    *offer("nvidia-headless-no-dkms-580-server-open", "nvidia-headless-580-server-open", "nvidia-utils-580-server", versions=("580.178.04",), url=ARCHIVE, revision="-0ubuntu0.24.04.1"),
    ("linux-modules-nvidia-580-server-open-6.8.0-87-generic", "6.8.0-87.88+1", ARCHIVE),
    ("linux-modules-nvidia-580-server-open-generic", "6.8.0-87.88+1", ARCHIVE),
]  # fmt: skip


def test_ubuntus_archive_brings_signed_modules_of_the_running_kernel():
    view = made_view("ubuntu2404")
    choice, _, stepped = resolved(given(view, SERVER, install={"origin": "distribution"}), SERVER)
    assert (choice.delivery, choice.before, choice.version) == ("precompiled", (), "580.178.04")
    assert dict(choice.packages)["linux-modules-nvidia-580-server-open-6.8.0-87-generic"] == "6.8.0-87.88+1"
    assert "linux-modules-nvidia-580-server-open-generic" in names(choice)
    later = after(view, choice, stepped.steps)
    again = given(later, install={"origin": "distribution"})
    stays, _ = choose(again)
    assert (stays.wanted, stays.origin, stays.delivery) == (False, "distribution", "precompiled")
    assert [one.id for one in driver_steps(again, stays).steps if not one.probe.done(later)] == []


def test_ubuntus_archive_builds_where_it_has_no_module_of_the_kernel():
    rows = [row for row in SERVER if "87-generic" not in row[0]] + NOBLE
    choice, _, _ = resolved(given(made_view("ubuntu2404"), rows, install={"origin": "distribution"}), rows)
    assert (choice.delivery, "nvidia-headless-580-server-open" in names(choice)) == ("dkms", True)


def test_signed_modules_by_the_profile_are_the_distributions():
    choice, _, _ = resolved(given(made_view("ubuntu2404"), SERVER, install={"delivery": "precompiled"}), SERVER)
    assert (choice.origin, choice.delivery) == ("distribution", "precompiled")
    _, chosen = choose(given(made_view("debian12"), install={"delivery": "precompiled"}))
    assert ids(chosen) == ["plan.no-packages"]


def test_the_installed_origin_is_kept_and_not_crossed():
    view = with_packages(made_view("ubuntu2404"), ("libnvidia-compute-570-server", "570.211.01-0ubuntu0.24.04.1"), origin="distribution")
    choice, _, _ = resolved(given(view, SERVER), SERVER)
    assert choice.origin == "distribution"
    _, chosen = choose(given(view, install={"origin": "cuda"}))
    assert ids(chosen) == ["plan.origin-crossed"]
    both = with_packages(view, ("nvidia-dkms-570-open", "570.211.01-1ubuntu1"))
    assert ids(choose(given(both))[1]) == ["plan.origin-second"]


def test_a_mirror_counts_as_nvidias_repository():
    mirror = "file:///srv/mirror/"
    rows = [(name, version, mirror if url != ARCHIVE else url) for name, version, url in [*ubuntu_cuda("580", "580.178.04"), *NOBLE]]
    laid = {"repositories": {"cuda": {"url": "file:/srv/mirror"}}}
    assert resolved(given(made_view("ubuntu2404"), rows, install=laid), rows)[0].version == "580.178.04"


def test_libraries_for_desktops():
    rows = [*ubuntu_cuda("580", "580.178.04"), *NOBLE]
    choice, _, _ = resolved(given(made_view("ubuntu2404"), rows, install={"packages": "full"}), rows)
    assert dict(choice.packages)["nvidia-open"] == "580.178.04-1"


def test_every_kernel_of_this_boot_and_the_next_gets_headers():
    view = made_view("ubuntu2404")
    other = replace(view.kernel.installed[0], release="6.8.0-90-generic", image="/boot/vmlinuz-6.8.0-90-generic")
    kernel = replace(view.kernel, installed=(*view.kernel.installed, other), next_release="6.8.0-90-generic")
    rows = [*ubuntu_cuda("580", "580.178.04"), *NOBLE, *of_kernel("6.8.0-90-generic", "generic")]
    choice, _, _ = resolved(given(replace(view, kernel=kernel), rows), rows)
    assert choice.kernels == ("6.8.0-87-generic", "6.8.0-90-generic")
    assert {"linux-headers-6.8.0-87-generic", "linux-headers-6.8.0-90-generic"} <= set(dict(choice.before))


def test_an_owner_that_is_not_the_host_plans_nothing():
    choice, portion = choose(given(driver={"owner": "container"}))
    assert (choice.wanted, driver_steps(given(), choice).steps, portion.questions) == (False, (), ())


@pytest.mark.parametrize(
    ("users", "in_use", "loads", "reboots"),
    [((), False, True, 0), ((), True, False, 1), (("python",), False, False, 1), (("nvidia-persistenced",), False, True, 0)],
)
def test_a_loaded_module_is_exchanged_only_where_nobody_uses_it(users, in_use, loads, reboots):
    view = with_module(with_packages(made_view("ubuntu2404"), *SET_580), "580.142")
    view = replace(view, installation=replace(view.installation, gpu_users=tuple(_user(one) for one in users)))
    rows = [*ubuntu_cuda("580", "580.142", "580.178.04"), *NOBLE]
    made = given(view, rows, Asked(upgrade=True, in_use=in_use))
    _, _, stepped = resolved(made, rows)
    step = [one for one in stepped.steps if one.id == "driver.load"]
    assert (bool(step), len(stepped.reboot)) == (loads, reboots)
    if step:
        assert [one.argv for one in step[0].do if one.argv[0] == "rmmod"] == [
            ("rmmod", "nvidia_uvm"),
            ("rmmod", "nvidia_modeset"),
            ("rmmod", "nvidia"),
        ]


def _user(program):
    from hostagent.facts.installation import GpuUser

    return GpuUser(7, program, "/dev/nvidia0")


def test_a_reboot_is_due_until_it_happened():
    view = installed_580()
    view = replace(view, driver=replace(view.driver, loaded_version="570.211.01"))
    view = replace(view, installation=replace(view.installation, gpu_users=(_user("python"),)))
    choice, _ = choose(given(view))
    stepped = driver_steps(given(view), choice)
    assert (choice.wanted, len(stepped.reboot)) == (False, 1)


def test_nouveau_is_kept_off_and_goes_by_a_reboot():
    view = made_view("ubuntu2404")
    gpus = tuple(replace(one, bound_to="nouveau") for one in view.gpus)
    kernel = replace(
        view.kernel,
        nouveau_blacklisted=False,
        loaded_modules=("nouveau",),
        installed=tuple(replace(one, nouveau=True) for one in view.kernel.installed),
    )
    view = replace(view, gpus=gpus, kernel=kernel)
    rows = [*ubuntu_cuda("580", "580.178.04"), *NOBLE]
    _, _, stepped = resolved(given(view, rows), rows)
    todo = [one.id for one in stepped.steps if not one.probe.done(view)]
    assert ("driver.nouveau" in todo, "driver.load" in todo, len(stepped.reboot)) == (True, False, 1)


def test_an_image_takes_the_kernel_that_was_named_and_loads_nothing():
    gone = {"unread": "not-running", "detail": ""}
    view = replace(made_view("debian12", gpus=[], driver={"loaded": gone, "loaded_version": gone}), kind="image")
    rows = [*debian_cuda("580.178.04"), *BOOKWORM]
    choice, _, stepped = resolved(given(view, rows, Asked(extras=("nvswitch", "coherent"))), rows)
    assert choice.kernels == ("6.1.0-41-amd64",)
    assert "nvidia-fabricmanager" in names(choice)
    assert "driver.load" not in [one.id for one in stepped.steps]
    assert any("Coherent" in getattr(one, "content", "") for made in stepped.steps for one in made.do)


def test_a_run_that_ended_between_the_packages_and_the_options_of_an_image_still_writes_them():
    gone = {"unread": "not-running", "detail": ""}
    view = replace(made_view("debian12", gpus=[], driver={"loaded": gone, "loaded_version": gone}), kind="image")
    rows = [*debian_cuda("580.178.04"), *BOOKWORM]
    choice, _, stepped = resolved(given(view, rows), rows)
    killed = after(view, choice, stepped.steps, load=False)
    files = tuple(one for one in killed.installation.files if not one.path.startswith("/etc/modules-load.d/"))
    killed = replace(killed, installation=replace(killed.installation, files=files))
    for continued, expected in (((), []), (("driver.options",), ["driver.options"])):
        again = given(killed, asked=Asked(continued=continued))
        steps = driver_steps(again, choose(again)[0]).steps
        assert [one.id for one in steps if one.id == "driver.options" and not one.probe.done(killed)] == expected


def test_holds_are_put_back_where_the_profile_holds_nothing():
    rows = [*ubuntu_cuda("580", "580.142", "580.178.04"), *NOBLE]
    made = given(installed_580(), rows, Asked(upgrade=True), install={"hold": False})
    _, _, stepped = resolved(made, rows)
    assert set(argv(stepped, "driver.hold")[2:]) == {name for name, _ in SET_580}
    free = given(made_view("ubuntu2404"), rows, install={"hold": False})
    assert "driver.hold" not in [one.id for one in resolved(free, rows)[2].steps]


def test_one_with_an_advisory_is_taken_and_said():
    rows = [*ubuntu_cuda("580", "580.142"), *NOBLE]
    _, _, stepped = resolved(given(made_view("ubuntu2404"), rows), rows)
    assert "lacks the security fixes" in next(one.why for one in stepped.steps if one.id == "driver.packages")


def test_a_version_with_an_advisory_does_not_stay_where_the_profile_calls_that_critical():
    rows = [*ubuntu_cuda("580", "580.142", "580.178.04"), *NOBLE]
    choice, _, _ = resolved(given(installed_580(), rows, security="critical"), rows)
    assert choice.version == "580.178.04"


def test_metapackages_bring_nothing_for_a_kernel_that_is_not_there():
    rows = [*ubuntu_cuda("580", "580.178.04"), ("linux-headers-6.8.0-87-generic", "6.8.0-87.88", ARCHIVE)]
    rows += [("linux-headers-generic", version, ARCHIVE) for version in ("6.8.0-90.91", "6.8.0-87.88", "6.8.0-84.84")]
    choice, _, _ = resolved(given(made_view("ubuntu2404"), rows), rows)
    assert dict(choice.before)["linux-headers-generic"] == "6.8.0-87.88"
    newer = [
        (name, version.replace("-87.88", "-90.91") if name.endswith("-open-generic") else version, url) for name, version, url in SERVER
    ]
    choice, _, _ = resolved(given(made_view("ubuntu2404"), newer, install={"origin": "distribution"}), newer)
    assert (choice.delivery, "linux-modules-nvidia-580-server-open-generic" in names(choice)) == ("precompiled", False)


def test_a_module_of_another_kernel_is_none():
    view = installed_580()
    for vermagic, stays in (("6.8.0-87-generic SMP mod_unload", True), ("6.8.0-84-generic SMP mod_unload", False)):
        kernels = tuple(replace(one, nvidia_vermagic=vermagic) for one in view.kernel.installed)
        choice, _ = choose(given(replace(view, kernel=replace(view.kernel, installed=kernels))))
        assert choice.wanted is not stays


def test_another_build_of_the_same_version_is_not_in_force():
    view = installed_580()
    kernels = tuple(replace(one, nvidia_srcversion="B") for one in view.kernel.installed)
    view = replace(view, kernel=replace(view.kernel, installed=kernels), driver=replace(view.driver, loaded_srcversion="A"))
    choice, _ = choose(given(view))
    step = next(one for one in driver_steps(given(view), choice).steps if one.id == "driver.load")
    assert (choice.wanted, step.probe.done(view), step.title.startswith("Exchange")) == (False, False, True)


def test_add_ons_that_nothing_needs_do_not_change_the_driver():
    view = with_packages(installed_580(), ("nvidia-fabricmanager-570", "570.211.01-1ubuntu1"))
    choice, _ = choose(given(view))
    assert (choice.wanted, choice.version) == (False, "580.142")


def test_the_second_transaction_is_asked_about_with_the_first():
    rows = [*ubuntu_cuda("580", "580.178.04"), *NOBLE]
    _, _, stepped = resolved(given(made_view("ubuntu2404"), rows), rows)
    first, second = argv(stepped, "driver.headers"), argv(stepped, "driver.packages")
    assert set(first[first.index("install") :]) <= set(second)


def test_a_newer_branch_that_the_profile_accepts_is_put_right_and_not_taken_down():
    old = ("libnvidia-compute", "nvidia-utils", "nvidia-dkms-open")
    view = with_packages(made_view("ubuntu2404"), *((name, "595.71.05-1ubuntu1") for name in old))
    view = with_module(view, "595.71.05", kernels=())
    newer = offer(*old, "nvidia-modprobe", versions=("595.71.05",), revision="-1ubuntu1")
    rows = [*ubuntu_cuda("580", "580.178.04"), *newer, *NOBLE]
    choice, _, _ = resolved(given(view, rows, driver={"version": ">=580"}), rows)
    assert (choice.version, choice.removed) == ("595.71.05", ())


def test_libraries_that_are_gone_though_their_packages_are_there_come_once_more():
    view = installed_580()
    view = replace(view, driver=replace(view.driver, libraries=()))
    rows = [*ubuntu_cuda("580", "580.142", "580.178.04"), *NOBLE]
    choice, _, stepped = resolved(given(view, rows), rows)
    todo = [one.id for one in stepped.steps if not one.probe.done(view)]
    assert (choice.wanted, choice.version, todo) == (True, "580.142", ["driver.packages"])
    again = argv(stepped, "driver.packages")
    assert "--reinstall" in again
    assert again[again.index("install") + 1 :] == ("libnvidia-compute-580=580.142-1ubuntu1", "nvidia-utils-580=580.142-1ubuntu1")


def test_the_other_flavour_of_the_same_version_is_not_in_force():
    view = with_module(with_packages(made_view("ubuntu2404", ["V100"]), *SET_580, held=True), "580.142", "open")
    rows = [*ubuntu_cuda("580", "580.142"), *NOBLE]
    choice, _, stepped = resolved(given(view, rows), rows)
    todo = [one.id for one in stepped.steps if not one.probe.done(view)]
    assert (choice.version, choice.flavour, choice.removed) == ("580.142", "proprietary", ("nvidia-dkms-580-open",))
    assert "driver.load" in todo, "else the run would end as failed: it is to do again"
    assert next(one for one in stepped.steps if one.id == "driver.load").title.startswith("Exchange the loaded module")
