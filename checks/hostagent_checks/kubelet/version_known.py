"""The kubelet's version could not be read, or hostagent does not know its rules: those of the nearest version are used.

Each version has other feature gates, options and defaults. A newer one is taken to read its configuration as the newest known one does.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.facts.kubelet import Kubelet

from ._host import skip_without

_NEAREST = {"newer": "the newest rules that are known", "older": "the oldest rules that are known"}


@check(
    title="hostagent knows the rules of this kubelet version",
    severity="info",
    since="0.1",
    headline="hostagent does not know how this version of the kubelet reads its configuration",
    remedy=(Step("none", "Nothing now. A newer hostagent may know this version."),),
    references=("Kubernetes, Releases",),
    confirm=("kubelet --version",),
)
def version_known(kubelet: Kubelet) -> Findings:
    skip_without(kubelet)
    judged_as = need(kubelet.judged_as)
    if judged_as:
        version = kubelet.version
        if isinstance(version, Unread) and version.why == "not-running":
            skip("no program of an image is run, and no package says the kubelet's version")
        found = f"kubelet {'of an unknown version' if isinstance(version, Unread) else version}"
        rules = _NEAREST.get(judged_as, "the newest rules that are known")
        yield fail(f"{found}: judged by {rules}", code="nearest-rules", found=found, wanted="a known version")
