"""The lease of the controller: one candidate at a time may write, whatever the network, the server and other clocks do."""

import copy
import random
import threading

import pytest

from hostagent.controller.lease import HOLD_S, LEASE_S, Lease
from hostagent.kube.api import ApiError

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
PLACE = f"{PATH}/hostagent-controller"


class Leases:
    """The API server's half: one Lease in memory, with versions."""

    def __init__(self):
        self.lease, self.version, self.is_down = None, 0, False

    def get(self, path):
        assert path == PLACE
        self._answer()
        if self.lease is None:
            raise ApiError("not found", 404)
        return copy.deepcopy(self.lease)

    def create(self, path, body):
        assert path == PATH
        self._answer()
        if self.lease is not None:
            raise ApiError("already exists", 409)
        self._keep(body)

    def replace(self, path, body):
        assert path == PLACE
        self._answer()
        if self.lease is None or body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise ApiError("conflict", 409)
        self._keep(body)

    def _answer(self):
        if self.is_down:
            raise ApiError("not reached")

    def _keep(self, body):
        self.version += 1
        self.lease = copy.deepcopy(body)
        self.lease["metadata"]["resourceVersion"] = str(self.version)

    def set(self, **spec):
        """By another client."""
        self._keep({**self.lease, "spec": {**self.lease["spec"], **spec}})


class Clock:
    def __init__(self, now=1000.0):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def leases():
    return Leases()


def held(leases):
    return leases.lease["spec"]["holderIdentity"]


def test_a_new_lease_is_made_and_kept(leases, clock):
    lease = Lease(leases, "ns", "a", clock)
    assert not lease.is_held
    assert lease.renew()
    assert lease.is_held
    metadata, spec = leases.lease["metadata"], leases.lease["spec"]
    assert (metadata["name"], metadata["namespace"]) == ("hostagent-controller", "ns")
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("a", 15, 0)
    leases.set(renewTime="before")
    assert lease.renew()
    assert leases.lease["spec"] == {**spec, "renewTime": leases.lease["spec"]["renewTime"]}, "a renewal is no transition"


def test_a_lease_that_is_renewed_is_never_taken(leases, clock):
    first, second = (Lease(leases, "ns", name, clock) for name in "ab")
    for _ in range(20):
        assert first.renew()
        leases.set(renewTime=str(clock.now))  # the clock of the day has seconds alone
        assert not second.renew()
        assert second.problem == ""
        clock.now += 5


@pytest.mark.parametrize("renewed_at", ["2099-01-01T00:00:00.000000Z", "1999-01-01T00:00:00Z", "no time", "", None, 7, ["x"], {}])
def test_times_in_the_lease_are_compared_with_no_clock(leases, clock, renewed_at):
    """Another candidate waits for a change, for 15 seconds of its own clock."""
    Lease(leases, "ns", "a", clock).renew()
    leases.set(renewTime=renewed_at, acquireTime=renewed_at)
    second = Lease(leases, "ns", "b", clock)
    for seconds in (0, 5, 5, 5):
        clock.now += seconds
        assert not second.renew()
    clock.now += 0.1
    assert second.renew()
    assert (held(leases), leases.lease["spec"]["leaseTransitions"]) == ("b", 1)


def test_each_change_begins_the_wait_anew(leases, clock):
    Lease(leases, "ns", "a", clock).renew()
    second = Lease(leases, "ns", "b", clock)
    for number in range(5):
        leases.set(renewTime=f"change {number}")
        for _ in range(2):
            assert not second.renew()
            clock.now += 7


def test_it_is_held_for_ten_seconds_from_the_begin_of_the_request(clock):
    class Slow(Leases):
        def _answer(self):
            clock.now += 2

    lease = Lease(Slow(), "ns", "a", clock)
    assert lease.renew()  # get and create: 4 seconds
    clock.now = 1000.0 + HOLD_S - 0.01
    assert lease.is_held
    clock.now = 1000.0 + HOLD_S
    assert not lease.is_held


def test_a_slow_answer_does_not_shorten_the_wait(clock):
    """The holder renewed while the question of the other one was under way: the wait begins with the answer, not with the question."""

    class Slow(Leases):
        def get(self, path):
            found = super().get(path)
            clock.now += delay
            return found

    leases, delay = Slow(), 0
    Lease(leases, "ns", "a", clock).renew()
    second, delay = Lease(leases, "ns", "b", clock), 9
    assert not second.renew()
    delay, answered_at = 0, clock.now
    clock.now = answered_at + LEASE_S
    assert not second.renew()
    clock.now += 0.1
    assert second.renew()


@pytest.mark.parametrize("code", [0, 403, 429, 500])
def test_a_refusal_keeps_what_was_granted_to_its_end(leases, clock, code):
    lease = Lease(leases, "ns", "a", clock)
    lease.renew()
    clock.now += 4
    leases.get = lambda _: (_ for _ in ()).throw(ApiError("the API server says no", code))
    assert not lease.renew()
    assert (lease.problem, lease.is_held) == ("the API server says no", True)
    clock.now += 6
    assert not lease.is_held


def test_a_conflict_is_no_problem(leases, clock):
    lease = Lease(leases, "ns", "a", clock)
    leases.get = lambda _: (_ for _ in ()).throw(ApiError("not found", 404))
    leases.lease = {"metadata": {"resourceVersion": "1"}, "spec": {}}
    assert not lease.renew()
    assert (lease.problem, lease.is_held) == ("", False)


def test_release_leaves_it_free(leases, clock):
    first, second = (Lease(leases, "ns", name, clock) for name in "ab")
    first.renew()
    first.release()
    assert (first.is_held, held(leases)) == (False, "")
    assert second.renew()
    first.release()
    assert held(leases) == "b", "what is another one's now stays"
    leases.is_down = True
    second.release()
    assert not second.is_held


ODD = (None, "x", 7, [], {}, {"holderIdentity": 7}, {"holderIdentity": ["a"]}, {"holderIdentity": "other", "leaseDurationSeconds": "x"},
       {"holderIdentity": "other", "leaseDurationSeconds": -1}, {"holderIdentity": "other", "leaseDurationSeconds": 1.5},
       {"holderIdentity": "other", "leaseDurationSeconds": 1}, {"leaseTransitions": "x"}, {"leaseTransitions": None})  # fmt: skip


@pytest.mark.parametrize("spec", ODD)
def test_an_odd_lease_is_taken_after_the_wait_at_the_latest_and_no_other_earlier(leases, clock, spec):
    leases._keep({"metadata": {"name": "hostagent-controller"}, "spec": spec})
    lease = Lease(leases, "ns", "a", clock)
    is_free = not (isinstance(spec, dict) and spec.get("holderIdentity"))
    assert lease.renew() == is_free
    clock.now += LEASE_S
    assert lease.renew() == is_free
    clock.now += 0.1
    assert lease.renew()
    assert isinstance(leases.lease["spec"]["leaseTransitions"], int)


class Race:
    """Candidates in threads, of which one goes on at a time, to its next request or answer; which one and when is drawn by chance. Their
    clocks differ; requests and answers get lost.
    """

    def __init__(self, seed, names="ab"):
        self.random, self.now, self.leases, self.is_over = random.Random(seed), 0.0, Leases(), False
        self.turn, self.turns, self.taken, self.known = threading.Semaphore(0), {}, 0, {}
        self.candidates = {}
        for name in names:
            offset = self.random.uniform(-1e6, 1e6)
            self.turns[name] = threading.Semaphore(0)
            self.candidates[name] = Lease(_Lossy(self, name), "ns", name, lambda offset=offset: self.now + offset)
        self.wakes = dict.fromkeys(names, 0.0)

    def run(self, steps):
        threads = [threading.Thread(target=self.live, args=(name,), daemon=True) for name in self.candidates]
        for one in threads:
            one.start()
        try:
            for _ in range(steps):
                self.step()
        finally:
            self.is_over = True
            for one in self.turns.values():
                one.release()
            for one in threads:
                one.join()
        return self.taken

    def step(self):
        name = min(self.wakes, key=self.wakes.get)
        self.check_until(self.wakes[name])
        self.turns[name].release()
        self.turn.acquire()

    def check_until(self, then):
        """Also between two steps: each candidate could write at any time."""
        while self.now < then:
            self.now = min(then, self.now + 0.5)
            now = {name for name, one in self.candidates.items() if one.is_held}
            assert len(now) < 2, self.now
            self.taken += bool(now and now != self.known)
            self.known = now or self.known

    def wait(self, name):
        """Some time passes: mostly little, sometimes as much as a request may take, or a process is stopped."""
        draw = self.random.random()
        limit = 30.0 if draw < 0.02 else 9.9 if draw < 0.15 else 0.3
        self.pause(name, self.random.uniform(0, limit))

    def pause(self, name, seconds):
        if not self.is_over:
            self.wakes[name] = self.now + seconds
            self.turn.release()
            self.turns[name].acquire()

    def live(self, name):
        self.turns[name].acquire()
        while not self.is_over:
            is_granted = self.candidates[name].renew()
            if self.random.random() < 0.01:
                self.candidates[name].release()
            self.pause(name, 5.0 if is_granted else 2.0)


class _Lossy:
    """Requests of one candidate: each takes its time on the way there and on the way back."""

    def __init__(self, race, name):
        self._race, self._name, self._lost = race, name, 0

    def get(self, path):
        return self._call(self._race.leases.get, path)

    def create(self, *given):
        return self._call(self._race.leases.create, *given)

    def replace(self, *given):
        return self._call(self._race.leases.replace, *given)

    def _call(self, call, *given):
        race = self._race
        if not self._lost and race.random.random() < 0.02:
            self._lost = race.random.randint(1, 12)  # requests in a row
        is_lost = self._lost > 0
        self._lost -= is_lost
        race.wait(self._name)
        if is_lost and race.random.random() < 0.5:
            raise ApiError("the request was lost")
        try:
            return call(*given)
        finally:
            race.wait(self._name)
            if is_lost:
                raise ApiError("the answer was lost")


def test_two_candidates_never_hold_it_at_once():
    taken = [Race(seed).run(500) for seed in range(25)]
    assert sum(taken) > 40, "each one takes it from the other"
