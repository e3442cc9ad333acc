"""The directory of one who has no namespace: dead owners' go, and nothing else does."""

import os

import pytest

from hostagent.host import leftover


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_it_is_there_for_its_owner_alone_and_goes_in_the_end(place):
    with leftover.directory(0) as path:
        assert os.stat(path).st_mode & 0o777 == 0o700
        leftover.remove_orphans()
        assert [os.path.join(place, name) for name in os.listdir(place)] == [path]
        open(f"{path}/file", "w").close()
    assert os.listdir(place) == []


def test_a_dead_owners_goes_whatever_is_in_it(place):
    old = place / "hostagent-copy-x"
    (old / "a/b").mkdir(parents=True)
    (old / "a/b/file").touch()
    (place / "kept").touch()
    (old / "link").symlink_to(place / "kept")
    os.mkfifo(old / "fifo")
    with leftover.directory(0):
        assert not old.exists()
    assert os.listdir(place) == ["kept"]


def test_a_link_is_not_followed(place):
    (place / "elsewhere").mkdir()
    (place / "elsewhere/file").touch()
    (place / "hostagent-copy-x").symlink_to(place / "elsewhere")
    os.mkfifo(place / "hostagent-copy-y")
    (place / "hostagent-copy-z").touch()
    leftover.remove_orphans()
    assert (place / "elsewhere/file").exists()
    assert len(os.listdir(place)) == 4, "none of these is a directory of ours"


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's directory needs root: run the tests as root")
def test_another_users_stays(place):
    (place / "hostagent-copy-x").mkdir()
    os.chown(place / "hostagent-copy-x", 65534, 65534)
    leftover.remove_orphans()
    assert os.listdir(place) == ["hostagent-copy-x"]


def test_a_directory_that_another_run_removes_first_is_made_again(place, monkeypatch):
    import tempfile

    made = []

    def make(prefix, usual=tempfile.mkdtemp):
        made.append(usual(prefix=prefix))
        if len(made) < 3:
            leftover.remove_orphans()  # as another process would, before its lock is held
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", make)
    with leftover.directory(0) as path:
        assert (path, len(made)) == (made[-1], 3)
        assert os.path.isdir(path)
