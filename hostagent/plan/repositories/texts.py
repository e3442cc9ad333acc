"""apt's sources by the texts of their files, because readers do not recognize a mirror, which has another address than NVIDIA."""

import re
from collections.abc import Iterator

from hostagent.core.unread import Unread, need
from hostagent.facts.packages import AptSource
from hostagent.plan.view import View

_FOLDER = "/etc/apt/sources.list"
_LINE = re.compile(r"\s*deb(?:-src)?\s+(?:\[(?P<options>[^]]*)\]\s*)?(?P<uri>\S+)\s+(?P<suite>\S+)")
_OFF = ("no", "false", "without", "off", "disable", "0")


def sources_of(view: View, url: str) -> tuple[AptSource, ...]:
    """Sources with this address, enabled or not; none for a snapshot, which has no whole file. Raises ``UnreadError``."""
    found: list[AptSource] = []
    for file in need(need(view.installation).files):
        if file.path.startswith(_FOLDER) and not isinstance(file.text, Unread):
            read = _stanzas if file.path.endswith(".sources") else _lines
            found += (one for one in read(file.text, file.path) if one.uri == url)
    return tuple(found)


def address(uri: str) -> str:
    """Without user and password, with one closing slash.

    >>> address("https://user:word@mirror/cuda"), address("file:/srv/cuda/")
    ('https://mirror/cuda/', 'file:/srv/cuda/')
    """
    return re.sub(r"://[^/]*@", "://", uri).rstrip("/") + "/"


def _lines(text: str, path: str) -> Iterator[AptSource]:
    for match in filter(None, map(_LINE.match, text.splitlines())):
        options = match["options"] or ""
        signed_by = re.search(r"(?i)signed-by=(\S+)", options)
        trusted = re.search(r"(?i)trusted=yes", options) is not None
        yield AptSource(path, address(match["uri"]), match["suite"], signed_by[1] if signed_by else "", trusted, enabled=True)


def _stanzas(text: str, path: str) -> Iterator[AptSource]:
    for stanza in re.split(r"\n[ \t]*\n", text):
        lines = re.sub(r"\n[ \t]+", " ", "\n".join(line for line in stanza.splitlines() if not line.startswith("#")))
        fields = {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in lines.splitlines())}
        signed_by = fields.get("signed-by", "")
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                yield AptSource(
                    file=path,
                    uri=address(uri),
                    suite=suite,
                    signed_by="embedded" if "BEGIN PGP" in signed_by else signed_by,
                    trusted=fields.get("trusted", "").lower() == "yes",
                    enabled=fields.get("enabled", "yes").lower() not in _OFF,
                )
