"""Whether the host itself needs the toolkit."""

from hostagent.check import need, skip
from hostagent.facts.access import ways
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.serving import serving
from hostagent.facts.toolkit import Toolkit
from hostagent.profile import Profile

#: Ways that bring GPUs into containers without it.
_WITHOUT = {"mounts", "dra"}


def skip_unneeded(profile: Profile) -> None:
    """The checks of what is installed do not apply where a container brings the toolkit, or where no container runs."""
    if profile.toolkit.owner != "host":
        skip(f"the profile gives the toolkit to {'a container' if profile.toolkit.owner == 'container' else 'the provider'}")
    if profile.toolkit.required == "never":
        skip("the profile wants no toolkit")
    if profile.runtime.kind == "none" and profile.toolkit.required != "always":
        skip("the profile wants no container runtime, and so no toolkit")


def skip_unused(toolkit: Toolkit, runtimes: tuple[Runtime, ...], launchers: Launchers, cdi: Cdi, profile: Profile) -> None:
    """Nor do they where every runtime that serves jobs gives GPUs in another way, or jobs start their containers by Apptainer alone."""
    if profile.toolkit.required == "always":
        return
    chosen = serving(profile.runtime.kind, runtimes, launchers)
    found = [set(ways(one, cdi, launchers, toolkit)) for one in chosen.runtimes if need(one.state) == "accepted"]
    if found and len(found) == len(chosen.runtimes) and all(one and one <= _WITHOUT for one in found):
        skip(f"GPUs reach containers without the toolkit: {', '.join(sorted(set().union(*found)))}")
    if chosen.by == "none" and _has_apptainer_alone(set(need(launchers.programs))) and need(launchers.slurmd):
        skip("Slurm's jobs start containers by Apptainer, which needs no toolkit")


def _has_apptainer_alone(programs: set[str]) -> bool:
    return bool(programs & {"apptainer", "singularity"}) and not programs & {"enroot", "podman"}
