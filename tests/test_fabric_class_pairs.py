"""Pairs of hosts that differ in one fact: whether one job may run on both. What is compared is the classes of their summaries."""

import json

import pytest

from hostagent.core.typed import plain
from hostagent.engine.report.node_summary import summary_of_report
from tests import recorded

BASE = json.dumps(plain(recorded.report_of("hgx-h100-roce")))
WAY = {"unread": "denied", "detail": ""}


class Host:
    """One report, with the parts that pairs differ in."""

    def __init__(self):
        self.report = json.loads(BASE)
        facts = self.report["facts"]
        self.facts, self.gpus, self.nccl, self.topology = facts, facts["gpus"], facts["nccl"], facts["topology"]
        self.nics, self.ports = facts["fabric"]["nics"], facts["fabric"]["rdma"]
        self.rails = [one for one in self.ports if one["role"] == "rail"]
        netdevs = [one["netdev"] for one in self.rails]
        self.rail_nics = [one for one in self.nics if one["name"] in netdevs]
        self.management = next(one for one in self.nics if one["name"] == "ens3f0np0")

    def set(self, name, value, path="/etc/nccl.conf"):
        self.nccl["settings"].append({"name": name, "value": value, "from": path, "line": 9, "wins": True})

    def rename(self, old, new):
        """An interface or an HCA, wherever the report has its name."""
        text = json.dumps(self.report["facts"]).replace(f'"{old}"', f'"{new}"').replace(f'"{old}:', f'"{new}:')
        self.report["facts"] = json.loads(text)

    def classes(self):
        found = summary_of_report(self.report)["fabric"]
        return found["class"], found["host_class"]


def each(rows, **changes):
    for row in rows:
        row.update(changes)


def renumbered(host):
    for number in range(9, -1, -1):
        host.rename(f"mlx5_{number}", f"mlx5_{number + 2}")


def readdressed(host):
    for number, nic in enumerate(host.rail_nics):
        nic["addresses"] = [f"10.99.{number}.7/24"]
    each((one["gid"] for one in host.rails), index=5)


def one_socket(host):
    each(host.gpus, numa_node=0)


#: Harmless for a job that brings its own NCCL. The last column: harmless for one that uses the host's, too.
HARMLESS = {
    "another node name and boot": (lambda host: host.report.update(boot_id="b", host={**host.report["host"], "node_name": "n2"}), True),
    "GPUs of other serial numbers": (lambda host: each(host.gpus, serial="1", uuid="GPU-1"), True),
    "GPUs listed in another order": (lambda host: host.gpus.reverse(), True),
    "ECC counters": (lambda host: host.gpus[0]["ecc"].update(volatile_uncorrectable=1), True),
    "another driver of the branch": (lambda host: host.facts["driver"].update(loaded="580.95.05"), True),
    "another kernel": (lambda host: host.report["host"].update(kernel="6.8.0-90-generic"), True),
    "another toolkit": (lambda host: host.facts["toolkit"].update(version="1.20.0"), True),
    "another firmware of one HCA": (lambda host: host.rails[0].update(firmware="28.43.1014"), True),
    "another board of one HCA": (lambda host: host.rails[0].update(board_id="MT_0000000839"), True),
    "rails with other addresses, so other GID indexes": (readdressed, True),
    "a rail's interface of another name": (lambda host: host.rename("enp24s0np0", "eth2"), True),
    "a storage port with another MTU": (lambda host: host.nics[8].update(mtu=1500), True),
    "a storage port with another active MTU": (lambda host: host.ports[8].update(active_mtu=1024), True),
    "a storage port that is slower": (lambda host: host.ports[9].update(rate_gbps=25.0), True),
    "no storage port": (lambda host: host.ports.pop(9), True),
    "PFC off on a storage port": (lambda host: host.nics[8]["priorities"].update(lossless=[]), True),
    "management with another MTU": (lambda host: host.management.update(mtu=9000), True),
    "an interface that is down": (
        lambda host: host.nics.append({**host.management, "name": "ens9", "state": "down", "addresses": []}),
        True,
    ),
    "one way of GPUDirect of two": (lambda host: host.facts["fabric"]["gdr"].update(peermem="absent"), True),
    "a degraded verdict": (lambda host: host.report["verdict"].update(single_node="degraded", multi_node="degraded"), True),
    "the table of DSCP written out": (
        lambda host: each((one["priorities"] for one in host.rail_nics), dscp=[[dscp, dscp >> 3] for dscp in range(64)]),
        True,
    ),
    "a DSCP that no job uses": (
        lambda host: each((one["priorities"] for one in host.rail_nics), dscp=[[d, 5 if d == 10 else d >> 3] for d in range(64)]),
        True,
    ),
    "a link that flaps": (lambda host: host.rails[2].update(state="DOWN"), True),
    "memory of the host": (lambda host: host.topology["numa_nodes"][0].update(memory_bytes=1), True),
    "NCCL logs more on one host": (lambda host: host.set("NCCL_DEBUG", "INFO"), True),
    "NCCL logs into a file on one host": (lambda host: host.set("NCCL_DEBUG_FILE", "/tmp/nccl.%h"), True),
    "what 'nccl env' sets anyway": (lambda host: host.nccl["settings"].clear(), True),
    "libnccl absent": (lambda host: host.nccl.update(libraries=[]), False),
    "libnccl older": (lambda host: host.nccl["libraries"][0].update(version="2.27.3"), False),
    "a plug-in on one host": (
        lambda host: host.nccl["plugins"].append({"path": "/opt/lib/libnccl-net.so", "kind": "net", "missing": []}),
        False,
    ),
    "a management interface of another name": (lambda host: host.rename("ens3f0np0", "eno1"), False),
    "HCAs numbered from mlx5_2": (renumbered, False),
    "libnccl twice on the host, the older first": (
        lambda host: host.nccl["libraries"].insert(0, {"path": "/opt/libnccl.so.2", "version": "2.26.2", "cuda": "12.8"}),
        False,
    ),
    **{
        f"{name} in one host's nccl.conf": (lambda host, name=name, value=value: host.set(name, value), False)
        for name, value in (
            ("NCCL_ALGO", "Ring"),
            ("NCCL_PROTO", "Simple"),
            ("NCCL_P2P_DISABLE", "1"),
            ("NCCL_IB_DISABLE", "1"),
            ("NCCL_CROSS_NIC", "1"),
            ("NCCL_MIN_NCHANNELS", "32"),
            ("NCCL_IB_ADAPTIVE_ROUTING", "1"),
            ("NCCL_OF_A_LATER_RELEASE", "1"),
        )
    },
}
#: Harmful for every job of both hosts.
HARMFUL = {
    "another product": lambda host: each(host.gpus, name="NVIDIA H200"),
    "one GPU of another product": lambda host: host.gpus[7].update(name="NVIDIA H100 PCIe"),
    "more memory under one name": lambda host: each(host.gpus, memory_bytes=102_000_000_000),
    "more memory of one GPU": lambda host: host.gpus[7].update(memory_bytes=102_000_000_000),
    "one GPU fewer": lambda host: host.gpus.pop(),
    "one GPU passed through to a virtual machine": lambda host: host.topology["gpus"][7].update(bound_to="vfio-pci"),
    "one GPU held by another driver for virtual machines": lambda host: host.topology["gpus"][7].update(bound_to="nvgrace_gpu_vfio_pci"),
    "one GPU that the driver leaves out": lambda host: host.topology["gpus"][7].update(excluded=True),
    "one GPU on nouveau": lambda host: host.topology["gpus"][0].update(bound_to="nouveau"),
    "all GPUs on one socket": one_socket,
    "one GPU on the other socket": lambda host: host.gpus[0].update(numa_node=1),
    "MIG on one GPU": lambda host: host.gpus[3].update(mig={"current": True, "pending": True}),
    "MIG on all GPUs": lambda host: each(host.gpus, mig={"current": True, "pending": True}),
    "another branch of the driver": lambda host: host.facts["driver"].update(loaded="570.172.08"),
    "InfiniBand": lambda host: each(host.rails, link_layer="InfiniBand"),
    "one rail fewer": lambda host: host.rails[3].update(role="other"),
    "all rails slower": lambda host: each(host.rails, rate_gbps=200.0),
    "one rail slower": lambda host: host.rails[0].update(rate_gbps=100.0),
    "another MTU": lambda host: each(host.rail_nics, mtu=1500),
    "another MTU of one rail": lambda host: host.rail_nics[2].update(mtu=4200),
    "another active MTU": lambda host: each(host.rails, active_mtu=1024),
    "another active MTU of one rail": lambda host: host.rails[5].update(active_mtu=2048),
    "RoCE v1": lambda host: each((one["gid"] for one in host.rails), type="RoCE v1"),
    "addresses of IPv6 alone": lambda host: each((one["gid"] for one in host.rails), value="2001:0db8:0000:0000:0000:0000:0000:0007"),
    "RoCE v1 on one rail": lambda host: host.rails[1]["gid"].update(type="RoCE v1"),
    "no GPUDirect": lambda host: host.facts["fabric"]["gdr"].update(peermem="absent", dmabuf=False),
    "no lossless priority": lambda host: each((one["priorities"] for one in host.rail_nics), lossless=[]),
    "no lossless priority on one rail": lambda host: host.rail_nics[4]["priorities"].update(lossless=[]),
    "another lossless priority": lambda host: each((one["priorities"] for one in host.rail_nics), lossless=[4]),
    "the same traffic class in another lossless priority": lambda host: each(
        (one["priorities"] for one in host.rail_nics), lossless=[5], dscp=[[26, 5]]
    ),
    "another DSCP for the lossless priority": lambda host: each((one["priorities"] for one in host.rail_nics), dscp=[[34, 3]]),
}


def made(change):
    host = Host()
    change(host)
    return host.classes()


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_difference_splits_no_class(name):
    change, is_for_host = HARMLESS[name]
    (kind, of_host), (other, of_other) = Host().classes(), made(change)
    assert isinstance(kind, str)
    assert kind == other
    assert (of_host == of_other) == is_for_host, "of a job that uses the host's NCCL"


@pytest.mark.parametrize("name", HARMFUL)
def test_a_harmful_difference_splits_both_classes(name):
    before, after = Host().classes(), made(HARMFUL[name])
    assert all(isinstance(one, str) for one in after)
    assert not set(before) & set(after)


@pytest.mark.parametrize(
    "change",
    [
        lambda host: host.gpus[0].update(memory_bytes=WAY),
        lambda host: host.gpus[0].update(mig=WAY),
        lambda host: host.rails[0].update(active_mtu=WAY),
        lambda host: host.rail_nics[0]["priorities"].update(trust=WAY),
        lambda host: host.facts.update(driver=WAY),
    ],
)
def test_a_host_of_which_an_input_was_not_read_has_neither_class(change):
    assert made(change) == ({"unread": "denied"}, {"unread": "denied"})


def test_ports_that_were_not_listed_are_no_host_without_rails():
    """One that vanishes while it is read leaves no list; a host without a port has an empty one."""
    gone = {"unread": "absent", "detail": "mlx5_1"}
    assert made(lambda host: host.facts["fabric"].update(rdma=gone)) == ({"unread": "error"}, {"unread": "error"})
    assert made(lambda host: host.rails[2].update(role=gone)) == ({"unread": "error"}, {"unread": "error"})
    assert all(isinstance(one, str) for one in made(lambda host: host.facts["fabric"].update(rdma=[])))


def test_without_rails_the_ways_of_gpudirect_do_not_matter():
    def without(host, **gdr):
        host.facts["fabric"]["rdma"].clear()
        host.facts["fabric"]["gdr"].update(gdr)

    found = {made(lambda host, gdr=gdr: without(host, **gdr)) for gdr in ({}, {"dmabuf": False, "peermem": "absent"}, {"dmabuf": WAY})}
    assert len(found) == 1
    assert all(isinstance(one, str) for one in found.pop())


def test_a_value_with_a_comma_is_not_taken_for_two_settings():
    one = made(lambda host: host.set("NCCL_ALGO", "Ring, NCCL_PROTO=Simple"))

    def two(host):
        host.set("NCCL_ALGO", "Ring")
        host.set("NCCL_PROTO", "Simple")

    assert one[1] != made(two)[1]


def test_a_long_text_is_compared_whole():
    names = ["N" * 300 + end for end in "AB"]
    assert made(lambda host: each(host.gpus, name=names[0]))[0] != made(lambda host: each(host.gpus, name=names[1]))[0]


def test_what_nvml_was_not_asked_is_not_off():
    """A profile may leave NVML out: MIG may be on."""
    gap = {"unread": "not-supported", "detail": "NVML is optional in this profile"}
    host = Host()
    each(host.gpus, mig=gap, memory_bytes=gap, compute_capability=gap)
    found = summary_of_report(host.report)
    assert (found["fabric"]["inputs"]["mig"], found["gpus"]["mig"]) == ("none", {"unread": "denied"})


def test_settings_that_were_not_read_cost_the_class_of_the_hosts_nccl_alone():
    kind, of_host = made(lambda host: host.nccl.update(settings=WAY))
    assert (kind, of_host) == (Host().classes()[0], {"unread": "denied"})
