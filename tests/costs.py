"""What the groups of tests cost, how to repeat what failed, and what did not run: the end of a run's output."""

import resource
import shlex
import sys
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from tests import sampling

#: Rows of the table.
_ROWS = 10

_SECONDS = pytest.StashKey["Counter[str]"]()
_CASES = pytest.StashKey["Counter[str]"]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SECONDS], config.stash[_CASES] = Counter(), Counter()


def _processor_s() -> float:
    """Of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def topic_of(test_id: str) -> str:
    """A group of ``groups.toml``, else the folder below tests/unit or the file."""
    group = sampling.group_of(test_id)
    parts = test_id.split("::", maxsplit=1)[0].split("/")
    return group.name if group else "/".join(parts[:3] if parts[:2] == ["tests", "unit"] else parts[:2])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    before = _processor_s()
    try:
        return (yield)
    finally:
        topic = topic_of(item.nodeid)
        item.config.stash[_SECONDS][topic] += _processor_s() - before
        item.config.stash[_CASES][topic] += 1


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands its figures to the process that prints."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["costs"] = [dict(config.stash[key]) for key in (_SECONDS, _CASES)]
        config.workeroutput["left_out"] = config.stash.get(sampling.LEFT_OUT, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Of xdist: a worker has ended."""
    output = getattr(node, "workeroutput", {})
    for key, figures in zip((_SECONDS, _CASES), output.get("costs", ()), strict=False):
        node.config.stash[key].update(figures)
    if "left_out" in output:
        node.config.stash[sampling.LEFT_OUT] = output["left_out"]  # the same of each worker


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    failed = [one.nodeid for key in ("failed", "error") for one in terminalreporter.stats.get(key, ())]
    for name in dict.fromkeys(failed):
        terminalreporter.write_line(f"repeat: {sys.executable} -m pytest {shlex.quote(name)}")
    seconds, cases = config.stash[_SECONDS], config.stash[_CASES]
    if cases.total() > _ROWS:
        terminalreporter.write_line(f"processor seconds, {sum(seconds.values()):.0f} in all, the {_ROWS} dearest groups:")
        for topic, used in seconds.most_common(_ROWS):
            terminalreporter.write_line(f"{used:8.1f}  {topic} ({cases[topic]} cases)")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line, after pytest's own."""
    left_out = config.stash.get(sampling.LEFT_OUT, {})
    if left_out and not hasattr(config, "workerinput"):
        rows = ", ".join(f"{missing} of {total} of {name}" for name, (missing, total) in sorted(left_out.items()))
        changed = ", ".join(sorted(sampling.changed_groups(sampling.base())))
        more = f" Three slices each, for the change since {sampling.base()}: {changed}." if changed else ""
        whole = "test-pythons" if sampling.SAMPLE in sampling.ALONE else "test-full"
        sys.stdout.write(f"Not run here: {rows}.{more} 'make {whole}' runs them all.\n")
