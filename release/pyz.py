"""The single file: what `release.stage` fills, packed by shiv, behind first lines in sh that find a Python, with our ``__main__``."""

import importlib.metadata
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from release.wheels import Arch

_HEADER, _MAIN = Path(__file__).with_name("pyz_header.sh"), Path(__file__).with_name("pyz_main.py")
#: Characters of the hash of the contents in the name of their directory.
_HASH = 16
#: Of the size in the header; of zlib.
_DIGITS, _LEVEL = 10, 6
#: The entry that `pyz_main` unpacks.
_SITE = "site.zip"


def build(stage_dir: Path, arch: Arch, out: Path, version: str, epoch: int) -> Path:
    """``hostagent-ARCH.pyz`` in `out`."""
    made = out / f"hostagent-{arch}.pyz"
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, "packed")
        argv = [sys.executable, "-m", "shiv", "--reproducible", "--uncompressed", "--site-packages", str(stage_dir)]
        argv += ["--output-file", str(packed), "--entry-point", "hostagent_start:start"]
        done = subprocess.run(argv, env={"SOURCE_DATE_EPOCH": str(max(epoch, 315532800)), "PATH": ""}, check=False)
        if done.returncode:
            raise SystemExit("Error: shiv did not pack the single file. See what it says above.")
        made.write_bytes(_with_our_start(packed.read_bytes(), version))
    made.chmod(0o755)
    return made


def _with_our_start(packed: bytes, version: str) -> bytes:
    """Behind other first lines our ``__main__.py``, shiv's bootstrap, and what it unpacks as one entry: to start, Python reads the list of
    entries, and those of thousands of files take 30 ms.
    """
    header = _HEADER.read_bytes()
    body = io.BytesIO()
    # What is written first has the length of what comes in its place: offsets count from the start of the file.
    body.write(header.replace(b"@SIZE@", b" " * _DIGITS))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive, zipfile.ZipFile(body, "w") as target:
        contents = json.loads(archive.read("environment.json"))["build_id"]
        main = _MAIN.read_text(encoding="utf-8").replace("@BUILD@", f"hostagent-{version}-{contents[:_HASH]}")
        first = archive.getinfo("__main__.py")
        target.writestr(first, main.encode(), zipfile.ZIP_DEFLATED)
        for one in archive.infolist():
            if one.filename.startswith("_bootstrap/"):
                target.writestr(one, archive.read(one), zipfile.ZIP_DEFLATED)
        target.writestr(
            zipfile.ZipInfo("_bootstrap/LICENSE", first.date_time), importlib.metadata.distribution("shiv").read_text("LICENSE") or ""
        )
        target.writestr(zipfile.ZipInfo(_SITE, first.date_time), _site(archive), zipfile.ZIP_STORED)
    found = body.getvalue()
    start = header.replace(b"@SIZE@", str(len(found)).encode().ljust(_DIGITS))
    return start + found[len(start) :]


def _site(archive: zipfile.ZipFile) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as target:
        for one in archive.infolist():
            if one.filename.startswith("site-packages/"):
                target.writestr(one, archive.read(one), zipfile.ZIP_DEFLATED, _LEVEL)
    return found.getvalue()
