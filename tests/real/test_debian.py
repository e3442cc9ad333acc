"""Debian's own NVIDIA packages, installed by dpkg in roots (tests/real/install_debian.sh), judged beside Debian's own tools.

Real: the packages, their scripts, alternatives, modprobe.d, DKMS's tree, the linker's cache, and dpkg, modprobe, modinfo, depmod,
update-alternatives and ldconfig that are asked. Made up: the kernel, and the modules, which are stubs under the names that the
package's dkms.conf gives to them: Debian ships sources alone.
"""

import os
import re
import shutil
import subprocess

import pytest

from hostagent.engine.collect import collect
from hostagent.engine.questions import live_backend
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages
from hostagent.host.source import Source
from hostagent.profiles import profile
from tests.firsts import told
from tests.judged import judged
from tests.real.conftest import need_real
from tests.trees import driver, formats, system
from tests.trees.tree import Tree

HOW = "tests/real/install_debian.sh"
KERNEL = "6.1.0-40-amd64"
ROOTS = ("bookworm-open", "bookworm-proprietary", "trixie-open", "trixie-proprietary")
#: A node image of which the rest comes later.
DRIVER_ALONE = {"runtime": {"kind": "none"}, "toolkit": {"required": "never"}}
pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="dpkg and modprobe change their root")]


@pytest.fixture(params=ROOTS)
def tree(request, tmp_path):
    """The root with a kernel and what DKMS would have built for it."""
    kept = need_real(f"debian-{request.param}", HOW)
    root = tmp_path / "root"
    subprocess.run(["cp", "-al" if os.stat(kept).st_dev == os.stat(tmp_path).st_dev else "-a", kept, str(root)], check=True)
    shutil.rmtree(root / "var/run")
    version = subprocess.run(
        ["dpkg-query", f"--root={kept}", "-W", "-f", "${source:Upstream-Version}", "libcuda1"], capture_output=True, text=True, check=True
    ).stdout
    made = Tree(root, kernel=KERNEL, driver=version, flavour=request.param.partition("-")[2])
    system.install_kernel(made, KERNEL)
    for name in _names(made):
        info = {**driver.modinfo(made, KERNEL, version), "name": name}
        made.write(f"/lib/modules/{KERNEL}/updates/dkms/{name}.ko", formats.kernel_module(info))
        made.write(f"/var/lib/dkms/{_package(made)}/{version}/{KERNEL}/x86_64/module/{name}.ko")
    _depmod(made)
    return made


def _depmod(tree):
    subprocess.run([need_real("depmod", "apt-get install kmod"), "-b", str(tree.root), KERNEL], check=True, capture_output=True)


def _package(tree):
    return next(tree.at("/usr/src").glob("nvidia-current*")).name.rpartition("-")[0]


def _names(tree):
    """What DKMS calls the modules that it builds: dkms.conf is shell."""
    file = next(tree.at("/usr/src").glob("nvidia-current*/dkms.conf"))
    said = ["bash", "-c", 'kernelver=x; . "$0"; printf "%s\\n" "${DEST_MODULE_NAME[@]}"', str(file)]
    return subprocess.run(said, capture_output=True, text=True, check=True).stdout.split()


def _asked(tree, *argv):
    """What a program of the root prints."""
    done = subprocess.run(["chroot", str(tree.root), *argv], capture_output=True, text=True, check=False, env={"PATH": os.environ["PATH"]})
    return done.stdout if done.returncode == 0 else ""


def _behind(tree, name="nvidia", *options):
    """The file that modprobe loads in the end: it says the command of an install line, and we ask on as that command does."""
    for _ in range(5):
        word, _, rest = (_asked(tree, "modprobe", "-S", KERNEL, "--show-depends", *options, name).splitlines() or [""])[-1].partition(" ")
        if word != "install":
            return rest.split()[0] if word == "insmod" else ""
        call = re.search(r"modprobe((?: -\S+)*) ([\w-]+)", rest)
        name, options = call[2], call[1].split()
    return ""


def _facts(tree):
    return collect(Source(live_backend(str(tree.root), "image")), ["Driver", "Kernel", "Packages"])[0]


def _report(tree, wanted="any"):
    return judged(live_backend(str(tree.root), "image"), profile.load(wanted, site_file="", overlay=DRIVER_ALONE))


def _wrong(report):
    return {one.id for one in report.findings if one.outcome in ("fail", "warn", "unknown") and one.severity != "info"}


def test_dpkg_modprobe_modinfo_and_ldconfig_say_what_we_say(tree):
    facts = _facts(tree)
    installed = {(one.name, one.version) for one in facts.of(Packages).installed}
    rows = subprocess.run(
        ["dpkg-query", f"--root={tree.root}", "-W", "-f", "${Package} ${Version}\\n"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    theirs = {tuple(row.split()) for row in rows if re.match("(lib)?(nvidia|cuda)|firmware-nvidia|dkms", row)}
    assert theirs <= installed
    kernel = facts.of(Kernel).at(KERNEL)
    assert kernel.nvidia_path == _behind(tree)
    told = _asked(tree, "modinfo", "-F", "version", kernel.nvidia_path).strip()
    assert kernel.nvidia_version == told == tree.driver
    linked = subprocess.run(["ldconfig", "-r", str(tree.root), "-p"], capture_output=True, text=True, check=True).stdout
    libraries = facts.of(Driver).libraries
    assert {one.soname for one in libraries if one.cached} == set(re.findall(r"lib(?:cuda|nvidia-ml)\.so\.1(?= )", linked))
    assert {one.version for one in libraries} == {tree.driver}
    assert {one.package for one in libraries} == {"libcuda1", "libnvidia-ml1"}


def test_the_packages_are_judged_by_what_an_image_has_of_them(tree):
    """Whole; by a profile of another branch; without the kernel's image, as in a container; and where DKMS built nothing."""
    found = _report(tree)
    assert (found.verdict.single_node, _wrong(found)) == ("ready", set())

    found = _report(tree, "default")
    assert (found.verdict.single_node, _wrong(found)) == ("not_ready", {"driver.version"})
    assert tree.driver in next(one.found for one in found.findings if one.id == "driver.version")

    for path in tree.at("/boot").iterdir():
        path.unlink()
    found = _report(tree)
    assert (found.verdict.single_node, _wrong(found)) == ("degraded", {"kernel.image_present"})

    shutil.rmtree(tree.at(f"/lib/modules/{KERNEL}/updates"))
    shutil.rmtree(next(tree.at("/var/lib/dkms").glob(f"*/*/{KERNEL}")))
    _depmod(tree)
    found = _report(tree)
    assert _behind(tree) == ""
    assert (found.verdict.single_node, "kernel.module_present" in _wrong(found)) == ("not_ready", True)


def _without_link(tree):
    tree.remove("/etc/alternatives/nvidia--nvidia-modprobe.conf")


def _given_to_mesa(tree):
    """As glx-alternative-mesa and 'update-glx --config glx' do it."""
    tree.directory("/usr/lib/mesa-diverted")
    for said in (("--install", "/usr/lib/glx", "glx", "/usr/lib/mesa-diverted", "5"), ("--set", "glx", "/usr/lib/mesa-diverted")):
        assert _asked(tree, "update-alternatives", *said) is not None


def test_where_the_alternative_is_gone_its_remedy_brings_it_back(tree):
    for spoil in (_without_link, _given_to_mesa):
        spoil(tree)
        found = next(one for one in _report(tree).findings if one.id == "kernel.module_present")
        assert (_behind(tree), found.outcome, found.code) == ("", "fail", "not-chosen")
        for command in re.findall(r"'(update-alternatives [^']*)'", told(found.remedy)):
            _asked(tree, *command.split())
        assert _behind(tree)
        assert _wrong(_report(tree)) == set()
