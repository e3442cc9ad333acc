"""The RDMA lane: what a card or libibverbs does wrong costs its own deadline, and NVML's answers stay whole.

The hangs are a libibverbs that never returns (tests/stub_verbs), and a read that does. What is not simulated: a card, and a process
that SIGKILL cannot end because it waits inside its driver.
"""

import ast
import contextlib
import errno
import os
import shutil
import time
from pathlib import Path

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_nvidia_worker import NVIDIA
from hostagent.domains.network import read_rdma_sysfs
from hostagent.domains.network.read_rdma_worker import RDMA
from hostagent.engine.questions import live_backend
from hostagent.engine.target import Evidence, open_host
from hostagent.host.attributes import Attributes
from hostagent.sandbox import worker as worker_module
from hostagent.sandbox.worker import Worker
from hostagent.sandbox.worker_spec import CALL_S
from tests import stub_nvml, stub_verbs
from tests.children import children
from tests.real.conftest import need_real

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="a cage takes root's rights: run the tests as root")]

ACTIVE = {"state": 4, "max_mtu": 5, "active_mtu": 5}
DEVICES, PORT = "sys/class/infiniband", "sys/class/infiniband/mlx5_0/ports/1"


@pytest.fixture
def tree(tmp_path):
    need_real("gcc", "apt-get install gcc libc6-dev")
    root = tmp_path / "host"
    root.mkdir()
    tmp_path.chmod(0o755)
    return root


@contextlib.contextmanager
def running(root, lane=RDMA, **options):
    worker = Worker(lane, str(root), **options)
    worker.start()
    try:
        yield worker
    finally:
        worker.close()


def waited(worker, *question):
    started = time.monotonic()
    return worker.ask("rdma", *question), time.monotonic() - started


def device_id(tree, address, vendor, device):
    stub_verbs.write(tree / "sys/bus/pci/devices" / address / "vendor", f"{vendor}\n")
    stub_verbs.write(tree / "sys/bus/pci/devices" / address / "device", f"{device}\n")


def test_devices_ports_and_what_verbs_say(tree):
    stub_verbs.install(tree, {"mlx5_0": 1, "mlx5_1": 2}, "query mlx5_1:2 port 1 5 3")
    with running(tree) as worker:
        assert worker.ask("rdma", "devices") == ["mlx5_0", "mlx5_1"]
        device = worker.ask("rdma", "device", "mlx5_1")
        assert (device["pci"], device["driver"], device["node"], device["ports"]) == ("0002:1b:00.0", "mlx5_core", "uverbs1", ["1", "2"])
        assert (device["netdevs"], device["virtual_of"], device["manages_nvlink"]) == ([["ens1np0", 0]], "", False)
        port = worker.ask("rdma", "port", "mlx5_1", "2")
        assert (port["state"], port["rate"], port["pkeys"]) == ("4: ACTIVE", "400 Gb/sec (4X NDR)", [[0, "0xffff"]])
        assert [one[0] for one in port["gids"]] == [0, 3], "empty slots are left out"
        assert port["traffic_class"]["unread"][0] == "absent"
        assert worker.ask("rdma", "verbs", "mlx5_0", "1") == worker.ask("rdma", "verbs", "mlx5_1", "1") == ACTIVE
        assert worker.ask("rdma", "verbs", "mlx5_1", "2") == {"state": 1, "max_mtu": 5, "active_mtu": 3}
        assert worker.ask("rdma", "library") == {"path": "/usr/lib/x86_64-linux-gnu/libibverbs.so.1", "dmabuf": True}
        assert worker.ask("rdma", "port", "mlx5_1", "3").why == "absent"
        assert (worker.sandbox["capabilities"], worker.sandbox["sockets"]) == ([], False)


@pytest.mark.parametrize(
    ("line", "label", "before"),
    [
        ("list * hang", "ibv_get_device_list", None),
        ("open mlx5_0 hang", "ibv_open_device mlx5_0", None),
        ("query mlx5_1:1 hang", "ibv_query_port mlx5_1:1", ACTIVE),
        ("close mlx5_0 hang", "ibv_close_device mlx5_0", ACTIVE),
    ],
)
def test_a_call_that_hangs_costs_its_deadline_once_and_keeps_all_that_sysfs_said(tree, line, label, before):
    stub_verbs.install(tree, {"mlx5_0": 1, "mlx5_1": 1}, line)
    started = children()
    with running(tree) as worker:
        late, seconds = waited(worker, "verbs", "mlx5_1", "1")
        assert late.why == "timeout"
        assert label in late.detail
        assert seconds < CALL_S + 1
        assert worker.ask("rdma", "port", "mlx5_1", "1")["state"] == "4: ACTIVE"
        first, again_s = waited(worker, "verbs", "mlx5_0", "1")
        assert first == before if before else first.why == "timeout"
        assert again_s < 0.05
    assert children() == started


def test_neither_lane_that_hangs_costs_the_other_its_answers(tree):
    stub_nvml.install(tree, 2, {"DeviceGetName 1": "hang"})
    stub_verbs.install(tree, {"mlx5_0": 1}, "open mlx5_0 hang")
    with running(tree) as fabric, running(tree, NVIDIA) as nvml:
        assert fabric.ask("rdma", "verbs", "mlx5_0", "1").why == "timeout"
        assert nvml.ask("nvml", "device", "0", "name") == "NVIDIA H100 80GB HBM3"
        assert nvml.ask("nvml", "device", "1", "name").why == "timeout"
        assert fabric.ask("rdma", "port", "mlx5_0", "1")["state"] == "4: ACTIVE"


def test_a_read_that_hangs_is_named_and_what_came_before_is_kept(tree, monkeypatch):
    stub_verbs.install(tree, {"mlx5_0": 1, "mlx5_1": 1})
    monkeypatch.setattr(read_rdma_sysfs.Reader, "port", lambda *_: time.sleep(60))
    with running(tree) as worker:
        assert worker.ask("rdma", "port", "mlx5_0", "1") == Unread("timeout", "port mlx5_0:1: no answer in 1 s")
        assert worker.ask("rdma", "device", "mlx5_1")["node"] == "uverbs1"
        assert worker.ask("rdma", "port", "mlx5_1", "1") == Unread("timeout", "not asked: port mlx5_0:1 hangs")


def test_no_second_worker_joins_one_that_hangs(tree):
    stub_verbs.install(tree, {"mlx5_0": 1}, "open mlx5_0 hang")
    with running(tree) as first:
        assert first.ask("rdma", "verbs", "mlx5_0", "1").why == "timeout"
        started = time.monotonic()
        with running(tree, ends=started + 1.5) as second:
            answer = second.ask("rdma", "devices")
        assert answer == Unread("timeout", f"another hostagent's worker (pid {first.pid}) is still reading from the rdma driver")
        assert time.monotonic() - started < 2
    with running(tree) as third:
        assert third.ask("rdma", "devices") == ["mlx5_0"], "the lock ends with its worker"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("query * error 5", "error"),
        ("open * error 13", "denied"),
        ("list * error 38", "error"),
        ("query * crash", "error"),
        ("list * crash", "error"),
    ],
)
def test_what_verbs_refuse_costs_no_answer_of_sysfs(tree, line, why):
    stub_verbs.install(tree, {"mlx5_0": 1}, line)
    with running(tree) as worker:
        assert worker.ask("rdma", "verbs", "mlx5_0", "1").why == why
        assert worker.ask("rdma", "port", "mlx5_0", "1")["link_layer"] == "Ethernet"


def test_a_device_that_verbs_do_not_list_is_absent_there(tree):
    stub_verbs.install(tree, {"mlx5_0": 1})
    stub_verbs.install_library(tree, {})
    with running(tree) as worker:
        assert worker.ask("rdma", "verbs", "mlx5_0", "1") == Unread("absent", "libibverbs knows no device mlx5_0")


@pytest.mark.parametrize("name", ["IBV_DRIVERS", "RDMAV_DRIVERS", "PATH", "LD_LIBRARY_PATH"])
def test_the_environment_stays_outside(tree, monkeypatch, name):
    monkeypatch.setenv(name, "/tmp/libevil")
    stub_verbs.install(tree, {"mlx5_0": 1}, f"query * set {name}")
    with running(tree) as worker:
        assert worker.ask("rdma", "verbs", "mlx5_0", "1") == ACTIVE


@pytest.mark.parametrize("action", ["write /etc/hostname", "write /dev/null", "socket 16", "socket 2", "socket 1"])
def test_the_library_changes_and_reaches_nothing(tree, action):
    stub_verbs.install(tree, {"mlx5_0": 1}, f"query * {action}")
    stub_verbs.write(tree / "etc/hostname", "a")
    (tree / "etc/hostname").chmod(0o666)
    stub_nvml.node(tree / "dev/null", 1, 3)
    with running(tree) as worker:
        assert worker.ask("rdma", "verbs", "mlx5_0", "1").why == "denied"


def test_an_older_library_has_no_dmabuf_and_one_without_the_call_is_an_error(tree):
    stub_verbs.install(tree, {"mlx5_0": 1}, flag="OLD")
    with running(tree) as worker:
        assert worker.ask("rdma", "library")["dmabuf"] is False
        assert worker.ask("rdma", "verbs", "mlx5_0", "1") == ACTIVE
    stub_verbs.install_library(tree, {"mlx5_0": 1}, flag="BROKEN")
    with running(tree) as worker:
        broken = Unread("error", "/usr/lib/x86_64-linux-gnu/libibverbs.so.1 has no ibv_query_port")
        assert worker.ask("rdma", "library") == worker.ask("rdma", "verbs", "mlx5_0", "1") == broken


def test_without_a_library_sysfs_answers_alone(tree):
    stub_verbs.install(tree, {"mlx5_0": 1})
    (tree / stub_verbs.DIRECTORY / "libibverbs.so.1").unlink()
    with running(tree) as worker:
        assert worker.ask("rdma", "library").why == worker.ask("rdma", "verbs", "mlx5_0", "1").why == "absent"
        assert worker.ask("rdma", "port", "mlx5_0", "1")["state"] == "4: ACTIVE"


@pytest.mark.parametrize(
    "place",
    [
        f"{stub_verbs.DIRECTORY}/libibverbs.so.1",
        f"{stub_verbs.DIRECTORY}/libibverbs/libmlx5-rdmav34.so",
        "etc/libibverbs.d/mlx5.driver",
        "opt/x-rdmav34.so",
    ],
)
def test_what_others_may_write_is_not_loaded(tree, place):
    """The library, a provider beside it, the name of a provider, and a provider that such a name leads to."""
    stub_verbs.install(tree, {"mlx5_0": 1})
    stub_verbs.write(tree / "etc/libibverbs.d/x.driver", "driver /opt/x\n")
    if not (tree / place).exists():
        stub_verbs.write(tree / place, "driver mlx5\n")
    (tree / place).chmod(0o666)
    with running(tree) as worker:
        answer = worker.ask("rdma", "library")
        assert answer.why == "error"
        assert f"{place} may be written by others than root" in answer.detail
        assert worker.sandbox == {}
        assert worker.ask("rdma", "port", "mlx5_0", "1")["state"] == "4: ACTIVE"


@pytest.mark.parametrize(
    ("gpu", "vpd", "manages"),
    [
        ("0x2901", b"\x90 SMDL=SW_MNG", True),
        ("0x2901", b"\x90 plain", False),
        ("0x2330", b"\x90 SMDL=SW_MNG", False),
        ("0x2901", None, False),
    ],
)
def test_of_a_management_function_no_port_is_read(tree, monkeypatch, gpu, vpd, manages):
    stub_verbs.install(tree, {"mlx5_0": 1}, "open mlx5_0 crash" if manages else "")
    device_id(tree, "0000:9d:00.0", "0x10de", gpu)
    if vpd is not None:
        stub_verbs.write(tree / DEVICES / "mlx5_0/device/vpd", vpd)
    with running(tree) as worker:
        device = worker.ask("rdma", "device", "mlx5_0")
        assert (device["manages_nvlink"], device["ports"]) == (manages, [] if manages else ["1"])
        assert worker.ask("rdma", "library")["dmabuf"] is True
        for kind in ("port", "verbs"):
            assert (getattr(worker.ask("rdma", kind, "mlx5_0", "1"), "why", "") == "absent") is manages


def test_of_a_function_that_may_manage_a_switch_no_port_is_read_either(tree):
    stub_verbs.install(tree, {"mlx5_0": 1})
    device_id(tree, "0000:9d:00.0", "0x10de", "0x2901")
    (tree / DEVICES / "mlx5_0/device/vpd").mkdir()
    with running(tree) as worker:
        device = worker.ask("rdma", "device", "mlx5_0")
        assert (device["manages_nvlink"]["unread"][0], device["ports"]) == ("error", [])


def test_a_virtual_function_has_its_policy_from_its_physical_one(tree):
    stub_verbs.install(tree, {"mlx5_0": 1, "mlx5_1": 1})
    functions = tree / "sys/devices/pci0002:15"
    stub_verbs.link(functions / "0002:1b:00.0/physfn", "../0002:1a:00.0")
    stub_verbs.link(functions / "0002:1a:00.0/virtfn1", "../0002:1b:00.0")
    stub_verbs.write(functions / "0002:1a:00.0/sriov/1/policy", "Follow\n")
    with running(tree) as worker:
        device = worker.ask("rdma", "device", "mlx5_1")
        assert (device["virtual_of"], device["link_policy"]) == ("0002:1a:00.0", {"1": "Follow"})
        assert worker.ask("rdma", "device", "mlx5_0")["link_policy"] == {}


def test_a_subfunction_is_its_cards_and_software_is_nobodys(tree):
    stub_verbs.install(tree, {"mlx5_0": 1})
    below = tree / "sys/devices/pci0002:15/0002:1a:00.0/mlx5_core.sf.4"
    stub_verbs.write(below / "infiniband/mlx5_4/fw_ver", "28.39\n")
    stub_verbs.link(below / "infiniband/mlx5_4/device", "../../../mlx5_core.sf.4")
    stub_verbs.link(tree / DEVICES / "mlx5_4", "../../devices/pci0002:15/0002:1a:00.0/mlx5_core.sf.4/infiniband/mlx5_4")
    stub_verbs.write(tree / DEVICES / "rxe0/parent", "eth0\n")
    stub_verbs.link(tree / DEVICES / "rxe0/device", "../../../devices/pci0002:15/0002:1a:00.0")
    stub_verbs.write(tree / DEVICES / "siw0/fw_ver", "\n")
    with running(tree) as worker:
        found = {name: worker.ask("rdma", "device", name) for name in ("mlx5_4", "rxe0", "siw0")}
    assert {name: (one["pci"], one["driver"]) for name, one in found.items()} == {
        "mlx5_4": ("0002:1a:00.0", "mlx5_core"),
        "rxe0": ("", ""),
        "siw0": ("", ""),
    }


def refuse(monkeypatch, faults):
    """An errno for what ends so: a made tree has no file that answers one."""

    def refusing(real, place):
        def text(self, name):
            number = next((number for end, number in faults.items() if place(self, name).endswith(end)), 0)
            if number:
                raise OSError(number, os.strerror(number))
            return real(self, name)

        return text

    monkeypatch.setattr(read_rdma_sysfs.Reader, "_text", refusing(read_rdma_sysfs.Reader._text, lambda _, path: path))
    monkeypatch.setattr(Attributes, "text", refusing(Attributes.text, lambda table, name: f"{table.path}/{name}"))


@pytest.mark.parametrize(
    ("faults", "gids"),
    [
        ({"gids/3": errno.EINVAL}, [0]),
        ({"gids/3": errno.ENOENT}, [0]),
        ({"gids/3": errno.EACCES}, "denied"),
        ({"gids/3": errno.EIO}, "error"),
        ({"gid_attrs/ndevs/3": errno.EINVAL}, [0, 3]),
    ],
)
def test_an_empty_slot_is_no_fault_and_every_other_errno_is_one(tree, monkeypatch, faults, gids):
    stub_verbs.install(tree, {"mlx5_0": 1})
    refuse(monkeypatch, faults)
    with running(tree) as worker:
        found = worker.ask("rdma", "port", "mlx5_0", "1")["gids"]
    assert ([one[0] for one in found] if isinstance(found, list) else found["unread"][0]) == gids
    if gids == [0, 3]:
        assert found[1][3] == ""


def test_an_errno_is_told_by_its_name(tree, monkeypatch):
    stub_verbs.install(tree, {"mlx5_0": 1})
    refuse(monkeypatch, {"/state": errno.EIO, "/rate": errno.EACCES})
    with running(tree) as worker:
        port = worker.ask("rdma", "port", "mlx5_0", "1")
    assert port["state"]["unread"] == ["error", "/sys/class/infiniband/mlx5_0/ports/1/state: input/output error"]
    assert port["rate"]["unread"][0] == "denied"
    assert port["lid"] == "0x0"


@pytest.mark.parametrize("what", ["device", "port"])
def test_what_goes_while_it_is_read_is_an_error_and_no_other_devices(tree, monkeypatch, what):
    stub_verbs.install(tree, {"mlx5_0": 1, "mlx5_1": 1})
    real = getattr(read_rdma_sysfs.Reader, what)

    def gone(self, name, *rest):
        if name == "mlx5_0":
            shutil.rmtree(tree / "sys/devices/pci0002:15/0002:1a:00.0")
        return real(self, name, *rest)

    monkeypatch.setattr(read_rdma_sysfs.Reader, what, gone)
    with running(tree) as worker:
        assert worker.ask("rdma", what, "mlx5_0", *(["1"] if what == "port" else [])).why == "error"
        assert worker.ask("rdma", "port", "mlx5_1", "1")["state"] == "4: ACTIVE"
        assert worker.ask("rdma", "verbs", "mlx5_1", "1") == ACTIVE


@pytest.mark.parametrize("place", [f"{PORT}/state", f"{PORT}/gids/0", f"{DEVICES}/mlx5_0/fw_ver"])
def test_a_fifo_or_a_device_in_place_of_a_file_is_an_error_and_waits_for_nobody(tree, place):
    stub_verbs.install(tree, {"mlx5_0": 1})
    for make in (os.mkfifo, lambda path: stub_nvml.node(path, 1, 5)):
        (tree / place).unlink()
        make(tree / place)
        with running(tree) as worker:
            answer, seconds = waited(worker, "port", "mlx5_0", "1")
            assert seconds < CALL_S
            told = {**worker.ask("rdma", "device", "mlx5_0"), **answer}[place.split("/")[-2 if "gids" in place else -1]]
            assert told["unread"][0] == "error"


def test_a_host_of_64_cards_with_256_gids_each_is_read_whole(tree):
    names = {f"mlx5_{number}": 1 for number in range(64)}
    stub_verbs.install(tree, names)
    for name in names:
        for index in range(256):
            stub_verbs.write(tree / DEVICES / name / f"ports/1/gids/{index}", f"fe80:0000:0000:0000:0000:0000:0000:{index + 1:04x}\n")
    with running(tree) as worker:
        assert {len(worker.ask("rdma", "port", name, "1")["gids"]) for name in names} == {256}
        assert [worker.ask("rdma", "verbs", name, "1") for name in names] == [ACTIVE] * 64


def test_odd_names_and_ports_without_files_cost_themselves(tree):
    stub_verbs.install(tree, {"mlx5_0": 1})
    odd = ["a b", "ü", "-rf", "x" * 200, "mlx5_0;reboot"]
    for name in odd:
        (tree / DEVICES / name / "ports/1").mkdir(parents=True)
        (tree / DEVICES / name / "ports/x").mkdir()
    os.mkdir(os.fsencode(tree / DEVICES) + b"/\xff")
    (tree / DEVICES / "file").write_text("")
    with running(tree) as worker:
        for name in odd:
            assert worker.ask("rdma", "device", name)["ports"] == ["1"]
            port = worker.ask("rdma", "port", name, "1")
            assert {one["unread"][0] for one in port.values()} == {"absent"}
        assert worker.ask("rdma", "device", "\ufffd").why == "error"
        assert worker.ask("rdma", "device", "file")["ports"] == []
        assert worker.ask("rdma", "port", "mlx5_0", "1")["state"] == "4: ACTIVE"


def test_without_devices_nothing_is_locked_loaded_or_started(tree, monkeypatch):
    stub_verbs.install(tree, {}, "list * crash")
    with running(tree) as worker:
        assert worker.ask("rdma", "devices") == []
        assert worker.ask("rdma", "library").why == "absent"
        assert worker.sandbox == {}
    backend = live_backend(str(tree), "host-root")
    assert backend.ask("rdma", "devices") == []
    assert backend.ask("rdma", "port", "mlx5_0", "1").why == "absent"
    started = []
    monkeypatch.setattr(worker_module.Worker, "start", lambda self: started.append(self.lane.name))
    with open_host(Evidence(), ["RdmaPort"]) as reading:
        reading.collect()
    assert started == ([] if not os.path.isdir("/sys/class/infiniband") else ["rdma"])


def test_a_list_that_is_denied_is_no_host_without_devices(tree, monkeypatch):
    stub_verbs.install(tree, {"mlx5_0": 1})
    denied = Unread("denied", "x")
    answers = RDMA.idle(type("Denied", (), {"list": lambda *_: denied})())
    assert answers == {("rdma", "devices"): denied, ("rdma", "library"): denied}


def test_an_image_has_no_devices_to_ask(tree):
    stub_verbs.install(tree, {"mlx5_0": 1})
    assert live_backend(str(tree), "image").ask("rdma", "devices").why == "not-running"


def test_nobody_else_reads_what_may_ask_a_card():
    """By its text: in the child that reads all else, it would cost all else."""
    source = Path(read_rdma_sysfs.__file__).parents[2]
    for path in sorted(source.rglob("*.py")):
        if path.name not in ("read_rdma_worker.py", "read_rdma_sysfs.py", "read_rdma_verbs.py", "read_rdma_library.py"):
            words = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
            assert not [one for one in words if isinstance(one, str) and one.startswith("/sys/class/infiniband")], path
