"""No space left on the host, before a run and in the middle of one: an unchanged host, or a run that the next completes."""

from tests.real.fullroot import MIB, full, used
from tests.real.installing import changed
from tests.real.installroots import tree

TOOLKIT, DRIVER = ("--only", "toolkit"), ("--only", "driver")
#: What the plan of a driver wants of /var for builds by DKMS, and some more.
ENOUGH = 600 * MIB


def ended(done, code):
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def refused(host, *words):
    """What was said, where nothing at all has changed."""
    before = tree(host.seen)
    said = ended(host.install(*words), 4)
    assert changed(before, tree(host.seen)) == []
    return said


def test_a_var_without_room_for_the_driver_is_refused_and_named(make_root):
    root = make_root("debian")
    with full(root, "var", f"size={used(root.path / 'var') + 20 * MIB}") as host:
        assert "free on /var" in refused(host, *DRIVER)
        assert [one["id"] for one in host.plan(*DRIVER)[1]["refusals"]] == ["plan.space"]


def test_where_the_way_back_cannot_be_kept_nothing_begins(make_root):
    """No space for a lock, for the folder of a run, for the copies in it."""
    root = make_root("debian")
    (root.path / "var/lib/hostagent").mkdir(mode=0o700)
    for left in ("nr_inodes=1", "nr_inodes=3", "size=64k"):
        with full(root, "var/lib/hostagent", left) as host:
            assert "/var/lib/hostagent: No space left on device" in refused(host, *TOOLKIT)
            assert "remembers no run" in ended(host.call("rollback", "--yes"), 0)


def test_a_var_that_fills_up_while_a_module_is_built_is_told_and_the_next_run_with_space_completes(make_root):
    """DKMS then has an empty module, which it takes for built."""
    root = make_root("debian")
    with full(root, "var", f"size={used(root.path / 'var') + ENOUGH}", filled_by="srv/stub/full") as host:
        before = host.state()
        root.switch("nvidia-kernel-open-dkms", "full")
        assert "No space left on device" in ended(host.install(*DRIVER), 1)
        assert host.ballast.stat().st_size > 100 * MIB
        root.switch("nvidia-kernel-open-dkms", "")
        assert "free on /var, wanted" in refused(host, *DRIVER)
        host.ballast.write_bytes(b"")
        ended(host.install(*DRIVER), 0)
        ended(host.call("rollback", "--yes"), 0)
        assert host.state() == before
