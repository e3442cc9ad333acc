"""Whether slurmd is expected on a host that does not enable it: some sites and clouds start it by a program of theirs at each boot."""

from collections.abc import Iterator
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import units
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need, then
from hostagent.domains.slurm.conf import CACHES, FOLDERS, NODES, Line, has_node
from hostagent.domains.slurm.read_conf import LIMIT, RENAMED, SLURM_CONF, conf_lines, own_names, read_environment
from hostagent.facts.host import Services, Unit
from hostagent.host.source import Source

_KEEP = Keep("slurm.conf", ("include", "state", *NODES))
#: What has no slurm.conf, or was recorded before it was read for this.
_NONE = NOT_APPLICABLE | {"older-recording"}


def expects_slurmd(source: Source, services: "Services | Unread", kubelets: Any) -> "bool | Unread":
    """Whether slurmd's unit is there, neither enabled nor masked, and slurm.conf has a node of the host's name; never in an image.

    A host with a kubelet in use (`kubelets`: those) has left Slurm, or starts slurmd in pods. A node with another name than its host's
    cannot be recognised.
    """
    unit = then(services, lambda those: those.unit(*units("slurm")))
    if isinstance(unit, Unread) or not unit.exists or unit.enabled is True or unit.masked is True:
        return unit if isinstance(unit, Unread) else False
    found = _expects(source, unit, kubelets)
    return False if isinstance(found, Unread) and found.why in _NONE else found


@stops_at_unread
def _expects(source: Source, unit: Unit, kubelets: Any) -> bool:
    need(unit.active)
    if need(unit.enabled) or need(kubelets):
        return False
    environment = need(read_environment(source, LIMIT))
    return not RENAMED.search(environment) and has_node(_nodes(source, environment), own_names(source))


def _nodes(source: Source, environment: str) -> Iterator[Line]:
    """The lines of the slurm.conf that slurmd would read. Raises ``UnreadError``."""
    named = SLURM_CONF.findall(environment)
    paths = named[-1:] or [f"{folder}/slurm.conf" for folder in (*FOLDERS, *CACHES)]
    for path in paths:
        text = source.text(path, LIMIT, keep=_KEEP)
        if isinstance(text, Unread) and text.why in NOT_APPLICABLE:
            continue
        need(text)
        return conf_lines(source, path, _KEEP, LIMIT)
    raise UnreadError(Unread("absent", "no slurm.conf"))
