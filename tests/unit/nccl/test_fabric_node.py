"""The join of all that a node's fabric class is made of."""

from hostagent.core.unread import Unread
from hostagent.domains.nccl.fabric_node import FabricNode
from hostagent.profiles.profile import load

PROFILE = load("default", site_file="/nonexistent").profile
GAP = Unread("timeout", "no answer")


def test_a_node_of_which_nothing_was_read_says_so():
    fabric = FabricNode(*[GAP] * 9, PROFILE)
    assert fabric.node is fabric.node
    assert fabric.node.facts.fabric.rdma is GAP
    assert fabric.unasked_gdr is GAP
