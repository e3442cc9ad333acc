"""The worker: what hangs costs its own deadline and no more, and leaves nothing behind.

The hangs are a library that never returns (see tests/stub_nvml). What is not simulated: a process that SIGKILL cannot
end because it waits inside the kernel driver; that needs a broken GPU.
"""

import contextlib
import faulthandler
import itertools
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from hostagent.core.unread import Unread
from hostagent.domains.gpu import read_nvml as nvml_module
from hostagent.domains.gpu import read_nvml_gate as nvmlgate_module
from hostagent.domains.gpu.read_nvidia_worker import NVIDIA
from hostagent.host import worker_reading as lane_module
from hostagent.host.policy import Policy
from hostagent.host.source import Source
from hostagent.sandbox import child as child_module
from hostagent.sandbox.worker import Worker
from hostagent.sandbox.worker_spec import CALL_S, LOCKING
from tests import stub_nvml
from tests.children import children, until
from tests.real.conftest import need_real

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="device nodes and chroot need root: run the tests as root"),
]

NAME = ("nvml", "device", "0", "name")


@pytest.fixture
def tree(tmp_path):
    need_real("gcc", "apt-get install gcc libc6-dev")
    root = tmp_path / "host"
    root.mkdir()
    return root


@contextlib.contextmanager
def running(root, lane=NVIDIA, **options):
    worker = Worker(lane, str(root), **options)
    worker.start()
    try:
        yield worker
    finally:
        worker.close()


def persistence_daemon(tree):
    """With its socket there, NVML answers at once on a healthy host, so the short deadline holds."""
    directory = tree / "run/nvidia-persistenced"
    directory.mkdir(parents=True)
    listening = socket.socket(socket.AF_UNIX)
    here = os.open(directory, os.O_RDONLY)
    listening.bind(f"/proc/self/fd/{here}/socket")  # a path longer than 107 bytes cannot be bound
    os.close(here)
    listening.close()


def waited(question, worker):
    started = time.monotonic()
    return worker.ask(*question), time.monotonic() - started


def test_files_and_nvml_are_answered_below_another_root(tree):
    (address,) = stub_nvml.install(tree, 1)
    with running(tree) as worker:
        assert worker.ask("list", "/proc/driver/nvidia/gpus") == [address]
        assert b"H100" in worker.ask("read", f"/proc/driver/nvidia/gpus/{address}/information")
        assert worker.ask(*NAME) == "NVIDIA H100 80GB HBM3"
        assert worker.ask("read", "/proc/driver/nvidia/params", "4").why == "error", "larger than asked is never a cut"
        assert worker.ask("read", "/proc/driver/nvidia/warnings/none").why == "absent"
        assert worker.ask("list", "/proc/driver/nvidia-nvswitch/devices").why == "absent"
        assert worker.ask("nvml", "device", "1", "name").why == "absent"


def test_a_call_that_hangs_costs_its_deadline_once_and_is_named(tree):
    persistence_daemon(tree)
    stub_nvml.install(tree, 8, {"DeviceGetRemappedRows 2": "hang"})
    before = children()
    with running(tree) as worker:
        hung, first_s = waited(("nvml", "device", "2", "row_remap"), worker)
        assert hung == Unread("timeout", "nvmlDeviceGetRemappedRows 2: no answer in 1 s")
        assert first_s < CALL_S + 0.9
        assert worker.ask("nvml", "device", "1", "row_remap") == [0, 0, 0, 0], "what came before is kept"
        later, later_s = waited(("nvml", "device", "0", "temperature"), worker)
        assert later == Unread("timeout", "not asked: nvmlDeviceGetRemappedRows 2 hangs")
        assert later_s < 0.05
        started = time.monotonic()
    assert time.monotonic() - started < 0.5
    assert children() == before


def test_a_deadline_that_passed_while_the_parent_was_busy_costs_no_second_one(tree):
    persistence_daemon(tree)
    stub_nvml.install(tree, 1, {"DeviceGetTemperature 0": "hang"})
    with running(tree) as worker:
        time.sleep(1.3)
        answer, seconds = waited(("nvml", "device", "0", "temperature"), worker)
        assert answer.why == "timeout"
        assert seconds < 0.3


@pytest.mark.parametrize("function", ["gate", "_binding"])
def test_a_stall_between_two_questions_costs_no_answer_and_names_what_stalls(tree, monkeypatch, function):
    """Opening the control device may hang as well, and nobody asks for its answer."""
    stub_nvml.install(tree, 1)
    monkeypatch.setattr(nvmlgate_module if function == "gate" else nvml_module, function, lambda *_: time.sleep(60))
    if function == "_binding":
        monkeypatch.setattr(nvml_module, "LOAD_S", CALL_S)
    label = {"gate": "opening /dev/nvidiactl", "_binding": "loading the NVML binding"}[function]
    with running(tree) as worker:
        listed = worker.ask("list", "/proc/driver/nvidia/gpus")
        assert worker.ask("nvml", "init") == Unread("timeout", f"not asked: {label} hangs")
        assert worker.ask("list", "/proc/driver/nvidia/gpus") == listed == list(stub_nvml.addresses(1))
        assert worker.ask("list", "/proc/driver/nvidia-nvswitch").why == "absent"


def test_where_a_driver_container_has_the_device_nodes_nvml_is_asked_inside_it(tree):
    """The usual host of the GPU Operator: library and nodes below /run/nvidia/driver, none in the host's own /dev."""
    stub_nvml.install(tree, 2)
    inside = tree / "run/nvidia/driver"
    inside.mkdir(parents=True)
    for place in ("dev", "usr"):
        (tree / place).rename(inside / place)
    (tree / "dev").mkdir()
    with running(tree) as worker:
        assert worker.ask("nvml", "init") is True
        assert worker.ask("nvml", "device_count") == 2


def test_a_stat_that_hangs_is_announced_too(tree, monkeypatch):
    stub_nvml.install(tree, 1)
    monkeypatch.setattr(lane_module, "_directories", lambda *_: time.sleep(60))
    with running(tree) as worker:
        assert worker.ask("read", "/proc/driver/nvidia/version") == Unread("timeout", "not asked: stat /proc/driver/nvidia/* hangs")
        assert "version" in worker.ask("list", "/proc/driver/nvidia"), "what came before is kept"


def test_a_stall_that_nothing_announced_costs_no_answer_either(tree, monkeypatch):
    stub_nvml.install(tree, 1)
    stalling = NVIDIA._replace(is_wanted=lambda _: time.sleep(60))
    with running(tree, stalling) as worker:
        assert worker.ask("read", "/proc/driver/nvidia/version").detail == "not asked: the step after stat /proc/driver/nvidia/* hangs"
        assert "version" in worker.ask("list", "/proc/driver/nvidia")


def test_each_answer_starts_the_clock_anew(tree):
    persistence_daemon(tree)
    stub_nvml.install(tree, 4, {"DeviceGetTemperature *": "sleep 0.6"})
    with running(tree) as worker:
        assert worker.ask("nvml", "device", "3", "temperature") == 35, "four slow calls take longer than one deadline"


@pytest.mark.parametrize("call", ["Init -1", "DeviceGetHandleByIndex 0"])
def test_waking_a_gpu_may_take_seconds_only_where_no_persistence_daemon_runs(tree, call):
    stub_nvml.install(tree, 1, {call: "sleep 1.5"})
    with running(tree) as worker:
        assert worker.ask(*NAME) == "NVIDIA H100 80GB HBM3"
    persistence_daemon(tree)
    with running(tree) as worker:
        assert worker.ask(*NAME).why == "timeout"


def test_only_one_worker_at_a_time_hangs_on_a_machine(tree):
    persistence_daemon(tree)
    stub_nvml.install(tree, 1, {"DeviceGetName 0": "hang"})
    with running(tree) as first:
        assert first.ask(*NAME).why == "timeout"
        started = time.monotonic()
        with running(tree, ends=started + 1.5) as second:
            answer = second.ask("read", "/proc/driver/nvidia/version")
            assert answer == Unread("timeout", f"another hostagent's worker (pid {first.pid}) is still reading from the nvidia driver")
            assert second.ask(*NAME) == answer
        assert 1 < time.monotonic() - started < 1.5, "until shortly before the run has to end"
    with running(tree) as third:
        assert isinstance(third.ask("read", "/proc/driver/nvidia/version"), bytes), "the lock ends with its worker"


def test_two_healthy_runs_at_once_both_get_their_answers(tree):
    stub_nvml.install(tree, 8)
    with running(tree) as first, running(tree) as second:
        assert second.ask(*NAME) == first.ask(*NAME) == "NVIDIA H100 80GB HBM3"


def test_a_library_that_crashes_is_an_error_that_names_the_call(tree):
    stub_nvml.install(tree, 1, {"DeviceGetName 0": "crash"})
    with running(tree) as worker:
        assert worker.ask(*NAME) == Unread("error", "the reading process ended in nvmlDeviceGetName 0")
        assert worker.ask("nvml", "device", "0", "uuid").why == "error"
        assert isinstance(worker.ask("nvml", "device", "0", "pci"), dict), "what came before is kept"


def test_a_killed_child_that_takes_its_time_to_die_is_reaped(monkeypatch):
    """Looking less and less often, the last look would come long before the time is up."""
    began, waitpid = time.monotonic(), os.waitpid
    monkeypatch.setattr(child_module, "CLOSE_S", 1.0)
    monkeypatch.setattr(os, "waitpid", lambda *one: (0, 0) if time.monotonic() < began + 0.6 else waitpid(*one))
    one, before = child_module.Child(), children()
    one.start(lambda _: time.sleep(60))
    began = time.monotonic()
    one.close()
    assert children() == before


def test_a_hung_worker_dies_with_its_parent(tree):
    stub_nvml.install(tree, 1, {"Init *": "hang"})
    script = f"import time; from hostagent.sandbox.worker import Worker as W; from hostagent.engine.questions import DOMAINS; w = W(DOMAINS.lanes['nvidia'], {str(tree)!r}); w.start(); print(w.pid, flush=True); time.sleep(60)"
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    while os.readlink(f"/proc/{pid}/root") == "/":  # it settles, then it changes root, then it hangs
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    ends = time.monotonic() + 5
    while _alive(pid) and time.monotonic() < ends:
        time.sleep(0.01)
    assert not _alive(pid)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_worker_holds_no_file_of_the_parent(tree, tmp_path):
    stub_nvml.install(tree, 1, {"DeviceGetName 0": "hang"})
    with open(tmp_path / "held", "w") as held, running(tree) as worker:
        os.set_inheritable(held.fileno(), True)
        assert worker.ask("nvml", "device", "0", "pci")
        open_files = [os.readlink(f"/proc/{worker.pid}/fd/{name}") for name in os.listdir(f"/proc/{worker.pid}/fd")]
        assert open_files.count("/dev/null") == 3
        assert not [path for path in open_files if path.endswith("/held")]


def test_the_parents_faulthandler_does_not_live_on_in_the_worker(tree):
    """It would write to a file that the worker has closed, or to what was opened in its place."""
    stub_nvml.install(tree, 1, {"DeviceGetName 0": "hang"})
    faulthandler.enable()
    with running(tree) as worker:
        assert worker.ask("nvml", "device", "0", "pci")
        with open(f"/proc/{worker.pid}/status") as status:
            caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt"))
    faults = (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT, signal.SIGBUS, signal.SIGILL)
    assert [one for one in faults if caught >> (one - 1) & 1] == []


def test_closing_what_was_inherited_takes_no_longer_with_a_high_limit():
    """Where Python cannot use close_range(2), closing up to the limit takes minutes: it is not asked to."""
    script = (
        "import os, resource, time; from hostagent.sandbox.child import close_all_but\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (limit := resource.getrlimit(resource.RLIMIT_NOFILE)[1], limit))\n"
        "os.closerange = None; high = os.dup2(1, limit - 1); began = time.monotonic(); close_all_but((0, 1, 2))\n"
        "print(time.monotonic() - began < 0.05, [name for name in os.listdir('/proc/self/fd') if int(name) > 3])"
    )
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert completed.stdout == "True []\n", completed.stderr


#: Every way in which the caller would notice that its code runs twice.
_FORKED_TWICE = """
import atexit, os, sys
from hostagent.sandbox import worker
from hostagent.engine.questions import DOMAINS
atexit.register(print, "the end of", "the caller")
sys.modules["hostagent.sandbox.privileges"] = None
lane = worker.Worker(DOMAINS.lanes["nvidia"])
try:
    lane.start()
    print(repr(lane.ask("nvml", "init")))
except BaseException as error:
    print("caught", type(error).__name__)
finally:
    lane.close()
"""


def test_a_child_that_cannot_import_its_code_never_runs_the_callers():
    completed = subprocess.run([sys.executable, "-c", _FORKED_TWICE], capture_output=True, text=True, check=False)
    assert completed.stdout == "Unread('error', 'the reading process ended in the start of the worker')\nthe end of the caller\n"


def test_a_signal_at_the_fork_runs_no_handler_in_the_child(tree, monkeypatch):
    stub_nvml.install(tree, 1)
    ran, fork = [], os.fork

    def fork_and_signal():
        pid = fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGUSR1)
            os.kill(os.getpid(), signal.SIGINT)
        return pid

    monkeypatch.setattr(child_module.os, "fork", fork_and_signal)
    usual = signal.signal(signal.SIGUSR1, lambda *_: (ran.append(os.getpid()), os.write(told, b"x")))
    seen, told = os.pipe()
    try:
        with running(tree) as worker:
            worker.ask("nvml", "init")
    finally:
        signal.signal(signal.SIGUSR1, usual)
        os.close(told)
    assert os.read(seen, 1) == b""
    os.close(seen)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set(), "the caller's signals are as they were"


def test_a_host_without_a_free_process_has_no_worker_and_every_other_answer(tree, monkeypatch):
    def refuse():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(child_module.os, "fork", refuse)
    before = os.listdir("/proc/self/fd")
    with running(tree) as worker:
        answer = worker.ask(*NAME)
    assert answer == Unread("error", "the worker cannot start: [Errno 11] Resource temporarily unavailable")
    assert os.listdir("/proc/self/fd") == before


def betray(tree):
    """A library that shows that it was called: its first call ends the worker."""
    stub_nvml.install(tree, 1, {"Init *": "crash"})


def test_without_the_module_nvml_is_not_called(tree):
    for path, text, reason in (
        ("sys/module/nvidia/initstate", "coming\n", "the nvidia module is not live: coming"),
        ("dev/nvidiactl", None, "no /dev/nvidiactl"),
        ("sys/module/nvidia/initstate", None, "the nvidia module is not loaded"),
    ):
        betray(tree)
        (tree / path).unlink()
        if text:
            (tree / path).write_text(text)
        with running(tree) as worker:
            assert worker.ask("nvml", "init") == Unread("absent", reason)
            optional = Source(Asking(worker), policy=lambda: Policy(nvml_optional=True))
            assert optional.nvml(*NAME[1:]) == Unread("not-supported", f"NVML is optional in this profile: {reason}")
    betray(tree)
    with running(tree) as worker:
        assert worker.ask("nvml", "init").detail == "the reading process ended in nvmlInit", "so this test can fail"


def changes(tree):
    """What NVIDIA's library changes when root initialises it: the link beside the node is remade, the mode set."""
    control, beside = tree / "dev/nvidiactl", tree / "dev/char/195:255"
    return beside.lstat().st_ino, beside.lstat().st_mtime_ns, control.stat().st_mode, control.stat().st_uid


def test_nvml_cannot_remake_links_or_set_modes(tree):
    stub_nvml.install(tree, 1)
    (tree / "dev/nvidiactl").chmod(0o667)
    before = changes(tree)
    with running(tree) as worker:
        assert worker.ask(*NAME) == "NVIDIA H100 80GB HBM3"
    assert changes(tree) == before


def test_nodes_of_root_alone_are_opened_and_keep_their_mode(tree):
    stub_nvml.install(tree, 1)
    (tree / "dev/nvidiactl").chmod(0o600)
    with running(tree) as worker:
        assert worker.ask(*NAME) == "NVIDIA H100 80GB HBM3"
    assert (tree / "dev/nvidiactl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("call", ["Init -1", "DeviceGetHandleByIndex 0", "Shutdown -1"])
def test_nvml_cannot_make_device_nodes(tree, call):
    stub_nvml.install(tree, 1, {call: "node /dev/nvidia9"})
    with running(tree) as worker:
        assert worker.ask(*NAME) == "NVIDIA H100 80GB HBM3"
    assert not (tree / "dev/nvidia9").exists()


def test_the_deadline_of_the_run_ends_a_long_wait(tree):
    stub_nvml.install(tree, 1, {"Init *": "hang"})
    with running(tree, ends=time.monotonic() + 1) as worker:
        answer, seconds = waited(("nvml", "init"), worker)
    assert answer.why == "timeout"
    assert re.fullmatch(r"nvmlInit: no answer in (0\.[1-9]|1) s", answer.detail), "what was left of the run"
    assert seconds < 1.2


def test_a_control_node_that_is_a_file_is_not_one(tree):
    stub_nvml.install(tree, 1)
    (tree / "dev/nvidiactl").unlink()
    (tree / "dev/nvidiactl").touch()
    with running(tree) as worker:
        assert worker.ask("nvml", "init") == Unread("absent", "/dev/nvidiactl is no character device")


class Asking:
    """A backend that is nothing but a worker."""

    kind = "live"

    def __init__(self, worker):
        self.ask = worker.ask


def test_the_profile_is_asked_whether_nvml_is_optional_only_where_it_is_unavailable(tree):
    stub_nvml.install(tree, 1)
    asked = []
    with running(tree) as worker:
        source = Source(Asking(worker), policy=lambda: Policy(nvml_optional=not asked.append(1)))
        assert source.nvml("init") is True
        assert source.nvml("device", "7", "name").why == "absent", "one device that is missing is a fault"
        assert asked == []
    (tree / "dev/nvidiactl").unlink()
    with running(tree) as worker:
        source = Source(Asking(worker), policy=lambda: Policy(nvml_optional=not asked.append(1)))
        assert source.nvml("init") == Unread("not-supported", "NVML is optional in this profile: no /dev/nvidiactl")
        assert asked == [1]


def test_an_optional_nvml_that_hangs_is_still_a_fault(tree):
    persistence_daemon(tree)
    stub_nvml.install(tree, 1, {"Init *": "hang"})
    with running(tree) as worker:
        assert Source(Asking(worker), policy=lambda: Policy(nvml_optional=True)).nvml("init").why == "timeout"


#: Answers EPERM to one system call from now on (seccomp(2)): its number, then the BPF program that compares it.
_REFUSING = """
import ctypes, os, platform, struct
number = {{"x86_64": {x86_64}, "aarch64": {aarch64}}}[platform.machine()]
rows = ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
ctypes.CDLL(None).prctl(22, 2, ctypes.c_char_p(struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code))), 0, 0)
"""


@pytest.mark.parametrize(("x86_64", "aarch64", "right"), [(126, 91, "capset"), (122, 151, "setfsuid"), (125, 90, "capset")])
def test_a_right_that_cannot_be_given_up_keeps_nvml_unloaded(tree, x86_64, aarch64, right):
    betray(tree)
    script = _REFUSING.format(x86_64=x86_64, aarch64=aarch64) + _ASK_NAME
    completed = subprocess.run([sys.executable, "-c", script, str(tree)], capture_output=True, text=True, check=False)
    assert completed.stdout.startswith("Unread('denied', 'NVML is not loaded: "), completed.stderr
    assert completed.stdout.endswith(f" cannot be given up ({right})')\n")


#: With /dev of the tree and without the right to change root, as in a container that has neither.
_WITHOUT_CHROOT = 'mount --bind "$1/dev" /dev && exec setpriv --bounding-set -sys_chroot "$2" -c "$3" "$1"'
_ASK_NAME = f"import sys; from hostagent.sandbox.worker import Worker as W; from hostagent.engine.questions import DOMAINS; w = W(DOMAINS.lanes['nvidia'], sys.argv[1]); w.start(); print(repr(w.ask(*{NAME!r}))); w.close()"


def test_without_the_right_to_change_root_the_library_alone_is_taken_from_below_it(tree):
    need_real("setpriv", "apt-get install util-linux")
    stub_nvml.install(tree, 1, {"DeviceGetName 0": "value ignored: the table is not in this root"})
    (tree / stub_nvml.TABLE).rename(tree / stub_nvml.LIBRARY_DIRECTORY / "stub-nvml.table")
    stub_nvml.node(tree / "dev/null", 1, 3)
    argv = ["unshare", "--mount", "sh", "-c", _WITHOUT_CHROOT, "sh", str(tree), sys.executable, _ASK_NAME]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert completed.stdout == "'ignored: the table is not in this root'\n", completed.stderr


def test_without_the_right_to_change_root_this_machines_own_device_node_is_needed_too(tree):
    need_real("setpriv", "apt-get install util-linux")
    stub_nvml.install(tree, 1)
    argv = ["setpriv", "--bounding-set", "-sys_chroot", sys.executable, "-c", _ASK_NAME, str(tree)]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False)
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("this machine has an NVIDIA driver")
    assert completed.stdout == "Unread('absent', 'no /dev/nvidiactl')\n", completed.stderr


def said(*messages):
    """NVIDIA's lane with a library that writes these messages, and then nothing more, once it is loaded."""

    def ask_all(ask, *_):
        for message in messages:
            ask.__self__._send(message if isinstance(message, bytes) else json.dumps(message).encode())
        time.sleep(60)

    return NVIDIA._replace(ask_all=ask_all)


BEGIN = ["begin", ["nvml", "init"], "nvmlInit", 0, 1]
DONE = ["done", ["nvml"], {"value": None}]
FORGED = ["answer", ["nvml", "init"], {"value": True}, 0]


@pytest.mark.parametrize(
    "messages",
    [
        [b"x"],
        [b"[" * 100_000],
        [b"[" + b"1," * 200_000 + b"1]"],
        [b'["answer", ["nvml", "init"], {"value": ' + b"1" * 100_000 + b"}, 0]"],
        [b'["answer", ["nvml", "init"], {"value": NaN}, 0]'],
        [b"x" * (9 << 20)],
        [{}],
        [["begin"]],
        [["shout", [], "", 0, 1]],
        [["begin", "nvml", "nvmlInit", 0, 1]],
        [["begin", [["nvml"]], "nvmlInit", 0, 1]],
        [["begin", ["nvml"] * 9, "nvmlInit", 0, 1]],
        [["begin", ["nvml", "init"], "x" * 10_000, 0, 1]],
        [["begin", ["nvml", "init"], "nvmlInit", "now", 1]],
        [FORGED],
        [BEGIN, BEGIN],
        [BEGIN, FORGED, FORGED],
        [BEGIN, FORGED, BEGIN],
        [BEGIN, ["answer", ["nvml", "device_count"], {"value": 8}, 0]],
        [BEGIN, [*FORGED[:2], {"value": True, "bytes": ""}, 0]],
        [BEGIN, [*FORGED[:2], {"bytes": "\u20ac"}, 0]],
        [BEGIN, [*FORGED[:2], {"unread": ["fine", ""]}, 0]],
        [BEGIN, [*FORGED[:2], {"unread": ["error", "x" * 10_000]}, 0]],
        [["begin", ["read", "/proc/driver/nvidia/version"], "read", 0, 1]],
        [["begin", ["read", "/etc/os-release"], "read", 0, 1]],
        [["begin", ["list", "/proc/driver/nvidia-nvswitch"], "list", 0, 1]],
        [["begin", ["kernel_log"], "kernel_log", 0, 1]],
        [["done", ["kernel_log"], {"value": None}]],
        [DONE, BEGIN],
    ],
    ids=lambda messages: str(messages[-1])[:40],
)
def test_a_worker_that_says_what_it_was_not_asked_is_listened_to_no_more(tree, messages):
    stub_nvml.install(tree, 1)
    with running(tree, said(*messages)) as worker:
        answer, seconds = waited(NAME, worker)
        assert seconds < CALL_S
        done = messages[0] == DONE
        assert answer.why == ("absent" if done else "error")
        assert done or answer.detail.startswith("the nvidia worker said what it was not asked after ")
        assert isinstance(worker.ask("read", "/proc/driver/nvidia/version"), bytes), "what it answered before stands"


def chatter(pause_s):
    """One valid call after the other, each with an hour for itself."""

    def ask_all(ask, *_):
        for at in itertools.count():
            ask(("nvml", str(at)), f"call {at}", lambda: True, 3600)
            time.sleep(pause_s)

    return NVIDIA._replace(ask_all=ask_all)


@pytest.mark.parametrize("lane", [chatter(0), chatter(0.02)], ids=["flood", "drip"])
def test_a_worker_that_keeps_talking_is_heard_until_the_run_ends_at_most(tree, lane):
    stub_nvml.install(tree, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with running(tree, lane, ends=time.monotonic() + 1.5) as worker:
        answer, seconds = waited(NAME, worker)
    assert answer.why in ("timeout", "error")
    assert seconds < 1.8
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024, "KiB"


def test_a_worker_grants_itself_no_time(tree):
    stub_nvml.install(tree, 1)
    hour = time.monotonic() + 3600
    for begin in (["begin", ["nvml", "device_count"], "nvmlDeviceGetCount", hour, 3600], ["begin", [], LOCKING, hour, 3600]):
        with running(tree, said(begin)) as worker:
            answer, seconds = waited(NAME, worker)
        assert answer.why == "timeout"
        assert seconds < CALL_S + 0.5


def test_a_closed_or_unstarted_worker_says_so(tree):
    worker = Worker(NVIDIA, str(tree))
    assert worker.ask(*NAME) == Unread("error", "the worker is not running")
    worker.close()
    worker.start()
    worker.close()
    worker.close()
    assert worker.ask(*NAME).why == "error"


def test_a_worker_that_cannot_be_killed_is_left_and_reaped_later(tree, monkeypatch):
    persistence_daemon(tree)
    stub_nvml.install(tree, 1, {"Init *": "hang"})
    worker = Worker(NVIDIA, str(tree))
    worker.start()
    pid = worker.pid
    assert worker.ask("nvml", "init").why == "timeout"
    with monkeypatch.context() as patch:
        patch.setattr(child_module.os, "kill", lambda *_: None)  # as SIGKILL does to a process inside the driver
        started = time.monotonic()
        worker.close()
        assert time.monotonic() - started < 0.5
    assert str(pid) in children()
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    with running(tree):
        assert str(pid) not in children()
