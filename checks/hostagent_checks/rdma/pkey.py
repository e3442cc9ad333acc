"""An InfiniBand port has no full membership in the partition that NCCL uses: its connections end with retries that nobody answers.

NCCL takes the P_Key at index 0 (NCCL_IB_PKEY), whatever it is. Two ports with limited membership (0x7fff, without the highest bit)
cannot talk to each other. The subnet manager fills the table.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.rdma_devices import FULL_MEMBER, INFINIBAND, UP
from hostagent.facts.rdma import Pkey

from ._rails import each, is_shared, lines, need_no, ports_of


@check(
    title="The InfiniBand ports that jobs use are full members of their partition",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-path",),
    because=("rdma.virtual_function", "rdma.subnet_manager", "rdma.port_state"),
    headline="{device} is no full member of the partition that NCCL uses",
    remedy=(
        Step("contact_owner", "Have the subnet manager make the port a full member of the jobs' partition."),
        Step("configure", "Have it put that P_Key at index 0, or set NCCL_IB_PKEY to its index in all jobs."),
    ),
    references=("NCCL documentation, environment variables: NCCL_IB_PKEY", "InfiniBand Architecture Specification, section 10.9"),
    confirm=("grep . /sys/class/infiniband/*/ports/*/pkeys/[0-7]",),
)
def pkey(rails: Rails) -> Findings:
    everyone = ports_of(rails)
    ours = tuple(port for port in everyone if need(port.link_layer) == INFINIBAND and need(port.state) in UP)
    if not ours:
        skip("no InfiniBand port that is up carries traffic of jobs")
    texts, gaps = each(ours, lambda port: _wrong(need(port.pkeys)))
    wrong = {name: text for name, text in texts.items() if text}
    if is_shared(wrong, ours):
        headline = f"The {len(ours)} InfiniBand ports that jobs use are no full members of their partition"
        text = f"none of the {len(ours)} rails has a P_Key of full membership at index 0"
        yield fail(text, code="none", found="none", wanted="full members", evidence=lines(wrong), headline=headline)
    else:
        for name, text in wrong.items():
            yield fail(f"P_Key index 0: {text}", code="not-full", found=text, wanted="full membership", about=name)
    need_no(gaps, texts)


def _wrong(pkeys: tuple[Pkey, ...]) -> str:
    first = next((one.value for one in pkeys if one.index == 0), 0)
    if first & FULL_MEMBER:
        return ""
    full = [one.index for one in pkeys if one.value & FULL_MEMBER]
    elsewhere = f", full membership at index {full[0]}" if full else ""
    return f"{f'{first:#06x}, limited' if first else 'empty'}{elsewhere}"
