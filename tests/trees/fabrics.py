"""Hosts by their fabric: InfiniBand and RoCE on an HGX board, what two clouds offer, a container; each healthy, or with one named change.

Sources stand beside each; what is the same on all HGX hosts is in `tests.trees.rails`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.trees import containers, driver, gpus, kubelets, nccl, netdevs, packages, pcibus, pciconfig, rails, rdma, system, topology
from tests.trees.claim import BOARD, claims
from tests.trees.gpuhosts import L40S
from tests.trees.hosts import (
    CPUS,
    DRIVER,
    KERNEL,
    PLACES,
    SOCKETS,
    driver_of_cuda_repository,
    hgx,
    hgx_h100,
    inbox,
    persist,
    toolkit,
    ubuntu,
)
from tests.trees.netdevs import Netdev
from tests.trees.pcibus import Card, Place
from tests.trees.pciconfig import ACS_ON, Express
from tests.trees.rdma import Hca
from tests.trees.tree import NOW, Tree

_DEVICES = tuple(f"mlx5_{number}" for number in range(len(PLACES)))


def _bridges(place: Place) -> tuple[str, ...]:
    """Ports above a GPU and its NIC that can redirect: the root port and those below the switch."""
    root, _, down = rails.switch(place)[1:]
    return root, down, down.replace(":00.0", ":01.0")


@claims(
    "topology.acs",
    twin="hgx-h100-ubuntu2404",
    source="NVIDIA GPUDirect Storage, ACS; NCCL documentation, troubleshooting: PCI Access Control Services",
)
def acs_on(root: Path) -> Tree:
    """ACS is on: the firmware's settings were reset, and every packet between a GPU and its NIC goes up to the root port."""
    tree = hgx_h100(root)
    for place in PLACES:
        for address in _bridges(place):
            port = "downstream" if address.endswith(("00.0", "01.0")) and address != _bridges(place)[0] else "root"
            pciconfig.set_up(tree, address, Express(port, read_request=128, acs=ACS_ON))
    return tree


@claims("nccl.ib_disable", twin="hgx-h100-ubuntu2404", source="NVIDIA, NCCL documentation, environment variables: NCCL_IB_DISABLE")
def nccl_ib_disabled(root: Path) -> Tree:
    """Somebody measured TCP and left the setting behind: all jobs of the host go around its InfiniBand."""
    tree = hgx_h100(root)
    nccl.settings(tree, "# all_reduce_perf over TCP, for comparison", "NCCL_DEBUG=INFO", "NCCL_IB_DISABLE=1", time=NOW - 4 * 86400)
    return tree


@claims("nccl.interface", twin="hgx-h100-ubuntu2404", source="NVIDIA, NCCL documentation, environment variables: NCCL_SOCKET_IFNAME")
def nccl_not_docker(root: Path) -> Tree:
    """A list of what to leave out that names docker0 alone: it takes the place of NCCL's own, and leaves the pods' bridge and lo in."""
    tree = hgx_h100(root)
    nccl.settings(tree, "NCCL_SOCKET_IFNAME=^docker0")
    return tree


@claims("nccl.ib_hca", source="NVIDIA, NCCL documentation, environment variables: NCCL_IB_HCA; NVIDIA/nccl, src/transport/net_ib")
def nccl_prefix(root: Path) -> Tree:
    """All rails are named, and nothing else: but names are beginnings, and mlx5_1 takes the ports for storage too, mlx5_10 and mlx5_11."""

    def nics(tree: Tree) -> None:
        rails.infiniband(tree, PLACES)
        rails.others(tree, CPUS, first=10)
        rdma.stack(tree)

    tree = hgx(root, nics)
    nccl.settings(tree, f"NCCL_IB_HCA={','.join(_DEVICES)}")
    return tree


@claims("rdma.subnet_manager", twin="hgx-h100-ubuntu2404", source="Linux kernel, ABI/stable/sysfs-class-infiniband; ibstat(8)")
def ib_without_sm(root: Path) -> Tree:
    """No subnet manager runs on the fabric: the links are up, and all ports stay in INIT."""
    tree = hgx_h100(root)
    for name in _DEVICES:
        rdma.port(tree, name, state="2: INIT", lid="0xffff", sm_lid="0x0")
    return tree


@claims("topology.gpudirect", twin="hgx-h100-ubuntu2404", source="NVIDIA GPU Operator, GPUDirect RDMA and GPUDirect Storage")
def without_peermem(root: Path) -> Tree:
    """NVIDIA's proprietary module beside the kernel's own RDMA drivers: nobody loads nvidia_peermem, and DMA-BUF wants the open module."""
    return hgx(root, inbox, "proprietary")


def _roce(**options: str) -> Callable[[Tree], None]:
    def nics(tree: Tree) -> None:
        rails.roce(tree, PLACES, traffic_class="Global tclass=106", **options)
        rails.others(tree, CPUS)
        for place in PLACES:
            netdevs.bridging(tree, rails.name_of(place), lossless=(3,), vendors=True)
        _doca(tree)

    return nics


@claims(source="NVIDIA/nccl issue 2383; NVIDIA/nvshmem pull request 25")
def roce_class_of_driver(root: Path) -> Tree:
    """RoCE where DSCP 59 alone is lossless, and the driver's own class leads there: what the GPU sends itself does not get it."""
    return hgx(root, _lossless_by_driver)


def _lossless_by_driver(tree: Tree) -> None:
    rails.roce(tree, PLACES, traffic_class="Global tclass=236")
    rails.others(tree, CPUS)
    for name in map(rails.name_of, PLACES):
        netdevs.bridging(tree, name, lossless=(5,), vendors=True)
        tree.bridging[name]["dscp"] = "59:5"
    _doca(tree)


def _doca(tree: Tree) -> None:
    rdma.stack(tree, ofed="24.10-1.1.4", peermem=True)
    packages.dpkg(tree, {"doca-ofed": "2.9.1-018000", "mlnx-ofed-kernel-dkms": "24.10.OFED.24.10.1.1.4.1-1"})


@claims(source="NVIDIA/nccl issue 1131, show_gids of RoCE; deepseek-ai/DeepEP issue 38; Mellanox/mlnx-tools, mlnx_qos")
def roce(root: Path) -> Tree:
    """The HGX host with RoCE: each rail in a network of its own, frames of 9000 bytes, priority 3 lossless, DOCA-OFED with nvidia_peermem."""
    return hgx(root, _roce())


@claims("network.mtu", twin="hgx-h100-roce", source="Linux kernel, include/rdma/ib_addr.h, iboe_get_mtu")
def roce_one_rail_1500(root: Path) -> Tree:
    """One rail was forgotten when the MTU was raised: 1500 bytes, and so 1024 for RDMA."""
    tree = roce(root)
    netdevs.set_mtu(tree, rails.name_of(PLACES[3]), 1500)
    rdma.active_mtu(tree, _DEVICES[3], 1024)
    return tree


@claims("network.rail_subnets", twin="hgx-h100-roce", source="Linux kernel, networking/ip-sysctl, arp_ignore and arp_announce")
def roce_one_subnet(root: Path) -> Tree:
    """All rails have addresses in one network, and the kernel's settings of ARP are as they come."""
    return hgx(root, _roce(subnet="10.1.1.{0}/16"))


@claims(source="NVIDIA/nccl issue 769, ibv_devinfo of mlx5_bond_0; Linux kernel, networking/bonding")
def roce_vlan_on_bond(root: Path) -> Tree:
    """Each rail is a bond of both ports of its card, with the addresses on a VLAN."""

    def nics(tree: Tree) -> None:
        rails.bonds(tree, PLACES, vlan=100)
        rails.others(tree, CPUS)
        _doca(tree)

    return hgx(root, nics)


@claims("network.bond_ports", twin="hgx-h100-roce-vlan-on-bond", source="Linux kernel, networking/bonding, mii_status")
def roce_bond_half(root: Path) -> Tree:
    """One port of a bond has lost its link: half of that rail's bandwidth, and nothing else tells."""
    tree = roce_vlan_on_bond(root)
    name = rails.name_of(PLACES[2], 1)
    for file, text in (("operstate", "down"), ("carrier", "0"), ("speed", "-1"), ("bonding_slave/mii_status", "down")):
        tree.write(f"/sys/class/net/{name}/{file}", f"{text}\n")
    return tree


@claims("rdma.netns_mode", twin="hgx-h100-roce", source="rdma-system(8); Mellanox/k8s-rdma-shared-dev-plugin")
def roce_exclusive(root: Path) -> Tree:
    """RDMA devices belong to one network namespace each, and the shared device plug-in gives them to pods, which see none."""
    tree = roce(root)
    gives = {
        "nvidia.com/gpu": [gpus.uuid(minor) for minor in range(len(PLACES))],
        "rdma/hca_shared_devices_a": [str(at) for at in range(8)],
    }
    kubelets.give_devices(tree, gives)
    tree.write("/sys/module/ib_core/parameters/netns_mode", "N\n")
    return tree


@claims(source="k8snetworkplumbingwg/sriov-network-device-plugin and rdma-cni, README; Linux kernel, ABI/testing/sysfs-bus-pci")
def roce_sriov(root: Path) -> Tree:
    """A virtual function of each rail's card is in a pod, with its interface and its RDMA device: here it has neither."""
    tree = roce(root)
    for place in PLACES:
        rails.given_away(tree, place)
    tree.write("/sys/module/ib_core/parameters/netns_mode", "N\n")
    return tree


@claims(
    source="SlinkyProject/slurm-operator; k8snetworkplumbingwg/sriov-cni and rdma-cni, README; Kubernetes, pkg/kubelet/kubelet_pods.go",
)
def sriov_pod(root: Path) -> Tree:
    """A pod that is a Slurm worker: two GPUs, and a virtual function of the NIC beside each, whose interface and RDMA device were moved
    into it."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    system.install_os(tree, "ubuntu2404", "trainer-0")
    system.boot(tree, "trainer-0")
    tree.remove("/sys/firmware/efi/efivars")
    tree.directory("/sys/firmware/efi/efivars")
    tree.write("/etc/hosts", "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n10.244.7.12\ttrainer-0\n")
    tree.link("/proc/1/ns/pid", "pid:[4026534107]")
    system.number_processes_apart(tree)
    topology.install(tree, SOCKETS, smt=True, governor="performance")
    driver.install_userland(tree)
    driver.load_driver(tree)
    gpus.install_gpus(tree, gpus.H100, PLACES[:2], above=rails.switch)
    driver.persist(tree)
    packages.dpkg(tree, {"apt": "2.8.3", "bash": "5.2.21-2ubuntu4", "slurmd": "24.11.5-1", "apptainer": "1.4.3-1"})
    for path in ("/usr/sbin/slurmd", "/usr/bin/apptainer"):
        tree.program(path)
    system.unit(tree, "slurmd.service", system.service("Slurm node daemon", "/usr/sbin/slurmd --systemd"))
    system.run(tree, system.Daemon(12, ("/usr/sbin/slurmd", "-Z"), "slurmd.service", started_s=40))
    netdevs.add(tree, Netdev("eth0", 1450, addresses=("10.244.7.12/24",), link=22))
    netdevs.default_route(tree, "eth0", "10.244.7.1")
    for at, place in enumerate(PLACES[:2]):
        rails.virtual_function(tree, place, Netdev(f"net{at + 1}", 9000, addresses=(f"10.{at + 1}.1.107/24",)), f"mlx5_{18 + at}")
    rdma.stack(tree, shared=False)
    pciconfig.hide(tree)
    return tree


_EC2_CPUS = ("0-47,96-143", "48-95,144-191")
_EC2 = (topology.Node(0, _EC2_CPUS[0], 0, 1024), topology.Node(1, _EC2_CPUS[1], 1, 1024))
#: Bus of each GPU; its four EFA follow it (aws/aws-ofi-nccl, topology/p5.48xl-topo.xml).
_EC2_BUSES = (0x4F, 0x60, 0x70, 0x80, 0x90, 0xA0, 0xB0, 0xC0)
#: Number in the name of the first EFA of each GPU, there too.
_EC2_NAMES = (79, 96, 113, 130, 147, 164, 181, 198)
EFA = Card(0x1D0F, 0xEFA2, "efa", speed="16.0 GT/s PCIe", width=8, prefix="0e:5f:d1")
ENA = Card(0x1D0F, 0xEC20, "ena", speed="16.0 GT/s PCIe", width=8, prefix="0e:5f:d0", mbps=-1)
#: What the kernel and libibverbs say of an EFA (linux-rdma/rdma-core pull request 884).
_EFA = Hca(
    "", "Unknown", rdma.EDR, firmware="0.0.0.0", board="", type="", node_type="7: unspecified", guid="0000:0000:0000:0000", link_downed=None
)


def _guest(root: Path, name: str, nodes: tuple[topology.Node, ...], vm: tuple[str, str]) -> Tree:
    """A virtual machine with NVIDIA's driver and Docker; GPUs and NICs are the caller's."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, name)
    driver_of_cuda_repository(tree)
    topology.install(tree, nodes)
    driver.load_driver(tree)
    persist(tree)
    toolkit(tree)
    for file, word in zip(("sys_vendor", "product_name"), vm, strict=True):
        tree.write(f"/sys/class/dmi/id/{file}", f"{word}\n")
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble"})
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}, "default-runtime": "nvidia"})
    return tree


def _switched_board(tree: Tree) -> None:
    """The fabric manager of a machine that has a whole board."""
    packages.dpkg(tree, dict.fromkeys(packages.SWITCH_PACKAGES, f"{DRIVER}-1ubuntu1"), held=packages.SWITCH_PACKAGES)
    start = "/usr/bin/nvidia-fabricmanager-start.sh --mode start"
    system.unit(tree, "nvidia-fabricmanager.service", system.service("NVIDIA fabric manager service", start))
    argv = ("/usr/bin/nv-fabricmanager", "-c", "/usr/share/nvidia/nvswitch/fabricmanager.cfg")
    system.run(tree, system.Daemon(870, argv, "nvidia-fabricmanager.service"))
    gpus.install_switches(tree)


@claims(
    never=BOARD,
    source="aws/aws-ofi-nccl, topology/p5.48xl-topo.xml; aws/eks-charts pull request 1144; linux-rdma/rdma-core pull request 884",
)
def efa_p5(root: Path) -> Tree:
    """EC2 p5.48xlarge with all its 32 EFA: no LID, no subnet manager, no GID of RoCE."""
    tree = _guest(root, "ip-10-0-31-9", _EC2, ("Amazon EC2", "p5.48xlarge"))
    places = tuple(Place(f"0000:{bus:02x}:00.0", at // 4, _EC2_CPUS[at // 4]) for at, bus in enumerate(_EC2_BUSES))
    gpus.install_gpus(tree, gpus.H100, places)
    _switched_board(tree)
    primary = Place("0000:47:00.0", 0, _EC2_CPUS[0])
    pcibus.nic(tree, ENA, primary, netdev=Netdev("enp71s0", 9001, addresses=("10.0.31.9/20",)))
    netdevs.default_route(tree, "enp71s0", "10.0.16.1")
    for place, first in zip(places, _EC2_NAMES, strict=True):
        for at in range(4):
            card = replace(place, pci=f"0000:{int(place.pci[5:7], 16) + 1 + at:02x}:00.0")
            gid = f"fe80:0000:0000:0000:0c5f:d1ff:fe{int(card.pci[5:7], 16):02x}:0001"
            pcibus.nic(tree, EFA, card, rdma=replace(_EFA, name=f"rdmap{first + at}s0", gids=((gid, rdma.V1, ""),)))
    rdma.stack(tree, modules=("ib_core", "ib_uverbs", "efa"))
    tree.write("/sys/module/efa/version", "2.17.3g\n")
    containers.cdi(tree, len(places))
    nccl.package(tree)
    nccl.ofi(tree)
    return tree


@claims(
    "nccl.net_plugin",
    never=BOARD,
    twin="p5-efa",
    source="aws/aws-ofi-nccl, doc/efa-env-var.md; ld.so(8); NVIDIA/nccl, src/plugin/plugin_open.cc",
)
def efa_p5_without_libfabric(root: Path) -> Tree:
    """The linker's cache was made without EFA's directory: NCCL finds the plug-in, whose libfabric the loader does not find, and goes on
    over TCP."""
    tree = efa_p5(root)
    nccl.forget(tree, "libfabric.so.1")
    return tree


_AZURE_CPUS = ("0-47", "48-95")
_AZURE = (topology.Node(0, _AZURE_CPUS[0], 0, 950), topology.Node(1, _AZURE_CPUS[1], 1, 950))
#: Domains of the GPUs and of the InfiniBand functions (Azure/azhpc-images, topology/ndv5-topo.xml).
_AZURE_GPUS = (0x0001, 0x0002, 0x0003, 0x0008, 0x0009, 0x000A, 0x000B, 0x000C)
_VMBUS = "/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/00224865-bc8d-0022-4865-bc8d00224865"
CONNECTX_7_VIRTUAL = Card(0x15B3, 0x101E, "mlx5_core", pcibus.INFINIBAND, prefix="00:15:5d")
CONNECTX_5_VIRTUAL = Card(0x15B3, 0x101A, "mlx5_core", speed="8.0 GT/s PCIe", width=16, prefix="00:22:48", mbps=40000)


@claims(
    never=BOARD,
    source="Azure/azhpc-images, topology/ndv5-topo.xml, customizations/ndv5.sh and issues 154 and 213; ibv_devinfo of a virtual machine with mlx5_ib0 to mlx5_ib7",
)
def azure_nd_v5(root: Path) -> Tree:
    """Azure ND H100 v5: a virtual machine with eight virtual functions of InfiniBand, each device on a PCI domain of its own."""
    tree = _guest(root, "ndv5-000003", _AZURE, ("Microsoft Corporation", "Virtual Machine"))
    places = tuple(Place(f"{domain:04x}:00:00.0", at // 4, _AZURE_CPUS[at // 4]) for at, domain in enumerate(_AZURE_GPUS))
    gpus.install_gpus(tree, gpus.H100, places)
    _switched_board(tree)
    for at, place in enumerate(places):
        card = replace(place, pci=f"{0x0101 + at:04x}:00:00.0")
        guid = f"0015:5dff:fe34:{0x3A + at:04x}"
        hca = Hca(f"mlx5_ib{at}", lid=1554 + at, sm_lid=1, firmware="28.40.1702", board="MSF0000000047", type="MT4126", guid=guid)
        pcibus.nic(tree, CONNECTX_7_VIRTUAL, card, netdev=Netdev(f"ib{at}", 2044, addresses=(f"172.16.1.{at + 9}/16",)), rdma=hca)
    synthetic = Netdev("eth0", 1500, addresses=("10.0.0.4/24",), mac="00:22:48:65:bc:8d", speed=40000)
    netdevs.add(tree, synthetic, _VMBUS, device=f"../../../{_VMBUS.rpartition('/')[2]}")
    netdevs.default_route(tree, "eth0", "10.0.0.1")
    accelerated = Hca(
        "mlx5_an0",
        "Ethernet",
        rdma.ROCE_DOWN,
        firmware="16.30.5000",
        board="MSF0000000041",
        type="MT4122",
        guid="0022:48ff:fe65:bc8d",
        mtu=1024,
    )
    place = Place("8a3c:00:02.0", 0, _AZURE_CPUS[0])
    port = Netdev("enP35388s1", 1500, mac="00:22:48:65:bc:8d", speed=40000, master="eth0")
    pcibus.nic(tree, CONNECTX_5_VIRTUAL, place, netdev=port, rdma=accelerated)
    rdma.stack(tree, ofed="24.10-0.7.0", peermem=True)
    containers.cdi(tree, len(places))
    nccl.package(tree)
    for name in ("opt", "opt/microsoft", "opt/microsoft/ndv5"):
        tree.directory(f"/{name}")
    tree.write("/opt/microsoft/ndv5-topo.xml", '<system version="1"/>\n')
    tree.link("/opt/microsoft/ndv5/topo.xml", "/opt/microsoft/ndv5-topo.xml")
    nccl.settings(tree, "NCCL_IB_PCI_RELAXED_ORDERING=1", "NCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml", "NCCL_IGNORE_CPU_AFFINITY=1")
    return tree


@claims(never=BOARD, source="OpenStack, Neutron: MTU considerations; QEMU, machine type q35")
def cloud_vm_1500(root: Path) -> Tree:
    """A virtual machine of a cloud that is made of Ethernet: frames of 1500 bytes, no RDMA."""
    tree = _guest(root, "vm-l40s-3", (topology.Node(0, "0-31", 0, 240),), ("OpenStack Foundation", "OpenStack Nova"))
    places = tuple(Place(f"0000:0{bus}:00.0", -1, "0-31") for bus in (5, 6))
    gpus.install_gpus(tree, L40S, places, above=_virtual_port)
    card = Place("0000:01:00.0", -1, "0-31")
    netdev = Netdev("enp1s0", 1500, addresses=("10.42.0.31/24",))
    pcibus.nic(tree, pcibus.VIRTIO, card, above=("pci0000:00", "0000:00:02.0"), netdev=netdev)
    netdevs.default_route(tree, "enp1s0", "10.42.0.1")
    containers.cdi(tree, len(places))
    return tree


def _virtual_port(place: Place) -> tuple[str, ...]:
    return "pci0000:00", f"0000:00:02.{int(place.pci[5:7], 16) - 4}"


#: Of a container: judged by another profile.
PODS: dict[str, Callable[[Path], Tree]] = {"sriov-pod": sriov_pod}
RECIPES: dict[str, Callable[[Path], Tree]] = {
    "hgx-h100-roce-class-of-driver": roce_class_of_driver,
    "hgx-h100-acs-on": acs_on,
    "hgx-h100-ib-without-sm": ib_without_sm,
    "hgx-h100-nccl-ib-disabled": nccl_ib_disabled,
    "hgx-h100-nccl-not-docker": nccl_not_docker,
    "hgx-h100-nccl-prefix": nccl_prefix,
    "hgx-h100-without-peermem": without_peermem,
    "hgx-h100-roce": roce,
    "hgx-h100-roce-one-rail-1500": roce_one_rail_1500,
    "hgx-h100-roce-one-subnet": roce_one_subnet,
    "hgx-h100-roce-vlan-on-bond": roce_vlan_on_bond,
    "hgx-h100-roce-bond-half": roce_bond_half,
    "hgx-h100-roce-exclusive": roce_exclusive,
    "hgx-h100-roce-sriov": roce_sriov,
    "p5-efa": efa_p5,
    "p5-efa-without-libfabric": efa_p5_without_libfabric,
    "azure-nd-h100-v5": azure_nd_v5,
    "cloud-vm-1500": cloud_vm_1500,
}
