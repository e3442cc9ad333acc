"""Packages and signed repositories made of nothing: what `dpkg` and `apt` read, without a build."""

import fcntl
import gzip
import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

Unwanted = Callable[[str, str], bool]

#: Where a test tells a maintainer script what to do: a file NAME.postinst there holds one of the words below.
SWITCHES = "/srv/stub/switches"
_PRELUDE = f"""#!/bin/sh
set -e
made=$(cat {SWITCHES}/@NAME@.@SCRIPT@ 2>/dev/null || :)
case "$made" in
  fail) echo "@NAME@: the @SCRIPT@ script was made to fail" >&2; exit 10 ;;
  hang) sleep 3600 ;;
  full) cat /dev/zero >/srv/stub/full 2>/dev/null || : ;;
  lie) exit 0 ;;
  [0-9]*) sleep "$made" ;;
esac
"""


class Program(bytes):
    """The content of a file that may be executed."""


class Deb(NamedTuple):
    """A package. `files`: bytes, a ``Program``, or the target of a symbolic link, by path; `scripts`: bodies by the script's name."""

    name: str
    version: str
    fields: Mapping[str, str] = {}
    files: Mapping[str, "bytes | str"] = {}
    scripts: Mapping[str, str] = {}
    conffiles: tuple[str, ...] = ()
    arch: str = "amd64"

    @property
    def filename(self) -> str:
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.arch}.deb"


def write(deb: Deb, pool: Path) -> str:
    """The package's file in `pool`, and its paragraph of ``Packages``."""
    data = _tar(deb.files, with_parents=True)
    size = sum(len(content) for content in deb.files.values())
    head = {"Package": deb.name, "Version": deb.version, "Architecture": deb.arch, "Maintainer": "Nobody <nobody@example.org>"}
    control = _paragraph({**head, "Installed-Size": str(size // 1024 + 1), **deb.fields, "Description": f"stub of {deb.name}"})
    parts: dict[str, bytes | str] = {"control": control.encode()}
    for name in {"postinst": "", **deb.scripts}:
        start = _PRELUDE.replace("@NAME@", deb.name).replace("@SCRIPT@", name)
        parts[name] = Program(f"{start}{deb.scripts.get(name, '')}\nexit 0\n".encode())
    if deb.conffiles:
        parts["conffiles"] = "".join(f"{path}\n" for path in deb.conffiles).encode()
    if any(".so." in path for path in deb.files):
        parts["triggers"] = b"activate-noawait ldconfig\n"
    whole = b"!<arch>\n" + b"".join(
        _member(name, content) for name, content in (("debian-binary", b"2.0\n"), ("control.tar", _tar(parts)), ("data.tar", data))
    )
    (pool / deb.filename).write_bytes(whole)
    return entry(control, deb.filename, whole)


def entry(control: str, filename: str, whole: bytes) -> str:
    """The paragraph of ``Packages`` of a package's file."""
    return control + _paragraph({"Filename": f"./pool/{filename}", "Size": str(len(whole)), "SHA256": hashlib.sha256(whole).hexdigest()})


def _paragraph(fields: Mapping[str, str]) -> str:
    return "".join(f"{key}: {value}\n" for key, value in fields.items() if value)


def _member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
    return head + content + b"\n" * (len(content) % 2)


def _tar(files: Mapping[str, "bytes | str"], *, with_parents: bool = False) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        parents = {str(one) for path in files for one in Path(path.lstrip("/")).parents} if with_parents else {"."}
        for name in sorted(parents):
            directory = tarfile.TarInfo("./" if name == "." else f"./{name}/")
            directory.type, directory.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(directory)
        for path, content in files.items():
            one = tarfile.TarInfo(f"./{path.lstrip('/')}")
            if isinstance(content, str):
                one.type, one.linkname, one.mode = tarfile.SYMTYPE, content, 0o777
                archive.addfile(one)
            else:
                one.size, one.mode = len(content), 0o755 if isinstance(content, Program) else 0o644
                archive.addfile(one, io.BytesIO(content))
    return buffer.getvalue()


class Keys:
    """Made keys below a directory: ``NAME.gpg`` is the keyring of each."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(mode=0o700, parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        keyring = self.home / f"{name}.gpg"
        if not keyring.exists():
            self._gpg("--passphrase", "", "--quick-generate-key", f"{name} <{name}@example.org>", "rsa2048", "sign", "never")
            keyring.write_bytes(self._gpg("--export", f"{name}@example.org"))
        return keyring

    def signed(self, text: str, name: str, digest: str) -> bytes:
        self.path(name)
        return self._gpg("--digest-algo", digest, "--local-user", f"{name}@example.org", "--clearsign", text=text)

    def _gpg(self, *words: str, text: str = "") -> bytes:
        """In a process namespace of its own, so that gpg's agent ends with it."""
        inside = ["unshare", "--pid", "--fork", "--kill-child", "gpg", "--homedir", str(self.home), "--batch", "--quiet", "--no-tty"]
        command = [*inside, "--allow-weak-digest-algos", *words]
        with open(self.home / "one-at-a-time", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return subprocess.run(command, input=text.encode(), capture_output=True, check=True, timeout=60).stdout


def publish(
    place: Path, paragraphs: Iterable[str], pool: Path, keys: Keys, *, origin: str, key: str = "good", digest: str = "SHA512"
) -> Path:
    """A flat repository (``deb URL /``) of these paragraphs at `place`, its packages in `pool`. `key` "" leaves it unsigned."""
    place.mkdir(parents=True, exist_ok=True)
    link = place / "pool"
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(pool, place))
    packages = "\n".join(paragraphs).encode()
    files = {"Packages": packages, "Packages.gz": gzip.compress(packages, mtime=0)}
    for name, content in files.items():
        (place / name).write_bytes(content)
    sums = "".join(f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}\n" for name, content in files.items())
    head = {"Origin": origin, "Label": origin, "Architectures": "amd64", "Date": "Mon, 01 Jun 2026 00:00:00 UTC"}
    release = f"{_paragraph(head)}SHA256:\n{sums}"
    (place / "Release").write_text(release, encoding="utf-8")
    inrelease = place / "InRelease"
    inrelease.unlink(missing_ok=True)
    if key:
        inrelease.write_bytes(keys.signed(release, key, digest))
    return place


def without(paragraphs: Iterable[str], unwanted: Unwanted) -> list[str]:
    """The paragraphs but for those whose package name and version are `unwanted`."""
    kept = []
    for one in paragraphs:
        fields = dict(line.split(": ", 1) for line in one.splitlines() if ": " in line)
        if not unwanted(fields["Package"], fields["Version"]):
            kept.append(one)
    return kept
