"""NCCL's variables for a job on these nodes, or why there are none: the document of ``hostagent nccl env``.

The nodes are compared before anything is emitted (`agreement`): a job runs as its worst node does, and variables would hide which
one that is.
"""

# Not emitted: GDR levels (no report holds a measured pair), NCCL_CROSS_NIC (which rails reach each other needs a probe),
# NCCL_DEBUG. NCCL_TOPO_FILE is repeated where /etc/nccl.conf of every host names one: a container does not see that file. Not
# compared, because no report has them: IMEX domains, builds of OFED, CPU governors, policies of the topology.

from collections.abc import Sequence
from typing import NamedTuple

from hostagent.core.frozen import frozen
from hostagent.domains.nccl import preconditions
from hostagent.domains.nccl.agreement import NOTED, PLUGINS, ROWS, Refusal, compared
from hostagent.domains.nccl.job_variables import Assignment
from hostagent.domains.nccl.node import Node
from hostagent.domains.nccl.tables.changes import Version
from hostagent.domains.nccl.tables.variables import OLDEST
from hostagent.domains.nccl.tables.vendors import Stack
from hostagent.domains.nccl.vendor import vendor

SCHEMA_VERSION = 1
_UNKNOWN = "unknown"


@frozen
class Variable:
    """One for all nodes of a list, or for one node."""

    name: str
    """The variable."""
    value: str
    """Its value, without quotes."""
    why: str
    """Why, in one sentence."""


@frozen
class NodeVariables:
    """Variables of one node only: they go into that node's conf file."""

    node: str
    """The host."""
    variables: tuple[Variable, ...]
    """Its own variables."""


@frozen
class Provider:
    """A provider's network, which chooses its own settings."""

    name: str
    """Its name."""
    plugin: str
    """Its plug-in for NCCL."""
    script: str
    """The script that a job sources; empty where the plug-in needs none."""
    text: str
    """What a job needs, in one sentence."""


@frozen
class Environment:
    """The answer. Where anything is refused, nothing is emitted."""

    schema_version: int
    """The version of this schema."""
    emitted: bool
    """Whether there is an environment; false where something is refused."""
    nodes: tuple[str, ...]
    """The hosts that it is for."""
    nccl_version: str  # or unknown
    """The version of NCCL that it is for; unknown: what is emitted is known to every version from 2.18 on."""
    variables: tuple[Variable, ...]
    """What every node gets."""
    by_node: tuple[NodeVariables, ...]
    """What only one node gets, for its conf file."""
    provider: Provider | None
    """The provider's network that the nodes have, which chooses its own settings; null for none."""
    refusals: tuple[Refusal, ...]
    """Why nothing is emitted; empty where something is."""
    notes: tuple[str, ...]
    """What is worth a look and refuses nothing."""


def derive(nodes: Sequence[Node], version: "Version | None" = None, now: "float | None" = None) -> Environment:
    """`version`: of the NCCL that the job brings; None takes that of the nodes. `now`: reports that are valid until earlier are refused."""
    nodes = preconditions.labelled(nodes)
    refusals = list(preconditions.refusals(nodes, now))
    own = version is not None
    if not own:
        version, unlike = preconditions.version_of(nodes)
        refusals += unlike
    stack, unlike = vendor(nodes, brings_its_own=own)
    refusals += unlike
    rows = ROWS if own or stack or unlike else (*ROWS, PLUGINS)
    refusals += compared(nodes, rows)
    variables, more, notes = preconditions.proposal(nodes, version, stack, brings_its_own=own)
    refusals += _new(more, refusals)
    refusals += preconditions.settings_refusals(nodes, variables, version or OLDEST)
    notes = (*notes, *(one.message for one in compared(nodes, NOTED)), *preconditions.notes(nodes, variables))
    answer = _Answer(version, variables, stack, notes)
    return _emitted(nodes, answer) if not refusals else _refused(nodes, answer, tuple(refusals))


def _new(more: Sequence[Refusal], known: Sequence[Refusal]) -> list[Refusal]:
    """Refusals with a new code; each "unread" is a new one."""
    codes = {one.code for one in known} - {"unread"}
    return [one for one in more if one.code not in codes]


class _Answer(NamedTuple):
    version: "Version | None"
    variables: Sequence[Assignment]
    stack: "Stack | None"
    notes: tuple[str, ...]

    @property
    def words(self) -> str:
        return ".".join(map(str, self.version)) if self.version else _UNKNOWN


def _refused(nodes: Sequence[Node], answer: _Answer, refusals: tuple[Refusal, ...]) -> Environment:
    return Environment(SCHEMA_VERSION, False, _names(nodes), answer.words, (), (), None, refusals, answer.notes)


def _emitted(nodes: Sequence[Node], answer: _Answer) -> Environment:
    own: dict[str, list[Variable]] = {node.name: [] for node in nodes}
    for one in answer.variables:
        for node, value in one.by_node.items():
            own[node].append(Variable(one.name, value, one.why))
    stack = answer.stack
    return Environment(
        schema_version=SCHEMA_VERSION,
        emitted=True,
        nodes=_names(nodes),
        nccl_version=answer.words,
        variables=tuple(Variable(one.name, one.common, one.why) for one in answer.variables if one.common),
        by_node=tuple(NodeVariables(node, tuple(listed)) for node, listed in own.items() if listed),
        provider=Provider(stack.name, stack.plugin, stack.script, stack.how) if stack else None,
        refusals=(),
        notes=answer.notes,
    )


def _names(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)


def variables_of(environment: Environment, node: str) -> tuple[Variable, ...]:
    """The variables for all nodes and those of this node; for "" the common ones only."""
    own = next((one.variables for one in environment.by_node if one.node == node), ())
    return (*environment.variables, *own)
