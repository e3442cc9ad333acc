"""Workers of Slurm as whole hosts: what starts slurmd there, and by what it authenticates; each with a healthy host that looks alike."""

import pytest

from hostagent.profiles import profile
from tests.judged import judged
from tests.trees import containers, packages, roles, system
from tests.trees.staged import stage
from tests.trees.system import Daemon
from tests.trees.workers import slurm_dead, slurm_gres

pytestmark = pytest.mark.alone

LINK = "/etc/systemd/system/multi-user.target.wants/slurmd.service"
CONF = "/etc/slurm/slurm.conf"
#: The daemon's socket that slurm.conf names, and that of a munged without options.
OWN, DEFAULT = "/run/munge/tern.socket.2", "/run/munge/munge.socket.2"


def report_of(tree, kind="host-root", name="default"):
    with stage(tree, kind) as backend:
        return judged(backend, profile.load(name, site_file=""))


def found_in(tree, **options):
    """The verdict, and what has no other cause of what is critical."""
    report = report_of(tree, **options)
    wrong = [one for one in report.findings if one.outcome in ("fail", "unknown") and one.severity == "critical"]
    return report.verdict.single_node, sorted(one.id for one in wrong if one.cause.id == one.id)


def docker(tree):
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}})
    packages.dpkg(tree, {"containerd.io": "1.7.28-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble"})


def munge(tree, *, enabled="multi-user.target.wants"):
    tree.program("/usr/sbin/munged")
    system.unit(tree, "munge.service", system.service("MUNGE", "/usr/sbin/munged"), enabled=enabled)


def not_enabled(root):
    """slurmd was started by a program of the cloud, and has ended."""
    tree = slurm_dead(root)
    tree.remove(LINK)
    return tree


def without_change(tree):
    pass


def looping(tree):
    roles.log_restarts(tree, "slurmd.service", *range(4, 600, 14))


@pytest.mark.parametrize("change", [without_change, docker, looping])
def test_a_node_of_slurm_conf_without_its_slurmd_is_down_also_where_it_is_not_enabled(change, tmp_path):
    tree = not_enabled(tmp_path / "host")
    change(tree)
    assert found_in(tree) == ("not_ready", ["slurm.slurmd_running"])


def listening(port, address="00000000"):
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    rest = "00000000:00000000 00:00000000 00000000     0        0 31337 1 0000000000000000 100 0 0 10 0\n"
    return f"{head}   0: {address}:{port:04X} {'0' * len(address)}:0000 0A {rest}"


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.edit("/etc/slurm/tern-nodes.conf", "tern-gpu-[01-16]", "tern-gpu-[08-16]"),
        lambda tree: tree.edit("/etc/slurm/tern-nodes.conf", "CPUs=56", "CPUs=56 State=FUTURE"),
        lambda tree: tree.edit("/etc/slurm/tern-nodes.conf", "tern-gpu-[01-16]", "localhost"),
        lambda tree: tree.write("/etc/default/slurmd", 'SLURMD_OPTIONS="-N other"\n'),
        lambda tree: tree.link("/etc/systemd/system/slurmd.service", "/dev/null"),
        lambda tree: tree.write("/proc/1/net/tcp6", listening(6818, "0" * 32)),
        lambda tree: (tree.append(CONF, "SlurmdPort=7003\n"), tree.write("/proc/1/net/tcp", listening(7003))),
    ],
    ids=["login-node", "future", "example", "renamed", "masked", "in-a-container", "in-a-container-at-another-port"],
)
def test_no_slurmd_is_expected_where_slurm_conf_does_not_ask_for_one_or_a_container_runs_it(change, tmp_path):
    tree = not_enabled(tmp_path / "host")
    docker(tree)
    change(tree)
    verdict, ids = found_in(tree)
    assert (verdict, "slurm.slurmd_running" in ids) == ("ready", False)


def test_an_image_has_no_slurmd_that_could_run(tmp_path):
    tree = not_enabled(tmp_path / "host")
    assert "slurm.slurmd_running" not in found_in(tree, kind="image")[1]


def configless(root):
    """Its files came from the controller that a DNS record names, and went with the directory of the unit that has ended."""
    tree = slurm_dead(root)
    for name in ("slurm.conf", "tern-nodes.conf", "gres.conf"):
        tree.remove(f"/etc/slurm/{name}")
    return tree


def test_a_slurmd_that_has_left_copies_of_its_files_is_expected_again(tmp_path):
    tree = configless(tmp_path / "host")
    tree.write("/var/spool/slurmd/conf-cache/slurm.conf", "ClusterName=tern\n")
    assert found_in(tree) == ("not_ready", ["slurm.slurmd_running"])


def test_one_that_a_package_has_enabled_and_that_never_had_files_is_not(tmp_path):
    assert found_in(configless(tmp_path / "host"))[0] == "ready"


@pytest.mark.parametrize("enabled", ["multi-user.target.wants", ""])
def test_slurmd_without_munged_cannot_authenticate(enabled, tmp_path):
    tree = slurm_gres(tmp_path / "host")
    munge(tree, enabled=enabled)
    assert found_in(tree) == ("not_ready", ["slurm.munge_running"])


def test_a_socket_that_an_ended_munged_has_left_serves_no_slurmd(tmp_path):
    tree = slurm_gres(tmp_path / "host")
    munge(tree)
    system.run(tree, Daemon(1400, ("/usr/sbin/munged",), "munge.service", (OWN,), uid=112))
    system.stop(tree, 1400, "munge.service")
    tree.remove("/proc/1/net/unix")
    tree.write("/proc/1/net/unix", "Num RefCount Protocol Flags Type St Inode Path\n")
    assert found_in(tree) == ("not_ready", ["slurm.munge_running"])


def test_a_dead_munged_explains_a_slurmd_that_has_ended(tmp_path):
    tree = slurm_dead(tmp_path / "host")
    munge(tree)
    assert found_in(tree) == ("not_ready", ["slurm.munge_running"])


@pytest.mark.parametrize(
    "daemon",
    [
        Daemon(1400, ("/usr/sbin/munged",), "munge.service", uid=112),
        Daemon(1400, ("/usr/sbin/munged",), "munge@tern.service", uid=112),
        Daemon(1400, ("/opt/munge/sbin/munged",), "tern-auth.service", (OWN,), uid=997),
        Daemon(1400, ("/opt/munge/sbin/munged",), "tern-auth.service", ("/opt/munge/run/munge.socket.2",), uid=997),
        Daemon(1400, ("/usr/sbin/munged",), cgroup="/system.slice/docker-1f.scope", sockets=(OWN,), ids=2),
    ],
    ids=["own", "instance", "other-unit", "other-directory", "container"],
)
def test_any_munged_that_serves_is_enough(daemon, tmp_path):
    tree = slurm_gres(tmp_path / "host")
    munge(tree)
    system.run(tree, daemon)
    assert found_in(tree) == ("ready", [])


def test_a_socket_of_a_container_with_a_network_of_its_own_is_enough_where_the_unit_is_not_enabled(tmp_path):
    tree = slurm_gres(tmp_path / "host")
    munge(tree, enabled="")
    tree.socket(OWN)
    assert found_in(tree) == ("ready", [])


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.edit(CONF, "AuthType=auth/munge", "AuthType=auth/slurm"),
        lambda tree: tree.link("/etc/systemd/system/munge.service", "/dev/null"),
        lambda tree: (
            tree.edit("/etc/slurm/tern-nodes.conf", "tern-gpu-[01-16]", "tern-gpu-[08-16]")
            or tree.edit(CONF, "SlurmctldHost=tern-head(10.20.0.2)", "SlurmctldHost=tern-gpu-07")
        ),
    ],
    ids=["auth-slurm", "masked", "controller"],
)
def test_munged_need_not_run_where_slurmd_does_not_ask_it(change, tmp_path):
    tree = slurm_gres(tmp_path / "host")
    munge(tree)
    change(tree)
    assert "slurm.munge_running" not in found_in(tree)[1]
