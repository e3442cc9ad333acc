"""Connections over the network that a log tells again and again: which of them are looked at."""

import random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.domains.nccl.logs.chunks import blocks
from hostagent.domains.nccl.logs.connections import Ends
from hostagent.domains.nccl.logs.explanation import Job
from tests.nccl_logs import V227
from tests.nccl_logs import Job as Logged


def explained(data):
    job = Job()
    for block in blocks([data]):
        job.read("log", block)
    return job.explain()


def every(_ends, data):
    """Where any connection over the network is told."""
    at = -1
    while (at := data.find(b" via NET/", at + 1)) >= 0:
        yield at


def told(rank, peers, *, before="", device=None, way=("send", "receive"), kind="Channel", host=""):
    """What a rank says of its connections to all peers, both ways."""
    local = rank % 4
    head = f"{before}{host or f'node{rank // 4}'}:{100 + rank}:{200 + rank} [{local}] NCCL INFO {kind} 00/1 : "
    network = f"via NET/IB/{local if device is None else device}/GDRDMA"
    for peer in range(peers):
        ends = {"send": f"{rank}[{local}] -> {peer}[{local}]", "receive": f"{peer}[{local}] -> {rank}[{local}]"}
        yield from (f"{head}{ends[one]} [{one}] {network}" for one in way)


def joined(lines):
    return "".join(f"{line}\n" for line in lines).encode()


def many(ranks=8, peers=30):
    return [line for rank in range(ranks) for line in told(rank, peers)]


def test_of_ranks_one_after_the_other_each_end_is_looked_at_once():
    assert len(list(Ends().new(joined(many())))) == 8 + 1  # the first line of a block is of no run


def test_of_ranks_at_the_same_time_each_end_is_looked_at_once_each_way():
    lines = many(peers=300)
    random.Random(1).shuffle(lines)
    ends = Ends()
    places = list(ends.new(joined(lines)))
    assert places == sorted(places)
    assert len(places) < 100 < len(lines)
    assert len(list(ends.new(joined(lines)))) <= 1


LINES = [
    *(line for line in Logged(V227).lines() if " via NET/" not in line),
    "x via NET/IB/0 y",
    " : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA",  # its head is on another line
    "node0:100:200 [0] NCCL INFO Channel 00/1 : 0[0] -> 1[0] via NET/IB/0/GDRDMA",
    "node0:100:200 [0] NCCL INFO a node0:100:200 [0] NCCL INFO Channel 00/1 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA",
    "node0:100:200 [0] NCCL INFO Channel 00/1 : 0[0] -> 1[0] [send] via NET/IB/3 node0:101:201 [1] NCCL INFO Channel 0 : 1 -> 2 [send] via NET/IB/1",
    "node0:100:200 [0] NCCL WARN a : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA",
]


@settings(max_examples=200)
@given(
    groups=st.lists(
        st.builds(
            lambda *args, **how: list(told(*args, **how)),
            st.integers(0, 7),
            st.integers(1, 12),
            before=st.sampled_from(["", "[1,0]<stdout>:", "0: ", "12:00:01.123 "]),
            device=st.sampled_from([None, 7]),
            way=st.sampled_from([("send",), ("receive",), ("send", "receive"), ("receive", "send")]),
            kind=st.sampled_from(["Channel", "Ring"]),
        ),
        max_size=8,
    ),
    others=st.lists(st.sampled_from(LINES), max_size=5),
    seed=st.none() | st.integers(0, 99),
)
def test_what_is_left_out_changes_nothing(groups, others, seed):
    lines = [line for group in groups for line in group]
    choose = random.Random(seed or 0)
    for other in others:
        lines.insert(choose.randrange(len(lines) + 1), other)
    if seed is not None:
        choose.shuffle(lines)
    data = joined(lines)
    with patch.object(Ends, "new", every):
        whole = explained(data)
    assert explained(data) == whole


def test_another_host_that_says_the_same_is_looked_at():
    data = joined([*told(0, 9, way=("send",)), *told(0, 9, way=("send",), host="other")])
    assert {one.host for one in explained(data).channels} == {"node0", "other"}


@pytest.mark.parametrize(
    "before", ["", "a via NET/b ", "node9:8:8 [0] NCCL INFO a ", "node9:8:8 [0] NCCL INFO Channel 00 : 95[0] -> 1[1] [send] via NET/IB/6 "]
)
@pytest.mark.parametrize("at_once", [False, True])
def test_what_is_told_on_an_odd_line_is_not_known(before, at_once):
    """Neither is what has no record's head of its own."""
    lines = many()
    if at_once:
        random.Random(1).shuffle(lines)
    text = " : 90[0] -> 1[1] [send] via NET/IB/5"
    head = "node9:9:9 [0] NCCL INFO Channel 00"
    for odd in (f"{before}{head}{text}", text):
        data = joined([*lines, odd, f"{head}{text}", *told(0, 9)])
        assert (90, "node9") in {(one.rank, one.host) for one in explained(data).channels}, odd
    found = explained(joined([*lines, f"{before}{head}{text}"]))
    assert {one.rank for one in found.channels} >= {90, *([95] if "95" in before else [])}


def test_what_stands_within_a_run_is_looked_at():
    within = "node0:100:200 [0] NCCL INFO Channel 00/1 : 0[0] -> 1[0] [send] via NET/Socket/0"
    found = explained(joined([*told(0, 20), within, "node0:100:200 [0] NCCL WARN a", *told(0, 20)]))
    assert found.verdict == "failed"
    assert {one.nic for one in found.channels} == {"IB/0", "Socket/0"}
