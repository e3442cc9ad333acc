"""Made documents of ``hostagent topology``, to look at and to render: hosts that no recording has."""

from dataclasses import replace

from hostagent.core.steps import Step
from hostagent.core.unread import Unread
from hostagent.engine.report import HostIdentity, ProfileIdentity, Tool
from hostagent.outputs.topology.document import Document, Fix, MapFinding, Placeable

UNREAD = {"unread": "denied", "detail": "EACCES"}


def device(name, number, node, *, bridges, cpus="", **more):
    link = {"speed": "32.0 GT/s PCIe", "speed_max": "32.0 GT/s PCIe", "width": 16, "width_max": 16}
    pci = f"{number >> 8:04x}:{number & 255:02x}:00.0"
    place = {"root": f"pci{number >> 8:04x}:{number & 0xF0:02x}", "bridges": bridges}
    return {"name": name, "pci": pci, "numa_node": node, "local_cpus": cpus, "link": link, **place, **more}


def nic(name, number, node, *, bridges, netdev="", **more):
    return device(name, number, node, bridges=bridges, netdevs=[netdev or f"ens{number}np0"], rdma=[name], **more)


def between(gpus, nics, near):
    """Classes: `near` of a GPU and a NIC by their places in the lists, NV18 between GPUs."""
    away = {one["pci"]: {other["pci"]: near(at, to) for to, other in enumerate(nics)} for at, one in enumerate(gpus)}
    linked = {one["pci"]: {other["pci"]: "NV18" for other in gpus if other is not one} for one in gpus}
    return {"gpu_nic": away, "gpu_gpu": linked}


def port(card, *, at=0, role="rail", state="ACTIVE", physical="LinkUp", gbps=400.0, layer="Ethernet", active=4096, active_from="verbs"):
    """A port of a NIC, as ``facts.fabric`` has it."""
    gid = {"index": 3, "value": f"0000:0000:0000:0000:0000:ffff:0a00:01{int(card['pci'][5:7], 16):02x}", "type": "RoCE v2"}
    return {
        "name": card["name"], "port": at + 1, "pci": card["pci"], "netdev": card["netdevs"][at], "role": role, "link_layer": layer, "state": state,
        "physical_state": physical, "rate_gbps": gbps, "active_mtu": active, "active_mtu_from": active_from, "sm_lid": 0, "pkeys": [], "gid": gid,
        "firmware": "28.39.3004", "board_id": "MT_0000000838", "driver": "mlx5_core",
    }  # fmt: skip


def netdev(card, *, at=0, mtu=9000, state="up", mbps=400_000, **more):
    made = {"name": card["netdevs"][at], "pci": card["pci"], "kind": "physical", "mtu": mtu, "state": state, "speed_mbps": mbps}
    priorities = {"lossless": [3], "trust": "dscp", "dscp": [], "firmware_dcbx": False}
    return {**made, "addresses": [], "master": "", "parent": "", "rdma": [], "priorities": priorities, **more}


def mtu(text, *, agree=True, netdev=9000, active=4096, odd=()):
    return {"agree": agree, "netdev": netdev, "active": active, "odd": [*odd], "text": text}


GDR = {"peermem": "usable", "dmabuf": True}
NONE = {"unread": "absent", "detail": "the host has no rail"}
NO_RDMA = {"nics": [], "rdma": [], "gdr": {"peermem": "", "dmabuf": False}, "mtu": mtu("no rail", agree=NONE, netdev=NONE, active=NONE)}


def fabric(cards, text="8 rails RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096: agree"):
    return {"nics": [*map(netdev, cards)], "rdma": [*map(port, cards)], "gdr": GDR, "mtu": mtu(text)}


def document(hostname, nodes, packages, gpus, nics, distances, **more):  # noqa: PLR0917
    nodes = [{"hugepages": [], **one} for one in nodes]
    gpus = [{"uuid": "", "bound_to": "nvidia", "vga": False, "on_pci": True, **one} for one in gpus]
    per_node = {str(one["id"]): sum(gpu["numa_node"] == one["id"] for gpu in gpus) for one in nodes}
    most = max(per_node.values(), default=0)
    numbers = {"max_gpus_single_numa_total": most, "max_gpus_single_numa_free": most, "max_gpus_restricted_free": len(gpus)}
    rails = [
        {
            "gpu": gpu,
            "nics": [pci for pci, word in row.items() if word == min(row.values(), key="PIX PXB PHB NODE SYS ?".index)],
            "class": "PIX",
        }
        for gpu, row in distances["gpu_nic"].items()
        if row and "unread" not in distances["gpu_nic"]
    ]
    made = Document(
        schema_version=1, tool=Tool("hostagent", "0"), observed_at=0.0, observed_at_iso="1970-01-01T00:00:00Z", boot_id="", read_from="live",
        replayed=True, simulated=True, host=HostIdentity(hostname, "Ubuntu", "6.8", "x86_64", ""), profile=ProfileIdentity("default", "", {}),
        numa_nodes=nodes, packages=packages, cores=[], gpus=gpus, nics=nics, distances=distances, rails=rails,
        capacity={**numbers, "gpus_per_numa": per_node, "cpus_per_numa": {}, "nics_per_numa": {}}, fabric=NO_RDMA, placeable=(), findings=(),
    )  # fmt: skip
    return replace(made, **more)


def hgx(gpus=8, nics=8):
    """Two packages with one NUMA node each; a switch for each GPU and its NIC."""
    cpus = ["0-55,112-167", "56-111,168-223"]
    nodes = [{"id": at, "cpus": cpus[at], "memory_bytes": 1008 << 30, "distances": [[10, 21], [21, 10]][at]} for at in (0, 1)]

    def below(at, of, low):
        half, number = at * 2 // of, 0x1B + 16 * at
        return half, [f"0000:{number - 3:02x}:01.0", f"0000:{number - 2:02x}:00.0", f"0000:{number - 1:02x}:0{low}.0"]

    made = []
    for at in range(gpus):
        half, bridges = below(at, gpus, 0)
        made.append(device(f"GPU{at}", 0x1B + 13 * at, half, bridges=bridges, cpus=cpus[half]))
    cards = []
    for at in range(nics):
        half, bridges = below(at, nics, 1)
        cards.append(nic(f"mlx5_{at}", 0x1A + 13 * at, half, bridges=bridges, cpus=cpus[half], netdev=f"ens{at + 1}f0np0"))

    def near(at, to):
        return "PIX" if at * nics // gpus == to else "NODE" if at * 2 // gpus == to * 2 // nics else "SYS"

    packages = [{"id": at, "cpus": cpus[at]} for at in (0, 1)]
    text = f"{nics} rails RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096: agree"
    return document("hgx-01", nodes, packages, made, cards, between(made, cards, near), fabric=fabric(cards, text))


def odd():
    """Rails of which one has another MTU and one is down; a card of storage with two ports, and one without RDMA."""
    made = hgx()
    storage = nic("mlx5_8", 0x90, 0, bridges=["0000:8f:01.0"], netdev="ens9f0np0") | {"netdevs": ["ens9f0np0", "ens9f1np1"]}
    plain = nic("eth0", 0x05, 0, bridges=["0000:00:01.0"], netdev="eth0") | {"rdma": []}
    more = [storage, plain]
    rails = [port(one) for one in made.nics]
    rails[3] |= {"active_mtu": 1024, "active_mtu_from": "derived"}
    rails[5] |= {"state": "DOWN", "physical_state": "Polling", "rate_gbps": 10.0, "active_mtu": UNREAD, "gid": NONE}
    others = [port(storage, at=at, role="other", gbps=200.0, layer="InfiniBand") | {"netdev": ""} for at in (0, 1)]
    netdevs = [netdev(one, mtu=1500 if at == 3 else 9000) for at, one in enumerate(made.nics)]
    netdevs.append(netdev(plain, mtu=1500, state="down", mbps={"unread": "not-supported", "detail": "EINVAL"}))
    away = {gpu: row | {one["pci"]: "SYS" for one in more} for gpu, row in made.distances["gpu_nic"].items()}
    text = "8 rails RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096: mlx5_3:1 differs"
    found = (
        MapFinding("rdma.port_state", "fail", "critical", "mlx5_5:1", f"port mlx5_5:1 ({made.nics[5]['pci']})", "A port is down"),
        MapFinding("network.mtu", "fail", "warning", "mlx5_3:1", f"port mlx5_3:1 ({made.nics[3]['pci']})", "A rail has another MTU"),
    )
    shown = {"nics": netdevs, "rdma": [*rails, *others], "gdr": GDR, "mtu": mtu(text, agree=False, odd=["mlx5_3:1"])}
    return replace(made, nics=[*made.nics, *more], distances={**made.distances, "gpu_nic": away}, fabric=shown, findings=found)


def gb200():
    """Two CPUs, four GPUs whose memory is on 16 NUMA nodes without CPUs, NICs without a switch."""
    cpus = ["0-71", "72-143"]
    nodes = [
        {"id": at, "cpus": cpus[at], "memory_bytes": 480 << 30, "distances": [10 if at == to else 40 for to in range(18)]} for at in (0, 1)
    ]
    nodes += [{"id": at, "cpus": "", "memory_bytes": 0, "distances": [10 if at == to else 80 for to in range(18)]} for at in range(2, 18)]
    gpus = [device(f"GPU{at}", (8 + at) * 256 + 1, at // 2, bridges=[f"{8 + at:04x}:00:00.0"], cpus=cpus[at // 2]) for at in range(4)]
    nics = [nic(f"mlx5_{at}", (at + at // 2 * 14) * 256 + 3, at // 2, bridges=[f"{at:04x}:00:00.0"], cpus=cpus[at // 2]) for at in range(4)]
    near = between(gpus, nics, lambda at, to: "NODE" if at // 2 == to // 2 else "SYS")
    rails = [port(one, layer="InfiniBand") | {"netdev": "", "gid": NONE, "active_mtu": UNREAD} for one in nics]
    text = "4 rails InfiniBand 400 Gb/s, active MTU not known: libibverbs is not installed"
    shown = {"nics": [], "rdma": rails, "gdr": GDR, "mtu": mtu(text, agree=UNREAD, netdev=NONE, active=UNREAD)}
    return document("gb200-01", nodes, [{"id": at, "cpus": cpus[at]} for at in (0, 1)], gpus, nics, near, fabric=shown)


def wide():
    return hgx(16, 16)


def flat():
    """A virtual machine: no NUMA node is named, no distance is known."""
    cpus = "0-95"
    flat = {"unread": "not-supported", "detail": "a virtual machine shows no switches"}
    gpus = [device(f"GPU{at}", 0x10 + at, -1, bridges=[], cpus=cpus) for at in range(8)]
    nics = [nic("eth0", 0x05, -1, bridges=[], netdev="eth0")]
    nodes = [{"id": 0, "cpus": cpus, "memory_bytes": 900 << 30, "distances": [10]}]
    return document("vm-01", nodes, [{"id": 0, "cpus": cpus}], gpus, nics, {"gpu_nic": flat, "gpu_gpu": flat}, rails=flat)


def many():
    """64 NUMA nodes, of which each has 64 CPUs."""
    nodes = [{"id": 3 * at, "cpus": f"{64 * at}-{64 * at + 63}", "memory_bytes": 64 << 30, "distances": [10] * 64} for at in range(64)]
    gpus = [device(f"GPU{at}", 16 + at, 3 * at, bridges=[]) for at in range(64)]
    packages = [{"id": at, "cpus": f"{512 * at}-{512 * at + 511}"} for at in range(8)]
    return document("many", nodes, packages, gpus, [], between(gpus, [], lambda *_: "SYS"))


def unread():
    parts = dict.fromkeys(("numa_nodes", "packages", "gpus", "nics", "distances", "rails", "capacity", "fabric"), UNREAD)
    return replace(hgx(), **parts)


def asked(made):
    """With a pod that is admitted, one that is not and how to change that, and one of which nothing is known; and findings."""
    steps = (
        Step("configure", "Write this to /etc/kubernetes/kubelet.conf.d/99-hostagent.conf:"),
        Step("drain_and_inspect", "Drain the node.", "kubectl drain <node> --ignore-daemonsets --delete-emptydir-data"),
        Step("restart_service", "Start the kubelet.", "systemctl start kubelet"),
    )
    fix = Fix({"topologyManagerPolicy": "best-effort"}, {}, steps)
    none = Fix({}, {}, ())
    policy = ("single-numa-node", "container")
    why = Unread("denied", "open /var/lib/kubelet/cpu_manager_state: EACCES")
    pods = (
        Placeable("gpus=4", *policy, True, True, (0,), "", "", none),
        Placeable("gpus=6,cpus=40", *policy, False, False, (), "TopologyAffinityError", "6 GPUs are more than the 4 of one NUMA node", fix),
        Placeable("gpus=9", *policy, False, False, (), "UnexpectedAdmissionError", "the node has 8 GPUs", none),
        Placeable("gpus=2", *policy, why, why, why, "", "", none),
    )
    pci = made.gpus[1]["pci"]
    found = (
        MapFinding(
            "gpu.pcie_width", "fail", "warning", pci, f"GPU 1 ({pci})", "The PCIe link of a GPU has fewer lanes than both ends have"
        ),
        MapFinding("topology.one", "fail", "critical", made.nics[0]["pci"], "mlx5_0", "A NIC is broken"),
        MapFinding("topology.governor", "fail", "info", "", "", "The CPU governor is not performance"),
    )
    return replace(made, placeable=pods, findings=found)


MADE = {"hgx": hgx, "odd": odd, "gb200": gb200, "wide": wide, "flat": flat, "many": many, "unread": unread, "asked": lambda: asked(hgx())}
