"""Limits that all processes share, and EDAC's counters, from a dictionary as a host."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.system.read_limits import parse_statistics, read_limits
from hostagent.domains.system.read_memory_errors import read_memory_errors
from hostagent.facts.host import Limit, MemoryModule
from hostagent.testing import host

KERNEL = {"/proc/loadavg": "0.1 0.1 0.1 2/900 4242\n", "/proc/sys/kernel/pid_max": "32768\n", "/proc/sys/kernel/threads-max": "8000\n"}
EDAC = "/sys/devices/system/edac/mc"


def limits(files):
    return read_limits(host(files), lambda _: None).limits


def memory(files):
    return read_memory_errors(host(files), lambda _: None)


def test_threads_of_the_whole_host_use_process_ids():
    assert limits(KERNEL) == (
        Limit("process ids", "/proc/sys/kernel/pid_max", 900, 32768),
        Limit("threads", "/proc/sys/kernel/threads-max", 900, 8000),
    )


def test_no_limit_is_none():
    assert limits({"/proc/sys/fs/file-nr": "4896\t0\t9223372036854775807\n"}).why == "absent"
    files = {"/proc/sys/fs/file-nr": "4896\t0\t5000\n", "/sys/fs/cgroup/system.slice/pids.max": "max\n"}
    assert limits(files) == (Limit("open files", "/proc/sys/fs/file-max", 4896, 5000),)


def test_connections_are_those_of_the_host_s_network_where_the_kernel_lists_them():
    files = {"/proc/sys/net/netfilter/nf_conntrack_max": "1000\n", "/proc/sys/net/netfilter/nf_conntrack_count": "3\n"}
    assert [one.used for one in limits(files)] == [3]
    listed = {"/proc/1/net/stat/nf_conntrack": "entries  clashres found\n000003e8  0 0\n000003e8  0 0\n"}
    assert [one.used for one in limits({**files, **listed})] == [1000]


@pytest.mark.parametrize(("fulls", "used"), [("0", 0), ("2", 1024)])
def test_neighbours_count_where_one_was_refused(fulls, used):
    files = {
        "/proc/sys/net/ipv4/neigh/default/gc_thresh3": "1024\n",
        "/proc/1/net/stat/arp_cache": "entries,allocs,table_fulls\n".replace(",", " ") + f"00000400 00000001 0000000{fulls}\n",
    }
    assert [one.used for one in limits(files)] == [used]


def test_a_control_group_with_a_limit():
    files = {"/sys/fs/cgroup/kubepods.slice/pids.max": "4096\n", "/sys/fs/cgroup/kubepods.slice/pids.current": "4096\n"}
    assert limits(files) == (Limit("tasks of kubepods.slice", "/sys/fs/cgroup/kubepods.slice/pids.max", 4096, 4096),)


@pytest.mark.parametrize("why", ["denied", "timeout"])
def test_a_limit_that_may_not_be_read_is_a_gap_beside_those_that_were_read(why):
    processes, threads, files = limits({**KERNEL, "/proc/sys/fs/file-nr": Unread(why, "no")})
    assert (processes.used, threads.used) == (900, 900)
    assert (files.name, files.used.why, files.most.why) == ("open files", why, why)
    (group,) = limits({"/sys/fs/cgroup/kubepods/pids.max": Unread(why, "no")})
    assert (group.name, group.most.why) == ("tasks of kubepods", why)
    (connections,) = limits({"/proc/sys/net/netfilter/nf_conntrack_max": Unread(why, "no")})
    assert connections.used.why == why


def test_a_table_that_is_none():
    assert parse_statistics("", "entries").why == "absent"
    assert parse_statistics("entries\nxyz\n", "entries").why == "error"


def controller(number, errors, **files):
    folder = f"{EDAC}/mc{number}"
    named = {f"{folder}/{name.replace('__', '/')}": f"{value}\n" for name, value in files.items()}
    names = sorted({name.partition("__")[0] for name in files})
    return {f"{folder}/ue_count": f"{errors}\n", f"{folder}/ue_noinfo_count": "0\n", f"list {folder}": names, **named}


def test_a_module_is_named_by_its_label():
    files = {
        f"list {EDAC}": ["mc0", "mc1", "power"],
        **controller(0, 0, dimm0__dimm_ue_count=0),
        **controller(1, 3, dimm0__dimm_ue_count=0, dimm1__dimm_ue_count=3, dimm1__dimm_label="P1-DIMMC2"),
    }
    found = memory(
        {
            **files,
            "stat /usr/sbin/ipmitool": {"kind": "file", "mode": 493, "uid": 0, "gid": 0, "size": 1, "mtime": 1.0, "major": 0, "minor": 0},
        }
    )
    assert (found.modules, found.unplaced, found.ipmitool) == ((MemoryModule("P1-DIMMC2", 3),), 0, True)


def test_ranks_and_rows_of_older_drivers():
    ranks = {f"list {EDAC}": ["mc0"], **controller(0, 1, rank2__dimm_ue_count=1, rank2__dimm_label="unknown memory")}
    assert memory(ranks).modules == (MemoryModule("mc0/rank2", 1),)
    rows = {f"list {EDAC}": ["mc0"], **controller(0, 2, csrow0__ue_count=2, csrow0__ch0_dimm_label="DIMM_A1")}
    assert memory(rows).modules == (MemoryModule("DIMM_A1", 2),)


def test_an_error_without_a_place_counts():
    files = {f"list {EDAC}": ["mc0"], **controller(0, 1, dimm0__dimm_ue_count=0)}
    assert (memory(files).modules, memory(files).unplaced, memory(files).ipmitool) == ((), 1, False)


@pytest.mark.parametrize("files", [{}, {f"list {EDAC}": ["power", "uevent"]}])
def test_without_a_driver_of_edac_nothing_is_there(files):
    assert {memory(files).modules.why, memory(files).unplaced.why} == {"absent"}
