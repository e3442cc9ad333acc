"""Who holds a file for himself: a lock that anybody gets who may read the file says nothing of a package manager."""

import fcntl
import os
import struct

import pytest

from hostagent.host.files import Files
from hostagent.host.paths import Root
from tests.attack import spaces

EVE = 4711
pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


def held(path, uid, flags, kind, where=(0, 0)):
    """Who holds `path`, as root sees it while a process of that user does; and that process."""
    waits, tells = os.pipe()

    def hold():
        descriptor = os.open(path, flags)
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, *where, 0))
            os.write(tells, b"held")
        except OSError:
            os.write(tells, b"refused")
        os.read(stays, 1)

    stays, ends = os.pipe()
    pid = spaces.start(hold, uid)
    os.close(tells)  # so that a holder which failed is the end of what it says
    said = os.read(waits, 10)
    holder = Files(Root(os.path.dirname(path))).lock_holder("/lock")
    spaces.end(pid)
    for descriptor in (waits, stays, ends):
        os.close(descriptor)
    return said, holder, pid


@pytest.fixture
def lock(tmp_path):
    spaces.reachable(tmp_path)
    path = tmp_path / "lock"
    path.write_text("x" * 10)
    path.chmod(0o644)
    return str(path)


@pytest.mark.parametrize("where", [(0, 0), (3, 2), (1 << 40, 1)])
def test_a_shared_lock_of_a_user_is_nobodys(lock, where):
    assert held(lock, EVE, os.O_RDONLY, fcntl.F_RDLCK, where)[:2] == (b"held", 0)


def test_a_user_gets_no_other(lock):
    assert held(lock, EVE, os.O_RDONLY, fcntl.F_WRLCK)[:2] == (b"refused", 0)


@pytest.mark.parametrize("where", [(0, 0), (3, 2)])
def test_the_lock_of_a_package_manager_is_told(lock, where):
    said, holder, pid = held(lock, 0, os.O_RDWR, fcntl.F_WRLCK, where)
    assert (said, holder) == (b"held", pid)
