"""Alpha feature gates of the kubelet are on: they may change or go with the next version, and few others run with them.

An alpha gate is off by default, and may be removed without notice. A kubelet that no longer knows a gate does not start: a node then stays
down after an upgrade.
"""

from itertools import takewhile

from hostagent.check import Findings, Step, check, fail, first_of, need, skip
from hostagent.facts.kubelet import Kubelet

from ._host import accepted

#: What turns all of them on.
_ALL = "AllAlpha"


@check(
    title="No alpha feature gate of the kubelet is on",
    severity="info",
    since="0.1",
    headline="An alpha feature gate of the kubelet is on",
    remedy=(Step("configure", "Look for each of them in the notes of the next version before you upgrade."),),
    references=("Kubernetes, Feature Gates",),
    confirm=("grep -n -A9 featureGates /var/lib/kubelet/config.yaml",),
)
def gates(kubelet: Kubelet) -> Findings:
    on = [name for name, value in need(accepted(kubelet).feature_gates) if value]
    if not on:
        return
    from hostagent.domains.kubelet.tables.defaults import NEWEST, OLDEST
    from hostagent.domains.kubelet.tables.gates import gates_of  # a kubelet without gates pays nothing for the table

    known = gates_of(min(max(_minor(need(kubelet.version)), OLDEST), NEWEST))
    alpha = sorted(name for name in on if name == _ALL or (name in known and known[name].stage == "a"))
    if alpha:
        names = first_of(alpha)
        yield fail(f"alpha feature gates are on: {names}", code="alpha", found=names, wanted="none")


def _minor(version: str) -> int:
    """The 33 of v1.33.5-eks-113cf36; the check does not apply to a version of another kind."""
    major, _, rest = version.removeprefix("v").partition(".")
    minor = "".join(takewhile(lambda char: char in "0123456789", rest[:4]))
    return int(minor) if major == "1" and minor else skip(f"the kubelet's version {version} names no minor version of Kubernetes 1")
