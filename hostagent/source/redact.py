"""Redaction: identities leave a tape, their shape and their equality stay."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any

_HEX = "[0-9a-fA-F]"
_UUID = re.compile(rf"(?<![0-9a-fA-F]){_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}(?![0-9a-fA-F])")
_MAC = re.compile(rf"(?<![0-9a-fA-F:]){_HEX}{{2}}(?::{_HEX}{{2}}){{5}}(?![0-9a-fA-F:])")
_LONG_HEX = re.compile(rf"(?<![0-9a-zA-Z]){_HEX}{{32}}(?![0-9a-zA-Z])")  # machine ids
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d\d|\d)"  # no leading zero: 580.159.03.1 is a version
_IPV4 = re.compile(rf"(?<![\d.])(?!0\.|127\.|255\.)(?:{_OCTET}\.){{3}}{_OCTET}(?![\d.])")
_IPV6 = re.compile(rf"(?<![0-9a-fA-F:])(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}(?![0-9a-fA-F:])")
#: The same on every machine, and part of the names of EFI variables that are read (UEFI specification, section 3.3).
_EFI_GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
#: GKE keeps the driver below /home/kubernetes: a place, not a person.
_HOME = re.compile(r"(?<=/home/)(?!kubernetes\b)[^/\s\"':,]+")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@:]+:[^/\s@]+(?=@)")
_SECRET = re.compile(r"(?i)((?:token|password|passwd|secret|api_?key|auth|identitytoken|private_?key)[\"']?\s*[:=]\s*[\"']?)([^\s\"',;}]+)")
#: A dotted quad that is a version, not an address: kernels and packages have those, four fields below 256 too.
_VERSION_CONTEXT = re.compile(r"(?i)(?:version|linux|kernel|release|~|-|\+|_)\s*$")


class Redactor:
    """Replaces identities under one key: two tapes redacted with one key can be compared, with two keys not."""

    def __init__(self, key: bytes, names: "tuple[str, ...]" = ()) -> None:
        self._key = key
        wanted = sorted((name for name in names if len(name) > 2), key=len, reverse=True)
        alternatives = "|".join(re.escape(name) for name in wanted)
        self._names = re.compile(rf"(?<![\w.-])(?:{alternatives})(?![\w-])") if alternatives else None

    def text(self, text: str) -> str:
        """`text` without host names, addresses, ids and secrets.

        >>> redactor = Redactor(b"key", ("gpu-17",))
        >>> redactor.text("gpu-17 has 02:42:ac:11:00:02")
        'host-676f96 has 9a:1e:c5:35:a3:cf'
        """
        text = _SECRET.sub(lambda found: f"{found[1]}<removed>", text)
        text = _CREDENTIALS.sub("<removed>", text)
        for pattern, replacement in self._patterns():
            text = pattern.sub(replacement, text)
        return text

    def _patterns(self) -> "list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]":
        shaped = [(pattern, self._same_shape) for pattern in (_UUID, _MAC, _LONG_HEX, _IPV6)]
        named = [(self._names, lambda found: self.name(found[0]))] if self._names else []
        return [*shaped, (_IPV4, self._address), (_HOME, lambda found: f"user-{self._digest(found[0])[:6]}"), *named]

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

    def answers(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Every answer, and every question that names what an answer names."""
        return {self.text(key): self._value(value) for key, value in answers.items()}

    def _binary(self, encoded: str) -> str:
        """Text in another encoding is binary too; real binary evidence (linker cache) holds no identities to replace."""
        text = base64.b64decode(encoded).decode("latin-1")
        return base64.b64encode(self.text(text).encode("latin-1")).decode("ascii")

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict) and set(value) == {"base64"}:
            return {"base64": self._binary(value["base64"])}
        if isinstance(value, dict):
            return {key: self._value(item) for key, item in value.items()}
        return [self._value(item) for item in value] if isinstance(value, list) else value
