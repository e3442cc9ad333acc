"""Whether the daemon is ready, by what its board has."""

import time
from http import HTTPStatus

import pytest

from hostagent.daemon.board import Board
from hostagent.daemon.http import Page
from hostagent.daemon.saying import Saying, packed
from hostagent.daemon.settings import Settings
from hostagent.evidence import Evidence
from hostagent.report.nodewords import NodeWords, compact

WORDS = NodeWords((), (), {}, {})
HOUR_S = 3600.0
#: Of the settings below: two intervals and a deadline.
LIMIT_S = 150.0


def said(judged_by):
    return Saying("n", WORDS, {"node": "é"}, packed("{}"), "", 1.0, judged_by, 0.1, "start", {}, {})


@pytest.fixture
def board():
    made = Board(LIMIT_S)
    made.say(said(time.monotonic()), time.monotonic())
    return made


def page(board, *, tells_kubernetes=True, **settings):
    return Page(Settings(Evidence(), "", "n", "/s", **settings), board, tells_kubernetes=tells_kubernetes, is_loopback=True)


def readyz(board, query="", **more):
    return page(board, **more).answer("/readyz", query, "")


def test_it_is_ready_once_a_pass_ended_and_a_write_came_through(board):
    assert readyz(Board(LIMIT_S)).status == HTTPStatus.SERVICE_UNAVAILABLE
    assert readyz(board, tells_kubernetes=False) == (HTTPStatus.OK, "ok\n", "text/plain; charset=utf-8")
    assert "nothing was written yet" in readyz(board).text
    board.delivered("kubernetes", "the API server answers 403", time.time(), time.monotonic())
    assert "[-]kubernetes the API server answers 403" in readyz(board).text
    board.delivered("kubernetes", "", time.time(), time.monotonic())
    assert readyz(board).text == "ok\n"
    for query in ("verbose", "verbose=1", "verbose=true&x"):
        assert "[+]kubernetes ok" in readyz(board, query).text


@pytest.mark.parametrize("set_by_s", [-24 * HOUR_S, 24 * HOUR_S])
def test_a_clock_that_is_set_makes_no_write_older_or_newer(board, set_by_s):
    board.delivered("kubernetes", "", time.time() + set_by_s, time.monotonic())
    assert readyz(board).status == HTTPStatus.OK
    board.delivered("kubernetes", "", time.time() + set_by_s, time.monotonic() - HOUR_S)
    assert "the last write was 3600 s ago" in readyz(board).text


def test_old_passes_a_turn_that_is_another_daemons_and_a_silent_loop(board):
    board.say(said(time.monotonic() - HOUR_S), time.monotonic() - HOUR_S)
    assert "[-]pass the last pass ended 3600 s ago" in readyz(board, tells_kubernetes=False).text
    assert page(board).answer("/livez", "", "").status == HTTPStatus.SERVICE_UNAVAILABLE
    board.wait("another daemon keeps /s", time.monotonic())
    assert "[-]turn another daemon keeps /s" in readyz(board).text
    assert page(board).answer("/livez", "", "").text == "ok\n"


def test_a_loop_that_is_heard_and_judges_nothing_does_not_live(board):
    board.say(said(time.monotonic() - LIMIT_S - 20), time.monotonic())
    assert page(board).answer("/livez", "", "").text == "ok\n", "what is unknown is published first"
    board.say(said(time.monotonic() - LIMIT_S - 31), time.monotonic())
    answer = page(board).answer("/livez", "", "")
    assert (answer.status, answer.text) == (HTTPStatus.SERVICE_UNAVAILABLE, "the last pass was judged 181 s ago\n")


@pytest.mark.parametrize("problem", ["the API server answers 422: denied", "the API server was not reached"])
def test_a_write_that_fails_is_no_plus(board, problem):
    board.delivered("kubernetes", "", time.time(), time.monotonic())
    board.delivered("kubernetes", problem, time.time(), time.monotonic())
    assert readyz(board).status == HTTPStatus.SERVICE_UNAVAILABLE
    assert f"[-]kubernetes {problem}" in readyz(board).text


def test_the_summary_is_the_one_of_the_files(board):
    assert page(board).answer("/v1/summary", "", "").text == f"{compact({'node': 'é'})}\n"
