"""Automatic restarts by records of process 1, from a dictionary as a host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.system.read_restarts import parse_restarts, read_restarts
from hostagent.facts.host import Machine, Process, Services, Unit
from hostagent.testing import host

NOW = 1_000_000.0
LINES = (
    "999990.000001 systemd[1]: kubelet.service: Scheduled restart job, restart counter is at 7.\n"
    "999980.5 systemd[1]: kubelet.service: Scheduled restart job, restart counter is at 6.\n"
    "999980.5 sudo[1]: slurmd.service: Scheduled restart job, restart counter is at 6.\n"
    "999980.5 systemd[812]: slurmd.service: Scheduled restart job, restart counter is at 6.\n"
    "999980.5 systemd[1]: backup.service: Scheduled restart job, restart counter is at 6.\n"
    "999970.5 systemd[1]: Started containerd.service.\n"
)
ASKED = (
    "run", "journalctl", "-b", "0", "-q", "--no-pager", "--no-hostname", "-n", "1000", "-o", "short-unix", "_PID=1",
    "MESSAGE_ID=5eb03494b6584870a536b337290809b3",
)  # fmt: skip


class Source:
    """A source with the clock, the user and the answer of journalctl; `asked` counts its questions to programs."""

    def __init__(self, uid=0, answer=None):
        self.uid, self.answer, self.asked = uid, answer, 0

    def host(self):
        return {"now": NOW, "uid": self.uid}

    def run(self, *argv, keep=None):
        assert ("run", *argv) == ASKED
        assert keep.kind == "matches"
        self.asked += 1
        return self.answer


class Output:
    exit_code, stdout, stderr = 0, LINES, ""


class Failed:
    exit_code, stdout, stderr = 1, "", "No journal files were found."


def daemon(name, ago, unit=None):
    return Process(7, name, (name,), NOW - ago, f"{name}.service" if unit is None else unit)


def unit(name, *, enabled):
    return Unit(name, exists=True, state="enabled", enabled=enabled, masked=False, active=enabled, text="")


def read(source, *processes, units=()):
    machine = Machine(**(dict.fromkeys(Machine.__dataclass_fields__, Unread("denied")) | {"processes": processes}))
    return read_restarts(source, {Machine: machine, Services: Services(units)}.get).units


def test_the_journal_is_asked_while_a_daemon_is_young_or_down():
    old = Source(answer=Output)
    assert (read(old, daemon("kubelet", 90_000)), old.asked) == ((), 0)
    assert (read(old, daemon("kubelet", 90_000), units=(unit("docker", enabled=False),)), old.asked) == ((), 0)
    for processes, units in (((daemon("kubelet", 3),), ()), ((), (unit("slurmd", enabled=True),))):
        young = Source(answer=Output)
        (found,) = read(young, *processes, units=units)
        assert (found.name, found.times, young.asked) == ("kubelet", (999980.5, 999990.000001), 1)


def test_an_untrusted_process_is_no_reason_to_ask():
    source = Source(answer=Output)
    assert read(source, daemon("kubelet", 3, Unread("denied"))) == ()
    assert source.asked == 0


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (Source(uid=1000, answer=Output), "not-supported"),
        (Source(answer=Unread("timeout", "late")), "timeout"),
        (Source(answer=Failed), "absent"),
        (Source(answer=Unread("absent", "no program journalctl")), "absent"),
    ],
)
def test_what_the_journal_does_not_say_is_unread(source, why):
    assert read(source, daemon("containerd", 3)).why == why


def test_an_image_restarts_nothing():
    source = host({}, "image")
    nothing = Unread("not-running", "an image")
    machine = Machine(**dict.fromkeys(Machine.__dataclass_fields__, nothing))
    assert read_restarts(source, {Machine: machine, Services: Services(())}.get).units.why == "not-running"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_any_output_is_restarts_of_known_units(text):
    assert parse_restarts(text) == () or all(one.times for one in parse_restarts(text))
