"""Who is believed: what /proc says of a process, held against where systemd really put it."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostagent.core.tables.daemons import services_of
from hostagent.core.unread import Unread
from hostagent.host.process_trust import parse_status, service_of, trusted_service

FIRST = "0::/init.scope"
DENIED = Unread("denied", "not seen")


@dataclass(frozen=True)
class Seen:
    """A process of containerd's unit."""

    service: str = "containerd.service"
    may_be_of_driver_container: bool = False
    is_outside: bool = True
    is_root: bool = True
    root: str = "host"
    has_own_program: bool = True


UNIT = Seen()
NOBODYS = Seen("", is_root=False, root="", has_own_program=False)


def who(seen, name="containerd", *, has_systemd=True):
    return trusted_service(seen, services_of(name), has_systemd=has_systemd)


@pytest.mark.parametrize(
    ("seen", "unit"),
    [
        (UNIT, "containerd.service"),
        (replace(NOBODYS, service="containerd.service"), "containerd.service"),  # the uid proves nothing
        (replace(UNIT, is_outside=False), None),  # a container's, in the group of the older hierarchy's parent
        (replace(UNIT, is_outside=DENIED), DENIED),
        (NOBODYS, None),
        (replace(UNIT, service=""), None),  # root's own, started by hand
        (replace(UNIT, service=DENIED), DENIED),
        # A service that the table does not know, such as k3s-blue: root's own program, and no other.
        (replace(UNIT, service="blue.service"), "blue.service"),
        (replace(UNIT, service="blue.service", is_root=False), None),
        (replace(UNIT, service="blue.service", has_own_program=False), None),
        (replace(UNIT, service="blue.service", root=""), None),
        (replace(UNIT, service="blue.service", root=DENIED), DENIED),
        (replace(UNIT, service="blue.service", root=DENIED, is_root=False), None),  # what a user starts is never in doubt
    ],
)
def test_on_a_host_with_systemd_the_service_decides(seen, unit):
    assert who(seen) == unit if isinstance(unit, Unread) else who(seen) is unit or who(seen) == unit


@pytest.mark.parametrize(
    ("seen", "unit"),
    [
        (UNIT, ""),
        (replace(UNIT, is_root=False), None),
        (replace(UNIT, is_outside=False), None),
        (replace(UNIT, root=""), None),  # a pod that has the host's process ids
        (replace(UNIT, has_own_program=False), None),
        (replace(UNIT, root=DENIED), DENIED),
        (replace(UNIT, has_own_program=DENIED), DENIED),
        (replace(UNIT, service=DENIED), ""),  # has no groups
    ],
)
def test_on_a_host_without_systemd_root_and_the_program_decide(seen, unit):
    found = who(replace(seen, service=seen.service if isinstance(seen.service, Unread) else "x.service"), has_systemd=False)
    assert found == unit if isinstance(unit, Unread) else found is unit or found == unit


@pytest.mark.parametrize(
    ("seen", "unit"),
    [
        (Seen("", may_be_of_driver_container=True, root="driver"), ""),
        (Seen("", may_be_of_driver_container=True, root="driver", is_root=False), None),  # chroot in a user namespace
        (Seen("", may_be_of_driver_container=True, root="driver", is_outside=False), None),
        (Seen("", may_be_of_driver_container=True, root=""), None),
        (Seen("", may_be_of_driver_container=True, root="host"), None),
        (Seen("", may_be_of_driver_container=True, root=DENIED), DENIED),
        (Seen("", may_be_of_driver_container=True, root=DENIED, is_root=False), None),
        (Seen("", root="driver"), None),
        (Seen("nvidia-fabricmanager.service", may_be_of_driver_container=True, root="driver"), "nvidia-fabricmanager.service"),
    ],
)
def test_a_daemon_of_the_driver_container_is_roots_in_its_root(seen, unit):
    found = who(seen, "nv-fabricmanager")
    assert found == unit if isinstance(unit, Unread) else found is unit or found == unit


@pytest.mark.parametrize(
    ("name", "service", "is_home"),
    [
        ("ptp4l", "ptp4l@eth0.service", True),
        ("ptp4l", "ptp4l@.service", True),
        ("containerd", "containerd@x.service", False),
        ("containerd", "k3s.service", True),
        ("containerd", "nvidia-fabricmanager.service", False),
        ("nvlsm", "nvidia-fabricmanager.service", True),
        ("kubelet", "snap.kubelet-eks.daemon.service", True),
    ],
)
def test_a_daemon_may_live_in_the_service_of_another_and_in_instances(name, service, is_home):
    assert who(replace(NOBODYS, service=service), name) == (service if is_home else None)


@pytest.mark.parametrize(
    ("first", "cgroup", "service"),
    [
        (FIRST, "0::/system.slice/containerd.service", "containerd.service"),
        (FIRST, "0::/runtime.slice/containerd.service", "containerd.service"),
        (FIRST, "0::/system.slice/system-ptp4l.slice/ptp4l@eth0.service", "ptp4l@eth0.service"),
        (FIRST, "0::/system.slice/k3s.service/runtime/deep", "k3s.service"),
        ("0::/", "0::/system.slice/containerd.service", "containerd.service"),
        # Users, pods, containers, virtual machines, nested managers.
        (FIRST, "0::/user.slice/user-1000.slice/user@1000.service/app.slice/containerd.service", ""),
        (FIRST, "0::/user.slice/user-1000.slice/session-3.scope", ""),
        (FIRST, "0::/user.slice/user-1000.slice/session-3.scope/system.slice/containerd.service", ""),
        (FIRST, "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-containerd-1f.scope", ""),
        (FIRST, "0::/system.slice/docker-1f.scope/system.slice/containerd.service", ""),
        (FIRST, "0::/docker/1f/system.slice/containerd.service", ""),
        (FIRST, "0::/kubepods/besteffort/pod1/1f/containerd.service", ""),
        (FIRST, "0::/lxc.payload.a/system.slice/containerd.service", ""),
        (FIRST, "0::/machine.slice/systemd-nspawn@a.service/payload/system.slice/containerd.service", "systemd-nspawn@a.service"),
        # A kind node judges itself, and its host judges it.
        ("0::/docker/1f/init.scope", "0::/docker/1f/system.slice/containerd.service", "containerd.service"),
        ("0::/docker/1f/init.scope", "0::/docker/2e/system.slice/containerd.service", ""),
        ("0::/docker/1f/init.scope", "0::/system.slice/containerd.service", ""),
        ("0::/docker/1f/init.scope", "0::/docker/1f0/system.slice/containerd.service", ""),
        # From a container with a cgroup namespace of its own: in a pod, and in Docker's own slice.
        ("0::/../../../../init.scope", "0::/../../../../system.slice/containerd.service", "containerd.service"),
        ("0::/../../../../init.scope", "0::/../../../pod2.slice/1f.scope/system.slice/containerd.service", ""),
        ("0::/../../../../init.scope", "0::/../../../../../system.slice/containerd.service", ""),
        ("0::/../../../../init.scope", "0::/system.slice/containerd.service", ""),
        ("0::/../../init.scope", "0::/../containerd.service", "containerd.service"),
        ("0::/../../init.scope", "0::/containerd.service", ""),
        ("0::/../init.scope", "0::/containerd.service", ""),
        ("0::/../../../init.scope", "0::/../containerd.service", ""),
        ("0::/../../machine/init.scope", "0::/../containerd.service", ""),
        # Older hierarchies: in the newest one containers stay where their runtime is.
        ("1:name=systemd:/init.scope\n0::/init.scope", "1:name=systemd:/docker/1f\n0::/system.slice/containerd.service", ""),
        ("1:name=systemd:/init.scope", "5:pids:/a\n1:name=systemd:/system.slice/containerd.service", "containerd.service"),
        ("1:name=systemd:/", "1:name=systemd:/system.slice/containerd.service", "containerd.service"),
        # A user's group may hold what only looks like the end of a line, and colons.
        (FIRST, "0::/user.slice/a\x0b0::/system.slice/containerd.service", ""),
        (FIRST, "0::/user.slice/user@1.service/a\u20280::/system.slice/containerd.service\n", ""),
        (FIRST, "0::/user.slice/session-1.scope/x:0::/system.slice/containerd.service", ""),
    ],
)
def test_a_service_is_one_of_process_1s_own_manager(first, cgroup, service):
    assert service_of(cgroup, first) == service


@pytest.mark.parametrize(("first", "cgroup"), [("", "0::/a"), (FIRST, ""), ("3:pids:/", "3:pids:/"), (FIRST, "1:name=systemd:/x")])
def test_without_the_hierarchy_of_systemd_nothing_is_said(first, cgroup):
    assert service_of(cgroup, first).why == "error"


SLICES = st.sampled_from(["system.slice", "user.slice", "runtime.slice", "kubepods.slice", "system-x.slice"])
OTHERS = st.sampled_from(
    ["docker", "docker-1f.scope", "init.scope", "user@1000.service", "containerd.service", "k3s.service", "lxc.payload.a"]
)
PLACES = st.lists(SLICES | OTHERS, max_size=5).map(tuple)


def shown(place, namespace):
    """As the kernel writes a group for a reader whose cgroup namespace begins at `namespace` (kernfs_path_from_node)."""
    common = 0
    while common < min(len(place), len(namespace)) and place[common] == namespace[common]:
        common += 1
    return "/" + "/".join((*[".."] * (len(namespace) - common), *place[common:]))


def really(place, manager, namespace):
    """The service of `manager`, by the whole tree that only this test sees."""
    if place[: len(manager)] != manager:
        return ""
    rest = place[len(manager) :]
    hidden = namespace[len(manager) :] if namespace[: len(manager)] == manager else ()
    common = 0
    while common < min(len(rest), len(hidden)) and rest[common] == hidden[common]:
        common += 1
    if common > 1 or (common and common == len(hidden)):
        return ""  # its groups have no name for the reader, or it is in his own container
    unit = next((part for part in rest[common:] if not part.endswith(".slice")), "")
    return unit if unit.endswith(".service") and not unit.startswith("user@") else ""


@given(place=PLACES, manager=PLACES, namespace=PLACES, older=st.booleans())
@example(place=("system.slice", "containerd.service"), manager=(), namespace=("system.slice", "docker-1f.scope"), older=False)
def test_any_group_below_any_manager_seen_from_anywhere_is_told_alike(place, manager, namespace, older):
    line = "1:name=systemd:{}" if older else "0::{}"
    first, cgroup = (line.format(shown(one, namespace)) for one in ((*manager, "init.scope"), place))
    if older:  # what the newest hierarchy says does not count then
        first, cgroup = f"{first}\n0::/init.scope", f"0::/system.slice/containerd.service\n{cgroup}"
    if place[: len(manager) + 1] == (*manager, "init.scope") or namespace[: len(manager) + 1] == (*manager, "init.scope"):
        return  # nothing lives below process 1's own group
    assert service_of(cgroup, first) == really(place, manager, namespace)


@given(st.text(), st.text())
@example("0::" + "/.." * 2000, "0::/" + "a/" * 2000)
def test_any_text_is_a_service_none_or_an_error(cgroup, first):
    assert isinstance(service_of(cgroup, first), str | Unread)
    users, ids = parse_status(cgroup)
    assert ids >= 0
    assert all(isinstance(one, int) for one in users)
