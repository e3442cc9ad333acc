"""What a finding about the kubelet tells its reader to do: cases show outcomes alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from hostagent.core.unread import Unread
from hostagent.engine.catalogue import OURS, load
from hostagent.engine.evaluate import evaluate
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.platform import Part, Platform
from hostagent.testing import load_case, run_case

CASES = Path(__file__).parents[2] / "cases"
CHECKS = {one.id: one for one in load([OURS])}


def case(name):
    return load_case(str(CASES / f"kubelet/{name}.yaml"), str(CASES), CHECKS)


def remedy(name):
    (found,) = run_case(case(name), CHECKS)
    return [(step.action, step.text, step.command) for step in found.remedy]


def test_a_refused_shape_names_the_change_the_command_that_prints_it_and_the_restart():
    configure, restart = remedy("full_node/red-single-numa-node")
    assert (configure[0], configure[2]) == ("configure", "hostagent topology --pod gpus=0")
    assert "topologyManagerPolicy to " in configure[1]
    assert restart == ("restart_service", "Restart the kubelet.", "systemctl restart kubelet")


def test_the_shape_in_the_command_is_that_of_the_profile():
    assert remedy("full_node/red-few-cpus")[0][2] == "hostagent topology --pod gpus=0,cpus=20,memory=100Gi"
    assert remedy("sub_node/red-six-of-eight")[0][2] == "hostagent topology --pod gpus=6"


def test_where_no_change_lets_a_pod_in_nothing_is_restarted():
    assert [action for action, _, _ in remedy("sub_node/red-too-many")] == ["configure"]


def test_each_refused_shape_of_a_name_of_its_own_is_named():
    (found,) = run_case(case("shapes/red-one-of-two"), CHECKS)
    assert "a pod of the shape large (3 GPUs)" in found.message


def test_a_refused_state_file_is_removed_on_a_drained_node():
    ((action, text, command),) = remedy("config_accepted/red-state-file")
    assert (action, "Drain" in text) == ("restart_service", True)
    assert command == "systemctl stop kubelet && rm /var/lib/kubelet/cpu_manager_state && systemctl start kubelet"
    ((_, text, command),) = remedy("config_accepted/red-state-file-of-k3s")
    assert ("memory_manager_state" in text, command) == (True, "")


def test_a_host_with_many_numa_nodes_is_told_the_option_that_allows_them():
    assert "max-allowable-numa-nodes" in remedy("config_accepted/red-gb200-numa-nodes")[0][1]
    assert remedy("config_accepted/red-stopped")[0][1] == "Correct what the error names."


def test_whose_the_configuration_is_changes_it():
    given = case("full_node/red-single-numa-node")
    unread = dict.fromkeys(Platform.__dataclass_fields__, Unread("not-recorded", ""))
    platform = Platform(**{**unread, "name": "GKE node", "kubelet": Part("", "provider")})
    (found,) = evaluate([CHECKS["kubelet.full_node"]], HostFacts({**given.facts, Platform: platform}), given.profile)
    assert {step.action for step in found.remedy} == {"contact_owner"}


@pytest.mark.parametrize("name", ["Red Hat CoreOS", "GKE node"])
@pytest.mark.parametrize(("check_id", "file"), [("running", "red-stopped"), ("plugin_gone", "red-resource-without-devices")])
def test_a_process_and_a_pod_have_their_own_remedy_under_another_owner_of_the_configuration(name, check_id, file):
    given = case(f"{check_id}/{file}")
    unread = dict.fromkeys(Platform.__dataclass_fields__, Unread("not-recorded", ""))
    platform = Platform(**{**unread, "name": name, "kubelet": Part("", "provider")})
    (found,) = evaluate([CHECKS[f"kubelet.{check_id}"]], HostFacts({**given.facts, Platform: platform}), given.profile)
    assert {step.action for step in found.remedy} == {"restart_service"}


@pytest.mark.parametrize("runs", [True, False])
def test_a_shape_under_a_rejected_kubelet_is_told_under_it(runs):
    shape, rejected = case("sub_node/red-rejected-and-runs"), case("config_accepted/red-unknown-policy-runs")
    kubelet = replace(shape.facts[Kubelet], refused_state_files=rejected.facts[Kubelet].refused_state_files, runs=runs)
    checks = [CHECKS["kubelet.config_accepted"], CHECKS["kubelet.sub_node"], CHECKS["kubelet.full_node"]]
    found = {one.id: one for one in evaluate(checks, HostFacts({**shape.facts, Kubelet: kubelet}), shape.profile)}
    assert {one.cause.id for one in found.values()} == {"kubelet.config_accepted"}
    assert {name: one.severity for name, one in found.items()} == {
        "kubelet.config_accepted": "warning" if runs else "critical",
        "kubelet.full_node": "warning",
        "kubelet.sub_node": "warning" if runs else "critical",
    }


def test_a_host_whose_gpus_are_all_taken_admits_its_shapes_as_an_empty_one_does():
    given = case("full_node/green-restricted")
    kubelet = given.facts[Kubelet]
    taken = replace(kubelet, given=replace(kubelet.given, devices=tuple(replace(one, allocated=True) for one in kubelet.given.devices)))
    (found,) = evaluate([CHECKS["kubelet.full_node"]], HostFacts({**given.facts, Kubelet: taken}), given.profile)
    assert found.outcome == "pass"
