"""Messages of a package manager for display: without credentials, on one line, of limited length."""

# A key that is bound by SHA-1 is taken by apt 2, which NVIDIA's older repositories need, and refused by apt 3: apt decides. gpgv
# counts a signature made with SHA-1 as "invalid" with a bare fingerprint behind it, which no other fault has. Codes come from
# what apt 2.6 (gpgv) and apt 3 (sqv) print, each tried with a repository made for it.

import re
from collections.abc import Iterable
from typing import Literal

from hostagent.core.escape import visible
from hostagent.core.secret.names import without_secrets
from hostagent.domains.packages.read_repositories import plain_url
from hostagent.plan.offers import RefreshFault

_MAX_TEXT, _MAX_MESSAGE = 2000, 20000
_USER = re.compile(r"(?<=://)[^\s/'\"]*@")
_DIRECTORY = re.compile(r"^(?:file|dir|copy):/+")
_URL = re.compile(r"(?:https?|ftp|file|cdrom|copy|mirror(?:\+\w{1,8})?|tor\+https?)://?[^\s'\",]+|\bfile:/[^\s'\",]+")


def shown(text: str) -> str:
    r"""One or several lines of a program, made one; credentials in addresses and what looks like a secret are left out.

    >>> shown("Err:1 http://bob:pw@mirror/x InRelease\n  403  Forbidden")
    'Err:1 http://mirror/x InRelease: 403 Forbidden'
    """
    lines = (" ".join(line.split()).rstrip(":") for line in text.splitlines())
    return visible(without_secrets(_USER.sub("", ": ".join(filter(None, lines)))))[:_MAX_TEXT]


def repository_url(url: str) -> str:
    """The same with its closing slash, a directory in one spelling: so are the addresses of one repository one.

    >>> repository_url("file:///srv/repo"), repository_url("dir:/srv/repo/")
    ('file:/srv/repo/', 'file:/srv/repo/')
    """
    return _DIRECTORY.sub("file:/", plain_url(url)).rstrip("/") + "/"


def url_in(text: str) -> str:
    """The first address that a message names, "" where it names none."""
    found = _URL.search(text[:_MAX_MESSAGE])
    return plain_url(found[0].rstrip(".:,;)]")) if found else ""


#: What apt 2 and 3 write, by fault; the first match in a message counts.
_CODES: "tuple[tuple[_Code, tuple[str, ...]], ...]" = (
    ("conflict", ("Conflicting values set for option",)),
    (
        "lock",
        (
            "Could not get lock",
            "Unable to acquire",
            "Unable to lock",
            "is another process using it",
            "Waiting for process with pid",
            "System management is locked",
        ),
    ),
    (
        "weak-key",
        ("SHA1 is not considered secure", "uses weak digest algorithm", "untrusted public key algorithm", "weak: ", "Policy rejected"),
    ),
    (
        "signature",
        (
            *("BADSIG", "NO_PUBKEY", "EXPKEYSIG", "REVKEYSIG", "EXPSIG", "is not signed", "no longer signed", "is not (yet) available"),
            *("signatures were invalid", "signatures couldn't be verified", "OpenPGP signature verification failed", "GPG error"),
            *("Clearsigned file isn't valid", "Missing key", "is not bound", "Bad GPG signature", "GPG check FAILED"),
            *("Signature verification failed", "Signing key not found", "public key is not installed", "signature verification error"),
        ),
    ),
    ("error", ("Hash Sum mismatch", "File has unexpected size", "is expired", "is not valid yet", "Malformed")),
    (
        "unreachable",
        (
            *("Could not connect", "Connection failed", "Connection timed out", "Could not resolve", "Temporary failure resolving"),
            *("Unable to connect", "Connection refused", "Failed to fetch", "does not have a Release file", "no longer has a Release file"),
            *("Certificate verification failed", "Could not handshake", "Network is unreachable", "File not found"),
            *("Curl error", "Cannot download repomd", "Failed to download metadata", "Failed to synchronize", "Ignoring repositories"),
            *("is invalid or inaccessible", "Could not refresh", "Some of the repositories have not been refreshed", "is not available"),
            *("No system certificates", "Error reading from server", "Undetermined Error", "Could not wait for server fd"),
        ),
    ),
)


_Code = Literal["signature", "weak-key", "unreachable", "conflict", "lock", "error"]


_ORDER = ("conflict", "lock", "weak-key", "signature", "key", "unreachable", "error")
#: gpgv counts a good signature with an untrusted digest as invalid: its key then has no reason before it.
_WORTHLESS = re.compile(r"signatures were invalid:? +[0-9A-F]{40}\b")
#: Behind the place of a repository (sources.list(5)): what is fetched of it.
_INDEX = re.compile(r"/(?:\./|dists/|repodata/|(?:InRelease|Release(?:\.gpg)?|Packages[^/]*)$).*")


def fault_of(message: str) -> RefreshFault:
    """One message of apt as a fault.

    >>> fault_of("E: The repository 'file:/srv/repo ./ InRelease' is not signed.").code
    'signature'
    """
    lines = [
        line for line in message[:_MAX_MESSAGE].splitlines() if not line.lstrip().startswith(("- ", "Hashes of ", "Release file created"))
    ]
    url = url_in(message)
    return RefreshFault(
        _code(message), shown("\n".join(lines).removeprefix("E: ").removeprefix("W: ")), url and repository_url(_INDEX.sub("", url))
    )


def worst(faults: Iterable[RefreshFault]) -> "RefreshFault | None":
    """The most specific one: further messages follow a source that was not read."""
    return min(faults, key=lambda one: _ORDER.index(one.code), default=None)


def _code(message: str) -> _Code:
    if _WORTHLESS.search(message):
        return "weak-key"
    return next((code for code, words in _CODES if any(word in message for word in words)), "error")
