"""apt's sources of NVIDIA repositories, and the keys that verify them."""

import re
from collections.abc import Iterator
from itertools import chain, product

from hostagent.core.parsing import at_most, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, need
from hostagent.domains.packages.deb822 import parse_stanzas
from hostagent.domains.packages.openpgp import parse_key_ids
from hostagent.facts.packages import AptSource
from hostagent.host.source import Source
from hostagent.host.values import paths_in

_LIST = "/etc/apt/sources.list"
_PARTS = "/etc/apt/sources.list.d"
_MOST_SOURCES = 1000
_TRUSTED = ("/etc/apt/trusted.gpg", "/etc/apt/trusted.gpg.d")
_LINE = re.compile(r"(?P<off>#\s*)?deb(?:-src)?\s+(?:\[(?P<options>[^]]*)\]\s*)?(?P<uri>\S+)\s+(?P<suite>\S+)")
#: Found in the addresses of NVIDIA's repositories and of their mirrors.
_NVIDIA = re.compile(r"nvidia|/cuda/repos/", re.IGNORECASE)
#: Keyrings that hostagent writes: a source signed by one is a mirror of NVIDIA's, at any address.
_OWN_KEYS = re.compile(r"/usr/share/keyrings/hostagent-[a-z]+\.gpg")
_ONE_LINE, _DEB822, _KEYS = Keep("sources.list"), Keep("sources.deb822"), Keep("keyring")


def parse_sources_list(text: str, file: str) -> tuple[AptSource, ...]:
    """NVIDIA's sources in a one-line file (sources.list(5)), disabled ones too; raises ``ValueError``.

    >>> line = "deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] http://mirror/compute/cuda/repos/debian12/x86_64/ /"
    >>> [(one.uri, one.suite, one.signed_by) for one in parse_sources_list(line, "f")]
    [('http://mirror/compute/cuda/repos/debian12/x86_64/', '/', '/usr/share/keyrings/cuda-archive-keyring.gpg')]
    """
    matches = (_LINE.match(line.strip()) for line in text.splitlines())
    return _all(_from_line(match, file) for match in matches if match and (_NVIDIA.search(match["uri"]) or _is_own(match["options"] or "")))


def _is_own(signed_by: str) -> bool:
    return bool(_OWN_KEYS.search(signed_by))


def _all(sources: "Iterator[AptSource]") -> tuple[AptSource, ...]:
    """Raises ``ValueError`` if there are too many: checks compare every pair."""
    return tuple(at_most(_MOST_SOURCES, "sources", sources))


def _from_line(match: "re.Match[str]", file: str) -> AptSource:
    options = dict(part.partition("=")[::2] for part in (match["options"] or "").lower().split())
    signed_by = re.search(r"(?i)signed-by=(\S+)", match["options"] or "")
    return AptSource(
        file=file,
        uri=_address(match["uri"]),
        suite=match["suite"],
        signed_by=signed_by[1] if signed_by else "",
        trusted=options.get("trusted") == "yes",
        enabled=not match["off"],
    )


def parse_sources_deb822(text: str, file: str) -> tuple[AptSource, ...]:
    r"""NVIDIA's sources in a .sources file: one for each pair of URI and suite; raises ``ValueError``.

    >>> text = "Types: deb\nURIs: http://mirror/compute/cuda/repos/debian13/x86_64/\nSuites: /\nSigned-By: /k.gpg\nEnabled: no\n"
    >>> [(one.suite, one.signed_by, one.enabled) for one in parse_sources_deb822(text, "f")]
    [('/', '/k.gpg', False)]
    """
    return _all(one for fields in parse_stanzas(text) for one in _from_stanza(fields, file))


def _from_stanza(fields: dict[str, str], file: str) -> Iterator[AptSource]:
    signed_by = fields.get("signed-by", "")
    uris = [uri for uri in fields.get("uris", "").split() if _is_own(signed_by) or _NVIDIA.search(uri)]
    suites = fields.get("suites", "").split()
    if len(uris) * len(suites) > _MOST_SOURCES:  # product() begins with making lists of them
        raise ValueError(f"found {len(uris)} addresses with {len(suites)} suites, wanted at most {_MOST_SOURCES} sources")
    for uri, suite in product(uris, suites):
        yield AptSource(
            file=file,
            uri=_address(uri),
            suite=suite,
            signed_by="embedded" if "BEGIN PGP" in signed_by else signed_by,
            trusted=fields.get("trusted", "").lower() == "yes",
            enabled=fields.get("enabled", "yes").lower() not in ("no", "false", "without", "off", "disable", "0"),
        )


def _address(uri: str) -> str:
    """An address without user, password, query and fragment, with one closing slash: the form in which apt compares addresses.

    A password may contain unescaped delimiters: it ends at the last @ before NVIDIA's part.

    >>> _address("https://svc:a/b?c@d@mirror/nvidia?token=e@f#g"), _address("file:/srv/nvidia")
    ('https://mirror/nvidia/', 'file:/srv/nvidia/')
    """
    scheme, separator, rest = uri.partition("://") if "://" in uri else ("", "", uri)
    first, *others = (re.split("[?#]", part, maxsplit=1)[0] for part in rest.split("@"))
    place = next((part for part in reversed(others) if _NVIDIA.search(part)), others[-1] if others else first)
    return f"{scheme}{separator}{place}".rstrip("/") + "/"


@stops_at_unread
def read_apt_sources(source: Source) -> "tuple[AptSource, ...] | Unread":
    found: list[AptSource] = []
    for path in (_LIST, *paths_in(source, _PARTS)):
        name = path.rpartition("/")[2]
        if path == _LIST or re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*\.(?:list|sources)", name):
            parse, keep = (parse_sources_deb822, _DEB822) if name.endswith(".sources") else (parse_sources_list, _ONE_LINE)
            try:
                found = list(_all(chain(found, parse(need(source.text(path, keep=keep, absent="")), path))))
            except ValueError as error:
                return Unread("error", f"{path}: {error}")
    return tuple(found)


@stops_at_unread
def read_apt_keys(source: Source, sources: "tuple[AptSource, ...] | Unread") -> "tuple[tuple[str, str], ...] | Unread":
    """The keys in the keyrings that enabled sources name; in apt's own keyrings if a source names none."""
    if isinstance(sources, Unread):
        return sources
    named = {path for one in sources if one.enabled for path in re.split(r"[\s,]+", one.signed_by) if path.startswith("/")}
    if any(one.enabled and not one.signed_by for one in sources):
        named |= {_TRUSTED[0], *(path for path in paths_in(source, _TRUSTED[1]) if path.endswith((".gpg", ".asc")))}
    keys: list[tuple[str, str]] = []
    for path in sorted(named):
        data = source.read(path, keep=_KEYS)
        if isinstance(data, Unread) and data.why == "absent":
            continue
        try:
            keys += ((path, key) for key in parse_key_ids(need(data)))
        except ValueError as error:
            return Unread("error", f"{path}: {error}")
    return tuple(keys)
