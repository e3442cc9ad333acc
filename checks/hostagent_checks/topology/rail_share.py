"""Some GPUs have fewer NICs of their own than most: they share them, and a job is as fast as its slowest GPU.

A GPU's share is the number of ports nearest to it, each divided by the GPUs that it is nearest to. It need not be one: four NICs for eight
GPUs give each a half, sixteen give two. But jobs put the same on every GPU, so it should be the same for all. A NIC that has gone from the
bus, or sits in another slot, shows here. GPUs that reach no NIC without a CPU are told of elsewhere.
"""

from collections.abc import Mapping

from hostagent.check import Findings, Step, check, fail, of_more_than_half, tally
from hostagent.domains.network.gpu_path import DIRECT, GpuPaths, Way, card_of

from ._ways import ways_of_jobs


@check(
    title="All GPUs have the same share of the rails",
    severity="warning",
    scope="fabric",
    since="0.1",
    headline="{device} has fewer NICs of its own than other GPUs",
    remedy=(
        Step("configure", "Look for a NIC that has gone: compare 'nvidia-smi topo -m' with a node of this kind."),
        Step("configure", "If rdma.hcas or NCCL_IB_HCA leaves one out, add it."),
        Step("replace", "Reseat the NIC that is missing, or move it to the slot that the board's manual names.", if_back=True),
    ),
    references=("NCCL documentation, environment variables, NCCL_NET_GDR_LEVEL",),
    confirm=("nvidia-smi topo -m",),
)
def rail_share(paths: GpuPaths) -> Findings:
    near = tuple(way for way in ways_of_jobs(paths) if way.distance in DIRECT)
    shares = _shares(near, tally(card_of(port) for port in paths.rails.ports))
    usual = of_more_than_half(shares.values())
    for gpu, share in shares.items():
        if usual is not None and share < usual:
            yield fail(
                f"it has {_words(share)}, most GPUs have {_words(usual)}",
                code="fewer",
                found=_words(share),
                wanted=_words(usual),
                about=gpu,
            )


def _shares(ways: tuple[Way, ...], ports: Mapping[str, int]) -> dict[str, float]:
    users = tally(card for way in ways for card in way.cards)
    return {way.gpu: round(sum(ports[card] / users[card] for card in way.cards), 3) for way in ways}


def _words(share: float) -> str:
    return f"{share:g} of a port" if share < 1 else f"{share:g} {'port' if share == 1 else 'ports'}"
