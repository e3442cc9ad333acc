"""The effective KubeletConfiguration: files, drop-ins and flags merged, defaulted and refused as that version's kubelet does."""

from hostagent.collect.kubelet.told import Effective, Machine, Told
from hostagent.facts.unread import Unread

__all__ = ["Effective", "Machine", "Told", "effective"]


def effective(told: Told, machine: Machine) -> Effective:
    """What the kubelet that is told this makes of it on this machine. Pure."""
    open_ = Unread("error", "not judged yet")
    return Effective(open_, open_, open_, open_, open_, open_)
