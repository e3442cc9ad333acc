"""``hostagent nccl env``."""

import json
import math
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import (
    STANDARD,
    env_file_option,
    evidence,
    evidence_options,
    is_profile_of_the_variable,
    one_standard_input,
    prepared_for,
    profile_option,
    with_environment,
)
from hostagent.cli.outputs import deliver_all, one_form, output_option, outputs
from hostagent.cli.streams import complain
from hostagent.core.errors import HostagentError, did_you_mean
from hostagent.core.escape import visible
from hostagent.domains.nccl.quoting import FORMS, Form
from hostagent.engine.target import Evidence, open_host
from hostagent.outputs.job_environment import apart_of, fitted, render_environment

if TYPE_CHECKING:
    from hostagent.domains.nccl.environment import Environment
    from hostagent.domains.nccl.node import Node
    from hostagent.domains.nccl.summaries import Source
    from hostagent.domains.nccl.tables.changes import Version

_VERSION = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}")
_EXAMPLES = examples(
    "hostagent nccl env --from host.json",
    "hostagent nccl env --reports reports/ --nccl 2.27.3 --format yaml",
    "hostagent nccl env --reports reports/ --format conf --node node7",
)


@click.command("env", context_settings=SETTINGS, epilog=_EXAMPLES)
@click.argument("more", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILE]...")
@click.option(
    "--reports",
    multiple=True,
    type=click.Path(allow_dash=True),
    help="Reports or summaries of a set of hosts: files, a directory of them, - for standard input. More may follow as FILE.",
    metavar="FILE|DIR",
)
@click.option("--nccl", "version", default="", help="The version that the job brings. Default: that of the hosts.", metavar="VERSION")
@click.option("--node", default="", help="Add this host's own settings: for its conf file.", metavar="NAME")
@profile_option("Built-in profile, or a file, - for standard input. Default: the site file's, else 'default'.")
@click.option("--format", "form", type=click.Choice(FORMS), show_default="shell", help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@output_option()
@env_file_option
@evidence_options
def command(
    more: tuple[str, ...],
    reports: tuple[str, ...],
    version: str,
    node: str,
    profile_name: str,
    form: Form | None,
    as_json: bool,
    output: str,
    env_file: str | None,
    **where: Any,
) -> int:
    """Print the NCCL settings that a job needs on this host, or on a set of hosts by their reports.

    Refuses hosts that differ in what must be equal, and names them. Exit 0: printed. 1: refused, and standard error says why.
    2: usage, or hostagent could not run.
    """
    named: dict[str, Form] = {**({f"--format {form}": form} if form else {}), **({"--json": "json"} if as_json else {})}
    kind, place = one_form(named, "shell"), evidence(**where)
    wanted = outputs(kind, output, (), FORMS)
    one_standard_input({"--from": place.snapshot, "--profile": profile_name, "--env-file": env_file})
    place = with_environment(place, env_file)
    asked = _version(version)
    answer = _of_reports((*reports, *more), place, profile_name, asked) if reports else _of_host(more, place, profile_name, asked)
    found = fitted(answer, kind)
    _refuse_node(found, node, kind)
    for refusal in found.refusals:
        complain(f"Refused: {refusal.message}.")
    if found.emitted and not node and kind != "json" and (apart := apart_of(found)):
        complain(f"Warning: {apart} differs by node, and is not in this output: --format conf --node NAME has it.")
    if found.emitted or kind == "json":
        deliver_all(wanted, lambda one, _: render_environment(found, one, node), math.inf)
    return 0 if found.emitted else 1


def _version(text: str) -> "Version | None":
    from hostagent.domains.nccl.tables.changes import parse_nccl_version
    from hostagent.domains.nccl.tables.variables import OLDEST

    if text and not _VERSION.fullmatch(text):
        raise click.UsageError(f"found --nccl {text!r:.40}, wanted a version such as 2.27.3")
    found = parse_nccl_version(text) if text else None
    if found and found[:2] < OLDEST[:2]:
        raise click.UsageError(f"found --nccl {text:.40}, wanted 2.18 or newer: what older versions read is not known")
    return found


def _of_reports(paths: tuple[str, ...], place: Evidence, profile_name: str, version: "Version | None") -> "Environment":
    from hostagent.cli.reports import read_reports
    from hostagent.domains.nccl.environment import derive
    from hostagent.domains.nccl.node import parse_node

    is_named = bool(profile_name) and not is_profile_of_the_variable()
    if not place.is_this_machine or place.environment is not None or is_named:
        raise click.UsageError("found --reports with --host-root, --root, --from, --env-file or --profile, wanted reports or one host")
    if paths.count(STANDARD) > 1:
        raise click.UsageError("found - several times, wanted standard input at most once")
    saved = [
        _Saved(one.name, None, one.report) if one.is_summary else _Saved(one.name, parse_node(one.report, one.name), _as_text(one.report))
        for one in read_reports(paths, summaries=True)
    ]
    nodes = [one.node for one in saved if one.node]
    if len(nodes) == len(saved):
        return derive(nodes, version, time.time())
    from hostagent.domains.nccl.summaries import derive_from_summaries

    return derive_from_summaries([_source(one) for one in saved], version, time.time())


class _Saved(NamedTuple):
    """A summary, or the node of a full report with that as JSON."""

    name: str
    node: "Node | None"
    document: Mapping[str, Any] | str


def _as_text(report: Mapping[str, Any]) -> str:
    """As text, which takes less memory, and without findings that passed."""
    from hostagent.domains.nccl.node import PASSED

    counting = [one for one in report["findings"] if not (isinstance(one, dict) and one.get("outcome") in tuple(PASSED))]
    return json.dumps({**report, "findings": counting})


def _source(saved: _Saved) -> "Source":
    from hostagent.domains.nccl.summaries import Source
    from hostagent.engine.report.node_summary import summary_of_report

    if not isinstance(saved.document, str):
        return Source(saved.name, saved.document)
    try:
        return Source(saved.name, summary_of_report(json.loads(saved.document)), saved.node)
    except HostagentError as error:
        raise HostagentError(f"{visible(saved.name)}: {error.message}", error.next_step) from error


def _of_host(more: tuple[str, ...], place: Evidence, profile_name: str, version: "Version | None") -> "Environment":
    """A pass as that of ``hostagent check``."""
    from hostagent.core.typed import plain
    from hostagent.domains.nccl.environment import derive
    from hostagent.domains.nccl.node import parse_node
    from hostagent.engine import pipeline

    if more:
        raise click.UsageError(f"found {more[0]!r:.60}, wanted --reports before it")
    prepared = prepared_for(place, profile_name)
    with open_host(place, prepared.kinds) as reading:
        report = pipeline.examine(reading, prepared)
    return derive([parse_node(plain(report))], version)


def _refuse_node(found: "Environment", node: str, kind: Form) -> None:
    """Refuses a node name that no host has, and one conf file for hosts that each need their own."""
    if node and node not in found.nodes:
        raise click.UsageError(f"found --node {node!r:.60}, wanted one of {', '.join(found.nodes[:20])}{did_you_mean(node, found.nodes)}")
    if kind == "conf" and found.emitted and not node and found.by_node:
        raise click.UsageError(f"found no --node, wanted one of {', '.join(found.nodes[:20])}: {apart_of(found)} differs by node")
