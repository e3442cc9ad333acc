"""Who holds the driver's device nodes, and whose containers run: on made hosts. What a real kernel says of both is in tests/real."""

import os

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.driver.read_gpu_users import gpu_users
from hostagent.domains.driver.read_mok import certificate, enrolled
from hostagent.domains.runtime.read_container_shims import shims
from hostagent.engine.questions import live_backend
from hostagent.host.files import Files
from hostagent.host.paths import Root
from tests.trees.system import Daemon, boot, enrol, hold, install_os, run
from tests.trees.tree import Tree

SHIM = ("/usr/bin/containerd-shim-runc-v2", "-namespace", "moby", "-id", "3f")


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path / "root", kernel="6.8.0-87-generic", driver="")
    install_os(made, "ubuntu2404", "h")
    boot(made, "h")
    return made


def use(tree, pid, *nodes, program="/usr/bin/python3"):
    run(tree, Daemon(pid, (program,)))
    hold(tree, pid, *nodes)


@pytest.mark.parametrize("count", [None, "0\n"])
def test_nobody_is_looked_for_where_the_module_is_not_in_use(tree, count):
    use(tree, 70, "/dev/nvidia0")
    if count:
        tree.write("/sys/module/nvidia/refcnt", count)
    assert gpu_users(Root(str(tree.root)), ()) == []


def test_each_process_is_named_once_with_its_first_node(tree):
    tree.write("/sys/module/nvidia/refcnt", "3\n")
    use(tree, 90, "/dev/null", "/dev/nvidiactl", "/dev/nvidia1", "/dev/nvidia-uvm", "socket:[1]")
    use(tree, 80, "/dev/nvidia-caps/nvidia-cap1 (deleted)", program="/opt/x/train")
    use(tree, 85, "/dev/null", "/srv/nvidia0", "/dev/nvram", "/home/a/dev/nvidia0")
    assert gpu_users(Root(str(tree.root)), ()) == [
        {"pid": 80, "program": "train", "device": "/dev/nvidia-caps/nvidia-cap1", "devices": ["/dev/nvidia-caps/nvidia-cap1"]},
        {"pid": 90, "program": "python3", "device": "/dev/nvidia-uvm", "devices": ["/dev/nvidia-uvm", "/dev/nvidia1", "/dev/nvidiactl"]},
    ]
    assert [one["pid"] for one in gpu_users(Root(str(tree.root)), {90})] == [80]


def test_a_process_of_another_pid_namespace_that_has_this_ones_number_is_named(tree):
    tree.write("/sys/module/nvidia/refcnt", "3\n")
    use(tree, os.getpid(), "/dev/nvidia0")
    backend = live_backend(str(tree.root), "host-root")
    assert [one["pid"] for one in backend.ask("gpu_users")] == [os.getpid()]
    assert (backend.own_pids, live_backend("/", "host-root").own_pids) == (frozenset(), {os.getpid()})


def test_a_desktop_holds_the_nodes_of_drm_that_are_nvidias(tree):
    tree.write("/sys/module/nvidia/refcnt", "3\n")
    for name, module in (("card0", "ast"), ("card1", "nvidia")):
        tree.link(f"/sys/class/drm/{name}/device/driver", f"../../bus/pci/drivers/{module}")
    use(tree, 70, "/dev/dri/card0", program="/usr/bin/getty")
    use(tree, 71, "/dev/dri/card1", program="/usr/bin/kwin_wayland")
    assert [one["program"] for one in gpu_users(Root(str(tree.root)), ())] == ["kwin_wayland"]


def test_another_device_under_the_name_of_a_node_has_no_user(tree, tmp_path):
    """As somebody who bound /dev/null there has it open; links of a made host lead to devices of this machine."""
    tree.write("/sys/module/nvidia/refcnt", "3\n")
    tree.write("/proc/devices", "Character devices:\n  1 mem\n195 nvidia\n\nBlock devices:\n  7 loop\n")
    os.mkdir(tmp_path / "dev")
    os.symlink("/dev/null", tmp_path / "dev/nvidia0")
    use(tree, 70, f"{tmp_path}/dev/nvidia0")
    assert gpu_users(Root(str(tree.root)), ()) == []
    tree.write("/proc/devices", "Character devices:\n  1 nvidia-uvm\n195 nvidia\n\nBlock devices:\n  7 loop\n")
    assert [one["pid"] for one in gpu_users(Root(str(tree.root)), ())] == [70]


def test_a_node_of_drm_is_known_by_its_number(tree, tmp_path):
    tree.write("/sys/module/nvidia/refcnt", "3\n")
    tree.link("/sys/class/drm/card0/device/driver", "../../bus/pci/drivers/nvidia")
    tree.write("/sys/class/drm/card0/dev", "226:0\n")
    os.makedirs(tmp_path / "dev/dri")
    os.symlink("/dev/null", tmp_path / "dev/dri/card0")
    use(tree, 70, f"{tmp_path}/dev/dri/card0")
    assert gpu_users(Root(str(tree.root)), ()) == []
    tree.write("/sys/class/drm/card0/dev", "1:3\n")
    assert [one["pid"] for one in gpu_users(Root(str(tree.root)), ())] == [70]


def test_what_an_image_has_nobody_uses(tree):
    backend = live_backend(str(tree.root), "image")
    for question in (("gpu_users",), ("shims",), ("enrolled", "/x")):
        assert backend.ask(*question).why == "not-running"


def test_a_process_that_hides_its_files_may_be_one(tree):
    tree.write("/sys/module/nvidia/refcnt", "3\n")
    use(tree, 70, "/dev/nvidia0")
    tree.remove("/proc/70/fd")
    tree.write("/proc/70/fd", "")
    found = gpu_users(Root(str(tree.root)), ())
    assert isinstance(found, Unread)


def test_shims_are_counted_by_namespace(tree):
    run(tree, Daemon(901, SHIM, "containerd.service"), Daemon(902, SHIM, "containerd.service"))
    run(tree, Daemon(903, ("containerd-shim-kata-v2", "-namespace=k8s.io"), "containerd.service"))
    run(tree, Daemon(904, SHIM, uid=1000), Daemon(905, SHIM, ids=2), Daemon(906, ("/usr/bin/containerd",)))
    assert shims(Root(str(tree.root))) == {"k8s.io": 1, "moby": 2}


def test_a_certificate_is_enrolled_where_the_owners_list_has_it_whole(tree):
    der = b"0\x82\x01\x00" + bytes(range(200))
    enrol(tree, b"another", der)
    for name, data in (("a.der", der), ("b.der", der[:-1]), ("c.der", b"")):
        tree.write(f"/var/{name}", data)
    files = Files(Root(str(tree.root)))
    assert enrolled(files, ("/var/a.der", "/var/b.der", "/var/c.der")) == {"/var/a.der": True, "/var/b.der": False, "/var/c.der": False}
    assert enrolled(files, ("/var/none",)).why == "absent"


def test_efivarfs_writes_attributes_before_the_list(tree):
    enrol(tree, b"certificate")
    data = tree.at("/sys/firmware/efi/mok-variables/MokListRT").read_bytes()
    tree.remove("/sys/firmware/efi/mok-variables")
    files = Files(Root(str(tree.root)))
    tree.write("/var/a", b"certificate")
    assert enrolled(files, ("/var/a",)).why == "absent"
    name = "/sys/firmware/efi/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23"
    tree.write(name, b"\x06\0\0\0" + data)
    assert enrolled(files, ("/var/a",)) == {"/var/a": True}
    tree.write(name, b"\x06\0\0\0" + data[:-1])
    assert enrolled(files, ("/var/a",)).why == "error"


def test_a_certificate_in_pem_is_the_same():
    pem = b"-----BEGIN CERTIFICATE-----\nY2VydGlm\naWNhdGU=\n-----END CERTIFICATE-----\n"
    assert certificate(pem) == b"certificate"
    assert certificate(b"-----BEGIN CERTIFICATE-----\n&") == b"-----BEGIN CERTIFICATE-----\n&"
