"""The .deb and the .rpm, by nfpm: the site directory below /opt/hostagent, launcher, unit, man pages, completion, profile, Slurm files.

Owner, mode and time of every file are set here: the same commit gives the same bytes.
"""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, NamedTuple

from packaging.version import Version

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
_PACKAGE = _HERE / "package"
#: What the key of the built nfpm is made of: see install_nfpm.sh.
_PINS = [_ROOT / "tests/real" / name for name in ("go/nfpm/go.mod", "go/nfpm/go.sum", "install_nfpm.sh")]
Kind = Literal["deb", "rpm"]
_KINDS: tuple[Kind, ...] = ("deb", "rpm")
#: What a distribution calls a machine, and what it calls a file of this package.
_ARCHES: dict[Kind, dict[str, str]] = {
    "deb": {"x86_64": "amd64", "aarch64": "arm64"},
    "rpm": {"x86_64": "x86_64", "aarch64": "aarch64"},
}
_FILES: dict[Kind, str] = {"deb": "hostagent_{version}_{arch}.deb", "rpm": "hostagent-{version}-1.{arch}.rpm"}
#: RHEL 9's own python3 is 3.9; newer ones have packages of their own.
_DEPENDS: dict[Kind, list[str]] = {"deb": ["python3 (>= 3.10)"], "rpm": ["(python3 >= 3.10 or python3.12 or python3.11)"]}
#: As Debian's and Fedora's policies for packages call the scripts, and as nfpm does.
_SCRIPTS: dict[Kind, dict[str, str]] = {
    "deb": {"preinst": "preinstall", "postinst": "postinstall", "prerm": "preremove", "postrm": "postremove"},
    "rpm": {"pre": "preinstall", "post": "postinstall", "preun": "preremove", "postun": "postremove"},
}
_ZSH: dict[Kind, str] = {"deb": "vendor-completions", "rpm": "site-functions"}
#: Programs and lines for Slurm, to be copied to where slurm.conf names them.
_SLURM = "/usr/share/hostagent/slurm"
_OWN_FOLDERS = ("/opt/hostagent", "/opt/hostagent/bin", "/etc/hostagent", "/usr/share/doc/hostagent", "/usr/share/hostagent", _SLURM)
#: rpm removes directories that a package names, the last of several packages; dpkg removes any that is empty.
_SHARED_FOLDERS: dict[Kind, tuple[str, ...]] = {
    "deb": (),
    "rpm": tuple(
        f"/usr/share/{one}"
        for one in ("bash-completion", "bash-completion/completions", "fish", "fish/vendor_completions.d", "zsh", "zsh/site-functions")
    ),
}
_LIBRARY = "/opt/hostagent/lib"
_CONFIG = "/etc/hostagent/profile.yaml"
_DESCRIPTION = """Judges GPU hosts, says what to fix, tells schedulers
hostagent checks whether a host with NVIDIA GPUs is fit to run jobs: kernel,
driver, container toolkit, runtimes, topology and fabric. If it is not, it says
why and what to do. As a service, which is not enabled by itself, it publishes
the verdict to Kubernetes, Slurm and Prometheus."""


class File(NamedTuple):
    """One entry of a package. `source`: the file, what a link points to, or "" for a directory."""

    target: str
    source: str
    mode: int = 0o644
    kind: Literal["file", "dir", "symlink", "config|noreplace"] = "file"


class Contents(NamedTuple):
    """What is packed. `stage`: the site directory. `made`: man pages, completion and unit. `when`: the time of every file."""

    stage: Path
    made: Path
    when: str


def build(stage_dir: Path, arch: str, out: Path, version: str, epoch: int) -> list[Path]:
    """Writes the .deb and the .rpm of one machine (``x86_64``, ``aarch64``) into `out`. `epoch`: seconds since 1970, of all files."""
    nfpm = _nfpm()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hostagent-packages-") as place:
        contents = Contents(stage_dir, Path(place), datetime.fromtimestamp(epoch, timezone.utc).isoformat())
        _write_texts(contents, version, epoch)
        return [_packed(nfpm, out / _name(kind, arch, version), kind, _description(kind, arch, version, contents)) for kind in _KINDS]


def _name(kind: Kind, arch: str, version: str) -> str:
    return _FILES[kind].format(version=debian_version(version), arch=_ARCHES[kind][arch])


def debian_version(version: str) -> str:
    """A version of Python as dpkg and rpm order it: what comes before a release sorts before it.

    >>> debian_version("0.2.0"), debian_version("0.2.0rc1"), debian_version("0.2.0.dev3"), debian_version("0.2.0.post1")
    ('0.2.0', '0.2.0~rc1', '0.2.0~dev3', '0.2.0.post1')
    """
    found = Version(version)
    shown = ".".join(map(str, found.release))
    shown += "~" + "".join(map(str, found.pre)) if found.pre else ""
    shown += f".post{found.post}" if found.post is not None else ""
    shown += f"~dev{found.dev}" if found.dev is not None else ""
    return f"{shown}+{found.local}" if found.local else shown


def _nfpm() -> str:
    """The pinned nfpm: another version writes other bytes."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    program = cache / "hostagent-tests/nfpm/nfpm"
    pinned = hashlib.sha256(b"".join(path.read_bytes() for path in _PINS)).hexdigest()[:16]
    try:
        built = program.with_name("key").read_text(encoding="ascii").strip() if os.access(program, os.X_OK) else ""
    except OSError:
        built = ""
    if built != pinned:
        raise SystemExit(
            f"Error: found no {program} of the version that is pinned, wanted it for the .deb and the .rpm.\n"
            "Run 'bash tests/real/install_nfpm.sh' (it needs Go)."
        )
    return str(program)


def _packed(nfpm: str, path: Path, kind: Kind, description: "dict[str, Any]") -> Path:
    with tempfile.TemporaryDirectory(prefix="hostagent-nfpm-") as place:
        config = Path(place, "nfpm.json")  # YAML, too
        config.write_text(json.dumps(description), encoding="utf-8")
        # Alone, its compressor cuts what it compresses in one way only.
        environment = {**os.environ, "GOMAXPROCS": "1"}
        argv = [nfpm, "package", "--config", str(config), "--packager", kind, "--target", str(path)]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"Error: nfpm did not make {path.name}: {(done.stderr or done.stdout).strip()}")
    path.chmod(0o644)
    return path


def _description(kind: Kind, arch: str, version: str, contents: Contents) -> "dict[str, Any]":
    """What nfpm reads."""
    scripts = {word: str(_PACKAGE / kind / name) for name, word in _SCRIPTS[kind].items()}
    return {
        "name": "hostagent",
        "arch": _ARCHES[kind][arch],
        "platform": "linux",
        "version": debian_version(version),
        "version_schema": "none",
        "release": "" if kind == "deb" else "1",
        "section": "admin",
        "priority": "optional",
        "maintainer": "The hostagent developers",
        "vendor": "hostagent",
        "description": _DESCRIPTION,
        "license": "Apache-2.0",
        "mtime": contents.when,
        "disable_globbing": True,
        "depends": _DEPENDS[kind],
        "scripts": scripts,
        "contents": [_content(one, contents.when) for one in sorted(_files(kind, contents))],
        "deb": {
            "compression": "zstd:19",
            # A new Python, as of a new release of the distribution, is compiled for.
            "triggers": {"interest_noawait": [f"/usr/bin/python3.{minor}" for minor in range(10, 15)]},
        },
        "rpm": {
            "compression": "zstd:19",
            "buildhost": "localhost",
            "group": "System/Monitoring",
            "scripts": {"posttrans": str(_PACKAGE / kind / "posttrans")},
        },
    }


def _content(one: File, when: str) -> "dict[str, Any]":
    info: dict[str, Any] = {"owner": "root", "group": "root", "mtime": when}
    if one.kind != "symlink":
        info["mode"] = one.mode
    return {"src": one.source, "dst": one.target, "type": one.kind, "file_info": info}


def _files(kind: Kind, contents: Contents) -> Iterator[File]:
    made = contents.made
    yield from (File(one, "", 0o755, "dir") for one in (*_OWN_FOLDERS, *_SHARED_FOLDERS[kind]))
    yield from _site(contents.stage)
    for name, mode in {"hostagent": 0o755, "python": 0o755, "start.py": 0o644, "compiled.py": 0o644}.items():
        yield File(f"/opt/hostagent/bin/{name}", str(_PACKAGE / name), mode)
    yield File("/usr/bin/hostagent", "/opt/hostagent/bin/hostagent", kind="symlink")
    yield File("/usr/lib/systemd/system/hostagent.service", str(made / "hostagent.service"))
    yield File(_CONFIG, str(_PACKAGE / "profile.yaml"), kind="config|noreplace")
    for page in (made / "man").iterdir():
        yield File(f"/usr/share/man/man1/{page.name}", str(page))
    yield File("/usr/share/bash-completion/completions/hostagent", str(made / "completion/bash"))
    yield File(f"/usr/share/zsh/{_ZSH[kind]}/_hostagent", str(made / "completion/zsh"))
    yield File("/usr/share/fish/vendor_completions.d/hostagent.fish", str(made / "completion/fish"))
    yield File("/usr/share/doc/hostagent/copyright", str(_ROOT / "LICENSE"))
    for path in (_ROOT / "daemonset/slurm").iterdir():
        yield File(f"{_SLURM}/{path.name}", str(path), 0o755 if path.suffix == ".sh" else 0o644)


def _site(stage_dir: Path) -> Iterator[File]:
    """The staged directory, and all directories of it: rpm removes those that it knows."""
    for folder, names, files in os.walk(stage_dir):
        names[:] = [name for name in names if name != "__pycache__"]
        inside = os.path.relpath(folder, stage_dir)
        target = _LIBRARY if inside == "." else f"{_LIBRARY}/{inside}"
        yield File(target, "", 0o755, "dir")
        for name in files:
            yield File(f"{target}/{name}", os.path.join(folder, name), 0o755 if name.endswith(".sh") else 0o644)


def _write_texts(contents: Contents, version: str, epoch: int) -> None:
    """Man pages, completion and the unit, by the staged modules of hostagent; the other modules may be another machine's."""
    made = contents.made
    modules = made / "modules"
    modules.mkdir()
    for name in ("hostagent", "hostagent_checks"):
        (modules / name).symlink_to((contents.stage / name).resolve())
    argv = [sys.executable, "-I", "-B", str(_HERE / "manpages.py"), str(modules), str(made), version, str(epoch)]
    subprocess.run(argv, check=True)
    for path in (made / "man").iterdir():
        with open(f"{path}.gz", "wb") as stream, gzip.GzipFile("", "wb", 9, stream, mtime=0) as packed:
            packed.write(path.read_bytes())
        path.unlink()
