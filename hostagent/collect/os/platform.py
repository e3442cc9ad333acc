"""Which platform a host is, by two marks, and whose its parts are."""

from collections.abc import Callable
from typing import Any

from hostagent.collect.values import names_in, stops_at_unread
from hostagent.facts.os import Os
from hostagent.facts.platform import Part, Platform
from hostagent.facts.unread import Unread, need, then
from hostagent.knowledge.platforms import OPERATOR_DRIVER, OPERATOR_TOOLKIT, ROWS, Row
from hostagent.source import Source

_ORDINARY = Row("", "host", (), (), owner="host", others="host")


def read_platform(source: Source, known: Callable[[type], Any]) -> Platform:
    row, operator = _row(source, known(Os)), _operator(source)

    def part(name: str, operators: str, place: Callable[[Row], Part]) -> "Part | Unread":
        return then(operator, lambda names: Part(operators, "operator") if name in names else then(row, place))

    return Platform(
        name=then(row, lambda one: one.name),
        base=then(row, lambda one: one.base),
        operator=operator,
        driver=part("driver", OPERATOR_DRIVER, lambda one: Part(one.driver, one.owner)),
        libraries=part("driver", OPERATOR_DRIVER, lambda one: Part(one.libraries, one.owner)),
        toolkit=part("toolkit", OPERATOR_TOOLKIT, lambda one: Part("", one.others)),
        runtime=part("toolkit", "", lambda one: Part("", one.others)),
    )


@stops_at_unread
def _row(source: Source, os: "Os | Unread") -> Row:
    """Paths are asked for where the first mark fits: most hosts are of no platform."""
    release = _kernel(source)
    for row in ROWS:
        says_so = row.kernel in need(release) if row.kernel else need(need(os).id) in row.ids
        if says_so and any(_is_there(source, path) for path in row.paths):
            return row
    return _ORDINARY


def _is_there(source: Source, path: str) -> bool:
    """Not what only a running host has, in an image; raises ``UnreadError`` where nobody could look."""
    found = source.exists(path)
    return not (isinstance(found, Unread) and found.why == "not-running") and need(found)


def _kernel(source: Source) -> "str | Unread":
    """The release that runs, "" in an image."""
    host = source.host()
    return host if isinstance(host, Unread) else str(host.get("release") or "")


@stops_at_unread
def _operator(source: Source) -> tuple[str, ...]:
    """A root file system where the driver container mounts its own, its toolkit where a pod puts it. A link is the host's own."""
    names: list[str] = []
    if isinstance(source.readlink(OPERATOR_DRIVER), Unread) and "usr" in need(names_in(source, OPERATOR_DRIVER)):
        names.append("driver")
    if any(one.startswith("libnvidia-container.so") for one in need(names_in(source, OPERATOR_TOOLKIT))):
        names.append("toolkit")
    return tuple(names)
