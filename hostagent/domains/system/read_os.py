"""The distribution, its architecture and SELinux."""

from collections.abc import Callable, Mapping
from typing import Any

from hostagent.core.answers import MIB
from hostagent.core.retention import WHOLE, Keep
from hostagent.core.unread import Unread, then
from hostagent.facts.os import Ancestry, Os
from hostagent.host.source import Source

#: Programs in every root file system, small ones first; their ELF header has the machine.
_ELF_FILES = ("/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-x86-64.so.2", "/bin/sh", "/sbin/init", "/bin/busybox")
#: Keys of os-release; the variant is for `platform`.
RELEASE = Keep("keys", ("id", "pretty_name", "variant_id", "version_id"))
_ANCESTRY = Keep("keys", ("id_like",))
_ELF_HEADER, _MODE = Keep("head", ("20",)), Keep("settings", ("SELINUX",))
#: e_machine of the ELF header (elf.h), as `uname -m` prints it.
_ELF_MACHINES = {3: "i686", 21: "ppc64le", 22: "s390x", 40: "armv7l", 62: "x86_64", 183: "aarch64", 243: "riscv64"}


def read_os(source: Source, known: Callable[[type], Any]) -> Os:
    release = source.os_release(keep=RELEASE)
    return Os(
        id=word_of(release, "id"),
        version_id=word_of(release, "version_id"),
        pretty_name=word_of(release, "pretty_name"),
        arch=_arch(source),
        selinux=_selinux(source),
        selinux_container_devices=then(source.text("/sys/fs/selinux/booleans/container_use_devices", keep=WHOLE), parse_selinux_boolean),
    )


def read_ancestry(source: Source, known: Callable[[type], Any]) -> Ancestry:
    """A separate fact, so that older snapshots, which lack it, still have the others."""
    return Ancestry(word_of(source.os_release(keep=_ANCESTRY), "id_like", ""))


def word_of(release: "Mapping[str, Any] | Unread", key: str, default: str | None = None) -> "str | Unread":
    if isinstance(release, Unread):
        return release
    value = release.get(key, default)
    if value is None:
        return Unread("absent", f"os-release has no {key.upper()}")
    return value if isinstance(value, str) else Unread("error", f"os-release: {key.upper()} is a {type(value).__name__}")


def _arch(source: Source) -> "str | Unread":
    host = source.host()
    if isinstance(host, Unread):
        return host
    if isinstance(host.get("machine"), str):
        return str(host["machine"])
    for path in _ELF_FILES:
        data = source.read(path, 4 * MIB, keep=_ELF_HEADER)
        if not isinstance(data, Unread):
            return parse_elf_machine(data)
        if data.why != "absent":
            return data
    return Unread("absent", f"none of {', '.join(_ELF_FILES)}")


def parse_elf_machine(data: bytes) -> "str | Unread":
    """The architecture of a program, as ``uname -m`` prints it.

    >>> parse_elf_machine(bytes.fromhex("7f454c46020101000000000000000000" "0300" "3e00"))
    'x86_64'
    >>> parse_elf_machine(b"#!/bin/sh")
    Unread('error', 'not an ELF file')
    """
    if len(data) < 20 or data[:4] != b"\x7fELF":
        return Unread("error", "not an ELF file")
    machine = int.from_bytes(data[18:20], "big" if data[5] == 2 else "little")
    return _ELF_MACHINES.get(machine, Unread("error", f"ELF machine {machine}"))


def _selinux(source: Source) -> "str | Unread":
    """The running state; for an image, the configured one."""
    enforce = source.text("/sys/fs/selinux/enforce", keep=WHOLE)
    if not isinstance(enforce, Unread):
        word = enforce.strip()
        return {"1": "enforcing", "0": "permissive"}.get(word, Unread("error", f"/sys/fs/selinux/enforce says {word[:20]!r}"))
    if enforce.why == "absent":
        return "disabled"
    if enforce.why != "not-running":
        return enforce
    return then(source.text("/etc/selinux/config", keep=_MODE, absent="SELINUX=disabled"), parse_selinux_config)


def parse_selinux_config(text: str) -> "str | Unread":
    r"""The mode in /etc/selinux/config.

    >>> parse_selinux_config("# SELINUX= can take one of\nSELINUX=enforcing\nSELINUXTYPE=targeted\n")
    'enforcing'
    """
    for line in text.splitlines():
        key, _, value = line.strip().partition("=")
        if key.strip() == "SELINUX":
            word = value.strip().lower()
            wanted = ("enforcing", "permissive", "disabled")
            return word if word in wanted else Unread("error", f"/etc/selinux/config: SELINUX={word[:20]}")
    return Unread("error", "/etc/selinux/config does not set SELINUX")


def parse_selinux_boolean(text: str) -> "bool | Unread":
    """A selinuxfs boolean: current and pending value.

    >>> parse_selinux_boolean("1 1"), parse_selinux_boolean("0 1")
    (True, False)
    """
    current = text.split()[:1]
    return {"1": True, "0": False}.get("".join(current), Unread("error", f"container_use_devices says {text[:20]!r}"))
