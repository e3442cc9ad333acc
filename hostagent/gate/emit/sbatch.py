"""A batch script of Slurm: directives, NCCL's environment, and the command where there is one."""

import re
import shlex

from hostagent.gate.answer import Answer
from hostagent.gate.emit.options import EmitError, Options, notes
from hostagent.gate.request import Request
from hostagent.gate.wording import shown

#: Names that a directive carries as they are: Slurm reads blanks, quotes, brackets and "#" in another way.
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.:+@/-]*")


def check(request: Request, options: Options) -> None:
    """Raises ``EmitError`` for names that a directive cannot carry."""
    for what, name in (("name", options.name), ("partition", request.partition), ("reservation", request.reservation)):
        if name:
            _name(what, name)


def script(answer: Answer, options: Options) -> str:
    """Raises ``EmitError`` for names of nodes that a directive cannot carry, and where no nodes are named."""
    request = answer.request
    if answer.backend == "kubernetes":
        raise EmitError("found nodes of a Kubernetes cluster, wanted nodes of Slurm", "Take --emit indexed-job")
    if answer.pin == "class":
        raise EmitError("found --pin class, wanted --pin nodes: a batch script names its nodes", "")
    directives = {
        "job-name": "" if options.name == Options.name else options.name,
        "nodes": str(request.nodes),
        "ntasks-per-node": "1",
        "gres": f"gpu:{request.gpus_per_node}",
        "nodelist": ",".join(_name("node", one) for one in answer.nodes),
        "partition": request.partition,
        "reservation": request.reservation,
    }
    lines = ["#!/bin/bash", *notes(answer), *(f"#SBATCH --{name}={value}" for name, value in directives.items() if value)]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in answer.env.items()]
    lines.append(f"srun {shlex.join(options.command)}" if options.command else "# Put the job's command here.")
    return "\n".join([*lines, ""])


def _name(what: str, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise EmitError(f"found the {what} {shown(name)!r}, wanted a name that a line of #SBATCH can carry", "")
    return name
