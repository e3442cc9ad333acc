"""The runtime's version could not be read, or is newer than any that was measured: the newest known rules are used.

Each version reads its configuration in its own way. A newer one is taken to read what the newest known one reads, and nothing is called
refused that only an older one is known to refuse.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving


@check(
    title="hostagent knows the rules of this runtime version",
    severity="info",
    since="0.1",
    headline="hostagent does not know how this version of {device} reads its files",
    remedy=(Step("none", "Nothing now. A newer hostagent may know this version."),),
    references=("containerd, Releases",),
    confirm=("containerd --version; dockerd --version; crio --version",),
)
def version_known(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    if need(runtime.judged_as):
        version = runtime.version
        found = f"{runtime.key} {'with an unknown version' if isinstance(version, Unread) else version}"
        yield fail(f"{found}: checked by the newest rules that are known", code="newest-rules", found=found, wanted="a known version")
