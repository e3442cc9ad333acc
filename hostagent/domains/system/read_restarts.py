"""Automatic restarts of daemons, by systemd's own records in the journal (systemd, catalog: SD_MESSAGE_UNIT_RESTART_SCHEDULED).

journald takes the process id of a record from the kernel (systemd.journal-fields(7), trusted fields): only process 1 of the host is
asked for, and no pod or user writes such a record. The unit's own counter (NRestarts) has no times, and grows over months.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import DAEMONS, RESTART_SCHEDULED, Kind
from hostagent.core.unread import NOT_APPLICABLE, Unread, need, then
from hostagent.facts.host import Machine, Restarts, Services, UnitRestarts
from hostagent.host.source import Source

#: The journal is read when one of these is down; those of NVIDIA may be enabled where nothing needs them.
_ROLES: tuple[Kind, ...] = ("runtime", "kubelet", "supervisor", "slurm")
_WATCHED: tuple[Kind, ...] = (*_ROLES, "nvidia")
_PLAIN_SERVICE = re.compile(r"[\w.-]+")
#: A daemon that has run for longer is in no loop.
_SETTLED_S = 1800
_ASKED = ("journalctl", "-b", "0", "-q", "--no-pager", "--no-hostname", "-n", "1000", "-o", "short-unix", "_PID=1")


def watched_units() -> tuple[str, ...]:
    """The units of the daemons that jobs need, without .service.

    >>> [name for name in sorted(watched_units()) if name in ("kubelet", "k0sworker", "nvidia-dcgm", "docker.socket", "chrony")]
    ['k0sworker', 'kubelet', 'nvidia-dcgm']
    """
    mine = (one for one in DAEMONS if one.kind in _WATCHED and one.process)
    found = dict.fromkeys(name for one in mine for name in (*one.units, *one.lives_in))
    return tuple(name for name in found if _PLAIN_SERVICE.fullmatch(name) and not name.endswith((".path", ".socket")))


_LINE = rf"^\d{{1,12}}\.\d{{1,9}} systemd\[1\]: (?:{'|'.join(map(re.escape, watched_units()))})\.service: Scheduled restart job"
_RECORD = re.compile(r"(\d{1,12}\.\d{1,9}) systemd\[1\]: ([\w.-]{1,80})\.service: Scheduled restart job")


def read_restarts(source: Source, known: Callable[[type], Any]) -> Restarts:
    return Restarts(_units(source, known(Services), known(Machine)))


@stops_at_unread
def _units(source: Source, services: "Services | Unread", machine: "Machine | Unread") -> "tuple[UnitRestarts, ...] | Unread":
    if not need(_is_asked(source, services, machine)):
        return ()
    if need(source.host()).get("uid", 0) != 0:
        return Unread("not-supported", "only root reads systemd's records in the journal")
    answer = source.run(*_ASKED, f"MESSAGE_ID={RESTART_SCHEDULED}", keep=Keep("matches", (_LINE,)))
    if need(answer).exit_code != 0:
        return Unread("absent", f"no journal of this boot: {need(answer).stderr.strip()[:100]}")
    answer = need(answer)
    return parse_restarts(answer.stdout)


@stops_at_unread
def _is_asked(source: Source, services: "Services | Unread", machine: "Machine | Unread") -> bool:
    """Whether a daemon started lately, or one of a role is enabled and down. In an image nothing runs."""
    processes = need(then(machine, lambda one: one.processes))
    now = float(need(source.host()).get("now", 0.0))
    names = {one.process[:15] for one in DAEMONS if one.kind in _WATCHED and one.process}
    mine = [one for one in processes if one.name[:15] in names and not isinstance(one.unit, Unread)]
    if any(now - one.started_at < _SETTLED_S for one in mine):
        return True
    return any(_is_down(name, services, {one.unit for one in mine}) for name in _of_roles())


def _of_roles() -> Iterator[str]:
    yield from dict.fromkeys(name for one in DAEMONS if one.kind in _ROLES and one.process for name in one.units)


def _is_down(name: str, services: "Services | Unread", running: "set[str | Unread]") -> bool:
    """Enabled, or not known to be disabled, and without its daemon."""
    unit = then(services, lambda those: those.unit(name))
    if isinstance(unit, Unread):
        return unit.why not in ("not-recorded", *NOT_APPLICABLE)
    return unit.exists and unit.enabled is not False and f"{name}.service" not in running


def parse_restarts(text: str) -> "tuple[UnitRestarts, ...]":
    r"""The records that name a unit, in the form short-unix; other lines are none.

    >>> parse_restarts("1764518990.123456 systemd[1]: kubelet.service: Scheduled restart job, restart counter is at 5.\n-- No entries --\n")
    (UnitRestarts(name='kubelet', times=(1764518990.123456,)),)
    """
    found: dict[str, list[float]] = {}
    for line in text[: 1024 * 1024].split("\n"):
        record = _RECORD.match(line)
        if record and record[2] in _NAMES:
            found.setdefault(record[2], []).append(float(record[1]))
    return tuple(UnitRestarts(name, tuple(sorted(times))) for name, times in sorted(found.items()))


_NAMES = frozenset(watched_units())
