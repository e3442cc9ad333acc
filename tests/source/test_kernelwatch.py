"""The kernel log followed from pass to pass where its device is denied: by syslog(2), which prints the whole ring each time."""

import json

import pytest

from hostagent.facts.unread import Unread
from hostagent.source import kernellog, kernelwatch
from hostagent.source.kernellog import Record
from hostagent.source.kernelwatch import LOOK_S, KernelWatch
from hostagent.source.paths import Root

FIRST = "<5>[    0.000000] Linux version 6.8.0-87-generic (buildd@lcy02) #88-Ubuntu SMP\n"
USB = "<6>[    4.000000] usb 1-1: new device\n"
XID = "<3>[{at:12.6f}] NVRM: Xid (PCI:0000:1b:00): {code}, pid=1, name=x\n"
MESSAGE = "NVRM: Xid (PCI:0000:1b:00): {code}, pid=1, name=x"


class Ring:
    """A host whose device is denied; `text` is what the system call prints now."""

    def __init__(self):
        self.text, self.at = FIRST + USB, 100.0

    def __call__(self):
        return Unread("denied", "syslog(2): not permitted") if self.text is None else self.text.encode()

    def look(self, watch):
        self.at += LOOK_S
        return watch.look(self.at)


@pytest.fixture
def ring(monkeypatch):
    def denied(*_):
        raise PermissionError(1, "Operation not permitted")

    made = Ring()
    monkeypatch.setattr(Root, "open_device", denied)
    monkeypatch.setattr(kernelwatch, "system_call", made)
    monkeypatch.setattr(kernellog, "system_call", made)
    return made


def passed(watch):
    watch.passed(kernellog.kernel_log(Root("/"), lambda *_: Unread("absent")))


def test_a_record_that_a_reader_takes_is_heard_once(ring):
    watch = KernelWatch(Root("/"))
    assert (watch.is_open, watch.descriptor) == (True, -1)
    assert not ring.look(watch)
    passed(watch)
    ring.text += XID.format(at=9, code=79) + "<6>[   10.000000] usb 1-2: new device\n"
    assert ring.look(watch)
    assert not ring.look(watch)
    answer = watch.answer()
    assert (answer["lines"], answer["complete"]) == ([[9.0, MESSAGE.format(code=79)]], True)


def test_what_nobody_reads_begins_no_pass(ring):
    watch = KernelWatch(Root("/"))
    ring.look(watch)
    ring.text += "<6>[   10.000000] usb 1-2: new device\n"
    assert not ring.look(watch)


def test_nothing_is_asked_between_two_looks(ring):
    watch = KernelWatch(Root("/"))
    ring.look(watch)
    ring.text += XID.format(at=9, code=79)
    assert not watch.look(ring.at + LOOK_S / 2)
    assert watch.look(ring.at + LOOK_S)


@pytest.mark.parametrize("begins", ["", FIRST])
def test_the_ring_may_be_empty_or_have_one_line(ring, begins):
    ring.text = begins
    watch = KernelWatch(Root("/"))
    ring.look(watch)
    passed(watch)
    ring.text += XID.format(at=9, code=79)
    assert ring.look(watch)
    assert [line[1] for line in watch.answer()["lines"]] == [MESSAGE.format(code=79)]


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(XID.format(at=9, code=31), id="the ring was overwritten"),
        pytest.param(FIRST + USB + "no time\n", id="no records"),
        pytest.param(None, id="no longer allowed"),
        pytest.param(
            f"{FIRST}{USB}<3>[    9.000000] usb\n<3>[    9.000000] {MESSAGE.format(code=31)}\n", id="two records of one microsecond"
        ),
    ],
)
def test_a_log_of_which_something_may_be_lost_is_not_complete(ring, later):
    watch = KernelWatch(Root("/"))
    ring.look(watch)
    passed(watch)
    ring.text = later
    ring.look(watch)
    assert watch.answer()["complete"] is False


def test_whatever_comes_is_heard_as_a_pass_would_read_it(ring):
    watch = KernelWatch(Root("/"))
    ring.look(watch)
    passed(watch)
    for number in range(30):
        ring.text += XID.format(at=10 + number, code=(13, 31, 43, 79)[number % 4])
        if number % 3 == 0:
            ring.look(watch)
    ring.look(watch)
    fresh = kernellog.kernel_log(Root("/"), lambda *_: Unread("absent"))
    assert json.loads(json.dumps(watch.answer())) == json.loads(json.dumps(fresh))


def test_a_made_tree_never_hears_of_this_machine(ring, tmp_path):
    assert not KernelWatch(Root(str(tmp_path))).is_open
    answer = kernellog.kernel_log(Root(str(tmp_path)), lambda *_: Unread("absent"))
    assert isinstance(answer, Unread)


def test_a_record_names_its_time_and_text():
    assert list(kernellog.parse_syslog(XID.format(at=9, code=79).encode())) == [Record(9.0, MESSAGE.format(code=79))]


LINE = "6,{number},{number}000000,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=1\n"


def test_a_trees_own_log_is_followed_through_whatever_is_done_to_its_file(tmp_path):
    log = tmp_path / "dev/kmsg"
    log.parent.mkdir()
    log.write_text(LINE.format(number=1))
    watch = KernelWatch(Root(str(tmp_path)))
    watch.passed({"lines": [], "complete": True, "oldest": None})
    assert not watch.look(1.0)
    (tmp_path / "new").write_text(log.read_text() + LINE.format(number=2))
    (tmp_path / "new").rename(log)
    assert watch.look(2.0), "another file under its name"
    with log.open("a") as stream:
        stream.write("6,3,3000000,-;usb 1-1: new device\n")
    assert not watch.look(3.0), "nobody reads that"
    log.write_text(LINE.format(number=4))
    assert watch.look(4.0), "written anew"
    assert [at for at, _ in watch.answer()["lines"]] == [1.0, 2.0, 4.0]
    watch.close()


def test_where_no_pass_asks_for_the_log_it_is_not_kept_for_ever(tmp_path):
    log = tmp_path / "dev/kmsg"
    log.parent.mkdir()
    log.touch()
    watch = KernelWatch(Root(str(tmp_path)))
    for _ in range(3):
        with log.open("a") as stream:
            stream.writelines(LINE.format(number=number) for number in range(3000))
        assert watch.look(1.0)
    assert len(watch._heard) < 5000
    watch.close()
