"""Filters of what package managers keep: sources, settings, pins, databases, keyrings, and the linker's cache."""

import re
import struct
from collections.abc import Callable, Iterator

from hostagent.core.unread import Unread
from hostagent.domains.driver.read_ld_cache import parse_ldcache
from hostagent.domains.packages.deb822 import parse_stanzas
from hostagent.domains.packages.openpgp import public_keys
from hostagent.domains.packages.read_apt import parse_sources_deb822, parse_sources_list
from hostagent.domains.packages.read_apt_conf import statements
from hostagent.domains.packages.read_repositories import parse_repositories, to_ini
from hostagent.facts.packages import AptSource

Mask = Callable[[str], str]


def _lines(lines: "Iterator[str]") -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def apt_conf(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""The named settings, each in full on a line of its own, and the orders that clear one; raises ``ValueError``.

    >>> apt_conf(b'Acquire { http::Proxy "http://u:p@h"; }; A::B { "x"; "y"; }; #clear A;', ("a::b",), str)
    b'A::B:: "x";\nA::B:: "y";\n#clear A;\n'
    """
    return _lines(line for scope, statement in statements(data.decode("utf-8", "replace")) for line in _setting(scope, statement, names))


def _setting(scope: "list[str]", statement: "list[str]", names: tuple[str, ...]) -> Iterator[str]:
    if statement[0] == "#clear":
        gone = "::".join([*scope, *statement[1:2]]).rstrip(":")
        if any(name == gone.lower() or name.startswith(f"{gone.lower()}::") for name in names):
            yield f"#clear {gone};"
        return
    is_item = statement[0].startswith('"') or statement[0] == "::"
    name = "::".join(scope if is_item else [*scope, statement[0]])
    if name.lower().rstrip(":") in names and (is_item or len(statement) > 1):
        value = statement[-1].strip('"')
        yield f'{name.rstrip(":")}{"::" if is_item or name.endswith("::") else ""} "{value}";'


def sources_list(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """NVIDIA's sources alone, without credentials."""
    return _lines(_one_line(one) for one in parse_sources_list(data.decode("utf-8", "replace"), ""))


def _one_line(one: AptSource) -> str:
    options = [f"signed-by={one.signed_by}"] * bool(one.signed_by) + ["trusted=yes"] * one.trusted
    return f"{'' if one.enabled else '# '}deb {'[' + ' '.join(options) + '] ' if options else ''}{one.uri} {one.suite}"


def sources_deb822(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """The same of a .sources file; raises ``ValueError``."""
    return _lines(_stanza(one) for one in parse_sources_deb822(data.decode("utf-8", "replace"), ""))


def _stanza(one: AptSource) -> str:
    signed_by = "-----BEGIN PGP PUBLIC KEY BLOCK-----" if one.signed_by == "embedded" else one.signed_by
    fields = {"Types": "deb", "URIs": one.uri, "Suites": one.suite, "Signed-By": signed_by}
    fields |= {"Trusted": "yes"} if one.trusted else {}
    return "".join(f"{key}: {value}\n" for key, value in {**fields, "Enabled": "yes" if one.enabled else "no"}.items() if value)


def repositories(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """Those of dnf, zypper and tdnf without credentials; of others than NVIDIA's the host alone. Raises ``ValueError``."""
    return _lines(to_ini(parse_repositories(data.decode("utf-8", "replace"), "")))


def stanzas(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""The named fields of each stanza; with ``NAME=…`` only of those where the field begins with that.

    >>> stanzas(b"Package: a\nPin: version 1\nExplanation: x\n\nPackage: b\nPin: origin y\n", ("package", "pin=version "), str)
    b'package: a\npin: version 1\n\n'
    """
    wanted = dict(name.partition("=")[::2] for name in names)
    rows = parse_stanzas(data.decode("utf-8", "replace"))
    used = (row for row in rows if all(row.get(key, "").lower().startswith(start) for key, start in wanted.items() if start))
    return _lines("".join(f"{key}: {value}\n" for key, value in row.items() if key in wanted) for row in used)


def dpkg(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""The named fields of the packages that begin with ``NAME*``, and of every other one those named ``*.FIELD``.

    >>> dpkg(b"Package: bash\nStatus: x\n\nPackage: nvidia-a\nStatus: y\nDescription: z\n", ("Package", "Status", "nvidia*"), str)
    b'Package: nvidia-a\nStatus: y\n\n'
    >>> dpkg(b"Package: bash\nStatus: x\nMaintainer: z\n", ("*.Package", "*.Status", "nvidia*"), str)
    b'Package: bash\nStatus: x\n\n'
    """
    if b"\0" in data:
        raise ValueError("holds binary data")
    text = data.decode("utf-8", "surrogateescape")
    wanted = tuple(f"Package: {name[:-1]}" for name in names if name.endswith("*"))
    every = frozenset(name[2:] for name in names if name.startswith("*."))
    stanzas = ((stanza.split("\n"), stanza.lstrip("\n").startswith(wanted)) for stanza in text.split("\n\n"))
    kept = ([line for line in lines if line.partition(":")[0] in (names if is_ours else every)] for lines, is_ours in stanzas)
    return _lines("".join(f"{line}\n" for line in lines) for lines in kept if lines)


def keyring(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """The public keys alone, of which the ids are computed: no name, no address, no signature. Raises ``ValueError``."""
    return b"".join(bytes((0xC0 | tag, 0xFF)) + len(body).to_bytes(4, "big") + body for tag, body in public_keys(data))


#: As `hostagent.domains.driver.read_ld_cache` reads it: header, entries, texts.
_MAGIC, _HEADER, _ENTRY = b"glibc-ld.so.cache1.1", struct.Struct("<20sII20x"), struct.Struct("<IIIIQ")
_X86_64 = 0x0300


def ldcache(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """A cache with the entries of the named libraries alone; raises ``ValueError``."""
    entries = parse_ldcache(data, names)
    if isinstance(entries, Unread):
        raise ValueError(re.sub(r"^/etc/ld\.so\.cache ", "", entries.detail))  # noqa: TRY004  no type is wrong
    start = _HEADER.size + len(entries) * _ENTRY.size
    texts, table = bytearray(), bytearray()
    for entry in entries:
        places = []
        for text in (entry.soname, entry.path):
            places.append(start + len(texts))
            texts += text.encode() + b"\0"
        table += _ENTRY.pack(_X86_64, *places, 0, 0)
    return _HEADER.pack(_MAGIC, len(entries), len(texts)) + bytes(table) + bytes(texts)
