"""Image trees that are not running (``--root``) and live hosts below another root (``--host-root``)."""

import os
import shutil

import pytest

from hostagent.core.unread import Unread
from hostagent.engine.questions import live_backend
from hostagent.engine.target import Evidence, open_host
from hostagent.facts.os import Os
from hostagent.host.source import Source
from hostagent.profiles import profile
from tests.judged import judged
from tests.trees import driver, grub, hosts, nccl, others, packages, serving, system
from tests.trees.staged import stage
from tests.trees.tree import Tree

CAN_BUILD = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gcc"), reason="device nodes need root, the stub of NVML gcc")
#: What is in a host only while it runs.
RUNTIME = ("proc", "sys", "dev", "run")
#: Families of which nothing can be asked of an image.
LIVE_ONLY = ("gpu.",)
#: Checks of other families that need a running kernel, a device or a process.
LIVE_ONLY_CHECKS = (
    "driver.loaded",
    "driver.nvml_initialises",
    "driver.device_nodes",
    "driver.reload_needed",
    "kernel.uvm_loaded",
    "kernel.nouveau_loaded",
    "kernel.secure_boot",
    "nvswitch.manager_running",
    "nvswitch.visible",
)


def _image(root, version=hosts.DRIVER):
    """A root file system as an image holds it: a host without what appears when it boots."""
    return _stopped(hosts.hgx_h100(root) if version == hosts.DRIVER else _with_driver(root, version))


def _stopped(tree):
    for name in RUNTIME:
        shutil.rmtree(tree.root / name)
        (tree.root / name).mkdir()
    return tree


def _judged(root, kernel=""):
    return judged(live_backend(str(root), "image", kernel=kernel), profile.load(site_file=""))


def _outcome(report, check):
    return next(one.outcome for one in report.findings if one.id == check)


@CAN_BUILD
@pytest.mark.alone
def test_what_an_image_cannot_tell_is_skipped_and_never_passes(tmp_path):
    report = _judged(_image(tmp_path / "root").root)
    asked = [one for one in report.findings if one.id.startswith(LIVE_ONLY) or one.id in LIVE_ONLY_CHECKS]
    assert {one.id for one in asked} >= set(LIVE_ONLY_CHECKS)
    assert [one for one in asked if one.outcome != "skip"] == []
    said = {(one.id, one.severity) for one in report.findings if one.outcome in ("fail", "warn", "unknown")}
    assert said == {("kubelet.cpu_manager", "info")}


@CAN_BUILD
@pytest.mark.alone
def test_files_of_a_boot_that_an_image_was_made_from_are_not_evidence(tmp_path):
    """A root copied from a running host may hold its /proc and /run; nothing in them is true of the image."""
    clean = _judged(_image(tmp_path / "root").root)
    copied = _judged(hosts.hgx_h100(tmp_path / "copied").root)
    assert copied.findings == clean.findings


@CAN_BUILD
@pytest.mark.alone
def test_an_image_with_one_kernel_is_judged_for_it(tmp_path):
    report = _judged(_image(tmp_path / "root").root)
    assert (report.host.kernel, _outcome(report, "kernel.module_present")) == (hosts.KERNEL, "pass")


@CAN_BUILD
@pytest.mark.alone
def test_an_image_with_two_kernels_is_judged_for_the_named_one(tmp_path):
    tree = _image(tmp_path / "root")
    system.install_kernel(tree, "6.8.0-90-generic")
    assert _judged(tree.root).host.kernel == "6.8.0-90-generic"  # what it would boot
    named, other = _judged(tree.root, hosts.KERNEL), _judged(tree.root, "6.8.0-90-generic")
    assert (_outcome(named, "kernel.module_present"), _outcome(other, "kernel.module_present")) == ("pass", "fail")


@CAN_BUILD
@pytest.mark.alone
@pytest.mark.parametrize(("default", "verdict", "outcome"), [("1>2", "ready", "pass"), ("0", "not_ready", "fail")])
def test_the_first_boot_of_an_image_takes_the_entry_that_its_grub_cfg_names(tmp_path, default, verdict, outcome):
    tree = _image(tmp_path / "root")
    system.install_kernel(tree, "6.8.0-90-generic")
    grub.install_grub(tree, "6.8.0-90-generic", hosts.KERNEL, default=default)
    report = _judged(tree.root)
    assert (report.verdict.single_node, _outcome(report, "kernel.module_present")) == (verdict, outcome)


@CAN_BUILD
@pytest.mark.alone
def test_an_image_whose_first_boot_is_open_is_unknown(tmp_path):
    tree = _image(tmp_path / "root")
    tree.write("/boot/grub/grub.cfg", "menuentry 'cut short' {\n linux /boot/vmlinuz-6.8.0-90-generic\n")
    report = _judged(tree.root)
    assert (report.verdict.single_node, _outcome(report, "kernel.module_present")) == ("unknown", "unknown")


@CAN_BUILD
@pytest.mark.alone
def test_a_kernel_that_an_image_does_not_have_is_never_fine(tmp_path):
    report = _judged(_image(tmp_path / "root").root, "6.8.0-1-absent")
    assert _outcome(report, "kernel.module_present") == "fail"


@CAN_BUILD
@pytest.mark.alone
def test_an_image_without_the_driver_is_not_ready(tmp_path):
    tree = _image(tmp_path / "root")
    driver.remove_userland(tree, tree.driver)
    tree.remove("/etc/ld.so.cache")
    assert _outcome(_judged(tree.root), "driver.library_present") == "fail"


@CAN_BUILD
@pytest.mark.alone
def test_an_image_with_a_vulnerable_driver_is_told_so(tmp_path):
    report = _judged(_image(tmp_path / "root", "580.95.05").root)
    assert _outcome(report, "driver.security_floor") == "fail"


@CAN_BUILD
@pytest.mark.alone
def test_an_image_with_the_wrong_branch_is_not_ready(tmp_path):
    report = _judged(_image(tmp_path / "root", "570.211.01").root)
    assert (report.verdict.single_node, _outcome(report, "driver.version")) == ("not_ready", "fail")


def _with_driver(root, version):
    tree = Tree(root, kernel=hosts.KERNEL, driver=version)
    hosts.ubuntu(tree, "image")
    hosts.driver_of_cuda_repository(tree)
    return tree


@CAN_BUILD
@pytest.mark.alone
@pytest.mark.parametrize("kind", ["image", "host-root"])
def test_judging_a_tree_writes_nothing_into_it(kind, tmp_path):
    tree = hosts.hgx_h100(tmp_path / "root")
    before = _everything(tree.root)
    with stage(tree, kind) as backend:
        judged(backend, profile.load(site_file=""))
    assert _everything(tree.root) == before


def _everything(root):
    return {path: (stat.st_mode, stat.st_size, stat.st_mtime_ns, stat.st_rdev) for path in root.rglob("*") for stat in [path.lstat()]}


def _plain(root):
    tree = Tree(root, kernel=hosts.KERNEL, driver="")
    tree.write("/opt/driver/libcuda.so.580.1", "inside")
    return tree


@pytest.mark.parametrize("kind", ["image", "host-root"])
def test_an_absolute_link_is_followed_inside_the_tree(kind, tmp_path):
    tree = _plain(tmp_path / "root")
    tree.link("/usr/lib/libcuda.so.1", "/opt/driver/libcuda.so.580.1")
    tree.link("/opt/current", "/opt/driver")
    source = Source(live_backend(str(tree.root), kind))
    assert source.realpath("/usr/lib/libcuda.so.1") == "/opt/driver/libcuda.so.580.1"
    assert (source.text("/usr/lib/libcuda.so.1"), source.text("/opt/current/libcuda.so.580.1")) == ("inside", "inside")
    assert source.listdir("/opt/current") == ("libcuda.so.580.1",)


@pytest.mark.parametrize("kind", ["image", "host-root"])
@pytest.mark.parametrize(
    "target", ["{outside}/secret", "../../../../../../../../../../..{outside}/secret", "/proc/self/root{outside}/secret"]
)
def test_no_link_leads_out_of_the_tree(kind, target, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("outside")
    tree = _plain(tmp_path / "root")
    tree.link("/etc/hostname", target.format(outside=outside))
    tree.link("/etc/apt", str(outside))
    source = Source(live_backend(str(tree.root), kind))
    for answer in (source.text("/etc/hostname"), source.stat("/etc/hostname"), source.text("/etc/apt/secret"), source.listdir("/etc/apt")):
        assert isinstance(answer, Unread)
        assert answer.why in ("absent", "not-running")
    assert source.readlink("/etc/hostname") == target.format(outside=outside), "the text of a link is evidence"


def test_a_tree_that_is_nearly_empty_is_not_ready_and_nothing_crashes(tmp_path):
    tree = _plain(tmp_path / "root")
    packages.dpkg(tree, {"bash": "5.2"})
    report = _judged(tree.root)
    assert report.verdict.single_node != "ready"
    assert [one for one in report.findings if one.code == "crashed"] == []


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["root", "host_root"])
def test_a_directory_may_be_named_as_the_caller_sees_it(kind, tmp_path, monkeypatch):
    """Those who read work in ``/``."""
    tree = _plain(tmp_path / "here")
    tree.write("/etc/os-release", "ID=acme\n")
    for place in ("proc/1", "sys/module"):
        tree.directory(f"/{place}")
    monkeypatch.chdir(tmp_path)
    with open_host(Evidence(**{kind: "here"}), ["Os"]) as reading:
        assert reading.collect().facts.of(Os).id == "acme"


@CAN_BUILD
@pytest.mark.alone
@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("with_toolkit", [True, False])
def test_an_image_with_a_k3s_that_never_started_has_what_its_first_start_finds(tmp_path, is_enabled, with_toolkit):
    """k3s unpacks its containerd and writes its configuration as it starts; with a runtime entry where the toolkit is."""
    tree = _stopped(others.k3s_worker(tmp_path / "root"))
    tree.remove("/var/lib/rancher")
    if not is_enabled:  # by cloud-init, with the token that it brings
        tree.remove("/etc/systemd/system/multi-user.target.wants/k3s-agent.service")
    if not with_toolkit:
        tree.remove("/usr/bin/nvidia-container-runtime")
    report = _judged(tree.root)
    assert _outcome(report, "runtime.present") == "pass"
    assert _outcome(report, "runtime.nvidia_handler") == ("pass" if with_toolkit else "fail")
    assert report.verdict.single_node == ("ready" if with_toolkit else "not_ready")


@CAN_BUILD
@pytest.mark.alone
def test_a_host_whose_k3s_never_started_is_not_ready(tmp_path):
    tree = others.k3s_worker(tmp_path / "root")
    tree.remove("/var/lib/rancher")
    system.stop(tree, 901, "k3s-agent.service")
    system.stop(tree, 950)
    with stage(tree, "host-root") as backend:
        report = judged(backend, profile.load(site_file=""))
    assert (_outcome(report, "runtime.present"), _outcome(report, "runtime.service_running")) == ("pass", "fail")
    assert report.verdict.single_node == "not_ready"


@CAN_BUILD
@pytest.mark.alone
@pytest.mark.parametrize(("is_enabled", "verdict"), [(True, "ready"), (False, "not_ready")])
def test_an_image_may_have_a_specification_of_its_first_boot_as_its_only_way(tmp_path, is_enabled, verdict):
    tree = _image(tmp_path / "root")
    tree.remove("/etc/containerd/conf.d")
    if not is_enabled:
        tree.remove("/etc/systemd/system/multi-user.target.wants/nvidia-cdi-refresh.service")
    report = _judged(tree.root)
    assert (report.verdict.single_node, _outcome(report, "runtime.nvidia_handler")) == (verdict, "pass" if is_enabled else "fail")


@CAN_BUILD
@pytest.mark.alone
@pytest.mark.parametrize(("build", "verdict"), [(serving.aks_drop_in, "ready"), (serving.aks_newer_drop_in, "not_ready")])
def test_the_operators_drop_in_must_not_be_newer_than_the_file_of_an_early_containerd_23(tmp_path, build, verdict):
    """No recorded host: one whose version is lost is judged by the newest rules, which accept the drop-in."""
    with stage(build(tmp_path / "root"), "host-root") as backend:
        report = judged(backend, profile.load(site_file=""))
    failed = [one.id for one in report.findings if one.outcome == "fail" and one.severity == "critical"]
    assert (report.verdict.single_node, failed) == (
        verdict,
        [] if verdict == "ready" else ["runtime.config_accepted", "runtime.service_running"],
    )


# A container's image, which brings NCCL.


def _of_jobs(root, *conf):
    """PyTorch with the library of its own wheel, on a base that has another one."""
    tree = Tree(root, kernel="", driver="")
    system.install_os(tree, "ubuntu2404", "")
    nccl.package(tree, "2.26.2", "12.8")
    tree.program("/opt/conda/bin/python3")
    nccl.wheel(tree, "/opt/conda/lib/python3.11/site-packages", "2.27.5", "12.9")
    nccl.settings(tree, *conf)
    return tree


def _nccl(tree):
    return judged(live_backend(str(tree.root), "image"), profile.load(site_file=""), only=("nccl",))


def test_the_nccl_of_an_image_is_judged_by_what_the_image_has(tmp_path):
    report = _nccl(_of_jobs(tmp_path / "root", "NCCL_NET_GDR_LEVEL=phb", "NCCL_IB_DISABLE=1"))
    found = {one.id: one.outcome for one in report.findings}
    assert {name for name, outcome in found.items() if outcome in ("fail", "warn")} >= {"nccl.ib_disable", "nccl.levels", "nccl.versions"}
    assert [name for name, outcome in found.items() if outcome == "unknown"] == []
    assert [found[name] for name in ("nccl.interface", "nccl.cuda", "nccl.gid_index")] == ["skip"] * 3
    assert [(one["path"], one["version"]) for one in report.facts["nccl"]["libraries"]] == [
        ("/usr/lib/x86_64-linux-gnu/libnccl.so.2.26.2", "2.26.2"),
        ("/opt/conda/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2", "2.27.5"),
    ]


def test_an_image_without_nccl_and_without_a_setting_of_it_skips_them_all(tmp_path):
    tree = Tree(tmp_path / "root", kernel="", driver="")
    system.install_os(tree, "ubuntu2404", "")
    assert {one.outcome for one in _nccl(tree).findings} == {"skip"}
