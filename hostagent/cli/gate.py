"""``hostagent gate``."""

import math
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from hostagent.cli import SETTINGS, examples
from hostagent.cli.gateoptions import GateCommand, backend_of, check_kind, check_texts, gate_options
from hostagent.cli.options import STANDARD, color_option, colour_wanted, terminal_width, warn
from hostagent.cli.outputs import deliver_all, one_form, output_option, outputs
from hostagent.cli.streams import complain
from hostagent.core.errors import HostagentError
from hostagent.gate.answer import KINDS, Answer, Backend, Kind, Pin
from hostagent.gate.emit.options import INTERFACE
from hostagent.gate.emit.trainer import WITHOUT_AFFINITY
from hostagent.gate.request import FieldError, Request
from hostagent.gate.text import FIELDS, FORMATS, Format, render_answer, render_field
from hostagent.gate.versions import parse_version
from hostagent.gate.wording import names_of

if TYPE_CHECKING:
    from hostagent.gate.emit import Options
    from hostagent.kube.api import Api

_EXAMPLES = examples(
    "hostagent gate --nodes 4 --gpus-per-node 8",
    "hostagent gate --nodes 4 --gpus-per-node 8 --emit indexed-job --image IMAGE -- torchrun train.py",
    "hostagent gate --backend slurm --nodes 2 --gpus-per-node 8 --emit sbatch -- python train.py",
    "hostagent gate --nodes 1 --gpus-per-node 4 --reports fleet/ --gpu-memory 79 --driver 580",
    "hostagent gate --nodes 2 --gpus-per-node 8 --reports fleet/ --may-differ mtu --json",
)
_MINIMUMS = ("min_driver_version", "min_cuda_version", "min_container_toolkit_version")
#: Fields of a request that no label of a node carries.
_UNLABELLED = ("exclude", "only", "host_nccl", "same_domain", "require_coverage", "max_age_s", "driver", "cuda", "toolkit", *_MINIMUMS)
#: Fields of a request whose option has another name, and those that a requirements file sets.
_OPTIONS = {
    "gpu_memory_gib": "--gpu-memory",
    "max_age_s": "--max-age",
    "tolerations": "--toleration",
    **{name: f"--requirements {name}" for name in _MINIMUMS},
}


@click.command("gate", cls=GateCommand, context_settings=SETTINGS, epilog=_EXAMPLES)
@gate_options
@output_option()
@color_option
@click.argument("job_command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def command(**given: Any) -> int:
    """Decide whether a job may be placed, on which nodes, with which selector, affinity and NCCL environment; and if not, why.

    The nodes come from the Kubernetes or Slurm cluster that this machine talks to, or from a directory of summaries. All nodes of a job
    have one fabric class. A value that could not be read refuses the node. COMMAND is the command of the emitted job. Exit 0: it may be
    placed. 1: it may not, and the answer has the reasons. 2: usage, the cluster could not be read, or hostagent could not run.
    """
    check_texts()
    backend = backend_of(given["backend"], given["reports"], given["kubeconfig"], given["context"], given["bin_dir"])
    form, emitted = given["form"], given["emitted"]
    named: dict[str, Format] = {**({f"--format {form}": form} if form else {}), **({"--json": "json"} if given["as_json"] else {})}
    kind = one_form(named, "text")
    if emitted and named:
        raise click.UsageError(f"found --emit and {next(iter(named))}, wanted one of them")
    if not given["output"] and click.get_current_context().get_parameter_source("output") is ParameterSource.COMMANDLINE:
        raise click.UsageError("found --output '', wanted a file")
    check_kind(emitted, backend)
    request = _request(given)
    if emitted == "trainjob" and backend == "kubernetes":
        from hostagent.gate.backends.served import trainer_version

        given["trainer"] = trainer_version(_apis(given)(), given["trainer"])
    pin = _pin(given, request)
    if emitted in KINDS:
        from hostagent.gate.emit import check

        check(emitted, request, _options(given))
    answer = _answer(request, backend, pin, given)
    if emitted:
        _emit(answer, emitted, given)
    else:

        def rendered(one: Format, path: str) -> str:
            return render_answer(answer, one, colour=colour_wanted(path, given["colour"]), width=terminal_width())

        deliver_all(outputs(kind, given["output"], (), FORMATS), rendered, math.inf)
    return 0 if answer.placeable else 1


def _request(given: dict[str, Any]) -> Request:
    """Raises ``click.UsageError`` for a request that no job can have."""
    fields = Request.__dataclass_fields__
    wanted = {name: value for name, value in given.items() if name in fields}
    minimums = zip(_MINIMUMS, _minimums(given["requirements"]), strict=True)
    try:
        return Request(**{name: value for name, value in (*wanted.items(), *minimums) if value is not None})
    except FieldError as error:
        raise click.UsageError(f"found {_option(error.field)} {error.found}, wanted {error.wanted}") from error


def _option(field: str) -> str:
    """As the command line spells a field of the request."""
    return _OPTIONS.get(field, f"--{field.replace('_', '-')}")


def _pin(given: dict[str, Any], request: Request) -> Pin:
    """Raises ``click.UsageError`` where labels alone would let the job onto nodes that the request refuses."""
    emitted = given["emitted"]
    if emitted == "selector" and request.host_nccl:
        raise click.UsageError(
            "found --emit selector and --host-nccl, wanted --emit affinity: no label carries the class of the host's NCCL"
        )
    if emitted == "kueue" and given["pin"] == "nodes":
        raise click.UsageError("found --pin nodes and --emit kueue, wanted --pin class: Kueue chooses the nodes")
    by_labels = emitted in ("selector", "kueue") or (emitted == "trainjob" and given["trainer"] in WITHOUT_AFFINITY)
    pin: Pin = given["pin"] or ("class" if by_labels else "nodes")
    if pin == "class":
        if emitted == "sbatch":
            raise click.UsageError("found --pin class and --emit sbatch, wanted --pin nodes: Slurm has no labels of nodes")
        if emitted != "selector" and (odd := _unlabelled(request)):  # of a selector _emit warns: some clients take nothing else
            kind, other = ("--pin class", "--pin nodes") if given["pin"] else (f"--emit {emitted}", "--emit indexed-job")
            raise click.UsageError(f"found {odd} and {kind}, wanted {other}: no label of a node carries it")
    return pin


def _unlabelled(request: Request) -> str:
    """An option that no label of a node carries; "" where there is none."""
    return next((_option(name) for name in _UNLABELLED if getattr(request, name)), "")


def _minimums(path: str | None) -> tuple[str, str, str]:
    """Of a model's file."""
    if path is None:
        return "", "", ""
    if not path:
        raise click.UsageError("found --requirements '', wanted a file")
    from hostagent.core.escape import visible
    from hostagent.core.smallfile import read_small, read_standard_input, reason
    from hostagent.setup.request import RequestError
    from hostagent.setup.requirements import LIMIT, parse_requirements

    name = "standard input" if path == STANDARD else visible(path)
    try:
        found = parse_requirements(read_standard_input(LIMIT) if path == STANDARD else read_small(path, LIMIT), name)
    except OSError as error:
        raise click.UsageError(f"cannot read {name}: {reason(error)}") from error
    except RequestError as error:
        raise click.UsageError(visible(error.message)) from error
    for key, value in zip(_MINIMUMS, found, strict=True):
        if value and parse_version(value) is None:
            raise click.UsageError(f"found {key} {visible(value):.60} in {name}, wanted a version such as 580")
    return found


def _answer(request: Request, backend: Backend, pin: Pin, given: dict[str, Any]) -> Answer:
    if backend == "reports":
        return _by_files(request, pin, given)
    from hostagent.gate.search import SearchOptions, search

    asked = SearchOptions(backend, pin, given["prefix"], given["read_all"])
    if backend == "kubernetes":
        from hostagent.gate.backends.kubernetes import Kubernetes

        with closing(Kubernetes(_apis(given), request, given["prefix"], given["read_all"])) as kubernetes:
            return search(request, kubernetes, asked)
    from hostagent.gate.backends.slurm import Slurm
    from hostagent.slurm.client import Client

    try:
        summaries, warnings = _summaries(given["reports"]) if given["reports"] else (None, [])
        cluster = Slurm(Client(given["bin_dir"], given["slurm_conf"]), request, summaries)
        cluster.warnings += warnings
        return search(request, cluster, asked)
    except HostagentError as error:
        if given["backend"]:
            raise
        guessed = "Slurm was asked because this machine has scontrol and no kubeconfig: --kubeconfig and --reports name something else"
        raise HostagentError(error.message, error.next_step, (*error.details, guessed)) from error


def _by_files(request: Request, pin: Pin, given: dict[str, Any]) -> Answer:
    """One summary after the other: of each only its candidate is kept."""
    from hostagent.gate.backends.files import Documents
    from hostagent.gate.candidate import parse_candidate
    from hostagent.gate.placing import Placing, Terms

    documents = Documents([given["reports"]])
    placing = Placing(request, time.time())
    placing.add(parse_candidate(summary, name) for name, summary in documents)
    answer = placing.answer(placing.choice(), Terms("reports", pin, given["prefix"]))
    return replace(answer, warnings=(*answer.warnings, *documents.warnings))


def _summaries(folder: str) -> tuple[dict[str, Any], list[str]]:
    """By node the latest, and warnings."""
    from hostagent.gate.backends.files import Documents
    from hostagent.gate.candidate import parse_candidate, rank

    found, ranks, documents = dict[str, Any](), dict[str, tuple[float, int, int]](), Documents([folder])
    for name, summary in documents:
        one = parse_candidate(summary, name)
        own = rank(one.observed_at, one.single_node, one.multi_node)
        if one.node not in ranks or own > ranks[one.node]:
            found[one.node], ranks[one.node] = summary, own
    return found, documents.warnings


def _apis(given: dict[str, Any]) -> "Callable[[], Api]":
    """Each call makes a client for one thread."""
    from hostagent import __version__
    from hostagent.cli.clusteroptions import access
    from hostagent.gate.backends.kubernetes import TIMEOUT_S
    from hostagent.kube.api import Api

    found = access(given["kubeconfig"], given["context"])
    return lambda: Api(found, f"hostagent/{__version__}", timeout_s=TIMEOUT_S)


def _emit(answer: Answer, emitted: str, given: dict[str, Any]) -> None:
    """Prints nothing where no job may be placed: pasted without a selector, the job would run anywhere."""
    if not answer.placeable:
        for line in render_answer(answer, "text", width=terminal_width()).splitlines():
            complain(line)
        return
    own = names_of(list(answer.env_by_node)) if emitted not in ("selector", "affinity") else ""
    notes = [f"{own}: these nodes need settings of their own, which --format json has"] if own else []
    if emitted == "selector" and (odd := _unlabelled(answer.request)):
        notes.append(f"no label of a node carries {odd}: by the selector alone the job may get a node that the request refuses")
    if emitted == "env" and answer.backend == "kubernetes" and INTERFACE in answer.env:
        notes.append(f"{INTERFACE} is of the nodes: leave it out of pods without hostNetwork")
    text = render_field(answer, emitted) if emitted in FIELDS else _document(answer, cast("Kind", emitted), given)
    warn([*answer.warnings, *notes])
    deliver_all(outputs("json", given["output"], (), FORMATS), lambda _, __: text, math.inf)


def _document(answer: Answer, kind: Kind, given: dict[str, Any]) -> str:
    from hostagent.gate.emit import emit

    return emit(kind, answer, replace(_options(given), namespace=_namespace(answer, given)))


def _options(given: dict[str, Any]) -> "Options":
    from hostagent.gate.emit import Options

    return Options(
        name=given["name"],
        namespace=given["namespace"],
        image=given["image"],
        command=given["job_command"],
        queue=given["queue"],
        runtime=given["runtime"],
        trainer=given["trainer"],
    )


def _namespace(answer: Answer, given: dict[str, Any]) -> str:
    if given["namespace"] or answer.backend != "kubernetes":
        return str(given["namespace"])
    from hostagent.kube.access import namespace_of

    return namespace_of(given["kubeconfig"], given["context"])
