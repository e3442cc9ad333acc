"""BARs that keep a GPU from starting, drivers with a name of their own, and peer access, from a dictionary as a host."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.driver.boot import module_of
from hostagent.domains.gpu.bars import misplaced
from hostagent.domains.gpu.read_gpus import read_gpus
from hostagent.domains.topology.read_pci import DEVICES
from hostagent.testing import host
from tests import stub_nvml

A, B = "0000:01:00.0", "0000:02:00.0"
NOTHING = "0x0000000000000000 0x0000000000000000 0x0000000000000000"
REGISTERS = "0x00000000d4000000 0x00000000d4ffffff 0x0000000000040200"
WIDE = "0x0000000{:09x} 0x0000000{:09x} 0x000000000014220c"


def resource(memory, window, registers=REGISTERS):
    return "".join(f"{line}\n" for line in (registers, memory, NOTHING, window, NOTHING, NOTHING, NOTHING))


HIGH = resource(WIDE.format(0x800000000, 0xFFFFFFFFF), WIDE.format(0x700000000, 0x701FFFFFF))
LOW = resource(WIDE.format(0xC0000000, 0xCFFFFFFF), WIDE.format(0xD0000000, 0xD1FFFFFF))
#: As the kernel leaves one that it could not assign: cleared, or with its size and marked as unset (include/linux/ioport.h).
CLEARED = resource(NOTHING, NOTHING)
UNSET = resource("0x0000000000000000 0x0000000fffffffff 0x000000002014220c", WIDE.format(0xD0000000, 0xD1FFFFFF))
NO_WINDOW = resource(WIDE.format(0x800000000, 0xFFFFFFFFF), NOTHING)


def machine(resources, *, driver="nvidia", device="0x26b9", **answers):
    files = {}
    for address, text in resources.items():
        files |= {
            f"{DEVICES}/{address}/{name}": f"{value}\n" for name, value in (("class", "0x030200"), ("vendor", "0x10de"), ("device", device))
        }
        files[f"{DEVICES}/{address}/resource"] = text
        files[f"{DEVICES}/{address}/driver"] = ("link", f"/sys/bus/pci/drivers/{driver}")
    return host({**files, **answers})


def gpus(source):
    return read_gpus(source, None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (HIGH, None), (LOW, ("low", 1)), (CLEARED, ("empty", 1)), (UNSET, ("empty", 1)), (NO_WINDOW, ("empty", 3)),
        (stub_nvml.RESOURCE, None), (stub_nvml.RESOURCE.replace("0x0000380000000000 0x000038001fffffff 0x000000000014220c", NOTHING), ("empty", 2)),
        (resource(NOTHING, NOTHING, NOTHING), ("empty", 0)),
        ("garbage\n", None), ("", None),
    ],
)  # fmt: skip
def test_which_bar_keeps_a_gpu_from_starting(text, wanted):
    (gpu,) = gpus(machine({A: text}))
    assert misplaced(gpu, (gpu,)) == wanted


def test_a_board_with_c2c_places_its_memory_otherwise():
    (gpu,) = gpus(machine({A: CLEARED}, device="0x2941"))
    assert misplaced(gpu, (gpu,)) is None


def test_text_that_is_no_list_of_resources_is_an_error_and_a_host_without_the_file_lacks_it():
    assert gpus(machine({A: "garbage\n"}))[0].bars.why == "error"
    assert gpus(machine({A: Unread("absent", "none")}))[0].bars.why == "absent"


NVML = {"nvml init": True, "nvml device_count": 2}


def _nvml(index, address, **answers):
    asked = {"handle": True, "pci": {"bus_id": f"0000{address}", "device_id": 0, "subsystem_id": 0}, "name": "NVIDIA L40S", **answers}
    return {f"nvml device {index} {name}": answer for name, answer in asked.items()}


def test_peer_access_is_of_addresses_not_of_indices():
    answers = {**NVML, **_nvml(0, B, peer_access=[[1, 0]]), **_nvml(1, A, peer_access=[[0, 1], [7, 0]])}
    first, second = gpus(machine({A: HIGH, B: HIGH}, **answers))
    assert [(one.pci, one.is_allowed) for one in first.peer_access] == [(B, False)]
    assert [(one.pci, one.is_allowed) for one in second.peer_access] == [(A, True)]


@pytest.mark.parametrize("answer", ["words", [1], [["a", 0, 0]], {"1": 0}, 7])
def test_an_answer_of_another_form_is_an_error(answer):
    answers = {**NVML, **_nvml(0, A, peer_access=answer), **_nvml(1, B, peer_access=[])}
    assert gpus(machine({A: HIGH, B: HIGH}, **answers))[0].peer_access.why == "error"


@pytest.mark.parametrize(
    ("driver", "link", "module"),
    [
        ("NovaCore", "../../../../module/nova_core", "nova_core"), ("NovaCore", Unread("absent", "built in"), "nova_core"),
        ("NovaCore", Unread("denied", "x"), "nova_core"), ("pci-stub", Unread("absent", "built in"), "pci_stub"),
        ("my-driver", "../../../../module/other", "other"),
    ],
)  # fmt: skip
def test_a_driver_is_called_as_its_module(driver, link, module):
    place = f"/sys/bus/pci/drivers/{driver}/module"
    answer = {f"readlink {place}": link} if isinstance(link, Unread) else {place: ("link", link)}
    (gpu,) = gpus(machine({A: HIGH}, driver=driver, **answer))
    assert module_of(gpu) == module
