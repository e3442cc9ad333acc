"""Workers of Slurm with their configuration: one as everything should be, and each with one named change.

slurm.conf has what a cluster's has: passwords, and the names of other nodes, none of which a recording may hold.
"""

from pathlib import Path

from tests.trees import containers, driver, gpus, system
from tests.trees.claim import claims
from tests.trees.hosts import DRIVER, KERNEL, driver_of_cuda_repository, persist, toolkit, ubuntu
from tests.trees.system import Daemon
from tests.trees.tree import Tree

_GPUS = 4
#: As daemonset/slurm/slurm.conf has the last lines.
_CONF = """# slurm.conf
ClusterName=tern
SlurmctldHost=tern-head(10.20.0.2)
AuthType=auth/munge
AuthInfo=socket=/run/munge/tern.socket.2,ttl=hunter2
AccountingStorageType=accounting_storage/slurmdbd
AccountingStoragePass=hunter2
JobCompPass=hunter2
GresTypes=gpu
Include tern-nodes.conf
PartitionName=gpu Nodes=ALL Default=YES \\
  State=UP
HealthCheckProgram=/etc/slurm/hostagent-health.sh
HealthCheckInterval=60
HealthCheckNodeState=ANY,CYCLE
"""
_NODES = "NodeName=tern-gpu-[01-16] CPUs=56 RealMemory=500000 Gres=gpu:t4:4 NodeAddr=10.20.1.[1-16]\n"
_GRES = """# gres.conf
NodeName=tern-gpu-[01-16] Name=gpu Type=t4 File=/dev/nvidia[0-3]
NodeName=tern-big-[01-04] Name=gpu Type=h100 File=/dev/nvidia[0-7]
Name=craynetwork Count=4
"""
_HEALTH = "#!/bin/sh\n# TOKEN=hunter2\nTOKEN=hunter2 /usr/bin/hostagent slurm health\nexit 0\n"


@claims(source="Slurm, slurm.conf(5) and gres.conf(5); NVIDIA/deepops, roles/slurm")
def slurm_gres(root: Path) -> Tree:
    """A worker of Slurm with four GPUs that gres.conf names, and hostagent as its health check program."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, "tern-gpu-07")
    driver_of_cuda_repository(tree)
    driver.load_driver(tree)
    gpus.install_gpus(tree, gpus.T4, gpus.HGX[:_GPUS])
    persist(tree)
    toolkit(tree)
    for path in ("/usr/sbin/slurmd", "/usr/bin/enroot", "/usr/bin/runc"):
        tree.program(path)
    system.unit(tree, "slurmd.service", system.service("Slurm node daemon", "/usr/sbin/slurmd --systemd $SLURMD_OPTIONS"))
    system.run(tree, Daemon(1300, ("/usr/sbin/slurmd", "--systemd"), "slurmd.service", started_s=40))
    containers.cdi(tree, _GPUS)
    for name, text in (("slurm.conf", _CONF), ("tern-nodes.conf", _NODES), ("gres.conf", _GRES)):
        tree.write(f"/etc/slurm/{name}", text)
    tree.write("/etc/slurm/hostagent-health.sh", _HEALTH, mode=0o755)
    return tree


@claims("slurm.slurmd_running", twin="slurm-gres")
def slurm_dead(root: Path) -> Tree:
    """slurmd was ended, and nothing starts it again."""
    tree = slurm_gres(root)
    system.stop(tree, 1300, "slurmd.service")
    return tree


@claims("slurm.gres", twin="slurm-gres")
def slurm_gres_five(root: Path) -> Tree:
    """gres.conf names the five GPUs that this node does not have: slurmd ends at its start."""
    tree = slurm_dead(root)
    tree.edit("/etc/slurm/gres.conf", "File=/dev/nvidia[0-3]", "File=/dev/nvidia[0-4]")
    return tree


@claims("slurm.health_program", twin="slurm-gres")
def slurm_health_never(root: Path) -> Tree:
    """HealthCheckInterval is 0, which is Slurm's default: it never runs hostagent."""
    tree = slurm_gres(root)
    tree.edit("/etc/slurm/slurm.conf", "HealthCheckInterval=60", "HealthCheckInterval=0")
    return tree


RECIPES = {
    "slurm-gres": slurm_gres,
    "slurm-dead": slurm_dead,
    "slurm-gres-five": slurm_gres_five,
    "slurm-health-never": slurm_health_never,
}
