"""Whether this host has to run IMEX: its profile asks for it, or its own files do."""

from collections.abc import Callable

from hostagent.check import Findings, Join, Step, Unread, UnreadError, cached, fail, frozen, need, skip
from hostagent.core.tables.nvlink_fabric import IMEX_PACKAGES, IMEX_PROCESS, IMEX_UNIT, has_hidden_switches
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Machine, Services
from hostagent.facts.imex import Imex
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.profile import Profile

from ._packages import install_at, named


def skip_unless_required(profile: Profile) -> None:
    """A host does not show whether its jobs share memory across nodes: the profile says it."""
    if not profile.imex.required:
        skip("the profile does not ask for IMEX")


def other_versions(packages: Packages, loaded: str, os: Os | Unread) -> Findings:
    """Packages of IMEX in another version than the loaded driver."""
    for package in named(need(packages.installed), IMEX_PACKAGES):
        found = need(package.upstream)
        if found != loaded:
            steps = (
                *install_at(package.name, loaded, packages, os),
                Step("restart_service", "Restart IMEX.", "systemctl restart nvidia-imex"),
            )
            text = f"{package.name} is {found}, but driver {loaded} is loaded"
            headline = "IMEX is {found}, but driver {wanted} is loaded"
            yield fail(text, code="other-version", found=found, wanted=loaded, headline=headline, remedy=steps)


def skip_unless_all(*conditions: tuple[Callable[[], bool], str]) -> None:
    """Skips with the reason of the first condition that does not hold. Where all others hold, one that is unread is raised."""
    gaps: list[UnreadError] = []
    for holds, reason in conditions:
        try:
            if not holds():
                skip(reason)
        except UnreadError as error:
            gaps.append(error)
    if gaps:
        raise gaps[0]


@frozen
class ImexUse(Join):
    """What the unit, the process, the list of nodes and the DRA driver's plug-in say about IMEX.

    Images for many kinds of hosts carry IMEX, and its package enables the unit: that counts on a node of a rack alone. Each property
    raises ``UnreadError``.
    """

    machine: Machine | Unread
    services: Services | Unread
    fabric: Fabric | Unread
    gpus: tuple[Gpu, ...] | Unread
    imex: Imex | Unread

    @cached
    def is_on_rack(self) -> bool:
        """GPUs on a fabric of several hosts: they are members of a cluster, and no switch is this host's."""
        gpus = need(self.gpus)
        known = [one.fabric for one in gpus if not isinstance(one.fabric, Unread)]
        if not any(one.state != "not-supported" and one.cluster_uuid.strip("0-") for one in known):
            gaps = [one.fabric for one in gpus if isinstance(one.fabric, Unread) and one.fabric.why not in ("absent", "not-supported")]
            return bool(need(gaps[0])) if gaps else False
        if any(has_hidden_switches(one.device_id) for one in gpus if not isinstance(one.device_id, Unread)):
            return False
        fabric = need(self.fabric)
        bridges = fabric.nvlink5_managers  # where they are unread, the GPUs' ids have answered
        return not need(fabric.nvswitches) and (isinstance(bridges, Unread) or not bridges)

    @cached
    def is_enabled(self) -> bool:
        """The unit starts the host's IMEX at boot."""
        unit = need(need(self.services).unit(IMEX_UNIT))
        return unit.exists and not need(unit.masked) and need(unit.enabled)

    @cached
    def runs(self) -> bool:
        """The host's IMEX runs; by the unit's cgroup where processes cannot be seen."""
        found = need(self.machine).daemons(IMEX_PROCESS)
        if not isinstance(found, Unread):
            return bool(found)
        unit = need(need(self.services).unit(IMEX_UNIT))
        return need(found if not unit.exists or isinstance(unit.active, Unread) else unit.active)

    @cached
    def has_nodes(self) -> bool:
        """The list names nodes: the package's own is empty, and IMEX ends at once."""
        nodes = need(self.imex).nodes
        return not (isinstance(nodes, Unread) and nodes.why == "absent") and bool(need(nodes))

    @cached
    def is_in_pods(self) -> bool:
        """The DRA driver's plug-in starts IMEX."""
        return need(need(self.imex).plugin)

    def skip_unless_the_hosts(self) -> None:
        """For checks of an IMEX that this host runs, or is to run at each boot."""
        skip_unless_all(
            (lambda: self.is_on_rack, "the GPUs are on no fabric of several hosts"),
            (self.runs_or_starts, "the host does not run IMEX, and its own files do not ask for it"),
            (lambda: not self.is_in_pods, "the DRA driver runs IMEX in pods"),
        )

    def starts_at_boot(self) -> bool:
        """The unit is enabled, and the list names nodes."""
        return _all(lambda: self.is_enabled, lambda: self.has_nodes)

    def runs_or_starts(self) -> bool:
        """It runs, or the next boot starts it."""
        return not _all(lambda: not self.runs, lambda: not self.starts_at_boot())


def _all(*conditions: Callable[[], bool]) -> bool:
    """Whether all hold; one that is unread is raised where all others do."""
    gaps: list[UnreadError] = []
    for holds in conditions:
        try:
            if not holds():
                return False
        except UnreadError as error:
            gaps.append(error)
    if gaps:
        raise gaps[0]
    return True
