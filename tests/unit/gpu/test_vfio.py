"""What the host gives to vfio-pci."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_vfio import read_ids
from hostagent.testing import host


@pytest.mark.parametrize(
    ("files", "ids"),
    [
        ({"/proc/cmdline": "ro intel_iommu=on vfio-pci.ids=10de:2330,10de:22a3 quiet\n"}, ("10de:2330", "10de:22a3")),
        ({"/proc/cmdline": "ro vfio_pci.ids=10DE:2684:10de:0001\n"}, ("10de:2684",)),
        ({"/proc/cmdline": "ro\n", "/etc/modprobe.d/vfio.conf": "options vfio-pci ids=10de:1eb8 disable_vga=1\n"}, ("10de:1eb8",)),
        ({"/proc/cmdline": "ro\n", "/etc/modprobe.d/vfio.conf": "# options vfio-pci ids=10de:1eb8\n"}, ()),
        ({"/proc/cmdline": "ro\n", "/etc/modprobe.d/vfio.conf.off": "options vfio-pci ids=10de:1eb8\n"}, ()),
        ({}, ()),
    ],
)
def test_ids_are_read_from_the_command_line_and_from_modprobe(files, ids):
    assert read_ids(host(files)) == ids


def test_what_cannot_be_read_leaves_the_ids_unread():
    assert read_ids(host({"/proc/cmdline": Unread("denied", "x")})).why == "denied"
    assert read_ids(host({"/proc/cmdline": "ro\n", "/etc/modprobe.d/a.conf": Unread("denied", "x")})).why == "denied"
