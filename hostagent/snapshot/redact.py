"""Redaction: identities leave a tape, their shape and their equality stay."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any

from hostagent.snapshot.secret import without_secret_arguments, without_secrets

_HEX = "[0-9a-fA-F]"
_UUID = re.compile(rf"(?<![0-9a-fA-F]){_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}(?![0-9a-fA-F])")
#: Ethernet, and InfiniBand in sysfs, which writes lower case: fingerprints of keys are in upper case. And as udev names interfaces.
_MAC = re.compile(
    rf"(?<![\w:])(?:{_HEX}{{2}}(?::{_HEX}{{2}}){{5}}|[0-9a-f]{{2}}(?::[0-9a-f]{{2}}){{19}})(?![\w:])"
    rf"|(?<![\w-]){_HEX}{{2}}(?:-{_HEX}{{2}}){{5}}(?![\w-])|(?<=\benx)[0-9a-f]{{12}}(?![0-9a-z])"
)
_LONG_HEX = re.compile(rf"(?<![0-9a-zA-Z]){_HEX}{{32}}(?![0-9a-zA-Z])")  # machine ids
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d\d|\d)"  # no leading zero: 580.159.03.1 is a version
_IPV4 = re.compile(rf"(?<![\d.])(?!0\.|127\.|255\.)(?:{_OCTET}\.){{3}}{_OCTET}(?![\d.])")
_IPV6 = re.compile(rf"(?<![\w:])(?=[\da-fA-F:]*:[\da-fA-F]*:){_HEX}{{0,4}}(?::{_HEX}{{0,4}}){{2,8}}(?![\w:]|\.\d)")
#: The same on every machine, and part of the names of EFI variables that are read (UEFI specification, section 3.3).
_EFI_GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
#: GKE keeps the driver below /home/kubernetes: a place, not a person.
_HOME = re.compile(r"(?<=/home/)(?!kubernetes\b)[^/\s\"':,;\\\[\]{}()]+")
#: Not after a slash (what stays of a URL), not the names of systemd's units. The maker of a package is no person: who made it stays.
_EMAIL = re.compile(
    r"(?m)^(?P<publisher>(?:Maintainer|Original-Maintainer|Packager|Vendor|author):[^\n]*)"
    r"|(?<![\w.+/@-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}"
    r"(?!(?:service|socket|timer|mount|target|slice|scope|device|path|swap|automount|conf|d)\b)[A-Za-z]{2,24}(?![\w-])"
)
#: Also host names: in a file they are words, and replacing ID=ubuntu would change what the host is.
_WORDS = frozenset(
    (
        "localhost", "ubuntu", "debian", "rhel", "redhat", "fedora", "centos", "rocky", "almalinux", "sles", "suse", "opensuse",
        "amazon", "linux", "kernel", "nvidia", "gpu", "host", "node", "server", "worker", "master", "agent", "root",
        "home", "data", "boot", "proc", "sys", "dev", "etc", "usr", "var", "run", "test", "docker",
        "containerd", "crio", "kubelet", "kubernetes", "k3s", "rke2", "microk8s", "k0s", "slurm", "cuda", "driver",
    )
)  # fmt: skip
#: Domains that evidence is full of: nvidia.com/gpu is a CDI device, the others are registries and mirrors.
_VENDORS = frozenset(
    {"nvidia.com", "k8s.io", "docker.io", "docker.com", "containerd.io", "ubuntu.com", "debian.org", "redhat.com", "suse.com"}
)
#: A dotted quad that is a version, not an address: kernels and packages have those, four fields below 256 too.
_VERSION_CONTEXT = re.compile(r"(?i)(?:version|linux|kernel|release|~|-|\+|_)\s*$")


class Redactor:
    """Replaces identities under one key: two tapes redacted with one key can be compared, with two keys not."""

    def __init__(self, key: bytes, names: "tuple[str, ...]" = ()) -> None:
        self._key = key
        wanted = sorted((name for name in names if len(name) > 2 and name.lower() not in _WORDS), key=len, reverse=True)
        domains = sorted({domain for name in names for domain in _domains(name)}, key=len, reverse=True)
        # Case counts in a name: the host h100 has GPUs called H100.
        alternatives = [rf"(?i:(?:[\w-]{{1,63}}\.){{0,8}}{re.escape(domain)})" for domain in domains]
        alternatives += [re.escape(name) for name in wanted]
        self._names = re.compile(rf"(?<![^\W_]|[.-])(?:{'|'.join(alternatives)})(?![^\W_]|-)") if alternatives else None

    def text(self, text: str) -> str:
        """`text` without host names, addresses, ids and secrets.

        >>> redactor = Redactor(b"key", ("gpu-17",))
        >>> redactor.text("gpu-17 has 02:42:ac:11:00:02")
        'host-676f96 has 9a:1e:c5:35:a3:cf'
        """
        text = without_secrets(text)
        for pattern, replacement in self._patterns():
            text = pattern.sub(replacement, text)
        return text

    def _patterns(self) -> "list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]":
        shaped = [(pattern, self._same_shape) for pattern in (_UUID, _MAC, _LONG_HEX)]
        named = [(self._names, lambda found: self.name(found[0]))] if self._names else []
        return [
            *shaped,
            (_IPV6, self._address6),
            (_EMAIL, self._email),
            (_IPV4, self._address),
            (_HOME, lambda found: f"user-{self._digest(found[0])[:6]}"),
            *named,
        ]

    def name(self, name: str) -> str:
        """A host name, however short."""
        return f"host-{self._digest(name)[:6]}" if name else name

    def _digest(self, text: str) -> str:
        return hmac.new(self._key, text.lower().encode(), hashlib.sha256).hexdigest()

    def _same_shape(self, found: "re.Match[str]") -> str:
        """Digits of the digest in the places of the hexadecimal digits. All zeros and all ones mean something: kept."""
        digits = [char for char in found[0].lower() if char in "0123456789abcdef"]
        if found[0].lower() == _EFI_GLOBAL or set(digits) in ({"0"}, {"f"}):
            return found[0]
        digest = iter(self._digest(found[0]) * (1 + len(digits) // 64))
        return "".join(next(digest) if char.lower() in "0123456789abcdef" else char for char in found[0])

    def _address(self, found: "re.Match[str]") -> str:
        if _VERSION_CONTEXT.search(found.string[max(0, found.start() - 12) : found.start()]):
            return found[0]
        digest = bytes.fromhex(self._digest(found[0]))
        return f"10.{digest[0]}.{digest[1]}.{digest[2]}"

    def _address6(self, found: "re.Match[str]") -> str:
        """Times, PCI addresses and C++ names look alike: what is no address stays. So do ``::`` and ``::1``."""
        from ipaddress import AddressValueError, IPv6Address

        try:
            address = IPv6Address(found[0])
        except AddressValueError:
            return found[0]
        return found[0] if int(address) <= 1 or not re.search(r"\d", found[0]) else self._same_shape(found)

    def _email(self, found: "re.Match[str]") -> str:
        return found[0] if found["publisher"] else f"user-{self._digest(found[0])[:6]}@example.invalid"

    def answers(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Every answer, and every question that names what an answer names."""
        return {self.text(key): self.value(value) for key, value in answers.items()}

    def _binary(self, encoded: str) -> str:
        """Text in another encoding is binary too; real binary evidence (linker cache) holds no identities to replace."""
        text = base64.b64decode(encoded).decode("latin-1")
        return base64.b64encode(self.text(text).encode("latin-1")).decode("ascii")

    def value(self, value: Any) -> Any:
        """A decoded answer, or a part of one."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict) and set(value) == {"base64"}:
            return {"base64": self._binary(value["base64"])}
        if isinstance(value, dict):
            return {key: self.value(_arguments(item) if key == "argv" else item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list) else value


def redacted(answers: Mapping[str, Any], key: bytes) -> dict[str, Any]:
    """The encoded answers of a tape, without secrets and without the identities of the host that gave them."""
    match answers.get("host"):
        case {"json": {"hostname": str(name), **facts}}:
            redactor = Redactor(key, (name, name.partition(".")[0]))
            # Whole and however short: elsewhere a name that is a word stays.
            host = {"json": {**redactor.value(facts), "hostname": redactor.name(name)}}
            return {**redactor.answers(answers), "host": host}
    return Redactor(key).answers(answers)


def _arguments(argv: Any) -> Any:
    """A flag and its value are two strings: only the list tells."""
    return without_secret_arguments([str(one) for one in argv]) if isinstance(argv, list) else argv


def _domains(name: str) -> "list[str]":
    """Of ``gpu-17.dc1.example.com``: ``dc1.example.com`` and ``example.com``."""
    labels = name.lower().strip(".").split(".")[1:]
    found = (".".join(labels[index:]) for index in range(len(labels) - 1))
    return [domain for domain in found if domain not in _VENDORS]
