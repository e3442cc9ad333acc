"""What people see of every recorded host: ``python -m tests.golden [HOST…]`` writes it to ``tests/golden``, a test holds it.

``HOST.txt`` is the text at 100 columns, of the hosts in `NAMED` also at 80 and 120 and the page of HTML; ``HOST.topology.txt`` is what
``hostagent topology`` prints of those in `MAPPED`, asked about the pods there, ``HOST.plan.txt`` what ``hostagent plan`` prints. Read the
difference before you commit it, as you read code: this writes down today's words, good or bad.
"""

import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from hostagent.cli.plan import planned_document
from hostagent.cli.topology import FAMILIES, mapped, with_map
from hostagent.domains.kubelet.placement import parse_shape
from hostagent.engine.collection import InProcess
from hostagent.engine.pipeline import prepare
from hostagent.engine.target import Evidence
from hostagent.host.recording import ReplayBackend
from hostagent.outputs import render
from hostagent.outputs.plan import render_plan
from hostagent.outputs.topology import Format, render_topology
from hostagent.plan.model import Asked
from tests.recorded import HOSTS, NAMES, profile_of, report_of, tape_of

GOLDEN = Path(__file__).parent / "golden"
#: One of each kind of report: ready, degraded, unknown, not ready, with advisories, a rack, an image, a cloud, a guest.
NAMED = (
    "hgx-h100-ubuntu2404", "hgx-h100-gpu-off-the-bus", "hgx-h100-userland-upgraded", "hgx-h100-next-kernel-without-module",
    "hgx-h100-fabricmanager-mismatch", "hgx-h100-links-down", "debian12-image-without-kernel", "gb200-nvl", "gke-cos-without-plugin",
    "gpu-operator-driver-container", "wsl2", "no-gpu-vm",
)  # fmt: skip
_WIDTHS = (80, 120)
#: Hosts whose map matters, and what is asked of each: a board of eight, the same with half of it taken, clouds whose kubelet is not the host's to
#: change, GPUs with NUMA nodes of their own, many NUMA nodes, a guest that shows no switches, no GPU at all.
MAPPED: dict[str, tuple[str, ...]] = {
    "hgx-h100-ubuntu2404": ("gpus=8,cpus=96,memory=1Ti", "gpus=1"),
    "kubeadm-single-numa-node": ("gpus=4,cpus=40,memory=200Gi", "gpus=1"),
    "eks-by-flags": ("gpus=4,cpus=16", "gpus=4,cpus=60,memory=10Gi"),
    "gke-cos": ("gpus=2",),
    "gb200-nvl": ("gpus=4",),
    "epyc-nps4": (),
    "vm-flat-tree": (),
    "no-gpu-vm": (),
}


def files(name: str) -> dict[str, str]:
    """The files of a host below ``tests/golden``, and what they hold today."""
    made = {f"{name}.txt": render(report_of(name), "text", width=100)}
    if name in NAMED:
        made |= {f"{name}.{width}.txt": render(report_of(name), "text", width=width) for width in _WIDTHS}
        made[f"{name}.html"] = render(report_of(name), "html")
    for width in (80, 100) if name in MAPPED else ():
        made[f"{name}.topology{'' if width == 100 else f'.{width}'}.txt"] = recorded_map(name, "text", MAPPED[name], width=width)
    made[f"{name}.plan.txt"] = recorded_plan(name)
    return made


@functools.cache
def recorded_plan(name: str) -> str:
    """As ``hostagent plan --from tests/hosts/NAME`` prints it."""
    return render_plan(planned_document(Evidence(snapshot=str(HOSTS / name)), profile_of(name).profile.name, Asked())[1], "text", width=100)


def recorded_map(name: str, form: Format, pods: Sequence[str] = (), width: int = 100) -> str:
    """As ``hostagent topology --from tests/hosts/NAME --pod …`` prints it."""
    prepared = with_map(prepare(profile_of(name), FAMILIES))
    reading = InProcess(ReplayBackend(tape_of(name)), prepared.kinds, replayed=True, recorded_at=tape_of(name).recorded_at)
    return render_topology(mapped(reading, prepared, tuple(map(parse_shape, pods))), form, width=width)


def main(wanted: list[str]) -> None:
    GOLDEN.mkdir(exist_ok=True)
    made = {file: text for name in wanted or NAMES for file, text in files(name).items()}
    for file in GOLDEN.iterdir():
        if not wanted and file.name not in made:
            file.unlink()
    for file, text in made.items():
        (GOLDEN / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
