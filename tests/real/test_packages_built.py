"""The .deb and the .rpm: what is in them, and a Debian before, with, and after them."""

import ast
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from hostagent.profiles import profile
from release import packages
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually
from tests.real.packageroots import EPOCH, GONE, NEW, OLD, ROOT, SUITES, PlainMachine, built, fresh_debian, need_nfpm, small_stage, with_dnf

TAPE = ROOT / "tests/hosts/hgx-h100-ubuntu2404/tape.json"
UNIT = "/usr/lib/systemd/system/hostagent.service"
EDITED = "gpus: {count: 8}\n"
STATE = {"/var/lib/hostagent/runs/1/journal.jsonl": "a run\n", "/var/lib/hostagent-daemon/kept": "a record\n"}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="installs into a root: run 'sudo make test-full'")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The packages of both machines, with hostagent alone in them."""
    need_nfpm()
    folder = tmp_path_factory.mktemp("small")
    site = small_stage(folder / "site")
    for arch in ("x86_64", "aarch64"):
        packages.build(site, arch, folder / "out", NEW, EPOCH)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    base = tmp_path_factory.getbasetemp()
    return built(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


def shown(*argv):
    return subprocess.run(
        [*map(str, argv)], capture_output=True, text=True, check=True, timeout=120, env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    ).stdout


def fields(deb):
    return dict(line.split(": ", 1) for line in shown("dpkg-deb", "--field", deb).splitlines() if not line.startswith(" "))


def members(deb):
    """Of a .deb: what is installed, by path."""
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as archive,
    ):
        return {one.name.removeprefix("."): one for one in archive}


@pytest.mark.parametrize(("arch", "debian"), [("x86_64", "amd64"), ("aarch64", "arm64")])
def test_a_package_says_what_it_needs_and_for_which_machine_it_is(small, arch, debian):
    need_real("rpm", "apt-get install rpm")
    deb, rpm = small / f"out/hostagent_{NEW}_{debian}.deb", small / f"out/hostagent-{NEW}-1.{arch}.rpm"
    found = fields(deb)
    assert (found["Package"], found["Version"], found["Architecture"], found["Depends"]) == ("hostagent", NEW, debian, "python3 (>= 3.10)")
    query = "%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{BUILDHOST} %{BUILDTIME}\n[%{REQUIRENAME}\n]"
    assert shown("rpm", "-qp", "--qf", query, rpm).splitlines() == [
        f"hostagent {NEW} 1 {arch} localhost {EPOCH}",
        "(python3 >= 3.10 or python3.12 or python3.11)",
    ]


def test_both_packages_have_the_same_files_all_of_them_root_s(small):
    need_real("rpm", "apt-get install rpm")
    deb = members(small / f"out/hostagent_{NEW}_amd64.deb")
    assert {(one.uname, one.gname) for one in deb.values()} == {("root", "root")}
    assert {one.mode & 0o7777 for one in deb.values() if one.isdir()} == {0o755}
    programs = {name for name, one in deb.items() if one.isfile() and one.mode != 0o644}
    assert {one for one in programs if not one.endswith(".sh")} == {"/opt/hostagent/bin/hostagent", "/opt/hostagent/bin/python"}
    assert {one.mode for name, one in deb.items() if name in programs} == {0o755}
    assert {one.mtime for one in deb.values()} == {EPOCH}
    assert deb["/usr/bin/hostagent"].linkname == "/opt/hostagent/bin/hostagent"
    assert [name for name in deb if name.startswith("/usr/lib/") and not deb[name].isdir()] == [UNIT]
    rpm = shown(
        "rpm",
        "-qp",
        "--qf",
        "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILENAMES}\n]",
        small / f"out/hostagent-{NEW}-1.x86_64.rpm",
    )
    rows = [line.split() for line in rpm.splitlines()]
    assert {tuple(row[1:3]) for row in rows} == {("root", "root")}
    assert {row[0] for row in rows if not row[0].startswith("l")} == {"-rw-r--r--", "-rwxr-xr-x", "drwxr-xr-x"}
    files = {name.replace("vendor-completions", "site-functions") for name, one in deb.items() if not one.isdir()}
    assert {row[3] for row in rows if not row[0].startswith("d")} == files
    folders = {row[3] for row in rows if row[0].startswith("d")}
    owned = ("/opt/hostagent/", "/etc/", "/usr/share/hostagent/")
    assert {os.path.dirname(name) for name in files if name.startswith(owned)} <= folders, "rpm removes what it knows"


def test_both_packages_have_what_slurm_runs(small):
    shipped = {path.name: 0o755 if path.suffix == ".sh" else 0o644 for path in (ROOT / "daemonset/slurm").iterdir()}
    deb = members(small / f"out/hostagent_{NEW}_amd64.deb")
    found = {os.path.basename(name): one.mode for name, one in deb.items() if name.startswith("/usr/share/hostagent/slurm/")}
    assert found == shipped


def test_an_edited_profile_is_the_administrator_s(small):
    need_real("rpm", "apt-get install rpm")
    deb, rpm = small / f"out/hostagent_{NEW}_amd64.deb", small / f"out/hostagent-{NEW}-1.x86_64.rpm"
    assert shown("dpkg-deb", "--info", deb, "conffiles").split() == [profile.SITE_FILE]
    flags = dict(line.split() for line in shown("rpm", "-qp", "--qf", "[%{FILENAMES} %{FILEFLAGS:fflags}x\n]", rpm).splitlines())
    assert {name: flag for name, flag in flags.items() if flag != "x"} == {profile.SITE_FILE: "cnx"}


def test_the_profile_that_is_installed_changes_nothing_and_its_examples_are_right(tmp_path):
    text = (ROOT / "release/package/profile.yaml").read_text()
    file = tmp_path / "profile.yaml"
    file.write_text(text)
    os.chmod(file, 0o644)
    plain, installed = profile.load(site_file=""), profile.load(site_file=str(file))
    assert (installed.profile, installed.title, installed.origins, installed.warnings) == (plain.profile, plain.title, plain.origins, ())
    file.write_text("".join(f"{line[1:]}\n" for line in text.splitlines() if line.startswith("#") and line[1:2].strip()))
    edited = profile.load(site_file=str(file))
    assert edited.warnings == ()
    assert edited.origin("gpus.count") == str(file)


def test_the_same_files_give_the_same_bytes_whoever_builds_them(small, tmp_path):
    script = "import sys; from pathlib import Path; from release.packages import build; build(Path(sys.argv[1]), 'x86_64', Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))"
    place = ["sh", "-c", 'umask 077; exec "$@"', "sh", sys.executable, "-c", script]
    environment = {**os.environ, "TZ": "Asia/Tokyo", "SOURCE_DATE_EPOCH": "1", "LC_ALL": "C"}
    site = small_stage(tmp_path / "copy")
    for path in site.rglob("*"):
        os.utime(path, (0, 0))
    subprocess.run([*place, site, tmp_path / "out", NEW, str(EPOCH)], check=True, timeout=120, env=environment, cwd=ROOT)
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (small / "out" / path.name).read_bytes(), path.name


def test_without_nfpm_the_next_step_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(SystemExit, match=r"(?s)found no .*/nfpm .*Run 'bash tests/real/install_nfpm\.sh'"):
        packages.build(tmp_path, "x86_64", tmp_path / "out", NEW, EPOCH)
    assert not (tmp_path / "out").exists()


LAUNCHER = ROOT / "release/package/python"


@pytest.mark.parametrize(
    ("python3", "others", "taken"),
    [
        ("python3.11", ["python3.14"], "python3.11"),
        ("python3.9", ["python3.11", "python3.12"], "python3.12"),
        ("python3.9", [], "python3"),
    ],
)
def test_the_launcher_takes_the_python_that_its_package_depends_on(tmp_path, python3, others, taken):
    for name in (python3, *others):
        program(tmp_path / name, '#!/bin/sh\necho "${0##*/}" "$@"\n')
    (tmp_path / "python3").symlink_to(python3)
    assert shown(launcher(tmp_path), "-I", "x").split() == [taken, "-I", "x"]


def test_without_a_python_the_launcher_says_which_is_wanted(tmp_path):
    done = subprocess.run([launcher(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == f"Error: found no {tmp_path}/python3, wanted Python 3.10 or newer. Install python3 (Debian, Ubuntu) or python3.12 (RHEL).\n"
    )


def launcher(folder):
    """That of the package, with `folder` in the place of /usr/bin."""
    return program(folder / "launcher", LAUNCHER.read_text().replace("/usr/bin/", f"{folder}/"))


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_an_older_python_says_which_is_wanted():
    text = (ROOT / "release/package/start.py").read_text()
    ast.parse(text, feature_version=(3, 6))
    older = "import sys; sys.version_info = (3, 9, 18); exec(sys.stdin.read())"
    done = subprocess.run([sys.executable, "-I", "-c", older], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "Error: found Python 3.9, wanted 3.10 or newer. Install python3.12 (RHEL), or a newer system.\n"


def compiled(root):
    return [path for path in (root.path / "opt").rglob("*") if path.name == "__pycache__" or path.suffix == ".pyc"]


def report(text):
    return {name: value for name, value in json.loads(text).items() if name not in ("timings_ms", "tool")}


def judged_as_by_the_checkout(root):
    done = root.run("hostagent", "check", "--from", "/srv/tape.json", "--json")
    ours = shown(sys.executable, "-m", "hostagent", "check", "--from", TAPE, "--json")
    assert report(done.stdout) == report(ours)


#: The C loader of YAML, and what reads modules of Ubuntu's kernels: without them hostagent is slow, or a host is unknown.
_PARTS = "import sys; sys.path.insert(0, '/opt/hostagent/lib'); import hostagent_start, backports.zstd, yaml, psutil; yaml.CSafeLoader"


@as_root
@pytest.mark.full
@pytest.mark.parametrize("suite", SUITES)
def test_apt_installs_it_into_a_fresh_debian_where_it_judges_as_the_checkout_does(whole, suite):
    with fresh_debian(suite) as root:
        root.put(whole.file("deb"), TAPE)
        assert not (root.path / "usr/bin/python3").exists()
        root.apt("install", f"/srv/{whole.file('deb').name}")
        judged_as_by_the_checkout(root)
        root.run("/opt/hostagent/bin/python", "-I", "-c", _PARTS)
        anybody = root.run(
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "hostagent", "check", "--from", "/srv/tape.json", "-q"
        )
        assert anybody.stdout.startswith("READY")
        assert root.run("hostagent", "daemon", "--print-unit").stdout == root.text(UNIT)
        assert list((root.path / "etc/systemd").rglob("hostagent*")) == [], "nothing is enabled"
        completed = 'source /usr/share/bash-completion/completions/hostagent; COMP_WORDS=(hostagent snaps) COMP_CWORD=1; _hostagent_completion hostagent; echo "${COMPREPLY[@]}"'
        assert root.run("bash", "-c", completed).stdout.split() == ["snapshot"]
        before = {path: path.stat().st_mtime_ns for path in compiled(root)}
        root.run("hostagent", "check", "--from", "/srv/tape.json", "-q")
        assert {path: path.stat().st_mtime_ns for path in compiled(root)} == before, "all that is imported is compiled"
        root.run("find", "/opt/hostagent", "-name", "__pycache__", "-exec", "rm", "-r", "{}", "+")
        root.run("sh", "-c", "dpkg --install /srv/archives/python3.*-minimal_*.deb")
        assert {*compiled(root)} == {*before}, "for a Python that comes later, too"


@as_root
@pytest.mark.full
@pytest.mark.parametrize("suite", SUITES)
def test_a_deb_is_upgraded_and_removed_with_profile_and_state_left_alone(whole, suite):
    with fresh_debian(suite) as root:
        root.put(whole.file("deb", OLD), whole.file("deb"), TAPE)
        root.apt("install", "python3")
        before = root.names()
        root.run("dpkg", "--install", f"/srv/{whole.file('deb', OLD).name}")
        assert [one.name for one in compiled(root) if one.name.startswith("relic.")] == [f"relic.{python(root)}.pyc"]
        edited = used(root)
        root.run("dpkg", "--install", f"/srv/{whole.file('deb').name}")
        assert root.text(profile.SITE_FILE) == edited
        assert "dpkg-new" not in str(root.names()), "the profile that comes with the new one is the same: nothing is asked"
        assert not (root.path / "opt/hostagent/lib" / GONE).parent.exists()
        judged_as_by_the_checkout(root)
        root.run("dpkg", "--remove", "hostagent")
        assert left(root, before) == {"etc/hostagent", "etc/hostagent/profile.yaml", *state_names()}
        assert root.text(profile.SITE_FILE) == edited
        root.run("dpkg", "--purge", "hostagent")
        assert left(root, before) == state_names()
        assert {path: root.text(path) for path in STATE} == STATE


@as_root
@pytest.mark.full
def test_a_deb_leaves_a_venv_alone_and_goes_where_its_files_have_gone(whole):
    with fresh_debian(SUITES[0]) as root:
        root.put(whole.file("deb"))
        root.apt("install", "python3")
        place, install = root.path / "opt/hostagent", ("dpkg", "--install", f"/srv/{whole.file('deb').name}")
        place.mkdir(parents=True)
        (place / "pyvenv.cfg").touch()
        refused = root.run(*install, check=False)
        assert "found a virtual environment in /opt/hostagent" in refused.stderr
        assert os.listdir(place) == ["pyvenv.cfg"]
        shutil.rmtree(place)
        root.run(*install)
        shutil.rmtree(place)
        root.run("dpkg", "--remove", "hostagent")
        root.run(*install)
        assert root.run("hostagent", "--version").stdout.startswith("hostagent ")


def python(root):
    return root.run("/opt/hostagent/bin/python", "-I", "-c", "import sys; print(sys.implementation.cache_tag)").stdout.strip()


def used(root):
    """As a host is after a while. The text of its profile."""
    with (root.path / profile.SITE_FILE.lstrip("/")).open("a") as stream:
        stream.write(EDITED)
    for path, text in STATE.items():
        place = root.path / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root.text(profile.SITE_FILE)


def state_names():
    found = set()
    for path in STATE:
        parts = Path(path.lstrip("/")).parts
        found |= {"/".join(parts[:count]) for count in range(3, len(parts) + 1)}
    return found


def left(root, before):
    return {one for one in root.names() ^ before if not one.startswith("var/log")}


@as_root
@pytest.mark.full
def test_dnf_installs_it_with_a_python_upgrades_and_removes_it_with_profile_and_state_left_alone(whole, tmp_path):
    """Real dnf and rpm, on Debian's files with Debian's Python. RHEL's own Python, systemd and SELinux are not here."""
    need_real("rpmbuild", "apt-get install rpm")
    with with_dnf() as root:
        root.put(TAPE, whole.file("rpm", OLD), whole.file("rpm"), python_rpm(tmp_path, "python3", "3.9.18"))
        old, new = (f"/srv/{whole.file('rpm', version).name}" for version in (OLD, NEW))
        (root.path / "usr/share/man/man1").mkdir()  # every distribution has it
        before = root.names()
        dnf(root, "install", "/srv/python3-3.9.18-1.noarch.rpm")
        assert "nothing provides (python3 >= 3.10 or python3.12 or python3.11)" in dnf(root, "install", old, check=False).stderr
        root.put(python_rpm(tmp_path, "python3.12", "3.12.1"))
        root.run("createrepo_c", "-q", "/srv")
        (root.path / "etc/yum.repos.d/made.repo").write_text("[made]\nname=made\nbaseurl=file:///srv\ngpgcheck=0\n")
        dnf(root, "install", old)
        assert root.run("rpm", "-q", "python3.12").stdout.startswith("python3.12-3.12.1"), "its dependency came along"
        judged_as_by_the_checkout(root)
        edited = used(root)
        dnf(root, "install", new)
        assert root.text(profile.SITE_FILE) == edited
        assert not (root.path / "opt/hostagent/lib" / GONE).parent.exists()
        judged_as_by_the_checkout(root)
        assert root.run("rpm", "--verify", "hostagent", check=False).stdout.split() == ["S.5....T.", "c", profile.SITE_FILE]
        assert compiled(root) != []
        dnf(root, "remove", "hostagent")
        found = {"etc/hostagent", "etc/hostagent/profile.yaml.rpmsave", "etc/yum.repos.d/made.repo", *state_names()}
        assert left(root, before) == found
        assert root.text(f"{profile.SITE_FILE}.rpmsave") == edited
        assert {path: root.text(path) for path in STATE} == STATE


def dnf(root, *words, check=True):
    return root.run("dnf", "--assumeyes", "--quiet", "--releasever=1", *words, check=check)


def python_rpm(folder, name, version):
    """A package that has nothing but its name and version."""
    spec = folder / f"{name}.spec"
    spec.write_text(
        f"Name: {name}\nVersion: {version}\nRelease: 1\nSummary: stub\nLicense: none\nBuildArch: noarch\n%description\nstub\n%files\n"
    )
    shown("rpmbuild", "--quiet", "--define", f"_topdir {folder}/rpmbuild", "-bb", spec)
    return folder / f"rpmbuild/RPMS/noarch/{name}-{version}-1.noarch.rpm"


@as_root
@pytest.mark.full
@pytest.mark.parametrize("suite", SUITES)
def test_the_unit_of_a_package_is_the_administrator_s_to_start_and_goes_on_over_an_upgrade(whole, suite):
    """In a machine of its own, under a real systemd."""
    with fresh_debian(suite) as root:
        root.put(whole.file("deb", OLD), whole.file("deb"))
        root.apt("install", "python3")
        machine = PlainMachine(root)
        with machine.up():
            machine.run("dpkg", "--install", f"/srv/{whole.file('deb', OLD).name}")
            assert [machine.shown("hostagent", name) for name in ("UnitFileState", "ActiveState")] == ["disabled", "inactive"]
            machine.run("systemctl", "enable", "--now", "hostagent")
            first, since = running(machine), machine.run("hostagent", "daemon", "history").stdout
            with machine.inside(profile.SITE_FILE).open("a") as stream:
                stream.write(EDITED)
            machine.run("dpkg", "--install", f"/srv/{whole.file('deb').name}")
            running(machine, first)
            assert machine.run("hostagent", "daemon", "history").stdout.startswith(since.splitlines()[0])
            assert EDITED in machine.inside(profile.SITE_FILE).read_text()
            assert machine.shown("hostagent", "NeedDaemonReload") == "no"
            machine.run("systemctl", "stop", "hostagent")
            assert machine.shown("hostagent", "Result") == "success"
            machine.run("dpkg", "--install", f"/srv/{whole.file('deb').name}")
            assert machine.shown("hostagent", "ActiveState") == "inactive", "what was stopped stays so"
            machine.run("systemctl", "start", "hostagent")
            machine.run("dpkg", "--remove", "hostagent")
            assert [machine.shown("hostagent", name) for name in ("LoadState", "ActiveState")] == ["not-found", "inactive"]
            assert list(machine.inside("/etc/systemd/system").rglob("hostagent*")) == []
            assert machine.inside("/var/lib/hostagent-daemon/record.json").exists()


def running(machine, before=("", 0.0)):
    """The number of the daemon's process and when it looked last: another process than before, that has looked since."""
    state = machine.inside("/run/hostagent/state.json")
    eventually(lambda: state.exists() and json.loads(state.read_text())["observed_at"] > before[1], 60)
    assert machine.shown("hostagent", "ActiveState") == "active"
    found = machine.shown("hostagent", "MainPID")
    assert found != before[0]
    return found, json.loads(state.read_text())["observed_at"]
