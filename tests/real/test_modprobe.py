"""Which module stands behind the name nvidia, beside modprobe's own answer over the same modprobe.d and modules.dep."""

import re
import subprocess

import pytest

from hostagent.domains.system.read_installed_kernels import parse_modules_dep
from hostagent.domains.system.read_modprobe import ConfigFile, module_behind
from tests.real.conftest import need_real
from tests.trees import formats

KERNEL = "6.1.0-40-amd64"
MODULES = ("nvidia-current", "nvidia-current-open", "nvidia-current-uvm", "nvidia-tesla-470", "other")
DEBIAN = "install nvidia modprobe -i {} $CMDLINE_OPTS\n\ninstall nvidia-uvm modprobe nvidia ; modprobe -i {}-uvm $CMDLINE_OPTS\n\nalias char-major-195* nvidia\n"
CONFIGURATIONS = {
    "none": "",
    "debian": DEBIAN.format("nvidia-current", "nvidia-current"),
    "debian-open": DEBIAN.format("nvidia-current-open", "nvidia-current-open"),
    "gone": DEBIAN.format("nvidia-current-gone", "x"),
    "alias": "alias nvidia nvidia-tesla-470\n",
    "alias with the other sign": "alias nvidia nvidia_current_open\n",
    "two aliases": "alias nvidia nv\nalias nv nvidia-current\n",
    "off": "alias nvidia off\n",
    "kept out": "install nvidia /bin/false\n",
    "by another name": "install nvidia modprobe other\n",
    "itself and more": "install nvidia /sbin/modprobe --ignore-install nvidia && /sbin/modprobe nvidia-uvm\n",
    "over two lines": "install nvidia \\\n  modprobe -i nvidia-current\n",
    "a comment": "# install nvidia modprobe -i nvidia-current\n",
}


@pytest.fixture(scope="module", params=[MODULES, (*MODULES, "nvidia")], ids=["debian's names", "and nvidia.ko"])
def root(request, tmp_path_factory):
    """A root with modules that depmod has listed."""
    depmod = need_real("depmod", "apt-get install kmod")
    place = tmp_path_factory.mktemp("root")
    directory = place / "lib/modules" / KERNEL
    (directory / "updates").mkdir(parents=True)
    for name in request.param:
        info = {"name": name.replace("-", "_"), "license": "NVIDIA", "vermagic": f"{KERNEL} SMP "}
        (directory / f"updates/{name}.ko").write_bytes(formats.kernel_module(info))
    for name in ("modules.order", "modules.builtin"):
        (directory / name).write_text("")
    subprocess.run([depmod, "-b", str(place), KERNEL], check=True, capture_output=True)
    (place / "modprobe.d").mkdir()
    return place


def asked(root, name, *options):
    """What modprobe would do: (insmod, file) or (install, command); nothing where it fails."""
    argv = [
        need_real("modprobe", "apt-get install kmod"),
        "-d",
        str(root),
        "-C",
        str(root / "modprobe.d"),
        "-S",
        KERNEL,
        "--show-depends",
        *options,
        name,
    ]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    lines = [line.split(None, 1) for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return lines[-1] if lines else ("", "")


def theirs(root, name="nvidia", *options):
    """The file that is loaded in the end: modprobe says the command of an install line, and we ask on as that command does."""
    for _ in range(5):
        word, rest = asked(root, name, *options)
        if word != "install":
            return rest.strip().rpartition("/")[2] if word == "insmod" else ""
        call = re.search(r"modprobe((?: -\S+)*) ([\w-]+)", rest)
        if not call:
            return ""
        name, options = call[2], call[1].split()
    return ""


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_modprobe_loads_the_same_file(root, name):
    (root / "modprobe.d/nvidia.conf").write_text(CONFIGURATIONS[name])
    module = module_behind((ConfigFile("nvidia.conf", CONFIGURATIONS[name]),), "nvidia")
    index = (root / "lib/modules" / KERNEL / "modules.dep").read_text()
    ours = parse_modules_dep(index, module) if module else ""
    assert ours.rpartition("/")[2] == theirs(root)
