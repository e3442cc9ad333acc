"""gres.conf does not offer the GPUs that this node has: slurmd does not start, jobs get a GPU that is not there, or GPUs stay idle.

slurmd ends where a file of gres.conf is not there (it waits 20 s for it), and where a line has another Count than files. With more files
than GPUs a job gets a GPU that it cannot use; with fewer, Slurm drains the node ("gres/gpu count reported lower than configured") or leaves
GPUs without jobs. Lines of other nodes and of other resources do not count, and neither do GPUs that jobs cannot have: those of virtual
machines, those that the driver excludes, a card for the screen. With AutoDetect slurmd looks for GPUs itself, and only what the lines say
as well is compared; where it looks for another vendor's devices (`rsmi`, `oneapi`, `nrt`), only lines with NVIDIA's files are. A Type is
a label that a site chooses; it is wrong where it names another model. Of GPUs in slices (MIG) only the files are looked for.
"""

import re
from collections.abc import Iterator

from hostagent.check import NOT_APPLICABLE, Finding, Findings, Step, Unread, check, counted, fail, first_of, need, skip
from hostagent.core.tables.pci import is_for_jobs
from hostagent.domains.gpu.tables.models import may_be, models_in
from hostagent.facts.gpu import Gpu
from hostagent.facts.slurm import Gres, SlurmNode

_OFF = ("", "off")
#: Words of AutoDetect that look for GPUs of AMD and Intel, and for chips of AWS.
_OTHERS = ("rsmi", "oneapi", "nrt")
_DEVICE = re.compile(r"/dev/nvidia([0-9]{1,6})")
_LINES = Step("configure", "Correct gres.conf, on the controller of a configless node: let it name the GPUs here.")
_RESTART = Step("restart_service", "Restart slurmd, which reads gres.conf at its start.", "systemctl restart slurmd")
_TYPE = Step("configure", "Correct Type in gres.conf, and Gres in slurm.conf, on the controller too.")


@check(
    title="gres.conf offers the GPUs that are here",
    severity="warning",
    since="0.1",
    because=("gpu.present", "driver.loaded", "driver.device_nodes"),
    headline="gres.conf does not offer the GPUs that this node has",
    remedy=(_LINES, _RESTART),
    references=("Slurm, gres.conf(5)",),
    confirm=("cat /etc/slurm/gres.conf /run/slurm/conf/gres.conf", "nvidia-smi -L", "slurmd -G"),
)
def gres(gpus: tuple[Gpu, ...], slurm: SlurmNode) -> Findings:
    lines = tuple(one for one in need(slurm.gres) if one.name == "gpu")
    if not lines:
        skip("gres.conf has no line of GPUs for this node")
    if slurm.only_controls is True:
        skip("slurm.conf calls this host a controller, and has no node of its name")
    faults = [*_fatal(lines, need(slurm.missing_files))]
    yield from faults
    if any(one.in_parts for one in lines):
        return
    ours = tuple(gpu for gpu in gpus if _for_jobs(gpu))
    if any(_in_slices(gpu) for gpu in ours):
        return
    if need(slurm.autodetect) in _OTHERS:
        lines = tuple(one for one in lines if _minors((one,)))
        if not (lines or faults):
            skip(f"AutoDetect={need(slurm.autodetect)} looks for devices of another vendor")
    if lines:
        yield from _of_another_type(lines, ours)
        yield from _counts(lines, ours, is_found=need(slurm.autodetect) not in _OFF)


def _fatal(lines: tuple[Gres, ...], missing: tuple[str, ...]) -> Iterator[Finding]:
    """What slurmd ends of."""
    if missing:
        yield fail(
            f"gres.conf names {first_of(missing)}, which is no device here: slurmd waits for it, and ends",
            code="no-file",
            found=first_of(missing),
            wanted="a device",
            headline=f"gres.conf names {missing[0]}, which is not there",
        )
    if any(one.in_parts for one in lines):
        return
    for line in lines:
        if line.files and line.count not in (0, len(line.files)):
            yield fail(
                f"a line of gres.conf has Count={line.count} and {counted(len(line.files), 'file')}: slurmd ends at its start",
                code="bad-count",
                found=line.count,
                wanted=len(line.files),
                headline="A line of gres.conf has another Count than files",
            )


def _counts(lines: tuple[Gres, ...], gpus: tuple[Gpu, ...], *, is_found: bool) -> Iterator[Finding]:
    """`is_found`: slurmd looks for GPUs itself, so that a line need not name them."""
    named = sum(len(one.files) or one.count or (0 if is_found else 1) for one in lines)
    if named > len(gpus):
        yield fail(
            f"gres.conf offers {counted(named, 'GPU')}, jobs can have {len(gpus)} here",
            code="too-many",
            found=named,
            wanted=len(gpus),
            headline=f"gres.conf offers {counted(named, 'GPU')}, this node has {len(gpus)}",
        )
    elif named < len(gpus) and not is_found:
        yield fail(
            f"gres.conf offers {counted(named, 'GPU')}, jobs could have {len(gpus)} here",
            code="too-few",
            found=named,
            wanted=len(gpus),
            headline=f"gres.conf offers {named} of {len(gpus)} GPUs",
        )
    elif named == len(gpus) and (strange := _of_no_gpu(lines, gpus)):
        yield fail(
            f"gres.conf names {first_of(strange)}, which is no GPU that jobs can have",
            code="other-file",
            found=first_of(strange),
            wanted=first_of(tuple(f"/dev/nvidia{need(gpu.minor)}" for gpu in gpus)),
        )


def _of_no_gpu(lines: tuple[Gres, ...], gpus: tuple[Gpu, ...]) -> tuple[str, ...]:
    minors = _minors(lines)
    if not minors:
        return ()
    known = {need(gpu.minor) for gpu in gpus}
    return tuple(f"/dev/nvidia{minor}" for minor in sorted(minors - known))


def _minors(lines: tuple[Gres, ...]) -> set[int]:
    return {int(found[1]) for one in lines for path in one.files if (found := _DEVICE.fullmatch(path))}


def _of_another_type(lines: tuple[Gres, ...], gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    """A line is compared with its own GPUs where the host has several products."""
    naming = tuple(one for one in lines if models_in(one.type))
    names = {gpu.pci: need(gpu.name) for gpu in gpus} if naming else {}
    for line in naming:
        own = _minors((line,)) if len(set(names.values())) > 1 else set()
        found = sorted({names[gpu.pci] for gpu in gpus if not own or need(gpu.minor) in own})
        if found and not any(may_be(line.type, name) for name in found):
            yield fail(
                f"gres.conf calls {first_of(found)} {line.type}",
                code="other-type",
                found=line.type,
                wanted=first_of(found),
                remedy=(_TYPE, _RESTART),
                headline=f"gres.conf calls the GPUs {line.type}, they are {first_of(found)}",
            )


def _in_slices(gpu: Gpu) -> bool:
    return not _is_none(gpu.mig) and need(gpu.mig).current


def _for_jobs(gpu: Gpu) -> bool:
    bound_to = "" if _is_none(gpu.bound_to) else need(gpu.bound_to)
    return is_for_jobs(bound_to, vga=not _is_none(gpu.vga) and need(gpu.vga), excluded=not _is_none(gpu.excluded) and need(gpu.excluded))


def _is_none(value: object) -> bool:
    """It does not exist here."""
    return isinstance(value, Unread) and value.why in NOT_APPLICABLE
