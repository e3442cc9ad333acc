"""Hosts that no release may call ready: each a recorded host, or one that is ready with one mark laid into its recording."""

import re
from dataclasses import replace

import pytest

from hostagent.core.unread import Unread
from hostagent.host import recording
from hostagent.host.recording import ReplayBackend
from hostagent.profiles import profile
from tests.firsts import holds, told
from tests.judged import judged
from tests.recorded import NAMES, expectation_of, profile_of, report_of, tape_of
from tests.test_hosts import CAN_BUILD
from tests.trees import others, system
from tests.trees.staged import stage

#: What must never be ready, the recorded host that is so, and the check that says it.
RECORDED = {
    "every GPU is on vfio-pci": ("kubevirt-all", "gpu.present"),
    "the kubelet's runtime is dead beside a healthy Docker": ("kubeadm-containerd-dead", "runtime.service_running"),
    "the kubelet's runtime has no CRI beside a healthy Docker": ("kubeadm-without-cri", "runtime.cri_enabled"),
    "the kubelet's runtime gives no GPU beside a healthy Docker": ("kubeadm-without-access", "runtime.nvidia_handler"),
    "an enabled dockerd is dead beside slurmd": ("slurm-dead-docker", "runtime.service_running"),
    "slurmd is dead on a worker of Slurm": ("slurm-dead", "slurm.slurmd_running"),
    "podman has no CDI specification": ("podman-without-cdi", "runtime.present"),
    "DRA's directory is there without its plug-in": ("gpu-operator-dra-without-plugin", "runtime.nvidia_handler"),
    "a specification was left behind and there is no other way": ("gpu-operator-left-behind", "runtime.nvidia_handler"),
    "a virtual machine has the switches and seven of eight GPUs": ("p5-vm-seven-gpus", "nvswitch.board"),
    "an Xid came after a reset": ("t4-xid-after-reset", "gpu.xid"),
}
#: Of the hosts whose NVML answers: what a driver that hangs, or a GPU that falls off the bus, leaves.
READY = [name for name in NAMES if expectation_of(name)["single_node"] == "ready"]
BOTH_READY = [name for name in READY if expectation_of(name)["multi_node"] == "ready"]
ANSWERING = [name for name in READY if tape_of(name).answers.get("nvml init") == {"json": True}]
SEEN = [name for name in READY if "json" in tape_of(name).answers.get("kernel_log", {}) and "nvml device 0 pci" in tape_of(name).answers]
_STATUS = "read /var/lib/dpkg/status 67108864"
TOOLKIT = [name for name in BOTH_READY if "Package: nvidia-container-toolkit\n" in tape_of(name).answers.get(_STATUS, {}).get("text", "")]
_XID_79 = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
#: CVE-2025-23266: a container of any image takes over the host.
VULNERABLE = "1.17.7-1"


@pytest.mark.parametrize("what", RECORDED)
def test_a_recorded_host_is_not_ready(what):
    name, check = RECORDED[what]
    found = report_of(name)
    assert (found.verdict.single_node, found.verdict.multi_node) == ("not_ready", "not_ready")
    assert check in {one.id for one in found.findings if (one.outcome, one.severity) == ("fail", "critical")}


def _twin(name, answers, loaded=None):
    recorded = tape_of(name)
    return judged(ReplayBackend(replace(recorded, answers={**recorded.answers, **answers})), loaded or profile_of(name))


@pytest.mark.parametrize("name", ANSWERING)
def test_a_host_whose_nvml_hangs_is_not_ready(name):
    late = recording.encode(Unread("timeout", "nvmlInit_v2: no answer in 10 s"))
    found = _twin(name, {question: late for question in tape_of(name).answers if question.startswith("nvml ")}).verdict
    assert found.single_node not in ("ready", "degraded")


def _xid(name):
    """The kernel log of the host, with the line of a GPU that fell off the bus an hour before it was read."""
    answer, address = tape_of(name).answers["kernel_log"], tape_of(name).answers["nvml device 0 pci"]["json"]["bus_id"].lower()[4:]
    at = max([864_000.0, *(line[0] for line in answer["json"]["lines"])]) + 1
    line = _XID_79.replace("0000:1b:00", address.rpartition(".")[0])
    return {"kernel_log": {**answer, "json": {**answer["json"], "lines": [*answer["json"]["lines"], [at, line]]}}}


@pytest.mark.parametrize("name", SEEN)
def test_a_host_with_a_gpu_that_fell_off_the_bus_is_not_ready(name):
    assert _twin(name, _xid(name)).verdict.single_node == "not_ready"


@pytest.mark.parametrize("name", TOOLKIT)
def test_a_toolkit_that_any_image_breaks_out_of_is_degraded_where_every_version_is_wanted(name):
    text = tape_of(name).answers[_STATUS]["text"]
    current = text.partition("Package: nvidia-container-toolkit\n")[2].partition("\nVersion: ")[2].partition("\n")[0]
    answer = {**tape_of(name).answers[_STATUS], "text": text.replace(f"\nVersion: {current}\n", f"\nVersion: {VULNERABLE}\n")}
    found = _twin(name, {_STATUS: answer}, profile.load("any", site_file=""))
    assert (found.verdict.single_node, found.verdict.multi_node) == ("degraded", "degraded")
    assert {one.id for one in found.findings if one.outcome in ("fail", "warn") and one.severity == "warning"} == {
        "toolkit.known_vulnerability"
    }


def _lxc(tree):
    """As Proxmox and Incus give a container a GPU: the host's driver is loaded, the kernel log is the host's."""
    tree.write("/run/systemd/container", "lxc\n")
    tree.write("/proc/1/environ", "container=lxc\0TERM=linux\0")


def _wsl2(tree):
    tree.edit("/proc/sys/kernel/osrelease", tree.kernel, "6.6.87.2-microsoft-standard-WSL2")
    tree.device("/dev/dxg", 10, 125)
    tree.directory("/usr/lib/wsl/lib")


@CAN_BUILD
@pytest.mark.alone
@pytest.mark.parametrize("guest", [_lxc, _wsl2])
def test_a_guest_with_a_gpu_that_fell_off_the_bus_is_not_ready(guest, tmp_path):
    tree = others.k3s_worker(tmp_path / "root")
    guest(tree)
    system.log_kernel(tree, _XID_79)
    with stage(tree) as backend:
        found = judged(backend, profile.load(site_file=""))
    assert found.verdict.single_node not in ("ready", "degraded")


_PARTS = {
    "nvml": "nvml ",
    "runtimes": "containerd|docker|crio",
    "libraries": "libcuda|libnvidia",
    "modules": "/lib/modules|/sys/module/nvidia",
    "specifications": "/cdi",
    "toolkit": "nvidia-container|nvidia-ctk",
}
#: Told of hardware as to somebody who has it at hand; a remedy for a virtual machine of a cloud is still to come.
_TO_COME = {("gpu.xid", "reseat")}


@pytest.mark.parametrize("name", [name for name in READY if expectation_of(name).get("never")])
def test_whatever_breaks_no_remedy_says_what_the_owner_of_the_host_must_not_do(name):
    """Parts of the host go away, and a GPU falls off the bus."""
    gone = recording.encode(Unread("absent", "taken away by the test"))
    answers = tape_of(name).answers
    broken = [{question: gone for question in answers if re.search(words, question)} for words in _PARTS.values()]
    reports = [_twin(name, changed) for changed in (*broken, _xid(name) if name in SEEN else {})]
    advised = {
        (one.id, word)
        for report in reports
        for one in report.findings
        for word in expectation_of(name)["never"]
        if holds(told(one.remedy), word)
    }
    assert advised <= _TO_COME
