"""The real nvidia-ml-py over a library that plays what GPUs do: every state a user meets, told apart.

Simulated are the library and the device nodes (tests/stub_nvml); real are the binding, ctypes, the loader, chroot.
"""

import os

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.gpu import read_nvml_library
from hostagent.domains.gpu.read_nvml import DEVICE
from hostagent.engine.collect import collect
from hostagent.facts.gpu import Gpu
from hostagent.host.policy import Policy
from hostagent.host.source import Source
from tests import stub_nvml
from tests.judged import live
from tests.real.conftest import need_real

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="device nodes and chroot need root: run the tests as root"),
]


@pytest.fixture
def tree(tmp_path):
    need_real("gcc", "apt-get install gcc libc6-dev")
    root = tmp_path / "host"
    root.mkdir()
    return root


def gpus(tree, *, nvml_optional=False):
    with live(tree) as backend:
        return collect(Source(backend, policy=lambda: Policy(nvml_optional=nvml_optional)), ("Gpu",))[0].of(Gpu)


def unread_fields(gpu):
    return {name: value.why for name, value in vars(gpu).items() if isinstance(value, Unread)}


def test_eight_healthy_gpus_have_every_field(tree):
    addresses = stub_nvml.install(tree, 8)
    found = gpus(tree)
    assert tuple(one.pci for one in found) == addresses
    assert [one.index for one in found] == list(range(8))
    for one in found:
        assert unread_fields(one) == {
            "retired_pages": "not-supported",
            "nvml_detail": "absent",
            "vgpu_licensed": "not-supported",
            "node_holders": "not-supported",
        }
        assert one.in_nvml
        assert not one.lost
        assert len(one.nvlinks) == 18
        assert one.fabric.state == "completed"
        assert dict(one.fabric.health)["degraded-bandwidth"] == "false"


def test_every_question_is_answered_through_the_binding(tree):
    """No answer may be the binding's own failure: a misspelt name, a wrong struct (25), a missing argument."""
    retired = {"DeviceGetRetiredPages *": "value 3 5", "DeviceGetRetiredPagesPendingStatus *": "value 1"}
    guest = {"DeviceGetVirtualizationMode *": "value 2", "DeviceGetGridLicensableFeatures *": "value 1 1"}
    stub_nvml.install(tree, 1, {**retired, **guest})
    with live(tree) as backend:
        answers = {one.name: backend.ask("nvml", "device", "0", one.name) for one in DEVICE}
    assert {name: answer.detail for name, answer in answers.items() if isinstance(answer, Unread)} == {}
    assert (answers["retired_single_bit"], answers["retired_double_bit"]) == (3, 5)


@pytest.mark.parametrize("indices", [(3,), (0, 7)])
def test_a_gpu_that_is_lost_half_way_keeps_its_name_and_place(tree, indices):
    addresses = stub_nvml.install(tree, 8, {f"* {index}": "after 9 error 15" for index in indices})
    for index, one in enumerate(gpus(tree)):
        assert one.pci == addresses[index]
        assert one.in_nvml
        assert one.lost == (index in indices)
        assert one.name == "NVIDIA H100 80GB HBM3"
    assert gpus(tree)[indices[0]].nvml_detail.startswith("15 GPU is lost (nvmlDevice")


def test_a_lost_gpu_that_does_not_say_where_it_is_is_found_by_its_uuid(tree):
    stub_nvml.install(tree, 8, {"DeviceGetPciInfo 2": "error 15", "DeviceGetPciInfo 5": "error 15"})
    assert [one.pci for one in gpus(tree) if one.lost] == [stub_nvml.addresses(8)[index] for index in (2, 5)]


def test_a_lost_gpu_without_a_handle_is_the_one_that_is_left(tree):
    addresses = stub_nvml.install(tree, 8, {"DeviceGetHandleByIndex 6": "error 15"})
    (lost,) = [one for one in gpus(tree) if one.lost]
    assert (lost.pci, lost.index) == (addresses[6], 6)
    assert lost.temperature_celsius == Unread("error", "15 GPU is lost (nvmlDeviceGetHandleByIndex)")


def test_lost_gpus_without_handles_are_those_that_are_left(tree):
    addresses = stub_nvml.install(tree, 8, {"DeviceGetHandleByIndex 6": "error 15", "DeviceGetHandleByIndex 7": "error 15"})
    found = gpus(tree)
    assert [one.pci for one in found if one.lost] == list(addresses[6:])
    assert found[7].index == Unread("error", "15 GPU is lost (nvmlDeviceGetHandleByIndex)"), "which is which cannot be told"


def test_faulty_gpus_that_cannot_be_told_apart_are_unknown_and_not_fine(tree):
    stub_nvml.install(tree, 8, {"DeviceGetHandleByIndex 6": "error 15", "DeviceGetHandleByIndex 7": "error 999"})
    *others, seventh, eighth = gpus(tree)
    assert not any(one.lost for one in others)
    for one in (seventh, eighth):
        assert one.lost.why == one.in_nvml.why == "error"
        assert one.lost.detail.startswith("GPU 6, 7 of NVML does not say where it is: 15 GPU is lost")


def test_a_gpu_that_nvml_does_not_count_is_still_a_gpu(tree):
    addresses = stub_nvml.install(tree, 8)
    places = "".join(f"DeviceGetPciInfo {index} value 0000{address.upper()}\n" for index, address in enumerate(addresses[1:]))
    stub_nvml.write(tree / stub_nvml.TABLE, f"DeviceGetCount * value 7\n{places}")
    first, *others = gpus(tree)
    assert all(one.in_nvml and one.in_proc and one.on_pci for one in others)
    assert len(others) == 7
    assert (first.in_nvml, first.on_pci, first.in_proc, first.name) == (False, True, True, "NVIDIA H100 80GB HBM3")
    assert first.temperature_celsius.why == "absent"
    assert [one.index for one in others] == list(range(7)), "an index that shifted moves no fact to another GPU"


def test_a_gpu_that_must_be_reset_says_so(tree):
    stub_nvml.install(tree, 2, {"DeviceGetRemappedRows 1": "error 16", "DeviceGetFieldValues 1": "value 1"})
    first, second = gpus(tree)
    assert (first.reset_required, second.reset_required, second.lost) == (False, True, False)
    assert (first.recovery_action, second.recovery_action) == ("none", "gpu-reset")


@pytest.mark.parametrize(
    ("code", "why", "text"),
    [
        (4, "denied", "4 Insufficient Permissions (nvmlInit)"),
        (9, "absent", "9 Driver Not Loaded (nvmlInit)"),
        (10, "timeout", "10 Timeout (nvmlInit)"),
        (18, "error", "18 RM has detected an NVML/RM version mismatch. (nvmlInit)"),
        (999, "error", "999 Unknown Error (nvmlInit)"),
    ],
)
def test_a_failed_start_is_told_by_its_code(tree, code, why, text):
    stub_nvml.install(tree, 1, {"Init *": f"error {code}"})
    (one,) = gpus(tree)
    assert one.temperature_celsius == one.in_nvml == Unread(why, text)
    assert (one.on_pci, one.uuid) == (True, "GPU-00000000-0000-4000-8000-000000000000"), "what /proc and PCI tell stays"


@pytest.mark.parametrize(("code", "why"), [(3, "not-supported"), (4, "denied"), (13, "not-supported"), (25, "error"), (999, "error")])
def test_one_answer_that_fails_costs_only_itself(tree, code, why):
    stub_nvml.install(tree, 1, {"DeviceGetSramEccErrorStatus *": f"error {code}"})
    (one,) = gpus(tree)
    assert one.ecc.sram_threshold_exceeded.why == why
    assert (one.ecc.enabled, one.ecc.aggregate_uncorrectable, one.lost) == (True, 0, False)


def test_faults_of_memory_are_separate_facts(tree):
    stub_nvml.install(
        tree,
        3,
        {
            "DeviceGetSramEccErrorStatus 0": "value 1 0",
            "DeviceGetRemappedRows 1": "value 4 2 1 0",
            "DeviceGetTotalEccErrors 2": "value 3 9",
        },
    )
    first, second, third = gpus(tree)
    assert (first.ecc.sram_threshold_exceeded, first.ecc.aggregate_uncorrectable) == (True, 0)
    assert (second.row_remap.uncorrectable, second.row_remap.pending, second.row_remap.failed) == (2, True, False)
    assert (third.ecc.volatile_uncorrectable, third.ecc.aggregate_uncorrectable) == (3, 9)


def test_links_and_fabric_are_told_as_they_are(tree):
    stub_nvml.install(
        tree,
        3,
        {
            "DeviceGetNvLinkState 0": "value 1 1 0 1",
            "DeviceGetNvLinkErrorCounter 0": "value 0 7 0 0",
            "DeviceGetNvLinkState 1": "error 3",
            "DeviceGetGpuFabricInfoV 1": "error 3",
            "DeviceGetGpuFabricInfoV 2": "value 2 27 5 0x1a9",
        },
    )
    first, second, third = gpus(tree)
    assert [(link.index, link.active, link.errors) for link in first.nvlinks] == [(0, True, 0), (1, True, 7), (2, False, 0), (3, True, 0)]
    assert second.nvlinks == ()
    assert second.fabric.why == "not-supported"
    assert (third.fabric.state, third.fabric.status, third.fabric.clique_id) == ("in-progress", 27, 5)
    assert dict(third.fabric.health)["degraded-bandwidth"] == "true"


def test_modes_and_corruption_are_words(tree):
    stub_nvml.install(
        tree,
        1,
        {
            "DeviceGetMigMode *": "value 1 0",
            "DeviceGetPersistenceMode *": "value 0",
            "DeviceGetComputeMode *": "value 3",
            "DeviceGetCurrentClocksEventReasons *": "value 0x44",
            "DeviceValidateInforom *": "error 14",
            "DeviceGetEccMode *": "error 3",
        },
    )
    (one,) = gpus(tree)
    assert (one.mig.current, one.mig.pending, one.persistence, one.compute_mode) == (True, False, False, "exclusive-process")
    assert one.clock_event_reasons == ("sw-power-cap", "hw-thermal-slowdown")
    assert one.inforom_valid is False
    assert one.ecc.why == "not-supported"


def test_an_old_library_lacks_some_answers_and_gives_the_others(tree):
    stub_nvml.install(tree, 1, old=True)
    (one,) = gpus(tree)
    for value in (one.fabric, one.clock_event_reasons, one.ecc.sram_threshold_exceeded):
        assert value.why == "not-supported"
        assert value.detail.startswith("13 Function Not Found (")
    assert (one.temperature_celsius, one.lost) == (35, False)


def test_a_missing_and_a_broken_library_are_told_apart(tree):
    stub_nvml.install(tree, 1)
    library = tree / stub_nvml.LIBRARY_DIRECTORY / "libnvidia-ml.so.1"
    library.resolve().write_bytes(b"not a library")
    (one,) = gpus(tree)
    assert one.in_nvml.why == "error"
    assert "libnvidia-ml.so.1" in one.in_nvml.detail
    library.unlink()
    (one,) = gpus(tree)
    assert one.in_nvml == Unread("absent", "12 no libnvidia-ml.so.1 in the library directories")
    (one,) = gpus(tree, nvml_optional=True)
    assert one.in_nvml == Unread("not-supported", "NVML is optional in this profile: 12 no libnvidia-ml.so.1 in the library directories")


@pytest.mark.parametrize("directory", read_nvml_library.DIRECTORIES)
def test_the_library_is_found_where_hosts_keep_it(tree, directory):
    stub_nvml.install(tree, 1)
    usual = tree / stub_nvml.LIBRARY_DIRECTORY
    kept = usual.rename(tree / "kept")
    (tree / directory[1:]).mkdir(parents=True)
    for path in kept.iterdir():
        path.rename(tree / directory[1:] / path.name)
    assert gpus(tree)[0].temperature_celsius == 35


def test_an_absolute_library_link_leads_inside_the_root(tree):
    stub_nvml.install(tree, 1)
    library = tree / stub_nvml.LIBRARY_DIRECTORY / "libnvidia-ml.so.1"
    elsewhere = tree / "opt/nvidia/lib.so"
    elsewhere.parent.mkdir(parents=True)
    library.resolve().rename(elsewhere)
    stub_nvml.link(library, "/opt/nvidia/lib.so")
    assert gpus(tree)[0].temperature_celsius == 35


def test_domains_of_more_than_four_digits_join(tree):
    (usual,) = stub_nvml.install(tree, 1)
    address = "10000:e1:00.0"
    for folder in ("sys/bus/pci/devices", "proc/driver/nvidia/gpus"):
        (tree / folder / usual).rename(tree / folder / address)
    stub_nvml.write_table(tree, ("1" + address[1:],), {"DeviceGetPciInfo 0": "value 00010000:E1:00.0"})
    (one,) = gpus(tree)
    assert (one.pci, one.on_pci, one.in_proc, one.in_nvml) == (address, True, True, True)


def test_text_that_is_not_utf_8_is_an_error_of_that_answer_alone(tree):
    stub_nvml.install(tree, 1)
    path = tree / stub_nvml.TABLE
    path.write_bytes(b"DeviceGetVbiosVersion * value \xff\xfe\n" + path.read_bytes())
    (one,) = gpus(tree)
    assert (one.name, one.lost) == ("NVIDIA H100 80GB HBM3", False)
    assert one.vbios == "96.00.99.00.01", "/proc knows it too"
