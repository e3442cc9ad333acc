"""What the kubelet finds on its machine when it starts, as its rules take it: NUMA nodes, CPUs, its own state files."""

from hostagent.collect.kubelet.told import Machine
from hostagent.facts.unread import Unread
from hostagent.source import Source

_LATER = Unread("not-recorded", "not read yet")


def read_machine(source: Source, root: str) -> Machine:
    return Machine(_LATER, _LATER, _LATER, _LATER, _LATER)
