"""Files that a pass has read, looked at by stat: whatever way they change."""

import contextlib
import os
import random
import shutil
import time

import pytest

from hostagent.host import watched_files
from hostagent.host.paths import Root
from hostagent.host.watched_files import FileWatch, Places


@pytest.fixture
def folder(tmp_path):
    """A host's configuration as people and programs leave it, and as a ConfigMap's volume has it."""
    (tmp_path / "plain").write_text("a")
    (tmp_path / "..1").mkdir()
    (tmp_path / "..1/mapped").write_text("a")
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "mapped").symlink_to("..data/mapped")
    return tmp_path


def rename(folder):
    (folder / "new").write_text("b")
    (folder / "new").rename(folder / "plain")


def swap(folder):
    (folder / "..2").mkdir()
    (folder / "..2/mapped").write_text("b")
    (folder / "..data_tmp").symlink_to("..2")
    (folder / "..data_tmp").rename(folder / "..data")


CHANGES = {
    "another text": lambda folder: (folder / "plain").write_text("b"),
    "another file under its name": rename,
    "a ConfigMap's volume": swap,
    "another mode": lambda folder: (folder / "plain").chmod(0o600),
    "gone": lambda folder: (folder / "plain").unlink(),
    "there at last": lambda folder: (folder / "absent").write_text(""),
    "a file more": lambda folder: (folder / "drop-in.conf").write_text(""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_once(folder, change):
    files = FileWatch()
    files.watch(Places(Root("/")), [str(folder), *(f"{folder}/{name}" for name in ("plain", "mapped", "absent"))], since=time.time() + 1)
    assert not files.look()
    CHANGES[change](folder)
    assert files.look()
    assert not files.look()


def test_what_changed_while_the_first_pass_read_it_counts_as_changed(folder):
    files, path = FileWatch(), str(folder / "plain")
    os.utime(path, (1, 1))
    time.sleep(0.05)
    began = time.time()
    (folder / "plain").write_text("b")
    files.watch(Places(Root("/")), [path, str(folder / "mapped")], since=began)
    assert files.look()
    assert not files.look()


def test_what_changed_between_two_calls_is_not_lost(folder):
    files = FileWatch()
    files.watch(Places(Root("/")), [str(folder / "plain")])
    (folder / "plain").write_text("bb")
    files.watch(Places(Root("/")), [str(folder / "plain")])
    assert files.look()


def test_what_may_hang_is_left_alone(folder, monkeypatch):
    monkeypatch.setattr(watched_files, "_hanging", lambda: (str(folder),))
    files = FileWatch()
    files.watch(Places(Root("/")), [str(folder / "plain"), f"{folder}-beside"])
    assert len(files) == 1


def test_a_link_of_a_host_that_is_mounted_elsewhere_is_followed_inside_it(folder):
    (folder / "etc").mkdir()
    (folder / "etc/real").write_text("a")
    (folder / "etc/link").symlink_to("/etc/real")
    files = FileWatch()
    files.watch(Places(Root(str(folder))), ["/etc/link"])
    (folder / "etc/real").write_text("bb")
    assert files.look()


def turned(folder, rng):
    """Something of a small tree is made, changed, moved, linked or removed."""
    place, other = (folder.joinpath(*rng.choices("abc", k=rng.choice((1, 1, 2, 3)))) for _ in range(2))
    with contextlib.suppress(OSError):
        match rng.randrange(6):
            case 0:
                place.mkdir(parents=True)
            case 1:
                place.write_text(str(rng.random()))
            case 2:
                place.symlink_to(other)
            case 3:
                place.rename(other)
            case 4:
                place.unlink()
            case _:
                shutil.rmtree(place)


@pytest.mark.parametrize("seed", range(20))
def test_no_change_is_lost_whether_or_not_a_path_was_there(tmp_path, seed):
    """Beside somebody who asks for each path each time."""
    rng, files = random.Random(seed), FileWatch()
    paths = [str(tmp_path.joinpath(*names)) for names in ("a", "b", "ab", "bc", "abc", "cab", "cc", "bcc")]
    for _ in range(8):
        turned(tmp_path, rng)
    files.watch(Places(Root("/")), paths)
    for _ in range(60):
        places = [*paths, *(os.path.realpath(path) for path in paths)]
        before = [watched_files._mark(path) for path in places]
        for _ in range(rng.choice((0, 1, 1, 3))):
            turned(tmp_path, rng)
        after = [watched_files._mark(path) for path in places]
        found = files.look()
        assert found or before[: len(paths)] == after[: len(paths)]
        assert not files.look()
        if rng.random() < 0.2:
            files.watch(Places(Root("/")), paths)
