"""The runtime refuses its configuration: at its next start, or already now, it does not run or runs without CRI.

Each version of containerd refuses other things: a version line it does not know, short plugin names in a version 2 file, a value of
the wrong type, an import that is not there, a table defined twice (a script appended the nvidia entry again), a k3s template that was
copied over the generated file. The first releases of containerd 2.3 refuse a drop-in of a newer version than the main file: the GPU
Operator's toolkit writes one, because 'containerd config dump' tells it the newest version. A default runtime that has no entry is
refused by the CRI plugin alone: containerd then runs, and the kubelet gets no answer. In containerd 1.x a file or drop-in that names
only the nvidia runtime does that, because it replaces the built-in runc entry. Docker and CRI-O refuse a file they cannot parse;
dockerd also one that says what a flag of its unit says, such as the default runtime.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving
from ._steps import RESTART_CONTAINERD, restart

#: The GPU Operator's toolkit does the same with RUNTIME_CONFIG_SOURCE=file.
_OF_ONE_VERSION = (
    Step(
        "configure", "Make the drop-in again, from the main file.", "nvidia-ctk runtime configure --runtime=containerd --config-source=file"
    ),
    RESTART_CONTAINERD,
)
#: What shows the same refusal.
_SHOWS = {"docker": "dockerd --validate", "containerd": "containerd config dump"}


@check(
    title="The runtime accepts its configuration",
    severity="critical",
    since="0.1",
    headline="{device} refuses its configuration",
    remedy=(
        Step("configure", "Correct the named file."),
        Step("restart_service", "Restart the runtime."),
    ),
    references=(
        "containerd, CRI Plugin Config Guide",
        "NVIDIA Container Toolkit issue 1430",
        "NVIDIA/aicr issue 1688, and containerd pull request 12891",
    ),
    confirm=(
        "containerd config dump >/dev/null",
        "dockerd --validate",
        "journalctl -b -u containerd -u docker -u crio",
    ),
)
def config_accepted(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    state = need(runtime.state)
    if state == "absent":
        skip(f"no program reads the configuration of {runtime.key}")
    if state == "rejected":
        error = need(runtime.error)
        code = "cri-refused" if error.startswith("invalid plugin config") else "rejected"
        shows = Step("configure", "Correct the named file until this shows no error.", _SHOWS.get(runtime.key, ""))
        steps = _OF_ONE_VERSION if error.startswith("drop-in config version") else (shows, restart(runtime))
        yield fail(
            f"{runtime.key} refuses its configuration: {error}", code=code, found=error, wanted="an accepted configuration", remedy=steps
        )
