"""Logs of jobs, written from the formats of NCCL 2.4 to 2.32, its plug-ins, launchers and failures, each with the verdict that it has.

None is pasted from elsewhere: the texts are the formats of NVIDIA/nccl's sources and of the strings in libnccl 2.18.3 to 2.32.3.
"""

import json
from dataclasses import dataclass, field

PLUGIN = "libnccl-net.so"


@dataclass(frozen=True)
class Job:
    """A job whose ranks all do the same."""

    version: tuple[int, int, int] = (2, 21, 5)
    hosts: tuple[str, ...] = ("node1", "node2")
    gpus: int = 2  # ranks of one host
    net: str = "IB"
    gdr: bool = True
    channels: bool = True
    nodes: bool = True  # whether nNodes is told, where the version tells it
    links: str = "IB"
    provider: str = ""
    loaded: str = ""  # the name of a plug-in
    settings: tuple[str, ...] = ()
    logged: tuple[int, ...] = ()  # the ranks whose lines there are; all of them if empty
    interface: str = "eth0"
    addresses: tuple[str, ...] = ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
    extra: tuple[str, ...] = field(default=())  # texts of each rank, after the network is chosen

    @property
    def ranks(self):
        return len(self.hosts) * self.gpus

    def records(self):
        """Rank and record, a rank after the other."""
        for rank in self.logged or range(self.ranks):
            at, local = divmod(rank, self.gpus)
            head = f"{self.hosts[at]}:{1000 + local}:{1100 + local} [{local}] NCCL INFO "
            if rank == 0 and self.version < (2, 22):
                yield rank, f"NCCL version {self.number}+cuda12.4"
            for text in (*self.start(at, rank), *self.chosen(at), *self.extra, *self.comm(rank, local), *self.connected(rank, at)):
                yield rank, head + text

    def lines(self):
        return [line for _, line in self.records()]

    def text(self):
        return "".join(f"{line}\n" for line in self.lines())

    @property
    def number(self):
        return ".".join(map(str, self.version))

    def start(self, at, rank):
        address = f"{self.interface}:{self.addresses[at]}<0>"
        if self.version >= (2, 22):
            yield f"NCCL version {self.number}+cuda12.4"
        for one in self.settings:
            name, _, value = one.partition("=")
            yield f"{name} set {'' if name in ('NCCL_SOCKET_IFNAME', 'NCCL_IB_HCA') else 'by environment '}to {value}"
        yield (
            f"Bootstrap: Using {address}"
            if self.version >= (2, 24)
            else (f"Bootstrap : Using [0]{address}" if self.version < (2, 9) else f"Bootstrap : Using {address}")
        )
        if not self.loaded:
            yield from absent(self.version)

    def chosen(self, at):
        address = f"{self.interface}:{self.addresses[at]}<0>"
        if self.loaded:
            yield f"NET/Plugin: Loaded net plugin {self.loaded} (v8)"
        if self.provider:
            short = self.version < (2, 19)
            yield (
                f"NET/OFI Selected {'P' if short else 'p'}rovider is {self.provider}"
                + ("" if short else f", fabric is {self.provider}")
                + " (found 4 nics)"
            )
        if self.net in ("IB", "gIB") or self.net.startswith("IBext"):
            listed = " ".join(f"[{number}]mlx5_{number}:1/{self.links}" for number in range(self.gpus))
            yield f"NET/IB : Using {listed} {'[RO]' if self.version >= (2, 12) else ''}; OOB {address}"
            if self.version < (2, 5):
                yield f"NET/Socket : Using [0]{address}"
        if self.net == "Socket":
            yield "NET/IB : No device found."
            if self.version >= (2, 24):
                yield f"NET/IB : Using [RO]; OOB {address}"
            if self.version >= (2, 28):
                yield "Failed to initialize NET plugin IB"
            yield f"NET/Socket : Using [0]{address}"
        if self.version >= (2, 27):
            yield f"Initialized NET plugin {self.net}"
            yield f"Assigned NET plugin {self.net} to comm"
        if self.version >= (2, 5):
            yield f"Using network {self.net}"

    def comm(self, rank, local):
        who = f"comm 0x55d{rank:04x} rank {rank} nranks {self.ranks} cudaDev {local}"
        gpu = f"busId {local + 1:x}b000"
        if self.version >= (2, 18, 3):
            start = f"[Rank {rank}] " if self.version >= (2, 29, 2) else ""
            yield f"{start}ncclCommInitRank {who} nvmlDev {local} {gpu} commId 0x1234 - Init START"
        if self.version >= (2, 20) and self.nodes:
            yield f"comm 0x55d{rank:04x} rank {rank} nRanks {self.ranks} nNodes {len(self.hosts)} localRanks {self.gpus} localRank {local} MNNVL 0"
        yield "Channel 00/02 :    " + "   ".join(map(str, range(self.ranks)))
        yield f"Trees [0] -1/-1/-1->{rank}->0 [1] -1/-1/-1->{rank}->0"
        yield f"{'ncclCommInitRank ' if self.version >= (2, 18, 3) else ''}{who} {gpu} - Init COMPLETE"

    def connected(self, rank, at):
        if not self.channels:
            return
        following, before = (rank + 1) % self.ranks, (rank - 1) % self.ranks
        for number in range(2):
            channel = f"Ring {number:02d}" if self.version < (2, 6) else f"Channel {number:02d}" + ("/0" if self.version >= (2, 12) else "")
            for a, b, way in ((before, rank, "receive"), (rank, following, "send")):
                if a == b:
                    continue
                pair = f"{channel} : {self.end(a)} -> {self.end(b)}"
                if a // self.gpus == b // self.gpus:
                    if way == "send":
                        yield f"{pair} via {'P2P/IPC' if self.version < (2, 18) else 'P2P/CUMEM/read'}"
                else:
                    yield f"{pair} [{way}] via NET/{self.net}/{rank % self.gpus}{'/GDRDMA' if self.gdr else ''}"
        yield "Connected all rings" if self.version < (2, 24) else "Connected all rings, use ring PXN 0 GDR 1"

    def end(self, rank):
        if self.version < (2, 6):
            return str(rank)
        return f"{rank}[{f'{rank % self.gpus + 1:x}b000' if self.version < (2, 18, 3) else rank % self.gpus}]"


def absent(version):
    """No plug-in, in the words of the version."""
    if version <= (2, 16, 99):
        yield f"NET/Plugin : No plugin found ({PLUGIN}), using internal implementation"
    elif version < (2, 19):
        yield f"NET/Plugin : Plugin load ({PLUGIN}) returned 2 : {PLUGIN}: cannot open shared object file: No such file or directory"
        yield "NET/Plugin : No plugin found, using internal implementation"
    elif version < (2, 21):
        yield f"NET/Plugin : dlerror={PLUGIN}: cannot open shared object file: No such file or directory No plugin found ({PLUGIN}), using internal implementation"
    elif version < (2, 22):
        yield f"NET/Plugin: No plugin found ({PLUGIN})"
        yield "NET/Plugin: Using internal network plugin."
    elif version < (2, 26):
        yield f"NET/Plugin: Could not find: {PLUGIN}. Using internal network plugin."
    else:
        yield f"NET/Plugin: Could not find: {PLUGIN}"
        yield "TUNER/Plugin: Could not find: libnccl-tuner.so"


def warn(text, *, host="node1", version=(2, 21, 5), source="transport/net_ib.cc:1234"):
    """A warning as its version writes it, after an empty line."""
    time = "[2026-01-02 03:04:05] " if version >= (2, 26) else ""
    return f"\n{time}{host}:1000:1180 [0] {source}{' (ncclIbTest)' if version >= (2, 30, 7) else ''} NCCL WARN {text}"


def info(text, *, host="node1"):
    return f"{host}:1000:1180 [0] NCCL INFO {text}"


#: What launchers and containers make of the lines: each takes lines with their rank.
LAUNCHERS = {
    "mpirun": lambda pairs: [f"[1,{rank}]<stdout>:{line}" for rank, line in pairs],
    "srun": lambda pairs: [f"{rank}: {line}" for rank, line in pairs],
    "kubectl": lambda pairs: [f"[pod/train-{rank // 2}/worker] {line}" for rank, line in pairs],
    "torchrun": lambda pairs: [f"[rank{rank}]: {line}" for rank, line in pairs],
    "default-torchrun": lambda pairs: [f"[default{rank}]:{line}" for rank, line in pairs],
    "ray": lambda pairs: [f"\x1b[36m(Worker pid={900 + rank}, ip=10.0.0.{rank})\x1b[0m {line}" for rank, line in pairs],
    "ray-repeated": lambda pairs: [f"(Worker pid={900 + rank}) {line} [repeated 15x across cluster] (Ray deduplicates logs.)" for rank, line in pairs],
    "pdsh": lambda pairs: [f"10.0.0.{rank}: {line}" for rank, line in pairs],
    "times": lambda pairs: [f"2026-01-02T03:04:05.{rank:06d}Z {line}" for rank, line in pairs],
    "compose": lambda pairs: [f"worker-{rank}  | {line}" for rank, line in pairs],
    "quoted": lambda pairs: [f"> {line}" for _, line in pairs],
    "docker": lambda pairs: [json.dumps({"log": f"{line}\n", "stream": "stdout"}).replace(">", "\\u003e").replace("<", "\\u003c") for _, line in pairs],
    "windows": lambda pairs: [f"{line}\r" for _, line in pairs],
    "python-list": lambda pairs: [f"'{line}'," for _, line in pairs],
    "one-line": lambda pairs: ["            ".join(line for _, line in pairs)],
    "glued": lambda pairs: ["".join(line for _, line in pairs[at : at + 3]) for at in range(0, len(pairs), 3)],
}  # fmt: skip


def launched(name, job):
    return "".join(f"{line}\n" for line in LAUNCHERS[name](list(job.records())))


V24, V26, V28, V212, V216, V218, V220 = (2, 4, 8), (2, 6, 4), (2, 8, 4), (2, 12, 12), (2, 16, 5), (2, 18, 3), (2, 20, 5)
V223, V224, V227, V228, V230, V232 = (2, 23, 4), (2, 24, 3), (2, 27, 3), (2, 28, 9), (2, 30, 7), (2, 32, 3)
EVERY = (V24, V26, V28, V212, V216, V218, V220, (2, 21, 5), V223, V224, V227, V228, V230, V232)
TCP = {"net": "Socket", "gdr": False}


def _jobs():
    """Name, verdict, text."""
    for version in EVERY:
        yield f"gdr-{version[1]}", "rdma_gdr", Job(version).text()
    for version in (V24, V212, V218, V224, V232):
        yield f"tcp-{version[1]}", "tcp_fallback", Job(version, **TCP).text()
        yield f"no-gdr-{version[1]}", "rdma_no_gdr", Job(version, gdr=False, links="RoCE").text()
        yield f"one-host-{version[1]}", "intra_node_only", Job(version, hosts=("node1",), **TCP).text()
    for name in LAUNCHERS:
        yield f"gdr-{name}", "rdma_gdr", launched(name, Job())
    yield "tcp-kubectl", "tcp_fallback", launched("kubectl", Job(V227, **TCP))
    yield "tcp-docker", "tcp_fallback", launched("docker", Job(V227, **TCP))
    yield "unknown-ray", "rdma_gdr_unknown", launched("ray", Job(V227, channels=False))
    for net, job in (("IBext_v8", {}), ("gIB", {}), ("IBext", {"gdr": False})):
        yield f"plugin-{net}", "rdma_no_gdr" if job else "rdma_gdr", Job(net=net, loaded=net, **job).text()
    yield from _plugins()
    yield from _only_chosen()
    yield from _different()
    yield from _failed()
    yield from _nothing()
    yield from _benign()


def _plugins():
    for name in ("FastSocket", "GPUDirectTCPX_v7", "FasTrak"):
        yield f"plugin-{name}", "tcp_plugin", Job(net=name, loaded=name, gdr=name != "FastSocket").text()
    yield "plugin-chosen-FastSocket", "tcp_plugin", Job(net="FastSocket", loaded="FastSocket", channels=False).text()
    efa = {"net": "AWS Libfabric", "loaded": "AWS Libfabric"}
    yield "efa-gdr", "rdma_gdr", Job(V218, provider="efa", **efa).text()
    yield "efa-no-gdr", "rdma_no_gdr", Job(V227, net="Libfabric", loaded="Libfabric", provider="efa", gdr=False).text()
    yield "efa-chosen", "rdma_gdr_unknown", Job(V227, provider="efa", channels=False, **efa).text()
    yield "ofi-tcp", "tcp_fallback", Job(V227, provider="tcp", gdr=False, **efa).text()
    yield "ofi-sockets-chosen", "tcp_fallback", Job(V227, provider="sockets", channels=False, **efa).text()
    yield "ofi-no-provider", "external_provider_unknown", Job(V227, gdr=False, **efa).text()
    yield "ofi-no-provider-chosen", "external_provider_unknown", Job(V227, channels=False, **efa).text()
    yield "ucx", "external_provider_unknown", Job(net="UCX", loaded="UCX", gdr=False).text()
    yield "ucx-chosen", "external_provider_unknown", Job(net="UCX", loaded="UCX", channels=False).text()
    yield "ucx-gdr", "rdma_gdr", Job(net="UCX", loaded="UCX").text()


def _only_chosen():
    quiet = {"channels": False}
    for version in (V218, V223, V230):
        yield f"chosen-ib-{version[1]}", "rdma_gdr_unknown", Job(version, **quiet).text()
        yield f"chosen-tcp-{version[1]}", "tcp_fallback", Job(version, **TCP, **quiet).text()
    yield "chosen-ib-24", "rdma_gdr_unknown", Job(V24, **quiet).text()
    off = tuple(f"NET/IB : GPU Direct RDMA Disabled for HCA {number} 'mlx5_{number}'" for number in range(2))
    yield "chosen-ib-disabled", "rdma_no_gdr", Job(V223, extra=off, **quiet).text()
    yield "chosen-ib-one-disabled", "rdma_gdr_unknown", Job(V223, extra=off[:1], **quiet).text()
    yield "chosen-ib-enabled", "rdma_gdr_unknown", Job(V223, extra=(off[0], off[1].replace("Disabled", "Enabled")), **quiet).text()
    yield "one-rank", "intra_node_only", Job(hosts=("node1",), gpus=1).text()
    yield "one-node-ib", "intra_node_only", Job(V227, hosts=("node1",), gpus=8, **quiet).text()
    yield "one-node-old", "intra_node_only", Job(V212, hosts=("node1",), gpus=4).text()
    for version in (V26, V212, V216, V218):
        yield f"rank-0-tcp-{version[1]}", "net_socket_nodes_unknown", Job(version, logged=(0,), **TCP, **quiet).text()
    yield "rank-0-tcp-two-nodes", "tcp_fallback", Job(V224, logged=(0,), **TCP, **quiet).text()
    yield "rank-1-p2p", "net_socket_nodes_unknown", Job(V212, gpus=4, logged=(1,), **TCP).text()
    same = {"hosts": ("localhost", "localhost"), "nodes": False}
    yield "same-name", "tcp_fallback", Job(V220, **same, **TCP, **quiet).text()
    for name, setting in (("disable", "NCCL_IB_DISABLE=1."), ("net", "NCCL_NET=Socket"), ("lower", "NCCL_NET=socket")):
        yield f"forced-{name}", "tcp_forced", Job(V223, settings=(setting,), **TCP).text()
        yield f"forced-chosen-{name}", "tcp_forced", Job(V227, settings=(setting,), **TCP, **quiet).text()
    yield "not-forced", "tcp_fallback", Job(V223, settings=("NCCL_IB_DISABLE=0.", "NCCL_NET=IB"), **TCP).text()


def _different():
    first, second = Job(V227, logged=(0, 1)), Job(V227, logged=(2, 3), **TCP)
    yield "mixed-channels", "mixed", first.text() + second.text()
    quiet = {"channels": False}
    yield "mixed-chosen", "mixed", Job(V223, logged=(0, 1), **quiet).text() + Job(V223, logged=(2, 3), **TCP, **quiet).text()
    yield "mixed-version", "mixed", Job(V227, logged=(0, 1)).text() + Job(V228, logged=(2, 3)).text()
    yield (
        "mixed-type",
        "mixed",
        Job(V220, channels=False).text() + warn("socketFinalizeAccept: wrong type 4 != 3", source="misc/socket.cc:500") + "\n",
    )
    yield (
        "mixed-type-from",
        "mixed",
        Job(V227, channels=False).text() + warn("socketFinalizeAccept from 10.0.0.2<4>: wrong type 3 != 4") + "\n",
    )
    some = Job(V227, logged=(0, 1)).text() + Job(V227, logged=(2, 3), gdr=False).text()
    yield "some-gdr", "rdma_no_gdr", some


def _failed():
    start = Job(V227, channels=False).text()
    failures = {
        "no-interface": warn("Bootstrap : no socket interface found", source="bootstrap.cc:100"),
        "status-12": warn(
            "NET/IB: Got completion from peer 10.0.0.2<5> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) reqSize=0 vendor_err=129 req_type=Send localGid fe80::1 remoteGids fe80::2 hca mlx5_0"
        ),
        "status-12-old": warn("NET/IB : Got completion from peer 10.0.0.2<5> with error 12, opcode 0, len 0, vendor err 129", version=V218),
        "status-4": warn(
            "NET/IB: Got completion from peer 10.0.0.2<5> with status=4 opcode=0 len=0 vendor err 81 (Recv) hca mlx5_3", version=V223
        ),
        "async": warn("NET/IB : mlx5_0:1 async fatal event on QP (0x55): local catastrophic error"),
        "async-old": warn("NET/IB : Got async event : port error", version=V218),
        "modify-qp": warn(
            "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.0.0.1, remote GID ::ffff:10.0.0.2"
        ),
        "shm": warn("Error: failed to extend /dev/shm/nccl-abc to 9637892 bytes, error: No space left on device (28)"),
        "memlock": warn("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory errno 12"),
        "duplicate": warn("Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1b000", source="init.cc:800"),
        "cuda": warn("Cuda failure 802 'system not yet initialized'", source="init.cc:200"),
        "nvls": warn(
            "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 at MC group 55 offset 0 : CUDA error 1 'invalid argument'."
        ),
        "versions": warn("Mismatched NCCL version detected : rank 0 version 22703 rank 1 version 22809", source="init.cc:900"),
        "redacted": "\nNODE:XXX:YYY [0] misc/socket.cc:50 NCCL WARN Call to connect failed: Connection refused",
        "cut-prefix": "00:1180 [0] NCCL WARN Error: network GIB not found.",
        "trace": info("transport/net_ib.cc:1234 -> 6"),
        "trace-new": info("plugin/net.cc:120 (ncclNetInit) -> 3"),
        "result": "node1: Test NCCL failure common.cu:958 'unhandled system error (run with NCCL_DEBUG=INFO for details) / '",
        "c10d": "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, unhandled cuda error, NCCL version 2.27.3\nncclUnhandledCudaError: Call to CUDA function failed.",
        "c10d-timeout": "[rank1]:[E1120 12:00:00.1 ProcessGroupNCCL.cpp:685] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)",
        "c10d-name": "ncclInternalError: Internal check failed.",
        "bind": warn("Call to bind failed: Address already in use", source="misc/socket.cc:440"),
    }
    for name, text in failures.items():
        yield f"failed-{name}", "failed", f"{'' if name == 'bind' else start}{text}\n"
    yield (
        "failed-wrong-type-and-trace",
        "failed",
        start + warn("socketFinalizeAccept: wrong type 4 != 3") + "\n" + info("misc/socket.cc:500 -> 3") + "\n",
    )


def _nothing():
    yield "empty", "unknown", ""
    yield "no-nccl", "unknown", "Epoch 1: loss 3.2\nINTERNAL: internal error, see the manual\n" * 20
    yield "bootstrap-alone", "unknown", info("Bootstrap : Using eth0:10.0.0.1<0>") + "\n"
    yield "init-alone", "unknown", "\n".join(map(info, Job().comm(0, 0))) + "\n"
    yield "rccl", "unknown", f"RCCL version 2.18.3+hip6.0 HEAD:abc\n{Job().text()}"
    yield "hccl", "unknown", "[INFO] HCCL init, rank 0 of 8\n"
    yield "version-alone", "unknown", "NCCL version 2.21.5+cuda12.4\n"
    yield "cut-channel", "unknown", info("Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0/GD") + "\n"
    yield "no-end", "unknown", info("Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0")


def _benign():
    ras = [
        warn("Call to bind failed: Address already in use", source="ras/client_support.cc:160"),
        warn("RAS failed to establish a client listening socket at localhost:28028", source="ras/client_support.cc:180"),
        info("ras/ras.cc:200 -> 2"),
    ]
    yield "benign-ras", "rdma_gdr", "".join(f"{line}\n" for line in ras) + Job(V224).text()
    yield "benign-verbs", "tcp_fallback", warn("Failed to open libibverbs.so[.1]", version=V28) + "\n" + Job(V28, **TCP).text()
    yield (
        "benign-cuda",
        "rdma_gdr",
        warn("Failed to find CUDA library libcuda.so (NCCL_CUDA_PATH='') ", version=V218) + "\n" + Job(V218).text(),
    )
    ofi = "node1:1000:1180 [0] int nccl_net_ofi_create_plugin(nccl_net_ofi_plugin_t **):200 NCCL WARN NET/OFI Initializing plugin failed\n"
    yield "benign-ofi", "tcp_fallback", ofi + Job(V227, **TCP).text()
    yield "failed-ofi", "failed", ofi
    yield (
        "benign-event",
        "rdma_gdr",
        Job(V227).text() + warn("NET/IB : mlx5_0:1 Got non-fatal async event: client reregistration(17)") + "\n",
    )
    yield "benign-gid", "rdma_gdr", Job(V228).text() + warn("NET/IB : mlx5_0:1 GID table changed") + "\n"


CASES = {name: (verdict, text) for name, verdict, text in _jobs()}


def large(bytes_wanted):
    """Pieces of the logs of a job of 1,024 ranks on 128 hosts, a megabyte each, whose ranks talk to each other: what a gigabyte of it begins with."""
    hosts = tuple(f"node{number:04d}" for number in range(128))
    addresses = tuple(f"10.0.{number // 250}.{number % 250 + 1}" for number in range(128))
    made = 0
    for rank in range(1024):
        if made >= bytes_wanted:
            return
        local, first = rank % 8, rank - rank % 8
        head = f"{hosts[rank // 8]}:{1000 + local}:{1100 + local} [{local}] NCCL INFO Channel "
        own = f"{rank}[{local}]"
        near = [
            f"{head}{channel:02d}/0 : {own} -> {first + peer}[{peer}] via P2P/CUMEM/read"
            for channel in range(64)
            for peer in range(8)
            if peer != local
        ]
        far = []
        for channel in range(4):
            for peer in range(local, 1024, 8):
                far.append(f"{head}{channel:02d}/1 : {own} -> {peer}[{local}] [send] via NET/IB/{local}/GDRDMA/Shared")
                far.append(f"{head}{channel:02d}/1 : {peer}[{local}] -> {own} [receive] via NET/IB/{local}/GDRDMA/Shared")
        rings = [f"{head}{channel:02d}/16 : {' '.join(f'{one:4d}' for one in range(1024))}" for channel in range(16)]
        job = Job(V227, hosts=hosts, gpus=8, addresses=addresses, logged=(rank,))
        whole = "\n".join([*job.lines(), *(rings if rank == 0 else ()), *(near * 14), *(far * 3), ""])
        made += len(whole)
        yield whole.encode()
