"""A user's process, and a pod's, that has a daemon's name is nobody: with real users, groups and namespaces."""

import os
import shutil

import pytest

from hostagent.core.unread import Unread
from hostagent.host.paths import Root
from hostagent.host.processes import processes
from tests.attack import nested, spaces

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        os.geteuid() != 0 or not nested.HAS_GROUPS or not shutil.which("gcc"),
        reason="needs root, gcc, and systemd's hierarchy of version 1 without a systemd in it",
    ),
]
EVE = 4711
SESSION = "/user.slice/user-4711.slice/session-3.scope"
POD = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-1f.scope"
NODE = "/system.slice/docker-2e.scope"


EVERY = ("nv-fabricmanager", "nvidia-persistenced", "containerd", "dockerd", "crio", "kubelet", "chronyd")
SRV = nested.PLACE


@pytest.fixture
def on_a_host(tmp_path):
    """Runs a test as process 1 of a host that has every daemon's program."""
    made = nested.program(str(tmp_path))

    def run(attack, name="systemd"):
        def ready(host):
            host.install(*EVERY)
            attack(host)

        nested.host(ready, made, name)

    return run


def seen(root="/"):
    """Name, unit and arguments of who is believed, or the answer that is none."""
    found = processes(Root(root))
    return (
        found if isinstance(found, Unread) else sorted((row["name"], row.get("unit", "believed"), tuple(row["argv"][1:])) for row in found)
    )


def test_the_name_of_a_daemon_makes_nobody_a_daemon(on_a_host):
    """The demonstrations: a user, a container in a container, a pod, a kind node, a user's own manager."""

    def attack(host):
        host.start(SESSION, f"{SRV}/nv-fabricmanager", uid=EVE)
        host.start(SESSION, f"{SRV}/dockerd", uid=EVE)
        host.start(SESSION, f"{SRV}/crio", uid=EVE)
        host.start(SESSION, f"{SRV}/containerd", "-c", "/home/eve/x.toml", uid=EVE)
        host.start(SESSION, f"{SRV}/containerd", "--config", "/etc/shadow", uid=EVE)
        host.start("/user.slice/user-4711.slice/user@4711.service/app.slice/containerd.service", f"{SRV}/containerd", uid=EVE)
        host.contain(POD, f"{SRV}/dockerd")
        host.contain(f"{NODE}/system.slice/containerd.service", f"{SRV}/containerd")
        host.start(f"{NODE}/system.slice/kubelet.service", f"{SRV}/kubelet")  # with the host's process ids
        host.contain("/system.slice/containerd.service", f"{SRV}/kubelet")
        host.ask(nobody)
        host.start("/system.slice/containerd.service", f"{SRV}/containerd", "--config", "/etc/containerd/config.toml")
        host.start("/system.slice/chronyd.service", f"{SRV}/chronyd", uid=123)
        host.start("/runtime.slice/kubelet.service/init", f"{SRV}/kubelet")
        host.start("/system.slice/k3s-agent.service", f"{SRV}/containerd", "-c", "/k3s.toml")
        host.ask(the_four)
        host.ask(the_four, uid=EVE)  # who needs no rights for that

    def nobody():
        assert seen() == []

    def the_four():
        assert seen() == [
            ("chronyd", "chronyd.service", ()),
            ("containerd", "containerd.service", ("--config", "/etc/containerd/config.toml")),
            ("containerd", "k3s-agent.service", ("-c", "/k3s.toml")),
            ("kubelet", "kubelet.service", ()),
        ]

    on_a_host(attack)


@pytest.mark.parametrize("group", [POD, "/system.slice/docker-3a.scope", "/user.slice/podman-4b.scope"])
def test_a_container_that_sees_its_own_groups_alone_believes_the_same(on_a_host, group):
    def attack(host):
        host.start("/system.slice/containerd.service", f"{SRV}/containerd")
        host.start(f"{POD}/system.slice/containerd.service", f"{SRV}/containerd", "--config", "/etc/shadow")
        host.start(f"{group}/containerd.service", f"{SRV}/dockerd")
        host.start(f"{NODE}/docker.service", f"{SRV}/dockerd")
        host.ask(question, group=group, spaces_of=("cgroup",))
        host.ask(question, group=group)

    def question():
        assert seen() == [("containerd", "containerd.service", ())]

    on_a_host(attack)


def test_a_container_with_process_ids_of_its_own_sees_the_host_below_its_root(on_a_host):
    """As a DaemonSet without hostPID runs it."""

    def attack(host):
        spaces.mount("/", "/mnt", "", 0x5000)  # MS_BIND | MS_REC
        spaces.mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
        spaces.mount("tmpfs", "/mnt/run", "tmpfs", 0, "mode=755")
        host.install(*EVERY, place="/mnt/run/nvidia/driver")
        host.start("/system.slice/containerd.service", f"{SRV}/containerd")
        host.start("/system.slice/blue.service", f"{SRV}/kubelet")
        host.start(POD, "/nv-fabricmanager", before=lambda: os.chroot("/mnt/run/nvidia/driver"))
        host.start(POD, f"{SRV}/nvidia-persistenced")
        host.start(SESSION, f"{SRV}/dockerd", uid=EVE)
        host.contain("/system.slice/docker.service", f"{SRV}/dockerd")
        host.ask(question, group="/system.slice/docker-5c.scope", spaces_of=("cgroup", "mount", "pid"))

    def question():
        nested.assert_in_child(the_three)

    def the_three():
        spaces.mount("proc", "/proc", "proc")
        assert os.getpid() == 1
        assert seen("/mnt") == [("containerd", "containerd.service", ()), ("kubelet", "blue.service", ()), ("nv-fabricmanager", "", ())]

    on_a_host(attack)


@pytest.mark.parametrize("hidepid", ["1", "2", "4"])
def test_what_proc_hides_is_denied_and_never_not_running(on_a_host, hidepid):
    def attack(host):
        host.start("/system.slice/containerd.service", f"{SRV}/containerd")
        host.start("/system.slice/chronyd.service", f"{SRV}/chronyd", uid=123)
        spaces.mount("proc", "/proc", "proc", 32, f"hidepid={hidepid}")  # MS_REMOUNT
        host.start(SESSION, f"{SRV}/nv-fabricmanager", uid=EVE)
        host.ask(denied, uid=EVE)
        host.ask(root)
        host.ask(without_the_right)

    def denied():
        assert seen().why == "denied"

    def root():
        assert [name for name, _, _ in seen()] == ["chronyd", "containerd"]

    def without_the_right():
        spaces.drop(19)  # CAP_SYS_PTRACE: what root in a container has not
        denied()

    on_a_host(attack)


def test_root_without_the_right_to_look_at_others_sees_a_process_1_like_itself_and_still_not_all(on_a_host):
    def attack(host):
        host.start("/system.slice/chronyd.service", f"{SRV}/chronyd", uid=123)
        spaces.mount("proc", "/proc", "proc", 32, "hidepid=2")
        spaces.drop(19)
        assert os.path.exists("/proc/1/comm")
        assert seen().why == "denied"

    on_a_host(attack)


def test_without_systemd_it_is_roots_program_that_counts(on_a_host):
    """Not one of a user, of a container, of a pod with the host's process ids, nor one that others may write, nor a program of another name."""

    def attack(host):
        host.start("", f"{SRV}/containerd", uid=EVE)
        host.contain("", f"{SRV}/containerd")
        os.chmod(f"{SRV}/dockerd", 0o775)
        host.start("", f"{SRV}/dockerd")
        os.chown(f"{SRV}/crio", EVE, EVE)
        host.start("", f"{SRV}/crio")
        host.install("chronyd", place=f"{SRV}/open")
        os.chmod(f"{SRV}/open", 0o1777)
        host.start("", f"{SRV}/open/chronyd")
        host.install("containerd", place=f"{SRV}/pod{SRV}")
        host.start("", f"{SRV}/containerd", before=lambda: os.chroot(f"{SRV}/pod"))
        os.symlink(f"{SRV}/kubelet", f"{SRV}/k3s")  # as a user calls a setuid program
        host.start("", f"{SRV}/k3s")
        host.ask(nobody)
        host.start("", f"{SRV}/containerd", "-c", "/a.toml")
        host.start("", f"{SRV}/kubelet")
        host.ask(the_two)
        host.ask(undecided, uid=EVE)
        os.remove(f"{SRV}/kubelet")  # an upgrade, and the daemon was not started again
        host.ask(the_two)

    def nobody():
        assert seen() == []

    def the_two():
        assert seen() == [("containerd", "", ("-c", "/a.toml")), ("kubelet", "", ())]

    def undecided():
        """What root's programs are is not seen; a user's own is not in doubt."""
        found = [(row["name"], row["unit"], row["argv"]) for row in processes(Root())]
        assert sorted(found) == sorted(
            (name, None, []) for name in ("containerd", "containerd", "kubelet", "dockerd", "crio", "k3s", "chronyd")
        )

    on_a_host(attack, "init")


def test_a_service_of_another_name_runs_roots_own_programs(on_a_host):
    """As k3s does that was installed by a name, and no job of a user in the group of such a service."""

    def attack(host):
        host.start("/system.slice/blue.service", f"{SRV}/containerd", uid=EVE)
        host.install("containerd", place=f"{SRV}/pod{SRV}")
        host.start("/system.slice/blue.service/payload", f"{SRV}/containerd", before=lambda: os.chroot(f"{SRV}/pod"))
        host.ask(nobody)
        host.start("/system.slice/blue.service", f"{SRV}/containerd", "-c", "/blue.toml")
        host.ask(blues)

    def nobody():
        assert seen() == []

    def blues():
        assert seen() == [("containerd", "blue.service", ("-c", "/blue.toml"))]

    on_a_host(attack)


def test_jobs_in_the_group_of_slurmd_do_not_stand_for_it(on_a_host):
    def attack(host):
        host.install("slurmd")
        for _ in range(20):
            host.start("/system.slice/slurmd.service", f"{SRV}/slurmd", "-x", uid=EVE)
        host.start("/system.slice/slurmd.service", f"{SRV}/slurmd", "-D")
        host.ask(slurms)

    def slurms():
        assert seen() == [("slurmd", "slurmd.service", ("-D",))]

    on_a_host(attack)


def test_the_driver_containers_daemons_are_roots_in_its_root(on_a_host):
    """As the GPU Operator runs them: the host's process ids, a pod's group, and a root that is mounted on the host."""
    driver = "/run/nvidia/driver"

    def attack(host):
        spaces.mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
        os.makedirs(driver)
        spaces.mount("tmpfs", driver, "tmpfs", 0, "mode=755")
        host.install(*EVERY, place=driver)
        host.start(SESSION, "/nv-fabricmanager", uid=EVE, before=lambda: os.chroot(driver))
        host.start(SESSION, f"{SRV}/nv-fabricmanager", uid=EVE)
        host.start(POD, f"{SRV}/nv-fabricmanager")
        host.start(POD, "/containerd", before=lambda: os.chroot(driver))  # no daemon of a driver container
        host.ask(nobody)
        host.start(POD, "/nvidia-persistenced", "--persistence-mode", before=lambda: os.chroot(driver))
        host.ask(persistenced)
        host.ask(undecided, uid=EVE)

    def nobody():
        assert seen() == []

    def persistenced():
        assert seen() == [("nvidia-persistenced", "", ("--persistence-mode",))]

    def undecided():
        assert seen() == [("nv-fabricmanager", None, ()), ("nvidia-persistenced", None, ())]

    on_a_host(attack)


def test_a_user_in_a_namespace_of_his_own_is_not_root(on_a_host):
    """In a user namespace he is root to himself, and may take any directory for his root."""
    driver = "/run/nvidia/driver"

    def attack(host):
        spaces.mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
        host.install(*EVERY, place=driver)

        def become_root():
            spaces.become(EVE)
            spaces.unshare("user")
            os.chroot(driver)

        host.start(SESSION, "/nv-fabricmanager", before=become_root)
        host.ask(nobody)

    def nobody():
        assert seen() == []

    on_a_host(attack)
