"""Decides whether jobs on this host get GPUs without the toolkit."""

from hostagent.core.unread import need
from hostagent.domains.runtime.access import ways
from hostagent.domains.runtime.serving import is_in_force, serving
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.toolkit import Toolkit

#: Access paths that do not need the toolkit.
_TOOLKIT_FREE = {"mounts", "dra"}


def reason_not_needed(kind: str, runtimes: tuple[Runtime, ...], launchers: Launchers, cdi: Cdi, toolkit: Toolkit) -> str:
    """Why the toolkit is not needed, "" if it is: all serving runtimes give GPUs in another way, or jobs use only Apptainer.

    `kind` is the profile's runtime kind. Raises ``UnreadError``.
    """
    chosen = serving(kind, runtimes, launchers)
    found = [set(ways(one, cdi, launchers, toolkit)) for one in chosen.runtimes if is_in_force(one)]
    if found and len(found) == len(chosen.runtimes) and all(one and one <= _TOOLKIT_FREE for one in found):
        return f"GPUs reach containers without the toolkit: {', '.join(sorted(set().union(*found)))}"
    if chosen.by == "none" and _has_apptainer_alone(set(need(launchers.programs))) and need(launchers.slurmd):
        return "Slurm's jobs start containers by Apptainer, which needs no toolkit"
    return ""


def _has_apptainer_alone(programs: set[str]) -> bool:
    return bool(programs & {"apptainer", "singularity"}) and not programs & {"enroot", "podman"}
