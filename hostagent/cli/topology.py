"""``hostagent topology``."""

# The pods of the profile are placed each by itself on the node without its pods (`emptied`), as `kubelet.full_node` does; those
# of --pod one after the other on the node as it is.

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import (
    color_option,
    colour_wanted,
    completed,
    evidence,
    evidence_options,
    one_standard_input,
    prepared_for,
    profile_option,
    terminal_width,
)
from hostagent.cli.outputs import deliver_all, one_form, output_options, outputs, within_time
from hostagent.cli.pods import pods_of
from hostagent.engine.collection import Reading
from hostagent.engine.target import Evidence, open_host
from hostagent.outputs.topology import FORMATS, Format, render_topology
from hostagent.outputs.topology.document import PARTS, Document, document

if TYPE_CHECKING:
    from hostagent.domains.kubelet.placement.pods import Pod
    from hostagent.engine.pipeline import Prepared

#: The checks that run, and what the map needs whatever they read.
FAMILIES = ("topology", "kubelet", "rdma", "network")
_KINDS = ("Topology", "Gpu", "Nic", "Kubelet", "Platform", "RdmaPort", "Rdma", "Network")

_EXAMPLES = examples(
    "hostagent topology",
    "hostagent topology --pod gpus=8,cpus=96,memory=1Ti",
    "hostagent topology --from host.json --pod gpus=4,cpus=16 --pod gpus=4,cpus=16",
    "hostagent topology --from host.json --format svg -o host.svg",
    "hostagent topology --from host.json --pod job.yaml --json",
    "cat job.yaml | hostagent topology --from host.json --pod -",
)


@click.command("topology", context_settings=SETTINGS, epilog=_EXAMPLES)
@click.option(
    "--pod",
    "asked",
    multiple=True,
    help="Ask about a pod: gpus, cpus, memory, nics, hugepages-2Mi, hugepages-1Gi or full resource names, with commas;"
    " or FILE, a manifest, - for standard input. Several are placed one after the other.",
    metavar="SHAPE|FILE",
    shell_complete=completed("shapes_and_files"),
)
@profile_option("Built-in profile, or a file, - for standard input. Default: the site file's, else 'default'.")
@click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@output_options
@color_option
@evidence_options
def command(
    asked: tuple[str, ...],
    profile_name: str,
    form: Format | None,
    as_json: bool,
    also: tuple[str, ...],
    output: str,
    colour: str,
    **where: Any,
) -> int:
    """Show sockets, NUMA nodes, switches, GPUs, NICs and their ports, and whether this host's kubelet admits a pod.

    Without --pod the answer is for the pods of the profile. Exit 0: no pod was asked for, or all are admitted. 1: one is not, or that
    is unknown. 2: usage, or hostagent could not run.
    """
    named: dict[str, Format] = {**({f"--format {form}": form} if form else {}), **({"--json": "json"} if as_json else {})}
    place, wanted = evidence(**where)._replace(host_has=("/sys",)), outputs(one_form(named, "text"), output, also, FORMATS)
    one_standard_input({"--from": place.snapshot, "--profile": profile_name}, {"--pod": asked})
    ends = time.monotonic() + place.deadline_s
    found = _answered(place, profile_name, pods_of(asked))
    width = terminal_width()

    def rendered(kind: Format, path: str) -> str:
        look: dict[str, Any] = {"colour": colour_wanted(path, colour), "width": width}
        return within_time(lambda: render_topology(found, kind, **look), lambda: render_topology(_without_map(found), kind, **look))

    deliver_all(wanted, rendered, ends)
    return 1 if asked and any(one.admitted is not True for one in found.placeable) else 0


def _answered(place: Evidence, profile_name: str, pods: "tuple[Pod, ...]") -> Document:
    prepared = with_map(prepared_for(place, profile_name, FAMILIES))
    with open_host(place, prepared.kinds) as reading:
        return mapped(reading, prepared, pods)


def with_map(prepared: "Prepared") -> "Prepared":
    """What the checks need, and what the map does."""
    return prepared._replace(kinds=tuple(dict.fromkeys((*prepared.kinds, *_KINDS))))


def mapped(reading: Reading, prepared: "Prepared", pods: "tuple[Pod, ...]") -> Document:
    """One pass: read the host, judge it by the checks that are asked for, place the pods; those of the profile where there are none."""
    from hostagent.engine import pipeline

    collected = reading.collect(pipeline.policy_of(prepared))
    report = pipeline.judge(collected, reading, prepared)
    shapes = () if pods else tuple(one.text for one in prepared.loaded.profile.pods.values())
    return document(collected.facts, report, pods, shapes)


def _without_map(found: Document) -> Document:
    """Without the parts that take long to write, so that the answers are printed in any case."""
    late = {"unread": "timeout", "detail": "the map is shortened"}
    parts: dict[str, Any] = dict.fromkeys(PARTS, late)
    return replace(found, **parts, fabric=late, findings=found.findings[:20], placeable=found.placeable[:20])
