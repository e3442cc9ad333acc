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
SAID = Saying("n", WORDS, {"node": "é"}, packed("{}"), "", 1.0, 0.1, "start", {}, {})
HOUR_S = 3600.0


@pytest.fixture
def board():
    made = Board()
    made.say(SAID, time.monotonic())
    return made


def page(board, *, tells_kubernetes=True, **settings):
    return Page(Settings(Evidence(), "", "n", "/s", **settings), board, tells_kubernetes=tells_kubernetes, is_loopback=True)


def readyz(board, query="", **more):
    return page(board, **more).answer("/readyz", query, "")


def test_it_is_ready_once_a_pass_ended_and_a_write_came_through(board):
    assert readyz(Board()).status == HTTPStatus.SERVICE_UNAVAILABLE
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
    board.say(SAID, time.monotonic() - HOUR_S)
    assert "[-]pass the last pass ended 3600 s ago" in readyz(board, tells_kubernetes=False).text
    assert page(board).answer("/livez", "", "").status == HTTPStatus.SERVICE_UNAVAILABLE
    board.wait("another daemon keeps /s", time.monotonic())
    assert "[-]turn another daemon keeps /s" in readyz(board).text
    assert page(board).answer("/livez", "", "").text == "ok\n"


def test_the_summary_is_the_one_of_the_files(board):
    assert page(board).answer("/v1/summary", "", "").text == f"{compact(SAID.summary)}\n"
