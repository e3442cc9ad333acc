"""The kernel log followed from pass to pass where its device is denied: by syslog(2), which prints the whole ring each time."""

import json

import pytest

from hostagent.core.unread import Unread
from hostagent.host import kernel_log, kernel_watch
from hostagent.host.kernel_log import Record
from hostagent.host.kernel_watch import LOOK_S, KernelWatch
from hostagent.host.paths import Root

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
    monkeypatch.setattr(kernel_watch, "system_call", made)
    monkeypatch.setattr(kernel_log, "system_call", made)
    return made


def passed(watch):
    watch.start_from(kernel_log.read_both(Root("/"), lambda *_: Unread("absent")).kernel_log)


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
    fresh = kernel_log.read_both(Root("/"), lambda *_: Unread("absent")).kernel_log
    assert json.loads(json.dumps(watch.answer())) == json.loads(json.dumps(fresh))


def test_a_made_tree_never_hears_of_this_machine(ring, tmp_path):
    assert not KernelWatch(Root(str(tmp_path))).is_open
    answer = kernel_log.read_both(Root(str(tmp_path)), lambda *_: Unread("absent")).kernel_log
    assert isinstance(answer, Unread)


def test_a_record_names_its_time_and_text():
    assert list(kernel_log.parse_syslog(XID.format(at=9, code=79).encode())) == [Record(9.0, MESSAGE.format(code=79))]


LINE = "6,{number},{number}000000,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=1\n"


def test_a_trees_own_log_is_followed_through_whatever_is_done_to_its_file(tmp_path):
    log = tmp_path / "dev/kmsg"
    log.parent.mkdir()
    log.write_text(LINE.format(number=1))
    watch = KernelWatch(Root(str(tmp_path)))
    watch.start_from({"lines": [], "complete": True, "oldest": None})
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
    assert len(watch._log._records) < 5000
    watch.close()


LINK_LINES = (
    "mlx5_core 0000:0c:00.0 ens1f0np0: Link down",
    "mlx5_core 0000:0c:00.0 ens1f0np0: Link up",
    "mlx4_en: eth0: Link Down",
    "ixgbe 0000:01:00.0 eth0: NIC Link is Down",
    "i40e 0000:02:00.0 eth0: NIC Link is Up, 40 Gbps Full Duplex, Flow Control: None",
    "ice 0000:17:00.0 ens1f0: NIC Link is Down",
    "bnxt_en 0000:5e:00.0 eth0: NIC Link is Down",
    "igb 0000:07:00.0 eno1: igb: eno1 NIC Link is Down",
    "tg3 0000:04:00.0 eno1: Link is down",
    "bond0: (slave eth0): link status definitely down, disabling slave",
    "bond0: (slave eth0): interface is now down",
    "bond0: link status definitely down for interface eth0, disabling it",
    "bonding: bond0: link status definitely up for interface eth0, 10000 Mbps full duplex",
    "bond0: interface eth0 is now down",
)
OTHER_LINES = (
    "br0: port 1(veth1234) entered disabled state",
    "cali1: port 1(eth0) entered blocking state",
    "IPv6: ADDRCONF(NETDEV_CHANGE): veth1: link becomes ready",
    "eth0: renamed from veth1234",
    "ata1: SATA link down (SStatus 0 SControl 300)",
    "python3[17]: segfault at 0 ip 0 sp 0 error 4 in Link down",
    "usb 1-1: new device",
)


@pytest.fixture
def followed(tmp_path):
    """A tree's own log, and what follows it."""
    log = tmp_path / "dev/kmsg"
    log.parent.mkdir()
    log.touch()
    watch = KernelWatch(Root(str(tmp_path)))
    watch.start_from({"lines": [], "complete": True, "oldest": None})
    yield log, watch
    watch.close()


@pytest.mark.parametrize("message", LINK_LINES)
def test_a_line_about_a_link_counts_and_is_not_kept(followed, message):
    log, watch = followed
    log.write_text(f"6,1,9000000,-;{message}\n")
    assert watch.look(1.0) == {"link"}
    assert not watch.look(2.0)
    assert watch.answer()["lines"] == []


@pytest.mark.parametrize("message", OTHER_LINES)
def test_a_line_of_a_pods_interface_does_not_count(followed, message):
    log, watch = followed
    log.write_text(f"6,1,9000000,-;{message}\n")
    assert not watch.look(1.0)


def test_records_and_lines_about_links_are_told_apart(followed):
    log, watch = followed
    log.write_text(LINE.format(number=1) + f"6,2,9000000,-;{LINK_LINES[0]}\n6,3,9000000,-;{OTHER_LINES[0]}\n")
    assert watch.look(1.0) == {"record", "link"}
    assert [at for at, _ in watch.answer()["lines"]] == [1.0]


WORD = "mlx5_core 0000:19:00.0: poll_health:837:(pid 0): device's health compromised - reached miss count"


def test_other_words_start_a_pass_and_are_added_to_their_own_answer(followed):
    log, watch = followed
    watch.start_from({"lines": [], "complete": True, "oldest": 0.0}, {"lines": [[1.0, "T1", "a"]], "complete": True, "oldest": 0.0})
    with log.open("a") as stream:
        stream.write(f"4,9,9000000,-,caller=C4;{WORD}\n")
    assert watch.look(1.0) == {"record"}
    assert WORD not in str(watch.answer())
    assert watch.words()["lines"] == [[1.0, "T1", "a"], [9.0, "C4", WORD]]
    assert watch.words()["complete"] is True
