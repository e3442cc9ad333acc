"""The document of ``hostagent nccl explain``."""

from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.core.steps import Step
from hostagent.core.vocabulary import Action, Gdr, NcclVerdict
from hostagent.domains.nccl.logs.chunks import Block
from hostagent.domains.nccl.logs.findings import Finding, finding, findings, version_of
from hostagent.domains.nccl.logs.log_parser import take
from hostagent.domains.nccl.logs.log_state import LogState
from hostagent.domains.nccl.logs.records import Reader
from hostagent.domains.nccl.logs.verdict import Judged, hosts, judge

SCHEMA_VERSION = 1
#: Verdicts with exit code 0.
GOOD: frozenset[NcclVerdict] = frozenset({"rdma_gdr", "rdma_no_gdr", "rdma_gdr_unknown", "intra_node_only", "tcp_plugin"})
_CHANNELS = 4096
_UNKNOWN = "unknown"

_HEADLINES: dict[NcclVerdict, str] = {
    "rdma_gdr": "NCCL uses RDMA with GPUDirect",
    "rdma_no_gdr": "NCCL uses RDMA without GPUDirect",
    "rdma_gdr_unknown": "NCCL uses RDMA; whether with GPUDirect is not in the log",
    "tcp_fallback": "NCCL fell back to TCP",
    "tcp_forced": "NCCL uses TCP because a setting says so",
    "tcp_plugin": "NCCL uses TCP by a plug-in that is made for it",
    "external_provider_unknown": "NCCL uses a plug-in, and the log does not say over what",
    "net_socket_nodes_unknown": "NCCL chose TCP; whether the job has several hosts is not in the log",
    "intra_node_only": "The job stays within one host",
    "mixed": "The ranks of the job do not agree",
    "failed": "The job failed in NCCL",
    "unknown": "The log does not say which network NCCL uses",
}
_LOG = Step("configure", "Run the job with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET,ENV, up to the first collective.")
_STEPS: dict[NcclVerdict, tuple[Step, ...]] = {
    "rdma_no_gdr": (Step("configure", "Find out on each host what keeps GPUDirect off.", "hostagent check"),),
    "rdma_gdr_unknown": (_LOG,),
    "tcp_fallback": (
        Step("configure", "Find out on each host why no HCA is used.", "hostagent check"),
        Step("configure", "Set NCCL_NET=IB, or the plug-in's name, so that NCCL fails where it would fall back."),
    ),
    "tcp_forced": (Step("configure", "Take the setting out of the job, the image and /etc/nccl.conf, unless TCP is wanted."),),
    "external_provider_unknown": (_LOG,),
    "net_socket_nodes_unknown": (Step("configure", "Give the logs of all ranks, or run the job with NCCL_DEBUG=INFO."),),
    "mixed": (Step("configure", "Give all ranks the same image, devices and NCCL settings."),),
    "failed": (Step("drain_and_inspect", "Look at the first error in the order of time: what follows are consequences."),),
    "unknown": (_LOG,),
}


@frozen
class ChannelEnd:
    """One end of the connections over the network, as its rank names it."""

    rank: int
    """The rank whose end it is."""
    host: str
    """Its host, empty where the line does not say."""
    gpu: str
    """Its GPU: a number of NVML, or in old versions the end of a PCI address; empty where the line does not say."""
    nic: str
    """The network and the number of its device."""
    gdr: bool
    """Whether it uses GPUDirect RDMA."""


@frozen
class HostCause:
    """One finding of a host that explains the log; its consequences are grouped under it."""

    codes: tuple[str, ...]
    """The codes of the findings above that it explains."""
    id: str
    """The check."""
    outcome: str
    """Its outcome."""
    devices: tuple[str, ...]
    """The devices that it is about, as people call them; empty for the host as a whole."""
    headline: str
    """What happened, in one sentence."""
    message: str
    """The same with what was found. It may change from release to release."""
    action: Action
    """The action of its first step."""
    remedy: tuple[Step, ...]
    """What to do first about it, in steps."""


@frozen
class HostCauses:
    """The findings of one host that explain the log."""

    hostname: str
    """The name of the host, as its report has it."""
    in_log: bool
    """Whether a record of the log is of a host of that name."""
    observed_at_iso: str
    """When the host was looked at."""
    causes: tuple[HostCause, ...]
    """What was found on the host that explains findings of the log; consequences are listed under their cause."""
    unknown: tuple[str, ...]
    """The checks that could explain it, and could not be made."""


@frozen
class Explanation:
    """The explanation of one job's logs; a number that they do not have is "unknown"."""

    schema_version: int
    """The version of this schema."""
    verdict: NcclVerdict
    """Which network the job used, the first word that holds."""
    headline: str
    """The same in one sentence."""
    action: Action
    """What to do first about it: the action of the first step."""
    nccl_version: str
    """The version of NCCL, several with commas, or unknown."""
    network: str
    """NCCL's name of the network, or unknown."""
    gdr: Gdr
    """Whether the connections over the network use GPUDirect RDMA."""
    hcas: tuple[str, ...]
    """The HCAs that NCCL lists, each with its port."""
    socket_ifname: tuple[str, ...]
    """The interfaces that NCCL lists for bootstrap and sockets."""
    ranks: int | str
    """How many ranks the largest communicator has, or unknown."""
    nodes: int | str
    """How many nodes the job has, or unknown."""
    ranks_seen: int
    """How many of those ranks have lines in the log."""
    channels: tuple[ChannelEnd, ...]
    """The ends of connections over the network, as their ranks name them; the first 4096."""
    findings: tuple[Finding, ...]
    """The verdict's own finding first, whose code is the verdict, then causes and what the log leaves open."""
    host: tuple[HostCauses, ...] = ()
    """What the hosts that were given say about it: of --this-host, --from and --reports; empty without them."""


class Job:
    """Takes the logs of one job, block by block and in any order."""

    def __init__(self) -> None:
        self._reader, self._state = Reader(), LogState()

    def read(self, file: str, block: Block) -> None:
        for record in self._reader.read(file, block):
            take(self._state, record)
            if self._state.local:
                self._reader.local = False

    def explain(self) -> Explanation:
        for record in self._reader.rest():
            take(self._state, record)
        return explained(self._state)

    @property
    def hosts(self) -> frozenset[str]:
        """The names of hosts in its records; complete after `explain`."""
        return frozenset(hosts(self._state))


def explained(state: LogState) -> Explanation:
    """The explanation of what was read."""
    judged = judge(state)
    others = tuple(findings(state, judged))
    steps = _STEPS.get(judged.verdict, ())
    own = finding(judged.verdict, _headline(judged), _why(judged), steps, judged.proofs)
    size = judged.size
    return Explanation(
        schema_version=SCHEMA_VERSION,
        verdict=judged.verdict,
        headline=own.headline,
        action=own.action,
        nccl_version=version_of(state) or (_UNKNOWN if not state.versions else ", ".join(sorted(state.versions))),
        network=visible(judged.network) or _UNKNOWN,
        gdr=judged.gdr,
        hcas=tuple(sorted({visible(name) for _, name in state.hcas})),
        socket_ifname=tuple(sorted({visible(name) for _, name, _ in state.boots} | set(map(visible, state.interfaces)))),
        ranks=size.ranks or _UNKNOWN,
        nodes=size.nodes or _UNKNOWN,
        ranks_seen=size.ranks_seen,
        channels=_ends(state),
        findings=(own, *others),
    )


def _headline(judged: Judged) -> str:
    text = _HEADLINES[judged.verdict]
    if judged.gdr == "mixed" and judged.verdict == "rdma_no_gdr":
        return "Some connections of NCCL use RDMA without GPUDirect"
    if judged.verdict == "unknown" and judged.network:
        return f"These are logs of {judged.network}, which is not judged"
    return text


def _why(judged: Judged) -> str:
    """The reason, with the share of the job's ranks in the log."""
    size = judged.size
    part = f" Seen are lines of {size.ranks_seen} of {size.ranks} ranks." if size.ranks and size.ranks_seen < size.ranks else ""
    return f"{judged.why}{part}"


def _ends(state: LogState) -> tuple[ChannelEnd, ...]:
    found = {
        (one.rank, visible(one.host), one.gpu, f"{visible(one.network)}/{one.device}", one.gdr)
        for one in (*state.channels, *state.glued_channels)
    }
    return tuple(ChannelEnd(*one) for one in sorted(found)[:_CHANNELS])


def is_good(verdict: NcclVerdict, required: tuple[str, ...] = ()) -> bool:
    """Whether a program goes on: with a verdict of `required`; without those, with RDMA, or where TCP is meant or not used."""
    return verdict in required if required else verdict in GOOD
