"""The kernel's reader over hosts made of dictionaries, and its parsers on any text."""

import gzip
import lzma
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.driver import read_modinfo
from hostagent.domains.system import grub_menu, read_boot_menu, read_kernel, read_modprobe
from hostagent.domains.system import read_installed_kernels as installed_kernel
from hostagent.facts.kernel import Kernel
from hostagent.testing import host
from tests.cpu import within

OLD, NEW = "6.8.0-40-generic", "6.8.0-45-generic"
EFI = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def module(**fields):
    """An ELF file with a .modinfo section and nothing else."""
    section = b"".join(f"{key}={value}".encode() + b"\0" for key, value in fields.items())
    names = b"\0.shstrtab\0.modinfo\0"
    table = 64 + len(section) + len(names)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 1)
    sections = (bytes(64), _section(1, 64 + len(section), len(names)), _section(11, 64, len(section)))
    return header + section + names + b"".join(sections)


def _section(name, offset, size):
    return struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, offset, size, 0, 0, 1, 0)


def installed(release, data=b"", file="updates/dkms/nvidia.ko", **more):
    base = f"/lib/modules/{release}"
    files = {f"{base}/modules.builtin": "", f"{base}/modules.dep": f"{file}:\n" if data else "kernel/fs/ext4.ko:\n"}
    return {**files, **({f"{base}/{file}": data} if data else {}), **more}


def read(files, kind="live", release=NEW):
    question = {"host": {"release": release}} if release else {"host": {}}
    found = read_kernel.read_kernel(host({**question, "kernel_log": Unread("denied"), **files}, kind), lambda _: None)
    assert isinstance(found, Kernel)
    return found


def test_the_module_of_the_running_kernel_is_read_from_its_file():
    data = module(version="580.142", license="Dual MIT/GPL", vermagic=f"{NEW} SMP", srcversion="ABCD")
    one = read(installed(NEW, data)).at(NEW)
    assert one.nvidia_path == f"/lib/modules/{NEW}/updates/dkms/nvidia.ko"
    assert (one.nvidia_version, one.nvidia_flavour, one.nvidia_vermagic) == ("580.142", "open", f"{NEW} SMP")
    assert (one.nvidia_srcversion, one.nvidia_signer) == ("ABCD", "")


@pytest.mark.parametrize(("suffix", "pack"), [(".xz", lzma.compress), (".gz", gzip.compress)])
def test_a_compressed_module_is_read(suffix, pack):
    files = installed(NEW, pack(module(version="580.142")), file=f"extra/nvidia.ko{suffix}")
    assert read(files).at(NEW).nvidia_version == "580.142"


def test_a_module_that_cannot_be_decompressed_is_an_error():
    one = read(installed(NEW, b"\x28\xb5\x2f\xfd rest", file="extra/nvidia.ko.zst")).at(NEW)
    assert one.nvidia_version.why == "error"


def test_a_kernel_without_the_module_has_no_path_and_no_version():
    one = read(installed(NEW)).at(NEW)
    assert one.nvidia_path == ""
    assert one.nvidia_version == Unread("absent", f"kernel {NEW} has no nvidia module")


def test_a_module_that_modules_dep_names_and_that_is_gone_is_none():
    files = installed(NEW, module(version="1.2"))
    del files[f"/lib/modules/{NEW}/updates/dkms/nvidia.ko"]
    assert (read(files).at(NEW).nvidia_path, read(files).at(NEW).nvidia_version.why) == ("", "absent")


def test_only_the_modules_of_the_running_and_the_next_kernel_are_opened():
    files = {
        **installed("5.15.0-1-generic", module(version="1.2")),
        **installed(OLD, module(version="1.2")),
        **installed(NEW, module(version="1.3")),
    }
    found = read(files, release=OLD)
    assert [one.release for one in found.installed] == ["5.15.0-1-generic", OLD, NEW]
    assert found.next_release == NEW
    assert found.at("5.15.0-1-generic").nvidia_version.why == "not-recorded"
    assert (found.at(OLD).nvidia_version, found.at(NEW).nvidia_version) == ("1.2", "1.3")


def test_what_a_removed_kernel_leaves_behind_is_no_kernel():
    files = {**installed(NEW), f"/lib/modules/{OLD}/updates/dkms/nvidia.ko": b"", f"/lib/modules/{OLD}/modules.dep": ""}
    assert [one.release for one in read(files).installed] == [NEW]


def test_of_an_image_the_kernel_is_the_named_one_else_that_of_the_next_boot():
    files = {**installed(OLD), **installed(NEW)}
    assert read(files, "image", release="").release == NEW
    assert read(files, "image", release=OLD).release == OLD
    assert read({}, "image", release="").release.why == "absent"


def test_a_kernel_without_an_image_in_boot_is_not_the_next_one():
    files = {**installed(OLD), **installed(NEW), f"/boot/vmlinuz-{OLD}": b""}
    assert read(files).next_release == OLD


def test_grub_may_name_the_kernel_of_the_next_boot():
    both = {**installed(OLD), **installed(NEW)}
    title = f"Advanced options for Ubuntu>Ubuntu, with Linux {OLD}"
    assert read({**both, "/etc/default/grub": f'GRUB_DEFAULT="{title}"\n'}).next_release == OLD
    saved = {
        "/etc/default/grub": "GRUB_DEFAULT=saved\n",
        "/boot/grub/grubenv": f"saved_entry=gnulinux-advanced-1>gnulinux-{OLD}-advanced-1\n",
    }
    assert read({**both, **saved}).next_release == OLD
    drop_in = {"/etc/default/grub": f'GRUB_DEFAULT="{title}"\n', "/etc/default/grub.d/50-cloudimg.cfg": "GRUB_DEFAULT=0\n"}
    assert read({**both, **drop_in}).next_release == NEW
    assert read({**both, "/etc/default/grub": "GRUB_DEFAULT=1>2\n"}).next_release == OLD, "of an image that update-grub has not seen"


def test_a_boot_loader_entry_names_the_kernel_of_the_next_boot():
    el = "5.14.0-427.13.1.el9_4.x86_64"
    files = {
        **installed(el),
        **installed("5.14.0-503.11.1.el9_5.x86_64"),
        f"/boot/loader/entries/4a0d-{el}.conf": f"title Rocky\nversion {el}\nlinux /vmlinuz-{el}\n",
        "/boot/grub2/grubenv": f"# GRUB Environment Block\nsaved_entry=4a0d-{el}\n",
    }
    assert read(files).next_release == el
    assert read({**files, "/boot/grub2/grubenv": Unread("denied", "mode 0600")}).next_release.why == "denied"


def test_secure_boot_is_the_last_byte_of_the_firmware_variable():
    assert read({EFI: b"\x06\0\0\0\x01"}).secure_boot is True
    assert read({EFI: b"\x06\0\0\0\x00"}).secure_boot is False
    assert read({EFI: b""}).secure_boot.why == "error"
    assert read({}).secure_boot is False, "a host without EFI was booted by a BIOS"
    assert read({"/sys/firmware/efi/runtime": ""}).secure_boot.why == "error", "efivarfs is not mounted"
    assert read({"/sys/firmware/efi/efivars/Boot0001-x": b""}).secure_boot is False


def test_signatures_are_enforced_by_lockdown_or_by_the_parameter():
    lockdown, parameter = "/sys/kernel/security/lockdown", "/sys/module/module/parameters/sig_enforce"
    assert read({lockdown: "none [integrity] confidentiality\n", parameter: "N\n"}).module_signatures_enforced is True
    assert read({lockdown: "[none] integrity confidentiality\n", parameter: "N\n"}).module_signatures_enforced is False
    assert read({lockdown: Unread("denied"), parameter: "Y\n"}).module_signatures_enforced is True
    assert read({lockdown: Unread("denied"), parameter: "N\n"}).module_signatures_enforced.why == "denied"


def test_nouveau_is_blacklisted_by_a_file_or_by_the_command_line():
    assert read({"/etc/modprobe.d/a.conf": "blacklist nouveau\n"}).nouveau_blacklisted is True
    assert read({"/proc/cmdline": "quiet modprobe.blacklist=floppy,nouveau"}).nouveau_blacklisted is True
    assert read({"/proc/cmdline": "quiet"}).nouveau_blacklisted is False
    assert read({"/etc/modprobe.d/a.conf.bak": "blacklist nouveau\n", "/proc/cmdline": ""}).nouveau_blacklisted is False
    assert read({"/etc/modprobe.d/a.conf": Unread("denied"), "/proc/cmdline": ""}).nouveau_blacklisted.why == "denied"


def test_a_file_in_etc_hides_one_of_the_same_name():
    files = {
        "/usr/lib/modprobe.d/n.conf": "blacklist nouveau\n",
        "/etc/modprobe.d/n.conf": "# nothing about nouveau\n",
        "/proc/cmdline": "",
    }
    assert read(files).nouveau_blacklisted is False


def test_a_kernel_has_the_files_beside_it():
    files = {f"/lib/modules/{NEW}/build/Makefile": "", f"/boot/initramfs-{NEW}.img": b"", "/proc/stat": "cpu 1\nbtime 1700000000\n"}
    found = read({**installed(NEW), **files})
    one = found.at(NEW)
    assert (one.headers, one.initramfs, one.initramfs_mtime, found.booted_at) == (True, f"/boot/initramfs-{NEW}.img", 0.0, 1700000000.0)
    assert read(installed(NEW)).at(NEW).headers is False


def test_an_unknown_license_is_no_flavour():
    assert read(installed(NEW, module(license="GPL"))).at(NEW).nvidia_flavour.why == "error"


@pytest.mark.parametrize(
    "data",
    [b"", b"\x7fELF", module(version="1")[:-1], b"\x7fELF\x01\x01" + bytes(100), module(version="1").replace(b".modinfo\0", b".modinfx\0")],
)
def test_what_is_no_module_is_an_error(data):
    assert read_modinfo.parse_modinfo(data).why == "error"


def test_every_cut_of_a_module_is_survived():
    whole = module(version="580.142", license="NVIDIA")
    for end in range(len(whole)):
        assert isinstance(read_modinfo.parse_modinfo(whole[:end]), Unread)


@settings(max_examples=200)
@given(st.binary(max_size=400), st.integers(0, 400))
@within(0.5)
def test_any_bytes_are_a_module_or_an_error(noise, at):
    whole = module(version="580.142")
    spoiled = whole[:at] + noise + whole[at + len(noise) :]
    assert isinstance(read_modinfo.parse_modinfo(spoiled), dict | Unread)
    assert isinstance(read_modinfo.parse_signer(spoiled + b"~Module signature appended~\n"), str)


@settings(max_examples=200)
@given(st.text(max_size=400))
@within(0.5)
def test_any_text_is_read_by_the_parsers(text):
    assert isinstance(read_boot_menu.parse_grubenv(text), dict)
    assert isinstance(grub_menu.default_entry((grub_menu.MenuEntry("a", "b", "c"),), text), grub_menu.MenuEntry)
    assert isinstance(installed_kernel.parse_modules_dep(text, "nvidia"), str)
    assert isinstance(read_modprobe.blacklists_nouveau(text), bool)
    assert isinstance(read_modprobe.cmdline_blacklists_nouveau(text), bool)
    assert isinstance(read_modprobe.parse_options(text, "nvidia"), tuple)
