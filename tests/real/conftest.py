"""Tests against real programs: what they need, and what happens where it is missing."""

import importlib.util
import os
import shutil

import pytest

#: Programs that an installer script of this directory leaves outside the tree, to be fetched or built once.
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hostagent-tests")


def need_real(program: str, how: str) -> str:
    """The path of a real program: an absolute path, a name on PATH, or a path below `CACHE`.

    Where it is missing the test skips and says `how` to get it; with HOSTAGENT_REQUIRE_REAL=1 it fails instead, so
    that a build machine can never skip in silence.
    """
    found = program if os.path.isabs(program) else shutil.which(program) or os.path.join(CACHE, program)
    if not os.path.exists(found):
        _missing(program, how)
    return found


def _missing(what: str, how: str) -> None:
    reason = f"found no {what}; to enable this test run: {how}"
    if os.environ.get("HOSTAGENT_REQUIRE_REAL") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def need_module(name: str, how: str) -> None:
    """The same for a Python module that an extra brings."""
    if importlib.util.find_spec(name) is None:
        _missing(f"the Python module {name}", how)


@pytest.fixture
def make_root():
    """``make_root("debian")``: a root to install into (tests/real/installroots.py), gone after the test."""
    from tests.real import installroots

    need_real("mmdebstrap", installroots.HOW)
    if os.getuid() != 0:
        need_real("/root-is-needed", "sudo make test")
    with installroots.place() as where:
        yield lambda distribution, name="root": installroots.clone(distribution, where, name)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A real API server with what daemonset/base holds."""
    from tests.real.cluster import started

    with started(tmp_path_factory.mktemp("cluster")) as found:
        yield found
