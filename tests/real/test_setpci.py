"""The words that we read of configuration space are those that setpci reads of the same file."""

import subprocess

import pytest

from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.pci_config import controls
from tests.real.conftest import need_real
from tests.unit.host.test_pci_config import config

ADDRESS = "0000:17:00.0"


@pytest.mark.parametrize("acs", [0, 0x1D, 0x5F])
@pytest.mark.parametrize("control", [0x2936, 0x5910])
@pytest.mark.parametrize("extended", [(0x000D,), (0x0001, 0x0003, 0x000D, 0x0019)])
def test_on_a_made_function(tmp_path, acs, control, extended):
    directory = tmp_path / "sys/bus/pci/devices" / ADDRESS
    directory.mkdir(parents=True)
    (directory / "config").write_bytes(config(acs=acs, control=control, extended=extended))
    for name, text in (
        ("vendor", "0x1000"),
        ("device", "0xc030"),
        ("class", "0x060400"),
        ("irq", "0"),
        ("resource", f"{'0x0 ' * 3}\n" * 7),
    ):
        (directory / name).write_text(f"{text}\n")
    program = need_real("setpci", "apt-get install pciutils")
    argv = [program, "-A", "linux-sysfs", "-O", f"sysfs.path={tmp_path}/sys/bus/pci", "-s", ADDRESS, "ECAP_ACS+0x6.w", "CAP_EXP+0x8.w"]
    theirs = [int(word, 16) for word in subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()]
    ours = controls(Files(Root(str(tmp_path))), [ADDRESS])[ADDRESS]
    assert [ours["acs"], ours["control"]] == theirs == [acs, control]
