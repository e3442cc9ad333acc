"""Whether this host has to run IMEX: its profile asks for it, or its own files do."""

from hostagent.check import Join, Unread, UnreadError, cached, frozen, need, skip
from hostagent.core.tables.nvlink_fabric import IMEX_PROCESS, IMEX_UNIT, has_hidden_switches
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Machine, Services
from hostagent.facts.imex import Imex
from hostagent.facts.nvswitch import Fabric
from hostagent.profile import Profile


@frozen
class ImexUse(Join):
    """What the profile, the unit, the process, the list of nodes and the DRA driver's plug-in say about IMEX.

    Images for many kinds of hosts carry IMEX, and its package enables the unit: that counts on a node of a rack alone.
    """

    profile: Profile
    machine: Machine | Unread
    services: Services | Unread
    fabric: Fabric | Unread
    gpus: tuple[Gpu, ...] | Unread
    imex: Imex | Unread

    @cached
    def is_on_rack(self) -> bool:
        """GPUs on a fabric of several hosts: they are members of a cluster, and no switch is this host's. Raises ``UnreadError``."""
        known = [one.fabric for one in need(self.gpus) if not isinstance(one.fabric, Unread)]
        if not any(one.state != "not-supported" and one.cluster_uuid.strip("0-") for one in known):
            return False
        if any(has_hidden_switches(one.device_id) for one in need(self.gpus) if not isinstance(one.device_id, Unread)):
            return False
        fabric = need(self.fabric)
        bridges = fabric.nvlink5_managers  # an agent without rights may not see them: the GPUs' device ids count then
        return not need(fabric.nvswitches) and (isinstance(bridges, Unread) or not bridges)

    @cached
    def is_enabled(self) -> bool:
        """The unit starts the host's IMEX at boot. Raises ``UnreadError``."""
        unit = need(need(self.services).unit(IMEX_UNIT))
        return unit.exists and not need(unit.masked) and need(unit.enabled)

    @cached
    def runs(self) -> bool:
        """The host's IMEX runs; by the unit's cgroup where processes cannot be seen. Raises ``UnreadError``."""
        found = need(self.machine).daemons(IMEX_PROCESS)
        if not isinstance(found, Unread):
            return bool(found)
        unit = need(need(self.services).unit(IMEX_UNIT))
        return unit.exists and need(found if isinstance(unit.active, Unread) else unit.active)

    @property
    def is_seen(self) -> bool:
        """Whether it is known that the host's IMEX runs, or that it does not: an agent in a container may see no processes."""
        try:
            return self.runs or True
        except UnreadError:
            return False

    @property
    def is_seen_running(self) -> bool:
        return self.is_seen and self.runs

    @cached
    def is_meant(self) -> bool:
        """The unit is enabled, a list names nodes, and the DRA driver does not run IMEX. Raises ``UnreadError``."""
        imex = need(self.imex)
        has_nodes = not (isinstance(imex.nodes, Unread) and imex.nodes.why == "absent") and bool(need(imex.nodes))
        return has_nodes and self.is_enabled and self.is_on_rack and not need(imex.plugin)

    @property
    def is_by_evidence(self) -> bool:
        """Whether the host's own files ask for IMEX, and the profile does not; False too where they cannot be read."""
        try:
            return not self.profile.imex.required and self.is_meant
        except UnreadError:
            return False


def skip_unless_used(use: ImexUse) -> None:
    """For checks that the profile makes apply, and the host's own files."""
    if not use.profile.imex.required and not use.is_by_evidence:
        skip("the profile does not ask for IMEX, and the host's own files do not show that it is used")


def skip_unless_run_here(use: ImexUse) -> None:
    """For checks of the host's own IMEX: it runs on a node of a rack, and no plug-in of the DRA driver runs IMEX there."""
    if not use.is_on_rack:
        skip("the GPUs are on no fabric of several hosts")
    if not use.is_seen_running and not use.is_by_evidence and not use.profile.imex.required:
        skip("the host does not run IMEX, and its files do not ask for it")
    if runs_in_pods(need(use.imex)):
        skip("the DRA driver runs IMEX in pods")


def runs_in_pods(imex: Imex) -> bool:
    """Whether the DRA driver's plug-in starts IMEX. Skips an agent that may not read the kubelet's directory. Raises ``UnreadError``."""
    if isinstance(imex.plugin, Unread) and imex.plugin.why == "denied":
        skip("the kubelet's directory of plug-ins cannot be read with the rights of this run")
    return need(imex.plugin)


def skip_unless_required(profile: Profile) -> None:
    """For what Slurm, or the DRA driver, makes on hosts that have IMEX: the profile alone makes it a fault that it is missing."""
    if not profile.imex.required:
        skip("the profile does not ask for IMEX")
