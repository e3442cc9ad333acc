"""What we read from package databases and apt's files, against dpkg, rpm and apt themselves."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from hostagent.domains.packages.openpgp import parse_key_ids
from hostagent.domains.packages.read_apt_conf import read_apt_settings
from hostagent.domains.packages.read_packages import owners
from hostagent.domains.packages.tables.names import FAMILIES
from hostagent.engine.collect import collect
from hostagent.engine.questions import live_backend
from hostagent.facts.packages import Packages
from hostagent.host.source import Source
from tests.real import rpms
from tests.real.conftest import need_real

#: (name, version, postinst, Multi-Arch): real names and versions, with what a DKMS build that fails does.
DEBS = (
    ("libnvidia-compute-580", "580.126.09-1ubuntu1", "exit 0", "same"),
    ("nvidia-utils-580", "580.126.09-1ubuntu1", "exit 0", ""),
    ("nvidia-fabricmanager", "580.126.09-1", "exit 0", ""),
    ("nvidia-container-toolkit-base", "1.19.0~rc.1-1", "exit 0", ""),
    ("nvidia-dkms-580-open", "580.126.09-1ubuntu1", "exit 10", ""),
    ("bash-completion", "1:2.11-6", "exit 0", ""),
)
LIBRARY = "/usr/lib/libcuda.so.580.126.09"


def run(*argv: str, check: bool = True, **env: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, env={**os.environ, "LC_ALL": "C", **env}, check=False)
    assert not check or done.returncode == 0, (argv, done.stderr[-800:])
    return done.stdout + (done.stderr if not check else "")


def read(root: Path) -> tuple[Packages, Source]:
    source = Source(live_backend(str(root), "image"))
    return collect(source, ["Packages"])[0].of(Packages), source


def build_deb(directory: Path, name: str, version: str, postinst: str, multi_arch: str = "") -> Path:
    tree = directory / name
    (tree / "DEBIAN").mkdir(parents=True)
    fields = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: T <t@t>\nSource: src-{name} (1)\nDescription: stub\n long\n .\n text\n"
    (tree / "DEBIAN/control").write_text(fields + (f"Multi-Arch: {multi_arch}\n" if multi_arch else ""))
    (tree / "DEBIAN/postinst").write_text(f"#!/bin/sh\n{postinst}\n")
    (tree / "DEBIAN/postinst").chmod(0o755)
    if name.startswith("libnvidia"):
        (tree / LIBRARY[1:]).parent.mkdir(parents=True)
        (tree / LIBRARY[1:]).write_text("elf")
    run("dpkg-deb", "-b", str(tree), str(directory))
    (deb,) = directory.glob(f"{name}_*.deb")
    return deb


def dpkg(root: Path, *arguments: str) -> None:
    """The real dpkg on a root of its own; it exits with an error for a package whose script fails, as intended here."""
    flags = ("--force-not-root", "--force-depends", "--force-script-chrootless", "--force-architecture", "--force-bad-path")
    run("dpkg", f"--root={root}", *flags, *arguments, check=False)


@pytest.fixture(scope="module")
def deb_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_real("dpkg-deb", "apt-get install dpkg")
    root, debs = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("debs")
    for name in ("updates", "info"):
        (root / "var/lib/dpkg" / name).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg(root, "-i", *(str(build_deb(debs, *row)) for row in DEBS))
    hold = "nvidia-utils-580 hold\n"
    subprocess.run(["dpkg", f"--root={root}", "--set-selections"], input=hold, text=True, check=True)
    removed = build_deb(debs, "nvidia-utils-570", "570.211.01-1", "exit 0")
    dpkg(root, "-i", str(removed))
    dpkg(root, "--remove", "nvidia-utils-570")
    return root


def by_dpkg(root: Path) -> list[tuple[str, ...]]:
    form = "${Package}\\t${Version}\\t${Architecture}\\t${db:Status-Status}\\t${db:Status-Want}\\n"
    rows = [tuple(line.split("\t")) for line in run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f", form).splitlines()]
    ours = [row for row in rows if row[0].startswith(FAMILIES) and row[3] not in ("config-files", "not-installed")]
    return sorted((*row[:4], str(row[4] == "hold")) for row in ours)


def by_us(packages: Packages) -> list[tuple[str, ...]]:
    return [(one.name, one.version, one.arch, one.state, str(one.held)) for one in packages.installed]


def test_packages_states_and_holds_are_dpkgs(deb_root):
    packages, _ = read(deb_root)
    assert by_us(packages) == by_dpkg(deb_root)
    states = {one.name: one.state for one in packages.installed}
    assert states["nvidia-dkms-580-open"] == "half-configured"
    assert "bash-completion" not in states
    assert packages.interrupted is False


def test_the_owner_of_a_file_is_dpkgs(deb_root):
    packages, source = read(deb_root)
    answer = run("dpkg-query", f"--admindir={deb_root}/var/lib/dpkg", "-S", LIBRARY)
    assert owners(source, packages, [LIBRARY, "/usr/lib/libcuda.so.570"]) == {
        LIBRARY: answer.partition(":")[0],
        "/usr/lib/libcuda.so.570": "",
    }


def test_a_dpkg_that_is_killed_leaves_the_trace_we_look_for(tmp_path, deb_root):
    root = tmp_path / "root"
    run("cp", "-a", str(deb_root), str(root))
    killed = build_deb(tmp_path / "debs", "nvidia-imex", "580.126.09-1", "kill -9 $PPID")
    dpkg(root, "-i", str(killed))
    packages, _ = read(root)
    assert packages.interrupted is True
    dpkg(root, "--configure", "-a")
    packages, _ = read(root)
    assert "nvidia-imex" in {one.name for one in packages.installed}
    assert by_us(packages) == by_dpkg(root)


def apt_config(tmp_path: Path, root: Path) -> str:
    """A configuration that confines apt to `root`; apt reads it first."""
    path = tmp_path / "apt.conf"
    path.write_text(
        f'Dir "{root}/";\nDir::State::status "{root}/var/lib/dpkg/status";\nDir::Cache::pkgcache "";\nDir::Cache::srcpkgcache "";\n'
    )
    for name in ("var/lib/apt/lists/partial", "etc/apt/preferences.d", "etc/apt/sources.list.d", "etc/apt/apt.conf.d", "var/cache/apt"):
        (root / name).mkdir(parents=True, exist_ok=True)
    return str(path)


def test_a_pin_holds_for_us_exactly_where_it_holds_for_apt(tmp_path, deb_root):
    need_real("apt-cache", "apt-get install apt")
    root = tmp_path / "root"
    run("cp", "-a", str(deb_root), str(root))
    config = apt_config(tmp_path, root)
    pin = "Package: {}\nPin: version {}\nPin-Priority: {}\n"
    preferences = {
        "one": "# a comment\n"
        + pin.format("libnvidia-*\n nvidia-fabricmanager", "580.126.*", 1000)
        + "\n"
        + pin.format("cuda*", "1*", 1001),
        "two.pref": pin.format("src:src-nvidia-container-toolkit-base", "1.19.0~rc*", 600),
        "three.conf": pin.format("nvidia-dkms-580-open", "580*", 1001),
        "four": pin.format("nvidia-dkms-580-open", "580*", 500),
        "five.bak": pin.format("nvidia-dkms-580-open", "580*", 1001),
        "six": pin.format("/^nvidia-con/", "1.18*", 1001),
    }
    for name, text in preferences.items():
        (root / "etc/apt/preferences.d" / name).write_text(text)
    packages, _ = read(root)
    for one in packages.installed:
        answer = run("apt-cache", "-q=0", "policy", one.name, check=False, APT_CONFIG=config)
        priority = int(re.search(r"\*\*\* \S+ (-?\d+)", answer)[1])
        held_by_dpkg = one.name == "nvidia-utils-580"
        assert one.held == (priority > 500 or held_by_dpkg), (one.name, answer)
    assert sum(one.held for one in packages.installed) == 4
    notices = set(re.findall(r"Ignoring file '([^']+)'", answer))
    assert notices == {os.path.basename(path) for path in packages.ignored_preferences} == {"three.conf"}


CONF = {
    "20auto": 'APT::Periodic::Update-Package-Lists "1";\nAPT::Periodic::Unattended-Upgrade "1";\n',
    "50unattended": textwrap.dedent("""\
        // comment "quoted"
        Unattended-Upgrade::Allowed-Origins {
            "${distro_id}:${distro_codename}"; /* in
            two lines "x"; */
            "NVIDIA:stable";
        };
        # another
        Unattended-Upgrade::Package-Blacklist { "nvidia-"; "libnvidia-.*$"; };
        Unattended-Upgrade::Origins-Pattern:: "origin=*";
        Unattended-Upgrade { Package-Blacklist { "cuda-"; }; Mail "root"; };
        """),
    "60clear": '#clear Unattended-Upgrade::Allowed-Origins;\nUnattended-Upgrade::Allowed-Origins:: "Ubuntu:noble-security";\nAPT::Periodic::unattended-upgrade "0";\n',
    "70ignored.save": 'Unattended-Upgrade::Package-Blacklist:: "never";\n',
    "80.conf": 'Unattended-Upgrade::Package-Blacklist:: "last";\n',
}

KEPT = {
    "apt::periodic::unattended-upgrade",
    *(f"unattended-upgrade::{name}" for name in ("allowed-origins", "origins-pattern", "package-blacklist")),
}


def test_the_configuration_of_apt_is_what_apt_config_says(tmp_path):
    need_real("apt-config", "apt-get install apt")
    root = tmp_path / "root"
    config = apt_config(tmp_path, root)
    for name, text in CONF.items():
        (root / "etc/apt/apt.conf.d" / name).write_text(text)
    ours = read_apt_settings(Source(live_backend(str(root), "image")))
    dump = run("apt-config", "dump", APT_CONFIG=config)
    theirs: dict[str, list[str]] = {}
    for key, value in re.findall(r'(?m)^(\S+) "(.*)";$', dump):
        if value:
            theirs.setdefault(key.rstrip(":").lower(), []).append(value)
    assert ours == {key: value for key, value in theirs.items() if key in ours}
    assert set(ours) == set(theirs) & KEPT, "of apt's many settings those of automatic upgrades"


def test_key_ids_are_gpgs():
    need_real("gpg", "apt-get install gpg")
    rings = sorted(Path("/usr/share/keyrings").glob("*.gpg"))[:12]
    if not rings:
        pytest.skip("found no keyring in /usr/share/keyrings; to enable this test run: apt-get install debian-archive-keyring")
    for ring in rings:
        listing = run("gpg", "--batch", "--with-colons", "--show-keys", str(ring))
        ids = re.findall(r"(?m)^(?:pub|sub):(?:[^:]*:){3}([0-9A-F]{16}):", listing)
        assert set(parse_key_ids(ring.read_bytes())) == {one.lower() for one in ids}, ring


@pytest.fixture(scope="module")
def rpm_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rpms") / "root"
    rpms.install(root)
    return root


@pytest.mark.alone
def test_packages_of_rpm_are_rpms(rpm_root):
    packages, _ = read(rpm_root)
    form = "%{NAME}\\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\n"
    rows = sorted(
        tuple(line.split("\t"))
        for line in run("rpm", "--root", str(rpm_root), "--dbpath", "/var/lib/rpm", "-qa", "--qf", form).splitlines()
    )
    wants = [(name, version.removeprefix("0:"), arch) for name, version, arch in rows if name.startswith(FAMILIES)]
    assert packages.manager == "rpm"
    assert [(one.name, one.version, one.arch) for one in packages.installed] == wants
    assert {one.name: one.origin for one in packages.installed}["nvidia-fabricmanager"] == "cuda"


@pytest.mark.alone
def test_the_owner_of_a_file_is_rpms(rpm_root):
    packages, source = read(rpm_root)
    (rpm_root / "usr/lib64/libcuda.so.570").touch()
    found = owners(source, packages, [rpms.LIBRARY, "/usr/lib64/libcuda.so.570"])
    assert list(found.values()) == ["nvidia-driver-cuda-libs", ""]


def state(root: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in root.rglob("*")}


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["image", "host-root"])
@pytest.mark.parametrize("suffixes", [("-shm", "-wal"), ("-shm",), ("-wal",), ()])
def test_reading_an_rpm_database_leaves_nothing_behind(rpm_root, tmp_path, monkeypatch, kind, suffixes):
    """SQLite makes the two files beside a database that nobody has open, even to read it. No program of a made tree is run: it is asked
    by this machine's rpm, about a copy.
    """
    root, temporary = tmp_path / "root", tmp_path / "tmp"
    shutil.copytree(rpm_root, root, symlinks=True)
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for suffix in suffixes:
        (root / f"var/lib/rpm/rpmdb.sqlite{suffix}").unlink(missing_ok=True)
    before = state(root)
    backend = live_backend(str(root), kind)
    packages = collect(Source(backend), ["Packages"])[0].of(Packages)
    assert state(root) == before
    assert list(temporary.iterdir()) == []
    assert {one.name for one in packages.installed} == {name for name, *_ in rpms.RPMS if name.startswith(FAMILIES)}


@pytest.mark.alone
def test_what_an_unfinished_log_holds_is_read_too(rpm_root, tmp_path):
    """A writer that was killed leaves its last changes in the log alone."""
    root = tmp_path / "root"
    shutil.copytree(rpm_root, root, symlinks=True)
    database = root / "var/lib/rpm/rpmdb.sqlite"
    gone = "DELETE FROM Packages WHERE hnum <> (SELECT hnum FROM Name WHERE key = 'nvidia-fabricmanager')"
    code = f"import os, sqlite3; c = sqlite3.connect({str(database)!r}); c.execute({gone!r}); c.commit(); os._exit(0)"
    run(sys.executable, "-c", code)
    assert database.with_name("rpmdb.sqlite-wal").stat().st_size > 0
    before = state(root)
    assert [one.name for one in read(root)[0].installed] == ["nvidia-fabricmanager"]
    assert state(root) == before
