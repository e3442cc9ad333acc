"""NVSwitches, the fabric manager's log, and IMEX."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_nvswitches import parse_configured, parse_imex_nodes, parse_manager_log, read_fabric
from hostagent.facts.nvswitch import NvSwitch
from hostagent.testing import host
from hostagent_checks.nvswitch._packages import named
from hostagent_checks.nvswitch._switches import local_switches

SWITCH = "/sys/bus/pci/devices/0000:05:00.0"
HGX = {
    f"{SWITCH}/class": "0x068000\n",
    f"{SWITCH}/vendor": "0x10de\n",
    f"{SWITCH}/device": "0x22a3\n",
    f"{SWITCH}/driver": ("link", "../../../../bus/pci/drivers/nvidia-nvswitch"),
    "/sys/bus/pci/devices/0000:1b:00.0/class": "0x030200\n",
    "/sys/bus/pci/devices/0000:00:1f.0/class": "0x068000\n",
    "/sys/bus/pci/devices/0000:00:1f.0/vendor": "0x8086\n",
    "/proc/driver/nvidia-nvswitch/devices/0000:05:00.0/information": "x",
}
GPU = "/sys/bus/pci/devices/0000:1b:00.0"
B200 = {
    f"{GPU}/class": "0x030200\n",
    f"{GPU}/vendor": "0x10de\n",
    f"{GPU}/device": "0x2901\n",
    "rdma devices": ["mlx5_0", "mlx5_1"],
    "rdma device mlx5_0": {"manages_nvlink": True},
    "rdma device mlx5_1": {"manages_nvlink": False},
}


def fabric(files, kind="live"):
    return read_fabric(host(files, kind), None)


def test_an_nvswitch_is_nvidias_function_of_class_0680():
    found = fabric(HGX)
    assert found.nvswitches == (NvSwitch("0000:05:00.0", "0x22a3", "nvidia-nvswitch"),)
    assert found.driver_nvswitches == ("0000:05:00.0",)


def test_a_host_without_pci_or_switches_has_none():
    found = fabric({})
    assert (found.nvswitches, found.driver_nvswitches, found.nvlink5_managers, found.imex_channels) == ((), (), (), ())
    assert (found.imex_nodes.why, found.manager_log_errors.why) == ("absent", "absent")


def test_an_unbound_nvswitch_has_no_driver():
    files = {path: value for path, value in HGX.items() if not path.endswith("/driver")}
    assert fabric(files).nvswitches[0].bound_to == ""


@pytest.mark.parametrize("name", ["class", "vendor"])
def test_a_function_that_may_be_an_nvswitch_and_cannot_be_read_leaves_the_list_unread(name):
    assert fabric({**HGX, f"{SWITCH}/{name}": Unread("denied", "x")}).nvswitches.why == "denied"


def test_hcas_that_manage_nvlink_5_switches_are_named():
    assert fabric(B200).nvlink5_managers == ("mlx5_0",)


@pytest.mark.parametrize("question", ["rdma devices", "rdma device mlx5_0", "rdma device mlx5_1"])
def test_an_hca_that_cannot_be_asked_leaves_nvlink_5_unread(question):
    assert fabric({**B200, question: Unread("timeout", "x")}).nvlink5_managers.why == "timeout"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"manages_nvlink": {"unread": ["denied", "root only"]}}, "denied"),
        ({"manages_nvlink": {"unread": ["x", "y"]}}, "error"),
        ([], "error"),
    ],
)
def test_an_hca_whose_product_data_are_unread_leaves_nvlink_5_unread(answer, why):
    assert fabric({**B200, "rdma device mlx5_1": answer}).nvlink5_managers.why == why


def test_a_host_with_nvswitches_on_pci_is_not_asked_for_bridges():
    assert fabric({**HGX, **B200, "rdma device mlx5_0": Unread("denied", "root only")}).nvlink5_managers == ()


def test_a_stray_name_among_the_drivers_switches_is_an_error():
    assert fabric({"/proc/driver/nvidia-nvswitch/devices/permissions": "x"}).driver_nvswitches.why == "error"


def test_an_image_has_no_switches_to_ask():
    image = fabric({one: Unread("not-running", one) for one in ("list /sys/bus/pci/devices", "rdma devices")}, "image")
    assert (image.nvswitches.why, image.nvlink5_managers.why) == ("not-running", "not-running")


def test_imex_is_read_from_its_file_and_its_device_directory():
    found = fabric({"/etc/nvidia-imex/nodes_config.cfg": "10.0.0.1\n\n# spare\n10.0.0.2\n", "/dev/nvidia-caps-imex-channels/channel0": ""})
    assert (found.imex_nodes, found.imex_channels) == (("10.0.0.1", "10.0.0.2"), ("channel0",))


def test_errors_before_the_managers_last_start_are_past():
    old = "[Feb 27 2025 15:10:02] [ERROR] [tid 1] old\n"
    start = "[Feb 28 2025 08:00:00] [INFO] [tid 2] Fabric Manager version 550.90.07 is running with the following configuration options\n"
    new = "[Feb 28 2025 08:00:01] [ERROR] [tid 2] new\n"
    assert parse_manager_log(old + start) == ()
    assert parse_manager_log(old + start + new) == (new.strip(),)


@pytest.mark.parametrize(
    "said",
    [
        "Successfully configured all the available GPUs and NVSwitches to route NVLink traffic.",
        "Successfully configured all the available NVSwitches to route GPU NVLink traffic. NVLink Peer-to-Peer support will be enabled",
    ],
)
def test_the_manager_has_done_its_work_when_it_says_so_after_its_last_start(said):
    start = "[Feb 28 2025 08:00:00] [INFO] [tid 2] Fabric Manager version 550.90.07 is running with the following configuration options\n"
    done = f"[Feb 28 2025 08:00:09] [INFO] [tid 2] {said}\n"
    assert (parse_configured(start + done), parse_configured(start + done + start)) == (True, False)
    assert parse_configured("[x] [ERROR] [tid 1] a\n").why == "absent"


def test_a_switch_whose_kind_cannot_be_read_has_none():
    assert fabric({**HGX, f"{SWITCH}/device": Unread("denied", "x")}).nvswitches[0].device_id.why == "denied"


def test_of_many_errors_the_newest_are_kept():
    errors = parse_manager_log("".join(f"[x] [ERROR] [tid 1] {number}\n" for number in range(500)))
    assert (len(errors), errors[-1]) == (20, "[x] [ERROR] [tid 1] 499")


@given(st.text())
def test_any_text_is_a_log_and_a_list_of_nodes(text):
    parse_manager_log(text)
    parse_imex_nodes(text)


def test_a_package_is_found_with_and_without_a_branch_in_its_name():
    names = ["nvidia-fabricmanager", "nvidia-fabricmanager-580", "nvidia-fabricmanager-dev-580", "nvidia-fabric-manager-devel"]
    packages = [type("P", (), {"name": name})() for name in names]
    assert [one.name for one in named(packages, ("nvidia-fabricmanager", "nvidia-fabric-manager"))] == names[:2]


def test_a_host_says_which_switches_it_has():
    assert local_switches(fabric(HGX)) == "1 NVSwitch"
    assert local_switches(fabric(B200)) == "NVLink 5 switches behind mlx5_0"


@pytest.mark.parametrize("names", [None, 7, "mlx5_0", [["mlx5_0"]], [{}], [3]])
def test_names_of_hcas_that_are_no_names_leave_nvlink_5_unread(names):
    assert fabric({"rdma devices": names}).nvlink5_managers.why == "error"
