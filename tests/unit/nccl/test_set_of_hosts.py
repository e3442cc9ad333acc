"""``hostagent nccl env``: what a set of hosts is given, what is refused, and who is named."""

import copy
import os
import subprocess

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.errors import HostagentError
from hostagent.domains.nccl.environment import derive, variables_of
from hostagent.domains.nccl.hca_list import parse_hcas
from hostagent.domains.nccl.node import parse_node
from hostagent.domains.nccl.quoting import FORMS, holds, in_shell, in_yaml
from hostagent.domains.nccl.settings import parse_conf
from hostagent.domains.nccl.tables.changes import CUT
from hostagent.domains.nccl.tables.variables import known_to
from hostagent.outputs.job_environment import fitted, render_environment
from tests.nccl_nodes import LIBRARY, NOT_SUPPORTED, UNREAD, finding, fleet, nic, node, port, report, setting

V = (2, 27, 3)
OFI = {"path": "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", "kind": "net", "missing": []}


def derived(reports, version=None, now=None):
    return derive([node(one, f"{number}.json") for number, one in enumerate(reports)], version, now)


def values(found, name=""):
    return {one.name: one.value for one in variables_of(found, name)}


def codes(found):
    assert found.emitted == (not found.refusals)
    if not found.emitted:
        assert (found.variables, found.by_node, found.provider) == ((), (), None)
    return [one.code for one in found.refusals]


def changed(made, path, value):
    """A copy with another value at this place."""
    made = copy.deepcopy(made)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


FABRIC = ("facts", "fabric")


class TestEmitted:
    def test_rails_interface_and_class_of_hosts_that_agree(self):
        found = derived(fleet(32))
        assert codes(found) == []
        assert values(found) == {
            "NCCL_SOCKET_IFNAME": "=eth0",
            "NCCL_IB_HCA": "=" + ",".join(f"mlx5_{number}:1" for number in range(8)),
            "NCCL_NET": "IB",
            "NCCL_IB_TC": "104",
        }
        assert (found.by_node, found.nccl_version) == ((), "2.27.3")

    def test_infiniband_needs_neither_class_nor_gid(self):
        assert set(values(derived(fleet(2, layer="InfiniBand")))) == {"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_NET"}

    @pytest.mark.parametrize(
        ("version", "index"), [((2, 18, 3), "3"), ((2, 20, 5), "3"), ((2, 21, 5), None), ((2, 32, 3), None), (None, None)]
    )
    def test_the_index_of_a_gid_is_for_nccl_that_does_not_look_for_one(self, version, index):
        assert values(derived(fleet(2, libraries=()), version)).get("NCCL_IB_GID_INDEX") == index

    def test_hosts_without_rails_get_their_interface(self):
        assert values(derived(fleet(2, rails=0))) == {"NCCL_SOCKET_IFNAME": "=eth0"}

    def test_hcas_that_differ_by_node_are_the_nodes_own(self):
        one, other = fleet(2)
        other["facts"]["fabric"]["rdma"] = [port(number, f"ibp{number}s0") for number in range(8)]
        found = derived([one, other])
        assert "NCCL_IB_HCA" not in values(found)
        assert values(found, "node2")["NCCL_IB_HCA"].startswith("=ibp0s0:1,")
        assert values(found, "node1")["NCCL_IB_HCA"].startswith("=mlx5_0:1,")

    def test_hcas_in_another_order_are_the_same(self):
        one, other = fleet(2)
        other["facts"]["topology"]["rails"].reverse()
        assert derived([one, other]).by_node == ()

    def test_ports_that_are_no_rails_are_left_out(self):
        made = report()
        made["facts"]["fabric"]["rdma"].append(port(9, "mlx5_storage", role="other", state="DOWN"))
        assert "storage" not in values(derived([made]))["NCCL_IB_HCA"]

    def test_another_network_plug_in_leaves_the_network_open(self):
        sharp = {"path": "/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so", "kind": "net,collnet", "missing": []}
        found = derived(fleet(2, plugins=(sharp,)))
        assert "NCCL_NET" not in values(found)
        assert any("NCCL_NET is left out" in note for note in found.notes)
        assert values(derived(fleet(2, plugins=(sharp,)), V))["NCCL_NET"] == "IB"  # the job brings its own

    @pytest.mark.parametrize("count", [1, 2])
    def test_plug_ins_that_were_not_read_may_be_a_providers(self, count):
        reports = [changed(one, ("facts", "nccl", "plugins"), UNREAD) for one in fleet(count)]
        assert set(codes(derived(reports))) == {"unread"}
        assert codes(derived(reports, V)) == []

    def test_the_file_of_the_topology_that_the_machine_names(self):
        found = derived(fleet(2, settings=[setting("NCCL_TOPO_FILE", "/opt/microsoft/ndv5-topo.xml")]))
        assert values(found)["NCCL_TOPO_FILE"] == "/opt/microsoft/ndv5-topo.xml"
        missing = finding("nccl.topology_file", "fail", "warning", "NCCL_TOPO_FILE names a file that is not there")
        assert "NCCL_TOPO_FILE" not in values(derived(fleet(2, settings=[setting("NCCL_TOPO_FILE", "/x")], findings=[missing])))

    @pytest.mark.parametrize("trust", ["pcp", UNREAD])
    def test_a_class_that_is_not_known_is_left_out(self, trust):
        reports = fleet(2)
        for one in reports:
            for each in one["facts"]["fabric"]["nics"]:
                if each["rdma"]:
                    each["priorities"] = {**each["priorities"], "trust": trust}
        found = derived(reports)
        assert "NCCL_IB_TC" not in values(found)
        assert any("NCCL_IB_TC is left out" in note for note in found.notes)

    def test_the_ports_of_a_bond_say_the_class(self):
        made = report(rails=1)
        card = {"lossless": [5], "trust": "dscp", "dscp": [[46, 5]], "firmware_dcbx": False}
        made["facts"]["fabric"]["nics"][1] = nic("rail0", "10.1.0.1/24", kind="bond", rdma=["mlx5_0"], priorities=NOT_SUPPORTED)
        made["facts"]["fabric"]["nics"] += [nic(f"p{one}", master="rail0", priorities=card) for one in range(2)]
        assert values(derived([made]))["NCCL_IB_TC"] == str(46 << 2)


class TestInterface:
    def test_of_several_the_one_without_rdma(self):
        made = report(ifname="mgmt0")
        made["facts"]["fabric"]["nics"].insert(0, nic("stor0", "10.9.0.1/24", rdma=["mlx5_9"]))
        assert values(derived([made]))["NCCL_SOCKET_IFNAME"] == "=mgmt0"

    def test_names_that_differ_get_a_prefix_that_takes_one_of_each(self):
        one, other = fleet(2)
        one["facts"]["fabric"]["nics"][0]["name"], other["facts"]["fabric"]["nics"][0]["name"] = "enp1s0", "enp7s0"
        assert values(derived([one, other]))["NCCL_SOCKET_IFNAME"] == "enp"

    def test_a_prefix_that_would_take_another_one_too_is_none(self):
        one, other = fleet(2)
        one["facts"]["fabric"]["nics"][0]["name"], other["facts"]["fabric"]["nics"][0]["name"] = "enp1s0", "enp7s0"
        one["facts"]["fabric"]["nics"].append(nic("enp9s0", state="down"))
        found = derived([one, other])
        assert "NCCL_SOCKET_IFNAME" not in values(found)
        assert [values(found, name)["NCCL_SOCKET_IFNAME"] for name in found.nodes] == ["=enp1s0", "=enp7s0"]

    @pytest.mark.parametrize("names", [("eth0", "eth1"), ("vethernet0", "vethernet1"), ("d1", "d2"), ("br-a", "br-b"), ("lo1", "lo2")])
    def test_no_prefix_takes_what_no_report_lists(self, names):
        reports = fleet(2)
        for one, name in zip(reports, names, strict=True):
            one["facts"]["fabric"]["nics"][0]["name"] = name
        found = derived(reports)
        assert not values(found).get("NCCL_SOCKET_IFNAME", "=").startswith(("v", "d", "b", "l"))

    @pytest.mark.parametrize(
        "more",
        [
            {"state": "down"},
            {"kind": "bridge"},
            {"kind": "tunnel"},
            {"addresses": ["fe80::1/64"]},
            {"name": "cali12"},
            {"name": "a,b"},
            {"addresses": ["nonsense"]},
        ],
    )
    def test_an_interface_that_does_not_do_is_not_taken(self, more):
        made = report(layer="InfiniBand")
        made["facts"]["fabric"]["nics"][0].update(more)
        assert codes(derived([made])) == ["no_interface"]

    def test_a_pair_of_a_container_is_the_way_out_of_it_alone(self):
        made = report(layer="InfiniBand")
        made["facts"]["fabric"]["nics"][0]["kind"] = "veth"
        assert codes(derived([made])) == ["no_interface"]
        made["facts"]["platform"]["contained"] = True
        assert values(derived([made]))["NCCL_SOCKET_IFNAME"] == "=eth0"

    def test_one_that_was_not_read_is_no_interface_and_no_proof_of_none(self):
        made = report(layer="InfiniBand")
        made["facts"]["fabric"]["nics"][0]["addresses"] = UNREAD
        assert codes(derived([made])) == ["unread"]

    def test_no_family_in_common(self):
        one, other = fleet(2, rails=0)
        one["facts"]["fabric"]["nics"][0]["addresses"], other["facts"]["fabric"]["nics"][0]["addresses"] = ["10.0.0.1/16"], ["fd00::2/64"]
        assert codes(derived([one, other])) == ["family"]

    def test_other_settings_that_lead_elsewhere(self):
        made = report(settings=[setting("NCCL_SOCKET_FAMILY", "AF_INET6")])
        assert codes(derived([made])) == ["interface"]
        assert codes(derived([report(settings=[setting("NCCL_COMM_ID", "10.0.0.1:4000")])])) != []


DIFFERENCES = {
    "link_layer": ((*FABRIC, "rdma", 0, "link_layer"), "InfiniBand"),
    "rate": ((*FABRIC, "rdma", 0, "rate_gbps"), 200.0),
    "active_mtu": ((*FABRIC, "rdma", 3, "active_mtu"), 1024),
    "netdev_mtu": ((*FABRIC, "nics", 2, "mtu"), 1500),
    "gid": ((*FABRIC, "rdma", 0, "gid", "type"), "IB/RoCE v1"),
    "gdr": ((*FABRIC, "gdr"), {"peermem": "loaded", "dmabuf": False}),
    "priorities": ((*FABRIC, "nics", 2, "priorities", "lossless"), [4]),
    "gpus": (("facts", "gpus"), [{"name": "NVIDIA H100 80GB HBM3", "numa_node": 0, "compute_capability": "9.0"}]),
    "gpu": (("facts", "gpus", 0, "name"), "NVIDIA H200"),
    "capability": (("facts", "gpus", 0, "compute_capability"), "10.0"),
    "numa": (("facts", "gpus", 0, "numa_node"), 1),
    "driver": (("facts", "driver", "loaded"), "570.1"),
    "nccl_version": (("facts", "nccl", "libraries"), [{**LIBRARY, "version": "2.18.3"}]),
    "plugins": (("facts", "nccl", "plugins"), [{"path": "/x/libnccl-net.so", "kind": "net", "missing": []}]),
    "setting_differs": (("facts", "nccl", "settings"), [setting("NCCL_IB_MERGE_NICS", "0")]),
    "rails": ((*FABRIC, "rdma", 7, "role"), "other"),
    "not_ready": (("findings",), [finding()]),
    "partial": (("partial",), True),
    "stale": (("valid_until",), 5.0),
    "provider": (("facts", "nccl", "plugins"), [OFI]),
}


@pytest.mark.parametrize("code", DIFFERENCES)
def test_one_that_differs_is_named_and_nothing_is_emitted(code):
    path, value = DIFFERENCES[code]
    reports = fleet(5)
    reports[3] = changed(reports[3], path, value)
    found = derived(reports, now=1_000_000_000.0)
    refusal = next(one for one in found.refusals if one.code == code)
    assert codes(found)
    assert refusal.nodes == ("node4",)
    assert "node4" in refusal.message
    for form in FORMS[:3]:
        assert render_environment(found, form) == ""


@pytest.mark.parametrize(
    "code",
    [
        code
        for code in DIFFERENCES
        if code not in ("not_ready", "partial", "stale", "nccl_version", "plugins", "setting_differs", "provider")
    ],
)
def test_what_was_not_read_is_not_alike(code):
    path = (*FABRIC, "gdr", "peermem") if code == "gdr" else DIFFERENCES[code][0]
    reports = [changed(one, path, UNREAD) for one in fleet(2)]
    assert not derived(reports).emitted


def test_the_minority_is_told_beside_the_majority():
    reports = fleet(32)
    reports[16] = changed(reports[16], (*FABRIC, "nics", 1, "mtu"), 1500)
    for each in range(1, 9):
        reports[16] = changed(reports[16], (*FABRIC, "nics", each, "mtu"), 1500)
    assert derived(reports).refusals[0].message == "MTU of the RoCE rails' interfaces: 31 of 32 nodes have 9000; node17 has 1500"


def test_a_version_of_the_job_makes_those_of_the_hosts_no_matter():
    reports = fleet(2)
    reports[1]["facts"]["nccl"]["libraries"] = []
    assert codes(derived(reports)) == ["nccl_version"]
    assert codes(derived(reports, V)) == []


def test_without_a_version_only_what_every_version_knows_is_emitted():
    found = derived(fleet(2, libraries=()))
    assert found.nccl_version == "unknown"
    assert set(values(found)) <= known_to((2, 18, 1)) & known_to((2, 32, 3))


def test_two_hosts_of_one_name_are_told_apart_by_their_files():
    one, other = report("node1", number=1), {**report("node1", number=2), "boot_id": "another"}
    assert derived([one, other]).nodes == ("node1 (0.json)", "node1 (1.json)")
    assert codes(derived([one, one])) == ["twice"]


def test_files_that_are_shown_alike_are_still_two_hosts():
    reports = fleet(3)
    for one in reports:
        one["host"]["hostname"] = "node"
    reports[2]["facts"]["driver"] = {"loaded": "1.2.3"}
    found = derive([node(one, f"/{'x' * 200}/{number}.json") for number, one in enumerate(reports)])
    assert len(set(found.nodes)) == 3
    assert codes(found) == ["driver"]


def test_a_snapshot_is_as_old_as_it_is_and_said_to_be():
    found = derived([{**report(), "replayed": True, "valid_until": 5.0}], now=1e9)
    assert codes(found) == []
    assert "a snapshot was judged" in found.notes[-1]


class TestProviders:
    def efa(self, **more):
        made = report(layer="Unknown", **more)
        for each in made["facts"]["fabric"]["rdma"]:
            each["driver"] = "efa"
        return made

    def test_efa_is_left_to_its_plug_in(self):
        found = derived([self.efa(plugins=[OFI])])
        assert (found.provider.name, found.provider.plugin, set(values(found))) == ("EFA", "aws-ofi-nccl", {"NCCL_SOCKET_IFNAME"})

    def test_efa_without_its_plug_in_is_refused_where_the_job_takes_nccl_from_the_host(self):
        assert codes(derived([self.efa()])) == ["plugin"]
        assert codes(derived([self.efa(plugins=[{**OFI, "missing": ["libfabric.so.1"]}])])) == ["plugin"]
        assert codes(derived([self.efa(libraries=())])) == []
        assert codes(derived([self.efa(plugins=[{**OFI, "missing": UNREAD}])])) == ["unread"]
        assert codes(derived([self.efa()], V)) == []

    @pytest.mark.parametrize(
        ("path", "name", "script"),
        [
            ("/usr/local/gib/lib64/libnccl-net.so", "gIB", "/usr/local/gib/scripts/set_nccl_env.sh"),
            ("/var/lib/tcpxo/lib64/libnccl-net.so", "GPUDirect-TCPXO", "/usr/local/nvidia/lib64/nccl-env-profile.sh"),
            ("/usr/local/tcpx/lib64/libnccl-net.so", "GPUDirect-TCPX", ""),
        ],
    )
    def test_google_has_its_own_scripts_and_no_variable_of_ours(self, path, name, script):
        found = derived(fleet(2, plugins=[{"path": path, "kind": "net", "missing": []}], settings=[setting("NCCL_TOPO_FILE", "/x")]))
        assert (found.provider.name, found.provider.script, found.variables, found.by_node) == (name, script, (), ())
        shell = render_environment(found, "shell")
        assert (f". '{script}'" in shell) == bool(script)
        assert "export" not in shell
        assert yaml.safe_load(render_environment(found, "yaml")) == {"env": []}
        assert list(parse_conf(render_environment(found, "conf"), (2, 18, 3))) == []

    def test_roce_on_gke_is_gib(self):
        made = report()
        made["facts"]["platform"]["name"] = "GKE node"
        assert derived([made]).provider.name == "gIB"


class TestFindings:
    def test_a_host_that_is_not_ready_gets_nothing(self):
        found = derived([report(findings=[finding()])])
        assert found.refusals[0].message == "node1 is not ready: GPU 3 fell off the bus"
        assert codes(derived([report(findings=[finding(outcome="unknown")])])) == ["not_ready"]

    @pytest.mark.parametrize("more", [{"severity": "warning"}, {"severity": "info"}, {"axis": "security"}, {"outcome": "pass"}])
    def test_what_does_not_end_jobs_does_not_refuse(self, more):
        assert codes(derived([report(findings=[{**finding(), **more}])])) == []

    def test_a_setting_that_gets_another_value_is_overruled(self):
        about = finding("nccl.net", headline="NCCL_NET=Socket keeps jobs from RDMA")
        assert codes(derived([report(findings=[about], settings=[setting("NCCL_NET", "Socket")])])) == []
        also = finding("nccl.net", headline="NCCL_NET=Socket and NCCL_IB_DISABLE=1")
        assert codes(derived([report(findings=[also])])) == ["not_ready"]

    def test_a_setting_that_defeats_what_is_emitted_is_refused(self):
        found = derived([report(settings=[setting("NCCL_IB_DISABLE", "1")])])
        assert codes(found) == ["setting"]
        assert "node1 sets NCCL_IB_DISABLE=1 in /etc/nccl.conf" in found.refusals[0].message
        assert codes(derived([report(settings=[setting("NCCL_IB_DISABLE", "1", wins=False)])])) == []

    def test_a_setting_of_the_log_alone_may_differ(self):
        reports = fleet(2)
        reports[0]["facts"]["nccl"]["settings"] = [setting(name, "INFO") for name in ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE")]
        assert codes(derived(reports)) == []
        reports[0]["facts"]["nccl"]["settings"].append(setting("NCCL_ALGO", "Ring"))
        assert [one.message for one in derived(reports).refusals] == ["NCCL_ALGO: node1 has Ring; node2 has no such setting"]

    def test_settings_that_were_not_read_are_none_that_agree(self):
        made = report()
        made["facts"]["nccl"]["settings"] = UNREAD
        assert codes(derived([made])) == ["unread"]


class TestReports:
    @pytest.mark.parametrize("part", ["fabric", "nccl"])
    def test_one_without_what_is_asked_for_is_refused(self, part):
        made = report()
        del made["facts"][part]
        with pytest.raises(HostagentError, match=rf"without facts.{part}"):
            node(made)

    def test_an_outcome_of_another_type_is_one_sentence(self):
        with pytest.raises(HostagentError, match="another shape"):
            node(report(findings=[{**finding(), "outcome": []}]))

    @settings(max_examples=80)
    @given(st.data())
    def test_a_report_of_another_shape_is_one_sentence_or_a_node_that_does_no_harm(self, data):
        made = report("\x1b[31m\nnode")
        place, keys = made, []
        while isinstance(place, dict | list) and place and (not keys or data.draw(st.booleans())):
            keys.append(data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place)))))
            place = place[keys[-1]]
        junk = st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just(UNREAD), st.just({}), st.just([]), st.just([[]])
        )
        reports = [changed(made, keys, data.draw(junk))] * data.draw(st.integers(1, 2))
        try:
            found = derived(reports)
        except HostagentError as error:
            sentence = str(error)
            found = derived([report()])
            assert len(sentence) < 1000
            assert sentence.isprintable()
        for form in FORMS:
            text = render_environment(fitted(found, form), form)
            assert "\x1b" not in text


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


class TestQuoting:
    @settings(max_examples=60)
    @given(st.lists(TEXT, min_size=1, max_size=30))
    def test_a_shell_gives_the_value_back(self, texts):
        script = (
            "".join(f"export V{number}={in_shell(text)}\n" for number, text in enumerate(texts))
            + 'printf "%s\\0" '
            + " ".join(f'"$V{number}"' for number in range(len(texts)))
        )
        done = subprocess.run(
            ["/bin/bash"],
            input=script.encode(),
            capture_output=True,
            check=True,
            env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
            timeout=30,
        )
        assert done.stderr == b""
        assert done.stdout.decode().split("\0")[:-1] == texts

    @settings(max_examples=300)
    @given(TEXT)
    def test_a_reader_of_yaml_and_a_kubelet_give_the_value_back(self, text):
        loaded = yaml.safe_load(f"- name: A\n  value: {in_yaml(text)}\n")[0]["value"]
        assert expanded(loaded) == text

    @settings(max_examples=300)
    @given(st.one_of(TEXT, st.text(st.sampled_from("=^#\r\n \"'$\0é\ud800"))), st.sampled_from([(2, 18, 3), (2, 27, 3), (2, 32, 3)]))
    def test_a_conf_file_gives_the_value_back_or_the_value_is_refused(self, text, version):
        is_back = list(parse_conf(f"NCCL_A={text}\n", version)) == [("NCCL_A", text, 1)]
        if holds("conf", text):
            assert is_back
        else:
            assert not is_back or text.endswith("\r") or len(text.encode("utf-8", "surrogatepass")) > CUT or "\ud800" in text

    @settings(max_examples=100)
    @given(st.text(min_size=1, max_size=30))
    def test_a_value_that_a_format_cannot_hold_is_refused(self, path):
        found = derived([report(settings=[setting("NCCL_TOPO_FILE", path)])])
        for form in FORMS:
            whole = fitted(found, form)
            assert whole.emitted == holds(form, path)
            if whole.emitted and form == "conf":
                assert ("NCCL_TOPO_FILE", path) in [one[:2] for one in parse_conf(render_environment(whole, form), (2, 27, 3))]
            if whole.emitted and form == "yaml":
                listed = yaml.safe_load(render_environment(whole, form))["env"]
                assert {one["name"]: expanded(one["value"]) for one in listed}["NCCL_TOPO_FILE"] == path


def expanded(text):
    """As Kubernetes reads a value (third_party/forked/golang/expansion): ``$$`` is ``$``, and nothing here is ``$(NAME)``."""
    out, at = [], 0
    while at < len(text):
        if text[at] == "$" and text[at + 1 : at + 2] == "$":
            at += 1
        else:
            assert not (text[at] == "$" and text[at + 1 : at + 2] == "("), text
        out.append(text[at])
        at += 1
    return "".join(out)


FAULTS = st.fixed_dictionaries({
    "rails": st.integers(0, 9),
    "layer": st.sampled_from(["Ethernet", "InfiniBand"]),
    "ifname": st.sampled_from(["eth0", "ens3", "bond0", "docker0"]),
    "settings": st.lists(st.builds(setting, st.sampled_from(["NCCL_NET", "NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_NET_GDR_LEVEL", "NCCL_SOCKET_IFNAME", "NCCL_TOPO_FILE"]), st.sampled_from(["", "0", "1", "Socket", "mlx5_1", "^docker0", "/x"])), max_size=2),
})  # fmt: skip


@settings(max_examples=80)
@given(st.lists(FAULTS, min_size=1, max_size=3), st.sampled_from([None, (2, 18, 3), (2, 19, 3), (2, 21, 5), (2, 27, 3), (2, 32, 3)]))
def test_what_is_emitted_hides_no_fault_and_names_what_is_there(faults, version):
    reports = [report(f"node{number}", number=number + 1, **fault) for number, fault in enumerate(faults)]
    found = derived(reports, version)
    for made, name in zip(reports, found.nodes, strict=True):
        given_here = values(found, name)
        assert set(given_here) <= known_to(version or (2, 18, 1))
        assert not set(given_here) & {
            "NCCL_IB_DISABLE",
            "NCCL_NET_GDR_LEVEL",
            "NCCL_P2P_LEVEL",
            "NCCL_P2P_DISABLE",
            "NCCL_NET_DISABLE_INTRA",
        }
        assert not given_here.get("NCCL_SOCKET_IFNAME", "").startswith("^")
        if "NCCL_IB_HCA" in given_here:
            taken = parse_hcas(given_here["NCCL_IB_HCA"], version or (2, 18, 3))
            rails = [one for one in made["facts"]["fabric"]["rdma"] if one["role"] == "rail"]
            assert [one["name"] for one in rails if taken.takes(one["name"], one["port"])] == [one["name"] for one in rails]


def test_a_node_is_what_the_command_reads_alone():
    made = report()
    made["facts"]["runtimes"] = made["something"] = {"of": "a later release"}
    assert parse_node(made).name == "node1"
