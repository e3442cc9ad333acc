"""S14, S20: what root obeys (profile, its parents, site file, catalogue, state file) only root can have written."""

import json
import os
import py_compile
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from hostagent.engine.report import state
from hostagent.profiles.profile import SITE_FILE, load
from tests.attack import spaces
from tests.real.conftest import need_real

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="files of several users need root: run the tests as root")

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
NO_GPU = str(Path(__file__).parents[1] / "hosts/no-gpu-vm")
CHECK = [HOSTAGENT, "check", "--from", NO_GPU, "--only", "gpu.present", "--profile"]
BOOT_ID = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
EVE = spaces.NOBODY


def run(*argv, **options):
    done = subprocess.run([str(one) for one in argv], capture_output=True, text=True, check=False, timeout=60, **options)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def refused(done, words):
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.splitlines()) == 2
    assert words in done.stderr, done.stderr


@pytest.fixture
def etc(tmp_path):
    """A directory as /etc/hostagent is, with a profile that asks for no GPU."""
    folder = tmp_path / "etc"
    folder.mkdir(mode=0o755)
    (folder / "profile.yaml").write_text("gpus: {required: false}\n")
    return folder


def theirs(etc):
    os.chown(etc / "profile.yaml", EVE, EVE)
    return "profile.yaml of user 65534, wanted root's"


def groups(etc):
    os.chmod(etc / "profile.yaml", 0o664)
    return "profile.yaml, which group 0 may write (mode 0664), wanted root's alone"


def everybodys(etc):
    os.chmod(etc / "profile.yaml", 0o646)
    return "profile.yaml, which everybody may write (mode 0646)"


def folder_of_theirs(etc):
    os.chown(etc, EVE, EVE)
    return "etc of user 65534"


def folder_of_a_group(etc):
    os.chmod(etc, 0o775)
    return "etc, which group 0 may write (mode 0775)"


def folder_of_everybody(etc):
    os.chmod(etc, 0o777)
    return "etc, which everybody may write (mode 0777)"


def folder_above(etc):
    os.chmod(etc.parent, 0o777)
    return "which everybody may write (mode 0777)"


def link_into_theirs(etc):
    (etc.parent / "eve").mkdir()
    (etc / "profile.yaml").rename(etc.parent / "eve/profile.yaml")
    (etc / "profile.yaml").symlink_to("../eve/profile.yaml")
    os.chown(etc.parent / "eve", EVE, EVE)
    return "eve of user 65534"


def link_of_theirs(etc):
    """Where everybody may make one: it leads to a file of root's."""
    os.chmod(etc, 0o1777)
    (etc / "profile.yaml").rename(etc.parent / "other.yaml")
    (etc / "profile.yaml").symlink_to(etc.parent / "other.yaml")
    os.chown(etc / "profile.yaml", EVE, EVE, follow_symlinks=False)
    return "profile.yaml of user 65534"


def sticky_of_theirs(etc):
    os.chmod(etc, 0o1777)
    os.chown(etc, EVE, EVE)
    return "etc of user 65534"


STEERED = [theirs, groups, everybodys, folder_of_theirs, folder_of_a_group, folder_of_everybody, folder_above, link_into_theirs]
STEERED += [link_of_theirs, sticky_of_theirs]


@pytest.mark.parametrize("steered", STEERED)
def test_root_obeys_no_profile_that_others_could_have_written(etc, steered):
    words = steered(etc)
    path = etc / "profile.yaml"
    refused(run(*CHECK, path), words)
    refused(run(HOSTAGENT, "checks", "list", "--profile", path), words)
    refused(run(HOSTAGENT, "checks", "show", "gpu.present", "--profile", path), words)
    refused(run(HOSTAGENT, "snapshot", "adopt", NO_GPU, etc / "adopted", "--profile", path), words)


@pytest.mark.parametrize("steered", STEERED)
def test_nor_one_that_a_profile_of_its_own_extends(etc, tmp_path, steered):
    words = steered(etc)
    os.chmod(tmp_path, 0o700)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/mine.yaml").write_text("extends: ../etc/profile.yaml\n")
    if steered is not folder_above:
        refused(run(*CHECK, tmp_path / "mine/mine.yaml"), words)


@pytest.mark.parametrize("steered", [theirs, groups, everybodys, folder_of_theirs, folder_of_a_group, folder_of_everybody])
def test_nor_a_site_file(etc, steered):
    need_real("unshare", "apt-get install util-linux")
    words = steered(etc)
    site = os.path.dirname(SITE_FILE)
    script = f'mkdir -p {site} 2>/dev/null; mount --bind "$1" {site} && shift && exec "$@"'
    for command in (("check", "--only", "host.hostname"), ("checks", "list")):
        refused(run("unshare", "-m", "/bin/sh", "-c", script, "sh", etc, HOSTAGENT, *command), words.partition(" ")[2])


def test_who_looks_at_a_strangers_profile_may(etc):
    theirs(etc)
    for command in (("profile", "validate"), ("profile", "show")):
        assert run(HOSTAGENT, *command, etc / "profile.yaml").returncode == 0


@pytest.fixture
def everywhere():
    """A directory that an ordinary user gets to, which those of pytest are not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_who_is_not_root_decides_nothing_for_anybody_and_obeys_what_he_likes(everywhere):
    path = everywhere / "profile.yaml"
    path.write_text("gpus: {required: false}\n")
    os.chmod(path, 0o666)
    os.chown(path, 1234, 1234)
    assert as_user(lambda: load(str(path), site_file="").profile.gpus.required) == "False"


def test_what_is_roots_is_obeyed_wherever_links_lead(etc, tmp_path):
    assert run(*CHECK, etc / "profile.yaml").returncode in (0, 1)
    os.chmod(etc, 0o1777)  # /tmp
    (tmp_path / "link").symlink_to("etc")
    (etc / "again.yaml").symlink_to("../link/../etc/./profile.yaml")
    assert run(*CHECK, tmp_path / "link/again.yaml").returncode in (0, 1)
    (etc / "loop.yaml").symlink_to("loop.yaml")
    refused(run(*CHECK, etc / "loop.yaml"), "too many levels of symbolic links")


def configmap(folder):
    """As kubelet's AtomicWriter leaves one."""
    (folder / "..2026_11_20_12_00_00.1234").mkdir(mode=0o755)
    (folder / "..2026_11_20_12_00_00.1234/profile.yaml").write_text("gpus: {required: false}\n")
    (folder / "..data").symlink_to("..2026_11_20_12_00_00.1234")
    (folder / "profile.yaml").symlink_to("..data/profile.yaml")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o2777], ids=oct)
def test_a_configmap_is_obeyed_because_its_volume_is_mounted_read_only(tmp_path, mode):
    need_real("unshare", "apt-get install util-linux")
    (tmp_path / "volume").mkdir()
    configmap(tmp_path / "volume")
    os.chmod(tmp_path / "volume", mode)
    (tmp_path / "config").mkdir()
    script = 'mount --bind "$1" "$2" && mount -o remount,bind,ro "$2" && shift 2 && exec "$@"'
    argv = ["unshare", "-m", "/bin/sh", "-c", script, "sh", tmp_path / "volume", tmp_path / "config", *CHECK]
    done = run(*argv, tmp_path / "config/profile.yaml")
    assert done.returncode in (0, 1), done
    writable = run(*[str(one).replace("-o remount,bind,ro", "-o remount,bind,rw") for one in argv], tmp_path / "config/profile.yaml")
    if mode == 0o1777:
        assert writable.returncode in (0, 1), "nobody else can touch what is root's there"
    else:
        refused(writable, "which everybody may write")


CHECK_MODULE = '''"""D."""

from hostagent.check import Findings, check
from hostagent.facts.host import Identity


@check(title="T", severity="info", since="1.0", remedy="R.")
def one(identity: Identity) -> Findings:
    yield from ()
'''


@pytest.fixture
def catalogue(tmp_path):
    """An installed catalogue `eve_checks`, and a profile that names it."""
    package = tmp_path / "site/eve_checks"
    (package / "disk").mkdir(parents=True)
    for name, text in {"__init__.py": "", "disk/__init__.py": "", "disk/one.py": CHECK_MODULE, "disk/_words.py": "X = 1\n"}.items():
        (package / name).write_text(text)
    profile = tmp_path / "profile.yaml"
    profile.write_text("catalogues: [eve_checks]\n")

    def listed(*command):
        command = command or ("checks", "list", "--profile")
        return run(HOSTAGENT, *command, profile, env={**os.environ, "PYTHONPATH": str(tmp_path / "site")})

    listed.package, listed.profile = package, profile
    return listed


@pytest.mark.parametrize("place", ["", "__init__.py", "disk", "disk/__init__.py", "disk/one.py", "disk/_words.py"])
def test_root_imports_no_catalogue_that_others_could_have_written(catalogue, place):
    assert "eve_checks.disk.one" in catalogue().stdout
    os.chown(catalogue.package / place, EVE, EVE)
    refused(catalogue(), "of user 65534, wanted root's")
    os.chown(catalogue.package / place, 0, 0)
    os.chmod(catalogue.package / place, 0o777)
    refused(catalogue(), "which everybody may write (mode 0777), wanted root's alone")


RAN = "import posix; posix.write(1, b'ran'); posix._exit(0)\n"


@pytest.mark.parametrize("place", ["disk/__pycache__", "disk/__pycache__/one.{tag}.pyc"])
def test_root_runs_no_compiled_code_that_others_could_have_written(catalogue, place):
    py_compile.compile(str(catalogue.package / "disk/one.py"))
    assert "eve_checks.disk.one" in catalogue().stdout
    os.chown(catalogue.package / place.format(tag=sys.implementation.cache_tag), EVE, EVE)
    refused(catalogue(), "of user 65534, wanted root's")


def test_a_source_is_linted_in_the_encoding_that_it_claims(catalogue):
    """As UTF-8 the second line is a comment; as the import system decodes it, it is not."""
    (catalogue.package / "disk/one.py").write_text(f"# coding: utf-7\n# +AAo-import posix+AAo-posix.write(1, b'ran')\n{CHECK_MODULE}")
    refused(catalogue(), "imports posix")


@pytest.mark.parametrize(
    "name", ["eve_checks.disk", "eve_checks.disk.one", ".eve_checks", "eve checks", "../site/eve_checks", "eve_checks\0"]
)
def test_a_catalogue_is_a_package_and_no_path_to_one(catalogue, name):
    for place in ("__init__.py", "disk/__init__.py"):
        (catalogue.package / place).write_text(RAN)
    catalogue.profile.write_text(f"catalogues: [{json.dumps(name)}]\n")
    refused(catalogue(), "wanted the name of a package")


@pytest.mark.parametrize("place", ["__init__.py", "disk/__init__.py", "disk/one.py", "disk/_words.py"])
def test_validate_imports_nothing_of_it_and_says_what_it_did_not_verify(catalogue, place):
    (catalogue.package / place).write_text(RAN)
    catalogue.profile.write_text(
        "catalogues: [hostagent_checks, eve_checks]\nchecks: {eve_checks.disk.none: {off: x}, gpu.present: {off: y}}\n"
    )
    done = catalogue("profile", "validate")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == [
        "not verified: the catalogue eve_checks, and what 'checks' says of its checks; 'hostagent checks list --profile FILE' imports it"
    ]
    catalogue.profile.write_text("catalogues: [hostagent_checks, eve_checks]\nchecks: {gpu.presence: {off: y}}\n")
    assert "no check gpu.presence; did you mean gpu.present?" in catalogue("profile", "validate").stderr


class TestStatus:
    @pytest.fixture
    def etc(self, tmp_path):
        """As /run/hostagent is: the same ways to steer hold for it."""
        folder = tmp_path / "etc"
        folder.mkdir(mode=0o755)
        now = time.time()
        verdict = {"single_node": "ready", "multi_node": "ready"}
        times = {"observed_at": now, "valid_until": now + 600, "boot_id": BOOT_ID}
        told = {"schema_version": 1, "profile": {"name": "default", "hash": "0"}, "verdict": verdict, "reasons": [], **times}
        (folder / "profile.yaml").write_text(json.dumps(told))
        return folder

    @pytest.mark.parametrize("steered", STEERED)
    def test_it_believes_no_verdict_that_others_could_have_written(self, etc, steered):
        path = etc / "profile.yaml"
        assert run(HOSTAGENT, "status", "--state-file", path).returncode == 0
        words = steered(etc)
        done = run(HOSTAGENT, "status", "--state-file", path)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith(f"UNKNOWN: {path} is not believed (found ")
        assert words in done.stdout
        assert json.loads(run(HOSTAGENT, "status", "--state-file", path, "--format", "json").stdout)["placeable"] is False

    def test_an_ordinary_user_believes_roots_and_his_own(self, etc, everywhere):
        path = everywhere / "state.json"
        path.write_bytes((etc / "profile.yaml").read_bytes())
        believed = {}
        for owner in (0, EVE, 1234):
            os.chown(path, owner, owner)
            believed[owner] = as_user(lambda: state.read(str(path), time.time()).placeable("single_node"))
        assert believed == {0: "True", EVE: "True", 1234: "False"}

    def test_a_run_leaves_no_verdict_where_nobody_would_believe_it(self, tmp_path):
        need_real("unshare", "apt-get install util-linux")
        script = (
            f"mkdir -p /run/hostagent; mount -t tmpfs -o mode=0777 none /run/hostagent; {HOSTAGENT} check >/dev/null; ls -A /run/hostagent"
        )
        done = run("unshare", "-m", "/bin/sh", "-c", script)
        assert (done.stdout, done.stderr.count("which everybody may write (mode 0777)")) == ("", 1)

    def test_everybody_may_read_it_whatever_the_umask(self, tmp_path):
        need_real("unshare", "apt-get install util-linux")
        script = (
            f"umask 077; mount -t tmpfs none /run; {HOSTAGENT} check >/dev/null; stat -c '%a %U' /run/hostagent /run/hostagent/state.json"
        )
        assert run("unshare", "-m", "/bin/sh", "-c", script).stdout == "755 root\n644 root\n"


def as_user(function):
    """What it returns to an ordinary user, as text."""
    listening, telling = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            spaces.become(EVE)
            os.write(telling, str(function()).encode())
        finally:
            os._exit(0)
    os.close(telling)
    with open(listening, encoding="ascii") as stream:
        told = stream.read()
    os.waitpid(pid, 0)
    return told
