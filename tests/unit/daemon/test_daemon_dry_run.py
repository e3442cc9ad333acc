"""What ``daemon --dry-run`` prints."""

import pytest

from hostagent.daemon.dry_run import DryRun
from hostagent.daemon.message import Message, packed
from hostagent.daemon.settings import Settings
from hostagent.engine.report.node_status import NodeWords
from hostagent.engine.target import Evidence


@pytest.mark.parametrize("node", ["n\x1b[2J\x1b[31mx", "n\nNode other", "n\u202egnp", "n\r"])
def test_a_name_of_a_node_moves_no_cursor(node):
    said = []
    words = NodeWords((), (), {}, {})
    DryRun(Settings(Evidence(), "", node, "/s"), said.append).publish(
        Message(node, words, {}, packed(""), "", 0.0, 0.0, 0.0, "start", {}, {}), 0.0
    )
    (text,) = said
    assert text.replace("\n", "").isprintable()
    assert text.startswith("Node n\\")
