"""Every NVML error (nvmlReturn_t) from every call: after NVML has started, only two say that a question does not apply."""

import types

import pynvml
import pytest

from hostagent.core.unread import NOT_APPLICABLE, Unread
from hostagent.domains.gpu import nvml_errors, read_nvml
from hostagent.domains.gpu.read_gpus import read_gpus
from hostagent.domains.gpu.tables.refusals import REFUSALS, refusal
from hostagent.testing import host
from tests.unit.gpu.test_gpu import ADDRESS, answers, function, information

CODES = sorted({value for name, value in vars(pynvml).items() if name.startswith("NVML_ERROR_")} | {31, 500})
NOT_SUPPORTED, FUNCTION_NOT_FOUND, INVALID_ARGUMENT = 3, 13, 2
#: Questions about lists: the reader asks beyond their end.
LISTS = ("nvlink", "nvlink_errors")
IDENTITY = ("handle", "pci")


class Refusing(types.SimpleNamespace):
    """The binding, with every function of NVML failing with one error."""

    def __init__(self, code):
        super().__init__()
        self.code = code

    def __getattr__(self, name):
        if name.startswith("nvml") and name[4:5].isupper() and not name.startswith("nvmlPciInfo"):
            return self.fail
        return getattr(pynvml, name)

    def fail(self, *_, **__):
        raise pynvml.NVMLError(self.code)


def answered(question, code):
    binding = Refusing(code)
    return read_nvml._call(binding, question.function, question.read, binding, object())


@pytest.mark.parametrize("question", read_nvml.DEVICE, ids=lambda one: one.name)
def test_of_a_gpu_only_two_errors_say_that_a_question_does_not_apply(question):
    found = {code: answered(question, code) for code in CODES}
    skipped = {code for code, one in found.items() if not isinstance(one, Unread) or one.why in NOT_APPLICABLE}
    wanted = set() if question.name in IDENTITY else {NOT_SUPPORTED, FUNCTION_NOT_FOUND}
    if question.name in LISTS:
        wanted.add(INVALID_ARGUMENT)
    if question.name == "inforom":
        wanted.add(pynvml.NVML_ERROR_CORRUPTED_INFOROM)
    assert skipped == wanted


@pytest.mark.parametrize("code", CODES)
def test_a_handle_that_nvml_refuses_is_never_inapplicable(code):
    binding = Refusing(code)
    assert read_nvml._handle(binding, 0, {}).why not in NOT_APPLICABLE
    for function_name in (name for _, name in read_nvml._SYSTEM):
        found = read_nvml._call(binding, function_name, binding.fail)
        assert (found.why in NOT_APPLICABLE) == (code in (NOT_SUPPORTED, FUNCTION_NOT_FOUND))


def test_only_at_its_start_nvml_may_not_be_there():
    at_start = {code for code in CODES if nvml_errors.why(code, "start") == "absent"}
    assert at_start == {9, 12}
    assert all(nvml_errors.why(code) != "absent" for code in CODES)


def one_gpu(said):
    files = function() | information() | {"nvml init": True, "nvml device_count": 1} | said
    (one,) = read_gpus(host(files), None)
    return one


@pytest.mark.parametrize("code", [1, 9, 12])
def test_a_driver_that_has_left_one_gpu_is_said_by_any_call(code):
    gone = Unread("absent" if code != 1 else "error", f"{code} X (nvmlDeviceGetTemperature)")
    one = one_gpu(answers(temperature=gone))
    assert one.nvml_refusal == code
    assert one.temperature_celsius.why == "error"


@pytest.mark.parametrize("code", [code for code in CODES if code not in (4, 10, 17)])
def test_a_gpu_without_a_handle_refuses_with_that_error(code):
    one = one_gpu({"nvml device 0 handle": Unread(nvml_errors.why(code, "identity"), f"{code} X (nvmlDeviceGetHandleByIndex)")})
    assert (one.pci, one.nvml_refusal) == (ADDRESS, code)
    assert refusal(code).words


@pytest.mark.parametrize("code", [4, 10, 17])
def test_a_permission_or_a_time_leaves_it_unknown(code):
    one = one_gpu({"nvml device 0 handle": Unread(nvml_errors.why(code, "identity"), f"{code} X (nvmlDeviceGetHandleByIndex)")})
    assert one.nvml_refusal.why not in NOT_APPLICABLE


def test_two_gpus_that_do_not_say_where_they_are_refuse_both():
    other = "0000:43:00.0"
    files = function() | information() | function(other) | information(other) | {"nvml init": True, "nvml device_count": 2}
    files |= {f"nvml device {index} handle": Unread("error", "999 X (nvmlDeviceGetHandleByIndex)") for index in (0, 1)}
    assert [one.nvml_refusal for one in read_gpus(host(files), None)] == [999, 999]


def test_a_gpu_that_answers_and_one_that_nvml_does_not_have_refuse_nothing():
    assert one_gpu(answers()).nvml_refusal == 0
    (absent,) = read_gpus(host(function() | information() | {"nvml init": True, "nvml device_count": 0}), None)
    assert absent.nvml_refusal.why == "absent"
    (none,) = read_gpus(host(function() | {"nvml init": Unread("absent", "9 Driver Not Loaded (nvmlInit)")}), None)
    assert none.nvml_refusal.why == "absent"


def test_every_error_with_words_of_its_own_is_nvmls():
    assert set(REFUSALS) <= set(CODES)
