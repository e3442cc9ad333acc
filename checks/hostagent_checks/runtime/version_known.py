"""The runtime's version could not be read, or is newer than any that was measured: the newest known rules are used.

Each version reads its configuration in its own way. A newer one is taken to read what the newest known one reads, and nothing is called
refused that only an older one is known to refuse.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.unread import Unread
from hostagent.profile import Profile

from ._choice import skip_unserving


@check(
    title="The runtime is of a version whose rules are known",
    severity="info",
    since="0.1",
    headline="hostagent does not know the rules of this version of {device}",
    remedy=(Step("none", "Nothing: upgrade hostagent when a version comes that knows it."),),
    references=("containerd, Releases",),
    confirm=("containerd --version; dockerd --version; crio --version",),
)
def version_known(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    skip_unserving(runtime, runtimes, launchers, profile)
    if need(runtime.judged_as):
        version = runtime.version
        found = f"{runtime.key} {'of an unknown version' if isinstance(version, Unread) else version}"
        yield fail("judged by the newest known rules", code="newest-rules", found=found, wanted="a known version")
