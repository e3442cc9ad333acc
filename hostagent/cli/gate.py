"""``hostagent gate``."""

import math
import time
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import STANDARD, Seconds, color_option, colour_wanted, terminal_width, warn
from hostagent.cli.outputs import deliver_all, one_form, output_option, outputs
from hostagent.cli.streams import complain
from hostagent.gate.answer import BACKENDS, Answer, Backend
from hostagent.gate.request import FieldError, Request
from hostagent.gate.versions import parse_version
from hostagent.gate.wording import names_of
from hostagent.sinks.gate import EMITTED, FORMATS, Emitted, Format, render_answer, render_emitted

_MOST = 1_000_000
_EXAMPLES = examples(
    "hostagent gate --nodes 4 --gpus-per-node 8 --reports fleet/",
    "hostagent gate --nodes 1 --gpus-per-node 4 --reports fleet/ --gpu-memory 79 --driver 580",
    "hostagent gate --nodes 2 --gpus-per-node 8 --reports fleet/ --may-differ mtu --json",
    "hostagent gate --nodes 2 --gpus-per-node 8 --reports fleet/ --emit affinity",
)
_COUNT = click.IntRange(min=1, max=_MOST)
_MINIMUMS = ("min_driver_version", "min_cuda_version", "min_container_toolkit_version")
#: Fields of a request whose option has another name, and those that a requirements file sets.
_OPTIONS = {
    "gpu_memory_gib": "--gpu-memory",
    "max_age_s": "--max-age",
    **{name: f"--requirements {name}" for name in _MINIMUMS},
}


@click.command("gate", context_settings=SETTINGS, epilog=_EXAMPLES)
@click.option("--nodes", required=True, type=_COUNT, help="How many nodes the job needs.", metavar="N")
@click.option("--gpus-per-node", required=True, type=_COUNT, help="How many GPUs on each.", metavar="G")
@click.option("--backend", type=click.Choice(BACKENDS), default="reports", show_default=True, help="Where the nodes are looked up.")
@click.option(
    "--reports",
    required=True,
    type=click.Path(exists=True, file_okay=False),
    help="A directory of summaries or full reports: its *.json.",
    metavar="DIR",
)
@click.option(
    "--product",
    help="The GPU's whole product name, such as NVIDIA-H100-80GB-HBM3; case does not count, - and _ count as blanks.",
    metavar="TEXT",
)
@click.option("--compute-capability", help="At least, such as 9.0.", metavar="V")
@click.option(
    "--gpu-memory",
    "gpu_memory_gib",
    type=click.FloatRange(min=0, min_open=True),
    help="Memory of each GPU at least, in GiB as NVML reads it: a card sold as 24 GB has 22.",
    metavar="GIB",
)
@click.option("--driver", help="Version of the driver: V or >=V at least, ==V exactly.", metavar="V")
@click.option("--cuda", help="CUDA version that the driver runs, in the same way.", metavar="V")
@click.option("--toolkit", help="Version of the NVIDIA Container Toolkit, in the same way.", metavar="V")
@click.option(
    "--requirements",
    type=click.Path(allow_dash=True),
    help="A model's skill_info.yaml, - for standard input: its minimums count too.",
    metavar="FILE",
)
@click.option(
    "--max-age",
    "max_age_s",
    type=Seconds(min=0, min_open=True),
    help="Greatest age of a report. Default: a report counts until its valid_until.",
    metavar="S",
)
@click.option("--exclude", multiple=True, help="Not this node; may be given several times.", metavar="NODE")
@click.option("--only", multiple=True, help="Only this node; may be given several times.", metavar="NODE")
@click.option("--require-coverage", type=click.Choice(["full"]), help="Refuse nodes whose report does not cover everything.")
@click.option("--allow-mig", is_flag=True, help="Take nodes with MIG on, too.")
@click.option("--host-nccl", is_flag=True, help="The job uses the host's NCCL: compare its version, plug-in and settings, too.")
@click.option("--same-domain", is_flag=True, help="All nodes in one NVLink domain.")
@click.option(
    "--may-differ",
    multiple=True,
    help="The nodes may differ in this input of the class, such as mtu. Name only inputs whose difference the job can bear.",
    metavar="INPUT",
)
@click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--emit", "emitted", type=click.Choice(EMITTED), help="Print that field of the answer alone, as JSON.")
@output_option()
@color_option
def command(
    backend: Backend,
    reports: str,
    requirements: str | None,
    form: Format | None,
    as_json: bool,
    emitted: Emitted | None,
    output: str,
    colour: str,
    **wanted: Any,
) -> int:
    """Say whether a job may be placed, on which nodes, with which selector, affinity and NCCL environment; and if not, why.

    Nodes of one job are of one fabric class. What could not be read refuses a node. Exit 0: it may be placed. 1: it may not, and the
    answer says why. 2: usage, or hostagent could not run.
    """
    named: dict[str, Format] = {**({f"--format {form}": form} if form else {}), **({"--json": "json"} if as_json else {})}
    kind = one_form(named, "text")
    if emitted and named:
        raise click.UsageError(f"found --emit and {next(iter(named))}, wanted one of them")
    if not output and click.get_current_context().get_parameter_source("output") is ParameterSource.COMMANDLINE:
        raise click.UsageError("found --output '', wanted a file")
    if emitted == "selector" and wanted["host_nccl"]:
        raise click.UsageError(
            "found --emit selector and --host-nccl, wanted --emit affinity: no label carries the class of the host's NCCL"
        )
    request = _request(requirements, wanted)
    answer = _answer(request, backend, reports)
    if emitted:
        _emit(answer, emitted, output)
    else:

        def rendered(one: Format, path: str) -> str:
            return render_answer(answer, one, colour=colour_wanted(path, colour), width=terminal_width())

        deliver_all(outputs(kind, output, (), FORMATS), rendered, math.inf)
    return 0 if answer.placeable else 1


def _request(requirements: str | None, wanted: dict[str, Any]) -> Request:
    """Raises ``click.UsageError`` for what no job can need; an empty text is of a variable that is not set."""
    for name, value in wanted.items():
        if value == "" or (isinstance(value, tuple) and "" in value):
            raise click.UsageError(f"found {_option(name)} '', wanted a value")
    minimums = zip(_MINIMUMS, _minimums(requirements), strict=True)
    try:
        return Request(**{name: value for name, value in (*wanted.items(), *minimums) if value is not None})
    except FieldError as error:
        raise click.UsageError(f"found {_option(error.field)} {error.found}, wanted {error.wanted}") from error


def _option(field: str) -> str:
    """As the command line spells a field of the request."""
    return _OPTIONS.get(field, f"--{field.replace('_', '-')}")


def _minimums(path: str | None) -> tuple[str, str, str]:
    """Of a model's file."""
    if path is None:
        return "", "", ""
    if not path:
        raise click.UsageError("found --requirements '', wanted a file")
    from hostagent.setup.request import RequestError
    from hostagent.setup.requirements import LIMIT, parse_requirements
    from hostagent.smallfile import read_small, read_standard_input, reason
    from hostagent.visible import visible

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


def _answer(request: Request, backend: Backend, folder: str) -> Answer:
    """One summary after the other: of each only its candidate is kept."""
    from hostagent.gate.backends.files import Documents
    from hostagent.gate.candidate import parse_candidate
    from hostagent.gate.placing import place

    documents = Documents([folder])
    answer = place(request, (parse_candidate(summary, name) for name, summary in documents), time.time(), backend)
    return replace(answer, warnings=(*answer.warnings, *documents.warnings))


def _emit(answer: Answer, emitted: Emitted, output: str) -> None:
    """Nothing on standard output where there is nothing to place: what is pasted there would place the job anywhere."""
    if not answer.placeable:
        for line in render_answer(answer, "text", width=terminal_width()).splitlines():
            complain(line)
        return
    own = names_of(list(answer.env_by_node)) if emitted == "env" else ""
    warn([*answer.warnings, *([f"{own}: these nodes need settings of their own, which --format json has"] if own else [])])
    deliver_all(outputs("json", output, (), FORMATS), lambda _, __: render_emitted(answer, emitted), math.inf)
