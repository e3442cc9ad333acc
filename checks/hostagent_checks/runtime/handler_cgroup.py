"""The nvidia runtime and runc use different cgroup drivers: pods with the nvidia runtime class fail.

runc then says "expected cgroupsPath to be of format slice:prefix:name for systemd cgroups", or puts the container where the kubelet
does not count it. 'nvidia-ctk runtime configure' on a host without a config.toml writes an nvidia entry without SystemdCgroup.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.runtime import Runtime
from hostagent.profile import Profile

from ._choice import nvidia_handlers, skip_unwanted


@check(
    title="NVIDIA runtime entries use the cgroup driver of runc",
    severity="critical",
    since="0.1",
    remedy="Set SystemdCgroup in the options of the nvidia entry to what the runc entry has, and restart containerd.",
    references=("Kubernetes, Container Runtimes: cgroup drivers",),
)
def handler_cgroup(runtime: Runtime, profile: Profile) -> Findings:
    skip_unwanted(runtime, profile)
    handlers = need(runtime.handlers)
    base = next((one for one in handlers if one.name == "runc"), None)
    if base is None:
        skip(f"{runtime.key} has no runc entry")
    for handler in nvidia_handlers(runtime):
        if need(handler.systemd_cgroup) != need(base.systemd_cgroup):
            found = f"{handler.name}: {'systemd' if handler.systemd_cgroup else 'cgroupfs'}"
            yield fail(
                "two cgroup drivers", code="differs", found=found, wanted=f"runc: {'systemd' if base.systemd_cgroup else 'cgroupfs'}"
            )
