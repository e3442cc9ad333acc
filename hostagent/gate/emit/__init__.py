"""Emits job documents for an answer: of Kubernetes, Trainer, Kueue and Volcano, and a batch script of Slurm."""

from hostagent.gate.answer import Answer, Kind
from hostagent.gate.emit.options import EmitError, Options
from hostagent.gate.request import Request

__all__ = ["EmitError", "Options", "check", "emit"]


def check(kind: Kind, request: Request, options: Options) -> None:
    """Checks names and versions, which need no answer. Raises ``EmitError``."""
    from hostagent.gate.emit import sbatch, trainjob
    from hostagent.gate.emit.options import check_names

    if kind == "sbatch":
        sbatch.check(request, options)
    else:
        check_names(kind, request.nodes, options)
    if kind == "trainjob":
        trainjob.check(options)


def emit(kind: Kind, answer: Answer, options: Options) -> str:
    """One document for an answer that places the job. Raises ``EmitError`` for what the kind, or the version of it, cannot carry."""
    from hostagent.gate.emit import jobs, sbatch, trainjob

    if not answer.placeable:
        raise EmitError("found a job that cannot be placed, wanted nodes for it", "The answer has the reasons")
    check(kind, answer.request, options)
    if kind == "sbatch":
        return sbatch.script(answer, options)
    if answer.backend == "slurm":
        raise EmitError("found nodes of Slurm, wanted nodes of a Kubernetes cluster", "Take --emit sbatch")
    if kind == "indexed-job":
        return jobs.indexed_job(answer, options)
    if kind == "kueue":
        return jobs.kueue(answer, options)
    if kind == "volcano":
        return jobs.volcano(answer, options)
    return trainjob.train_job(answer, options)
