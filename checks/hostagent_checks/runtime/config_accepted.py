"""The runtime refuses its configuration: at its next start, or already now, it does not run or runs without CRI.

Each version of containerd refuses other things: a version line it does not know, short plugin names in a version 2 file, a value of
the wrong type, an import that is not there, a table defined twice (a script appended the nvidia entry again), a k3s template that was
copied over the generated file. A default runtime that has no entry is refused by the CRI plugin alone: containerd then runs, and
the kubelet gets no answer. In containerd 1.x a file or drop-in that names only the nvidia runtime does that, because it replaces
the built-in runc entry. Docker and CRI-O refuse a file they cannot parse; dockerd also one that says what a flag of its unit says, such
as the default runtime.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._choice import skip_unserving


@check(
    title="The runtime accepts its configuration",
    severity="critical",
    since="0.1",
    headline="{device} refuses its configuration",
    remedy=(
        Step("configure", "Correct the named file; 'containerd config dump' or 'dockerd --validate' shows the same refusal."),
        Step("restart_service", "Restart the runtime."),
    ),
    references=(
        "containerd, CRI Plugin Config Guide",
        "NVIDIA Container Toolkit issue 1430",
    ),
)
def config_accepted(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    skip_unserving(runtime, runtimes, launchers, profile)
    state = need(runtime.state)
    if state == "absent":
        skip(f"no program reads the configuration of {runtime.key}")
    if state == "rejected":
        error = need(runtime.error)
        code = "cri-refused" if error.startswith("invalid plugin config") else "rejected"
        yield fail(f"{runtime.key} refuses its configuration", code=code, found=error, wanted="an accepted configuration")
