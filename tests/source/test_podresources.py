"""podresources: a real gRPC server on a unix socket answers, hangs, or is anybody's; its lane costs a second, and nobody else's answers."""

import contextlib
import glob
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostagent.collect.kubelet.given import devices_of
from hostagent.facts.unread import Unread
from hostagent.source.lane import CALL_S
from hostagent.source.lanes.nvidia import NVIDIA
from hostagent.source.lanes.podresources import PODRESOURCES
from hostagent.source.lanes.podresourcescall import parse_allocatable, parse_list
from hostagent.source.protowire import parse_fields
from hostagent.source.worker import Worker
from tests.real.conftest import need_module
from tests.trees import system
from tests.trees.system import Daemon
from tests.trees.tree import Tree

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="sockets have to be root's: run the tests as root")]
_HOW = "pip install -e '.[dev]'"
_FOLDER = "/var/lib/kubelet/pod-resources"
_SERVER = Path(__file__).parent.parent / "real" / "podresources_server.py"
#: Listens, and never answers; the kernel accepts for it.
_SILENT = "import os,socket,time,sys; os.chdir(sys.argv[1]); s=socket.socket(socket.AF_UNIX); s.bind('kubelet.sock'); s.listen(8); print(os.getpid(),flush=True); time.sleep(60)"


@pytest.fixture
def tree(tmp_path):
    need_module("grpc", _HOW)
    made = Tree(tmp_path / "host", kernel="6.8.0", driver="")
    system.install_os(made, "ubuntu2404", "node")
    system.boot(made, "node")
    made.directory(_FOLDER)
    return made


def proto():
    found = glob.glob(os.path.expanduser("~/go/pkg/mod/k8s.io/kubelet@v0.35.*/pkg/apis/podresources/v1/api.proto"))
    if not found:
        pytest.skip("found no api.proto of k8s.io/kubelet 0.35 in the module cache; to enable this test run: bash tests/real/install.sh")
    return found[0]


@contextlib.contextmanager
def listening(tree, *argv, name="kubelet"):
    """A server in a process of its own, which the tree shows as the kubelet of its unit."""
    with subprocess.Popen([sys.executable, *argv], stdout=subprocess.PIPE, text=True) as server:
        try:
            pid = int(server.stdout.readline())
            tree.program("/usr/bin/kubelet")
            system.run(tree, Daemon(pid, (f"/usr/bin/{name}",), f"{name}.service"))
            yield
        finally:
            server.kill()


def asked(tree, lane=PODRESOURCES, question=("podresources", "list")):
    worker = Worker(lane, str(tree.root))
    worker.start()
    started = time.monotonic()
    try:
        return worker.ask(*question), time.monotonic() - started
    finally:
        worker.close()


def test_a_real_server_tells_devices_and_their_nodes(tree):
    need_module("grpc_tools", _HOW)
    with listening(tree, str(_SERVER), proto(), str(tree.at(_FOLDER))):
        answer, _ = asked(tree)
    assert "secret" not in repr(answer)
    found = {one.id: (one.resource, one.nodes, one.healthy, one.allocated) for one in devices_of(answer)}
    assert found == {
        "GPU-a": ("nvidia.com/gpu", (0,), True, False),
        "GPU-b": ("nvidia.com/gpu", (1, 2), True, True),
        "mlx5_0": ("rdma/hca", (), True, False),
        "GPU-sick": ("nvidia.com/gpu", (1,), False, True),
    }


def test_a_socket_that_hangs_costs_its_second_and_no_other_lane(tree):
    with listening(tree, "-c", _SILENT, str(tree.at(_FOLDER))):
        answer, took_s = asked(tree)
        other, other_s = asked(tree, NVIDIA, ("list", "/proc/driver/nvidia"))
    assert answer.why == "timeout"
    assert took_s < CALL_S + 4  # the import is no part of the second, and a busy machine is slow
    assert other.why == "absent"
    assert other_s < CALL_S


def test_a_process_that_is_no_kubelet_is_not_believed(tree):
    with listening(tree, "-c", _SILENT, str(tree.at(_FOLDER)), name="sleep"):
        answer, _ = asked(tree)
    assert answer.why == "denied"


def test_without_a_socket_nothing_is_imported(tree):
    answer, _ = asked(tree)
    assert answer.why == "absent"
    tree.socket(f"{_FOLDER}/kubelet.sock")
    assert asked(tree)[0].why == "absent"  # nobody listens any more


def test_a_socket_in_a_directory_of_others_is_not_asked(tree):
    tree.socket(f"{_FOLDER}/kubelet.sock")
    tree.at(_FOLDER).chmod(0o777)
    assert asked(tree)[0].why == "denied"
    tree.at(_FOLDER).chmod(0o755)
    tree.remove(f"{_FOLDER}/kubelet.sock")
    tree.write(f"{_FOLDER}/kubelet.sock", "")
    assert asked(tree)[0].why == "error"


@pytest.mark.parametrize("data", [b"\x0a", b"\x0a\xff\x01a", b"\xff" * 11, b"\x0b", b"\x0a\x02\x0a\x05"])
def test_messages_that_end_too_early_are_refused(data):
    with pytest.raises(ValueError, match=r"a (field|number)"):
        parse_allocatable(data)


def test_no_message_makes_a_parser_crash():
    assert parse_allocatable(b"") == parse_list(b"") == []
    assert parse_fields(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") == [(1, 2**64 - 1)]
    assert parse_allocatable(b"\x08\x01\x0a\x00") == [["", [], []]]


@pytest.mark.parametrize(
    "answer", [{}, {"devices": 3, "allocated": []}, {"devices": [["a", ["b"], ["x"]]], "allocated": []}, {"devices": [[]], "allocated": []}]
)
def test_an_answer_of_another_shape_is_an_error(answer):
    found = devices_of(answer)
    assert isinstance(found, Unread)
    assert found.why == "error"
