"""First runtime versions that read each version of the CDI specification.

Source: NVIDIA Container Toolkit, CDI support and release notes for the specification 0.7.0 that it emits (read 2026-08). podman: the
version of the CDI library in its go.mod (4.9, 5.0: 0.6.2; 5.1: 0.7.2), and NVIDIA Container Toolkit issues 1860 and 1940.
"""

from collections.abc import Mapping

from hostagent.core.steps import Step
from hostagent.facts.version import compare_upstream, satisfies

_REFRESH = "systemctl restart nvidia-cdi-refresh.service"
#: Generates nvidia-ctk's specification again.
RENEW = Step("restart_service", "Renew the CDI specification.", _REFRESH)
#: The same after a reset, which follows all restarts of services.
RENEW_AFTERWARDS = Step("rerun", "Renew the CDI specification, then run hostagent again.", _REFRESH)

#: Units that generate nvidia-ctk's specification, and the first toolkit version with them (release notes of 1.18.0).
REFRESH_UNITS = ("nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service")
_REFRESH_SINCE = "1.18.0"
#: Releases with a unit that waits for multi-user.target (NVIDIA Container Toolkit issue 1735, release notes of 1.19.0 and 1.19.1).
AFTER_TARGET = frozenset(("1.19.0",))

#: By CDI version: runtime kind to the first version of it that reads such a file. Older CDI versions need nothing special.
FIRST_RUNTIME: Mapping[str, Mapping[str, str]] = {
    "0.7.0": {"containerd": "1.7.16", "docker": "26.1", "crio": "1.30", "podman": "5.1"},
}


def has_refresh_units(toolkit: str) -> bool:
    """Whether a version of the toolkit has the units that generate the specification.

    >>> has_refresh_units("1.19.0"), has_refresh_units("1.17.8")
    (True, False)
    """
    return compare_upstream(toolkit, _REFRESH_SINCE) >= 0


def may_be_older(version: str, first: str) -> bool:
    """Whether a runtime's version is older than `first`, or may be: "" is a version that is not known.

    >>> may_be_older("1.7.24", "1.7.16"), may_be_older("", "1.7.16"), may_be_older("1.6.20", "")
    (False, True, False)
    """
    return bool(first) and not (version and satisfies(version, f">={first}"))


def first_runtime(cdi_version: str, kind: str) -> str:
    """The first version of the runtime that reads the file, "" if any does or the runtime is unknown.

    >>> first_runtime("0.7.0", "containerd"), first_runtime("0.5.0", "containerd"), first_runtime("1.0.0", "docker")
    ('1.7.16', '', '26.1')
    """
    wanted = ""
    for version, runtimes in FIRST_RUNTIME.items():
        if _fields(cdi_version) >= _fields(version):
            wanted = runtimes.get(kind, "")
    return wanted


def _fields(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split(".") if part.isdigit())
