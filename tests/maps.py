"""Made documents of ``hostagent topology``, to look at and to render: hosts that no recording has."""

from dataclasses import replace

from hostagent.facts.unread import Unread
from hostagent.report import HostIdentity, ProfileIdentity, Tool
from hostagent.steps import Step
from hostagent.topology.document import Document, Fix, Found, Placeable

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
        capacity={**numbers, "gpus_per_numa": per_node, "cpus_per_numa": {}, "nics_per_numa": {}}, placeable=(), findings=(),
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

    return document("hgx-01", nodes, [{"id": at, "cpus": cpus[at]} for at in (0, 1)], made, cards, between(made, cards, near))


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
    return document("gb200-01", nodes, [{"id": at, "cpus": cpus[at]} for at in (0, 1)], gpus, nics, near)


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
    parts = dict.fromkeys(("numa_nodes", "packages", "gpus", "nics", "distances", "rails", "capacity"), UNREAD)
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
        Found("gpu.pcie_width", "fail", "warning", pci, f"GPU 1 ({pci})", "The PCIe link of a GPU has fewer lanes than both ends have"),
        Found("topology.one", "fail", "critical", made.nics[0]["pci"], "mlx5_0", "A NIC is broken"),
        Found("topology.governor", "fail", "info", "", "", "The CPU governor is not performance"),
    )
    return replace(made, placeable=pods, findings=found)


MADE = {"hgx": hgx, "gb200": gb200, "wide": wide, "flat": flat, "many": many, "unread": unread, "asked": lambda: asked(hgx())}
