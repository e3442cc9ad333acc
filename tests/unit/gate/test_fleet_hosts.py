"""The example fleet is what its maker makes, and each of its nodes is what the README there says."""

from hostagent.domains.nccl.class_inputs import CLASS_INPUTS
from tests.fleet_hosts import FOLDER, files, summaries


def test_the_committed_summaries_are_those_that_are_made():
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert found == files(), "run 'python -m tests.fleet_hosts' and commit the result"


def test_the_odd_nodes_of_the_example_differ_from_the_others_in_what_is_said_of_them():
    made = summaries()
    common = made["gpu-01"]["fabric"]["inputs"]
    differ = {name: {key for key in CLASS_INPUTS if one["fabric"]["inputs"][key] != common[key]} for name, one in made.items()}
    assert differ["gpu-02"] == differ["gpu-05"] == differ["gpu-06"] == differ["gpu-10"] == set()
    assert (differ["gpu-07"], differ["gpu-08"]) == ({"driver_branch"}, {"mtu", "active_mtu"})
    assert made["gpu-08"]["verdict"] == {"single_node": "ready", "multi_node": "not_ready"}
    assert made["gpu-09"]["verdict"]["single_node"] == "not_ready"
    assert made["gpu-11"]["fabric"]["domain"] == made["gpu-12"]["fabric"]["domain"] != made["gpu-01"]["fabric"]["domain"]
    assert len({one["boot_id"] for one in made.values()}) == len(made)
