"""The parts of a cage, each where the kernel lacks another one, and a tree that is no live host."""

import errno
import os
import stat

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_nvidia_worker import NVIDIA
from hostagent.domains.network.read_rdma_worker import RDMA
from hostagent.sandbox import landlock
from hostagent.sandbox import library_sandbox as cage_module
from hostagent.sandbox.library_sandbox import enter
from hostagent.sandbox.privileges import drop_privileges, forbid_new_privileges
from tests.attack.spaces import NOBODY, become, start

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="a cage takes root's rights: run the tests as root"),
]


@pytest.fixture
def inside(tmp_path):
    """Runs a function in a process of its own, with the directory of the test as its root: whether it ends well."""
    tmp_path.chmod(0o755)

    def run(function, uid=0):
        def changed():
            os.chroot(tmp_path)
            os.chdir("/")
            if uid:
                become(uid)
            function()

        _, status = os.waitpid(start(changed), 0)
        return status == 0

    return run


@pytest.fixture
def library(tmp_path):
    """Its path in there. Beside it another file, a link out and a device; and a file elsewhere. All are everybody's to read."""
    for place in ("lib", "dev"):
        (tmp_path / place).mkdir()
    for name in ("lib/library.so", "lib/table", "elsewhere"):
        (tmp_path / name).write_text(name)
    (tmp_path / "lib/link").symlink_to("/elsewhere")
    for name, minor in (("lib/device", 5), ("dev/null", 3)):
        os.mknod(tmp_path / name, stat.S_IFCHR, os.makedev(1, minor))
        (tmp_path / name).chmod(0o666)
    return "/lib/library.so"


def opened(path):
    """The errno of opening it for writing; no driver has these numbers here, so that what may be opened is ENXIO."""
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError as error:
        return error.errno
    return 0


def readable(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("lacking", ["refuse", "confine"])
def test_a_cage_is_as_good_as_its_kernel_on_a_live_host_and_complete_elsewhere(inside, library, monkeypatch, lacking):
    monkeypatch.setattr(cage_module, lacking, lambda *_, **__: 0)

    def live():
        held = enter(NVIDIA.rights, [library], simulated=False)
        assert (held.system_calls, bool(held.landlock)) == ((0, True) if lacking == "refuse" else (True, False))
        assert held.capabilities == ("sys_admin",)

    def simulated():
        name = "filter of system calls" if lacking == "refuse" else "Landlock"
        said = f"this is no live host, and the kernel has no {name} for the cage"
        assert enter(NVIDIA.rights, [library], simulated=True) == Unread("denied", said)

    assert inside(live)
    assert inside(simulated)


def test_an_ordinary_user_has_a_cage_too(inside, library):
    """What is loaded there may not send signals to his other processes."""

    def entered():
        held = enter(NVIDIA.rights, [library], simulated=False)
        assert (held.capabilities, held.user, held.sockets, held.system_calls, held.landlock > 0) == ((), NOBODY, True, True, True)
        with pytest.raises(PermissionError):
            os.kill(os.getppid(), 0)

    assert inside(entered, NOBODY)


def test_a_library_of_a_made_tree_reads_the_files_beside_it_alone(inside, library):
    """Not even what everybody may read: a tree can hold device nodes, under any name."""
    paths = ["/dev/null", "/elsewhere", "/lib", "/lib/device", "/lib/library.so", "/lib/link", "/lib/table"]

    def read_all():
        assert all(map(readable, paths))
        assert enter(NVIDIA.rights, [library], simulated=True).landlock
        assert [path for path in paths if readable(path)] == ["/lib/library.so", "/lib/table"]

    assert inside(read_all)


@pytest.mark.parametrize("version", range(1, landlock.version() + 1))
def test_landlock_of_an_older_kernel_holds_as_far_as_it_goes(inside, library, monkeypatch, version):
    monkeypatch.setattr(landlock, "version", lambda: version)

    def confined():
        assert forbid_new_privileges()
        assert landlock.confine(["/lib"], ["/dev/null"], []) == version
        assert [path for path in ("/lib/library.so", "/lib", "/dev/null", "/elsewhere") if readable(path)][:3] == [
            library,
            "/lib",
            "/dev/null",
        ]
        os.close(os.open("/dev/null", os.O_RDWR))
        for path, flags in (("/lib/new", os.O_WRONLY | os.O_CREAT), (library, os.O_WRONLY), ("/elsewhere", os.O_RDONLY)):
            with pytest.raises(PermissionError):
                os.open(path, flags)

    assert inside(confined)


@pytest.mark.parametrize(
    ("mode", "gid", "overrides"),
    [(0o666, 0, False), (0o660, 44, False), (0o660, 0, True), (0o600, 44, True)],
)
def test_nodes_that_are_not_everybodys_cost_as_little_as_they_can(inside, tmp_path, mode, gid, overrides):
    """A group of theirs, which opens no socket of root's; or the right to override modes, and then no socket at all."""
    node = tmp_path / "nvidiactl"
    os.mknod(node, stat.S_IFCHR, os.makedev(1, 3))
    node.chmod(mode)
    os.chown(node, 0, gid)

    def renounced():
        kept = drop_privileges(["sys_admin"], ["/nvidiactl"], [])
        assert (kept.capabilities[1:], kept.is_alone) == (("dac_override",) if overrides else (), not overrides)
        assert os.getgroups() == ([gid] if gid and not overrides else [])
        os.close(os.open("/nvidiactl", os.O_RDWR))

    assert inside(renounced)


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_a_library_that_root_alone_can_read_is_read(inside, library, tmp_path, mode):
    (tmp_path / "lib").chmod(mode)

    def renounced():
        kept = drop_privileges(["sys_admin"], [], [library])
        assert kept.capabilities == (("sys_admin",) if mode == 0o755 else ("sys_admin", "dac_read_search"))
        assert readable(library)

    assert inside(renounced)


def test_of_rdma_devices_those_alone_may_be_opened_that_the_kernel_lists_for_verbs(inside, library, tmp_path):
    """Management datagrams have the same major number; a name is anybody's to give."""
    (tmp_path / "dev/infiniband").mkdir()
    for name, minor in (("uverbs0", 192), ("uverbs1", 193), ("umad0", 0), ("rdma_cm", 224), ("uverbs9", 64)):
        os.mknod(tmp_path / "dev/infiniband" / name, stat.S_IFCHR, os.makedev(231, minor))
        (tmp_path / "dev/infiniband" / name).chmod(0o666 if name != "uverbs1" else 0o600)
    for number in (0, 1):
        (tmp_path / f"sys/class/infiniband_verbs/uverbs{number}").mkdir(parents=True)
        (tmp_path / f"sys/class/infiniband_verbs/uverbs{number}/dev").write_text(f"231:{192 + number}\n")

    def live():
        held = enter(RDMA.rights, [library], simulated=False)
        assert held.capabilities == ("dac_override",), "one node is root's alone"
        answers = {name: opened(f"/dev/infiniband/{name}") for name in ("uverbs0", "uverbs1", "umad0", "rdma_cm", "uverbs9")}
        assert answers == {"uverbs0": errno.ENXIO, "uverbs1": errno.ENXIO, **dict.fromkeys(("umad0", "rdma_cm", "uverbs9"), errno.EACCES)}

    def everybodys():
        assert enter(RDMA.rights, [library], simulated=False).capabilities == ()
        assert opened("/dev/infiniband/uverbs1") == errno.ENXIO

    assert inside(live)
    (tmp_path / "dev/infiniband/uverbs1").chmod(0o666)
    assert inside(everybodys)
