"""A driver library that answers anything: the report stays lawful in every form, and a GPU that is not well makes no host ready."""

import contextlib
import os
import shutil
from itertools import count

import pytest

from hostagent.outputs import FORMATS
from tests import stub_nvml
from tests.attack.held_judge import PLACEABLE, wrongs
from tests.attack.held_run import Rows, some
from tests.trees import hosts

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gcc"), reason="device nodes need root, the stub of NVML gcc")

FEWEST = 92
_TEXTS = {
    "escapes": b"\x1b]0;pwned\x07\x1b[2J\x1b[31mH100",
    "markup": b"</code></script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>]]>&",
    "labels": b'x"} 1\\',
    "bidi": "H100\u202e\u2066\u200b\u2028\x9b31m".encode(),
    "no UTF-8": b"\xff\xfe\x80\x9b\xc0\xaf",
    "empty": b"",
    "long": b"9" * 200,
}
_TEXT_CALLS = (
    "SystemGetDriverVersion",
    "SystemGetNVMLVersion",
    "DeviceGetName",
    "DeviceGetVbiosVersion",
    "DeviceGetUUID",
    "DeviceGetPciInfo",
)
_NUMBER_CALLS = (
    *("SystemGetCudaDriverVersion", "DeviceGetMinorNumber", "DeviceGetMemoryInfo", "DeviceGetCudaComputeCapability", "DeviceGetMigMode"),
    *("DeviceGetEccMode", "DeviceGetRemappedRows", "DeviceGetPersistenceMode", "DeviceGetEnforcedPowerLimit", "DeviceGetTemperature"),
    *("DeviceGetTotalEccErrors", "DeviceGetRetiredPages", "DeviceGetNvLinkState", "DeviceGetNvLinkErrorCounter", "DeviceGetFieldValues"),
    *("DeviceGetCurrentClocksEventReasons", "DeviceGetSramEccErrorStatus", "DeviceGetGpuFabricInfoV"),
)
_NUMBERS = (b"4294967295", b"18446744073709551615 18446744073709551615", b"-1 -1 -1")

#: Faults, and whether the host may still be called ready.
ROWS = {
    **{f"{call} {name}": ((f"{call} * value ".encode() + text,), True) for call in _TEXT_CALLS for name, text in _TEXTS.items()},
    **{f"{call} {value.decode()}": ((f"{call} * value ".encode() + value,), True) for call in _NUMBER_CALLS for value in _NUMBERS[:2]},
    **{f"Init error {code}": ((f"Init * error {code}".encode(),), False) for code in (1, 2, 4, 5, 9, 12, 15, 17, 18, 27, 999, -1, 2147483647)},
    **{f"{call} error {code}": ((f"{call} * error {code}".encode(),), False) for call in ("DeviceGetCount", "DeviceGetHandleByIndex") for code in (2, 15, 999)},
    **{f"{at} lost": ((f"* {at} error 15".encode(),), False) for at in (0, 4, 7)},
    **{f"{number} GPUs": ((f"DeviceGetCount * value {number}".encode(),), False) for number in (0, 1, 7)},
    **{f"{number} GPUs": ((f"DeviceGetCount * value {number}".encode(),), True) for number in (9, 65, 4294967295, 2147483648)},
    "all at one address": ((b"DeviceGetPciInfo * value 00000000:1B:00.0",), True),
    "crash in init": ((b"Init * crash",), False),
    "crash in a name": ((b"DeviceGetName 3 crash",), False),
    "crash at the end": ((b"Shutdown * crash",), True),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    with contextlib.closing(Rows(tmp_path_factory.mktemp("temporary"))) as running:
        yield running


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    return hosts.hgx_h100_here(tmp_path_factory.mktemp("tree") / "host").root


def test_no_fewer_are_tried_than_were_before(rows, healthy):
    assert len(ROWS) >= FEWEST
    outcome = rows.run("check", "--host-root", healthy)
    assert (outcome.code, wrongs(outcome, "text")) == (0, []), "without a fault the host is placeable: a fault can make it unready"


_turn = count()


@pytest.mark.parametrize("name", some(ROWS, 4, ("lost", "error 9", "GPUs", "crash")))
def test_a_hostile_answer_of_nvml(name, rows, healthy):
    faults, may_be_ready = ROWS[name]
    table = healthy / stub_nvml.TABLE
    good = table.read_bytes()
    form = FORMATS[next(_turn) % len(FORMATS)]
    try:
        table.write_bytes(b"\n".join((*faults, good)))
        outcome = rows.run("check", "--host-root", healthy, "--format", form, "--deadline", "8")
    finally:
        table.write_bytes(good)
    found = wrongs(outcome, form, never=() if may_be_ready else PLACEABLE, codes=(0, 1) if may_be_ready else (1,))
    assert not found, "\n".join(found)
    assert outcome.took_s < 8 + 3
    assert os.listdir(rows.temporary) == []
