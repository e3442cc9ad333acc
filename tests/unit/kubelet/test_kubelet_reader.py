"""The kubelet of a host made of a dictionary: which one, its command line, its files, its version."""

import json

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.kubelet.read_command import expanded, parse_environment, parse_words
from hostagent.domains.kubelet.read_files import Files
from hostagent.domains.kubelet.read_kubelet import read_kubelet
from hostagent.domains.system.read_services import read_services
from hostagent.facts.host import Machine, Process, Services
from hostagent.facts.packages import Package, Packages
from hostagent.facts.platform import Platform
from hostagent.facts.topology import NumaNode, Topology
from hostagent.testing import host

UNREAD = Unread("not-recorded", "not asked")
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
WANTS = "/etc/systemd/system/multi-user.target.wants"
KUBEADM = """[Service]
Environment="KUBELET_CONFIG_ARGS=--config=/c.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"""


def fields(kind, **said):
    return kind(**(dict.fromkeys(kind.__dataclass_fields__, UNREAD) | said))


def package(name, version):
    return Package(name, version, version.partition("-")[0], "amd64", "installed", False, "unknown")


INSTALLED = (package("kubelet", "1.34.2-1.1"),)


def read(files, processes=(), kind="live", installed=INSTALLED, platform=""):
    source = host({"processes": [], **files}, kind)
    nodes = tuple(NumaNode(one, f"{one * 4}-{one * 4 + 3}", 2**36, (10, 20), ()) for one in (0, 1))
    facts = {
        Machine: fields(Machine, processes=processes),
        Services: read_services(source, lambda _: None),
        Packages: fields(Packages, installed=installed),
        Platform: fields(Platform, name=platform),
        Topology: fields(Topology, numa_nodes=nodes, cores=tuple(map(str, range(8)))),
    }
    return read_kubelet(source, facts.__getitem__)


def enabled(text, name="kubelet"):
    return {f"/usr/lib/systemd/system/{name}.service": text, f"{WANTS}/{name}.service": ("link", f"/usr/lib/systemd/system/{name}.service")}


def running(*argv, name="kubelet", unit="kubelet"):
    return (Process(7, name, argv or ("/usr/bin/kubelet",), 5.0, f"{unit}.service"),)


UNIT = "[Unit]\n[Service]\nExecStart=/usr/bin/kubelet\n[Install]\nWantedBy=multi-user.target\n"


def test_a_host_without_a_kubelet_has_none():
    found = read({})
    assert (found.unit, found.state, found.runs, found.error) == ("", "absent", False, "")
    assert found.config.why == "absent"


def test_what_may_be_a_kubelet_leaves_all_of_it_open():
    found = read({}, (Process(7, "kubelet", (), 1.0, Unread("denied", "who runs it")),))
    assert (found.state.why, found.given.why) == ("denied", "denied")


def test_the_one_that_runs_is_chosen_with_its_flags_over_its_file():
    files = {**enabled(UNIT, "k3s-agent"), "/c.yaml": HEAD + "maxPods: 7\ntopologyManagerPolicy: restricted\n"}
    found = read(files, running("/usr/bin/kubelet", "--config=/c.yaml", "--max-pods", "9"))
    assert (found.unit, found.runs, found.started_at, found.state) == ("kubelet", True, 5.0, "accepted")
    assert (found.config.max_pods, found.config.topology_manager_policy) == (9, "restricted")
    origin = dict(found.origin)
    assert (origin["maxPods"], origin["topologyManagerPolicy"]) == ("--max-pods", "/c.yaml")


def test_a_kubelet_that_is_down_is_told_by_its_unit_as_kubeadm_writes_it():
    files = {
        **enabled(UNIT),
        "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": KUBEADM,
        "/var/lib/kubelet/kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS="--max-pods=5 --v=2"\n',
        "/etc/default/kubelet": "OTHER=--max-pods=1\nKUBELET_EXTRA_ARGS=--max-pods=6\n",
        "/c.yaml": HEAD,
    }
    found = read(files)
    assert (found.runs, found.config.max_pods, found.started_at.why, found.config_files) == (False, 6, "absent", ("/c.yaml",))
    assert read(files, Unread("not-running", "an image"), kind="image").runs.why == "not-running"


def test_a_variable_file_that_cannot_be_read_leaves_the_flags_open():
    files = {
        **enabled(UNIT),
        "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": KUBEADM,
        "/var/lib/kubelet/kubeadm-flags.env": Unread("denied", "kubeadm-flags.env"),
    }
    assert read(files).state.why == "denied"


@pytest.mark.parametrize(
    "start",
    [
        "/usr/local/bin/kubenswrapper /usr/bin/kubelet --config=/c.yaml --max-pods=44",  # OpenShift
        "/usr/bin/numactl --membind=0 /usr/bin/kubelet --config=/c.yaml --max-pods=44",
        "/usr/bin/hyperkube kubelet --config=/c.yaml --max-pods=44",
    ],
)
def test_what_starts_a_kubelet_is_not_taken_for_it(start):
    found = read({**enabled(UNIT.replace("/usr/bin/kubelet", start)), "/c.yaml": HEAD})
    assert (found.state, found.config.max_pods, found.version) == ("accepted", 44, "1.34.2")


@pytest.mark.parametrize("start", ["/bin/sh -c 'exec /usr/bin/kubelet --max-pods=44'", "/usr/bin/snap run kubelet.daemon"])
def test_a_start_that_is_not_understood_leaves_the_kubelet_open(start):
    found = read({**enabled(UNIT.replace("/usr/bin/kubelet", start)), "/c.yaml": HEAD})
    assert (found.state.why, found.config.why) == ("error", "error")


def test_an_old_kubelet_needs_a_variable_for_its_drop_ins():
    unit = UNIT.replace("/usr/bin/kubelet", "/usr/bin/kubelet --config=/c.yaml --config-dir=/d")
    files = {"/c.yaml": HEAD, "/d/1.conf": HEAD + "maxPods: 7\n"}
    old = (package("kubelet", "1.29.6-1.1"),)
    assert "KUBELET_CONFIG_DROPIN_DIR_ALPHA not set" in read({**enabled(unit), **files}, installed=old).error
    told = unit.replace("ExecStart", "Environment=KUBELET_CONFIG_DROPIN_DIR_ALPHA=1\nExecStart")
    found = read({**enabled(told), **files}, installed=old)
    assert (found.state, found.config.max_pods) == ("accepted", 7)


@pytest.mark.parametrize("path", ["/etc/kube/*.env", "-/etc/kube/%H.env"])
def test_a_pattern_of_variable_files_leaves_the_flags_open(path):
    unit = UNIT.replace("ExecStart=/usr/bin/kubelet", f"EnvironmentFile={path}\nExecStart=/usr/bin/kubelet $A")
    assert "which files that names is not read" in read(enabled(unit)).state.detail
    assert read(enabled(unit.replace(" $A", ""))).state == "accepted"


def test_a_kubelet_in_a_container_of_the_host_is_not_taken_for_none():
    files = {"/etc/kubernetes/kubelet.yaml": HEAD}
    assert read(files, platform="Talos Linux").state.why == "not-supported"
    assert read({}, platform="Talos Linux").state == read(files).state == "absent"


@pytest.mark.parametrize("argv", [("kubelet", *["--v=1"] * 63), ("kubelet", "--config=/" + "a" * 4096)])
def test_a_command_line_that_was_cut_is_unread(argv):
    assert read({}, running(*argv)).state.why == "error"


def test_drop_ins_are_merged_in_their_order_and_a_missing_file_is_said():
    files = {
        "/c.yaml": HEAD + "maxPods: 1\n",
        "/d/10-a.conf": HEAD + "maxPods: 2\n",
        "/d/sub/x.conf": HEAD + "podsPerCore: 3\n",
        "/d/z.yaml": "{",
    }
    found = read(files, running("kubelet", "--config=/c.yaml", "--config-dir=/d"))
    assert found.config_files == ("/c.yaml", "/d/10-a.conf", "/d/sub/x.conf")
    assert (found.config.max_pods, found.config.pods_per_core) == (2, 3)
    lost = read(files, running("kubelet", "--config=/nothing.yaml"))
    assert (lost.state, lost.config_files) == ("rejected", ())
    assert "no such file" in lost.error


def test_an_underscore_in_a_flag_is_a_hyphen():
    files = {**enabled(UNIT), "/c.yaml": HEAD, "/d/1.conf": HEAD + "maxPods: 7\n"}
    assert read(files, running("/usr/bin/kubelet", "--config=/c.yaml", "--config_dir=/d")).config.max_pods == 7


def test_a_link_to_a_directory_is_not_walked():
    files = {"/real/a.conf": HEAD, "/d": ("link", "/real"), "/e/inner": ("link", "/real"), "/e/b.conf": HEAD}
    assert Files(host(files)).drop_ins("/d") == []
    assert Files(host(files)).drop_ins("/e") == ["/e/b.conf"]
    assert Files(host(files)).drop_ins("/nothing") == ["/nothing"]
    assert Files(host(files)).drop_ins("/d/") == ["/d/a.conf"]


def test_more_drop_ins_than_any_kubelet_has_are_refused():
    files = {f"/d/{number:04}.conf": HEAD for number in range(200)}
    with pytest.raises(UnreadError, match="more than 100 files"):
        Files(host(files)).all("", "/d")


def test_a_distribution_passes_arguments_on():
    files = {
        "/etc/rancher/k3s/config.yaml": "kubelet-arg:\n- max-pods=3\ntoken: x\n",
        "/etc/rancher/k3s/config.yaml.d/10.yaml": "kubelet-arg+: topology-manager-policy=restricted\n",
        "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf": HEAD + "maxPods: 1\ncgroupDriver: systemd\n",
        "run /usr/local/bin/k3s --version": {
            "exit_code": 0,
            "stdout": "k3s version v1.34.1+k3s1 (24fc436e)\ngo version go1.24.6\n",
            "stderr": "",
        },
        "/usr/local/bin/k3s": "",
    }
    found = read(files, running("/usr/local/bin/k3s", "agent", name="k3s-agent", unit="k3s-agent"), installed=())
    assert (found.config.max_pods, found.config.topology_manager_policy, found.config.cgroup_driver) == (3, "restricted", "systemd")
    assert found.version.startswith("1.34.1")


def test_microk8s_has_a_file_of_flags():
    files = {
        "/var/snap/microk8s/8511/args/kubelet": "# x\n--max-pods=4\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n",
        "/snap/microk8s/current/meta/snap.yaml": "name: microk8s\nversion: v1.33.5\n",
        "/var/snap/microk8s/common/var/lib/kubelet/cpu_manager_state": '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
    }
    argv = ("/snap/microk8s/8511/kubelite", "--kubelet-args-file=/var/snap/microk8s/8511/args/kubelet")
    found = read(files, running(*argv, name="kubelite", unit="snap.microk8s.daemon-kubelite"), installed=())
    assert (found.version, found.config.max_pods, found.given.cpu_policy) == ("1.33.5", 4, "none")


@pytest.mark.parametrize(("name", "version"), [("kubelet", "1.34.2"), ("openshift-kubelet", "1.33.4")])
def test_the_version_is_the_packages_or_the_programs(name, version):
    said = {"run /usr/bin/kubelet --version": {"exit_code": 0, "stdout": "Kubernetes v1.33.4\n", "stderr": ""}, "/usr/bin/kubelet": ""}
    assert read(said, running(), installed=(package(name, "1.34.2-1.1"),)).version == version


def test_a_program_that_cannot_be_run_leaves_the_version_open():
    found = read({}, running("/opt/x/kubelet"), installed=())
    assert (found.version.why, found.judged_as) == ("error", "unknown")


@pytest.mark.parametrize("changed", [{"uid": 1000}, {"mode": 0o777}])
@pytest.mark.parametrize("path", ["/opt/x/kubelet", "/opt/x"])
def test_a_program_that_others_may_change_is_not_run(path, changed):
    stat = {"kind": "file", "mode": 0o755, "uid": 0, "gid": 0, "size": 1, "mtime": 1.0, "major": 0, "minor": 0}
    said = {"run /opt/x/kubelet --version": {"exit_code": 0, "stdout": "Kubernetes v1.33.4\n", "stderr": ""}, "/opt/x/kubelet": ""}
    assert read(said, running("/opt/x/kubelet"), installed=()).version == "1.33.4"
    assert read({**said, f"stat {path}": {**stat, **changed}}, running("/opt/x/kubelet"), installed=()).version.why == "denied"


def test_the_newest_of_all_its_files_counts():
    files = {
        **enabled(UNIT),
        "/c.yaml": HEAD,
        "/usr/lib/systemd/system/kubelet.service.d/a.conf": "[Service]\nEnvironmentFile=/etc/default/kubelet\n",
    }
    stat = {"kind": "file", "mode": 0o644, "uid": 0, "gid": 0, "size": 1, "major": 0, "minor": 0}
    files |= {"stat /c.yaml": {**stat, "mtime": 5.0}, "stat /etc/default/kubelet": {**stat, "mtime": 9.0}, "/etc/default/kubelet": ""}
    assert read(files, running("kubelet", "--config=/c.yaml")).newest_config_mtime == 9.0
    files["stat /etc/default/kubelet"] = Unread("denied", "/etc/default/kubelet")
    assert read(files, running("kubelet", "--config=/c.yaml")).newest_config_mtime.why == "denied"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a \"b c\" 'd'", ["a", "b c", "d"]),
        ('--x="" ""', ["--x=", ""]),
        (r"a\ b", ["a b"]),
        ('"not ended', ["not ended"]),
        ("a\\", ["a"]),
        ("", []),
    ],
)
def test_words_are_split_as_systemd_splits_them(text, words):
    assert parse_words(text) == words


def test_only_what_is_set_is_expanded_and_not_twice():
    assert expanded(["$A", "$B", "${A}", "$$x"], {"A": "$B x", "B": ""}) == ["$B", "x", "$B x", "$x"]


def test_variables_may_be_quoted_and_go_on_in_the_next_line():
    assert parse_environment("A='--b=1 \\\n--c'\n; x=1\nB=\"q\" # y\nnot a line\n") == {"A": "--b=1 --c", "B": "q # y"}


def test_hostile_configurations_are_answers():
    for text in ("[" * 100_000, "a: &a [*a]\n", "\0", "- 1\n", json.dumps({"kind": [1], "apiVersion": {}}), "kind: " + "x" * 200_000):
        found = read({"/c.yaml": text}, running("kubelet", "--config=/c.yaml"))
        assert isinstance(found.state, Unread) or found.state == "rejected"
    big = read({"/c.yaml": HEAD + "# " + "x" * 300_000}, running("kubelet", "--config=/c.yaml"))
    assert big.state.why == "error"
