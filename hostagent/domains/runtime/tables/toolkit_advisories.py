"""Known vulnerabilities of the NVIDIA Container Toolkit, and the version that fixes each.

Source: NVIDIA product security bulletins 5582 (2024-09), 5585 and 5599 (2024-10, 2024-11), 5616 (2025-02), 5659 (2025-07) and
5850 (2026-06-30); NVIDIA Container Toolkit release notes. State of 2026-08.
"""

from typing import NamedTuple

from hostagent.facts.version import compare_upstream


class Fix(NamedTuple):
    """Every version below `version` has `cves`."""

    version: str
    cves: tuple[str, ...]
    effect: str
    refused: bool  # any image can take over the host from a container: no policy accepts such a host


#: Oldest first.
_FIXES = (
    Fix("1.16.2", ("CVE-2024-0132", "CVE-2024-0133"), "a container image can take over the host", refused=True),
    Fix("1.17.0", ("CVE-2024-0134",), "a container image can create files on the host", refused=True),
    Fix(
        "1.17.1",
        ("CVE-2024-0135", "CVE-2024-0136", "CVE-2024-0137"),
        "a container image can change files and devices of the host",
        refused=True,
    ),
    Fix("1.17.4", ("CVE-2025-23359",), "a container image can take over the host", refused=True),
    Fix("1.17.8", ("CVE-2025-23266", "CVE-2025-23267"), "a container image can run code as root on the host", refused=True),
    Fix("1.19.1", ("CVE-2026-24260",), "a container can write to the host through a race in the CDI hooks", refused=False),
)

#: From this version on, the toolkit rejects at each container start an ldconfig that is not the host's, marked by a leading @
#: (nvidia-container-toolkit, api/config/v1/cli.go, assertValid; CVE-2024-0136).
_LDCONFIG_OF_HOST_SINCE = "1.17.1"
#: The default without a value in config.toml; an empty value is rejected like any other.
OWN_LDCONFIG = "@/sbin/ldconfig"
#: From this version on, mode auto generates a CDI specification for each container; before, it is the legacy mode.
_JIT_CDI_SINCE = "1.18.0"
#: Default low-level runtimes of the nvidia runtime (api/config/v1/config.go).
LOW_LEVEL_RUNTIMES = ("runc", "crun")


def open_fixes(version: str) -> tuple[Fix, ...]:
    """The fixes that a version of the toolkit lacks, oldest first.

    >>> [one.version for one in open_fixes("1.17.8")], open_fixes("1.19.1")
    (['1.19.1'], ())
    """
    return tuple(fix for fix in _FIXES if compare_upstream(version, fix.version) < 0)


def refuses_other_ldconfig(version: str) -> bool:
    """Whether the toolkit rejects an ldconfig that is not the host's.

    >>> refuses_other_ldconfig("1.17.1"), refuses_other_ldconfig("1.16.2")
    (True, False)
    """
    return compare_upstream(version, _LDCONFIG_OF_HOST_SINCE) >= 0


def generates_cdi(version: str) -> bool:
    """Whether mode auto generates a CDI specification for each container.

    >>> generates_cdi("1.19.0"), generates_cdi("1.17.8")
    (True, False)
    """
    return compare_upstream(version, _JIT_CDI_SINCE) >= 0
