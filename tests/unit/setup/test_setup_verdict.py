"""What counts of each part: the host's own facts, and the tools where the host says nothing."""

from dataclasses import fields, replace

import pytest

from hostagent.core.unread import Unread
from hostagent.engine.report import Cause, Judgement
from hostagent.facts.cuda import Cuda, CudaToolkit
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kubelet import Device, Kubelet, KubeletState
from hostagent.facts.os import Ancestry, Os
from hostagent.facts.packages import Package
from hostagent.facts.platform import Part, Platform
from hostagent.facts.runtime import Handler, Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.setup.containertoolkit import container_toolkit
from hostagent.setup.cudatoolkit import cuda_toolkit
from hostagent.setup.distribution import distribution
from hostagent.setup.dockerruntime import docker
from hostagent.setup.driver import driver
from hostagent.setup.extra_findings import beyond
from hostagent.setup.kubernetes import kubernetes
from hostagent.setup.preflight import preflight
from hostagent.setup.request import Minimums, Request
from hostagent.setup.tool_output import Answered, Tools
from hostagent.setup.verdict import verdict
from tests import recorded

NOT_SAID = Unread("not-recorded", "the test does not say it")
PATH = "/usr/local/cuda-13.0"
B = Request("B", "docker", Minimums("580", "13.0", "1.19.0"), PATH, {})
A = Request("A", "docker", Minimums("580", "13.0", "1.19.0"), PATH, {})
SMI = Answered("nvidia-smi", "/x/nvidia-smi", ("580.65.06",), "", 1)


def made(kind, /, **values):
    """A fact of which nothing else was read."""
    return kind(**{**{field.name: NOT_SAID for field in fields(kind)}, **values})


def facts(*several):
    """Subjects are given as tuples."""
    return HostFacts({type(one[0]) if isinstance(one, tuple) else type(one): one for one in several})


def gpu(number=0, **values):
    seen = {"on_pci": True, "in_nvml": True, "bound_to": "nvidia", "lost": False, "excluded": False, "index": number}
    return made(Gpu, **{"pci": f"0000:{number:02x}:00.0", **seen, **values})


LOADED = made(Driver, loaded=True, loaded_version="580.142", nvml_driver_version="580.142", nvml_error_code=0)
HOST_PCI = made(Platform, contained=False, virtual="", gpus=Part("", "host"))


def test_a_live_module_and_a_gpu_that_it_serves_need_no_tool():
    found = driver(B, facts(LOADED, (gpu(),), HOST_PCI), None)
    assert (found.satisfied, found.shown, found.infos, found.warnings) == (True, "580.142", (), ())


def test_where_host_and_tool_differ_the_host_counts_and_it_is_said():
    found = driver(B, facts(LOADED, (gpu(),), HOST_PCI), replace(SMI, versions=("570.10",)))
    assert (found.satisfied, found.shown) == (True, "580.142")
    assert "570.10" in found.warnings[0]
    assert "the host counts" in found.warnings[0]
    old = replace(LOADED, loaded_version="570.10", nvml_driver_version="570.10")
    assert not driver(B, facts(old, (gpu(),), HOST_PCI), SMI).satisfied


def test_a_gpu_that_does_not_answer_is_named_and_nothing_is_passed():
    for silent in (gpu(1, lost=True), gpu(1, in_nvml=False, index=NOT_SAID)):
        found = driver(B, facts(LOADED, (gpu(), silent), HOST_PCI), None)
        assert not found.satisfied
        assert "0000:01:00.0" in found.warnings[0]


def test_gpus_of_others_and_excluded_ones_are_nobodys():
    others = (gpu(1, bound_to="vfio-pci", in_nvml=False), gpu(2, excluded=True, in_nvml=False))
    assert driver(B, facts(LOADED, (gpu(), *others), HOST_PCI), None).satisfied


@pytest.mark.parametrize("code", [9, 15, 18])
def test_nvml_that_refuses_makes_no_gpu_visible_whatever_a_tool_says(code):
    broken = replace(LOADED, nvml_error_code=code, nvml_driver_version=NOT_SAID)
    unseen = gpu(in_nvml=Unread("error", "18 mismatch"))
    found = driver(B, facts(broken, (unseen,), HOST_PCI), SMI)
    assert (found.satisfied, found.shown) == (False, "580.142")
    assert found.warnings


def test_nvml_that_could_not_be_asked_leaves_it_to_the_tool():
    for code in (12, Unread("timeout", "no answer")):
        open_ = replace(LOADED, nvml_error_code=code, nvml_driver_version=NOT_SAID)
        unseen = gpu(in_nvml=Unread("timeout", "no answer"))
        host = facts(open_, (unseen,), HOST_PCI)
        assert not driver(B, host, None).satisfied
        assert driver(B, host, replace(SMI, versions=("580.142",))).satisfied
        assert driver(B, host, replace(SMI, versions=("580.142",), gpus=0)).satisfied is False


def test_a_gpu_without_a_module_is_an_answer_but_not_in_a_container():
    bare = made(Driver, loaded=False)
    unseen = gpu(bound_to="nouveau", in_nvml=Unread("absent", "the module is not loaded"))
    assert not driver(B, facts(bare, (unseen,), HOST_PCI), SMI).satisfied
    inside = replace(HOST_PCI, contained=True)
    assert driver(B, facts(bare, (unseen,), inside), SMI).satisfied


def test_no_gpu_is_no_answer():
    bare = facts(made(Driver, loaded=False), HOST_PCI)
    empty = HostFacts({"Driver": made(Driver, loaded=False), "Gpu": (), "Platform": HOST_PCI})
    for host in (bare, empty, HostFacts({})):
        found = driver(B, host, SMI)
        assert found.satisfied
        assert "/x/nvidia-smi" in found.infos[0]
        assert not driver(B, host, None).satisfied


def cuda(version="13.0.2", path=PATH, *, nvcc=True, default=""):
    return Cuda((CudaToolkit(path, version, nvcc, (path,)),), default)


NVCC = Answered("nvcc", f"{PATH}/bin/nvcc", ("13.0",))


def test_the_toolkit_at_the_path_is_judged_by_its_own_file():
    assert cuda_toolkit(B, facts(cuda()), None)[:2] == (True, "13.0")
    assert cuda_toolkit(B, facts(cuda()), NVCC).warnings == ()
    assert cuda_toolkit(B, facts(cuda("12.9.1")), None)[:2] == (False, "12.9")
    asked = replace(B, minimums=Minimums("580", "13.0.1", "1.19.0"))
    assert cuda_toolkit(asked, facts(cuda()), None)[:2] == (True, "13.0.2")


def test_a_compiler_that_says_another_release_is_told_and_does_not_count():
    found = cuda_toolkit(B, facts(cuda()), replace(NVCC, versions=("12.8",)))
    assert found.satisfied
    assert "12.8" in found.warnings[0]


def test_a_release_is_compared_as_the_compiler_says_it():
    third = replace(NVCC, versions=("13.0.2",))
    nothing = HostFacts({"Cuda": Cuda((), "")})
    asked = replace(B, minimums=Minimums("580", "13.0.1", "1.19.0"))
    assert cuda_toolkit(asked, nothing, third)[:2] == (True, "13.0.2")
    assert cuda_toolkit(asked, nothing, NVCC)[:2] == (False, "13.0")
    assert cuda_toolkit(A, nothing, third).satisfied
    assert cuda_toolkit(B, facts(cuda()), third).warnings == ()


def test_where_the_host_has_no_compiler_at_a_place_the_next_place_counts():
    default = Cuda((CudaToolkit("/usr/local/cuda-12.9", "12.9.1", nvcc=True, names=("/usr/local/cuda",)),), "/usr/local/cuda-12.9")
    assert cuda_toolkit(B, facts(default), None)[:2] == (False, "12.9")
    assert cuda_toolkit(B, facts(cuda(nvcc=False)), None)[:2] == (False, "")
    elsewhere = Answered("nvcc", "/opt/bin/nvcc", ("13.1",))
    assert cuda_toolkit(B, facts(cuda(nvcc=False)), elsewhere)[:2] == (True, "13.1")
    assert cuda_toolkit(A, facts(default), None).satisfied is False


def test_a_path_that_the_caller_names_wins_over_what_the_host_has():
    asked = replace(B, cuda_path="/opt/cuda")
    default = cuda(default=PATH)
    assert cuda_toolkit(asked, facts(default), None)[:2] == (True, "13.0")
    assert cuda_toolkit(asked, facts(default), Answered("nvcc", "/opt/cuda/bin/nvcc", ("12.8",)))[:2] == (False, "12.8")


def test_a_gap_is_said_and_is_no_toolkit():
    denied = Unread("denied", "list /usr/local")
    found = cuda_toolkit(B, facts(Cuda(denied, denied)), None)
    assert not found.satisfied
    assert "denied" in found.warnings[0]


def package(version="1.19.0", state="installed"):
    return Package("nvidia-container-toolkit", f"{version}-1", version, "amd64", state, held=False, origin="toolkit")


DPKG = Answered("dpkg-query", "/usr/bin/dpkg-query", ("1.19.0",))


def test_an_installed_package_counts_and_another_answer_is_told():
    host = facts(made(Toolkit, packages=(package("1.18.0"),), version="1.18.0"))
    found = container_toolkit(B, host, (DPKG,))
    assert (found.satisfied, found.shown) == (False, "1.18.0")
    assert "the host counts" in found.warnings[0]


def test_a_package_that_is_not_whole_is_missing():
    host = facts(made(Toolkit, packages=(package(state="half-configured"),), version="1.19.0"))
    found = container_toolkit(B, host, ())
    assert (found.satisfied, found.shown) == (False, "1.19.0")
    assert "half-configured" in found.warnings[0]


def test_no_package_of_that_name_leaves_it_to_the_tool():
    host = facts(made(Toolkit, packages=(), version=Unread("absent", "none")))
    assert not container_toolkit(B, host, ()).satisfied
    found = container_toolkit(B, host, (Answered("dpkg-query"), Answered("rpm", "/bin/rpm", ("1.19.0",))))
    assert found.satisfied
    assert "/bin/rpm" in found.infos[0]


def test_exactly_is_the_version_and_not_what_begins_alike():
    for version, wanted in (("1.19.0", True), ("1.19.1", False), ("1.19.0~rc.1", False), ("1.19.01", False)):
        host = facts(made(Toolkit, packages=(package(version),), version=version))
        assert container_toolkit(A, host, ()).satisfied is wanted, version


def engine(*handlers, **values):
    known = {"key": "docker", "kind": "docker", "installed": True, "state": "accepted", "running": True, "started_at": 100.0}
    rows = tuple(made(Handler, name=name) for name in handlers)
    return made(Runtime, **{**known, "newest_config_mtime": 50.0, "socket_listening": True, "handlers": rows, **values})


INFO_YES = Answered("docker", "/usr/bin/docker", ("nvidia",))
INFO_NO = replace(INFO_YES, versions=())


def test_dockers_merged_configuration_counts():
    assert docker(facts((engine("runc", "nvidia"),)), None)[:2] == (True, True)
    assert docker(facts((engine("runc"),)), None)[:2] == (True, False)
    assert docker(facts((engine("runc", "my-nvidia"),)), None)[:2] == (True, False)
    assert docker(facts((engine("nvidia", state="rejected"),)), None)[:2] == (True, False)
    for tool, host in ((INFO_NO, engine("nvidia")), (INFO_YES, engine("runc"))):
        found = docker(facts((host,)), tool)
        assert found.configured is any(one.name == "nvidia" for one in host.handlers)
        assert "the host counts" in found.warnings[0]


def test_why_the_client_has_no_answer_is_said_whatever_the_host_says():
    silent = replace(INFO_NO, problem="it reached no daemon")
    for host in (engine("nvidia"), engine("runc"), engine("nvidia", running=False, socket_listening=False)):
        assert docker(facts((host,)), silent).warnings == ("Docker: docker (/usr/bin/docker) gave no answer: it reached no daemon",)


def test_docker_that_does_not_run_is_unreachable_but_where_its_socket_starts_it():
    assert not docker(facts((engine("nvidia", running=False, socket_listening=False),)), None).configured
    assert not docker(facts((engine("nvidia", running=False, socket_listening=NOT_SAID),)), None).configured
    assert docker(facts((engine("nvidia", running=False),)), None).configured
    assert docker(facts((engine("nvidia", running=Unread("not-running", "an image")),)), None).configured


def test_a_configuration_that_dockerd_may_not_have_read_is_what_dockerd_says():
    newer = facts((engine("nvidia", newest_config_mtime=200.0),))
    assert docker(newer, INFO_YES).configured
    assert not docker(newer, INFO_NO).configured
    alone = docker(newer, None)
    assert not alone.configured
    assert "not known" in alone.warnings[0]


def test_without_docker_its_client_counts():
    none = HostFacts({"Runtime": ()})
    assert docker(none, None)[:2] == (False, False)
    assert docker(none, Answered("docker"))[:2] == (False, False)
    assert docker(none, INFO_NO)[:2] == (True, False)
    assert docker(none, replace(INFO_YES, versions=(), problem="it took more than 5 s"))[:2] == (True, False)
    found = docker(none, INFO_YES)
    assert found.configured
    assert "/usr/bin/docker" in found.infos[0]


def test_the_kubelet_speaks_for_kubernetes_where_kubectl_does_not():
    given = made(
        KubeletState, devices=(Device("nvidia.com/gpu", "GPU-1", (), True, False), Device("nvidia.com/gpu", "GPU-2", (), False, False))
    )
    host = facts(made(Kubelet, unit="kubelet", given=given))
    lines, more = kubernetes(host, None)
    assert str(lines[0]) == "OK: Kubernetes reports nvidia.com/gpu allocatable"
    assert "1 healthy nvidia.com/gpu" in more[0].text
    lines, _ = kubernetes(host, Answered("kubectl", "/bin/kubectl", ("node",), "", 0))
    assert str(lines[0]) == "WARN: Kubernetes does not report nvidia.com/gpu allocatable"


@pytest.mark.parametrize(
    ("id_", "version", "like", "wanted"),
    [
        ("ubuntu", "24.04", "debian", ("debian", "apt-get")),
        ("rocky", "9.6", "rhel centos fedora", ("rhel", "dnf")),
        ("amzn", "2", "centos rhel fedora", ("rhel", "yum")),
        ("opensuse-leap", "15.6", "suse opensuse", ("suse", "zypper")),
        ("zorin", "17", "ubuntu debian", ("debian", "apt-get")),
        ("sle_hpc", "15.6", "sle suse", ("suse", "zypper")),
        ("arcolinux", "", "arch", ("arch", "pacman")),
        ("talos", "1.11", "", ("unknown", "")),
    ],
)
def test_the_family_is_told_by_the_id_else_by_what_it_is_like(id_, version, like, wanted):
    system = distribution(facts(made(Os, id=id_, version_id=version), Ancestry(like)))
    assert (system.family, system.manager) == wanted
    assert system.title == f"{id_} {version}".strip()


def test_a_host_without_os_release_has_no_name():
    assert distribution(HostFacts({})) == ("unknown", "", "")


def test_the_preflight_is_told_only_what_is_known_of_every_gpu():
    whole = {"compute_capability": "9.0", "memory_bytes": 81559 * 2**20}
    assert preflight(facts((gpu(0, **whole), gpu(1, **whole)))) == (
        "--gpu-arch sm_90",
        "--target-gpu-count 2",
        "--target-gpu-memory-gb 79.64",
    )
    mixed = gpu(1, compute_capability="12.0", memory_bytes=16 * 2**30)
    assert preflight(facts((gpu(0, **whole), mixed))) == (
        *("--gpu-arch sm_90", "--gpu-arch sm_120", "--target-gpu-count 2"),
        *("--target-gpu-memory-gb 79.64", "--target-gpu-memory-gb 16.00"),
    )
    assert preflight(facts((gpu(0, **whole), gpu(1)))) == ("--target-gpu-count 2",)
    assert preflight(facts((gpu(0, **whole, lost=True),))) == ()
    assert preflight(HostFacts({})) == ()


def finding(name, **values):
    told = {"outcome": "fail", "severity": "critical", "scope": "node", "axis": "fitness", "action": "none", "unread": "", "subject": ""}
    words = dict.fromkeys(("subject_kind", "device", "code", "message", "found", "wanted", "headline"), "")
    return Judgement(**{**words, **told, "id": name, "remedy": (), "evidence": (), "cause": Cause(name, ""), "headline": name, **values})


def told_of(*findings):
    report = recorded.report_of("no-gpu-vm")
    return list(map(str, beyond(replace(report, findings=findings))))


def test_causes_are_told_by_how_much_they_count_and_advisories_as_one():
    assert told_of(
        finding("a.blocks", headline="A GPU is lost"),
        finding("b.degrades", severity="warning", headline="A reboot is due"),
        finding("c.notes", severity="info", headline="Worth knowing"),
        finding("d.one", severity="info", axis="security", headline="CVE one"),
        finding("e.two", severity="critical", axis="security", headline="CVE two"),
        finding("f.open", outcome="unknown", unread="nvml init"),
        finding("g.open", outcome="unknown", unread="nvml init"),
    ) == [
        "WARN: A GPU is lost",
        "WARN: A reboot is due",
        "INFO: Worth knowing",
        "INFO: 2 security advisories: CVE two; CVE one",
        "INFO: 2 checks could not be judged, 1 answer missing: 'hostagent check' tells which",
    ]


def test_many_causes_end_in_a_number():
    lines = told_of(*(finding(f"a.{number:03}", headline="x" * 5000 + str(number)) for number in range(100)))
    assert len(lines) == 25
    assert lines[-1] == "INFO: and 76 causes more, 'hostagent check' tells all"
    assert max(map(len, lines)) < 250


def test_no_control_character_of_a_host_reaches_a_line():
    system = made(Os, id="ubuntu", version_id="24.04", pretty_name="Ubuntu\n\x1b[31mOK: NVIDIA driver 999 >= 580")
    found = verdict(B, facts(system), Tools(), recorded.report_of("no-gpu-vm"))
    assert all(str(line).isprintable() for line in found.lines)
    assert not any(line.mark == "OK" for line in found.lines)
    assert found.exit == 1
