"""Who may have memory of a GPU: programs with its node open, but the driver's own daemons."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_node_holders import read_node_holders
from hostagent.testing import host

GIB = 1024**3


def holders(*rows, daemons=(), minor=1, used=10 * GIB, listed=0):
    files = {"gpu_users": list(rows), "processes": list(daemons)}
    return read_node_holders(host(files), minor, used, listed)


def row(pid, *nodes, program="python3"):
    return {"pid": pid, "program": program, "device": min(nodes), "devices": sorted(nodes)}


def daemon(pid, name, unit):
    return {"pid": pid, "name": name, "argv": [f"/usr/bin/{name}"], "started_at": 1.0, "unit": unit}


@pytest.mark.parametrize(
    ("nodes", "counts"),
    [
        (("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia1"), True),
        (("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"), False),
        (("/dev/nvidiactl", "/dev/nvidia10"), False),
        (("/dev/nvidiactl",), False),
        (("/dev/nvidiactl", "/dev/nvidia-nvswitchctl", "/dev/nvidia-nvlink"), False),
        (("/dev/nvidiactl", "/dev/nvidia-caps-imex-channels/channel0"), False),
        (("/dev/nvidia-uvm",), True),
        (("/dev/dri/card1",), True),
        (("/dev/nvidia-modeset", "/dev/nvidiactl"), True),
    ],
)
def test_a_holder_counts_by_the_nodes_that_it_has_open(nodes, counts):
    assert holders(row(70, *nodes)) == (("python3",) if counts else ())


def test_the_drivers_own_daemons_explain_no_memory_and_a_program_of_their_name_does():
    own = row(850, "/dev/nvidiactl", "/dev/nvidia1", program="nvidia-persistenced")
    engine = row(851, "/dev/nvidiactl", "/dev/nvidia1", program="nv-hostengine")
    trusted = (daemon(850, "nvidia-persistenced", "nvidia-persistenced.service"), daemon(851, "nv-hostengine", "nvidia-dcgm.service"))
    assert holders(own, engine, daemons=trusted) == ()
    users = row(4100, "/dev/nvidia1", program="nvidia-persistenced")
    assert holders(own, users, daemons=trusted) == ("nvidia-persistenced",)
    assert holders(own, daemons=(daemon(850, "nvidia-persistenced", None),)) == ("nvidia-persistenced",)
    assert holders(own, daemons=(daemon(850, "containerd", "containerd.service"),)) == ("nvidia-persistenced",)


@pytest.mark.parametrize("known", [{"listed": 1}, {"used": 4 * 1024**2}])
def test_nothing_is_asked_where_nvml_explains_the_memory_or_there_is_none(known):
    assert holders({"broken": True}, **known).why == "not-supported"


@pytest.mark.parametrize("known", [{"minor": Unread("denied")}, {"used": Unread("not-recorded")}, {"listed": Unread("error")}])
def test_what_is_unread_stays_unread(known):
    assert holders(**known) == next(iter(known.values()))


def test_a_recording_of_the_first_node_alone_does_not_say_it():
    assert holders({"pid": 7, "program": "x", "device": "/dev/nvidia0"}).why == "not-recorded"
    assert holders({"pid": 7, "program": "x", "devices": [1]}).why == "error"
    files = {"gpu_users": Unread("denied", "fd"), "processes": []}
    assert read_node_holders(host(files), 1, 10 * GIB, 0).why == "denied"
