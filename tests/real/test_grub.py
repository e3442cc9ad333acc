"""Our reading of GRUB's menu beside GRUB's own: grub-emu boots each menu, and says which entry it took."""

import os
import pty
import select
import signal
import subprocess
import time

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.system.grub_menu import default_entry
from hostagent.domains.system.grub_run import BootFiles, run
from hostagent.domains.system.grub_script import parse_grubcfg
from hostagent.domains.system.read_boot_menu import grub_entry
from hostagent.testing import host
from tests.real.conftest import need_real

HEADER = """
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="%s"
fi
if [ x"${feature_menuentry_id}" = xy ]; then
  menuentry_id_option="--id"
else
  menuentry_id_option=""
fi
export menuentry_id_option
if [ "${prev_saved_entry}" ]; then
  set saved_entry="${prev_saved_entry}"
  save_env saved_entry
fi
set timeout=0
"""
#: As update-grub writes it on Ubuntu: a simple entry, a submenu with each kernel twice; a kernel's path stands for what is booted.
MENU = """
menuentry 'Ubuntu' --class ubuntu --class gnu-linux $menuentry_id_option 'gnulinux-simple-0b5c' {
    linux /boot/vmlinuz-6.8.0-90-generic root=UUID=0b5c ro
}
submenu 'Advanced options for Ubuntu' $menuentry_id_option 'gnulinux-advanced-0b5c' {
    menuentry 'Ubuntu, with Linux 6.8.0-90-generic' --class ubuntu $menuentry_id_option 'gnulinux-6.8.0-90-generic-advanced-0b5c' {
        linux /boot/vmlinuz-6.8.0-90-generic root=UUID=0b5c ro
    }
    menuentry "Ubuntu, with Linux 6.8.0-90-generic (recovery mode)" $menuentry_id_option 'gnulinux-6.8.0-90-generic-recovery-0b5c' {
        linux /boot/vmlinuz-6.8.0-90-generic root=UUID=0b5c ro recovery
    }
    menuentry 'Ubuntu, with Linux 6.8.0-87-generic' --class ubuntu $menuentry_id_option 'gnulinux-6.8.0-87-generic-advanced-0b5c' {
        linux /boot/vmlinuz-6.8.0-87-generic root=UUID=0b5c ro
    }
}
menuentry 'A > B' --id 'other' { linux /boot/vmlinuz-5.15.0-119-generic ro ; }
"""
DEFAULTS = [
    *("0", "1", "2", "3", "9", "-1", "", "1>2", "1>1", "1>9", "1 >2", "1> 2", "0x1>02", "1 2", "1abc", "5.15", "saved"),
    *("gnulinux-advanced-0b5c>gnulinux-6.8.0-87-generic-advanced-0b5c", "gnulinux-advanced-0b5c>2", "gnulinux-advanced-0b5c"),
    *("Advanced options for Ubuntu>Ubuntu, with Linux 6.8.0-87-generic", "Advanced options for Ubuntu>Ubuntu, with Linux 5.4.0-1-generic"),
    *("gnulinux-simple-0b5c", "gnulinux-gone>2", "Ubuntu, with Linux 6.8.0-87-generic", "A >> B", "A > B", "other", "Ubuntu>1", ">2"),
]  # fmt: skip


def booted(program, directory, seconds=20):
    """The kernel that GRUB loads. Its command linux is defined anew: it prints and ends."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(program, [program, "-d", str(directory)])
    shown, ends = b"", time.monotonic() + seconds
    try:
        while b"CHOSEN" not in shown.rpartition(b"\n")[0] and time.monotonic() < ends:
            if select.select([terminal], [], [], 0.5)[0]:
                shown += os.read(terminal, 65536)
    except OSError:  # it ended
        pass
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    assert b"CHOSEN " in shown, shown[-500:]
    return shown.rpartition(b"CHOSEN ")[2].split()[0].decode()


def emulated(program, directory, script, environment):
    """`script` with the command linux replaced, because grub-emu has no kernel to load."""
    (directory / "grub.cfg").write_text("function linux { echo ; echo CHOSEN $1 ; echo ; sleep 1 ; reboot ; }\n" + script)
    block = directory / "grubenv"
    block.unlink(missing_ok=True)
    if environment:
        rows = "".join(f"{name}={value}\n" for name, value in environment.items())
        block.write_text(("# GRUB Environment Block\n" + rows).ljust(1024, "#"))
    return booted(program, directory)


def ours(script, environment):
    menu = run(parse_grubcfg(script), BootFiles(environment))
    assert menu.default is not None
    entry = default_entry(menu.entries, menu.default)
    assert not isinstance(entry, Unread)
    return entry.kernel


@pytest.fixture(scope="module")
def grub():
    return need_real("grub-emu", "apt-get install grub-emu")


@pytest.mark.parametrize("default", DEFAULTS)
def test_the_entry_is_the_one_that_grub_boots(grub, tmp_path, default):
    script = HEADER % default + MENU
    assert ours(script, {}) == emulated(grub, tmp_path, script, {})


@pytest.mark.parametrize(
    "environment",
    [
        {"saved_entry": "1>2"},
        {"saved_entry": "gnulinux-advanced-0b5c>gnulinux-6.8.0-87-generic-advanced-0b5c"},
        {"saved_entry": "Ubuntu, with Linux 5.4.0-1-generic"},
        {"saved_entry": "0", "next_entry": "other"},
        {"saved_entry": "0", "prev_saved_entry": "other"},
        {"saved_entry": ""},
        {"other": "x"},
        {},
    ],
)
def test_the_environment_block_decides_as_for_grub(grub, tmp_path, environment):
    script = HEADER % "${saved_entry}" + MENU
    assert ours(script, environment) == emulated(grub, tmp_path, script, environment)


def test_grub_takes_each_script_that_we_take(grub, tmp_path):
    checker = need_real("grub-script-check", "apt-get install grub-common")
    path = tmp_path / "grub.cfg"
    for text in (
        HEADER % "0" + MENU,
        "if true; then\nset default=1\n",
        "menuentry 'a' {\n",
        "set x='a\n",
        "for x in a b; do echo $x; done\n",
    ):
        path.write_text(text)
        refused = subprocess.run([checker, str(path)], capture_output=True, check=False).returncode != 0
        try:
            parse_grubcfg(text)
        except ValueError:
            assert refused, text
        else:
            assert not refused, text


def entry_of(script, block):
    """As the reader finds it, with the environment block as a program of GRUB's wrote it."""
    return grub_entry(host({"/boot/grub/grub.cfg": script, "/boot/grub/grubenv": block.read_bytes()})).kernel


def test_what_grubs_own_programs_write_mends_the_next_boot(tmp_path):
    """The remedy "make a kernel that has one the default entry", as grub-editenv, which grub-set-default and grub-reboot are, does it."""
    editor = need_real("grub-editenv", "apt-get install grub-common")
    script, block = HEADER % "${saved_entry}" + MENU, tmp_path / "grubenv"
    subprocess.run([editor, str(block), "create"], check=True)
    assert entry_of(script, block).endswith("6.8.0-90-generic")
    wanted = "gnulinux-advanced-0b5c>gnulinux-6.8.0-87-generic-advanced-0b5c"
    subprocess.run([editor, str(block), "set", f"saved_entry={wanted}"], check=True)
    assert entry_of(script, block).endswith("6.8.0-87-generic")
    subprocess.run([editor, str(block), "set", "next_entry=other"], check=True)
    assert entry_of(script, block).endswith("5.15.0-119-generic")
    subprocess.run([editor, str(block), "unset", "next_entry"], check=True)
    assert entry_of(script, block).endswith("6.8.0-87-generic")
