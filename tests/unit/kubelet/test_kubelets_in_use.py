"""Which kubelet a host needs: one that its platform starts, one in a container, one that was disabled, MicroShift; and an image's none."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.read_kubelet import read_kubelet
from hostagent.domains.kubelet.read_launchers import read_launchers
from hostagent.domains.system.read_services import read_services
from hostagent.facts.host import Machine, Process, Services
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Runtime
from hostagent.facts.topology import Topology
from hostagent.testing import host

UNREAD = Unread("not-recorded", "not asked")
UNIT = "[Unit]\n[Service]\nExecStart=/usr/bin/kubelet --config=/c.yaml --kubeconfig=/k\n[Install]\nWantedBy=multi-user.target\n"
WANTS = "/etc/systemd/system/multi-user.target.wants"
CREDENTIALS = {"/var/lib/kubelet/kubeconfig": "x"}
DATA = "/var/lib/cloud/instance/user-data.txt"
CONTAINERD = Process(8, "containerd", ("/usr/bin/containerd",), 1.0, "")


def fields(kind, **said):
    return kind(**(dict.fromkeys(kind.__dataclass_fields__, UNREAD) | said))


def unit(name="kubelet", text=UNIT):
    return {f"/usr/lib/systemd/system/{name}.service": text}


def enabled(name, text=UNIT):
    return {**unit(name, text), f"{WANTS}/{name}.service": ("link", f"/usr/lib/systemd/system/{name}.service")}


def read(files, processes=(CONTAINERD,), kind="live", platform="EKS AMI"):
    source = host({"processes": [], **files}, kind)
    facts = {
        Machine: fields(Machine, processes=processes),
        Services: read_services(source, lambda _: None),
        Packages: fields(Packages, installed=()),
        Platform: fields(Platform, name=platform),
        Topology: fields(Topology, numa_nodes=(), cores=()),
        Runtime: (),
    }
    return read_kubelet(source, facts.__getitem__), read_launchers(source, facts.__getitem__)


@pytest.mark.parametrize(("platform", "starter"), [("EKS AMI", "nodeadm-run"), ("GKE node", "kube-node-configuration")])
def test_one_that_its_platform_starts_is_in_use_by_its_credentials(platform, starter):
    kubelet, launchers = read({**unit(), **CREDENTIALS}, platform=platform)
    assert (kubelet.unit, kubelet.runs, kubelet.joined, kubelet.starter) == ("kubelet", False, True, starter)
    assert [one.unit for one in launchers.kubelets] == ["kubelet"]


@pytest.mark.parametrize("platform", ["", "AKS node image", "Red Hat CoreOS"])
def test_one_that_was_disabled_is_not_in_use_and_has_joined(platform):
    kubelet, launchers = read({**unit(), **CREDENTIALS}, platform=platform)
    assert (kubelet.unit, kubelet.joined, launchers.kubelets) == ("", True, ())


def test_one_that_was_masked_is_not_in_use_where_its_platform_starts_it_either():
    masked = {"/etc/systemd/system/kubelet.service": ("link", "/dev/null")}
    kubelet, launchers = read({**unit(), **masked, **CREDENTIALS})
    assert (kubelet.unit, kubelet.joined, launchers.kubelets) == ("", True, ())


def test_a_package_that_joined_nothing_is_not_in_use():
    for platform in ("", "EKS AMI", "GKE node"):
        kubelet, launchers = read(unit(), platform=platform)
        assert (kubelet.unit, kubelet.joined.why, launchers.kubelets) == ("", "absent", ())


@pytest.mark.parametrize(("data", "found"), [("MIME-Version: 1.0\n", "kubelet"), (None, "kubelet"), ("", "")])
def test_a_program_that_the_image_enables_was_to_start_it_where_the_instance_got_data(data, found):
    files = {**unit(), **enabled("nodeadm-run"), **({} if data is None else {DATA: data})}
    kubelet, _ = read(files)
    assert kubelet.unit == found
    assert kubelet.joined is False if found else kubelet.joined.why == "absent"


def test_in_an_image_nothing_was_to_be_started():
    files = {**unit(), **enabled("nodeadm-run"), **CREDENTIALS, DATA: "MIME-Version: 1.0\n"}
    kubelet, launchers = read(files, Unread("not-running", "an image"), kind="image")
    assert (kubelet.unit, kubelet.joined.why, launchers.kubelets) == ("", "absent", ())


def test_credentials_that_may_not_be_looked_for_leave_it_open():
    denied = {"stat /var/lib/kubelet/kubeconfig": Unread("denied", "no rights")}
    kubelet, launchers = read({**unit(), **denied})
    assert (kubelet.unit.why, launchers.kubelets.why) == ("denied", "denied")
    kubelet, launchers = read({**unit(), **denied}, platform="")
    assert (kubelet.unit, kubelet.joined.why, launchers.kubelets) == ("", "denied", ())


def test_what_an_older_recording_was_not_asked_shows_no_kubelet():
    asked = {f"stat {path}": Unread("older-recording") for path in ("/etc/kubernetes/kubelet.conf", *CREDENTIALS)}
    kubelet, launchers = read({**unit(), **asked, f"stat {DATA}": Unread("older-recording"), **enabled("nodeadm-run")})
    assert (kubelet.unit, launchers.kubelets) == ("", ())


@pytest.mark.parametrize(
    ("own", "runtime", "runs"),
    [("0", "1", False), ("", "1", False), ("1", "1", None), ("", "", None), ("0", "0", None), ("0", "older", None), ("older", "1", None)],
)
def test_talos_s_does_not_run_where_its_cgroup_has_no_process_and_that_of_the_runtime_has_one(own, runtime, runs):
    """Its own process has a root of its own, and is never among the host's trusted ones."""
    files = {"/etc/kubernetes/kubelet.yaml": "x"}
    for name, said in (("kubelet", own), ("runtime", runtime)):
        path = f"/sys/fs/cgroup/podruntime/{name}/cgroup.events"
        files |= {f"read {path}": Unread("older-recording")} if said == "older" else {path: f"populated {said}\nfrozen 0\n"} if said else {}
    kubelet, _ = read(files, platform="Talos Linux")
    assert (kubelet.state.why, kubelet.joined.why) == ("not-supported", "not-supported")
    if runs is None:
        assert (kubelet.unit.why, kubelet.runs.why) == ("not-supported", "not-supported")
    else:
        assert (kubelet.unit, kubelet.runs) == ("kubelet", runs)


@pytest.mark.parametrize("lost", ["kubelet", "runtime"])
def test_a_cgroup_that_cannot_be_read_leaves_it_open(lost):
    files = {"/etc/kubernetes/kubelet.yaml": "x", f"read /sys/fs/cgroup/podruntime/{lost}/cgroup.events": Unread("denied", "no rights")}
    other = "runtime" if lost == "kubelet" else "kubelet"
    kubelet, _ = read({**files, f"/sys/fs/cgroup/podruntime/{other}/cgroup.events": "populated 1\n"}, platform="Talos Linux")
    assert (kubelet.unit.why, kubelet.runs.why) == ("denied", "not-supported")


def test_a_distribution_that_is_down_is_not_hidden_by_a_package_that_joined_nothing():
    both = {**enabled("kubelet"), **enabled("k3s-agent", "[Service]\nExecStart=/usr/local/bin/k3s agent\n")}
    assert read(both, platform="")[0].unit == "k3s-agent"
    assert read({**both, "/etc/kubernetes/kubelet.conf": "x"}, platform="")[0].unit == "kubelet"


@pytest.mark.parametrize(("populated", "runs"), [("1", True), ("0", False)])
def test_microshift_is_seen_by_its_cgroup_and_its_configuration_is_not_read(populated, runs):
    cgroup = {"/sys/fs/cgroup/system.slice/microshift.service/cgroup.events": f"populated {populated}\nfrozen 0\n"}
    kubelet, launchers = read({**enabled("microshift", "[Service]\nExecStart=microshift run\n"), **cgroup}, platform="")
    assert (kubelet.unit, kubelet.runs, kubelet.config.why) == ("microshift", runs, "not-supported")
    assert [(one.unit, one.endpoint, one.runtime) for one in launchers.kubelets] == [("microshift", "/run/crio/crio.sock", "crio")]
