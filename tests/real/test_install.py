"""README's installation, as pasted by root into a stock Debian root: the smallest one there is, without Python."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.utils import canonicalize_name

from tests import licences
from tests.real.conftest import CACHE, need_real

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TRY = re.search(r"<!-- try: debian -->\n```sh\n(.*?)```", README, re.DOTALL)[1]
BLOCKS = dict(re.findall(r"<!-- install: (\w+) -->\n```sh\n(.*?)```", README, re.DOTALL))
UNIT = ROOT / "daemonset/systemd/hostagent.service"
#: Nothing without a hash is fetched, neither what hostagent needs nor what builds it.
PIPS = ("install --require-hashes -r requirements-run.txt", "install --no-index --no-build-isolation --no-deps .")
FIRST_RUN = re.search(r"<!-- output: (hostagent demo \S+) -->", README)[1]


def test_each_family_of_distributions_has_its_lines():
    assert list(BLOCKS) == ["debian", "rhel"]
    for block in BLOCKS.values():
        packages, python = re.search(r"install -y (\S+) && (python3[.\d]*) -m venv /opt/hostagent$", block, re.MULTILINE).groups()
        assert packages.startswith(python)
        assert re.findall(r"^/opt/hostagent/bin/pip (.*)", block, re.MULTILINE) == [*PIPS]
    assert f"(/opt/hostagent/bin/pip {PIPS[0].replace('run', 'install')})" in README


def stock(suite, place):
    """A root of `suite` with what Debian calls required and apt, and nothing else; built once, unpacked each time."""
    program = need_real("mmdebstrap", "apt-get install mmdebstrap")
    if os.getuid() != 0:
        need_real("/root-is-needed", f"sudo make test, for a root of {suite}")
    kept = Path(CACHE) / f"stock-{suite}.tar"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([program, "--quiet", "--mode=root", "--variant=minbase", suite, f"{kept}.part.tar"], check=True, timeout=600)
        os.replace(f"{kept}.part.tar", kept)
    subprocess.run(["tar", "--numeric-owner", "-xf", kept, "-C", place], check=True)
    shutil.copy("/etc/resolv.conf", place / "etc/resolv.conf")
    return place


def cloned(suite, place):
    """Such a root with a clone in /src, and the environment of its root user."""
    root = stock(suite, place)
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{ROOT}", root / "src"], check=True)
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_") and name != "PIP_FIND_LINKS"}
    if "PIP_CERT" in settings:
        shutil.copy(settings["PIP_CERT"], root / "authorities.pem")
        settings["PIP_CERT"] = "/authorities.pem"
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return root, {"PATH": path, "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", **settings}


@pytest.mark.full
def test_two_commands_lead_from_a_clone_to_a_report(tmp_path):
    """README's first lines: the second one prints a report, the third one that which README shows."""
    first, second, third = TRY.splitlines()
    root, settings = cloned("bookworm", tmp_path)
    script = f"cd /src\nset -e\n{first} >/dev/null\n{second}\necho =====\n{third}"
    inside = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    run = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside, root, "bash", "-c", script]
    done = subprocess.run(run, env=settings, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    report, shown = done.stdout.split("=====\n")
    assert re.search(r"^(READY|DEGRADED|NOT READY|UNKNOWN)\b", report, re.MULTILINE), report
    assert "\nNOT READY  GPU 4 (0000:9d:00.0) has fallen off the PCIe bus." in shown


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_the_lines_of_debian_install_it_and_the_first_run_works(suite, tmp_path):
    root, settings = cloned(suite, tmp_path)
    pinned = (root / "src/requirements-run.txt").read_text()
    changed = re.sub(r"(?<=sha256:)[0-9a-f]", lambda digit: f"{int(digit[0], 16) ^ 1:x}", pinned)  # of each hash one digit
    (root / "src/changed.txt").write_text(changed)
    pip = "/opt/hostagent/bin/pip"
    refused = f'! {pip} {PIPS[0].replace("requirements-run", "changed")} && [ "$({pip} list --format=json)" = "$before" ] && echo refused'
    lines = BLOCKS["debian"].replace(f"{pip} {PIPS[0]}\n", f"before=$({pip} list --format=json)\n{refused}\n{pip} {PIPS[0]}\n")
    about = "import platform; print('Python', platform.python_version())"
    script = f"""cd /src
set -e
{lines}
hostagent --version
{FIRST_RUN} || [ $? = 1 ]
echo "before $before"
echo "after $({pip} list --format=json)"
/opt/hostagent/bin/python -c "{about}"
"""
    run = ["chroot", root, "bash", "-c", script]
    done = subprocess.run(run, env=settings, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root / "src", capture_output=True, text=True, check=True).stdout
    assert f"({head[:12]})" in done.stdout
    assert "\nNOT READY  GPU 4 (0000:9d:00.0) has fallen off the PCIe bus." in done.stdout
    assert "\nrefused\n" in done.stdout
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
    before, after = (json.loads(re.search(rf"^{when} (.*)", done.stdout, re.MULTILINE)[1]) for when in ("before", "after"))
    (python,) = re.findall(r"^Python (.*)", done.stdout, re.MULTILINE)
    new = {(canonicalize_name(one["name"]), one["version"]) for one in after if one not in before}
    assert {one for one in new if one[0] != "hostagent"} == wanted(python), "what is pinned, and nothing else"


def wanted(python):
    """Packages and versions that are pinned for a Python of this machine's kind."""
    about = {"python_full_version": python, "python_version": ".".join(python.split(".")[:2])}
    rows = ((name, *row) for name, versions in licences.pins(licences.RUN).items() for row in versions.items())
    return {(name, version) for name, version, marker in rows if not marker or Marker(marker).evaluate(about)}


#: The first Python of PATH, in the place of the distribution's: ensurepip would unpack, in five seconds, the pip that is here already.
_PYTHON = """#!/bin/sh
case "$*" in "-m venv "*) ;; *) exec {python} "$@" ;; esac
{python} "$@" --without-pip || exit
printf '#!%s/bin/python\\nimport sys\\nfrom pip._internal.cli.main import main\\nsys.exit(main())\\n' "$3" >"$3/bin/pip"
chmod 755 "$3/bin/pip"
"""
#: /opt and /usr/local/bin with room for what is installed, seen by this process and its children alone.
_ROOM = """
set -e
mkdir {place}/opt {place}/old {place}/bin
for one in /opt/*; do [ ! -d "$one" ] || {{ mkdir "{place}$one"; mount --rbind "$one" "{place}$one"; }}; done
mount --rbind {place}/opt /opt
mount --bind /usr/local/bin {place}/old
for one in {place}/old/*; do [ ! -e "$one" ] || ln -s "$one" {place}/bin; done
rm -f {place}/bin/hostagent
mount --bind {place}/bin /usr/local/bin
"""


def _lines(block):
    """Without those that take packages of the distribution, and under the one name of Python that a test has."""
    return re.sub(r"^(?:apt-get|dnf) .* && python3[.\d]* ", "python3 ", block, flags=re.MULTILINE)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root: run 'sudo make test'")
def test_the_lines_install_what_the_unit_of_systemd_starts(tmp_path):
    """README's own lines, without a network; then systemd judges the unit, and the copy says how to add its extra."""
    judge, python = need_real("systemd-analyze", "apt-get install systemd"), getattr(sys, "_base_executable", sys.executable)
    (tmp_path / "first").mkdir()
    shim = tmp_path / "first/python3"
    shim.write_text(_PYTHON.format(python=python))
    shim.chmod(0o755)
    packages, modules = tmp_path / "packages", Path(pytest.__file__).parents[1]
    packages.mkdir()
    for one in modules.iterdir():
        if not re.match(r"(_*editable(?!s)|hostagent|ansible|_pytest|pytest|mypy|ruff|__pycache__)|.*\.pth$", one.name):
            (packages / one.name).symlink_to(one)
    (started,) = re.findall(r"^ExecStart=(\S+)", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    script = f"""{_ROOM.format(place=tmp_path)}
cd {ROOT}
{_lines(BLOCKS["debian"])}
cd /
echo "started $([ -x {started} ] && readlink -f {started})"
{started} --version
{judge} verify {UNIT} && echo verified
mkdir -p {tmp_path}/image/etc
echo ID=debian >{tmp_path}/image/etc/os-release
{started} install --yes --root {tmp_path}/image || echo "exit $?"
"""
    settings = {
        "PIP_NO_INDEX": "1",
        "PIP_NO_COMPILE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    environment = {
        "PATH": f"{tmp_path}/first:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(packages),
    }
    run = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script]
    done = subprocess.run(run, env={**environment, **settings}, capture_output=True, text=True, check=False, timeout=300)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3000:]
    assert "started /opt/hostagent/bin/hostagent\n" in said
    assert "\nverified\n" in said, said[-3000:]
    assert f"Install it: /opt/hostagent/bin/pip install --require-hashes -r {ROOT}/requirements-install.txt" in said, said[-3000:]
    assert "\nexit 2\n" in done.stdout


def test_the_unit_starts_what_every_family_installs():
    (started,) = re.findall(r"^ExecStart=(\S+)", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    for block in BLOCKS.values():
        (link,) = re.findall(r"^ln -sf \S+/bin/hostagent (\S+)$", block, re.MULTILINE)
        assert link == started
