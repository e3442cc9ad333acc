"""podresources: a real gRPC server on a unix socket answers, hangs, talks nonsense, or is anybody's; it costs a second at most.

The kubelet itself is asked in tests/real/test_placement.py.
"""

import contextlib
import glob
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.protobuf import parse_fields
from hostagent.domains.kubelet.read_allocations import devices_of
from hostagent.domains.kubelet.read_podresources import PATIENCE_S, parse_allocatable, parse_list
from hostagent.engine.questions import live_backend
from tests.real.conftest import need_module
from tests.trees import system
from tests.trees.system import Daemon
from tests.trees.tree import Tree

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="sockets have to be root's: run the tests as root")]
_HOW = "pip install -e '.[dev]'"
_FOLDER = "/var/lib/kubelet/pod-resources"
_SERVER = Path(__file__).parents[2] / "real" / "podresources_server.py"
#: Listens, and never answers; the kernel accepts for it.
_SILENT = "import os,socket,time,sys; os.chdir(sys.argv[1]); s=socket.socket(socket.AF_UNIX); s.bind('kubelet.sock'); s.listen(8); print(os.getpid(),flush=True); time.sleep(60)"
#: Says something to whoever comes: hexadecimal, or some of it repeated.
_SAYS = """
import os,socket,sys
os.chdir(sys.argv[1]); s=socket.socket(socket.AF_UNIX); s.bind('kubelet.sock'); s.listen(8); print(os.getpid(),flush=True)
text,_,times=sys.argv[2].partition('*')
while True:
    c,_=s.accept()
    c.recv(1)
    try: c.sendall(bytes.fromhex(text)*int(times or 1)); c.shutdown(1); c.recv(1<<20); c.recv(1<<20)
    except OSError: pass
    c.close()
"""


@pytest.fixture
def tree(tmp_path):
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


def asked(tree):
    return live_backend(str(tree.root), "host-root").ask("podresources", "list")


def test_a_real_server_tells_devices_and_their_nodes(tree):
    need_module("grpc_tools", _HOW)
    with listening(tree, str(_SERVER), proto(), str(tree.at(_FOLDER))):
        answer = asked(tree)
    assert "secret" not in repr(answer)
    found = {one.id: (one.resource, one.nodes, one.healthy, one.allocated) for one in devices_of(answer)}
    assert found == {
        "GPU-a": ("nvidia.com/gpu", (0,), True, False),
        "GPU-b": ("nvidia.com/gpu", (1, 2), True, True),
        "mlx5_0": ("rdma/hca", (), True, False),
        "GPU-sick": ("nvidia.com/gpu", (1,), False, True),
    }


def test_an_answer_that_is_longer_than_a_window_of_http_2_comes_whole(tree):
    need_module("grpc_tools", _HOW)
    with listening(tree, str(_SERVER), proto(), str(tree.at(_FOLDER)), "20000"):
        answer = asked(tree)
    assert len(answer["devices"]) == 3 + 20_000, answer


def test_a_socket_that_hangs_costs_its_second(tree):
    with listening(tree, "-c", _SILENT, str(tree.at(_FOLDER))):
        started = time.monotonic()
        answer = asked(tree)
        took_s = time.monotonic() - started
    assert answer.why == "timeout"
    assert PATIENCE_S < took_s < PATIENCE_S + 3  # a busy machine is slow


def test_a_queue_that_is_full_is_nobody_who_answers(tree):
    with listening(tree, "-c", _SILENT.replace("listen(8)", "listen(0)"), str(tree.at(_FOLDER))), socket.socket(socket.AF_UNIX) as first:
        place = os.open(tree.at(_FOLDER), os.O_PATH)
        first.connect(f"/proc/self/fd/{place}/kubelet.sock")
        os.close(place)
        assert asked(tree).why == "timeout"


@pytest.mark.parametrize(
    "said",
    {
        "nothing": b"",
        "HTTP/1.1": b"HTTP/1.1 400 Bad Request\r\n\r\n",
        "no end": b"\0" * 6_000_000,
        "settings without end": b"\0\0\0\x04\0\0\0\0\0" * 600_000,
        "go away": b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b",
        "headers that are no HPACK": b"\0\0\0\x04\0\0\0\0\0\0\0\x02\x01\x05\0\0\0\x01\xff\xff",
        "the stream is reset": b"\0\0\0\x04\0\0\0\0\0\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08",
        "status 404": b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x05\0\0\0\x01\x8d",
        "status 200 without one of gRPC": b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x05\0\0\0\x01\x88",
    }.items(),
    ids=lambda one: one[0],
)
def test_what_is_no_grpc_is_an_error_and_ends(tree, said):
    with listening(tree, "-c", _SAYS, str(tree.at(_FOLDER)), said[1].hex() if len(said[1]) < 1000 else f"{said[1][:9].hex()}*600000"):
        answer = asked(tree)
    assert answer.why in ("error", "timeout"), answer
    assert answer.why == "error" or said[0] in ("no end", "settings without end"), answer


def test_a_process_that_is_no_kubelet_is_not_believed(tree):
    with listening(tree, "-c", _SILENT, str(tree.at(_FOLDER)), name="sleep"):
        answer = asked(tree)
    assert answer.why == "denied"


def test_without_a_socket_nobody_is_asked(tree):
    assert asked(tree).why == "absent"
    tree.socket(f"{_FOLDER}/kubelet.sock")
    assert asked(tree).why == "absent"  # nobody listens any more


def test_a_socket_in_a_directory_of_others_is_not_asked(tree):
    tree.socket(f"{_FOLDER}/kubelet.sock")
    tree.at(_FOLDER).chmod(0o777)
    assert asked(tree).why == "denied"
    tree.at(_FOLDER).chmod(0o755)
    tree.remove(f"{_FOLDER}/kubelet.sock")
    tree.write(f"{_FOLDER}/kubelet.sock", "")
    assert asked(tree).why == "error"


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
