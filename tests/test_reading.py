"""One pass: each question once, only what is asked for, and an end when it was promised, whatever hangs or computes."""

import gc
import json
import os
import re
import signal
import time
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import pytest

from hostagent.cli.check import rendered
from hostagent.cli.schemas import published
from hostagent.core.answers import MIB
from hostagent.core.deadline import COMPUTING_S, processor_limit, time_limit, within
from hostagent.core.errors import HostagentError, OutOfTime
from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_nvidia_worker import NVIDIA
from hostagent.engine import collection as reading
from hostagent.engine import evaluate
from hostagent.engine.check import check
from hostagent.engine.collect import ALL_READERS, READERS, collect, lanes
from hostagent.engine.collection import Collected, InProcess
from hostagent.engine.collector_process import CollectorProcess, Place
from hostagent.engine.pipeline import HEAD, Prepared, judge, prepare
from hostagent.engine.questions import DOMAINS
from hostagent.engine.target import Evidence, open_host
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Identity, Machine, Storage
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.host import recording
from hostagent.host.source import Source
from hostagent.host.worker_reading import read_lane
from hostagent.outputs import FORMATS
from hostagent.profiles import profile
from hostagent.sandbox import child
from hostagent.sandbox.worker import Worker
from hostagent.sandbox.worker_spec import CALL_S, Lane
from tests.children import children, running, until
from tests.judged import judged

HOSTS = sorted(path.parent for path in (Path(__file__).parent / "hosts").glob("*/tape.json"))
H100 = Path(__file__).parent / "hosts/hgx-h100-ubuntu2404"


class Answering:
    """A live host that has nothing but what it is made with; a function is called for its answer."""

    kind = "live"

    def __init__(self, answers):
        self._answers = {"host": {"hostname": "n1", "boot_id": "b", "now": 5.0, "release": "6.8.0"}, **answers}
        self.asked = []

    def ask(self, *question):
        self.asked.append(question)
        answer = self._answers.get(question[0], Unread("absent", "none"))
        return answer if isinstance(answer, Unread) or not callable(answer) else answer()


def replay(path=H100, **answers):
    recorded = recording.load(str(path))
    return recording.ReplayBackend(replace(recorded, answers={**recorded.answers, **answers}))


def forever():
    while True:
        pass


def hang():
    time.sleep(60)


# A question is asked once.


@pytest.mark.parametrize("path", HOSTS, ids=lambda path: path.name)
def test_no_question_goes_to_the_host_twice(path):
    backend = Noting(replay(path))
    collect(Source(backend), ALL_READERS)
    assert sorted(backend.asked) == sorted(set(backend.asked))


class Noting:
    def __init__(self, backend):
        self._backend = backend
        self.kind = backend.kind
        self.asked = []

    def ask(self, *question):
        self.asked.append(question)
        return self._backend.ask(*question)


def test_two_readers_see_one_answer_of_a_host_that_changes():
    source = Source(Answering({"processes": iter([[], [{"pid": 1}]]).__next__}))
    assert source.processes() == source.processes() == []


def test_an_unread_names_its_question():
    answer = Source(Answering({})).text("/etc/none")
    assert (answer.why, answer.question) == ("absent", "read /etc/none")


# The deadline holds.


def forked(answers, deadline_s, kinds=("Identity", "Os", "Machine"), **options):
    reading = CollectorProcess(lambda _: Answering(answers), Place("/", "live"), kinds, within(deadline_s), **options)
    reading.start()
    return reading


@pytest.mark.alone
@pytest.mark.parametrize("never", [hang, forever, lambda: os.kill(os.getpid(), signal.SIGSTOP)])
def test_a_question_that_never_ends_costs_the_deadline_and_is_named(never):
    reading = forked({"processes": never}, 0.5)
    started = time.monotonic()
    facts = reading.collect().facts
    assert time.monotonic() - started < 8
    assert facts.of(Identity).hostname == "n1", "what came before the deadline is kept"
    late = facts.of(Machine)
    assert (late.why, late.question) == ("timeout", "processes")
    assert late.detail == "the deadline of 0.5 s for the whole run has passed in 'processes'"
    reading.close()
    assert until(_no_children), children()


@pytest.mark.alone
def test_a_question_that_hangs_costs_its_own_answer_and_no_other_is_asked_twice(tmp_path):
    """A file counts what was asked: the processes that ask are others."""
    asked = tmp_path / "asked"

    def once(word, answer):
        with asked.open("a") as stream:
            stream.write(f"{word}\n")
        return answer() if callable(answer) else answer

    answers = {name: lambda name=name, answer=answer: once(name, answer) for name, answer in {"processes": hang, "sockets": []}.items()}
    started = time.monotonic()
    reading = forked({**answers, "host": lambda: once("host", {"hostname": "n1"})}, 30)
    facts, timings, _ = reading.collect()
    assert time.monotonic() - started < 5
    machine = facts.of(Machine)
    assert machine.processes == Unread("timeout", "processes: no answer in 2 s")
    assert (machine.processes.question, machine.listening_sockets, facts.of(Identity).hostname) == ("processes", (), "n1")
    assert set(timings) == {"Identity", "Os", "Platform", "Services", "Machine"}
    assert sorted(asked.read_text().split()) == ["host", "processes", "sockets"]
    assert reading.answers["processes",].why == "timeout"
    reading.close()
    assert until(_no_children), children()


@pytest.mark.alone
def test_the_fourth_question_that_hangs_ends_the_reading():
    started = time.monotonic()
    reading = forked({"statvfs": hang}, 30, ("Identity", "Storage"))
    facts = reading.collect().facts
    reading.close()
    assert time.monotonic() - started < 12
    assert facts.of(Storage) == Unread("timeout", "the fourth question that hangs: statvfs /var: no answer in 2 s")
    assert facts.of(Identity).hostname == "n1"


@pytest.mark.alone
def test_a_question_that_computes_is_not_one_that_hangs():
    reading = forked({"processes": lambda: spin(3) or []}, 30)
    facts = reading.collect().facts
    reading.close()
    assert facts.of(Machine).processes == ()


@pytest.mark.alone
def test_a_reading_process_that_dies_costs_what_it_had_not_read_and_names_the_question():
    reading = forked({"processes": lambda: os.kill(os.getpid(), signal.SIGKILL)}, 5)
    facts = reading.collect().facts
    reading.close()
    assert facts.of(Identity).hostname == "n1"
    assert facts.of(Machine) == Unread("error", "the reading process ended in 'processes'")


@pytest.mark.alone
def test_a_reading_process_that_dies_before_it_asks_names_no_question():
    reading = CollectorProcess(lambda _: os.kill(os.getpid(), signal.SIGKILL), Place("/", "live"), ("Identity",), within(5))
    reading.start()
    facts = reading.collect().facts
    reading.close()
    assert facts.of(Identity) == Unread("error", "the reading process ended before the first question")


@pytest.mark.alone
def test_a_bug_of_the_reading_process_costs_what_it_had_not_read_and_leaves_its_traceback():
    def build(_):
        raise LookupError("no such host")

    reading = CollectorProcess(build, Place("/", "live"), HEAD, within(5))
    reading.start()
    facts = reading.collect().facts
    reading.close()
    crashed = facts.of(Identity)
    assert crashed == Unread("error", "the reading process crashed: LookupError: no such host")
    assert crashed.evidence[-1] == "LookupError: no such host"


LIMITS = [(time_limit, signal.SIGALRM, signal.ITIMER_REAL), (processor_limit, signal.SIGPROF, signal.ITIMER_PROF)]


@pytest.mark.parametrize(("limit", "number", "_"), LIMITS)
def test_a_limit_holds_where_the_starter_has_blocked_its_signal(limit, number, _):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        with pytest.raises(OutOfTime), limit(0.05):
            forever()
        assert number in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.alone
def test_a_recording_that_ends_early_holds_the_question_that_hung():
    reading = forked({"processes": hang}, 0.3)
    reading.collect()
    answers = reading.answers
    reading.close()
    assert answers["host",]["hostname"] == "n1"
    assert answers["processes",].why == "timeout"


@pytest.mark.alone
def test_what_the_child_answers_is_what_the_host_answered():
    answers = {"read": b"\xff\x00", "list": ["a", "b"], "statvfs": Unread("denied", "no")}
    reading = forked(answers, 5, kinds=())
    facts, timings, _ = reading.collect()
    heard = reading.answers
    reading.close()
    direct = InProcess(Answering(answers))
    expected = direct.collect().facts
    assert heard == direct.answers
    assert [repr(facts.of(kind)) for kind in (Identity, Os, Kernel, Machine)] == [
        repr(expected.of(kind)) for kind in (Identity, Os, Kernel, Machine)
    ]
    assert set(timings) == set(READERS)


@pytest.mark.alone
def test_a_program_that_the_host_is_asked_for_ends_with_the_pass():
    from hostagent.host.programs import run

    reading = forked({"processes": lambda: run(("sleep", "1000.125"), 100)}, 0.5)
    assert until(lambda: running("sleep", "1000.125"))
    reading.collect()
    reading.close()
    assert until(lambda: not running("sleep", "1000.125"))


@pytest.mark.parametrize("never", [hang, forever])
def test_a_replay_that_computes_ends_at_its_deadline(never):
    started = time.monotonic()
    facts, *_ = InProcess(Answering({"processes": never}), deadline=within(0.3)).collect()
    assert time.monotonic() - started < 8
    assert facts.of(Identity).hostname == "n1"
    assert facts.of(Machine) == Unread("timeout", "0.3 s have passed, the last question was 'processes'")
    assert facts.of(Gpu).why == "timeout"
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


@pytest.fixture
def no_callbacks():
    """Of a collection: an alarm that meets one is lost with it, and hypothesis has one."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_callbacks")
def test_loading_a_snapshot_counts_against_its_deadline(tmp_path):
    recorded = recording.load(str(H100))
    answers = {**recorded.answers, **{f"read /{number}": {"text": ""} for number in range(300_000)}}
    (tmp_path / "tape.json").write_text(recording.dumps(recording.Tape(1, "test", 1, recorded.kind, True, answers)))
    with pytest.raises(HostagentError, match=r"tape.json was not loaded in 0\.1 s"):
        open_host(Evidence(snapshot=str(tmp_path / "tape.json"), deadline_s=0.1)).__enter__()
    with open_host(Evidence(snapshot=str(H100), deadline_s=0.4)) as reading:
        time.sleep(0.4)
        facts = reading.collect().facts
    assert facts.of(Gpu).detail.startswith("0.4 s have passed")


def test_a_deadline_that_is_over_before_the_first_reader_costs_facts_and_no_more(monkeypatch):
    """The alarm comes where no reader is under way: on the way in, on the way out."""

    def late(*_, **__):
        raise OutOfTime("0.4 s have passed")

    for reached in (late, lambda source, kinds, **more: (collect(source, kinds, **more), late())):
        monkeypatch.setattr(reading, "collect", reached)
        facts, *_ = InProcess(recording.ReplayBackend(recording.load(str(H100))), ("Gpu",)).collect()
        assert facts.of(Gpu).why == "timeout"


@pytest.mark.parametrize(("limit", "_", "timer"), LIMITS)
def test_a_limit_within_a_limit_ends_neither(limit, _, timer):
    """Nor does it end the timer of a program that has one."""
    started = time.monotonic()
    with pytest.raises(OutOfTime, match=r"0\.3 s( of processor time)? have passed"), limit(0.3):
        _limited_and_late(limit)
    assert time.monotonic() - started < 8
    assert signal.getitimer(timer) == (0, 0)


def _limited_and_late(limit):
    with limit(0.1):
        pass
    spin(8)


@pytest.mark.parametrize("shorter", [time_limit, processor_limit])
def test_limits_of_both_clocks_hold_within_each_other(shorter):
    for outer, inner in ((time_limit, processor_limit), (processor_limit, time_limit)):
        shown = "0.2 s of processor time have passed" if shorter is processor_limit else "0.2 s have passed"
        with pytest.raises(OutOfTime, match=shown), outer(0.2 if outer is shorter else 60), inner(0.2 if inner is shorter else 60):
            forever()
        assert signal.getitimer(signal.ITIMER_REAL) == signal.getitimer(signal.ITIMER_PROF) == (0, 0)
        assert signal.getsignal(signal.SIGALRM) == signal.getsignal(signal.SIGPROF) == signal.SIG_DFL


def test_a_processor_limit_is_not_met_by_waiting():
    with processor_limit(0.2):
        time.sleep(0.6)


@pytest.mark.alone
def test_a_child_has_no_limit_of_its_parent():
    with processor_limit(60), time_limit(60):
        pid = os.fork()
        if pid == 0:
            os._exit(signal.getitimer(signal.ITIMER_PROF) != (0, 0) or signal.getitimer(signal.ITIMER_REAL) != (0, 0))
        assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize(("limit", "_", "timer"), LIMITS)
def test_a_limit_that_passes_on_the_way_out_leaves_no_timer(limit, _, timer):
    """Each length ends at another moment of leaving the block; a timer left behind would raise in whatever comes next."""
    left = 0
    for microseconds in range(900, 1050, 1):
        try:
            with limit(0.001):
                spin(microseconds / 1e6)
        except OutOfTime:
            left += signal.getitimer(timer) != (0, 0)
    assert left == 0


def spin(seconds):
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        pass


def endless(name):
    @check(title="It ends", severity="critical", since="0.1", remedy="End it.")
    def judge_it(identity: Identity):
        forever()
        yield

    return judge_it._replace(id=name)


def immediate(name):
    @check(title="It is there", severity="critical", since="0.1", remedy="Be there.")
    def judge_it(identity: Identity):
        return iter(())

    return judge_it._replace(id=name)


def test_a_check_that_computes_for_ever_is_unknown_alone():
    loaded = profile.load(site_file="")
    prepared = Prepared(loaded, (immediate("a.first"), endless("b.endless"), immediate("c.late")), HEAD, False, 0)
    reading = InProcess(Answering({}), HEAD)
    collected = reading.collect()
    started = time.process_time()
    report = judge(collected, reading, prepared)
    assert time.process_time() - started < COMPUTING_S + 1
    assert [(one.id, one.outcome, one.code) for one in report.findings] == [
        ("a.first", "pass", ""),
        ("b.endless", "unknown", "unread-timeout"),
        ("c.late", "pass", ""),
    ]
    assert report.verdict.single_node == "unknown"


# Only what is asked for is read.


def test_a_run_of_one_check_asks_for_what_it_needs_and_for_the_head_alone():
    backend = Noting(replay())
    report = judged(backend, profile.load(site_file=""), ["host.hostname"])
    assert len(backend.asked) < 40
    assert not [
        question
        for question in backend.asked
        if any(lane.has(*question[:2], *[""][: 2 - len(question)]) for lane in DOMAINS.lanes.values())
    ]
    assert (report.host.os, report.host.kernel, report.host.arch) == ("Ubuntu 24.04.3 LTS", "6.8.0-87-generic", "x86_64")
    assert report.host.hostname
    assert report.boot_id
    assert report.facts["gpus"] == {"unread": "not-recorded", "detail": "Gpu: not asked for"}
    assert report.partial


def test_the_workers_of_a_run_are_those_that_its_checks_need():
    loaded = profile.load(site_file="")
    assert lanes(prepare(loaded, ["host.hostname"]).kinds) == ()
    assert lanes(prepare(loaded, ["gpu.present"]).kinds) == ("nvidia",)
    assert lanes(prepare(loaded, ["kubelet.config_accepted"]).kinds) == ()
    assert lanes(prepare(loaded).kinds) == ("nvidia", "rdma", "network")


def test_every_reader_declares_what_it_is_read_from_and_which_lanes_it_asks():
    """Else ``--only`` would start no worker for it, or read it without what it needs."""
    needs, asked = {name: set() for name in ALL_READERS}, {name: set() for name in ALL_READERS}
    for path in HOSTS:
        backend, facts = replay(path), {}
        for name in ALL_READERS:
            _read(name, backend, facts, needs[name], asked[name])
    assert needs == {name: set(reader.needs) for name, reader in ALL_READERS.items()}, "say it in READERS, hostagent/engine/collect.py"
    assert asked == {name: set(reader.lanes) for name, reader in ALL_READERS.items()}, "say it in READERS, hostagent/engine/collect.py"


def _read(name, backend, facts, needs, asked):
    """`facts`: of this host, which readers before have asked for already."""
    noting = Noting(backend)

    def known(kind):
        needs.add(kind.__name__)
        if kind not in facts:
            facts[kind] = collect(Source(backend), [kind.__name__])[0].of(kind)
        return facts[kind]

    ALL_READERS[name].load()(Source(noting), known)
    for question in noting.asked:
        asked |= {lane.name for lane in DOMAINS.lanes.values() if lane.has(question[0], question[1] if len(question) > 1 else "")}


def test_a_tape_without_a_clock_was_read_when_it_was_recorded():
    without = replay(host={"json": {"hostname": "n1"}})
    assert judged(without, profile.load(site_file=""), recorded_at=12345.0).observed_at == 12345.0


def test_one_preparation_serves_many_passes():
    prepared = prepare(profile.load(site_file=""))
    verdicts = []
    for path in HOSTS[:3]:
        with open_host(Evidence(snapshot=str(path)), prepared.kinds) as reading:
            verdicts.append(judge(reading.collect(), reading, prepared).findings)
    assert verdicts == [judged(replay(path), prepared.loaded).findings for path in HOSTS[:3]]


@pytest.mark.alone
def test_a_host_that_is_left_early_leaves_no_process():
    with pytest.raises(KeyError), open_host(Evidence()):
        raise KeyError
    assert until(_no_children), children()


def _no_children():
    """The kernel takes its time to end a copy of a large process: what was killed and not waited for is reaped as the next child begins."""
    child._reap(*child._unreaped)
    return not children()


@pytest.mark.alone
def test_a_long_answer_takes_time_by_its_length_alone(monkeypatch):
    """Pipes are small where others have used up what a user may have of them: then it comes in thousands of pieces."""
    monkeypatch.setattr(child, "_set_pipe_size", lambda _: None)
    one = child.Child()
    one.start(lambda send: send(bytes(32 * MIB)))
    started, messages = time.monotonic(), []
    while not messages and time.monotonic() - started < 20:
        messages = one.receive(1)
    took_s = time.monotonic() - started
    one.close()
    assert [len(message) for message in messages] == [32 * MIB]
    assert took_s < 2


# Policy is no part of what is read.


#: What a process without rights is refused, by the key of the profile that makes it optional.
REFUSED = {
    "nvml": ("nvml ", "4 Insufficient Permissions (nvmlInit)"),
    "verbs": (("rdma verbs ", "rdma library"), "/dev/infiniband/uverbs0: operation not permitted"),
    "pci_configuration": (
        "pci_controls ",
        "/sys/bus/pci/devices/0000:16:01.0/config: what stands beyond its first 64 bytes takes CAP_SYS_ADMIN",
    ),
}


#: Checks that have another way to know: the persistence daemon runs.
HELD_OTHERWISE = {"nvml": {"gpu.persistence"}, "verbs": set(), "pci_configuration": set()}


@pytest.mark.parametrize("key", REFUSED)
def test_a_host_and_its_snapshot_get_one_verdict_where_the_profile_makes_a_question_optional(key):
    loaded = profile.load(site_file="", overlay={key: "optional"})
    recorded = dict(recording.load(str(H100)).answers)
    begins, detail = REFUSED[key]
    answers = {
        question: {"unread": "denied", "detail": detail} if question.startswith(begins) else answer for question, answer in recorded.items()
    }
    report = judged(replay(**answers), loaded)
    assert [one.id for one in report.findings if one.outcome == "unknown"] == []
    required = judged(replay(**answers), profile.load(site_file=""))
    assert [one.id for one in required.findings if one.outcome == "unknown"] != []
    usual = judged(replay(**recorded), loaded)
    unread = {one.id for one in required.findings if one.outcome == "unknown"}
    assert unread & {one.id for one in report.findings if one.outcome == "pass"} <= HELD_OTHERWISE[key], "what was not read passes nowhere"
    assert unread <= {one.id for one in usual.findings}


# Lanes.


def toy(name, answer):
    def ask_all(ask, files, root):
        ask((name, "word"), f"the word of {name}", answer)

    return Lane(
        name,
        (name,),
        (f"/proc/driver/{name}",),
        lambda _: True,
        lambda *_: None,
        lambda *_: CALL_S,
        NVIDIA.rights,
        ask_all,
        lambda: None,
        read_lane,
    )


@pytest.mark.alone
def test_a_lane_that_hangs_keeps_no_other_lane_waiting():
    workers = [Worker(toy("stuck", hang)), Worker(toy("quick", lambda: "here"))]
    for one in workers:
        one.start()
    started = time.monotonic()
    assert workers[1].ask("quick", "word") == "here"
    assert time.monotonic() - started < 0.9
    assert workers[0].ask("stuck", "word") == Unread("timeout", "the word of stuck: no answer in 1 s")
    for one in workers:
        one.close()
    assert until(_no_children), children()


@pytest.mark.alone
def test_a_process_with_threads_is_told_that_it_cannot_fork():
    import threading

    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        with pytest.raises(RuntimeError, match="found 2 threads in this process, wanted one"), open_host(Evidence()):
            pass
    finally:
        ended.set()
        thread.join()


@pytest.mark.alone
def test_a_thread_that_was_joined_is_none():
    import threading

    for _ in range(200):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        child.refuse_threads()


# What crashes keeps its place.


def broken(source, known):
    raise LookupError("of the reader")


def test_a_reader_that_crashes_leaves_its_traceback_with_each_finding():
    readers = {**READERS, "Identity": Broken()}
    facts, _ = collect(Source(replay()), readers=readers)
    prepared = prepare(profile.load(site_file=""), ["host.hostname"])
    (finding,) = judge(Collected(facts, {}), InProcess(replay()), prepared).findings
    assert (finding.outcome, finding.message) == ("unknown", "could not read: reading Identity crashed: LookupError: of the reader")
    assert re.fullmatch(r"(tests/)?test_reading.py:\d+ in broken", finding.evidence[-2])
    assert finding.evidence[-1] == "LookupError: of the reader"


class Broken:
    needs, lanes = (), ()

    def load(self):
        return broken


# A machine too busy to judge soon is judged all the same.


def test_who_waits_for_a_processor_judges_as_one_who_does_not(monkeypatch):
    """Each check waits as long as on a machine on which hundreds of others want its processor, and the conclusion a second."""
    calm = judged(replay(), profile.load(site_file=""))
    judging, concluding = evaluate._judged, evaluate.with_causes

    def waits(call, seconds):
        return lambda *what, **how: (time.sleep(seconds), call(*what, **how))[1]

    monkeypatch.setattr(evaluate, "_judged", waits(judging, 0.024))
    monkeypatch.setattr(evaluate, "with_causes", waits(concluding, 1))
    started = time.monotonic()
    assert judged(replay(), profile.load(site_file="")).findings == calm.findings
    assert time.monotonic() - started > COMPUTING_S + 1, "it did wait"


def test_a_check_during_which_something_else_works_once_is_judged(monkeypatch):
    """As Python's collector of garbage does in a program with a large heap: for long, and then not again."""
    calm = judged(replay(), profile.load(site_file=""))
    judging, works = evaluate._judged, iter([0.8])

    def judge_it(one, *what, **how):
        if one.id == "runtime.present":
            spin(next(works, 0))
        return judging(one, *what, **how)

    monkeypatch.setattr(evaluate, "_judged", judge_it)
    assert judged(replay(), profile.load(site_file="")).findings == calm.findings
    assert next(works, None) is None, "it did work"


# A report comes out.


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_that_takes_too_long_to_write_is_shortened(form, capsys):
    report = judged(replay(), profile.load(site_file="", overlay={"driver": {"version": "1.*", "install": ""}}))
    report = replace(report, findings=report.findings * 300)
    shown = rendered(report, form, within_s=0.001)
    assert capsys.readouterr().err == "Warning: the report was not written in 0.001 s of processor time and is shortened.\n"
    assert "driver" in shown
    assert len(shown) < 200_000
    if form == "json":
        jsonschema.Draft202012Validator(published("report")).validate(json.loads(shown))
        assert json.loads(shown)["verdict"] == {"single_node": "not_ready", "multi_node": "not_ready"}


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_on_a_host_with_an_endless_name_is_shortened_too(form):
    long = "\t" * 900_000
    report = judged(replay(), profile.load(site_file=""), ["host.hostname"])
    report = replace(report, boot_id=long, host=type(report.host)(*[long] * len(fields(report.host))))
    started = time.monotonic()
    rendered(report, form, within_s=0.001)
    assert time.monotonic() - started < 0.5
