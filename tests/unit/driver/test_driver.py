"""The driver's reader over hosts made of dictionaries, its parsers on any text, and what is known about GPUs."""

import itertools
import struct
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.tables.pci import FLAVOURS, RANGES, architecture, flavours
from hostagent.core.unread import Unread
from hostagent.domains.driver import read_devices, read_dkms, read_driver, read_ld_cache, read_libraries
from hostagent.domains.driver.tables.releases import CUDA_LEVELS, FLOORS, RELEASES_580, floor, nvml_name
from hostagent.facts.driver import Driver
from hostagent.facts.platform import Platform
from hostagent.testing import host
from tests.cpu import within
from tests.trees.formats import shared_library

LIB = "/usr/lib/x86_64-linux-gnu"
KERNEL = "6.8.0-45-generic"
FAILED_LOG = f"""DKMS make.log for nvidia-580.142 for kernel {KERNEL} (x86_64)
Tue Mar  3 10:00:00 UTC 2026
make -j8 KERNEL_UNAME={KERNEL} modules
  CC [M]  nvidia/nv-mmap.o
nvidia/nv-mmap.c:142:5: warning: unused variable
nvidia/nv-mmap.c:150:5: error: implicit declaration of function 'vm_flags_set'
make[2]: *** [scripts/Makefile.build:243: nvidia/nv-mmap.o] Error 1
"""


PLATFORM = replace(
    Platform(*[Unread("absent")] * len(fields(Platform))),
    library_directories=("/home/kubernetes/bin/nvidia/lib64",),
    firmware_directories=("/home/kubernetes/bin/nvidia/firmware",),
)


def known(kind):
    return PLATFORM if kind is Platform else Unread("absent")


def read(files, kind="live"):
    found = read_driver.read_driver(host({"nvml init": Unread("absent", "the nvidia module is not loaded"), **files}, kind), known)
    assert isinstance(found, Driver)
    return found


def cache(*entries, count=None):
    """An ld.so.cache of (soname, path, flags)."""
    strings, table = b"", b""
    start = 48 + 24 * len(entries)
    for soname, path, flags in entries:
        key = start + len(strings)
        strings += soname.encode() + b"\0"
        value = start + len(strings)
        strings += path.encode() + b"\0"
        table += struct.pack("<IIIIQ", flags, key, value, 0, 0)
    return (
        b"glibc-ld.so.cache1.1" + struct.pack("<II", len(entries) if count is None else count, len(strings)) + bytes(20) + table + strings
    )


@pytest.mark.parametrize(
    ("line", "version", "flavour"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.142  Release Build  (dvs@x)  Tue Mar 3", "580.142", "open"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build  (root@h)  Tue", "580.95.05", "open"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.216.03  Fri Oct 25 22:43:06 UTC 2024", "535.216.03", "proprietary"),
        ("NVRM version: NVIDIA UNIX aarch64 Kernel Module  580.65.06  Sun Jul 27 07:20:12 UTC 2025", "580.65.06", "proprietary"),
        ("NVRM version: NVIDIA UNIX Kernel Module for x86_64  595.71.05  Release Build  (root@h)", "595.71.05", "proprietary"),
    ],
)
def test_the_version_line_names_version_and_flavour(line, version, flavour):
    found = read({"/proc/driver/nvidia/version": line + "\nGCC version:  gcc version 13.2.0\n"})
    assert (found.proc_version, found.flavour) == (version, flavour)


def test_a_version_line_of_another_shape_is_an_error():
    assert read({"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX 64-bit\n"}).flavour.why == "error"


def test_a_module_is_loaded_when_it_is_live():
    files = {"/sys/module/nvidia/initstate": "live\n", "/sys/module/nvidia/version": "580.142\n", "/sys/module/nvidia/refcnt": "12\n"}
    found = read(files)
    assert (found.loaded, found.loaded_version, found.refcount) == (True, "580.142", 12)
    assert read({"/sys/module/nvidia/initstate": "going\n"}).loaded is False
    assert read({"/sys/module/ext4/initstate": "live\n"}).loaded is False
    assert read({}).loaded.why == "error", "without /sys nobody knows"
    assert read({"/sys/module/nvidia/initstate": Unread("not-running")}).loaded.why == "not-running"


def test_the_linkers_choice_comes_first_and_second_architectures_are_left_out():
    data = cache(
        ("libcuda.so.1", f"{LIB}/libcuda.so.1", 0x0303),
        ("libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", 0x0003),
        ("libc.so.6", f"{LIB}/libc.so.6", 0x0303),
    )
    files = {
        "/etc/ld.so.cache": data,
        f"{LIB}/libcuda.so.1": ("link", "libcuda.so.580.142"),
        f"{LIB}/libcuda.so.580.142": shared_library(),
        "/usr/lib/i386-linux-gnu/libcuda.so.1": b"",
        "/usr/local/lib/libcuda.so.550.54.14": shared_library(),
        "/usr/local/lib/libcuda.so.1": ("link", "libcuda.so.550.54.14"),
    }
    found = read(files)
    assert [(one.path, one.version, one.cached) for one in found.libraries] == [
        (f"{LIB}/libcuda.so.580.142", "580.142", True),
        ("/usr/local/lib/libcuda.so.550.54.14", "550.54.14", False),
    ]
    assert found.library("libcuda.so.1").version == "580.142"
    assert found.library("libnvidia-ml.so.1").why == "absent"


def test_debian_alternatives_lead_to_one_file():
    files = {
        "/etc/ld.so.cache": cache(("libnvidia-ml.so.1", f"{LIB}/libnvidia-ml.so.1", 0x0303)),
        f"{LIB}/libnvidia-ml.so.1": ("link", "/etc/alternatives/nvidia--libnvidia-ml.so.1-x86_64-linux-gnu"),
        "/etc/alternatives/nvidia--libnvidia-ml.so.1-x86_64-linux-gnu": ("link", f"{LIB}/nvidia/current/libnvidia-ml.so.1"),
        f"{LIB}/nvidia/current/libnvidia-ml.so.1": ("link", "libnvidia-ml.so.550.163.01"),
        f"{LIB}/nvidia/current/libnvidia-ml.so.550.163.01": shared_library(),
    }
    assert [(one.path, one.version) for one in read(files).libraries] == [
        (f"{LIB}/nvidia/current/libnvidia-ml.so.550.163.01", "550.163.01")
    ]


def test_a_cache_that_names_a_missing_library_counts_for_nothing():
    assert read({"/etc/ld.so.cache": cache(("libcuda.so.1", f"{LIB}/libcuda.so.1", 0x0303))}).libraries == ()


def test_libraries_are_unread_when_the_cache_is_broken():
    assert read({"/etc/ld.so.cache": b"rubbish"}).libraries.why == "error"
    assert read({"/etc/ld.so.cache": cache(count=1000)}).libraries.why == "error"
    assert read({"/etc/ld.so.cache": Unread("denied")}).libraries.why == "denied"


@pytest.mark.parametrize("why", ["denied", "timeout"])
def test_libraries_are_unread_where_a_directory_or_a_link_in_it_is(why):
    first = {f"{LIB}/libcuda.so.580.142": shared_library()}
    assert read({**first, "list /usr/local/lib": Unread(why)}).libraries.why == why
    second = "/usr/local/lib/libcuda.so.570.1"
    assert read({**first, second: b"", f"realpath {second}": Unread(why)}).libraries.why == why
    assert [one.version for one in read(first, "image").libraries] == ["580.142"]  # an image has no /run


def test_a_firmware_directory_that_is_a_link_to_nothing_holds_no_firmware():
    files = {"/lib/firmware/nvidia/580.142/gsp_ga10x.bin": b"", "/lib/firmware/nvidia/570.1": ("link", "gone")}
    assert read(files).gsp_firmware == (("580.142", ("gsp_ga10x.bin",)),)


def test_a_build_or_a_firmware_that_may_not_be_looked_at_is_not_missing():
    module = f"/var/lib/dkms/nvidia/580.142/{KERNEL}/x86_64/module"
    assert read({f"{module}/nvidia.ko": b""}).dkms[0].kernels == (KERNEL,)
    for place in (module, f"/var/lib/dkms/nvidia/580.142/{KERNEL}", "/var/lib/dkms/nvidia/580.142"):
        assert read({f"{module}/nvidia.ko": b"", f"list {place}": Unread("denied")}).dkms.why == "denied"
    assert read({"/sys/module/firmware_class/parameters/path": Unread("denied")}).gsp_firmware.why == "denied"


def test_a_driver_containers_libraries_are_taken_where_it_owns_the_driver():
    files = {
        "/etc/ld.so.cache": cache(("libcuda.so.1", f"{LIB}/libcuda.so.1", 0x0303)),
        f"{LIB}/libcuda.so.1": ("link", "libcuda.so.550.54.14"),
        f"{LIB}/libcuda.so.550.54.14": shared_library(),
        "/run/nvidia/driver/usr/lib64/libcuda.so.580.142": shared_library(),
    }
    found = read(files)
    assert found.container_driver is True
    assert found.container_driver_evidence == ("/run/nvidia/driver holds a root file system",)
    assert found.library("libcuda.so.1").version == "580.142"


def test_a_link_to_the_hosts_own_root_is_no_driver_container():
    assert read({"/run/nvidia/driver": ("link", "/"), "/usr/bin/true": b""}).container_driver is False


@pytest.mark.parametrize(
    "question", ["readlink /run/nvidia/driver", "list /run/nvidia/driver", "stat /run/nvidia/validations/.driver-ctr-ready"]
)
def test_a_driver_container_that_nobody_could_look_for_is_neither_there_nor_not(question):
    files = {"/run/nvidia/driver/usr/bin/true": b"", question: Unread("denied", question)}
    if not question.startswith("list"):
        del files["/run/nvidia/driver/usr/bin/true"]
    assert read(files).container_driver_evidence == Unread("denied", question)


def test_the_dkms_tree_says_what_is_built_and_what_failed():
    tree = "/var/lib/dkms/nvidia"
    files = {
        f"{tree}/580.95.05/{KERNEL}/x86_64/module/nvidia.ko.zst": b"",
        f"{tree}/580.142/source/dkms.conf": "",
        f"{tree}/580.142/build/make.log": FAILED_LOG,
        f"{tree}/kernel-{KERNEL}-x86_64": ("link", "x"),
        "/var/lib/dkms/nvidia-fs/2.24/source/dkms.conf": "",
        "/var/lib/dkms/mok.pub": b"",
    }
    newest, older = read(files).dkms
    assert (newest.version, newest.kernels, newest.failed, newest.failed_kernel) == ("580.142", (), True, KERNEL)
    assert newest.error == "nvidia/nv-mmap.c:150:5: error: implicit declaration of function 'vm_flags_set'"
    assert (older.version, older.kernels, older.failed) == ("580.95.05", (KERNEL,), False)


def test_a_log_of_a_build_that_succeeded_is_no_failure():
    tree = "/var/lib/dkms/nvidia/580.142"
    files = {
        f"{tree}/{KERNEL}/x86_64/module/nvidia.ko": b"",
        f"{tree}/build/make.log": f"DKMS make.log for nvidia-580.142 for kernel {KERNEL} (x86_64)\n",
    }
    assert [one.failed for one in read(files).dkms] == [False]


def test_missing_headers_are_the_error_line():
    log = f"DKMS (dkms-3.1.0) make.log for nvidia/580.142 for kernel {KERNEL} (x86_64)\nmake: *** /lib/modules/{KERNEL}/build: No such file or directory.  Stop.\n"
    assert read_dkms.parse_make_log(log) == (KERNEL, f"make: *** /lib/modules/{KERNEL}/build: No such file or directory.  Stop.")


def node(major, minor, mode=0o666):
    return {"kind": "char", "mode": mode, "uid": 0, "gid": 0, "size": 0, "mtime": 0.0, "major": major, "minor": minor}


def test_device_nodes_are_those_of_gpus_control_modeset_and_uvm():
    files = {
        "/dev/nvidia0": b"",
        "stat /dev/nvidia0": node(195, 0),
        "/dev/nvidiactl": b"",
        "stat /dev/nvidiactl": node(195, 255),
        "/dev/nvidia-uvm": b"",
        "stat /dev/nvidia-uvm": node(511, 0),
        "/dev/nvidia-caps/nvidia-cap1": b"",
        "/dev/nvidia-fs0": b"",
        "/proc/devices": "Character devices:\n195 nvidia\n511 nvidia-uvm\n\nBlock devices:\n195 nvidia-block\n",
        "/dev/char/195:0": ("link", "../nvidia0"),
        "/dev/char/511:0": ("link", "../nvidia-uvm"),
        "/dev/char/1:3": ("link", "../null"),
    }
    found = read(files)
    assert [(one.path, one.major, one.minor) for one in found.device_nodes] == [
        ("/dev/nvidia-uvm", 511, 0),
        ("/dev/nvidia0", 195, 0),
        ("/dev/nvidiactl", 195, 255),
    ]
    assert found.char_majors == (("nvidia", 195), ("nvidia-uvm", 511))
    assert found.char_links == ("195:0", "511:0")


@pytest.mark.parametrize(
    ("state", "paths"), [("live\n", ("/run/nvidia/driver/dev/nvidia0", "/run/nvidia/driver/dev/nvidiactl")), ("coming\n", ())]
)
def test_nodes_of_a_driver_container_count_while_its_module_is_live(state, paths):
    files = {
        "/sys/module/nvidia/initstate": state,
        "/dev/null": b"",
        "/run/nvidia/driver/dev/nvidia0": b"",
        "stat /run/nvidia/driver/dev/nvidia0": node(195, 0),
        "/run/nvidia/driver/dev/nvidiactl": b"",
        "stat /run/nvidia/driver/dev/nvidiactl": node(195, 255),
    }
    assert tuple(one.path for one in read(files).device_nodes) == paths


def test_firmware_is_read_where_the_kernel_looks_for_it():
    files = {
        "/lib/firmware/nvidia/580.142/gsp_ga10x.bin": b"",
        "/lib/firmware/nvidia/ga102/gsp/bootloader.bin": b"",
        "/sys/module/firmware_class/parameters/path": "/run/nvidia/driver/lib/firmware\n",
        "/run/nvidia/driver/lib/firmware/nvidia/580.95.05/gsp_tu10x.bin": b"",
    }
    assert read(files).gsp_firmware == (("580.142", ("gsp_ga10x.bin",)), ("580.95.05", ("gsp_tu10x.bin",)))


@pytest.mark.parametrize(
    ("answer", "state", "code"),
    [
        (True, "ok", 0),
        (Unread("error", "18 RM has detected an NVML/RM version mismatch. (nvmlInit)"), "lib-rm-version-mismatch", 18),
        (Unread("absent", "9 Driver Not Loaded (nvmlInit)"), "driver-not-loaded", 9),
        (Unread("absent", "12 no libnvidia-ml.so.1 in the library directories"), "library-not-found", 12),
        (Unread("denied", "4 Insufficient Permissions (nvmlInit)"), "no-permission", 4),
        (Unread("error", "999 Unknown Error (nvmlInit)"), "unknown", 999),
        (Unread("error", "31 new (nvmlInit)"), "error-31", 31),
    ],
)
def test_an_error_that_nvml_speaks_is_a_code(answer, state, code):
    found = read({"nvml init": answer})
    assert (nvml_name(found.nvml_error_code), found.nvml_error_code) == (state, code)


def test_an_nvml_that_was_not_asked_has_no_code():
    assert read({"nvml init": Unread("timeout", "nvmlInit: no answer in 10 s")}).nvml_error_code.why == "timeout"
    assert read({}).nvml_error_code == Unread("absent", "the nvidia module is not loaded")


def test_cuda_versions_come_from_nvml_and_from_the_toolkit():
    found = read({"nvml cuda_version": 12080, "/usr/local/cuda/version.json": '{"cuda": {"version": "13.0.1"}}'})
    assert (found.cuda_driver_version, found.cuda_toolkit_version) == ("12.8", "13.0.1")
    assert read({"/usr/local/cuda/version.txt": "CUDA Version 10.2.89\n"}).cuda_toolkit_version == "10.2.89"
    assert read({}).cuda_toolkit_version == ""
    assert read({"/usr/local/cuda/version.json": "[]"}).cuda_toolkit_version.why == "error"
    assert read({"nvml cuda_version": "13"}).cuda_driver_version.why == "error"


def test_a_log_alone_is_no_trace_of_a_runfile_installation():
    assert read({"/var/log/nvidia-installer.log": "log"}).runfile_traces == ()
    assert read({"/usr/bin/nvidia-uninstall": b""}).runfile_traces == ("/usr/bin/nvidia-uninstall",)


@settings(max_examples=200)
@given(st.text(max_size=400))
@within(0.5)
def test_any_text_is_read_by_the_parsers(text):
    assert isinstance(read_driver.parse_proc_version(text), tuple | Unread)
    assert isinstance(read_driver.parse_params(text), tuple)
    assert isinstance(read_driver.parse_cuda_version(text), str | Unread)
    assert isinstance(read_devices.parse_devices(text), tuple)
    assert isinstance(read_dkms.parse_make_log(text), tuple)
    assert isinstance(read_libraries.parse_version(text), str)


@settings(max_examples=200)
@given(st.binary(max_size=200), st.integers(0, 120))
@within(0.5)
def test_any_bytes_are_a_cache_or_an_error(noise, at):
    whole = cache(("libcuda.so.1", f"{LIB}/libcuda.so.1", 0x0303))
    spoiled = whole[:at] + noise + whole[at + len(noise) :]
    assert isinstance(read_ld_cache.parse_ldcache(spoiled, read_libraries.SONAMES), tuple | Unread)


def test_names_of_the_cache_by_their_beginning():
    whole = cache(
        ("libnccl-net.so", "/opt/a/libnccl-net.so", 0x0303),
        ("libnccl.so.2", "/usr/lib64/libnccl.so.2", 0x0303),
        ("libnccl.so.2", "/usr/lib/libnccl.so.2", 0x0800),
        ("libncclx.so", "/usr/lib64/libncclx.so", 0x0303),
    )
    found = read_ld_cache.parse_ldcache(whole, ("libnccl.so*", "libnccl-*", "libnccl.so.2"))
    assert [(one.soname, one.path) for one in found] == [
        ("libnccl-net.so", "/opt/a/libnccl-net.so"),
        ("libnccl.so.2", "/usr/lib64/libnccl.so.2"),
    ]


def test_a_cache_with_thousands_of_entries_of_one_name_is_an_error():
    entry = ("libcuda.so.1", f"{LIB}/libcuda.so.1", 0x0303)
    assert len(read_ld_cache.parse_ldcache(cache(*[entry] * 1000), read_libraries.SONAMES)) == 1000
    assert "more than 1000 entries" in read_ld_cache.parse_ldcache(cache(*[entry] * 1001), read_libraries.SONAMES).detail


def test_the_newest_floor_of_a_branch_counts():
    assert floor("580").version == max((one.version for one in FLOORS if one.branch == "580"), key=lambda v: tuple(map(int, v.split("."))))
    assert floor("470") is None
    assert [one.date for one in FLOORS] == sorted((one.date for one in FLOORS), reverse=True)
    assert floor("580").version in RELEASES_580
    assert all(one.version.startswith(one.branch + ".") for one in FLOORS)
    assert list(CUDA_LEVELS) == sorted(CUDA_LEVELS)


#: Device ids with the feature kernelopen in supported-gpus.json of the Linux driver 580.82.07.
OPEN_CAPABLE = """
1E02 1E04 1E07 1E09 1E30 1E36 1E78 1E81 1E82 1E84 1E87 1E89 1E90 1E91 1E93 1EB0 1EB1 1EB5 1EB6 1EB8 1EC2 1EC7 1ED0 1ED1 1ED3 1EF5
1F02 1F03 1F06 1F07 1F08 1F0A 1F0B 1F10 1F11 1F12 1F14 1F15 1F36 1F42 1F47 1F50 1F51 1F54 1F55 1F76 1F82 1F83 1F91 1F95 1F96 1F97
1F98 1F99 1F9C 1F9D 1F9F 1FA0 1FB0 1FB1 1FB2 1FB6 1FB7 1FB8 1FB9 1FBA 1FBB 1FBC 1FDD 1FF0 1FF2 1FF9 20B0 20B2 20B3 20B5 20B6 20B7
20BD 20F1 20F3 20F5 20F6 20FD 2182 2184 2187 2188 2189 2191 2192 21C4 21D1 2203 2204 2206 2207 2208 220A 220D 2216 2230 2231 2232
2233 2235 2236 2237 2238 230E 2321 2322 2324 2329 232C 2330 2331 2335 2339 233A 233B 2342 2348 2414 2420 2438 2460 2482 2484 2486
2487 2488 2489 248A 249C 249D 24A0 24B0 24B1 24B6 24B7 24B8 24B9 24BA 24BB 24C7 24C9 24DC 24DD 24E0 24FA 2503 2504 2507 2508 2520
2521 2523 2531 2544 2560 2563 2571 2582 2584 25A0 25A2 25A5 25A6 25A7 25A9 25AA 25AB 25AC 25AD 25B0 25B2 25B6 25B8 25B9 25BA 25BB
25BC 25BD 25E0 25E2 25E5 25EC 25ED 25F9 25FA 25FB 2684 2685 2689 26B1 26B2 26B3 26B5 26B9 26BA 2702 2704 2705 2709 2717 2730 2757
2770 2782 2783 2786 2788 27A0 27B0 27B1 27B2 27B6 27B8 27BA 27BB 27E0 27FB 2803 2805 2808 2820 2822 2838 2860 2882 28A0 28A1 28A3
28B0 28B8 28B9 28BA 28BB 28E0 28E1 28E3 28F8 2901 2941 29BB 2B85 2B87 2B8C 2BB1 2BB3 2BB4 2BB5 2BB9 2C02 2C05 2C18 2C19 2C31 2C33
2C34 2C38 2C39 2C58 2C59 2D04 2D05 2D18 2D19 2D30 2D39 2D58 2D59 2D83 2D98 2DB8 2DB9 2DD8 2F04 2F18 2F38 2F58 3182 31C2
"""


def test_every_gpu_of_nvidias_list_is_open_capable():
    assert [device for device in OPEN_CAPABLE.split() if "open" not in flavours(f"0x{device.lower()}")] == []


@pytest.mark.parametrize(
    ("device", "name", "able"),
    [
        ("0x1db6", "volta", ("proprietary",)),
        ("0x15f8", "pascal", ("proprietary",)),
        ("0x1b06", "pascal", ("proprietary",)),
        ("0x17fd", "maxwell", ("proprietary",)),
        ("0x1eb8", "turing", ("open", "proprietary")),
        ("0x20b2", "ampere", ("open", "proprietary")),
        ("0x26b5", "ada", ("open", "proprietary")),
        ("0x2330", "hopper", ("open", "proprietary")),
        ("0x2342", "grace-hopper", ("open",)),
        ("0x2901", "blackwell", ("open",)),
        ("0x2941", "grace-blackwell", ("open",)),
        ("0x4f01", "", ()),
        ("nonsense", "", ()),
    ],
)
def test_a_device_id_names_its_architecture_and_flavours(device, name, able):
    assert (architecture(device), flavours(device)) == (name, able)


def test_ranges_are_in_order_and_do_not_overlap():
    assert all(left.last < right.first for left, right in itertools.pairwise(RANGES))
    assert {chips.architecture for chips in RANGES} == {name for name, _ in FLAVOURS}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "no library"),
        (b"<html>", "no library"),
        (shared_library()[:100], "cut short"),
        (shared_library("aarch64"), "of another architecture"),
        (shared_library(), ""),
    ],
)
def test_a_file_that_nothing_can_load_is_no_library(data, fault):
    found = read({"host": {"machine": "x86_64"}, f"{LIB}/libcuda.so.580.142": data})
    assert [one.fault for one in found.libraries] == [fault]
    assert isinstance(found.library("libcuda.so.1"), Unread) == bool(fault)
