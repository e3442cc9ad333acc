"""Remedies are run: a broken recorded host is built anew, what its report prints is done to it, and the check is green.

Real: nvidia-ctk 1.19.0, containerd 2.1, systemctl, apt-mark, ldconfig, modprobe and grub-editenv. They run in the tree, as on the host, or are told
where it lies. A daemon is not restarted: nothing runs in a tree.
"""

import os
import re
import shutil
import subprocess

import pytest

from hostagent.profiles import profile
from tests.firsts import told
from tests.judged import judged
from tests.real.conftest import need_real
from tests.real.test_cdi_spec import MORE_NVML
from tests.trees import formats
from tests.trees.record import RECIPES
from tests.trees.staged import stage

NVIDIA_CTK = "nvidia-ctk/nvidia-ctk", "bash tests/real/install_nvidia_ctk.sh"
CONTAINERD = "containerd-2.1/containerd", "bash tests/real/install_containerd.sh"
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gcc"), reason="device nodes and other roots need root, the stub of NVML gcc"),
]
#: Recorded hosts, and the check whose remedy holds commands that are run as they are printed.
PRINTED = {
    "toolkit-ldconfig": "toolkit.config_values",
    "toolkit-root-left-behind": "toolkit.config_values",
    "kubeadm-without-access": "runtime.nvidia_handler",
    "eks-gpu-without-handler": "runtime.nvidia_handler",
    "crio-worker-wrong-directory": "runtime.nvidia_handler",
    "docker-hook-missing": "runtime.nvidia_handler",
    "podman-without-cdi": "runtime.present",
}

#: What else is wrong on one of them, by a remedy of its own: the file in the directory that CRI-O does not read.
_BESIDE = {"crio-worker-wrong-directory": ("runtime.crio_dropin_path",)}


def _built(name, directory):
    """The tree of a recorded host, with programs that can be run."""
    tree = RECIPES[name].build(directory / "root")
    for program, how in (NVIDIA_CTK, CONTAINERD):
        made = need_real(program, how)
        _copied(tree, made, f"/usr/bin/{os.path.basename(made)}")
    for line in subprocess.run(["ldd", need_real(*NVIDIA_CTK)], capture_output=True, text=True, check=True).stdout.splitlines():
        for library in re.findall(r"/\S+", line):
            _copied(tree, library, library)
    return tree


def _copied(tree, file, path):
    with open(file, "rb") as stream:
        tree.write(path, stream.read(), mode=0o755)


def _judged(tree, name):
    recipe = RECIPES[name]
    with stage(tree, recipe.kind) as backend:
        return judged(backend, profile.load(recipe.profile, site_file=""))


def _found(report, check):
    return [one for one in report.findings if one.id == check]


def _outcomes(report, check):
    return {one.outcome for one in _found(report, check)}


def _commands(text):
    """What stands in quotes and begins with the name of a program."""
    return re.findall(r"'((?:nvidia-ctk|systemctl|ldconfig|apt-mark)(?: [^']*)?)'", text)


def _run(tree, command):
    """As root on the host would."""
    root, argv = str(tree.root), command.split()
    if argv[:2] == ["systemctl", "restart"]:
        return  # nothing runs below this root
    if argv[0] == "systemctl":
        units = [word for word in argv[2:] if not word.startswith("--")]
        told = ["systemctl", f"--root={root}", argv[1], *units]
    elif argv[0] == "apt-mark":
        told = [
            "apt-mark",
            "-o",
            f"Dir={root}",
            "-o",
            f"Dir::State::status={root}/var/lib/dpkg/status",
            "-o",
            f"DPkg::Options::=--root={root}",
            *argv[1:],
        ]
    elif argv[0] == "ldconfig":
        told = ["ldconfig", "-r", root]
    else:
        told = ["chroot", root, *argv]
    need_real(told[0], "bash tests/real/install.sh")
    subprocess.run(told, check=True, capture_output=True, timeout=60, env={"PATH": os.environ["PATH"]})
    if argv[0] == "systemctl" and "--now" in argv and any(unit.startswith("nvidia-cdi-refresh") for unit in argv):
        _refreshed(tree)


def _refreshed(tree):
    """What nvidia-cdi-refresh.service does: the command and the file of its unit, over the stub of NVML and what it asks beyond pynvml."""
    more = tree.at("/tmp/more.so")
    more.with_suffix(".c").write_text(MORE_NVML)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", more, more.with_suffix(".c")], check=True)
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": "/tmp/more.so", "NVIDIA_CTK_CDI_OUTPUT_FILE_PATH": "/var/run/cdi/nvidia.yaml"}
    argv = re.search(r"ExecStart=(.*)", tree.text("/etc/systemd/system/nvidia-cdi-refresh.service"))[1].split()
    subprocess.run(["chroot", str(tree.root), *argv], check=True, capture_output=True, env=environment)


def _wrong(report):
    return {one.id for one in report.findings if one.outcome in ("fail", "warn", "unknown") and one.severity != "info"}


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_report_prints_mends_the_host(name, tmp_path):
    tree = _built(name, tmp_path)
    (found,) = _found(_judged(tree, name), PRINTED[name])
    commands = _commands(told(found.remedy))
    assert (found.outcome, bool(commands)) == ("fail", True), told(found.remedy)
    for command in commands:
        _run(tree, command)
    after = _judged(tree, name)
    assert _outcomes(after, PRINTED[name]) == {"pass"}
    assert _wrong(after) <= {"runtime.restart_pending", *_BESIDE.get(name, ())}


def test_a_blacklist_as_the_remedy_words_it_is_one_to_modprobe(tmp_path):
    name, check = "workstation-nouveau-has-both", "kernel.nouveau_blacklisted"
    tree = _built(name, tmp_path)
    (found,) = _found(_judged(tree, name), check)
    (command,) = (step.command for step in found.remedy if step.command.startswith("printf "))
    below = command.replace(" > /etc/", f" > {tree.at('/etc')}/")  # the root has no shell
    assert below != command
    tree.at("/etc/modprobe.d").mkdir(parents=True, exist_ok=True)  # every host with kmod has it
    subprocess.run(["sh", "-c", below], check=True, timeout=60)
    argv = [need_real("modprobe", "apt-get install kmod"), "-C", str(tree.at("/etc/modprobe.d")), "--showconfig"]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert {"blacklist nouveau", "options nouveau modeset=0"} <= set(shown.splitlines())
    assert _outcomes(_judged(tree, name), check) == {"pass"}


_RUNC = """version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
"""


def test_cri_comes_back_as_the_remedy_says_and_containerd_agrees(tmp_path):
    name = "kubeadm-without-cri"
    tree = _built(name, tmp_path)
    (found,) = (one for one in _found(_judged(tree, name), "runtime.cri_enabled") if one.outcome == "fail")
    assert [word for word in ("disabled_plugins", "version = 2", "SystemdCgroup = true") if word not in told(found.remedy)] == []
    tree.edit("/etc/containerd/config.toml", 'disabled_plugins = ["cri"]\n', _RUNC)
    for command in _commands(told(found.remedy)):
        _run(tree, command)
    after = _judged(tree, name)
    assert _wrong(after) <= {"runtime.restart_pending"}
    shown = subprocess.run(["chroot", str(tree.root), "containerd", "config", "dump"], capture_output=True, text=True, check=True).stdout
    assert "runtimes.nvidia]" in shown
    assert not re.search(r"disabled_plugins = \[.*cri", shown)


def test_held_packages_are_those_that_apt_mark_holds(tmp_path):
    name, check = "hgx-h100-fabricmanager-mismatch", "driver.package_held"
    tree = _built(name, tmp_path)
    (found,) = _found(_judged(tree, name), check)
    (command,) = _commands(told(found.remedy))
    _run(tree, command.replace("NAME…", found.found.partition(" not held")[0].replace(",", "")))
    assert _outcomes(_judged(tree, name), check) == {"pass"}


def test_a_linker_s_cache_without_the_libraries_is_written_anew(tmp_path):
    name, check = "k3s-worker", "driver.library_present"
    tree = _built(name, tmp_path)
    made = tree.at(f"{tree.libraries}/libcuda.so.{tree.driver}")
    made.unlink()
    subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,-soname,libcuda.so.1", "-x", "c", os.devnull, "-o", made], check=True)
    tree.write("/etc/ld.so.cache", formats.linker_cache((), tree.arch))
    found = _found(_judged(tree, name), check)
    assert {one.outcome for one in found} == {"fail"}
    for command in _commands(told(found[0].remedy)):
        _run(tree, command)
    assert _outcomes(_judged(tree, name), check) == {"pass"}


@pytest.mark.parametrize("name", ["saved-entry-without-module", "sles15-next-entry", "rhel9-bls-newest"])
def test_another_entry_as_the_default_gives_the_next_boot_its_module(name, tmp_path):
    """What grub-set-default and 'grubby --set-default' do to the environment block."""
    check = "kernel.next_has_module"
    tree = RECIPES[name].build(tmp_path / "root")
    assert _outcomes(_judged(tree, name), check) == {"fail"}
    (block,) = tree.at("/boot").glob("grub*/grubenv")
    entries = [file.stem for file in tree.at("/boot/loader/entries").glob(f"*{tree.kernel}.conf")]
    for file in block.parent.glob("grub.cfg"):
        named = re.findall(rf"'(gnulinux-advanced-[^']*|gnulinux-{re.escape(tree.kernel)}-advanced-[^']*)'", file.read_text())
        entries = entries or [">".join(named[:2])]
    for said in (["unset", "next_entry"], ["set", f"saved_entry={entries[0]}"]):
        subprocess.run([need_real("grub-editenv", "bash tests/real/install.sh"), str(block), *said], check=True, capture_output=True)
    assert _outcomes(_judged(tree, name), check) <= {"pass", "skip"}
