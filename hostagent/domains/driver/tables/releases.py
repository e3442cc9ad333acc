"""Driver releases: security floors, known releases, the CUDA level of a branch, NVML's return codes.

Sources: NVIDIA's security bulletins for the GPU display driver (NVIDIA/product-security: 5703 of 2025-10-09, 5747 of
2026-01-28, 5821 of 2026-05-21, 5861 of 2026-09-30), read on 2026-11-21; release numbers from NVIDIA's driver container
and from distributions' packages, 2026-11; CUDA levels from the CUDA Toolkit release notes, table "CUDA Toolkit and
Corresponding Driver Versions"; return codes from nvml.h, nvmlReturn_t.
"""

# GPU Operator 26.3's own 580.126.20 is below the newest floor of branch 580 (580.178.04, bulletin 5861): an advisory.

from typing import NamedTuple

from hostagent.facts.version import compare_deb


class Floor(NamedTuple):
    """The first release of a branch that holds the fixes of a bulletin. Linux, data centre and workstation alike."""

    branch: str
    version: str
    bulletin: str
    date: str  # of the bulletin's last revision that was read


#: Newest bulletin first: the first with the branch counts.
FLOORS = (
    Floor("615", "615.71.09", "5861", "2026-09-30"),
    Floor("610", "610.57.04", "5861", "2026-09-30"),
    Floor("595", "595.91.07", "5861", "2026-09-30"),
    Floor("580", "580.178.04", "5861", "2026-09-30"),
    Floor("595", "595.71.05", "5821", "2026-05-21"),
    Floor("580", "580.159.03", "5821", "2026-05-21"),
    Floor("535", "535.309.01", "5821", "2026-05-21"),
    Floor("590", "590.48.01", "5747", "2026-01-28"),
    Floor("580", "580.126.09", "5747", "2026-01-28"),
    Floor("570", "570.211.01", "5747", "2026-01-28"),
    Floor("535", "535.288.01", "5747", "2026-01-28"),
    Floor("580", "580.95.05", "5703", "2025-10-09"),
    Floor("570", "570.195.03", "5703", "2025-10-09"),
    Floor("535", "535.274.02", "5703", "2025-10-09"),
)

#: Releases of branch 580 for Linux, oldest first.
RELEASES_580 = (
    "580.65.06",
    "580.82.07",
    "580.95.05",
    "580.105.08",
    "580.126.09",
    "580.126.16",
    "580.126.18",
    "580.126.20",
    "580.142",
    "580.159.03",
    "580.159.04",
    "580.173.02",
    "580.178.04",
)

#: The first branch with CDMM: the driver manages a GPU's coherent memory itself, instead of a NUMA node.
_FIRST_COHERENT_MODE_BRANCH = 580

#: Highest CUDA a branch runs.
CUDA_LEVELS = (
    ("525", "12.0"),
    ("530", "12.1"),
    ("535", "12.2"),
    ("545", "12.3"),
    ("550", "12.4"),
    ("555", "12.5"),
    ("560", "12.6"),
    ("565", "12.7"),
    ("570", "12.8"),
    ("575", "12.9"),
    ("580", "13.0"),
    ("590", "13.1"),
)

#: nvmlReturn_t: (number, name as reports print it, its meaning on a host).
NVML_RETURNS = (
    (0, "ok", ""),
    (1, "uninitialized", "NVML was used before it was initialised"),
    (2, "invalid-argument", "NVML refused an argument"),
    (3, "not-supported", "the device or driver does not have this"),
    (4, "no-permission", "this user may not use the driver: see the owner and mode of /dev/nvidiactl"),
    (6, "not-found", "NVML found no such thing"),
    (9, "driver-not-loaded", "NVML found no loaded driver, although the module is loaded: its device nodes may be wrong"),
    (10, "timeout", "the driver did not answer NVML in time"),
    (11, "irq-issue", "the kernel found an interrupt issue with a GPU"),
    (12, "library-not-found", "libnvidia-ml.so.1 is missing or cannot be loaded"),
    (13, "function-not-found", "the library is older than the call"),
    (14, "corrupted-inforom", "a GPU's infoROM is corrupted"),
    (15, "gpu-is-lost", "a GPU has fallen off the bus"),
    (16, "reset-required", "a GPU must be reset"),
    (17, "operating-system", "the operating system, or a cgroup, blocked the driver's device nodes"),
    (18, "lib-rm-version-mismatch", "libraries and loaded module have different versions"),
    (19, "in-use", "a GPU is in use"),
    (20, "memory", "the host has too little memory for the driver"),
    (999, "unknown", "the driver failed internally: the kernel log names the GPU"),
)


def floor(branch: str) -> "Floor | None":
    """The newest known floor of a branch; None if no bulletin that was read names it."""
    return next((one for one in FLOORS if one.branch == branch), None)


def has_fixes(known: Floor, version: str) -> bool:
    """Whether a release of the floor's branch holds the fixes.

    >>> has_fixes(FLOORS[3], "580.178.04"), has_fixes(FLOORS[3], "580.95.05")
    (True, False)
    """
    return compare_deb(version, known.version) >= 0


def has_coherent_mode(branch: str) -> bool:
    """Whether the drivers of a branch know CDMM.

    >>> has_coherent_mode("580"), has_coherent_mode("570"), has_coherent_mode("")
    (True, False, False)
    """
    return branch.isdecimal() and int(branch) >= _FIRST_COHERENT_MODE_BRANCH


def cuda_level(branch: str) -> str:
    """The highest CUDA a branch runs, "" for a branch not in the table."""
    return dict(CUDA_LEVELS).get(branch, "")


def first_branch_for(cuda: tuple[int, ...]) -> str:
    """The first branch that runs a CUDA, "" where no known branch does.

    >>> first_branch_for((13, 0)), first_branch_for((99, 0))
    ('580', '')
    """
    return next((branch for branch, level in CUDA_LEVELS if tuple(int(part) for part in level.split(".")) >= cuda), "")


def nvml_name(code: int) -> str:
    """The name of an NVML return code: ``error-31`` for one not in the table."""
    return next((name for number, name, _ in NVML_RETURNS if number == code), f"error-{code}")


def nvml_meaning(code: int) -> str:
    return next((meaning for number, _, meaning in NVML_RETURNS if number == code), "hostagent does not know this code")
