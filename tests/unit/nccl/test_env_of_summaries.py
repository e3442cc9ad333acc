"""``hostagent nccl env`` over summaries: what suffices is emitted as full reports would have it, everything else is refused with a reason."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.domains.nccl import preconditions
from hostagent.domains.nccl.environment import derive, variables_of
from hostagent.domains.nccl.quoting import FORMS
from hostagent.domains.nccl.summaries import Source, derive_from_summaries
from hostagent.outputs.job_environment import fitted, render_environment
from tests.nccl_nodes import LIBRARY, fleet, nic, node, port, report, setting, summarized

NOW = 1_500_000_000.0
V = (2, 27, 3)
SHARP = {"path": "/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so", "kind": "net,collnet", "missing": []}
GIB = {"path": "/usr/local/gib/lib64/libnccl-net.so", "kind": "net", "missing": []}


def of(documents, version=None, now=NOW):
    return derive_from_summaries([Source(f"{number}.json", one) for number, one in enumerate(documents)], version, now)


def refused(found):
    assert found.emitted == (not found.refusals)
    assert found.emitted or (found.variables, found.by_node, found.provider) == ((), (), None)
    return [(one.code, one.nodes) for one in found.refusals]


def values(found):
    return {one.name: one.value for one in found.variables}


def summaries(count=3, **more):
    return [summarized(one) for one in fleet(count, **more)]


def changed(document, path, value):
    document = copy.deepcopy(document)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


@pytest.mark.parametrize("version", [None, V])
@pytest.mark.parametrize("more", [{}, {"layer": "InfiniBand"}, {"rails": 0}, {"settings": [setting("NCCL_TOPO_FILE", "/x.xml")]}])
def test_hosts_that_agree_get_what_their_full_reports_give(version, more):
    found, full = of(summaries(**more), version), derive([node(one) for one in fleet(3, **more)], version)
    assert refused(found) == []
    assert values(found) == values(full) != {}
    assert (found.nodes, found.nccl_version, found.by_node) == (full.nodes, full.nccl_version, ())
    assert {one.why for one in found.variables} == {"as the summaries of all 3 nodes have it"}


def test_without_nccl_on_the_hosts_it_is_what_every_version_knows():
    found = of(summaries(libraries=()))
    assert (refused(found), found.nccl_version) == ([], "unknown")
    assert values(found) == values(derive([node(one) for one in fleet(3, libraries=())]))


ALL = ("node1", "node2", "node3")
OWN_HCAS = {"NCCL_SOCKET_IFNAME": "=eth0", "NCCL_IB_HCA": "=ib0:1", "NCCL_NET": "IB", "NCCL_IB_TC": "104"}
#: In the second of three: place, value, code and nodes of the refusal.
ODD = {
    "stale": (("valid_until",), 5.0, "stale", ("node2",)),
    "no time": (("valid_until",), True, "stale", ("node2",)),
    "not ready": (("verdict", "multi_node"), "not_ready", "not_ready", ("node2",)),
    "unknown": (("verdict", "multi_node"), "unknown", "not_ready", ("node2",)),
    "no verdict": (("verdict",), [], "not_ready", ("node2",)),
    "no class": (("fabric", "class"), {"unread": "denied"}, "unread", ("node2",)),
    "cut": (("fabric",), {"class": "1-other", "inputs": {"unread": "not-recorded"}}, "needs_reports", ALL),
    "of another release": (("fabric", "class"), "2-d7a6d5cdb615", "needs_reports", ALL),
    "env was left out": (("nccl", "env"), {"unread": "not-recorded"}, "needs_reports", ("node2",)),
    "HCAs": (("nccl", "env"), OWN_HCAS, "needs_reports", ALL),
    "a name more": (("nccl", "env", "NCCL_IB_GID_INDEX"), "3", "needs_reports", ALL),
    "another name": (("nccl", "env", "LD_PRELOAD"), "/x.so", "needs_reports", ("node2",)),
    "a number": (("nccl", "env", "NCCL_IB_TC"), 104, "needs_reports", ("node2",)),
    "an escape": (("nccl", "env", "NCCL_NET"), "I\\x1bB", "needs_reports", ("node2",)),
    "version": (("nccl", "version"), "2.18.3", "needs_reports", ALL),
    "no version": (("nccl", "version"), {"unread": "absent"}, "needs_reports", ALL),
    "version unread": (("nccl", "version"), {"unread": "error"}, "needs_reports", ("node2",)),
    "no class of the host": (("fabric", "host_class"), {"unread": "denied"}, None, ()),
}


@pytest.mark.parametrize("what", ODD)
def test_one_that_differs_or_was_not_read_is_named(what):
    path, value, code, nodes = ODD[what]
    documents = summaries()
    documents[1] = changed(documents[1], path, value)
    found = of(documents)
    assert refused(found) == ([(code, nodes)] if code else [])
    if code == "needs_reports":
        assert (
            f"Full reports are needed of {', '.join(nodes)}: run 'hostagent check --format json -o FILE' there" in found.refusals[0].message
        )
    for form in FORMS[:3]:
        assert not code or render_environment(found, form) == ""


def test_the_first_input_that_differs_is_told_as_reports_have_it():
    reports = fleet(3)
    for one in reports[1]["facts"]["fabric"]["nics"]:
        one["mtu"] = 1500
    found = of([summarized(one) for one in reports])
    assert refused(found) == [("netdev_mtu", ("node2",))]
    assert [found.refusals[0]] == list(derive([node(one) for one in reports]).refusals)


def test_settings_of_the_hosts_that_differ_are_refused_and_those_of_the_log_are_not():
    documents = summaries()
    documents[1] = summarized(report("node2", number=2, settings=[setting("NCCL_ALGO", "Ring")]))
    assert [one.message for one in of(documents).refusals] == ["NCCL_ALGO: 2 of 3 nodes have no such setting; node2 has Ring"]
    documents[1] = summarized(report("node2", number=2, settings=[setting("NCCL_DEBUG", "INFO"), setting("NCCL_NET", "Socket")]))
    assert refused(of(documents)) == []


def test_settings_that_are_not_all_shown_need_reports():
    many = [setting("NCCL_ALGO", "Ring, … (+12)")]
    documents = [summarized(one) for one in fleet(2, settings=many)]
    assert refused(of(documents)) == []  # of one class of the host: they are equal
    documents[1]["fabric"]["host_class"] = "1-another"
    assert refused(of(documents)) == [("needs_reports", ("node1", "node2"))]
    del documents[1]["fabric"]["inputs"]["settings"]
    assert refused(of(documents)) == [("needs_reports", ("node1", "node2"))]


def test_a_version_of_the_job_needs_reports_where_settings_depend_on_it():
    """Before 2.21.5 NCCL does not find the GID itself."""
    assert refused(of(summaries(), (2, 28, 9))) == []
    assert refused(of(summaries(libraries=()), V)) == []
    assert refused(of(summaries(), (2, 20, 5))) == [("needs_reports", ALL)]
    assert refused(of(summaries(libraries=()), (2, 18, 3))) == [("needs_reports", ALL)]
    assert refused(of(summaries(plugins=[SHARP]))) == []
    assert refused(of(summaries(plugins=[SHARP]), V)) == [("needs_reports", ALL)]  # NCCL_NET is left out for a plug-in that the job lacks


def test_a_providers_network_needs_reports():
    for document in (summaries(plugins=[GIB]), [summarized(gke(one)) for one in fleet(3)]):
        assert refused(of(document)) == [("needs_reports", ALL)]
        assert "may be a provider's" in of(document).refusals[0].message


def gke(made):
    return changed(made, ("facts", "platform", "name"), "GKE node")


def test_one_host_twice_and_two_of_one_name():
    one, other = summaries(2)
    assert ("twice", ("node1 (0.json)", "node1 (1.json)")) in refused(of([one, one]))
    assert of([one, {**other, "node": "node1"}]).nodes == ("node1 (0.json)", "node1 (1.json)")


def test_a_full_report_among_summaries_brings_settings_that_its_summary_left_out():
    reports, documents = fleet(2), summaries(2)
    documents[1]["nccl"]["env"] = {"unread": "not-recorded"}
    assert refused(of(documents)) == [("needs_reports", ("node2",))]
    sources = [Source("0.json", documents[0]), Source("1.json", documents[1], node(reports[1]))]
    assert refused(derive_from_summaries(sources, None, NOW)) == []
    sources[1] = Source("1.json", documents[1], node({**reports[1], "partial": True}))
    assert refused(derive_from_summaries(sources, None, NOW)) == [("partial", ("node2",))]


FAULTS = st.fixed_dictionaries({
    "rails": st.sampled_from([8, 8, 8, 0, 4]),
    "layer": st.sampled_from(["Ethernet", "Ethernet", "InfiniBand"]),
    "ifname": st.sampled_from(["eth0", "eth0", "ens3"]),
    "libraries": st.sampled_from([(LIBRARY,), (LIBRARY,), (), ({**LIBRARY, "version": "2.18.3"},), ({**LIBRARY, "version": {"unread": "error", "detail": ""}},)]),
    "plugins": st.sampled_from([(), (), (SHARP,), (GIB,), ({**SHARP, "path": "/other/libnccl-net-x.so"},)]),
    "settings": st.lists(st.builds(setting, st.sampled_from(["NCCL_NET", "NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_ALGO", "NCCL_DEBUG", "NCCL_TOPO_FILE", "NCCL_X"]), st.sampled_from(["", "0", "Socket", "/x"]), st.sampled_from(["/etc/nccl.conf", "~/.nccl.conf"])), max_size=1),
})  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(FAULTS, FAULTS, st.sampled_from([0, 1, 2]), st.sampled_from([None, None, V, (2, 18, 3)]))
def test_summaries_never_give_what_full_reports_would_not(usual, other, odd, version):
    reports = [report(f"node{number}", number=number + 1, **(other if number < odd else usual)) for number in range(3)]
    found = of([summarized(one) for one in reports], version)
    refused(found)
    if found.emitted:
        full = derive([node(one) for one in reports], version)
        assert full.emitted, full.refusals
        assert values(found) == values(full)
        assert set(values(full)) <= set(preconditions.PROPOSED)


AGREEING = summaries(2)
JUNK = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just({"unread": []}), st.just({}), st.just([[]]))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_document_of_another_shape_is_refused_or_changes_nothing(data):
    base = AGREEING
    place, keys = base[0], []
    while isinstance(place, dict) and place and (not keys or data.draw(st.booleans())):
        keys.append(data.draw(st.sampled_from(list(place))))
        place = place[keys[-1]]
    is_time = keys == ["valid_until"]
    found = of([changed(base[0], keys, data.draw(JUNK)), base[1]])
    refused(found)
    assert is_time or not found.emitted or values(found) == values(of(base))
    for form in FORMS:
        assert "\x1b" not in render_environment(fitted(found, form), form)


class TestComparedSettings:
    def test_those_that_win_without_the_log_and_without_what_is_replaced(self):
        listed = [
            setting("NCCL_PROTO", "Simple", "environment"), setting("NCCL_ALGO", "Ring"), setting("NCCL_ALGO", "Tree", wins=False),
            setting("NCCL_DEBUG_SUBSYS", "NET"), setting("NCCL_IB_HCA", "mlx5_1"), setting("NCCL_TOPO_FILE", "/x"),
        ]  # fmt: skip
        found = preconditions.compared_settings(node(report(settings=listed)))
        assert found == (("NCCL_ALGO", "Ring"), ("NCCL_PROTO", "Simple"))

    def test_what_is_not_emitted_here_counts(self):
        settings_of_hcas = [setting("NCCL_IB_HCA", "mlx5_1"), setting("NCCL_NET", "Socket")]
        assert [name for name, _ in preconditions.compared_settings(node(report(rails=0, settings=settings_of_hcas)))] == [
            "NCCL_IB_HCA",
            "NCCL_NET",
        ]
        no_interface = report(rails=0, ifname="docker1", settings=[setting("NCCL_SOCKET_IFNAME", "eth9")])
        assert preconditions.compared_settings(node(no_interface)) == (("NCCL_SOCKET_IFNAME", "eth9"),)
        plugged = report(plugins=[SHARP], settings=settings_of_hcas)
        assert preconditions.compared_settings(node(plugged)) == (("NCCL_NET", "Socket"),)

    def test_an_unread_value_of_a_known_name_is_unread_and_of_another_is_a_setting(self):
        gap = {"unread": "absent", "detail": "not kept"}
        assert preconditions.compared_settings(node(report(settings=[setting("NCCL_X", gap)]))) == (("NCCL_X", "unknown value"),)
        with pytest.raises(preconditions.UnreadError, match="not-recorded: value of NCCL_ALGO"):
            preconditions.compared_settings(node(report(settings=[setting("NCCL_ALGO", gap)])))
        made = changed(report(), ("facts", "nccl", "settings"), {"unread": "denied", "detail": ""})
        with pytest.raises(preconditions.UnreadError, match="denied"):
            preconditions.compared_settings(node(made))

    def test_findings_do_not_count(self):
        about = {"id": "nccl.topology_file", "outcome": "fail", "severity": "warning", "axis": "fitness", "message": "NCCL_TOPO_FILE", "headline": "", "found": "", "evidence": []}  # fmt: skip
        made = [report(settings=[setting("NCCL_TOPO_FILE", "/x")], findings=listed) for listed in ((), (about,))]
        assert [preconditions.compared_settings(node(one)) for one in made] == [(), ()]


def test_the_interface_is_the_hosts_own_where_names_differ():
    one, other = fleet(2)
    other["facts"]["fabric"]["nics"][0] = nic("ens3", "10.0.0.9/16", mtu=1500)
    assert refused(of([summarized(one), summarized(other)])) == [("needs_reports", ("node1", "node2"))]
    other = fleet(2)[1]
    other["facts"]["fabric"]["rdma"] = [port(number, f"ibp{number}s0") for number in range(8)]
    assert variables_of(of([summarized(one)]), "node1")
    assert refused(of([summarized(one), summarized(other)])) == [("needs_reports", ("node1", "node2"))]
