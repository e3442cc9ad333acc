"""Debian's own libibverbs and its providers, in the lane's cage: on a machine without RDMA devices it says so, and that is unknown.

As far as the kernel here goes, which has no RDMA: it finds a card in a made sysfs, loads its provider and opens its node. Which rights
the rest takes, the calls to a driver, is not measured.
"""

import contextlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.network import read_rdma_verbs
from hostagent.domains.network.read_rdma_library import LIBRARY, Loader
from hostagent.domains.network.read_rdma_worker import RDMA, RIGHTS
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.sandbox.worker import Worker
from tests.attack.spaces import NOBODY, become, mount, unshare
from tests.real.conftest import need_real

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="a cage takes root's rights: run the tests as root"),
    pytest.mark.skipif(os.path.isdir("/sys/class/infiniband_verbs"), reason="this machine may have RDMA devices"),
]
_HOW = "apt-get install libibverbs1 ibverbs-providers"
_DIRECTORY = f"/usr/lib/{os.uname().machine}-linux-gnu"


@pytest.fixture(autouse=True)
def installed():
    need_real(f"{_DIRECTORY}/{LIBRARY}", _HOW)
    need_real(f"{_DIRECTORY}/libibverbs", _HOW)


def only_verbs(ask, files, root):
    read_rdma_verbs.answer_all(ask, files, root, RIGHTS, [("mlx5_0", "1")])


#: What comes of opening its node, and then the name that udev gives it.
_NO_DRIVER = Unread("error", "ibv_open_device mlx5_0: no such file or directory")
#: As if sysfs had a card.
_VERBS_ALONE = RDMA._replace(idle=lambda _: None, ask_all=only_verbs)


@contextlib.contextmanager
def running(lane=_VERBS_ALONE):
    worker = Worker(lane)
    worker.start()
    try:
        yield worker
    finally:
        worker.close()


def kernel_log():
    """What the kernel has said of RDMA; nothing of this may be caused."""
    completed = subprocess.run(["dmesg"], capture_output=True, text=True, check=False)
    return [line for line in completed.stdout.splitlines() if "infiniband" in line or "uverbs" in line or "rdma" in line.lower()]


def seen():
    return sorted(os.listdir("/sys/module")), sorted(os.listdir("/dev")), kernel_log()


def test_it_loads_in_the_cage_and_without_devices_its_ports_are_unknown():
    before = seen()
    with running() as worker:
        assert worker.ask("rdma", "library") == {"path": f"{_DIRECTORY}/{LIBRARY}", "dmabuf": True}
        assert worker.ask("rdma", "verbs", "mlx5_0", "1") == Unread("error", "ibv_get_device_list: function not implemented")
        assert (worker.sandbox["capabilities"], worker.sandbox["user"], worker.sandbox["sockets"]) == ([], 65533, False)
    assert seen() == before


@pytest.fixture
def card():
    """What sysfs and /dev have of one ConnectX-7, in a mount namespace; no driver has the number of its node."""
    unshare("mount")
    for place in ("/sys/class", "/dev"):
        mount("none", place, "tmpfs", options="mode=755")
    files = {
        "infiniband_verbs/abi_version": "6",
        "infiniband_verbs/uverbs0/ibdev": "mlx5_0",
        "infiniband_verbs/uverbs0/dev": "231:192",
        "infiniband_verbs/uverbs0/abi_version": "1",
        "infiniband/mlx5_0/device/modalias": "pci:v000015B3d00001021sv000015B3sd00000023bc02sc07i00",
        "infiniband/mlx5_0/node_type": "1: CA",
        "infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
    }
    for name, text in files.items():
        path = Path("/sys/class") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    for name, number in (("null", (1, 3)), ("zero", (1, 5)), ("urandom", (1, 9)), ("infiniband/uverbs0", (231, 192))):
        Path("/dev", name).parent.mkdir(exist_ok=True)
        os.mknod(f"/dev/{name}", stat.S_IFCHR, os.makedev(*number))
        os.chmod(f"/dev/{name}", 0o666)


def test_in_the_cage_it_finds_a_card_loads_its_provider_and_opens_its_node_alone(card):
    with running(RDMA) as worker:
        assert worker.ask("rdma", "devices") == ["mlx5_0"]
        assert worker.ask("rdma", "device", "mlx5_0")["node"] == "uverbs0"
        assert worker.ask("rdma", "port", "mlx5_0", "1")["state"] == "4: ACTIVE"
        assert worker.ask("rdma", "verbs", "mlx5_0", "1") == _NO_DRIVER
        assert (worker.sandbox["capabilities"], worker.sandbox["user"]) == ([], 65533)


def test_a_node_that_is_roots_alone_takes_one_right_more(card):
    os.chmod("/dev/infiniband/uverbs0", 0o600)
    with running(RDMA) as worker:
        assert worker.ask("rdma", "verbs", "mlx5_0", "1") == _NO_DRIVER
        assert worker.sandbox["capabilities"] == ["dac_override"]


def test_an_ordinary_user_asks_as_well(card):
    """Who may open the node; the worker of an ordinary user has no rights to give up."""
    become()
    with running(RDMA) as worker:
        assert worker.ask("rdma", "port", "mlx5_0", "1")["state"] == "4: ACTIVE"
        assert worker.ask("rdma", "verbs", "mlx5_0", "1") == _NO_DRIVER
        assert (worker.sandbox["capabilities"], worker.sandbox["user"], worker.sandbox["system_calls"]) == ([], NOBODY, True)


def test_without_its_node_a_card_is_not_asked(card):
    os.unlink("/dev/infiniband/uverbs0")
    with running(RDMA) as worker:
        assert worker.ask("rdma", "verbs", "mlx5_0", "1").why == "absent"


@pytest.mark.parametrize("keeps", [True, False])
def test_what_the_environment_names_is_loaded_by_who_keeps_it_and_never_here(card, tmp_path, monkeypatch, keeps):
    need_real("gcc", "apt-get install gcc libc6-dev")
    source = tmp_path / "evil.c"
    source.write_text(f'#include <fcntl.h>\n__attribute__((constructor)) static void run(void) {{ creat("{tmp_path}/loaded", 0600); }}\n')
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "evil.so", source], check=True)
    for version in range(20, 80):  # the interface of providers, which releases count up
        os.link(tmp_path / "evil.so", tmp_path / f"evil-rdmav{version}.so")
    monkeypatch.setenv("IBV_DRIVERS", f"{tmp_path}/evil")
    if keeps:
        asked = "import ctypes as c; c.CDLL('libibverbs.so.1').ibv_get_device_list(c.byref(c.c_int()))"
        Path("/sys/class/infiniband/mlx5_0/device/modalias").write_text("pci:v0000FFFFd0000FFFFsv0sd0bc02sc07i00\n")
        subprocess.run([sys.executable, "-c", asked], check=True)
    else:
        with running(RDMA) as worker:
            assert worker.ask("rdma", "verbs", "mlx5_0", "1").why == "error"
    assert (tmp_path / "loaded").exists() is keeps


def test_its_providers_are_looked_at_before_it_is_loaded():
    found = Loader(Files(Root()), Root(), RIGHTS)._providers([f"{_DIRECTORY}/{LIBRARY}"])
    assert {path for path in found if path.startswith("/etc/")} == {f"/etc/libibverbs.d/{name}" for name in os.listdir("/etc/libibverbs.d")}
    assert any(path.startswith(f"{_DIRECTORY}/libibverbs/libmlx5-rdmav") for path in found)
