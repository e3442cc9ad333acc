"""A file whose read does not return costs its own answer: no other fact, and not the run."""

import os
import time

import pytest

from hostagent.core.errors import HostagentError
from hostagent.engine.target import Evidence, open_host
from hostagent.facts.host import Identity
from hostagent.facts.kernel import Kernel
from hostagent.facts.nccl import Nccl
from hostagent.facts.os import Os
from tests.attack import fuse, spaces
from tests.children import children
from tests.trees.tree import Tree

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/fuse"), reason="FUSE needs root and /dev/fuse: 'modprobe fuse'"),
]


def host(tmp_path):
    tree = Tree(tmp_path / "host", kernel="6.8.0", driver="580.95.05")
    tree.write("/proc/sys/kernel/osrelease", "6.8.0\n")
    tree.write("/sys/module/x", "")
    tree.write("/etc/os-release", "ID=ubuntu\nVERSION_ID=24.04\n")
    tree.write("/var/lib/dpkg/status", "")
    return tree


def collected(tree, deadline_s=25):
    started = time.monotonic()
    with open_host(Evidence(host_root=str(tree.root), deadline_s=deadline_s)) as reading:
        facts = reading.collect().facts
        return facts, reading.answers, time.monotonic() - started


def test_a_file_system_that_nobody_serves_costs_its_own_answer(tmp_path):
    spaces.unshare("mount")
    tree = host(tmp_path)
    tree.remove("/var/lib")
    place = tree.at("/var/lib")
    place.mkdir()
    mounted = fuse.Mounted(str(place))
    facts, answers, took_s = collected(tree)
    mounted.close()
    assert took_s < 6, "the first question there costs two seconds, the others nothing"
    hung = {" ".join(asked) for asked, answer in answers.items() if getattr(answer, "why", "") == "timeout"}
    assert hung
    assert all(" /var/lib" in question for question in hung), hung
    assert len(hung) > 3, "more questions than a pass has children"
    assert facts.of(Os).id == "ubuntu"
    assert facts.of(Identity).kernel == "6.8.0"
    assert facts.of(Kernel).release == "6.8.0"
    assert children() == set()


def test_a_file_system_of_jobs_that_nobody_serves_costs_what_is_said_of_their_libraries(tmp_path):
    spaces.unshare("mount")
    tree = host(tmp_path)
    tree.directory("/opt/apps")
    mounted = fuse.Mounted(str(tree.at("/opt/apps")))
    facts, answers, took_s = collected(tree)
    mounted.close()
    assert took_s < 12
    found = facts.of(Nccl)
    assert (found.libraries.why, found.plugins.why) == ("timeout", "timeout")
    assert {" ".join(asked) for asked, answer in answers.items() if getattr(answer, "why", "") == "timeout"} <= {"stat /opt/apps"}
    assert facts.of(Kernel).release == "6.8.0"
    assert children() == set()


@pytest.mark.parametrize("place", ["host_root", "root"])
def test_a_root_that_does_not_answer_is_said_at_once(tmp_path, place):
    spaces.unshare("mount")
    (tmp_path / "host").mkdir()
    mounted = fuse.Mounted(str(tmp_path / "host"))
    started = time.monotonic()
    wanted = pytest.raises(HostagentError, match=f"{tmp_path}/host does not answer")
    with wanted, open_host(Evidence(**{place: f"{tmp_path}/host"})) as reading:
        reading.collect()
    assert time.monotonic() - started < 6
    mounted.close()
    assert children() == set()


def test_a_process_that_not_even_a_kill_ends_is_named_and_left(tmp_path):
    spaces.unshare("mount")
    tree = host(tmp_path)
    tree.remove("/etc/os-release")
    tree.link("/etc/os-release", "/etc/release/file")
    tree.directory("/etc/release")
    mounted = fuse.Mounted(str(tree.at("/etc/release")))
    pid = spaces.start(mounted.take_one)  # it keeps the file system alive, and its question unanswered
    facts, answers, took_s = collected(tree)
    left = next(answer.detail for answer in answers.values() if getattr(answer, "why", "") == "timeout")
    assert "cannot be killed" in left
    assert facts.of(Kernel).release == "6.8.0"
    assert took_s < 12
    mounted.close()
    spaces.end(pid)
