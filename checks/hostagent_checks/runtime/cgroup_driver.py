"""The runtime manages cgroups, and so does systemd: two managers of one tree, and pods die under memory pressure.

On a host that systemd manages, the kubelet and the runtime both have to use the systemd driver. With cgroupfs in one of them pods are
killed or not counted when resources get short; with different drivers they do not start. A kubelet that says cgroupfs itself has chosen
it: NVIDIA names that as a way to keep GPUs in containers over a reload of systemd.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.derived.serving import kubelets_of
from hostagent.facts.host import Services
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.unread import Unread
from hostagent.profile import Profile

from ._choice import skip_unserving


@check(
    title="The runtime uses the systemd cgroup driver",
    severity="warning",
    since="0.1",
    because=("runtime.handler_cgroup",),
    headline="{device} does not use the systemd cgroup driver",
    remedy=(
        Step(
            "configure",
            'Set SystemdCgroup = true for runc and nvidia (CRI-O: cgroup_manager = "systemd"), and match the kubelet\'s cgroupDriver.',
        ),
        Step("restart_service", "Restart the runtime and the kubelet."),
    ),
    references=(
        "Kubernetes, Container Runtimes: cgroup drivers",
        "NVIDIA Container Toolkit, Troubleshooting: containers losing access to GPUs",
    ),
    confirm=(
        "containerd config dump | grep -n -i SystemdCgroup",
        "docker info --format '{{.CgroupDriver}}'",
        "crio status config | grep cgroup_manager",
    ),
)
def cgroup_driver(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, services: Services, profile: Profile) -> Findings:
    skip_unserving(runtime, runtimes, launchers, profile)
    if runtime.key not in ("containerd", "crio", "k3s", "rke2"):
        skip(f"{runtime.key} sets its driver by itself")
    driver = need(runtime.cgroup_driver)
    if not any(unit.exists for unit in need(services.units)):
        skip("systemd does not manage this host")
    kubelets = kubelets_of(runtime, launchers)
    if not kubelets:
        skip("no kubelet asks this runtime")
    if driver == "cgroupfs" and all(not isinstance(one.cgroup_driver, Unread) and one.cgroup_driver == driver for one in kubelets):
        skip("the kubelet says cgroupfs, too: they agree")
    if driver != "systemd":
        yield fail("the runtime does not use systemd's cgroups", code="not-systemd", found=driver, wanted="systemd")
