"""The DKMS tree of the nvidia modules: builds by kernel, and the error of the last failed build."""

import re

from hostagent.core.answers import MIB
from hostagent.core.parsing import shown, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, need
from hostagent.domains.system.read_boot_entry import newest_first
from hostagent.facts.driver import DkmsBuild
from hostagent.host.source import Source

_TREE = "/var/lib/dkms"
#: Modules of other products with names that begin with nvidia.
_OTHERS = ("nvidia-fs", "nvidia-peermem", "nvidia-peer-memory")
_HEADER = re.compile(r"make\.log for (\S+) for kernel (\S+)")
_ERROR = re.compile(
    r"(?:^|[\s:])(?:fatal )?error:|\*\*\* |^ERROR|: not found$|command not found|No such file or directory|cannot find", re.IGNORECASE
)
#: The line with the module and kernel of the build, and the first error.
_KEEP = Keep("first", (rf"\A(?s:.{{0,4000}}?)(?P<keep>{_HEADER.pattern})", rf"(?i:^(?=.{{0,1000}}?(?:{_ERROR.pattern})).{{0,1000}})"))


@stops_at_unread
def read_dkms(source: Source) -> tuple[DkmsBuild, ...]:
    """Every version of every nvidia module in the tree; () without one."""
    found: list[DkmsBuild] = []
    for module in _names(source, _TREE):
        if module.startswith("nvidia") and module not in _OTHERS:
            versions = newest_first(need(source.listdir(f"{_TREE}/{module}")))
            found += [_build(source, module, version) for version in versions if version[:1].isdigit()]
    return tuple(found)


def _build(source: Source, module: str, version: str) -> DkmsBuild:
    directory = f"{_TREE}/{module}/{version}"
    candidates = tuple(name for name in _names(source, directory) if name not in ("build", "source"))
    kernels = tuple(reversed(newest_first(name for name in candidates if _is_built(source, f"{directory}/{name}"))))
    path = f"{directory}/build/make.log"
    text = source.text(path, 8 * MIB, keep=_KEEP)
    if isinstance(text, Unread):
        text = source.tail(path, keep=_KEEP) if text.why == "error" else ""
    kernel, error = parse_make_log(text) if isinstance(text, str) else ("", "")
    failed = bool(kernel or error) and kernel not in kernels
    return DkmsBuild(module, version, kernels, failed, kernel if failed else "", error if failed else "", path if failed else "")


def _is_built(source: Source, directory: str) -> bool:
    listings = (_names(source, f"{directory}/{name}/module") for name in _names(source, directory))
    return any(".ko" in name for names in listings for name in names)


def _names(source: Source, directory: str) -> tuple[str, ...]:
    """Names in a directory, () if it is none. Raises ``UnreadError`` if it cannot be read, which is no failed build."""
    return need(source.listdir(directory, absent=()))


def parse_make_log(text: str) -> tuple[str, str]:
    r"""
    The kernel of a DKMS make.log, and its first error line ("" for none).

    >>> parse_make_log("DKMS make.log for nvidia-580.142 for kernel 6.8.0-45-generic (x86_64)\nmake -j8\n"
    ...                "nvidia/nv-mmap.c:142:5: error: implicit declaration of function 'vm_flags_set'\n")
    ('6.8.0-45-generic', "nvidia/nv-mmap.c:142:5: error: implicit declaration of function 'vm_flags_set'")
    """
    header = _HEADER.search(text[:4096])
    error = next((shown(line.strip()[:300]) for line in text.splitlines() if _ERROR.search(line[:1000])), "")
    return (header[2] if header else ""), error
