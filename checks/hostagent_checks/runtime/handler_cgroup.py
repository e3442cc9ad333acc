"""An NVIDIA runtime entry uses another cgroup driver than the kubelet: pods that use it fail.

runc then says "expected cgroupsPath to be of format slice:prefix:name for systemd cgroups", or puts the container where the kubelet
does not count it. 'nvidia-ctk runtime configure' on a host without a config.toml writes an nvidia entry without SystemdCgroup. What
counts is the kubelet's cgroupDriver; where it has none, the default runtime in use, which newer kubelets ask for theirs. A
built-in entry that no pod uses says nothing, nor does one for untrusted pods.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.runtime.serving import RuntimeChoice, kubelets_of
from hostagent.facts.runtime import Runtime

from ._choice import nvidia_handlers, skip_unserving
from ._steps import restart


@check(
    title="NVIDIA runtime entries use the kubelet's cgroup driver",
    severity="critical",
    since="0.1",
    headline="The nvidia entry of {device} and the kubelet use different cgroup drivers",
    remedy=(
        Step("configure", "Give the nvidia entry the kubelet's cgroup driver (SystemdCgroup in its options)."),
        Step("restart_service", "Restart containerd.", command="systemctl restart containerd"),
    ),
    references=("Kubernetes, Configuring a cgroup driver", "Kubernetes, Container Runtimes: cgroup drivers"),
    confirm=(
        "containerd config dump | grep -n -i SystemdCgroup",
        "grep cgroupDriver /var/lib/kubelet/config.yaml",
    ),
)
def handler_cgroup(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    if runtime.kind != "containerd":
        skip(f"{runtime.key} has one cgroup driver for all entries")
    handlers = nvidia_handlers(runtime)
    said = [need(one.cgroup_driver) for one in kubelets_of(runtime, choice.launchers)]
    kubelets = next((one for one in said if one), "")
    wanted = kubelets or need(runtime.cgroup_driver)
    owner = "the kubelet" if kubelets else f"{need(runtime.default_runtime)}, the default"
    for handler in handlers:
        if not handler.name.startswith("nvidia") and handler.name != need(runtime.default_runtime):
            continue
        found = "systemd" if need(handler.systemd_cgroup) else "cgroupfs"
        if found != wanted:
            value = "true" if wanted == "systemd" else "false"
            steps = (Step("configure", f"Set SystemdCgroup = {value} in the options of {handler.name}."), restart(runtime))
            text = f"the cgroup drivers differ. {handler.name}: {found}; {owner}: {wanted}"
            yield fail(text, code="differs", found=f"{handler.name}: {found}", wanted=f"{owner}: {wanted}", remedy=steps)
