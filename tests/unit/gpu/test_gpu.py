"""GPUs joined from PCI, /proc and NVML, with a dictionary as the host."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.gpu import nvml_answers
from hostagent.domains.gpu.read_gpus import OF_PAIRS, QUESTIONS, parse_information, read_accelerators, read_gpus
from hostagent.domains.gpu.read_nvml import DEVICE
from hostagent.domains.topology import read_pci
from hostagent.facts.gpu import Gpu, OtherAccelerator
from hostagent.testing import host

ADDRESS = "0000:1b:00.0"
DEAD = {"current_link_speed": "Unknown\n", "current_link_width": "63\n"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["state", "status", "health_mask", "bus_id", "x"]), inner, max_size=4)
    ),
    max_leaves=6,
)


def function(address=ADDRESS, vendor="0x10de", kind="0x030200", driver="nvidia", **files):
    directory = f"{read_pci.DEVICES}/{address}"
    given = {
        "vendor": vendor,
        "class": kind,
        "device": "0x2330",
        "numa_node": "-1",
        "local_cpulist": "0-55",
        "current_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "16",
        "max_link_speed": "32.0 GT/s PCIe",
        "max_link_width": "16",
        **files,
    }
    bound = {f"{directory}/driver": ("link", f"../../../bus/pci/drivers/{driver}")} if driver else {}
    return {
        f"{directory}/{name}": value if isinstance(value, bytes | Unread | tuple) else f"{value}\n" for name, value in given.items()
    } | bound


def information(address=ADDRESS, **rows):
    given = {"Model": "NVIDIA H100", "GPU UUID": "GPU-1", "Device Minor": "3", "GPU Firmware": "580.1", "GPU Excluded": "No", **rows}
    return {f"/proc/driver/nvidia/gpus/{address}/information": "".join(f"{key}: \t {value}\n" for key, value in given.items())}


def answers(index=0, address="00000000:1B:00.0", **said):
    given = dict.fromkeys(QUESTIONS, Unread("not-supported", "3 Not Supported"))
    given |= {"handle": True, "pci": {"bus_id": address}, "name": "NVIDIA H100", "uuid": "GPU-1", "minor": 3, **said}
    return {f"nvml device {index} {name}": value for name, value in given.items()}


STARTED = {"nvml init": True, "nvml device_count": 1}


def only(*parts, kind="live"):
    files = {}
    for part in parts:
        files |= part
    (one,) = read_gpus(host(files, kind), None)
    return one


def test_the_three_are_one_gpu_by_its_address():
    one = only(function(), information(), STARTED, answers())
    assert isinstance(one, Gpu)
    assert (one.pci, one.on_pci, one.in_proc, one.in_nvml) == (ADDRESS, True, True, True)
    assert (one.index, one.minor, one.numa_node, one.bound_to, one.config_readable) == (0, 3, -1, "nvidia", True)


def test_every_question_of_the_table_is_used():
    assert {*QUESTIONS, OF_PAIRS} == {one.name for one in DEVICE}


def test_a_gpu_without_a_driver_has_what_pci_knows():
    one = only(function(driver=""))
    assert (one.on_pci, one.bound_to, one.device_id, one.link_width) == (True, "", "0x2330", 16)
    assert one.in_proc.why == one.in_nvml.why == one.name.why == one.lost.why == "absent"


def test_a_gpu_that_only_the_driver_knows_is_not_on_pci():
    one = only(
        {f"{read_pci.DEVICES}/0000:00:00.0/class": "0x060000\n"}, information(), {"nvml init": Unread("absent", "9 Driver Not Loaded")}
    )
    assert (one.on_pci, one.in_proc, one.name, one.uuid) == (False, True, "NVIDIA H100", "GPU-1")
    assert one.device_id.why == one.bound_to.why == "absent"


@pytest.mark.parametrize(("config", "readable"), [(b"\xff" * 64, False), (b"\xde\x10\x30\x23" + bytes(60), True)])
def test_a_link_without_sense_asks_configuration_space(config, readable):
    assert only(function(**DEAD, config=config)).config_readable is readable


def test_a_short_or_missing_configuration_space_proves_nothing():
    assert only(function(**DEAD, config=b"\xff")).config_readable.why == "error"
    assert only(function(**DEAD)).config_readable.why == "absent"
    assert only(function(**DEAD, config=Unread("denied", "config"))).config_readable.why == "denied"


def test_a_link_that_makes_sense_spares_the_slow_read():
    assert only(function(config=Unread("error", "must not be read"))).config_readable is True


def test_switches_sound_and_virtual_functions_are_no_gpus():
    files = function("0000:07:00.0", kind="0x068000") | function("0000:08:00.0", kind="0x040300")
    files |= function("0000:1b:00.4", physfn=("link", "../0000:1b:00.0")) | function()
    assert [one.pci for one in read_gpus(host(files), None)] == [ADDRESS]


def test_gpus_of_other_vendors_are_named():
    files = function("0000:03:00.0", vendor="0x1002", kind="0x038000") | function("0000:04:00.0", vendor="0x1a03", kind="0x030000")
    assert read_accelerators(host(files), None).others == (OtherAccelerator("0000:03:00.0", "0x1002", "0x2330"),)
    assert read_gpus(host(files), None) == ()


@pytest.mark.parametrize("name", ["class", "vendor"])
def test_a_function_that_may_be_a_gpu_is_unknown_and_not_missing(name):
    files = function() | {f"{read_pci.DEVICES}/{ADDRESS}/{name}": Unread("not-recorded", name)}
    (one,) = read_gpus(host(files), None)
    assert one.on_pci.why == "not-recorded"
    assert read_accelerators(host(files), None).others.why == "not-recorded"


def test_a_function_of_another_vendor_whose_class_is_unread_is_no_gpu():
    files = function(vendor="0x15b3") | {f"{read_pci.DEVICES}/{ADDRESS}/class": Unread("denied", "class")}
    assert read_gpus(host(files), None) == ()


def test_an_image_has_no_gpus_to_read_and_a_host_without_pci_has_none():
    assert read_gpus(host({f"list {read_pci.DEVICES}": Unread("not-running", "an image")}, "image"), None).why == "not-running"
    assert read_gpus(host({}), None) == ()
    assert read_gpus(host({f"list {read_pci.DEVICES}": Unread("denied", "/sys")}), None).why == "denied"


def test_proc_stands_in_for_what_nvml_cannot_say():
    one = only(function(), information(**{"GPU UUID": "GPU-????????-????-????-????-????????????", "Device Minor": "x"}))
    assert one.proc_uuid.startswith("GPU-????")
    assert one.uuid.why == one.minor.why == "absent", "a placeholder is no identity"


def test_an_excluded_gpu_is_known_to_the_driver_alone():
    one = only(function(), information(**{"GPU Excluded": "Yes"}), {"nvml init": True, "nvml device_count": 0})
    assert (one.excluded, one.in_proc, one.in_nvml) == (True, True, False)


def test_a_call_that_was_never_answered_leaves_open_whether_the_gpu_is_lost():
    one = only(function(), information(), STARTED, answers(temperature=Unread("timeout", "not asked: nvmlDeviceGetName 0 hangs")))
    assert one.lost.why == one.reset_required.why == "timeout"
    one = only(function(), information(), STARTED, answers(temperature=Unread("error", "999 Unknown Error")))
    assert one.lost is False, "another error is an answer"


def test_a_recording_from_before_serial_numbers_were_read_leaves_nothing_open():
    old = only(function(), STARTED, answers(serial=Unread("not-recorded", "the snapshot does not know 'nvml device 0 serial'")))
    assert (old.lost, old.reset_required, old.serial.why) == (False, False, "not-recorded")
    gone = only(function(), STARTED, answers(serial=Unread("error", "15 GPU is lost (nvmlDeviceGetSerial)")))
    assert gone.lost is True, "any call may say it"


def test_an_nvml_that_does_not_start_leaves_open_whether_a_gpu_is_lost():
    mismatch = Unread("error", "18 RM has detected an NVML/RM version mismatch. (nvmlInit)")
    one = only(function(), information(), {"nvml init": mismatch})
    assert (one.lost.detail, one.reset_required.detail) == (mismatch.detail, mismatch.detail)


def test_of_two_devices_that_claim_one_address_the_first_has_it():
    other = function("0000:43:00.0", driver="")
    files = function() | other | information() | {"nvml init": True, "nvml device_count": 3} | answers(0) | answers(1) | answers(2)
    first, second = read_gpus(host(files), None)
    assert first.index == 0
    assert second.in_nvml == Unread("error", "GPU 1, 2 of NVML does not say where it is: nvml pci: taken or no address")


def test_a_device_count_beyond_reason_is_an_error():
    for count in (10**9, -1, "8", True, None):
        assert only(function(), {"nvml init": True, "nvml device_count": count}).in_nvml.why == "error"


def test_error_counters_may_fail_alone():
    one = only(function(), STARTED, answers(nvlink=[[0, 1], [4, 0]], nvlink_errors=Unread("not-supported", "3")))
    assert [(link.index, link.active, link.errors.why) for link in one.nvlinks] == [(0, True, "not-supported"), (4, False, "not-supported")]


@given(name=st.sampled_from([*QUESTIONS, "handle"]), value=JSON)
@settings(deadline=None)
def test_any_answer_of_a_tape_is_a_value_or_an_error(name, value):
    for one in read_gpus(host(function() | information() | STARTED | answers(**{name: value})), None):
        assert isinstance(one, Gpu)
        for field in vars(one).values():
            assert not isinstance(field, dict | list)


@given(text=st.text(max_size=80))
@settings(deadline=None)
def test_any_text_is_a_value_or_an_error(text):
    for name in ("class", "vendor", "device", "numa_node", "current_link_speed", "current_link_width"):
        read_gpus(host(function(**{name: text.encode("utf-8", "replace")})), None)
    assert isinstance(parse_information(text), dict)
    with contextlib.suppress(ValueError):
        assert read_pci.parse_address(read_pci.parse_address(text)) == read_pci.parse_address(text)


@given(bits=st.integers(min_value=0, max_value=2**64))
def test_any_mask_is_words(bits):
    assert len(nvml_answers.parse_health(bits)) == 7
    assert all(isinstance(word, str) for word in nvml_answers.parse_clock_events(bits))


@pytest.mark.parametrize(("port", "lanes"), [("8\n", 8), ("16\n", 16), ("32\n", 16), ("255\n", 16), (None, 16)])
def test_a_card_has_no_more_lanes_than_its_slot(port, lanes):
    above = "/sys/devices/pci0000:15/0000:15:01.0"
    files = {f"{above}/{ADDRESS}/max_link_width": "16\n", f"{read_pci.DEVICES}/{ADDRESS}": ("link", f"{above}/{ADDRESS}")}
    if port:
        files[f"{above}/max_link_width"] = port
    assert read_pci.facts(host(files), ADDRESS)["link_width_max"] == lanes


def test_a_loaded_module_without_its_directory_in_proc_is_a_proc_not_seen_whole():
    files = {**function(), **STARTED, **answers(), "/sys/module/nvidia/initstate": "live\n"}
    (gpu,) = read_gpus(host(files), None)
    assert (gpu.in_proc.why, gpu.proc_uuid.why) == ("error", "error")
    del files["/sys/module/nvidia/initstate"]
    assert read_gpus(host(files), None)[0].in_proc.why == "absent"


def test_of_a_device_that_may_be_a_gpu_nvml_not_knowing_it_says_nothing():
    files = {**function(), **STARTED, **answers(), **function("0000:00:02.0", vendor=Unread("denied"), driver="")}
    odd, gpu = read_gpus(host(files), None)
    assert (odd.on_pci.why, odd.name.why, gpu.name) == ("denied", "denied", "NVIDIA H100")
