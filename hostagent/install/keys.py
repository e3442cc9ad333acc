"""The bytes of a keyring that a plan installs: from a file of this machine, or downloaded and compared with its known SHA-256."""

import io
import sys
import tarfile
from collections.abc import Iterable

from hostagent.core.hashes import hexdigest
from hostagent.core.smallfile import read_small, reason
from hostagent.core.unread import UnreadError, need
from hostagent.domains.packages.openpgp import dearmour
from hostagent.domains.packages.read_repositories import plain_url
from hostagent.install.fetching import fetch
from hostagent.install.outcome import RefusedError
from hostagent.plan.model import Key, PlanStep
from hostagent.plan.offers import RefreshFault

_MAX_KEY, _MAX_FETCHED = 1024 * 1024, 16 * 1024 * 1024
_DATA = ("data.tar", "data.tar.gz", "data.tar.xz", "data.tar.bz2", "data.tar.zst")


def key_bytes(key: Key) -> "bytes | RefreshFault":
    """The content of `key.path`; without armour for a .gpg, since apt distinguishes them by the suffix."""
    try:
        data = _of_file(key) if key.source else _of_url(key)
        if key.member:
            data = _member(data, key.member)
        return _keyring(data) if key.path.endswith(".gpg") else data
    except UnreadError as error:
        return RefreshFault("unreachable", f"{plain_url(key.url)}: {error.unread.detail}", plain_url(key.url))
    except OSError as error:
        return RefreshFault("key", f"{key.source}: {reason(error)}")
    except (ValueError, tarfile.TarError, EOFError, ImportError) as error:
        return RefreshFault("key", f"{key.source or plain_url(key.url)}: {error}", plain_url(key.url))


def keys_of(steps: Iterable[PlanStep]) -> dict[str, bytes]:
    """All keyrings of the steps by path, read before anything is changed. Raises ``RefusedError``."""
    found: dict[str, bytes] = {}
    for one in (one for step in steps for one in step.do if isinstance(one, Key)):
        data = key_bytes(one)
        if not isinstance(data, bytes):
            raise RefusedError(f"the key for {one.path}: {data.text}", "Name a keyring file in the profile's install.repositories")
        found[one.path] = data
    return found


def _of_file(key: Key) -> bytes:
    """Only root may have written the file: the owner of the key can become root on every host. Raises ``OSError``."""
    data = read_small(key.source, _MAX_KEY, owners=(0,))
    _compare(data, key.sha256)
    return data


def _of_url(key: Key) -> bytes:
    """Raises ``UnreadError``, ``ValueError``."""
    if not key.sha256:
        raise ValueError("nothing is known to compare it with (its SHA-256): name a keyring file in the profile")
    data = need(fetch(key.url, _MAX_FETCHED))
    _compare(data, key.sha256)
    return data


def _compare(data: bytes, sha256: str) -> None:
    if sha256 and (found := hexdigest("sha256", data)) != sha256.lower():
        raise ValueError(f"found SHA-256 {found}, wanted {sha256.lower()}")


def _member(deb: bytes, path: str) -> bytes:
    """A file of a Debian package (deb(5)): an archive of ar(1) with a tar in it. Raises ``ValueError``."""
    for name, data in _ar(deb):
        if name in _DATA:
            with tarfile.open(fileobj=io.BytesIO(_decompressed(name, data))) as tar:
                for one in tar:
                    if one.isfile() and one.size <= _MAX_KEY and one.name.removeprefix("./").lstrip("/") == path.lstrip("/"):
                        stream = tar.extractfile(one)
                        assert stream is not None
                        return stream.read()
    raise ValueError(f"no file {path} in it")


def _ar(data: bytes) -> "list[tuple[str, bytes]]":
    if not data.startswith(b"!<arch>\n"):
        raise ValueError("found something else, wanted a Debian package")
    found, at = [], 8
    while at + 60 <= len(data):
        name, size = data[at : at + 16].decode("ascii", "replace").strip().rstrip("/"), data[at + 48 : at + 58].strip()
        if not size.isdigit():
            raise ValueError("found a damaged Debian package")
        begin = at + 60
        found.append((name, data[begin : begin + int(size)]))
        at = begin + int(size) + int(size) % 2
    return found


def _decompressed(name: str, data: bytes) -> bytes:
    """Python's tarfile itself reads the other compressions."""
    if not name.endswith(".zst"):
        return data
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return bytes(zstd.decompress(data))


def _keyring(data: bytes) -> bytes:
    """Raises ``ValueError`` for what is neither a keyring nor one in armour."""
    keys = dearmour(data)
    if not keys or not keys[0] & 0x80:  # every packet begins so (RFC 9580, section 4.2)
        raise ValueError("found no OpenPGP keys in it")
    return keys
