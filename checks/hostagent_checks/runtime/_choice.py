"""Which of the host's runtimes the profile means, and which of their entries are NVIDIA's."""

from hostagent.check import need, skip
from hostagent.facts.runtime import Handler, Runtime
from hostagent.profile import Profile


def skip_unwanted(runtime: Runtime, profile: Profile) -> None:
    """The check does not apply to a runtime of another kind than the profile's."""
    kind = profile.runtime.kind
    if kind not in ("any", runtime.kind):
        skip(f"the profile wants {'no runtime' if kind == 'none' else kind}, not {runtime.key}")


def present_ones(runtimes: tuple[Runtime, ...], profile: Profile) -> tuple[Runtime, ...]:
    """The runtimes of the profile's kind that are there."""
    return tuple(one for one in runtimes if profile.runtime.kind in ("any", one.kind) and need(one.state) != "absent")


def accepted_ones(runtimes: tuple[Runtime, ...], profile: Profile) -> tuple[Runtime, ...]:
    """Those of them that accept their configuration."""
    return tuple(one for one in present_ones(runtimes, profile) if need(one.state) == "accepted")


def usable_ones(runtimes: tuple[Runtime, ...], profile: Profile) -> tuple[Runtime, ...]:
    """The accepted ones; the check does not apply where there is none."""
    return accepted_ones(runtimes, profile) or skip("no container runtime accepts its configuration")


def nvidia_handlers(runtime: Runtime) -> tuple[Handler, ...]:
    """NVIDIA's entries in the effective configuration; the check does not apply where there is none."""
    return need(runtime.nvidia_handlers) or skip(f"{runtime.key} has no NVIDIA runtime entry")
