"""Somebody else's tree named with --host-root or --root: nothing of it is run or loaded that root of that host did not put there."""

import json
import os
import shutil
from dataclasses import replace

import pytest

from hostagent import snapshot
from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_nvidia_worker import NVIDIA
from hostagent.engine.collection import InProcess
from hostagent.engine.questions import live_backend
from hostagent.host.recording import ReplayBackend
from hostagent.host.source import Source
from hostagent.outputs import render
from hostagent.profiles import profile
from hostagent.sandbox.worker import Worker
from tests import stub_nvml
from tests.attack import spaces
from tests.judged import judged
from tests.real.conftest import need_real

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root: run the tests as root")]

MS_BIND, MS_REC = 4096, 16384
NAME = ("nvml", "device", "0", "name")


def program(path, marks):
    """It leaves a mark."""
    path.write_text(f"#!/bin/sh\ntouch {marks}/ran; echo containerd v1.7.27\n")
    path.chmod(0o755)


@pytest.fixture
def image(tmp_path):
    """An unpacked image in which a program would run: it has this machine's /usr, and a /proc and a /sys of its own."""
    for place in ("usr", "etc", "proc/1", "sys/module", "marks"):
        (tmp_path / place).mkdir(parents=True)
    for place in ("bin", "lib", "lib64"):
        (tmp_path / place).symlink_to(f"usr/{place}")
    spaces.unshare("mount")
    spaces.mount("/usr", str(tmp_path / "usr"), "", MS_BIND)
    spaces.mount("none", str(tmp_path / "usr/local"), "tmpfs", 0, "mode=755")
    (tmp_path / "usr/local/bin").mkdir(mode=0o755)
    program(tmp_path / "usr/local/bin/containerd", "/marks")
    return tmp_path


@pytest.mark.parametrize("argv", [("containerd", "--version"), ("/usr/local/bin/containerd", "--version")])
def test_no_program_of_an_unpacked_image_is_run(image, argv):
    answer = live_backend(str(image), "host-root").ask("run", *argv)
    assert isinstance(answer, Unread)
    assert (answer.why, "is no live host" in answer.detail) == ("error", True)
    assert live_backend(str(image), "host-root").ask("run", "no-such-program") == Unread("absent", "no program no-such-program")
    assert live_backend(str(image), "image").ask("run", *argv).why == "not-running"
    assert list((image / "marks").iterdir()) == []
    spaces.mount("/proc", str(image / "proc"), "", MS_BIND)
    spaces.mount("/sys", str(image / "sys"), "", MS_BIND)
    assert live_backend(str(image), "host-root").ask("run", *argv)["exit_code"] == 0
    assert list((image / "marks").iterdir()), "it does leave a mark, so this test can fail"


def test_an_unpacked_image_is_judged_and_called_simulated_also_by_its_snapshot(image):
    loaded = profile.load(site_file="")
    reading = InProcess(live_backend(str(image), "host-root"))
    recorded = snapshot.record(reading, b"k" * 32)
    replayed = [judged(ReplayBackend(one), loaded, replayed=True) for one in (recorded, _older(recorded))]
    assert [one.simulated for one in replayed] == [True, False]
    assert json.loads(render(replayed[0], "json"))["simulated"] is True
    assert "a made-up host" in render(replayed[0], "text")
    assert "a made-up host" in render(replayed[0], "html")
    assert not judged(live_backend(str(image), "image"), loaded).simulated
    spaces.mount("/proc", str(image / "proc"), "", MS_BIND)
    spaces.mount("/sys", str(image / "sys"), "", MS_BIND)
    assert not judged(live_backend(str(image), "host-root"), loaded).simulated


def _older(recorded):
    """As a version wrote it that did not say so."""
    answers = json.loads(json.dumps(recorded.answers))
    del answers["host"]["json"]["simulated"]
    return replace(recorded, answers=answers)


@pytest.fixture
def mounted(tmp_path):
    """This machine as a DaemonSet sees its host: / with all that is mounted below it, and a /usr/local of the test's own."""
    spaces.unshare("mount")
    host = tmp_path / "host"
    host.mkdir()
    spaces.mount("/", str(host), "", MS_BIND | MS_REC)
    spaces.mount("none", str(host / "usr/local"), "tmpfs", 0, "mode=755")
    for place in ("bin", "sbin"):
        (host / "usr/local" / place).mkdir(mode=0o755)
    return host


def test_a_program_of_a_live_host_is_run_where_only_root_may_change_it(mounted):
    source = Source(live_backend(str(mounted), "host-root"))
    program(mounted / "usr/local/bin/acme", "/usr/local")
    assert source.run("acme").stdout == "containerd v1.7.27\n"
    assert (mounted / "usr/local/ran").exists(), "it does leave a mark, so this test can fail"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda at: os.chmod(at / "usr/local/bin", 0o2775), "/usr/local/bin may be written by others than root (mode 2775)"),
        (lambda at: os.chmod(at / "usr/local/bin/acme", 0o777), "/usr/local/bin/acme may be written by others than root (mode 777)"),
        (lambda at: os.chown(at / "usr/local/bin/acme", spaces.NOBODY, 0), "/usr/local/bin/acme belongs to user 65534, wanted root"),
    ],
)
def test_a_program_that_somebody_else_may_change_is_not_run(mounted, change, why):
    program(mounted / "usr/local/bin/acme", "/usr/local")
    change(mounted)
    answer = Source(live_backend(str(mounted), "host-root")).run("acme")
    assert answer == Unread("error", f"acme is not run: {why}", "run acme")
    assert not (mounted / "usr/local/ran").exists()
    program(mounted / "usr/local/sbin/acme", "/usr/local")  # where PATH looks first, or later: the trusted one is run
    assert Source(live_backend(str(mounted), "host-root")).run("acme").exit_code == 0


@pytest.fixture
def gpus(tmp_path):
    need_real("gcc", "apt-get install gcc libc6-dev")
    root = tmp_path / "host"
    root.mkdir(mode=0o755)
    stub_nvml.install(root, 1)
    return root


def asked(root):
    worker = Worker(NVIDIA, str(root))
    worker.start()
    try:
        return worker.ask(*NAME)
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda at: os.chmod(at / "usr/lib", 0o777), "/usr/lib may be written by others than root (mode 777)"),
        (lambda at: os.chmod(next((at / stub_nvml.LIBRARY_DIRECTORY).glob("*.so.5*")), 0o664), "others than root (mode 664)"),
        (lambda at: os.chown(at / stub_nvml.LIBRARY_DIRECTORY, spaces.NOBODY, 0), "belongs to user 65534, wanted root"),
    ],
)
def test_a_library_that_somebody_else_may_change_is_not_loaded(gpus, change, why):
    assert asked(gpus) == "NVIDIA H100 80GB HBM3"
    change(gpus)
    answer = asked(gpus)
    assert isinstance(answer, Unread)
    assert (answer.why, answer.detail.startswith("12 libnvidia-ml.so.1 is not loaded: "), why in answer.detail) == ("error", True, True)


def test_a_library_in_a_place_of_everybody_costs_nothing_where_a_trusted_one_is(gpus):
    everybodys = gpus / "home/kubernetes/bin/nvidia/lib64"
    everybodys.mkdir(parents=True)
    shutil.copy(gpus / stub_nvml.LIBRARY_DIRECTORY / "libnvidia-ml.so.1", everybodys)
    everybodys.chmod(0o777)
    assert asked(gpus) == "NVIDIA H100 80GB HBM3"


def test_a_library_that_the_hosts_loader_would_find_is_found(gpus):
    """Its cache names a directory that is none of the usual ones."""
    (gpus / "opt").mkdir()
    (gpus / stub_nvml.LIBRARY_DIRECTORY).rename(gpus / "opt/driver")
    assert asked(gpus).why == "absent"
    (gpus / "etc").mkdir(exist_ok=True)
    (gpus / "etc/ld.so.cache").write_bytes(b"glibc-ld.so.cache1.1" + bytes(40) + b"libnvidia-ml.so.1\0/opt/driver/libnvidia-ml.so.1\0")
    assert asked(gpus) == "NVIDIA H100 80GB HBM3"


def test_the_control_node_of_another_driver_is_not_opened(gpus):
    (gpus / "dev/nvidiactl").unlink()
    stub_nvml.node(gpus / "dev/nvidiactl", 10, 130)  # a watchdog counts from when it is opened
    assert asked(gpus) == Unread("error", "/dev/nvidiactl is a device of major 10, wanted 195")
