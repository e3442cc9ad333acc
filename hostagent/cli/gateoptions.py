"""Options of ``hostagent gate``: where the nodes are looked up, what the job needs, and what is printed."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from hostagent.cli.clusteroptions import CONTEXT, KUBECONFIG, PREFIX
from hostagent.cli.options import Seconds
from hostagent.gate.answer import BACKENDS, KINDS, PINS, Backend
from hostagent.gate.text import FIELDS, FORMATS

_MOST = 1_000_000
_COUNT = click.IntRange(min=1, max=_MOST)
Command = Callable[..., Any]
EMITTED = (*FIELDS, *KINDS)

_BACKEND = (
    click.option(
        "--backend",
        type=click.Choice(BACKENDS),
        help="Where nodes are read from. Default: reports with --reports, else kubernetes with a kubeconfig or in a pod, else slurm.",
    ),
    click.option(
        "--reports",
        type=click.Path(exists=True, file_okay=False),
        help="A directory of summaries or full reports: its *.json. With --backend slurm it adds what Slurm does not know.",
        metavar="DIR",
    ),
    KUBECONFIG,
    CONTEXT,
    PREFIX,
    click.option("--slurm-conf", default="", type=click.Path(), help="Slurm: default $SLURM_CONF, else Slurm's own.", metavar="FILE"),
    click.option(
        "--bin-dir", default="", type=click.Path(), help="Slurm: where scontrol is. Default: /usr/bin and others, then PATH.", metavar="DIR"
    ),
    click.option(
        "--all", "read_all", is_flag=True, help="Kubernetes: read all nodes of the cluster, also where the job can be placed before."
    ),
)
_JOB = (
    click.option("--nodes", required=True, type=_COUNT, help="How many nodes the job needs.", metavar="N"),
    click.option("--gpus-per-node", required=True, type=_COUNT, help="How many GPUs on each.", metavar="G"),
    click.option(
        "--product",
        help="The GPU's whole product name, such as NVIDIA-H100-80GB-HBM3; case does not count, - and _ count as blanks.",
        metavar="TEXT",
    ),
    click.option("--compute-capability", help="At least, such as 9.0.", metavar="V"),
    click.option(
        "--gpu-memory",
        "gpu_memory_gib",
        type=click.FloatRange(min=0, min_open=True),
        help="Memory of each GPU at least, in GiB as NVML reads it: a card sold as 24 GB has 22.",
        metavar="GIB",
    ),
    click.option("--driver", help="Version of the driver: V or >=V at least, ==V exactly.", metavar="V"),
    click.option("--cuda", help="CUDA version that the driver runs, in the same way.", metavar="V"),
    click.option("--toolkit", help="Version of the NVIDIA Container Toolkit, in the same way.", metavar="V"),
    click.option(
        "--requirements",
        type=click.Path(allow_dash=True),
        help="A model's skill_info.yaml, - for standard input: its minimums count too.",
        metavar="FILE",
    ),
    click.option(
        "--max-age",
        "max_age_s",
        type=Seconds(min=0, min_open=True),
        help="Greatest age of a report, on Kubernetes of a heartbeat. Default: a report counts until its valid_until, a heartbeat 900 s.",
        metavar="S",
    ),
    click.option("--exclude", multiple=True, help="Not these nodes; may be given several times.", metavar="NODE"),
    click.option("--only", multiple=True, help="Only these nodes; may be given several times.", metavar="NODE"),
    click.option("--require-coverage", type=click.Choice(["full"]), help="Refuse nodes whose report does not cover everything."),
    click.option("--allow-mig", is_flag=True, help="Take nodes with MIG on, too."),
    click.option("--host-nccl", is_flag=True, help="The job uses the host's NCCL: compare its version, plug-in and settings, too."),
    click.option("--same-domain", is_flag=True, help="All nodes in one NVLink domain."),
    click.option(
        "--may-differ",
        multiple=True,
        help="The nodes may differ in this input of the class, such as mtu. Name only inputs whose difference the job can bear.",
        metavar="INPUT",
    ),
    click.option(
        "--toleration",
        "tolerations",
        multiple=True,
        help="Kubernetes: a taint that the job tolerates; may be given several times.",
        metavar="KEY[=VALUE][:EFFECT]",
    ),
    click.option(
        "--node-selector",
        "node_selector",
        multiple=True,
        help="Kubernetes: a label that the job's nodes have; may be given several times.",
        metavar="KEY=VALUE",
    ),
    click.option("--ignore-running", is_flag=True, help="Kubernetes: count GPUs of running pods as free, without the right to list pods."),
    click.option("--partition", default="", help="Slurm: the job's partition.", metavar="NAME"),
    click.option("--reservation", default="", help="Slurm: the job's reservation.", metavar="NAME"),
)
_OUTPUT = (
    click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help="Output."),
    click.option("--json", "as_json", is_flag=True, help="Short for --format json."),
    click.option(
        "--emit",
        "emitted",
        type=click.Choice(EMITTED),
        help="Print what to submit, in this form; nothing where the job cannot be placed.",
    ),
    click.option(
        "--pin",
        type=click.Choice(PINS),
        help="What the affinity selects: the chosen nodes, or only the labels of their class. Default: nodes; class with --emit kueue, "
        "and with trainjob of Trainer 2.0.",
    ),
    click.option("--name", default="job", show_default=True, help="Name of the emitted job.", metavar="NAME"),
    click.option("--namespace", default="", help="Its namespace. Default: that of the kubeconfig's context or of this pod.", metavar="NS"),
    click.option(
        "--image", default="", help="Its image. Default: the word IMAGE, to be replaced; of a TrainJob its runtime's.", metavar="IMAGE"
    ),
    click.option("--queue", default="", help="Its queue, for --emit kueue (default: default) and volcano.", metavar="NAME"),
    click.option(
        "--runtime", default="torch-distributed", show_default=True, help="Its ClusterTrainingRuntime, for --emit trainjob.", metavar="NAME"
    ),
    click.option(
        "--trainer", default="", help="Version of Kubeflow Trainer, such as 2.2. Default: the one that the cluster serves.", metavar="V"
    ),
)
#: Options of some backends only.
_OF_BACKEND: Mapping[str, tuple[Backend, ...]] = {
    "kubeconfig": ("kubernetes",),
    "context": ("kubernetes",),
    "prefix": ("kubernetes", "reports"),
    "read_all": ("kubernetes",),
    "tolerations": ("kubernetes",),
    "node_selector": ("kubernetes",),
    "ignore_running": ("kubernetes",),
    "namespace": ("kubernetes", "reports"),
    "reports": ("reports", "slurm"),
    "slurm_conf": ("slurm",),
    "bin_dir": ("slurm",),
    "partition": ("slurm",),
    "reservation": ("slurm",),
}
#: Options of the emitted document, and the kinds that take them.
_JOBS = ("indexed-job", "trainjob", "kueue", "volcano")
_OF_KIND: Mapping[str, tuple[str, ...]] = {
    "name": (*_JOBS, "sbatch"),
    "namespace": _JOBS,
    "image": _JOBS,
    "queue": ("kueue", "volcano"),
    "runtime": ("trainjob",),
    "trainer": ("trainjob",),
    "job_command": (*_JOBS, "sbatch"),
}
_WAYS = (
    "found no --backend, no kubeconfig, no account of a pod and no scontrol, wanted --reports DIR with summaries of the nodes, "
    "--kubeconfig FILE for Kubernetes, or scontrol on PATH for Slurm"
)


_HEADINGS = (("The job", _JOB), ("Nodes", _BACKEND), ("Output", _OUTPUT))


def gate_options(command: Command) -> Command:
    """All of them, in the order of --help."""
    for option in reversed([option for _, options in _HEADINGS for option in options]):
        command = option(command)
    return command


class GateCommand(click.Command):
    """Its --help has headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = [(one, one.get_help_record(ctx)) for one in self.get_params(ctx)]
        shown = [record for one, record in records if record is not None and isinstance(one, click.Option)]
        for heading, options in _HEADINGS:
            group, shown = shown[: len(options)], shown[len(options) :]
            if heading == _HEADINGS[-1][0]:
                group, shown = [*group, *shown], []
            with formatter.section(heading):
                formatter.write_dl(group)


def check_texts() -> None:
    """An empty text is of a variable that is not set. Raises ``click.UsageError``."""
    current = click.get_current_context()
    for name, value in current.params.items():
        is_given = current.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name != "job_command" and is_given and (value == "" or (isinstance(value, tuple) and "" in value)):
            raise click.UsageError(f"found {_spelled(current, name)} '', wanted a value")


def backend_of(given: Backend | None, reports: str | None, kubeconfig: str, context: str, bin_dir: str) -> Backend:
    """The named backend, or the one that this machine has. Raises ``click.UsageError`` for none, and for options of another one."""
    found = given or _default_backend(reports, kubeconfig, context, bin_dir)
    current = click.get_current_context()
    for name, backends in _OF_BACKEND.items():
        if found not in backends and _is_set(current, name):
            wanted = " or ".join(f"--backend {one}" for one in backends)
            raise click.UsageError(f"found {_spelled(current, name)} with the backend {found}, wanted {wanted}")
    if found == "reports" and reports is None:
        raise click.UsageError("found --backend reports without --reports, wanted --reports DIR")
    return found


def _default_backend(reports: str | None, kubeconfig: str, context: str, bin_dir: str) -> Backend:
    from hostagent.kube.access import is_at_hand
    from hostagent.slurm.client import SlurmError, program

    if reports is not None:
        return "reports"
    if kubeconfig or context or is_at_hand(os.environ):
        return "kubernetes"
    try:
        program(bin_dir)
    except SlurmError:
        raise click.UsageError(_WAYS) from None
    return "slurm"


def check_kind(emitted: str | None, backend: Backend) -> None:
    """Raises ``click.UsageError`` for a kind of another scheduler, and for options that the kind has not."""
    current = click.get_current_context()
    if emitted == "sbatch" and backend == "kubernetes":
        raise click.UsageError(
            "found --emit sbatch with the backend kubernetes, wanted a document of Kubernetes, such as --emit indexed-job"
        )
    if backend == "slurm" and emitted in (*_JOBS, "selector", "affinity"):
        raise click.UsageError(f"found --emit {emitted} with the backend slurm, wanted --emit sbatch or env")
    for name, kinds in _OF_KIND.items():
        if emitted not in kinds and _is_set(current, name):
            wanted = " or ".join(f"--emit {one}" for one in kinds)
            raise click.UsageError(f"found {_spelled(current, name)} without {wanted}")


def _is_set(current: click.Context, name: str) -> bool:
    return current.get_parameter_source(name) is ParameterSource.COMMANDLINE and current.params.get(name) not in (None, ())


def _spelled(current: click.Context, name: str) -> str:
    """As the command line has it."""
    if name == "job_command":
        return f"the words {' '.join(current.params[name])!r:.60}"
    return next(one.opts[0] for one in current.command.params if one.name == name)
