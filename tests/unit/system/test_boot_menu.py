"""Which kernel the next boot takes, over hosts made of dictionaries: each loader's way to say it. GRUB itself judges in tests/real."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.system import read_kernel
from hostagent.testing import host

OLD, NEW, RT = "6.8.0-40-generic", "6.8.0-45-generic", "6.8.0-45-lowlatency"
EL_OLD, EL_NEW = "5.14.0-427.13.1.el9_4.x86_64", "5.14.0-503.11.1.el9_5.x86_64"
BLS = 'load_env\nif [ "${next_entry}" ] ; then\n set default="${next_entry}"\nelse\n set default="${saved_entry}"\nfi\ninsmod blscfg\nblscfg\n'


def entry(title, release, *, id_="", path="/boot/vmlinuz-{}"):
    return f"menuentry '{title}' {f'--id {id_}' if id_ else ''} {{\n\tlinux\t{path.format(release)} root=UUID=1 ro\n}}\n"


def next_release(files, releases=(OLD, NEW)):
    kernels = {f"/lib/modules/{release}/modules.builtin": "" for release in releases}
    images = {f"/boot/vmlinuz-{release}": b"" for release in releases}
    found = read_kernel.read_kernel(host({"host": {"release": releases[0]}, **kernels, **images, **files}), lambda _: None)
    return found.next_release


def bls(*releases, saved=""):
    files = {f"/boot/loader/entries/4a0d-{one}.conf": f"title R ({one})\nversion {one}\nlinux /vmlinuz-{one}\n" for one in releases}
    environment = f"# GRUB Environment Block\n{f'saved_entry={saved}' if saved else ''}\n"
    return {**files, "/boot/grub2/grub.cfg": BLS, "/boot/grub2/grubenv": environment}


@pytest.mark.parametrize(
    ("saved", "wanted"),
    [(f"4a0d-{EL_OLD}", EL_OLD), (f"R ({EL_OLD})", EL_OLD), ("4a0d-gone", EL_NEW), ("", EL_NEW), ("1", EL_OLD), ("7", EL_NEW)],
)
def test_blscfg_has_the_newest_entry_first_and_takes_ids_before_numbers(saved, wanted):
    assert next_release(bls(EL_OLD, EL_NEW, saved=saved), (EL_OLD, EL_NEW)) == wanted


def test_what_grub_cfg_says_counts_and_not_what_update_grub_would_write():
    files = {"/boot/grub/grub.cfg": f"set default=0\n{entry('a', OLD)}{entry('b', NEW)}", "/etc/default/grub": "GRUB_DEFAULT=1\n"}
    assert next_release(files) == OLD


def test_an_entry_that_only_the_firmware_decides_about_leaves_the_kernel_open():
    unsure = f'if [ "$grub_platform" = efi ]; then\n{entry("a", OLD)}fi\n{entry("b", NEW)}'
    assert next_release({"/boot/grub/grub.cfg": f"set default=0\n{unsure}"}).why == "error"
    assert next_release({"/boot/grub/grub.cfg": f"set default=b\n{unsure}"}) == NEW, "by its name it is found wherever it stands"
    assert next_release({"/boot/grub/grub.cfg": f"set default=0\n{entry('b', NEW)}{unsure}"}) == NEW


def test_a_script_that_grub_refuses_leaves_the_kernel_open():
    assert next_release({"/boot/grub/grub.cfg": "menuentry 'a' {\n linux /vmlinuz-1\n"}).why == "error"
    assert next_release({"/boot/grub/grub.cfg": Unread("denied", "mode 0600")}).why == "denied"


def test_custom_cfg_may_change_the_default():
    script = f"set default=0\n{entry('a', NEW)}{entry('b', OLD)}if [ -f ${{config_directory}}/custom.cfg ]; then\n  source ${{config_directory}}/custom.cfg\nfi\n"
    assert next_release({"/boot/grub/grub.cfg": script}) == NEW
    assert next_release({"/boot/grub/grub.cfg": script, "/boot/grub/custom.cfg": "set default=b\n"}) == OLD


def test_a_kernel_may_be_a_link_or_lie_in_a_directory_of_its_release():
    linked = {"/boot/grub/grub.cfg": f"set default=0\n{entry('a', '', path='/boot/vmlinuz')}", "/boot/vmlinuz": ("link", f"vmlinuz-{OLD}")}
    assert next_release(linked) == OLD
    systemd = {f"/boot/efi/loader/entries/proxmox-{OLD}.conf": f"title P\nversion {OLD}\nlinux /EFI/proxmox/{OLD}/vmlinuz-{OLD}\n"}
    assert next_release(systemd) == OLD
    kernel_install = {f"/boot/loader/entries/4a0d-{OLD}.conf": f"title F\nlinux /4a0d/{OLD}/linux\n"}
    assert next_release(kernel_install) == OLD


def test_systemd_boot_has_a_default_of_its_own():
    entries = {f"/efi/loader/entries/p-{one}.conf": f"title P\nlinux /EFI/p/{one}/vmlinuz-{one}\n" for one in (OLD, NEW)}
    assert next_release(entries) == NEW
    assert next_release({**entries, "/efi/loader/loader.conf": f"timeout 3\ndefault p-{OLD}.conf\n"}) == OLD
    assert next_release({**entries, "/efi/loader/loader.conf": "default p-6.8.0-40*\n"}) == OLD


def test_the_order_of_flavours_comes_before_that_of_versions():
    settings = {"/etc/default/grub": "GRUB_DEFAULT=0\nGRUB_FLAVOUR_ORDER='generic lowlatency'\n"}
    assert next_release(settings, (NEW, "6.8.0-90-lowlatency")) == NEW
    assert next_release({}, (NEW, "6.8.0-90-lowlatency")) == "6.8.0-90-lowlatency"


def test_a_grub_cfg_on_the_esp_that_only_leads_on_is_none():
    stub = {
        "/boot/efi/EFI/redhat/grub.cfg": "search --no-floppy --fs-uuid --set=dev 1-2\nset prefix=($dev)/grub2\nconfigfile $prefix/grub.cfg\n"
    }
    assert next_release({**stub, **bls(EL_OLD, EL_NEW, saved=f"4a0d-{EL_OLD}")}, (EL_OLD, EL_NEW)) == EL_OLD


def test_debians_names_are_resolved_as_modprobe_does():
    base = f"/lib/modules/{NEW}"
    files = {
        "host": {"release": NEW},
        f"{base}/modules.builtin": "",
        f"{base}/modules.dep": "updates/dkms/nvidia-current.ko:\nupdates/dkms/nvidia-current-open.ko:\n",
        f"{base}/updates/dkms/nvidia-current.ko": b"",
        f"{base}/updates/dkms/nvidia-current-open.ko": b"",
        "/etc/modprobe.d/nvidia.conf": ("link", "/etc/alternatives/glx--nvidia-modprobe.conf"),
        "/etc/nvidia/current-open/nvidia-modprobe.conf": "install nvidia modprobe -i nvidia-current-open $CMDLINE_OPTS\n",
    }
    linked = {**files, "/etc/alternatives/glx--nvidia-modprobe.conf": ("link", "/etc/nvidia/current-open/nvidia-modprobe.conf")}
    found = [read_kernel.read_kernel(host(one), lambda _: None).at(NEW).nvidia_path for one in (linked, files)]
    assert found == [f"{base}/updates/dkms/nvidia-current-open.ko", ""], "a chain that ends nowhere is no module"


def test_an_ordinary_user_needs_no_look_at_the_efi_partition_where_boot_has_a_menu():
    files = {"/boot/grub/grub.cfg": f"set default=b\n{entry('a', NEW)}{entry('b', OLD, id_='b')}"}
    denied = {"list /boot/efi/EFI": Unread("denied", "mode 0700"), "list /boot/efi/loader/entries": Unread("denied", "mode 0700")}
    assert next_release({**files, **denied}) == OLD
    assert next_release(denied).why == "denied"


def test_a_name_without_a_release_leaves_the_kernel_open():
    assert next_release({"/boot/grub/grub.cfg": f"set default=0\n{entry('Arch Linux', 'linux')}"}).why == "error"
