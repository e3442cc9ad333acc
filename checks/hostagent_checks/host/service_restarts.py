"""A service that jobs need restarts again and again: it ends soon after each start, and jobs fail whenever it is down.

systemd starts a service with Restart= again after each failure. A look at the process list may find it running. The journal has a record
of process 1 for each automatic restart. This check counts those of the last ten minutes, if the last was just now: a service that has
recovered is not reported. It asks the journal only while such a service is down, or has started in the last half hour. A kubelet that has
joined no cluster restarts until `kubeadm join`, and is left out; so is one whose runtime restarts itself. A kubelet's unit other than
that of the kubelet in use (a package left on a host of k3s or RKE2) is worth knowing.

A runtime that serves no jobs, IMEX, DCGM, and the fabric manager of a host without NVSwitches are worth knowing. Only root reads the
records of process 1: in other runs, and without a journal of this boot, the check does not apply; one that takes too long to search is
worth knowing. A service that does not run at all is the finding of kubelet.running, runtime.service_running and slurm.slurmd_running.
"""

from typing import NamedTuple

from hostagent.check import Finding, Findings, Severity, Step, Unread, check, fail, need, shell, skip, warn
from hostagent.core.tables.daemons import DAEMONS
from hostagent.domains.kubelet.joined import is_unjoined
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.versions import KUBELET_UNITS, RUNTIME_UNITS
from hostagent.facts.host import Identity, Restarts, UnitRestarts
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.nvswitch import Fabric

_SLURMD, _MANAGER, _PERSISTENCED = "slurmd", "nvidia-fabricmanager", "nvidia-persistenced"
#: Services of runtimes for which no configuration is known here, so that what they serve is not either.
_OTHER_RUNTIMES = frozenset(name for one in DAEMONS if one.kind == "runtime" for name in one.lives_in)


class Params(NamedTuple):
    """restarts: number of automatic restarts in the window that is a loop, count
    window_seconds: how long a time they are counted in, at most half an hour, seconds
    settled_seconds: how long ago the last one may be, seconds
    """

    restarts: int = 5
    window_seconds: int = 600
    settled_seconds: int = 180


class _Loop(NamedTuple):
    """A unit that restarts again and again: what it is to jobs, and the runtime that it is, "" for none."""

    unit: UnitRestarts
    number: int
    code: str
    severity: Severity
    runtime: str = ""


@check(
    title="No service that jobs need restarts again and again",
    severity="critical",
    since="0.1",
    because=("runtime.config_accepted", "runtime.service_running", "kubelet.config_accepted"),
    headline="A service that jobs need restarts again and again",
    remedy=(
        Step("restart_service", "Find out why the service ends.", "journalctl -b -u <unit> -n 100"),
        Step("restart_service", "Correct that, and start the service.", "systemctl restart <unit>"),
    ),
    references=("systemd.service(5)", "systemd.journal-fields(7)"),
    confirm=("systemctl show -p NRestarts,ActiveState,SubState <unit>", "journalctl -b -u <unit> -n 100"),
)
def service_restarts(
    restarts: Restarts,
    identity: Identity,
    choice: RuntimeChoice,
    kubelet: Kubelet | Unread,
    fabric: Fabric | Unread,
    params: Params,
) -> Findings:
    if isinstance(restarts.units, Unread) and restarts.units.why == "timeout":
        yield _not_searched(restarts.units)
        return
    found = [loop for unit in need(restarts.units) if (loop := _loop(unit, identity, choice, fabric, params)) is not None]
    has_runtime = any(one.runtime and one.severity == "critical" for one in found)
    found = [_of_another(loop, kubelet) for loop in found]
    waits = any(one.code == "kubelet" for one in found) and not isinstance(kubelet, Unread) and is_unjoined(kubelet)
    for one in found:
        if one.code == "kubelet" and (has_runtime or waits):
            continue
        name = one.unit.name
        yield fail(
            f"systemd restarted {name} {one.number} times in {params.window_seconds // 60} minutes",
            code=one.code,
            found=f"{one.number} restarts",
            wanted=f"fewer than {params.restarts}",
            headline=f"{name} restarts again and again",
            remedy=(
                Step("restart_service", f"Find out why {name} ends, and correct it.", shell("journalctl -b -u {} -n 100", name)),
                Step("restart_service", f"Start {name}.", shell("systemctl restart {}", name)),
            ),
            at_most=one.severity,
            about=one.runtime,
        )
    if waits:
        skip("the kubelet has joined no cluster yet")


def _loop(unit: UnitRestarts, identity: Identity, choice: RuntimeChoice, fabric: Fabric | Unread, params: Params) -> _Loop | None:
    """The unit as a loop; None for one that has recovered, or that restarted a few times."""
    now = need(identity.now)
    recent = [at for at in unit.times if now - at < params.window_seconds]
    if len(recent) < params.restarts or now - recent[-1] >= params.settled_seconds:
        return None
    number = len(recent)
    key = next((key for key, names in RUNTIME_UNITS.items() if unit.name in names), "")
    if key:
        serves = any(one.key == key for one in choice.serving.runtimes)
        return _Loop(unit, number, "runtime", "critical" if serves else "info", key)
    if unit.name in KUBELET_UNITS:
        return _Loop(unit, number, "kubelet", "critical")
    if unit.name == _SLURMD:
        return _Loop(unit, number, "slurmd", "critical")
    if unit.name in _OTHER_RUNTIMES:
        return _Loop(unit, number, "runtime", "warning")
    needed = unit.name == _PERSISTENCED or (unit.name == _MANAGER and not isinstance(fabric, Unread) and _has_switches(fabric))
    return _Loop(unit, number, "nvidia", "warning" if needed else "info")


def _of_another(loop: _Loop, kubelet: Kubelet | Unread) -> _Loop:
    """A loop of a kubelet's unit weighs nothing where another kubelet is the one in use."""
    used = kubelet if isinstance(kubelet, Unread) else kubelet.unit
    if loop.code != "kubelet" or isinstance(used, Unread) or used in ("", loop.unit.name):
        return loop
    return loop._replace(code="other-kubelet", severity="info")


def _not_searched(gap: Unread) -> Finding:
    return warn(
        "the journal of this boot took too long to search",
        code="not-read",
        found="not read",
        wanted="read",
        headline="Restarts of services were not read: the journal takes too long",
        remedy=(Step("rerun", "Run 'hostagent check' again when the host is less busy."),),
        at_most="info",
        about=gap,
    )


def _has_switches(fabric: Fabric) -> bool:
    return any(not isinstance(one, Unread) and bool(one) for one in (fabric.nvswitches, fabric.nvlink5_managers))
