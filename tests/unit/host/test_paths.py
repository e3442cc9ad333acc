"""Looking a path up part by part: the kernel's own openat2(2) is the judge."""

import contextlib
import ctypes
import errno
import os
import shutil
import struct
import tempfile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hostagent.host.files import Files
from hostagent.host.lookup import by_kernel, by_parts
from hostagent.host.paths import Root
from hostagent.sandbox.child import close_all_but
from hostagent.sandbox.syscalls import openat2_in_root
from tests.attack import spaces

NAMES = ("a", "b", "c")
FLAGS = {
    "look": os.O_PATH,
    "look at the link": os.O_PATH | os.O_NOFOLLOW,
    "directory": os.O_RDONLY | os.O_DIRECTORY,
    "read": os.O_RDONLY | os.O_NONBLOCK,
    "read no link": os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW,
    "write": os.O_WRONLY | os.O_NONBLOCK,
    "look at a directory": os.O_PATH | os.O_DIRECTORY,
}

PARTS = st.sampled_from((*NAMES, *NAMES, "..", ".", "", "nothing"))
PATHS = st.builds(
    lambda start, parts, end: f"{start}{'/'.join(parts)}{end}",
    st.sampled_from(("", "/")),
    st.lists(PARTS, max_size=6),
    st.sampled_from(("", "/", "/.", "/..")),
)
#: By name: a directory of such things, a file, or the text of a link.
TREES = st.recursive(
    st.one_of(st.just(b""), PATHS.filter(bool)), lambda below: st.dictionaries(st.sampled_from(NAMES), below, max_size=3), max_leaves=12
)


def make(place, what):
    if isinstance(what, dict):
        os.mkdir(place)
        for name, below in what.items():
            make(os.path.join(place, name), below)
    elif isinstance(what, str):
        os.symlink(what, place)
    else:
        with open(place, "wb"):
            pass


def seen(look_up, root, path, flags):
    """What was opened, or the number of the error."""
    try:
        descriptor = look_up(root, path, flags)
    except OSError as error:
        return errno.errorcode[error.errno]
    try:
        found = os.fstat(descriptor)
        return found.st_dev, found.st_ino, found.st_mode
    finally:
        os.close(descriptor)


def judge(root, path, flags):
    """The kernel says EAGAIN for ``..`` while anybody on the machine renames or mounts."""
    while True:
        with contextlib.suppress(BlockingIOError):
            return openat2_in_root(root, os.fsencode(path), flags | os.O_CLOEXEC)


@contextlib.contextmanager
def made(tree):
    """A descriptor of a directory that holds it."""
    place = tempfile.mkdtemp()
    try:
        make(os.path.join(place, "root"), tree)
        root = os.open(os.path.join(place, "root"), os.O_PATH)
        try:
            yield root
        finally:
            os.close(root)
    finally:
        shutil.rmtree(place)


LOOK_UPS = pytest.mark.parametrize("look_up", [by_kernel, by_parts], ids=["openat2", "walk"])


@settings(max_examples=200)
@given(tree=st.dictionaries(st.sampled_from(NAMES), TREES, max_size=3), paths=st.lists(PATHS, min_size=1, max_size=8))
@example({"a": {"b": "/../c/"}, "c": b""}, ["a/b", "a/b/", "c/", "c/..", "c/."])
@example({"a": "b", "b": "a", "c": "."}, ["a", "a/x", "c/c/c", "c/"])
@example({"a": {"b": "../.."}}, ["a/b/../a/b", "a/b/."])
def test_a_walk_finds_what_the_kernel_finds(tree, paths):
    with made(tree) as root:
        for path in paths:
            for name, flags in FLAGS.items():
                found, wanted = seen(by_parts, root, path, flags), seen(judge, root, path, flags)
                assert found == wanted, (path, name)


@pytest.mark.parametrize("links", [39, 40, 41])
def test_as_many_links_are_followed_as_the_kernel_follows(links):
    chain = {f"l{number}": f"l{number + 1}" for number in range(links)}
    with made({"d": {"x": b""}, **chain, f"l{links}": {"x": b""}}) as root:
        found = [seen(look_up, root, "l0/x", os.O_PATH) for look_up in (by_parts, judge)]
    assert found[0] == found[1]
    assert isinstance(found[0], tuple) == (links <= 40)


@pytest.mark.parametrize("path", ["", "/", "x" * 256, "x" * 255, "a/" * 2047, "a/" * 2048, "/" * 4095, "a" + "/." * 2047, "../" * 1300])
def test_a_path_that_is_too_long_is_refused_alike(path):
    with made({"a": {"b": b""}}) as root:
        assert seen(by_parts, root, path, os.O_PATH) == seen(judge, root, path, os.O_PATH)


def test_a_walk_that_is_too_deep_is_an_error_and_leaves_no_descriptor():
    with made({"a": "."}) as root:
        top = root
        for _ in range(300):
            os.mkdir("d", dir_fd=top)
            below = os.open("d", os.O_PATH, dir_fd=top)
            _ = os.close(top) if top != root else None
            top = below
        os.close(top)
        before = len(os.listdir("/proc/self/fd"))
        assert seen(by_parts, root, "d/" * 300, os.O_PATH) == "ENAMETOOLONG"
        assert isinstance(seen(by_parts, root, "d/" * 200, os.O_PATH), tuple)
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user: run the tests as root")
def test_what_a_user_may_not_see_he_does_not_see_by_parts():
    tree = {"open": {"f": b"", "l": "../shut/f"}, "shut": {"f": b""}, "listed": {"f": b""}}
    with made(tree) as root:
        place = os.readlink(f"/proc/self/fd/{root}")
        os.chmod(os.path.dirname(place), 0o755)
        os.chmod(f"{place}/shut", 0o700)
        os.chmod(f"{place}/listed", 0o711)
        os.chmod(f"{place}/open/f", 0o600)
        paths = ("open/f", "open/l", "shut", "shut/f", "shut/", "shut/.", "listed", "listed/f", "listed/x", "open/../shut/f", "shut/x/y")

        def compared():
            found = {(path, name): seen(by_parts, root, path, flags) for path in paths for name, flags in FLAGS.items()}
            assert found == {(path, name): seen(judge, root, path, flags) for path in paths for name, flags in FLAGS.items()}
            assert found["open/f", "read"] == found["shut/f", "look"] == "EACCES"

        assert os.waitpid(spaces.start(compared, spaces.NOBODY), 0)[1] == 0


#: Answers with an error to one system call from now on (seccomp(2)): its number, then the BPF program that compares it.
def refuse(number, error):
    rows = ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7FFF0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)
    assert libc.prctl(22, 2, struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code)), 0, 0) == 0


@pytest.mark.alone
@pytest.mark.parametrize("error", [errno.ENOSYS, errno.EPERM])
def test_where_openat2_is_refused_every_path_is_looked_up_by_parts(tmp_path, error):
    """Kernels before 5.6 do not know it; filters of old container runtimes do not either."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/name").write_text("inside")
    (tmp_path / "etc/link").symlink_to("/etc/name")
    (tmp_path / "etc/out").symlink_to("/etc/passwd")
    refuse(437, error)
    with pytest.raises(OSError, match=os.strerror(error)):
        openat2_in_root(os.open("/", os.O_PATH), b"etc", os.O_PATH)
    files = Files(Root(str(tmp_path)))
    assert files.read("/etc/link") == b"inside"
    assert (files.read("/etc/out").why, files.read("/etc/nothing").why) == ("absent", "absent")
    assert (files.list("/etc"), files.stat("/etc/link")["kind"]) == (["link", "name", "out"], "file")
    assert (files.readlink("/etc/link"), files.realpath("/etc/link")) == ("/etc/name", "/etc/name")


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root: run the tests as root")
@LOOK_UPS
def test_a_magic_link_leads_where_its_text_says_inside_the_root(tmp_path, look_up):
    """The kernel would go where the process is, which is outside, whatever the text."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("inside")
    spaces.unshare("mount")
    spaces.mount("/proc", str(tmp_path / "proc"), "", 4096)
    files = Files(Root(str(tmp_path), look_up))
    assert files.read("/proc/self/root/etc/hostname") == b"inside"
    assert files.list("/proc/self/root") == ["etc", "proc"]
    assert files.readlink("/proc/self/root") == "/"
    assert isinstance(files.read("/proc/self/status"), bytes)


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root: run the tests as root")
def test_without_a_proc_of_its_own_it_opens_what_it_looked_at_and_nothing_else(tmp_path):
    host = tmp_path / "host"
    host.mkdir()
    (host / "one").write_text("one")
    (host / "other").write_text("other")
    spaces.unshare("mount")
    spaces.mount("none", "/proc", "tmpfs")
    root = Root(str(host))
    assert Files(root).read("/one") == b"one"
    place = root.open("/one", os.O_PATH)
    (host / "other").rename(host / "one")
    with pytest.raises(OSError, match="changed while it was looked at"):
        root.reopen(place, "/one")


def test_what_was_looked_at_is_what_is_opened(tmp_path):
    (tmp_path / "one").write_text("one")
    root = Root(str(tmp_path))
    place = root.open("/one", os.O_PATH)
    (tmp_path / "one").unlink()
    os.mkfifo(tmp_path / "one")
    with open(root.reopen(place, "/one"), "rb") as file:
        assert file.read() == b"one"
    os.close(place)


def test_only_the_device_that_was_meant_is_opened(tmp_path):
    """Opening another one can do things: a watchdog counts from then on."""
    root = Root(str(tmp_path))
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("a made tree's")
    for path in ("/fifo", "/"):
        with pytest.raises(OSError, match="not the character device 1:11"):
            root.open_device(path, 1, 11)
    with open(root.open_device("/file", 1, 11)) as file:
        assert file.read() == "a made tree's"
    os.close(Root("/").open_device("/dev/null", 1, 3))
    with pytest.raises(OSError, match="not the character device 1:11"):
        Root("/").open_device("/dev/null", 1, 11)


def test_a_root_below_a_root_keeps_both(tmp_path):
    (tmp_path / "run/driver/etc").mkdir(parents=True)
    (tmp_path / "run/driver/etc/name").write_text("driver")
    (tmp_path / "run/driver/etc/up").symlink_to("../../../../etc/name")
    (tmp_path / "link").symlink_to("/run/driver")
    for path in ("/run/driver", "/link"):
        inner = Files(Root(str(tmp_path)).below(path))
        assert (inner.read("/etc/name"), inner.read("/etc/up")) == (b"driver", b"driver")
    assert Files(Root(str(tmp_path)).below("/nothing")).read("/etc/name").why == "absent"


def test_a_child_that_closed_its_parents_descriptors_opens_the_root_anew(tmp_path):
    (tmp_path / "name").write_text("inside")
    files = Files(Root(str(tmp_path)))
    assert files.read("/name") == b"inside"

    def settled():
        close_all_but({0, 1, 2})
        for _ in range(10):
            os.open("/", os.O_PATH)  # takes the numbers of those that were closed
        assert files.read("/name") == b"inside"

    assert os.waitpid(spaces.start(settled), 0)[1] == 0


def test_no_descriptor_outlives_its_root(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        root = Root(str(tmp_path))
        Files(root).list("/")
        Files(root).realpath("/")
        _ = root.simulated, root.untrusted("/")
        del root
    assert len(os.listdir("/proc/self/fd")) == before


#: What makes a path's part somebody else's, and what is said of it.
OTHERS = {
    "": (None, ""),
    "a user's file": (lambda at: os.chown(at / "usr/lib/x.so", 7, 0), "/usr/lib/x.so belongs to user 7, wanted root"),
    "a group's directory": (lambda at: os.chmod(at / "usr/lib", 0o775), "/usr/lib may be written by others than root (mode 775)"),
    "everybody's sticky directory": (lambda at: os.chmod(at / "usr", 0o1777), "/usr may be written by others than root (mode 1777)"),
    "everybody's root": (lambda at: os.chmod(at, 0o777), "/ may be written by others than root (mode 777)"),
    "a directory behind a link": (lambda at: os.chmod(at / "real", 0o757), "/real may be written by others than root (mode 757)"),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away: run the tests as root")
@pytest.mark.parametrize(("change", "why"), OTHERS.values(), ids=OTHERS)
def test_what_somebody_else_may_change_is_not_trusted(tmp_path, change, why):
    for directory in (tmp_path, tmp_path / "usr", tmp_path / "usr/lib", tmp_path / "real"):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)
    (tmp_path / "usr/lib/x.so").write_text("")
    (tmp_path / "usr/lib/x.so").chmod(0o644)
    (tmp_path / "real/link").symlink_to("../usr/lib")
    (tmp_path / "lib").symlink_to("/real/link")
    _ = change and change(tmp_path)
    root = Root(str(tmp_path))
    assert root.untrusted("/lib/x.so") == why
    if not why:
        with pytest.raises(FileNotFoundError):
            root.untrusted("/nothing")


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root: run the tests as root")
def test_a_tree_without_the_kernels_own_proc_and_sys_is_simulated(tmp_path):
    for place in ("proc/1", "sys/module"):
        (tmp_path / place).mkdir(parents=True)
    spaces.unshare("mount")
    assert (Root(str(tmp_path)).simulated, Root("/").simulated) == (True, False)
    spaces.mount("/proc", str(tmp_path / "proc"), "", 4096)
    assert Root(str(tmp_path)).simulated, "a sysfs is wanted, too"
    spaces.mount("none", str(tmp_path / "sys"), "tmpfs")
    assert Root(str(tmp_path)).simulated
    spaces.mount("/sys", str(tmp_path / "sys"), "", 4096)
    assert not Root(str(tmp_path)).simulated
    assert not Root(str(tmp_path)).below("/proc").simulated, "a driver container's root is in a live host"
