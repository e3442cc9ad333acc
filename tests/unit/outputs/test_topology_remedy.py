"""How a kubelet gets another configuration: which steps, on whose host."""

import dataclasses

import pytest

from hostagent.core.tables.platforms import KUBELET_PLACES
from hostagent.core.unread import Unread
from hostagent.facts.kubelet import Kubelet, KubeletConfig
from hostagent.facts.platform import Part, Platform
from hostagent.outputs.topology.remedy import drop_in, steps

GAP = Unread("denied", "EACCES")
DROP_INS = ("/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet.conf.d/10-size.conf")


def made(kind, **known):
    return kind(**{field.name: known.get(field.name, GAP) for field in dataclasses.fields(kind)})


def kubelet(*files, options=(), **known):
    config = made(KubeletConfig, cpu_manager_policy_options=options)
    return made(Kubelet, unit="kubelet", config=config, config_files=files, origin=(), **known)


def platform(name="", owner="host", place=""):
    return made(Platform, name=name, kubelet=Part(place, owner))


def texts(*arguments):
    return [step.text for step in steps(*arguments)]


def commands(*arguments):
    return [step.command for step in steps(*arguments) if step.command]


RESTRICTED = {"topologyManagerPolicy": "restricted"}


def test_a_policy_of_the_topology_manager_needs_no_state_file_removed():
    assert commands(RESTRICTED, {}, kubelet(*DROP_INS), platform()) == [
        "kubectl drain <node> --ignore-daemonsets --delete-emptydir-data",
        "systemctl restart kubelet",
        "kubectl uncordon <node>",
    ]


@pytest.mark.parametrize(
    ("configuration", "files"),
    [
        ({"memoryManagerPolicy": "None"}, ["memory_manager_state"]),
        ({"cpuManagerPolicy": "static"}, ["cpu_manager_state"]),
        ({"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}, ["cpu_manager_state"]),
        ({"cpuManagerPolicyOptions": {"distribute-cpus-across-numa": "true"}}, []),
        ({"memoryManagerPolicy": "None", "cpuManagerPolicy": "none"}, ["cpu_manager_state", "memory_manager_state"]),
    ],
)
def test_a_state_file_is_removed_where_the_kubelet_would_refuse_it(configuration, files):
    found = commands(configuration, {}, kubelet(*DROP_INS), platform())
    assert [one for one in found if one.startswith("rm ")] == [f"rm -f /var/lib/kubelet/{name}" for name in files]
    order = ["systemctl stop kubelet", *(f"rm -f /var/lib/kubelet/{name}" for name in files), "systemctl start kubelet"]
    assert found[1:-1] == (order if files else ["systemctl restart kubelet"])


def test_the_fields_go_where_this_kubelet_reads_them():
    assert texts(RESTRICTED, {}, kubelet(*DROP_INS), platform())[0] == "Write this to /etc/kubernetes/kubelet.conf.d/99-hostagent.conf:"
    later = "/etc/kubernetes/kubelet.conf.d/99-zz-site.conf"
    assert (
        texts(RESTRICTED, {}, kubelet(*DROP_INS, later), platform())[0] == "Write this to /etc/kubernetes/kubelet.conf.d/zz-hostagent.conf:"
    )
    last = "/etc/kubernetes/kubelet.conf.d/zzz.conf"
    assert texts(RESTRICTED, {}, kubelet(*DROP_INS, last), platform())[0] == f"Set these fields in {last}:"
    assert texts(RESTRICTED, {}, kubelet(DROP_INS[0]), platform())[0] == "Set these fields in /var/lib/kubelet/config.yaml:"
    assert (
        texts(RESTRICTED, {}, kubelet("/etc/kubernetes/kubelet.conf"), platform())[0] == "Set these fields in /etc/kubernetes/kubelet.conf:"
    )
    assert "--config" in texts(RESTRICTED, {}, GAP, GAP)[0]


@pytest.mark.parametrize("place", KUBELET_PLACES)
def test_each_distribution_of_kubernetes_has_its_way(place):
    assert place.rpartition("/")[2].partition(".")[0] in texts(RESTRICTED, {}, kubelet(), platform(place=place))[0] or "k0s" in place


def test_a_flag_is_taken_away_first():
    asked = dataclasses.replace(kubelet(*DROP_INS), origin=(("topologyManagerPolicy", "--topology-manager-policy"),))
    assert (
        texts(RESTRICTED, {}, asked, platform())[0]
        == "Take --topology-manager-policy off the kubelet's command line: a flag wins over every file."
    )


@pytest.mark.parametrize("name", ["GKE node", "EKS AMI", "AKS node image", "Bottlerocket", "Talos Linux", "Red Hat CoreOS", "Another"])
def test_where_it_is_somebody_elses_the_steps_are_theirs(name):
    found = steps(RESTRICTED, {}, kubelet(*DROP_INS), platform(name, "provider"))
    assert [(step.action, step.text[-1]) for step in found] == [("contact_owner", ":")]


def test_the_pods_own_cpus_need_no_kubelet():
    assert texts({}, {"cpu": "48"}, kubelet(*DROP_INS), platform()) == ["Let the pod ask for 48 CPUs."]
    assert steps({}, {}, kubelet(), platform()) == ()


def test_a_drop_in_is_a_document_of_its_own():
    assert drop_in({"topologyManagerPolicyOptions": {"a": "true"}, "memoryManagerPolicy": "None", "cpuManagerPolicyOptions": {}}) == (
        "apiVersion: kubelet.config.k8s.io/v1beta1",
        "kind: KubeletConfiguration",
        "topologyManagerPolicyOptions:",
        '  a: "true"',
        "memoryManagerPolicy: None",
        "cpuManagerPolicyOptions: {}",
    )
