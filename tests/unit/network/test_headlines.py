"""What a check says of rails that differ, in the words of what it looks at."""

from pathlib import Path

from hostagent.engine.catalogue import OURS, load
from hostagent.testing import load_case, run_case

CASES = str(Path(__file__).parents[2] / "cases")
CHECKS = {one.id: one for one in load([OURS])}


def test_a_port_that_trusts_something_else_is_told_so():
    case = load_case(f"{CASES}/network/trust/red-differs.yaml", CASES, CHECKS)
    assert {one.headline for one in run_case(case, CHECKS)} == {"port mlx5_0:1 trusts dscp, the other rails trust pcp"}
