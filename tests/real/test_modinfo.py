"""Our reading of modules and of the linker's cache beside kmod's and glibc's own, over files made by gcc, depmod and ldconfig."""

import gzip
import lzma
import os
import subprocess
import sys

import pytest

from hostagent.domains.driver.read_ld_cache import parse_ldcache
from hostagent.domains.system.read_installed_kernels import parse_modules_dep
from hostagent.domains.system.read_kernel import read_kernel
from hostagent.engine.questions import live_backend
from hostagent.host.source import Source
from tests import stub_nvml
from tests.real.conftest import need_real

KERNELS = ("6.8.0-40-generic", "6.8.0-45-generic", "6.11.0-9-generic")
FIELDS = ("version", "license", "vermagic", "srcversion")
SIGNER = "Host DKMS signing key"


def run(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, **more).stdout


@pytest.fixture(scope="module")
def tools():
    for program in ("gcc", "objcopy", "openssl"):
        need_real(program, "apt-get install gcc binutils openssl")
    return {name: need_real(name, "apt-get install kmod") for name in ("modinfo", "depmod")}


def module(directory, kernel, version="580.142", text="Dual MIT/GPL"):
    """A relocatable object with the .modinfo of an nvidia module."""
    fields = {
        "version": version,
        "license": text,
        "srcversion": "2F3C9A1B5D7E",
        "vermagic": f"{kernel} SMP preempt mod_unload ",
        "depends": "",
    }
    source, info, path = directory / "nvidia.c", directory / "modinfo", directory / f"nvidia-{kernel}.ko"
    source.write_text("int init_module(void) { return 0; }\n")
    info.write_bytes(b"".join(f"{key}={value}".encode() + b"\0" for key, value in fields.items()))
    run("gcc", "-ffreestanding", "-c", str(source), "-o", str(path))
    run("objcopy", "--add-section", f".modinfo={info}", "--set-section-flags", ".modinfo=alloc,readonly", str(path))
    return path.read_bytes()


def signed(directory, data):
    """What the kernel's sign-file appends: a detached CMS signature without certificates, and its trailer."""
    key, certificate, plain, signature = (str(directory / name) for name in ("key.pem", "cert.pem", "plain", "signature"))
    run("openssl", "req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-subj", f"/CN={SIGNER}")
    with open(plain, "wb") as stream:
        stream.write(data)
    options = ("-nocerts", "-noattr", "-nosmimecap", "-binary", "-outform", "DER", "-md", "sha256")
    run("openssl", "cms", "-sign", *options, "-in", plain, "-signer", certificate, "-inkey", key, "-out", signature)
    with open(signature, "rb") as stream:
        blob = stream.read()
    return data + blob + bytes((0, 0, 2, 0, 0, 0, 0, 0)) + len(blob).to_bytes(4, "big") + b"~Module signature appended~\n"


def pack(data, suffix, directory):
    if suffix == ".zst":
        need_real("zstd", "apt-get install zstd")
        (directory / "plain.ko").write_bytes(data)
        return run("zstd", "-q", "-c", str(directory / "plain.ko"))
    return {"": bytes, ".xz": lambda plain: lzma.compress(plain, check=lzma.CHECK_CRC32), ".gz": gzip.compress}[suffix](data)


def install(root, kernel, data, name="nvidia.ko"):
    directory = root / "lib/modules" / kernel
    (directory / "updates/dkms").mkdir(parents=True)
    (directory / "modules.builtin").write_text("")
    (directory / "modules.order").write_text("")
    path = directory / "updates/dkms" / name
    path.write_bytes(data)
    return path


def theirs(modinfo, path, field):
    return run(modinfo, "-F", field, str(path)).decode().strip("\n")


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz", ".zst"])
@pytest.mark.parametrize("sign", [False, True])
def test_we_read_of_a_module_what_modinfo_reads(tools, tmp_path, suffix, sign):
    data = module(tmp_path, KERNELS[0])
    whole = signed(tmp_path, data) if sign else data
    path, judged = tmp_path / f"nvidia.ko{suffix}", tmp_path / "judged.ko"
    path.write_bytes(pack(whole, suffix, tmp_path))
    # Debian builds kmod without zlib: there modinfo judges the same module before compression.
    knows = suffix != ".gz" or b"+ZLIB" in run(tools["modinfo"], "--version")
    judged.write_bytes(path.read_bytes() if knows else whole)
    source = Source(live_backend())
    ours = source.modinfo(str(path))
    for field in (*FIELDS, "signer"):
        assert ours.get(field, "") == theirs(tools["modinfo"], judged, field), field
    assert ours.get("signer", "") == (SIGNER if sign else "")


def test_every_kernel_has_the_module_that_depmod_finds(tools, tmp_path):
    for number, kernel in enumerate(KERNELS[:2]):
        install(tmp_path, kernel, module(tmp_path, kernel, version=f"580.{140 + number}"))
    bare = tmp_path / "lib/modules" / KERNELS[2]
    bare.mkdir(parents=True)
    (bare / "modules.builtin").write_text("")
    for kernel in KERNELS:
        run(tools["depmod"], "-b", str(tmp_path), kernel)
    source = Source(live_backend(str(tmp_path), "image", kernel=KERNELS[1]))
    found = read_kernel(source, lambda _: None)
    assert [one.release for one in found.installed] == list(KERNELS)
    assert (found.release, found.next_release) == (KERNELS[1], KERNELS[2])
    second, third = found.at(KERNELS[1]), found.at(KERNELS[2])
    assert second.nvidia_path == f"/lib/modules/{KERNELS[1]}/updates/dkms/nvidia.ko"
    assert (second.nvidia_version, second.nvidia_flavour) == ("580.141", "open")
    assert second.nvidia_vermagic.split()[0] == KERNELS[1]
    assert third.nvidia_path == ""
    assert found.at(KERNELS[0]).nvidia_version.why == "not-recorded"


@pytest.mark.parametrize("suffix", ["", ".xz", ".zst"])
def test_modules_dep_names_the_compressed_module(tools, tmp_path, suffix):
    path = install(tmp_path, KERNELS[0], pack(module(tmp_path, KERNELS[0]), suffix, tmp_path), f"nvidia.ko{suffix}")
    run(tools["depmod"], "-b", str(tmp_path), KERNELS[0])
    index = (tmp_path / "lib/modules" / KERNELS[0] / "modules.dep").read_text()
    assert parse_modules_dep(index, "nvidia") == f"updates/dkms/{path.name}"


def test_we_find_in_the_linkers_cache_what_ldconfig_prints(tmp_path):
    need_real("gcc", "apt-get install gcc")
    ldconfig = need_real("/sbin/ldconfig", "apt-get install libc-bin")
    directory = tmp_path / "lib"
    directory.mkdir()
    (tmp_path / "empty.c").write_text("")
    for stem, version in (("libcuda", "580.142"), ("libnvidia-ml", "580.142")):
        path = directory / f"{stem}.so.{version}"
        run("gcc", "-shared", f"-Wl,-soname,{stem}.so.1", str(tmp_path / "empty.c"), "-o", str(path))
    (tmp_path / "conf").write_text(f"{directory}\n")
    run(ldconfig, "-C", str(tmp_path / "cache"), "-f", str(tmp_path / "conf"))
    printed = run(ldconfig, "-p", "-C", str(tmp_path / "cache")).decode().splitlines()
    wanted = [(line.split()[0], line.rpartition("=> ")[2]) for line in printed if "libcuda" in line or "libnvidia-ml" in line]
    found = parse_ldcache((tmp_path / "cache").read_bytes(), ("libcuda.so.1", "libnvidia-ml.so.1"))
    assert len(found) == 2
    assert sorted(found) == sorted(wanted)
    assert all(os.path.realpath(path).endswith(".so.580.142") for _, path in found)


def test_a_library_that_we_call_whole_can_be_loaded_and_a_cut_one_we_call_so(tmp_path):
    """glibc's own loader judges; what is cut it may only be asked about where it does not end this process."""
    from hostagent.host.elf import parse_elf

    need_real("gcc", "apt-get install gcc")
    data = stub_nvml.build().read_bytes()
    assert parse_elf(data)["whole"] is True
    path = tmp_path / "libnvidia-ml.so.1"
    for end in (0, 10, 63, 64, 200, 1000, len(data) // 2, len(data)):
        path.write_bytes(data[:end])
        loads = (
            subprocess.run(
                [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(path)!r})"], capture_output=True, check=False
            ).returncode
            == 0
        )
        assert loads or not parse_elf(data[:end])["whole"], end
