"""NUMA nodes, packages, cores and cpufreq policies, from a dictionary as a host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.topology.read_topology import parse_place, read_topology
from hostagent.facts.cpulist import LIMIT, format_cpulist, parse_cpulist, parse_cpumap
from hostagent.facts.topology import CpuGovernor, CpuPackage, Hugepages, NumaNode
from hostagent.testing import host
from tests.cpu import within

CPUS, NODES = "/sys/devices/system/cpu", "/sys/devices/system/node"
DENIED = Unread("denied", "permission denied")


def machine(cpus="0-3", **more):
    """One socket of four CPUs on one node."""
    files = {f"{CPUS}/online": f"{cpus}\n", f"{CPUS}/smt/active": "0\n", **node(0, cpus, "10")}
    for cpu in parse_cpulist(cpus):
        files |= topology(cpu, package_cpus_list=cpus, physical_package_id="0", thread_siblings_list=str(cpu))
    return files | {name.replace("__", "/"): text for name, text in more.items()}


def topology(cpu, **files):
    return {f"{CPUS}/cpu{cpu}/topology/{name}": f"{text}\n" for name, text in files.items()}


def node(number, cpus, distance, kib=1024):
    directory = f"{NODES}/node{number}"
    return {
        f"{directory}/cpulist": f"{cpus}\n",
        f"{directory}/meminfo": f"Node {number} MemTotal:       {kib} kB\nNode {number} MemFree:       7 kB\n",
        f"{directory}/distance": f"{distance}\n",
    }


def read(files):
    return read_topology(host(files), None)


def test_one_socket():
    found = read(machine())
    assert found.numa_nodes == (NumaNode(0, "0-3", 1024 * 1024, (10,), ()),)
    assert found.packages == (CpuPackage(0, "0-3"),)
    assert found.cores == ("0", "1", "2", "3")
    assert (found.governors, found.numa_balancing, found.places) == ((), False, Unread("absent", "no /sys/bus/pci/devices"))


def test_ids_with_gaps_nodes_without_cpus_and_nodes_without_memory():
    files = machine() | node(0, "0-3", "10 40 80") | node(8, "", "40 10 80", kib=2048) | node(252, "", "80 80 10", kib=0)
    nodes = read(files).numa_nodes
    assert [(one.id, one.cpus, one.memory_bytes) for one in nodes] == [(0, "0-3", 2**20), (8, "", 2**21), (252, "", 0)]
    assert nodes[1].distances == (40, 10, 80)


def test_a_kernel_without_numa_has_one_node():
    files = {path: text for path, text in machine().items() if not path.startswith(NODES)}
    files |= {"/proc/meminfo": "MemTotal:       65536 kB\n", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "4\n"}
    files["/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"] = "3\n"
    assert read(files).numa_nodes == (NumaNode(0, "0-3", 64 * 2**20, (10,), (Hugepages(2**21, 4, 3),)),)


def test_a_node_whose_tree_has_the_mask_alone():
    files = machine()
    del files[f"{NODES}/node0/cpulist"]
    files[f"{NODES}/node0/cpumap"] = "00000000,0000000f\n"
    assert read(files).numa_nodes[0].cpus == "0-3"


@pytest.mark.parametrize("name", ["cpulist", "meminfo", "distance"])
def test_what_a_node_does_not_let_us_read_is_unread_and_the_rest_is_there(name):
    files = machine() | {f"{NODES}/node0/{name}": DENIED}
    (found,) = read(files).numa_nodes
    unread = [value for value in (found.cpus, found.memory_bytes, found.distances) if isinstance(value, Unread)]
    assert [one.why for one in unread] == ["denied"]


@pytest.mark.parametrize("text", ["3-1", "x", "0-99999999", "-1", "1,,2", "0x3"])
def test_a_list_that_is_none_is_unread(text):
    files = machine() | {f"{NODES}/node0/cpulist": f"{text}\n"}
    assert read(files).numa_nodes[0].cpus.why == "error"


def test_huge_pages_by_size():
    directory = f"{NODES}/node0/hugepages"
    files = machine() | {
        f"{directory}/hugepages-1048576kB/nr_hugepages": "16\n",
        f"{directory}/hugepages-1048576kB/free_hugepages": "9\n",
        f"{directory}/hugepages-2048kB/nr_hugepages": "0\n",
    }
    assert read(files).numa_nodes[0].hugepages == (Hugepages(2**21, 0, 0), Hugepages(2**30, 16, 9))


def test_cpus_without_a_list_are_those_with_a_directory_and_not_switched_off():
    files = machine()
    del files[f"{CPUS}/online"]
    files[f"{CPUS}/cpu3/online"] = "0\n"
    assert read(files).cores == ("0", "1", "2")


def test_threads_of_one_core_and_a_kernel_that_has_the_older_name():
    files = machine("0-3", **{f"{CPUS}/smt/active": "1\n"})
    for cpu in range(4):
        del files[f"{CPUS}/cpu{cpu}/topology/package_cpus_list"]
        files |= topology(cpu, core_siblings_list="0-3", thread_siblings_list=f"{cpu % 2},{cpu % 2 + 2}")
    found = read(files)
    assert (found.cores, found.packages) == (("0,2", "1,3"), (CpuPackage(0, "0-3"),))


def test_siblings_that_contradict_each_other_end():
    files = machine("0-3", **{f"{CPUS}/smt/active": "1\n"})
    files |= topology(0, thread_siblings_list="1-2") | topology(3, thread_siblings_list="0-3")
    assert read(files).cores == ("0-2", "3")


def test_a_policy_for_each_cpu_and_one_for_several():
    policies = {f"{CPUS}/cpufreq/policy{cpu}/scaling_governor": "powersave\n" for cpu in range(4)}
    assert read(machine() | policies).governors == tuple(CpuGovernor(str(cpu), "powersave") for cpu in range(4))
    policies = {f"{CPUS}/cpufreq/policy{cpu}/scaling_governor": "performance\n" for cpu in (0, 2)}
    policies |= {f"{CPUS}/cpufreq/policy{cpu}/affected_cpus": f"{cpu} {cpu + 1}\n" for cpu in (0, 2)}
    assert read(machine() | policies).governors == (CpuGovernor("0-1", "performance"), CpuGovernor("2-3", "performance"))


@pytest.mark.parametrize(("text", "is_on"), [("0", False), ("1", True), ("2", False), ("3", True)])
def test_numa_balancing_is_one_of_two_bits(text, is_on):
    assert read(machine() | {"/proc/sys/kernel/numa_balancing": f"{text}\n"}).numa_balancing is is_on
    assert read(machine() | {"/proc/sys/kernel/numa_balancing": DENIED}).numa_balancing.why == "denied"


@within(20)
def test_64_nodes_and_4096_cpus():
    files = {f"{CPUS}/online": "0-4095\n", f"{CPUS}/smt/active": "1\n"}
    for cpu in range(4096):
        half = cpu % 2048
        first = half // 1024 * 1024
        files |= topology(
            cpu, physical_package_id=str(half // 1024), thread_siblings_list=f"{half},{half + 2048}",
            package_cpus_list=f"{first}-{first + 1023},{first + 2048}-{first + 3071}",
        )  # fmt: skip
        files[f"{CPUS}/cpufreq/policy{cpu}/scaling_governor"] = "performance\n"
    for number in range(64):
        files |= node(number, f"{number * 64}-{number * 64 + 63}", " ".join(["10"] * 64))
    source = host(files)
    found = read_topology(source, None)
    assert (len(found.numa_nodes), len(found.packages), len(found.cores), len(found.governors)) == (64, 2, 2048, 4096)
    assert sum(question[0] == "read" for question in source._answers) < 2048 + 4096 + 64 * 4 + 20


def test_a_directory_of_nodes_that_somebody_filled_is_unread():
    files = machine() | {f"{NODES}/node{number}/x": "" for number in range(1100)}
    assert read(files).numa_nodes.why == "error"


@pytest.mark.parametrize(
    "path",
    ["/sys/devices/0000:1b:00.0", "/sys/devices/pci0000:16/virtio0/0000:1b:00.0", "/sys/devices/pci0000:16/0000:16:01.0", "", "/"],
)
def test_a_path_that_is_none_of_a_device_is_unread(path):
    assert isinstance(parse_place(path, "0000:1b:00.0"), Unread)


def test_a_host_bridge_below_other_devices():
    path = "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0"
    found = parse_place(path, "10000:e1:00.0")
    assert (found.root, found.bridges) == ("pci10000:e0", ("10000:e0:06.0",))
    found = parse_place("/sys/devices/LNXSYSTM:00/VMBUS:00/47505500/pci0001:00/0001:00:00.0", "0001:00:00.0")
    assert (found.root, found.bridges) == ("pci0001:00", ())


@given(st.sets(st.integers(0, 4096), max_size=60))
def test_a_list_of_cpus_and_its_numbers_are_one(numbers):
    assert parse_cpulist(format_cpulist(numbers)) == tuple(sorted(numbers))


@given(st.sets(st.integers(0, 300), max_size=60))
def test_a_mask_and_its_numbers_are_one(numbers):
    bits = sum(1 << number for number in numbers)
    words = [f"{bits >> 32 * at & 0xFFFFFFFF:08x}" for at in reversed(range(10))]
    assert parse_cpumap(",".join(words) + "\n") == tuple(sorted(numbers))


@given(st.text(alphabet="0123456789-, x\n", max_size=40))
def test_any_text_is_a_list_below_the_limit_or_none(text):
    try:
        found = parse_cpulist(text)
    except ValueError:
        return
    assert all(0 <= number < LIMIT for number in found)
