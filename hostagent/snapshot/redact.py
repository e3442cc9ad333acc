"""Redaction: identities leave a tape, their shape and their equality stay."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any

from hostagent.core.secret.names import hidden, without_secret_arguments, without_secrets
from hostagent.core.secret.people import PERSON
from hostagent.core.tables import daemons
from hostagent.domains.slurm.conf import in_hostlist
from hostagent.snapshot import identities as found
from hostagent.snapshot.addresses import Spellings
from hostagent.snapshot.slurmconf import with_nodes

#: The same on every machine, and part of the names of EFI variables that are read (UEFI specification, section 3.3).
_EFI_GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
_EVERYWHERE = frozenset({_EFI_GLOBAL, daemons.RESTART_SCHEDULED})
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

#: The question that has a board's serial number as its answer.
_SERIAL = re.compile(r"nvml device \d+ serial")
#: Four numbers with points between them may be a version: of firmware (229.2.52.0), of a module. Who asks for one knows.
_VERSIONS = frozenset({"fw_ver", "version"})
_VERSION = re.compile(r"\d[\d.]{0,40}(?:/pkg \d[\d.]{0,40})?\s?")
_MODULE = re.compile(r"read /sys/module/[\w-]{1,64}/version")
#: Addresses of a PCI function's memory look like GUIDs, and name nothing.
_RESOURCE = re.compile(r"read /sys/bus/pci/devices/[\w:.]{1,20}/resource")
_ADDRESSES_OF_MEMORY = re.compile(r"(?:0x[0-9a-f]{16} 0x[0-9a-f]{16} 0x[0-9a-f]{16}\n?){1,64}")
#: Questions with an answer that is kept if it is of this form.
_PLAIN = ((_MODULE, _VERSION), (_RESOURCE, _ADDRESSES_OF_MEMORY))
#: Settings of NCCL that may name a host, and how.
_ADDRESSES = frozenset({"NCCL_COMM_ID", "NCCL_RAS_ADDR"})
_HOST = re.compile(r"(?!localhost\b|host-[0-9a-f]{6}\b)([A-Za-z0-9][A-Za-z0-9.-]{0,252})(:\d{1,5})?")
#: What this program has called something.
_CALLED = re.compile(r"(?:user|serial|device|program|ip)-[0-9a-f]{6}")
#: Programs with names that identify no user.
_DAEMONS = frozenset(daemons.processes())


class Redactor:
    """Replaces identities under one key: two tapes redacted with one key can be compared, with two keys not."""

    def __init__(self, key: bytes, names: "tuple[str, ...]" = ()) -> None:
        self._key = key
        self._addresses = Spellings(key)
        self._own = names
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
        'host-676f96 has ca:7f:12:f9:86:89'
        """
        text = without_secrets(text)
        for pattern, replacement in self._patterns():
            text = pattern.sub(replacement, text)
        return text

    def _patterns(self) -> "list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]":
        named = [(self._names, lambda seen: self.name(seen[0]))] if self._names else []
        return [
            *self._cards(),
            (found.DEVICE, self._called("device")),
            (found.SERIAL, self._called("serial")),
            (found.IPV6, self._addresses.ipv6),
            (found.EMAIL, self._email),
            (found.IPV4, self._addresses.ipv4),
            (found.DASHED, self._called("ip")),
            (PERSON, self._called("user")),
            (found.PROGRAM, self._called("program")),
            *named,
        ]

    def _cards(self) -> "list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]":
        """Ids and addresses of machines and cards, which names of interfaces and devices may hold."""
        hardware = self._addresses.hardware
        return [(found.UUID, self._id), (found.MAC, hardware), (found.HEX, self._hex), (found.GUID, hardware)]

    def _called(self, word: str) -> "Callable[[re.Match[str]], str]":
        """What is called by another name, once and for all."""
        return lambda seen: seen[0] if _CALLED.fullmatch(seen[0]) else f"{word}-{self._digest(seen[0])[:6]}"

    def name(self, name: str) -> str:
        """A host name, however short."""
        return f"host-{self._digest(name)[:6]}" if name else name

    def _digest(self, text: str) -> str:
        return hmac.new(self._key, text.lower().encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def _id(self, seen: "re.Match[str]") -> str:
        """Digits of the digest in place of the digits, the same with dashes and without. All zeros and all ones mean something: kept."""
        digits = seen[0].lower().replace("-", "")
        if seen[0].lower() in _EVERYWHERE or set(digits) in ({"0"}, {"f"}):
            return seen[0]
        digest = iter(self._digest(digits))
        return "".join(char if char == "-" else next(digest) for char in seen[0])

    def _hex(self, seen: "re.Match[str]") -> str:
        return self._id(seen) if seen["id"] else str(getattr(self._addresses, seen.lastgroup or "")(seen))

    def _email(self, seen: "re.Match[str]") -> str:
        return seen[0] if seen["publisher"] else f"user-{self._digest(seen[0])[:6]}@example.invalid"

    def answers(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Every answer, and every question that names what an answer names."""
        return {self.text(key): self._said(key, value) for key, value in answers.items()}

    def _said(self, question: str, answer: Any) -> Any:
        if _SERIAL.fullmatch(question):
            return self._serial(answer)
        if question == "network listeners" and isinstance(answer, dict) and isinstance(answer.get("json"), list):
            return {"json": [self._listener(row) for row in answer["json"]]}
        if question == "gpu_users" and isinstance(answer, dict) and isinstance(answer.get("json"), list):
            return {"json": [self._user(row) for row in answer["json"]]}
        if question == "environment" and isinstance(answer, dict) and isinstance(answer.get("json"), dict):
            return {"json": self._job(answer["json"])}
        text = answer.get("text") if isinstance(answer, dict) else None
        if isinstance(text, str) and answer.get("kept", [])[:1] == ["nccl.conf"]:
            return {**answer, "text": "\n".join(map(self._conf_line, text.split("\n")))}
        if isinstance(text, str) and answer.get("kept", [])[:1] == ["slurm.conf"]:
            return {**answer, "text": self.text(with_nodes(text, self.nodes))}
        plain = next((words for asked, words in _PLAIN if asked.fullmatch(question)), None)
        return answer if plain and isinstance(text, str) and plain.fullmatch(text) else self._answer(answer)

    def _job(self, answer: dict[str, Any]) -> Any:
        """Of settings none is a secret: which are kept is decided where they are read. NCCL_IB_PKEY is no key."""
        variables = answer.get("variables")
        rest = self.value({key: value for key, value in answer.items() if key != "variables"})
        if not isinstance(variables, dict):
            return self.value(answer)
        return {"variables": {name: self.setting(name, value) for name, value in variables.items()}, **rest}

    def _conf_line(self, line: str) -> str:
        name, equals, value = line.partition("=")
        return f"{name}={self.setting(name, value)}" if equals else self.text(line)

    def setting(self, name: str, value: Any) -> Any:
        """The value of one of NCCL's. An address may be the name of another host.

        >>> Redactor(b"key").setting("NCCL_COMM_ID", "node-17:29500"), Redactor(b"key").setting("NCCL_IB_PKEY", "3")
        ('host-2f9e6f:29500', '3')
        """
        if not isinstance(value, str):
            return self.value(value)
        host = _HOST.fullmatch(value) if name in _ADDRESSES else None
        return self.name(host[1]) + (host[2] or "") if host and not found.IPV4.fullmatch(host[1]) else self.text(value)

    def nodes(self, hostlist: str) -> str:
        """A host list of Slurm as one name: that of this host where it is in there, else one of its own."""
        if any(in_hostlist(name, hostlist) for name in self._own if name):
            return self.name(self._own[0])
        return self.name(hostlist)

    def _listener(self, row: Any) -> Any:
        """The program that has taken a port may be a person's, as one that a fault names."""
        match row:
            case [port, str(name)] if name:
                return [port, self._program(name)]
        return self.value(row)

    def _user(self, row: Any) -> Any:
        """And so may one that uses a GPU, unless it is a daemon that everybody has."""
        if not isinstance(row, dict) or not isinstance(row.get("program"), str):
            return self.value(row)
        return {**self.value(row), "program": row["program"] if row["program"] in _DAEMONS else self._program(row["program"])}

    def _program(self, name: str) -> str:
        return name if _CALLED.fullmatch(name) else f"program-{self._digest(name)[:6]}"

    def _serial(self, answer: Any) -> Any:
        """A serial number is any text: only its question identifies it."""
        serial = answer.get("json") if isinstance(answer, dict) else None
        return {"json": f"serial-{self._digest(serial)[:6]}"} if isinstance(serial, str) else self._answer(answer)

    def _answer(self, value: Any) -> Any:
        """Of the names that an answer kept those of the host are paths: what readers call things is no secret."""
        if not (isinstance(value, dict) and isinstance(value.get("kept"), list)):
            return self.value(value)
        names = [self.text(name) if isinstance(name, str) and name.startswith("/") else name for name in value["kept"]]
        return {**self.value({key: item for key, item in value.items() if key != "kept"}), "kept": names}

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
            return {self._key_of(key): self._entry(key, item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list) else value

    def _key_of(self, key: str) -> str:
        """A key is a word of this program's, or the name of an interface."""
        for pattern, replacement in self._cards():
            key = pattern.sub(replacement, key)
        return key

    def _entry(self, key: str, value: Any) -> Any:
        """The key says what a text is."""
        if key in _VERSIONS and isinstance(value, str) and _VERSION.fullmatch(value):
            return value
        if key == "node_desc" and isinstance(value, str):  # an RDMA device has its host's name there
            return self.name(value)
        return self.value(_arguments(value) if key == "argv" else hidden(key, value))


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
    """A flag and its value are two strings: only the list shows that."""
    return without_secret_arguments([str(one) for one in argv]) if isinstance(argv, list) else argv


def _domains(name: str) -> "list[str]":
    """Of ``gpu-17.dc1.example.com``: ``dc1.example.com`` and ``example.com``."""
    labels = name.lower().strip(".").split(".")[1:]
    found = (".".join(labels[index:]) for index in range(len(labels) - 1))
    return [domain for domain in found if domain not in _VENDORS]
