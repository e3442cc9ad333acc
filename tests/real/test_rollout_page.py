"""docs/rollout.md: its commands as they stand, against a machine with a real systemd, and the Ansible role where something is wrong.

`ssh` and `scp` are stand-ins that enter the machine: there is no network between it and the test. Everything else is the real program.
"""

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostagent import __version__
from tests.real import installroots
from tests.real.conftest import CACHE, need_real
from tests.real.machine import Machine

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/rollout.md").read_text(encoding="utf-8")
_ALL = dict(re.findall(r"<!-- run: (\S+) -->\n```sh\n(.*?)```", PAGE, re.DOTALL))
#: Those that need a cluster are run by tests/real/test_rollout_cluster.py.
CLUSTER_BLOCKS = {name: text for name, text in _ALL.items() if name.startswith("k8s-")}
BLOCKS = {name: text for name, text in _ALL.items() if name not in CLUSTER_BLOCKS}
#: What the page says that `make dist` makes.
FILES = re.findall(
    r"`([^`]+?)/?`", "".join(re.findall(r"^\| (`.*?) \|", PAGE.partition("## The files")[2].partition("\n## ")[0], re.MULTILINE))
)
HOST = "gpu-01"
#: What the page says that a removal leaves.
LEFT = re.findall(r"^\| `(/\S+?)/?` \|", PAGE.partition("## Removal")[2], re.MULTILINE)
#: Where hostagent may be; what of it is nowhere else is gone after a removal.
PLACES = ("/usr/local/bin", "/usr/bin", "/opt", "/etc", "/var/lib", "/var/cache", "/run", "/usr/share", "/usr/lib/systemd")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Enters the machine as `ssh HOST COMMAND` would; options of a real ssh are passed over. Standard input comes along, but for -n.
_SSH = """#!{python}
import os, sys
words, given = sys.argv[1:], []
while words and words[0].startswith("-"):
    word = words.pop(0)
    given.append(word)
    if word in ("-o", "-l", "-p", "-i", "-F", "-b", "-E"):
        words.pop(0)
host, *command = words
assert host.rpartition("@")[2] == {host!r}, host
if "-n" in given:
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
enter = {enter!r}
os.execvpe(enter[0], [*enter, "sh", "-c", " ".join(command) or ":"], {{"PATH": {path!r}, "HOME": "/root", "LC_ALL": "C.UTF-8"}})
"""
#: The Python of the tests as the clone's own. What it installed would be in the environment of the tests.
_PYTHON = """#!/bin/sh
case "$*" in *"pip install"*) echo "nothing is installed here" >&2; exit 1 ;; esac
PYTHONPATH="{place}:{place}/checks" exec {python} "$@"
"""
_SCP = """#!/bin/sh
set -e
[ "$1" = -q ] && shift
for last in "$@"; do :; done
to="{inside}${{last#*:}}"
[ "${{last%%:*}}" = root@{host} ]
while [ $# -gt 1 ]; do cp -- "$1" "$to"; shift; done
"""


def test_each_block_of_commands_is_run():
    assert PAGE.count("```sh\n") == len(_ALL)
    assert set(BLOCKS) == set(ORDER)


class Site:
    """The administrator's machine: a clone, in which the page's commands are typed."""

    def __init__(self, place, machine):
        self.place, self.machine = place, machine

    def run(self, name):
        """A block of the page, and what it prints."""
        return self.typed(BLOCKS[name])

    def typed(self, script):
        environment = {
            "PATH": f"{self.place}/stand-ins:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_HOME": str(self.place / "ansible"),
            "ANSIBLE_SSH_TRANSFER_METHOD": "piped",
            **{name: value for name, value in os.environ.items() if name.startswith(("HOME", "PIP_", "HOSTAGENT_", "XDG_", "GO"))},
        }
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.place / "clone",
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout

    def on_host(self, name, where="/root"):
        return self.machine.run("env", "-i", f"PATH={_PATH}", "HOME=/root", "bash", "-e", "-c", f"cd {where}\n{BLOCKS[name]}").stdout

    def found(self):
        """Files of hostagent on the host, but for what the page says that it leaves."""
        lines = self.machine.run("find", *PLACES, "-name", "*hostagent*", "-prune").stdout.splitlines()
        return {line for line in lines if line not in LEFT and not line.startswith("/var/lib/dpkg/")}  # dpkg knows removed ones


def clone(place):
    """What git tracks or would track, committed, with the Python of the tests as its environment: `make` finds nothing to install."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    git = "git -c user.name=x -c user.email=x@example.com -c commit.gpgsign=false"
    subprocess.run(f"git init -q . && git add -A && {git} commit -q -m made", shell=True, cwd=place, check=True)
    (place / ".git/info/exclude").write_text("hosts.*\n")  # the page's own, of which the sources are clean
    (place / ".venv/bin").mkdir(parents=True)
    python = place / ".venv/bin/python"
    python.write_text(_PYTHON.format(place=place, python=sys.executable))
    python.chmod(0o755)
    for name in (".tests", ".installed"):  # newer than all that make would install anew for
        (place / ".venv" / name).touch()
        os.utime(place / ".venv" / name, (time.time() + 3600,) * 2)


def host_root(place):
    """Debian 12 with systemd and Python as a distribution has it, and nothing of ours; built once."""
    program = need_real("mmdebstrap", installroots.HOW)
    options = ("--variant=minbase", "--include=systemd-sysv,python3-venv", '--aptopt=APT::Install-Recommends "false"')
    options += tuple(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "locale"))
    kept = Path(CACHE, f"rollout-{hashlib.sha256(' '.join(options).encode()).hexdigest()[:12]}.tar")
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([program, "--quiet", "--mode=root", *options, "bookworm", f"{kept}.part.tar"], check=True, timeout=600)
        os.replace(f"{kept}.part.tar", kept)
    place.mkdir()
    subprocess.run(["tar", "--numeric-owner", "-xf", kept, "-C", place, "--exclude=./dev/*"], check=True)
    (place / "etc/machine-id").write_text("")
    (place / "etc/hostname").write_text(f"{HOST}\n")
    return place


@pytest.fixture
def site(tmp_path):
    need_real("systemd-nspawn", "apt-get install systemd-container")
    (tmp_path / "clone").mkdir()
    clone(tmp_path / "clone")
    (tmp_path / "clone/hosts.txt").write_text(f"{HOST}\n")
    (tmp_path / "clone/hosts.ini").write_text(f"[gpu]\n{HOST} ansible_user=root ansible_python_interpreter=/usr/bin/python3\n")
    with installroots.place() as where:
        machine = Machine(host_root(where / "root"))
        machine._binds = ()
        (where / "root/usr/local/bin/hostagent").unlink()
        with machine.up():
            standing = tmp_path / "stand-ins"
            standing.mkdir()
            inside = machine.inside("").as_posix().rstrip("/")
            ssh = _SSH.format(python=sys.executable, host=HOST, enter=machine.entered(), path=_PATH)
            for name, text in {"ssh": ssh, "scp": _SCP.format(inside=inside, host=HOST)}.items():
                (standing / name).write_text(text)
                (standing / name).chmod(0o755)
            yield Site(tmp_path, machine)


def is_well(site, way):
    """The service runs this copy, and a recorded host is judged as everywhere."""
    assert site.machine.shown("hostagent", "ActiveState") == "active"
    assert json.loads(site.machine.inside("/run/hostagent/summary.json").read_text())
    assert site.machine.run("sh", "-c", "command -v hostagent").stdout.strip() == way
    shown = site.machine.run(way, "demo", "gpu-off-the-bus", check=False)
    assert "NOT READY  GPU 4 (0000:9d:00.0) has fallen off the PCIe bus." in shown.stdout, shown.stdout + shown.stderr


def kept(site):
    """What an upgrade keeps."""
    files = ("/etc/hostagent/profile.yaml", "/var/lib/hostagent/runs/1/plan.json")
    return {name: site.machine.inside(name).read_text() for name in files}


def leave_something(site):
    """As a site's profile and a run of `hostagent install` do."""
    for name, text in {
        "/etc/hostagent/profile.yaml": "schema_version: '1.0'\nname: site\n",
        "/var/lib/hostagent/runs/1/plan.json": "{}\n",
    }.items():
        path = site.machine.inside(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def the_role_brings_a_profile(site):
    """One that is none stops the play, and changes nothing."""
    play, there = BLOCKS["ansible"].rstrip(), site.machine.inside("/etc/hostagent/profile.yaml")
    for name, text in {"good": "schema_version: '1.0'\nname: ours\n", "bad": "schema_version: '1.0'\nnmae: ours\n"}.items():
        (site.place / f"clone/hosts.{name}.yaml").write_text(text)
    assert "failed=0" in site.typed(f"{play} -e hostagent_profile=$PWD/hosts.good.yaml")
    good = there.read_text()
    assert "name: ours" in good
    assert "nmae" in site.typed(f"! {play} -e hostagent_profile=$PWD/hosts.bad.yaml")
    assert there.read_text() == good


#: The blocks, in the order in which the test types them.
ORDER = ("make", "verify", "loop", "service", "upgrade", "ansible", "remove", "deb", "remove-deb", "wheels", "forget")


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="boots a machine: run 'sudo make test'")
def test_the_page_from_a_clone_to_a_host_and_off_again(site):
    site.run("make")
    assert set(os.listdir(site.place / "clone/dist")) == {name.replace("VERSION", __version__) for name in FILES}
    assert site.run("verify") == "whole\n"
    before = site.found()
    line = site.run("loop")
    assert re.match(rf"{HOST}  [A-Z ]+: \S", line), line
    assert line.count("\n") == 1
    assert site.on_host("service") == "active\n"
    is_well(site, "/usr/local/bin/hostagent")
    leave_something(site)
    left = kept(site)
    site.run("loop")
    assert kept(site) == left
    site.on_host("upgrade")
    is_well(site, "/usr/local/bin/hostagent")
    assert "changed=0 " in site.run("ansible").splitlines()[-2], "the loop and the service left nothing to do"
    site.on_host("remove")
    assert site.found() == before
    assert "failed=0" in site.run("ansible")
    is_well(site, "/usr/local/bin/hostagent")
    assert "changed=0 " in site.run("ansible").splitlines()[-2]
    the_role_brings_a_profile(site)
    left = kept(site)
    site.on_host("remove")
    site.run("deb")
    is_well(site, "/usr/bin/hostagent")
    site.on_host("remove-deb")
    assert site.found() == before
    assert kept(site) == left
    shutil.copytree(site.place / "clone/dist", site.machine.inside("/root/dist"))
    site.on_host("wheels")
    site.on_host("service")
    is_well(site, "/usr/local/bin/hostagent")
    site.on_host("remove")
    assert site.found() == before
    site.on_host("forget")
    assert not [name for name in LEFT if site.machine.inside(name).exists()]


#: Judges nothing: the role takes it for the file of this machine.
_FAKE = "#!/bin/sh\necho {}\n"


class Role:
    """The role on this machine, with a place of its own for the program, and no service."""

    def __init__(self, place):
        self.place, self.name = place, f"hostagent-{platform.machine()}.pyz"
        self.program = place / "bin/hostagent"
        (place / "dist").mkdir()
        self.program.parent.mkdir()

    def file(self, text, sums=None):
        (self.place / "dist" / self.name).write_text(text)
        found = hashlib.sha256((sums or text).encode()).hexdigest()
        (self.place / "dist/SHA256SUMS").write_text(f"{'0' * 64}  another\n{found}  {self.name}\n")

    def play(self, *options, service="false"):
        settings = {"hostagent_dist": self.place / "dist", "hostagent_program": self.program, "hostagent_service": service}
        words = shlex.join(f"{name}={value}" for name, value in settings.items())
        argv = [
            Path(sys.executable).parent / "ansible-playbook",
            "-i",
            "localhost,",
            "-c",
            "local",
            "-e",
            f"ansible_python_interpreter={sys.executable}",
        ]
        home = {"PATH": os.environ["PATH"], "HOME": str(self.place), "LC_ALL": "C.UTF-8", "ANSIBLE_LOCALHOST_WARNING": "false"}
        done = subprocess.run(
            [*argv, *options, "-e", words, ROOT / "playbooks/rollout.yaml"],
            env=home,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="the program is root's: run 'sudo make test'")
def test_the_role_puts_no_file_in_place_whose_sum_differs(tmp_path):
    role = Role(tmp_path)
    role.file(_FAKE.format("old"))
    code, said = role.play("--check", service="true")
    assert (code, os.listdir(role.program.parent)) == (0, []), said
    code, said = role.play()
    assert code == 0, said
    assert role.program.read_text() == _FAKE.format("old")
    assert role.program.stat().st_mode & 0o7777 == 0o755
    role.file(_FAKE.format("new"), sums="what was released")
    assert role.play()[0] == 2
    assert role.program.read_text() == _FAKE.format("old")
    assert os.listdir(role.program.parent) == ["hostagent"]


def test_the_role_says_where_a_file_for_a_machine_comes_from(tmp_path):
    role = Role(tmp_path)
    (tmp_path / "dist/SHA256SUMS").write_text(f"{'0' * 64}  hostagent-other.pyz\n")
    code, said = role.play()
    assert code == 2
    assert f"found no {role.name} in {tmp_path}/dist/SHA256SUMS: make it with 'make dist'" in said
    assert not role.program.exists()


def test_what_a_removal_leaves_is_what_hostagent_writes():
    """The service's own directories, the profile and the runs: no other place stays."""
    assert LEFT == ["/etc/hostagent", "/var/lib/hostagent", "/var/lib/hostagent-daemon", "/run/hostagent"]
    forget = BLOCKS["forget"].split()
    assert forget == ["rm", "-rf", *LEFT]
