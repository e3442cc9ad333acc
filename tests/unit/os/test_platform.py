"""Which platform a host is: two marks, never one; and what follows for the remedies of its checks."""

from dataclasses import fields, replace

import pytest

from hostagent import catalogue, profile
from hostagent.collect.os.platform import read_platform
from hostagent.collect.os.release import read_os
from hostagent.evaluate import evaluate
from hostagent.facts.driver import Driver
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.platform import Part, Platform
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.unread import Unread
from hostagent.source import Source
from hostagent.testing import TreeBackend

LOADED = profile.load("default", site_file="/nonexistent")
CHECKS = {one.id: one for one in catalogue.load(LOADED.profile.catalogues)}


def host(*paths, id_="ubuntu", release="6.8.0-87-generic", **answers):
    answer = {"hostname": "a", "release": release, "machine": "x86_64", "boot_id": "b", "now": 1.0, "uid": 0}
    return {"host": answer, "os_release": {"id": id_}, **dict.fromkeys(paths, ""), **answers}


def platform(files, kind="live"):
    source = Source(TreeBackend(files, kind))
    return read_platform(source, lambda _: read_os(source, lambda _: None))


@pytest.mark.parametrize(
    ("files", "name", "owner"),
    [
        (host("/home/kubernetes/bin/x", id_="cos"), "GKE node", "provider"),
        (host("/home/kubernetes/bin/x"), "GKE node", "provider"),
        (host("/etc/eks/nvidia-kmod-load.sh", id_="amzn"), "EKS AMI", "image"),
        (host("/opt/azure/containers/provision.sh"), "AKS node image", "image"),
        (host("/etc/dgx-release"), "DGX OS", "host"),
        (host("/dev/dxg", release="5.15.167.4-microsoft-standard-WSL2"), "WSL2", "provider"),
        (host("/etc/.ignition-result.json", id_="rhel"), "Red Hat CoreOS", "image"),
        (host("/run/ostree-booted", id_="rhel"), "", "host"),
        (host("/etc/nv_tegra_release", release="5.15.148-tegra"), "Jetson Linux", "image"),
        (host(), "", "host"),
        (host(id_="cos"), "", "host"),
        (host("/etc/eks/x", id_="debian"), "", "host"),
        (host("/dev/dxg"), "", "host"),
        (host("/home/kubernetes/bin/x", id_="rocky"), "", "host"),
    ],
)
def test_a_platform_is_recognised_by_two_marks(files, name, owner):
    found = platform(files)
    assert found.name == name
    assert found.driver.owner == owner


def test_what_the_profile_gives_to_the_operator_is_the_operators_though_its_container_left_nothing():
    loaded = profile.load("gpu-operator-26.3", site_file="/nonexistent")
    driver = replace(Driver(*[Unread("absent")] * len(fields(Driver))), loaded=False)
    facts = HostFacts({Driver: driver, Platform: platform(host())})
    (one,) = evaluate([CHECKS["driver.loaded"]], facts, loaded.profile)
    assert "ClusterPolicy" in one.remediation


def test_the_operators_parts_are_its_own_on_every_platform():
    found = platform(
        host("/etc/eks/x", "/run/nvidia/driver/usr/bin/nvidia-smi", "/usr/local/nvidia/toolkit/libnvidia-container.so.1.19.0", id_="amzn")
    )
    assert found.operator == ("driver", "toolkit")
    assert (found.driver.owner, found.libraries.place, found.toolkit.owner, found.runtime.owner) == (
        "operator",
        "/run/nvidia/driver",
        "operator",
        "operator",
    )
    assert platform(host("/usr/local/nvidia/toolkit/x")).operator == (), "a directory proves nothing"


def test_a_mark_that_nobody_could_look_for_leaves_the_platform_open():
    found = platform(host(**{"stat /etc/dgx-release": Unread("denied", "stat")}))
    assert found.name.why == "denied"


def finding(part, name="EKS AMI"):
    owned = Platform(name=name, base="host", operator=(), driver=part, libraries=part, toolkit=part, runtime=part)
    facts = HostFacts({Platform: owned, Toolkit: replace(Toolkit(*[Unread("absent")] * len(fields(Toolkit))), operator_version="1.17.0")})
    return evaluate([CHECKS["toolkit.known_vulnerability"]], facts, LOADED.profile)[0]


def test_a_remedy_is_what_its_reader_may_do():
    own = CHECKS["toolkit.known_vulnerability"].remedy
    assert finding(Part("", "host")).remediation == own
    assert finding(Part("", "image")).remediation == (
        f"EKS AMI brings this part: take an image that has it right, and replace the node. Until then, on this node: {own}"
    )
    assert "ClusterPolicy" in finding(Part("", "operator")).remediation
    assert own not in finding(Part("", "provider")).remediation
    assert finding(Unread("denied")).remediation == own


def test_what_has_no_known_place_is_not_judged():
    one = finding(Part("?", "provider"), "WSL2")
    assert (one.outcome, one.code, one.message) == ("skip", "no-place", "does not apply (where WSL2 keeps the toolkit is not known)")
