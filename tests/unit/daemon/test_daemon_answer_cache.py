"""What outlives a pass: an answer, until the files that it was made from change."""

import os
import time

import pytest

from hostagent.core.unread import Unread
from hostagent.daemon.answer_cache import AnswerCache
from hostagent.host import watched_files
from hostagent.host.paths import Root
from hostagent.host.watched_files import Places

MODULE = ("modinfo", "/lib/modules/6.8.0/nvidia.ko.zst")
CTK = ("run", "/usr/bin/nvidia-ctk", "--version")
RPM = ("run", "rpm", "--dbpath", "/var/lib/rpm", "-qa")
UNIT = ("run", "systemctl", "show")
ANSWERS = {MODULE: {"version": "580.1"}, CTK: {"stdout": "1.19"}, RPM: {"stdout": "a"}, UNIT: {"stdout": "Result=success"}}


@pytest.fixture
def places(tmp_path):
    """As old as a host's files are when somebody looks; the module below a link with a full path, as in a host that is mounted here."""
    for path in ("usr/lib/modules/6.8.0/nvidia.ko.zst", "usr/bin/nvidia-ctk", "var/lib/rpm/rpmdb.sqlite"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("before")
    (tmp_path / "lib").symlink_to("/usr/lib")
    return Places(Root(str(tmp_path)))


def kept(places, answers=ANSWERS, since_s=10.0):
    cache = AnswerCache(places)
    cache.keep(places, answers, time.time() + since_s)
    return cache


def test_answers_of_programs_and_of_modules_outlive_a_pass_and_no_others(places):
    others = {("read", "/etc/fstab"): b"", ("run", "/usr/bin/nvidia-ctk", "-x"): Unread("error", "ended"), ("kernel_log",): {}}
    assert kept(places, {**ANSWERS, **others}).answers() == ANSWERS


@pytest.mark.parametrize(
    ("path", "question"),
    [
        ("usr/lib/modules/6.8.0/nvidia.ko.zst", MODULE),
        ("usr/bin/nvidia-ctk", CTK),
        ("var/lib/rpm/rpmdb.sqlite", RPM),
        ("var/lib/rpm/Packages", RPM),
    ],
)
def test_an_answer_ends_with_what_it_was_made_from(places, tmp_path, path, question):
    cache = kept(places)
    new = tmp_path / "new"
    new.write_text("before")  # as long as the old one, and as old
    os.utime(new, ns=(0, 0))
    new.replace(tmp_path / path)
    assert cache.answers().keys() == ANSWERS.keys() - {question}


def test_a_file_that_changed_after_the_pass_began_may_not_be_the_one_that_was_read(places, tmp_path):
    began = time.time()
    time.sleep(3 * watched_files._TICK_S)
    (tmp_path / "usr/lib/modules/6.8.0/nvidia.ko.zst").write_text("other")
    cache = AnswerCache(places)
    cache.keep(places, ANSWERS, began)
    assert MODULE not in cache.answers()


def test_a_file_that_may_hang_is_read_by_each_pass(places, tmp_path, monkeypatch):
    monkeypatch.setattr(watched_files, "_hanging", lambda: (str(tmp_path / "usr/lib"),))
    assert kept(Places(places._root)).answers().keys() == ANSWERS.keys() - {MODULE}


def test_what_systemd_says_ends_with_any_configuration(places):
    cache = kept(places)
    cache.configuration_changed()
    assert cache.answers().keys() == ANSWERS.keys() - {UNIT}
