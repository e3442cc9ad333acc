"""The driver stack: the loaded module, libraries, firmware, device nodes, and signs of its origin."""

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_APPLICABLE, NOT_THERE, Unread, UnreadError, need, then
from hostagent.domains.driver.read_devices import read_char_links, read_majors, read_nodes
from hostagent.domains.driver.read_dkms import read_dkms
from hostagent.domains.driver.read_libraries import read_libraries
from hostagent.domains.system.read_modprobe import ConfigFile, module_behind, options_of, read_modprobe
from hostagent.facts.driver import CONTAINER_ROOT, Driver
from hostagent.facts.platform import Platform
from hostagent.host.source import Source
from hostagent.host.values import line_in, names_in, number_in

_MODULE = "/sys/module/nvidia"
_PARAMETERS = ("CoherentGPUMemoryMode", "DeviceFileGID", "DeviceFileMode", "DeviceFileUID", "ModifyDeviceFiles")
#: Files that only the .run installer leaves; its log is not among them, since it stays after a clean removal.
_RUNFILE = ("/usr/bin/nvidia-uninstall", "/usr/bin/nvidia-installer", "/var/lib/nvidia/log")
_DRIVER_ROOT = CONTAINER_ROOT.rstrip("/")
_VERSION = re.compile(
    r"^NVRM version:\s+NVIDIA UNIX\s+(Open )?(?:Kernel Module for (\S+)|(\S+) Kernel Module)\s+(\d{2,}(?:\.\d+){1,2})(?=\s|$)", re.MULTILINE
)


class ProcVersion(NamedTuple):
    version: str
    flavour: Literal["open", "proprietary"]


def read_driver(source: Source, known: Callable[[type], Any]) -> Driver:
    """`Driver` of this host. The worker's questions (/proc/driver/nvidia, NVML) come last, since they wait."""
    files = _of_files(source, known)
    return Driver(**files, **_of_module(source), **_of_worker(source, files["module_options"]))


def _of_files(source: Source, known: Callable[[type], Any]) -> dict[str, Any]:
    files, evidence = read_modprobe(source), _container(source)
    return {
        "module_options": then(files, _options),
        "libraries": read_libraries(source, known),
        "gsp_firmware": _gsp_firmware(source, then(known(Platform), lambda platform: platform.firmware_directories)),
        "dkms": read_dkms(source),
        "runfile_traces": _existing(source, _RUNFILE),
        "container_driver": then(evidence, bool),
        "container_driver_evidence": evidence,
        "nodes_on_demand": _nodes_on_demand(source),
        "persistenced_socket": _socket(source, "/run/nvidia-persistenced/socket"),
        "cuda_toolkit_version": _cuda_toolkit(source),
    }


def _options(files: tuple[ConfigFile, ...]) -> "tuple[tuple[str, str], ...] | Unread":
    """Options of nvidia, and of the module that modprobe loads for it: Debian's have other names."""
    behind = module_behind(files, "nvidia")
    names = ("nvidia",) if isinstance(behind, Unread) or behind in ("", "nvidia") else ("nvidia", behind)
    return options_of(files, *names)


def _of_module(source: Source) -> dict[str, Any]:
    majors, loaded = read_majors(source), _loaded(source)
    return {
        "loaded": loaded,
        "loaded_version": line_in(source, f"{_MODULE}/version"),
        "loaded_srcversion": line_in(source, f"{_MODULE}/srcversion"),
        "refcount": number_in(source, f"{_MODULE}/refcnt"),
        "device_nodes": read_nodes(source, loaded),
        "char_majors": majors,
        "char_links": read_char_links(source, majors),
    }


def _of_worker(source: Source, options: "tuple[tuple[str, str], ...] | Unread") -> dict[str, Any]:
    version = then(source.text("/proc/driver/nvidia/version", keep=Keep("matches", (_VERSION.pattern,))), parse_proc_version)
    nvml_version = source.nvml("driver_version")
    return {
        "flavour": then(version, lambda one: one.flavour),
        "proc_version": then(version, lambda one: one.version),
        "parameters": then(source.text("/proc/driver/nvidia/params", keep=_parameters(options)), parse_params),
        "nvml_error_code": _nvml_error(source),
        "nvml_driver_version": nvml_version if isinstance(nvml_version, str | Unread) else _wrong("driver_version", nvml_version),
        "cuda_driver_version": _cuda_driver(source),
        "confidential_ready": _confidential_ready(source),
    }


def parse_proc_version(text: str) -> "ProcVersion | Unread":
    r"""
    /proc/driver/nvidia/version: version and flavour of the loaded module.

    >>> parse_proc_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.142  Release Build  (root@host)\nGCC version:\n")
    ProcVersion(version='580.142', flavour='open')
    >>> parse_proc_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.216.03  Fri Oct 25 22:43:06 UTC 2024\n")
    ProcVersion(version='535.216.03', flavour='proprietary')
    """
    match = _VERSION.search(text[:4096])
    if not match:
        return Unread("error", f"/proc/driver/nvidia/version: no driver version in {text[:80]!r}")
    return ProcVersion(match[4], "open" if match[1] else "proprietary")


def _parameters(options: "tuple[tuple[str, str], ...] | Unread") -> Keep:
    """The driver's parameters of device files and memory, and those that modprobe.d sets."""
    wanted = () if isinstance(options, Unread) else (name.removeprefix("NVreg_") for name, _ in options if name.startswith("NVreg_"))
    return Keep("settings", tuple(sorted({*_PARAMETERS, *wanted})))


def parse_params(text: str) -> tuple[tuple[str, str], ...]:
    r"""
    /proc/driver/nvidia/params, without the quotes around texts.

    >>> parse_params('ModifyDeviceFiles: 1\nDeviceFileMode: 438\nCoherentGPUMemoryMode: "driver"\n')
    (('ModifyDeviceFiles', '1'), ('DeviceFileMode', '438'), ('CoherentGPUMemoryMode', 'driver'))
    """
    pairs = (line.partition(":") for line in text.splitlines())
    return tuple((name.strip(), value.strip().strip('"')) for name, colon, value in pairs if colon)


def _loaded(source: Source) -> "bool | Unread":
    state = line_in(source, f"{_MODULE}/initstate")
    if not isinstance(state, Unread):
        return state == "live"
    if state.why != "absent":
        return state
    modules = source.listdir("/sys/module")
    return Unread("error", "/sys is not mounted") if isinstance(modules, Unread) and modules.why == "absent" else False


def _firmware_path(source: Source) -> "str | Unread":
    return line_in(source, "/sys/module/firmware_class/parameters/path", absent="")


def _existing(source: Source, paths: tuple[str, ...]) -> "tuple[str, ...] | Unread":
    found: list[str] = []
    for path in paths:
        stat = source.stat(path)
        if not isinstance(stat, Unread):
            found.append(path)
        elif stat.why not in NOT_THERE:
            return stat
    return tuple(found)


@stops_at_unread
def _gsp_firmware(source: Source, of_platform: "tuple[str, ...] | Unread") -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Versions with a GSP image, in the kernel's default directory, in that of its path parameter, and in the platform's."""
    extra = _firmware_path(source)
    if isinstance(extra, Unread) and extra.why == "not-running":
        extra = ""
    roots = dict.fromkeys(("/lib/firmware", *([extra] if need(extra).startswith("/") else []), *need(of_platform)))
    found: dict[str, tuple[str, ...]] = {}
    for root in roots:
        for version in need(names_in(source, f"{root}/nvidia")):
            if re.fullmatch(r"\d+(\.\d+)+", version):
                names = need(source.listdir(f"{root}/nvidia/{version}", absent=()))  # absent: a dangling link
                if images := tuple(name for name in names if name.startswith("gsp_")):
                    found.setdefault(version, images)
    return tuple(sorted(found.items()))


@stops_at_unread
def _container(source: Source) -> tuple[str, ...]:
    """Evidence of a running driver container: its root is mounted, or its ready file exists. A link is the host's own."""
    evidence: list[str] = []
    link = source.readlink(_DRIVER_ROOT)
    if isinstance(link, Unread) and link.why not in NOT_THERE:
        raise UnreadError(link)
    if isinstance(link, Unread) and "usr" in need(names_in(source, _DRIVER_ROOT)):
        evidence.append(f"{_DRIVER_ROOT} holds a root file system")
    path = "/run/nvidia/validations/.driver-ctr-ready"
    ready, firmware = source.stat(path), _firmware_path(source)
    if not isinstance(ready, Unread):
        evidence.append(path)
    if isinstance(firmware, str) and firmware.startswith(_DRIVER_ROOT):
        evidence.append(f"firmware_class.path is {firmware}")
    for one in () if evidence else (ready, firmware):
        if isinstance(one, Unread) and one.why not in NOT_APPLICABLE:
            raise UnreadError(one)
    return tuple(evidence)


def _socket(source: Source, path: str) -> "bool | Unread":
    stat = source.stat(path)
    if isinstance(stat, Unread):
        return False if stat.why == "absent" else stat
    return stat.kind == "socket"


@stops_at_unread
def _nodes_on_demand(source: Source) -> bool:
    """Whether nvidia-modprobe is set-user-ID root: NVIDIA's libraries run it, and it creates nodes only as root (nvidia-modprobe(1))."""
    for path in ("/usr/bin/nvidia-modprobe", f"{CONTAINER_ROOT}usr/bin/nvidia-modprobe"):
        stat = source.stat(path)
        if isinstance(stat, Unread) and stat.why not in NOT_THERE:
            need(stat)
        if not isinstance(stat, Unread) and stat.uid == 0 and stat.mode & 0o4000 and stat.mode & 0o001:
            return True
    return False


def _cuda_toolkit(source: Source) -> "str | Unread":
    text = source.text("/usr/local/cuda/version.json", keep=Keep("json", ("cuda/version",)))
    if not isinstance(text, Unread):
        return parse_cuda_version(text)
    if text.why != "absent":
        return text
    old = source.text("/usr/local/cuda/version.txt", keep=Keep("head", ("40",)))  # before CUDA 11
    if isinstance(old, Unread):
        return "" if old.why == "absent" else old
    match = re.match(r"CUDA Version (\d+(?:\.\d+)+)", old)
    return match[1] if match else Unread("error", f"/usr/local/cuda/version.txt: found {old[:40]!r}")


def parse_cuda_version(text: str, path: str = "/usr/local/cuda/version.json") -> "str | Unread":
    """
    The toolkit's version in its version.json.

    >>> parse_cuda_version('{"cuda": {"name": "CUDA SDK", "version": "13.0.1"}}')
    '13.0.1'
    """
    import json

    try:
        version = json.loads(text)["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return Unread("error", f"{path}: {type(error).__name__} {error}")
    return version if isinstance(version, str) else _wrong("version.json", version)


def _nvml_error(source: Source) -> "int | Unread":
    """The return code of NVML's initialisation; unread if the call was never made."""
    answer = source.nvml("init")
    if not isinstance(answer, Unread):
        return 0
    match = re.match(r"([0-9]{1,4})\b", answer.detail)
    return int(match[1]) if match else answer


def _cuda_driver(source: Source) -> "str | Unread":
    answer = source.nvml("cuda_version")
    if isinstance(answer, Unread):
        return answer
    if not isinstance(answer, int) or isinstance(answer, bool):
        return _wrong("cuda_version", answer)
    return f"{answer // 1000}.{answer % 1000 // 10}"  # 13000 is 13.0


def _confidential_ready(source: Source) -> "bool | Unread":
    """The answer is two numbers: whether confidential computing is on, and whether its GPUs take work."""
    answer = source.nvml("confidential")
    if isinstance(answer, Unread):
        return answer
    if not isinstance(answer, list) or [type(one) for one in answer] != [int, int]:
        return _wrong("confidential", answer)
    return answer[1] != 0 if answer[0] else Unread("not-supported", "confidential computing is off")


def _wrong(what: str, answer: object) -> Unread:
    return Unread("error", f"{what}: answer of type {type(answer).__name__}")
