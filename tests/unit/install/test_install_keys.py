"""The bytes of a keyring: from a file that root alone may write, or fetched and compared; nothing else is a key."""

import base64
import gzip
import hashlib
import io
import lzma
import os
import sys
import tarfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from hostagent.install.keys import key_bytes
from hostagent.plan.model import Key
from hostagent.plan.offers import RefreshFault

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

KEYS = b"\x98\x33\x04" + bytes(range(48))
ARMOUR = b"-----BEGIN PGP PUBLIC KEY BLOCK-----\nComment: x\n\n" + base64.encodebytes(KEYS) + b"=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n"
PLACE = "/usr/share/keyrings/hostagent-cuda.gpg"


def deb(name: str, compress) -> bytes:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        one = tarfile.TarInfo("./usr/share/keyrings/cuda.gpg")
        one.size = len(KEYS)
        archive.addfile(one, io.BytesIO(KEYS))
    data = b"!<arch>\n"
    for member, content in (("debian-binary", b"2.0\n"), ("control.tar", b"xyz"), (name, compress(tar.getvalue()))):
        data += f"{member:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
    return data


ANSWERS = {
    "/key": KEYS,
    "/key.asc": ARMOUR,
    "/page": b"<html>not found</html>",
    "/plain.deb": deb("data.tar", bytes),
    "/gz.deb": deb("data.tar.gz", gzip.compress),
    "/xz.deb": deb("data.tar.xz", lzma.compress),
    "/zst.deb": deb("data.tar.zst", zstd.compress),
    "/cut.deb": deb("data.tar.xz", lzma.compress)[:-30],
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        data = ANSWERS.get(self.path)
        self.send_response(200 if data else 404)
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *words):
        pass


@pytest.fixture
def server():
    """In a process of its own: whoever fetches forks, and so has one thread."""
    listening = HTTPServer(("127.0.0.1", 0), Handler)
    pid = os.fork()
    if pid == 0:
        listening.serve_forever()
    yield f"http://127.0.0.1:{listening.server_port}"
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    listening.server_close()


def fault(key: Key) -> RefreshFault:
    found = key_bytes(key)
    assert isinstance(found, RefreshFault), found
    return found


@pytest.mark.alone
@pytest.mark.parametrize("path", ["/key", "/key.asc", "/plain.deb", "/gz.deb", "/xz.deb", "/zst.deb"])
def test_a_key_that_is_fetched_is_the_one_that_is_known(path, server):
    sha256 = hashlib.sha256(ANSWERS[path]).hexdigest()
    member = "/usr/share/keyrings/cuda.gpg" if path.endswith(".deb") else ""
    assert key_bytes(Key(PLACE, url=server + path, sha256=sha256, member=member)) == KEYS
    other = fault(Key(PLACE, url=server + path, sha256="0" * 64, member=member))
    assert other.code == "key"
    assert sha256 in other.text


@pytest.mark.alone
def test_what_is_no_key_and_what_nobody_knows_is_refused(server):
    page = Key(PLACE, url=f"{server}/page", sha256=hashlib.sha256(ANSWERS["/page"]).hexdigest())
    cut = Key(PLACE, url=f"{server}/cut.deb", sha256=hashlib.sha256(ANSWERS["/cut.deb"]).hexdigest(), member="a")
    absent = Key(PLACE, url=f"{server}/xz.deb", sha256=hashlib.sha256(ANSWERS["/xz.deb"]).hexdigest(), member="a")
    for key in (page, cut, absent, Key(PLACE, url=f"{server}/key")):
        assert fault(key).code == "key"
    down = fault(Key(PLACE, url=f"{server}/nowhere?token=geheim".replace("//", "//bob:geheim@"), sha256="0" * 64))
    assert (down.code, "geheim" in str(down)) == ("unreachable", False)
    assert fault(Key(PLACE, url="file:///etc/passwd", sha256="0" * 64)).code == "unreachable"


def test_a_file_is_taken_that_root_alone_may_write(tmp_path):
    """Whoever may write the key is root wherever it is installed."""
    if os.geteuid() != 0:
        pytest.skip("wants a file of root's; to enable this test run it as root")
    path = tmp_path / "key.asc"
    path.write_bytes(ARMOUR)
    assert key_bytes(Key(PLACE, source=str(path))) == KEYS
    assert key_bytes(Key("/etc/pki/rpm-gpg/RPM-GPG-KEY-hostagent", source=str(path))) == ARMOUR
    path.chmod(0o666)
    assert "may write" in fault(Key(PLACE, source=str(path))).text
    path.chmod(0o644)
    path.write_bytes(b"hello")
    assert fault(Key(PLACE, source=str(path))).code == "key"
    assert fault(Key(PLACE, source="/nowhere")).text == "/nowhere: no such file or directory"
