"""The single file, as it is built: with each Python that is here it judges as the checkout does, and its cache is its user's alone."""

import fcntl
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

from release.sources import export
from tests.real.daemonrun import eventually
from tests.recorded import HOSTS

MACHINE = os.uname().machine
USER = 65500
ELSEWHERE = "/mnt/hostagent.pyz"
#: Of each minor version the first; a name of pyenv's that runs nothing is not there.
FOUND = {}
for _path in [*sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))), *sorted(glob.glob("/usr/bin/python3.1?"))]:
    _asked = subprocess.run([_path, "-Ic", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False)
    if _asked.returncode == 0:
        FOUND.setdefault(tuple(map(int, _asked.stdout.split())), _path)
PYTHONS = {f"3.{minor}": path for (_, minor), path in sorted(FOUND.items()) if minor >= 10}
OLD = [path for (_, minor), path in sorted(FOUND.items()) if 6 <= minor < 10]
NEWEST = [*PYTHONS.values()][-1]
#: Over /var/cache lies a folder of the test; what follows prepares it.
ROOTS = 'mount --bind "$1" /var/cache && eval "$2" && shift 2 && exec "$@"'
PARTS = """
import sys
sys.path.insert(0, sys.argv[1])
import hostagent_start
sys.path[1:1] = hostagent_start.places(sys.argv[1])
import yaml, psutil, charset_normalizer.md
assert yaml.CSafeLoader
if sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd
if sys.version_info < (3, 11):
    import tomli
import ansible.cli.playbook, ansible_runner
print(zstd.decompress(zstd.compress(b"same")).decode())
"""


def built(sources):
    argv = [sys.executable, "-m", "release", "--arch", MACHINE, "pyz", "wheel", "sdist"]
    done = subprocess.run(argv, cwd=sources, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return sources / "dist"


def committed(folder):
    """A clone of the working tree, whatever is committed in it."""
    export(folder)
    (folder / "hostagent/_commit.txt").unlink()
    for words in (["init", "--quiet"], ["add", "--all"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--message=t"]):
        subprocess.run(["git", *words], cwd=folder, check=True, timeout=60)
    return folder


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    """One clone for all workers of the tests."""
    place = tmp_path_factory.getbasetemp()
    place = place.parent if "PYTEST_XDIST_WORKER" in os.environ else place
    with open(place / "pyz.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "pyz.sources/dist").exists():
            built(committed(place / "pyz.sources"))
    return place / "pyz.sources"


@pytest.fixture(scope="session")
def pyz(sources):
    return sources / "dist" / f"hostagent-{MACHINE}.pyz"


@pytest.fixture
def users():
    """A directory that every user can enter; those of pytest are root's."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


class Roots:
    """Starts the file as root, with a folder of the test in place of /var/cache."""

    def __init__(self, folder, pyz):
        self.folder, self.pyz = folder, pyz
        self.cache = folder / "hostagent"
        folder.mkdir(mode=0o755, exist_ok=True)
        folder.chmod(0o755)

    def argv(self, *words, setup=":", start=None):
        start = start or [NEWEST, str(self.pyz)]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", ROOTS, "sh", str(self.folder), setup, *start, *words]

    def __call__(self, *words, setup=":", start=None, env=None, cwd=None):
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin", "LC_ALL": "C.UTF-8", **(env or {})}
        argv = self.argv(*words, setup=setup, start=start)
        return subprocess.run(argv, env=environment, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)

    def elsewhere(self):
        """The file where it stays when /tmp is another."""
        return f"mount -t tmpfs none /mnt; touch {ELSEWHERE}; mount --bind {self.pyz} {ELSEWHERE}"

    @property
    def site(self):
        (found,) = self.cache.glob("hostagent-*/site-packages")
        return found


@pytest.fixture(scope="session")
def filled(pyz, tmp_path_factory):
    """A cache that other tests start from, and leave as it is."""
    run = Roots(tmp_path_factory.mktemp("filled"), pyz)
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    return run


@pytest.fixture
def fresh(pyz, tmp_path):
    return Roots(tmp_path / "cache", pyz)


def report(done):
    """Without the times, which differ from run to run."""
    assert done.stderr == ""
    found = json.loads(done.stdout)
    times = ("observed_at", "timings_ms", "valid_until")
    return done.returncode, {name: value for name, value in found.items() if not name.startswith(times)}


def checkout(*words):
    argv = [sys.executable, "-I", "-m", "hostagent", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)
def test_each_python_judges_as_the_checkout_does(filled, python):
    for host in ("hgx-h100-ubuntu2404", "hgx-h100-gpu-off-the-bus"):
        words = ["check", "--from", str(HOSTS / host / "tape.json"), "--format", "json"]
        assert report(filled(*words, start=[python, str(filled.pyz)])) == report(checkout(*words))


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)
def test_each_python_has_the_extension_modules_and_ansible(filled, python):
    done = subprocess.run([python, "-IS", "-c", PARTS, str(filled.site)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("same\n", "")


def test_it_judges_a_live_host_and_an_image(filled, tmp_path):
    done = filled("check", "--format", "json")
    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    (tmp_path / "image/etc").mkdir(parents=True)
    (tmp_path / "image/etc/os-release").write_text("ID=ubuntu\nVERSION_ID=24.04\n")
    words = ["check", "--root", str(tmp_path / "image"), "--format", "json"]
    assert report(filled(*words)) == report(checkout(*words))


def test_a_clean_clone_is_built_with_the_same_bytes_again_and_says_its_commit(sources, tmp_path):
    subprocess.run(["git", "clone", "--quiet", str(sources), str(tmp_path / "again")], check=True, timeout=60)
    again = built(tmp_path / "again")
    names = {path.name for path in again.iterdir()}
    assert len(names) == 5
    assert [name for name in names if (again / name).read_bytes() != (sources / "dist" / name).read_bytes()] == []
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=sources, capture_output=True, text=True, check=True).stdout
    (wheel,), (sdist,) = again.glob("*.whl"), again.glob("*.tar.gz")
    assert zipfile.ZipFile(wheel).read("hostagent/_commit.txt").decode() == commit
    with tarfile.open(sdist) as archive:
        assert [name for name in archive.getnames() if ".dist" in name or name.endswith(".pyz")] == []


@pytest.mark.parametrize("python", OLD, ids=lambda path: path.split("/")[-3])
def test_a_python_that_is_too_old_starts_a_newer_one(filled, python):
    assert filled("--version", start=[python, str(filled.pyz)]).stdout.startswith("hostagent ")


@pytest.mark.parametrize("python", OLD, ids=lambda path: path.split("/")[-3])
def test_a_python_that_is_too_old_says_so_where_there_is_no_newer_one(filled, python):
    hide = "for one in /usr/bin/python3.1? /usr/local/bin/python3.1?; do [ ! -e $one ] || mount --bind /dev/null $one; done"
    done = filled("check", start=[python, str(filled.pyz)], setup=hide)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: found Python 3.")
    assert "wanted 3.10 or newer" in done.stderr


def test_it_starts_by_its_name_from_path_and_by_a_relative_path(filled, tmp_path):
    (tmp_path / "hostagent").symlink_to(filled.pyz)
    assert filled("--version", start=["hostagent"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).returncode == 0
    assert filled("--version", start=["./hostagent"], cwd=tmp_path).returncode == 0
    assert filled("--version", start=[NEWEST, "hostagent"], cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("path", ["", "HERE:/usr/bin:/bin"], ids=["empty", "a python3 that fails"])
def test_it_starts_whatever_path_says(filled, tmp_path, path):
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    done = filled("--version", start=["env", f"PATH={path.replace('HERE', str(tmp_path))}", str(filled.pyz)])
    assert (done.returncode, done.stderr) == (0, "")


def test_packages_of_the_python_that_runs_it_are_not_seen(filled, tmp_path):
    subprocess.run([NEWEST, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True, timeout=60)
    (place,) = (tmp_path / "venv/lib").glob("python3.*/site-packages")
    for name in ("cryptography.py", "chardet.py", "simplejson.py", "click.py", "ansible.py"):
        (place / name).write_text("import os; os._exit(77)\n")
    words = ["check", "--from", str(HOSTS / "hgx-h100-ubuntu2404/tape.json")]
    assert filled(*words, start=[str(tmp_path / "venv/bin/python"), str(filled.pyz)]).returncode == 0


def test_nothing_of_the_caller_brings_code_in(filled, tmp_path):
    for name in ("click.py", "hostagent.py", "hostagent_start.py", "usercustomize.py", "zipfile.py", "shutil.py"):
        (tmp_path / name).write_text("import os; os._exit(77)\n")
    env = {"PYTHONSTARTUP": str(tmp_path / "click.py"), "PYTHONPATH": str(tmp_path), "SHIV_ROOT": str(tmp_path), "SHIV_INTERPRETER": "1"}
    env |= {
        "SHIV_ENTRY_POINT": "click:x",
        "SHIV_FORCE_EXTRACT": "1",
        "SHIV_PREPEND_PYTHONPATH": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    for start in ([str(filled.pyz)], [NEWEST, "-S", str(filled.pyz)]):
        done = filled("--version", start=start, env={**env, "HOME": str(tmp_path)}, cwd=tmp_path)
        assert (done.returncode, done.stdout.split()[:1], done.stderr) == (0, ["hostagent"], "")
    assert not (tmp_path / "hostagent").exists()


@pytest.mark.parametrize(
    ("setup", "found"),
    [
        ("mkdir hostagent; chown 1000 hostagent", "directory of user 1000 with mode 0755"),
        ("mkdir hostagent; chmod 0777 hostagent", "directory of user 0 with mode 0777"),
        ("mkdir -p hostagent; chmod 1777 hostagent", "with mode 1777"),
        ("mkdir elsewhere; ln -s elsewhere hostagent", "link of user 0"),
        ("touch hostagent", "file of user 0"),
        ("mkdir -p hostagent/$BUILD/site-packages; chown 1000 hostagent/$BUILD", "directory of user 1000"),
        ("mkdir -p hostagent/$BUILD; ln -s / hostagent/$BUILD/site-packages", "link of user 0"),
        ("mkdir -p hostagent; ln -s / hostagent/$BUILD", "link of user 0"),
    ],
)
def test_root_refuses_a_cache_that_others_can_write(filled, fresh, setup, found):
    build = filled.site.parent.name
    done = fresh("check", setup=f"cd /var/cache; BUILD={build}; {setup}")
    assert (done.returncode, done.stdout) == (2, "")
    assert found in done.stderr
    assert done.stderr.startswith("Error: found ")
    assert "Traceback" not in done.stderr


@pytest.mark.full
def test_the_cache_of_root_is_readable_and_roots_alone_whatever_its_umask_is(fresh):
    assert fresh("--version", setup="umask 0").returncode == 0
    assert {oct(path.stat().st_mode & 0o777) for path in [fresh.cache, *fresh.cache.rglob("*")] if path.is_dir()} == {"0o755"}
    assert not [path for path in fresh.cache.rglob("*") if path.stat().st_mode & 0o022]


@pytest.mark.parametrize(
    ("setup", "why"),
    [
        ("mount -t tmpfs -o ro none /var/cache", "Read-only file system"),
        ("mount -t tmpfs -o size=60m,mode=755 none /var/cache", "less than 100 MB free"),
        pytest.param("mount -t tmpfs -o noexec,mode=755 none /var/cache", "mounted noexec", marks=pytest.mark.full),
        pytest.param("chmod 0777 /var/cache", "others can write /var/cache, of user 0 with mode 0777", marks=pytest.mark.full),
        pytest.param("chown 1000 /var/cache", "others can write /var/cache, of user 1000 with mode 0755", marks=pytest.mark.full),
    ],
    ids=["read-only", "full", "noexec", "writable", "of another"],
)
def test_where_the_cache_cannot_be_used_a_directory_of_one_run_is(fresh, tmp_path, setup, why):
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    done = fresh("--version", setup=f"{fresh.elsewhere()}; mount --bind {folder} /tmp; {setup}", start=[NEWEST, ELSEWHERE])
    said = f"Warning: each start unpacks hostagent again, for want of a cache: found /var/cache/hostagent: {why}. Correct that.\n"
    assert (done.returncode, done.stdout.split()[:1], done.stderr) == (0, ["hostagent"], said)
    eventually(lambda: not os.listdir(folder))


def test_where_nothing_can_be_used_it_says_so(fresh):
    none = "".join(f"; mount -t tmpfs -o noexec none {place}" for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/cache"))
    done = fresh("check", setup=fresh.elsewhere() + none, start=[NEWEST, ELSEWHERE])
    assert (done.returncode, done.stdout) == (2, "")
    assert "found no directory" in done.stderr


def test_a_cache_that_is_there_serves_on_a_file_system_that_became_read_only(filled):
    done = filled("--version", setup="mount -o remount,ro,bind /var/cache; mount -t tmpfs -o ro none /var/tmp")
    assert (done.returncode, done.stderr) == (0, "")


def test_two_first_starts_at_once(fresh):
    starts = [subprocess.Popen(fresh.argv("--version"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [one.communicate(timeout=120) for one in starts]
    assert {(one.returncode, out.split()[0], err) for one, (out, err) in zip(starts, answers, strict=True)} == {(0, "hostagent", "")}
    assert [path.name for path in fresh.cache.iterdir() if path.is_dir()] == [fresh.site.parent.name]


def test_a_first_start_that_was_killed_leaves_nothing_that_breaks_the_next(fresh):
    with subprocess.Popen(fresh.argv("--version")) as first:
        eventually(lambda: len([*fresh.cache.glob("*.tmp/site-packages/*")]) > 5)
        first.kill()
    assert fresh("--version").returncode == 0
    assert [path.name for path in fresh.cache.iterdir() if path.is_dir()] == [fresh.site.parent.name]


def test_a_first_start_that_is_interrupted_leaves_alone_what_another_unpacks(filled, fresh):
    build = filled.site.parent.name
    half, lock = fresh.cache / f"{build}.tmp/site-packages", fresh.cache / f".{build}_lock"
    half.mkdir(parents=True)
    fresh.cache.chmod(0o755)
    lock.write_text("cut off by who waits for it")
    with open(lock, "r+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        argv = fresh.argv("--version", start=["env", "--default-signal=INT", NEWEST, str(fresh.pyz)])
        with subprocess.Popen(argv) as start:
            eventually(lambda: lock.stat().st_size == 0)
            start.send_signal(signal.SIGINT)
            assert start.wait(30) == 130
    assert half.exists()


def test_what_was_not_unpacked_whole_is_unpacked_again(filled, fresh):
    """Whoever took a file away: shiv asks for the directory alone."""
    build = fresh.cache / filled.site.parent.name
    (build / "site-packages").mkdir(parents=True)
    for path in (fresh.cache, build, build / "site-packages"):
        path.chmod(0o755)
    assert fresh("--version").stdout.startswith("hostagent ")


def test_where_there_is_no_room_to_compile_nothing_is(filled):
    site = filled.site.parent
    setup = f"mount -t tmpfs -o mode=755 none /mnt; cp -a {filled.cache} /mnt; rm /mnt/hostagent/{site.name}/compiled-*"
    setup += "; find /mnt -name '*.pyc' -delete; mount -o remount,size=70m /mnt; mount --bind /mnt /var/cache"
    start = ["sh", "-c", '"$0" "$@" && find /var/cache -name "*.pyc"', NEWEST, str(filled.pyz)]
    done = filled("--version", setup=setup, start=start)
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 1, "")


@pytest.mark.full
def test_what_a_lost_power_emptied_is_unpacked_again(fresh):
    assert fresh("--version").returncode == 0
    (fresh.site / "hostagent/cli/run.py").write_text("")
    (fresh.site.parent / "unpacked").write_text("another boot")
    assert fresh("--version").stdout.startswith("hostagent ")
    assert (fresh.site / "hostagent/cli/run.py").read_text()


def test_another_version_goes_when_no_process_runs_from_it_or_unpacks_it(fresh):
    names = ("old", "old.tmp", "used", "used.tmp")
    old, left, used, unpacked = (fresh.cache / f"hostagent-0.0.1-{name}/site-packages" for name in names)
    for one in (old, left, used, unpacked):
        one.mkdir(parents=True)
    fresh.cache.chmod(0o755)
    (fresh.cache / ".hostagent-0.0.1-old_lock").touch()
    (fresh.cache / ".hostagent-0.0.1-used_lock").touch()
    unpacks = os.open(fresh.cache / ".hostagent-0.0.1-used_lock", os.O_RDONLY)
    fcntl.flock(unpacks, fcntl.LOCK_EX)
    held = os.open(used.parent, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)
    try:
        assert fresh("--version").returncode == 0
    finally:
        os.close(held)
        os.close(unpacks)
    assert [one.exists() for one in (old, left, used, unpacked)] == [False, False, True, True]


@pytest.mark.parametrize(
    "env",
    [
        {"HOME": "HERE"},
        pytest.param({"XDG_CACHE_HOME": "HERE/xdg", "HOME": "/"}, marks=pytest.mark.full),
        pytest.param({"XDG_CACHE_HOME": "relative", "HOME": "HERE"}, marks=pytest.mark.full),
        pytest.param({}, marks=pytest.mark.full),
    ],
)
def test_a_user_has_a_cache_of_their_own(pyz, users, env):
    file, home = shutil.copy(pyz, users / "hostagent.pyz"), users / "home"
    home.mkdir()
    os.chown(home, USER, USER)
    environment = {"PATH": "/usr/bin:/bin", **{name: value.replace("HERE", str(home)) for name, value in env.items()}}
    start = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "/usr/bin/python3", file, "--version"]
    done = subprocess.run(start, env=environment, cwd="/", capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.split()[:1], done.stderr) == (0, ["hostagent"], "")
    made = [path for path in (home / "xdg/hostagent", home / ".cache/hostagent") if path.exists()]
    wanted = [] if not env else ["xdg/hostagent"] if env["HOME"] == "/" else [".cache/hostagent"]
    assert [path.relative_to(home).as_posix() for path in made] == wanted
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in made)


@pytest.mark.full
def test_a_user_whose_cache_others_can_write_runs_from_a_directory_of_one_run(pyz, users):
    file, cache = shutil.copy(pyz, users / "hostagent.pyz"), users / "home/.cache"
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    start = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "/usr/bin/python3", file, "--version"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(users / "home")}
    done = subprocess.run(start, env=environment, cwd="/", capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["hostagent"])
    assert f"others can write {cache}, of user 0 with mode 0777. Correct that, or set XDG_CACHE_HOME." in done.stderr
    assert [*cache.iterdir()] == []


@pytest.mark.full
def test_root_of_a_user_namespace_has_the_cache_of_its_user(pyz, users):
    file, home = shutil.copy(pyz, users / "hostagent.pyz"), users / "home"
    home.mkdir()
    os.chown(home, USER, USER)
    start = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "unshare", "--map-root-user", file, "--version"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    done = subprocess.run(start, env=environment, cwd="/", capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.split()[:1], done.stderr) == (0, ["hostagent"], "")
    assert (home / ".cache/hostagent").stat().st_uid == USER


def test_a_file_that_was_cut_off_is_refused(pyz, tmp_path):
    cut = tmp_path / "cut.pyz"
    cut.write_bytes(pyz.read_bytes()[:1_000_000])
    cut.chmod(0o755)
    done = subprocess.run([str(cut), "check"], capture_output=True, text=True, timeout=10, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "found 1000000 bytes" in done.stderr


def test_exit_codes_are_those_of_hostagent(filled):
    tapes = [str(HOSTS / host / "tape.json") for host in ("hgx-h100-ubuntu2404", "hgx-h100-gpu-off-the-bus")]
    assert [filled("check", "--from", tape).returncode for tape in tapes] == [0, 1]
    assert filled("nonsense").returncode == 2
