"""``docs/tao.md``: made of what real commands print by ``python -m tests.docs``; a test holds it. The commands of the installation were run in
a made root, and what they printed is kept in ``tests/recipe``.
"""

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from hostagent.setup import tao
from hostagent.setup.shimtext import FOLDERS, KEPT, NAME
from tests.readme import ROOT, output

PAGE = "docs/tao.md"
_TEXT = Path(__file__).with_name("tao_page.md")
_RECIPE = Path(__file__).with_name("recipe")
#: Where the page says that the skill bank is.
BANK = "/opt/tao-skill-bank"
READY = {"docker": "tests/hosts/tao-docker", "kubernetes": "tests/hosts/tao-kubernetes"}

#: What TAO's callers do before they start a job: they take the first of the places that is executable, and stop where it says no.
PREFLIGHT = """\
for folder in skills platform skills/platform; do
  script="$TAO_SKILL_BANK_ROOT/$folder/tao-setup-nvidia-gpu-host/scripts/setup-nvidia-gpu-host.sh"
  [ -x "$script" ] && break
done
if [ "${TAO_K8S_SKIP_NODE_RUNTIME_CHECK:-0}" != 1 ] || [ "$BACKEND" != kubernetes ]; then
  bash "$script" --backend "$BACKEND" --check-only || exit 1
fi
"""
_WHAT = {
    "TAO_MIN_DRIVER_VERSION": "the driver, at least",
    "TAO_MIN_CUDA_VERSION": "the CUDA toolkit, at least",
    "TAO_MIN_CONTAINER_TOOLKIT_VERSION": "the Container Toolkit, at least",
    "NVIDIA_DRIVER_BRANCH": "7.0: the driver's branch",
    "NVIDIA_CONTAINER_TOOLKIT_VERSION": "7.0: the Container Toolkit's version, with or without the package's revision",
    "NVIDIA_CUDA_PATH": "the folder whose `bin/nvcc` counts first (7.0: alone)",
    "NVIDIA_CUDA_PACKAGE": "the CUDA toolkit's package",
    "NVIDIA_DRIVER_PACKAGE_DEBIAN": "the driver's package on Debian's family",
    "NVIDIA_DRIVER_PACKAGE_RHEL": "the same on RHEL's",
    "NVIDIA_DRIVER_PACKAGE_SUSE": "the same on SUSE's",
    "NVIDIA_DRIVER_KMOD_RHEL": "the kernel module's package on RHEL's family",
    "DOCKER_PACKAGE_DEBIAN": "Docker's package on Debian's family",
    "DOCKER_PACKAGE": "the same, where DOCKER_PACKAGE_DEBIAN is not set",
    "SUDO_USER": "who joins the group docker; root never does",
}
#: Of the installation in a root.
SCENES = {"setup-install": "setup --install --yes", "setup-again": "setup --install --yes", "setup-rollback": "rollback --yes"}
_ROOT_MADE = """\
The host is a Debian 12 root with a driver. Its GPU is made up, and the packages are stubs with real names; apt, dpkg and all else is real. Left
out here are the plan, the steps' times, and what hostagent says beyond the script. The lines are a new look at the host after the last step, and
set the exit code. The second run has nothing to do. `hostagent rollback` takes the newest run back: packages, files and the membership in the
group `docker`."""


@cache
def page() -> str:
    """The page as it should be today."""
    text = _TEXT.read_text(encoding="utf-8")
    for name, part in _parts().items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text


def _parts() -> dict[str, str]:
    commands = {
        "CHECK": f"hostagent setup --from {READY['docker']}",
        "LACKING": f"hostagent setup --min-driver-version 595 --from {READY['kubernetes']}",
        "EXACT": f"hostagent setup --exact --from {READY['docker']}",
        "ARGUMENTS": f"hostagent setup --print-preflight --from {READY['kubernetes']}",
    }
    names = (*tao.MINIMUM_VARIABLES, tao.BRANCH_VARIABLE, tao.TOOLKIT_VARIABLE, *tao.VARIABLES, "SUDO_USER")
    shown = {name: f"$ {command}\n{output(command).rstrip()}" for name, command in commands.items()}
    return {
        **shown,
        **_with_shim(),
        "INSTALLED": _installed(),
        "PREFLIGHT": PREFLIGHT.rstrip(),
        "FOLDERS": "\n".join(f"- `DIR/{folder}/{NAME}`" for folder in FOLDERS),
        "KEPT": KEPT,
        "VARIABLES": "\n".join(f"| `{name}` | {_WHAT[name]} |" for name in names),
    }


def _with_shim() -> dict[str, str]:
    """Real bash, and the shim in a bank of its own."""
    with tempfile.TemporaryDirectory() as bank:
        theirs = Path(bank, FOLDERS[2], NAME)
        theirs.parent.mkdir(parents=True)
        theirs.write_text("#!/bin/bash\n")
        written = _called(bank, "--write-shim", bank)
        ran = {f"RUN-{backend}": preflight(bank, backend).stdout.rstrip() for backend in READY}
        removed = _called(bank, "--remove-shim", bank)
    return {"WRITTEN": written, "REMOVED": removed, **ran}


def preflight(bank: str, backend: str, *, host: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """The callers' lines on a recorded host, which is the ready one of the backend; "-" is this machine."""
    place = host or READY[backend]
    lines = PREFLIGHT if place == "-" else PREFLIGHT.replace("--check-only", f"--check-only --from '{place}'")
    known = {"TAO_SKILL_BANK_ROOT": bank, "BACKEND": backend, **environment}
    return subprocess.run(["/bin/bash", "-uc", lines], capture_output=True, text=True, check=False, cwd=ROOT, env=known)


def _called(bank: str, *words: str) -> str:
    search = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
    argv = [sys.executable, "-m", "hostagent", "setup", *words]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, env=search)
    return re.sub(re.escape(os.path.realpath(bank)), BANK, f"$ hostagent setup {' '.join(words)}\n{done.stdout}".rstrip())


def _installed() -> str:
    """What the installation in a root, a second one and its way back printed."""
    printed = "\n\n".join(f"$ hostagent {words}\n{kept(name)}" for name, words in SCENES.items())
    return f"```\n{printed}\n```\n\n{_ROOT_MADE}\n\n"


def kept(name: str) -> str:
    """As `tests/real/test_install_setup.py` compares it; written by hand from what that test got."""
    return (_RECIPE / f"{name}.txt").read_text(encoding="utf-8").rstrip()


def scene(out: str, err: str) -> str:
    """Steps without their times, then the script's own lines: what follows is about the made-up GPU."""
    lines, steps = out.splitlines(), [line for line in err.splitlines() if line.startswith("[")]
    ends = next((number for number, line in enumerate(lines, 1) if line.startswith("INFO: detected ")), len(lines))
    return "\n".join((*steps, *lines[:ends]))
