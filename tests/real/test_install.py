"""README's installation, as pasted by root into a stock Debian root: the smallest one there is, without Python."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.real.conftest import CACHE, need_real

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- install: (\w+) -->\n```sh\n(.*?)```", README, re.DOTALL))
FIRST_RUN = re.search(r"<!-- output: (hostagent check --from \S+) -->", README)[1]


def test_each_family_of_distributions_has_its_lines():
    assert list(BLOCKS) == ["debian", "rhel"]
    for block in BLOCKS.values():
        python = re.search(r"^(python3[.\d]*) -m venv", block, re.MULTILINE)[1]
        assert python in re.search(r"^.*install -y .*$", block, re.MULTILINE)[0]
        assert "/bin/pip install .\n" in block


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


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_the_lines_of_debian_install_it_and_the_first_run_works(suite, tmp_path):
    root = stock(suite, tmp_path)
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{ROOT}", root / "src"], check=True)
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_") and name != "PIP_FIND_LINKS"}
    if "PIP_CERT" in settings:
        shutil.copy(settings["PIP_CERT"], root / "authorities.pem")
        settings["PIP_CERT"] = "/authorities.pem"
    script = f"cd /src\nset -e\n{BLOCKS['debian']}\nhostagent --version\n{FIRST_RUN} || [ $? = 1 ]\n"
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "DEBIAN_FRONTEND": "noninteractive",
    }
    run = ["chroot", root, "bash", "-c", script]
    done = subprocess.run(run, env={**environment, **settings}, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root / "src", capture_output=True, text=True, check=True).stdout
    assert f"({head[:12]})" in done.stdout
    assert "\nNOT READY  GPU 4 (0000:9d:00.0) has fallen off the PCIe bus." in done.stdout
