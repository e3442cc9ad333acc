"""The text of ``hostagent gate``: verdict, chosen nodes, refused nodes with reasons, and advice on the most frequent one."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Literal, get_args

from hostagent.core.text import counted
from hostagent.domains.nccl.class_inputs import CLASS_INPUTS, HOST_INPUTS
from hostagent.gate.answer import CODES, Answer, Backend, Code, Examined, Reason
from hostagent.gate.classes import DIFFERS_IN_CUT, OTHER_RELEASE
from hostagent.gate.wording import are, instant, names_of, shown
from hostagent.outputs.page import Page

Format = Literal["text", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: Fields of the answer that a submitter pastes.
Field = Literal["selector", "affinity", "env"]
FIELDS: tuple[Field, ...] = get_args(Field)
_NAMES, _WARNINGS, _NODES = 10, 10, 32
_INDENT, _DEEPER, _DEEPEST = "  ", "    ", "      "

_CAUSES = "'hostagent fleet DIR' names the causes; on such a node run:"
_UNREAD = "Run this as root on such a node: it says what could not be read."
#: Advice, with a command where there is one: for the terminal and for the guide.
ADVICE: Mapping[Code, tuple[str, str]] = {
    "TooFewNodes": ("Ask for fewer nodes with --nodes, or do what the reasons of the refused nodes ask for.", ""),
    "NoCommonClass": ("Make the odd nodes equal to the largest class, or ask with --may-differ, or without --same-domain.", ""),
    "Stale": (
        "Collect the summaries again. Where one stays old, see on the node whether the daemon runs and its clock is right.",
        "systemctl status hostagent",
    ),
    "OtherBoot": ("Remove the reports of these nodes and collect them once more.", ""),
    "NotReady": (_CAUSES, "hostagent check"),
    "Unknown": (_CAUSES, "sudo hostagent check"),
    "MultiNodeNotReady": (_CAUSES, "hostagent check --scope multi"),
    "Coverage": (_UNREAD, "hostagent check"),
    "TooFewGpus": ("Ask for fewer GPUs on each node with --gpus-per-node, or look at what the node lacks.", "hostagent check"),
    "Product": ("Give the whole name of a product that a node has, or leave out --product.", ""),
    "ComputeCapability": ("Ask for less with --compute-capability, or leave it out.", ""),
    "GpuMemory": ("Ask for what NVML reads, which is less than a card is sold with: 22 for a card of 24 GB.", ""),
    "Driver": ("Install the driver that the job needs; this says on the node what would change.", "hostagent plan"),
    "Cuda": ("Install a driver that runs the CUDA version of the job; this says on the node what would change.", "hostagent plan"),
    "Toolkit": ("Install the NVIDIA Container Toolkit that the job needs; this says on the node what would change.", "hostagent plan"),
    "Mig": ("Switch MIG off on these nodes, or ask with --allow-mig where the job can use instances.", "nvidia-smi -mig 0"),
    "PodShape": ("Ask for fewer GPUs on each node; this shows on the node which pods its kubelet admits.", "hostagent topology"),
    "Excluded": ("Name other nodes with --exclude and --only.", ""),
    "NotInClass": ("Make the input equal that the message names, or ask with --may-differ where the job can bear the difference.", ""),
    "NotInDomain": ("Ask without --same-domain where the job does not need NVLink between nodes.", ""),
    "NoSummary": ("Start hostagent on these nodes: the gate accepts no node without its summary.", "kubectl -n hostagent get pods -o wide"),
    "NodeNotReady": ("The kubelet of such a node does not report, or is not ready.", "kubectl describe node NODE"),
    "Cordoned": ("When its maintenance is over, open the node again.", "kubectl uncordon NODE"),
    "Tainted": ("Ask with --toleration KEY=VALUE:EFFECT where the job may run there, or wait until the taint is gone.", ""),
    "Drained": ("Slurm has the reason of each drain.", "sinfo -R"),
    "Down": ("Slurm says more of such a node; a reservation is asked with --reservation.", "scontrol show node NODE"),
    "NoFreeGpus": ("Wait until a job ends, or ask for fewer GPUs on each node.", ""),
    "Shared": ("Ask for other nodes: one GPU is given out several times there, by time slicing, MPS or instances of MIG.", ""),
    "Dra": ("Ask for other nodes, or write a ResourceClaim: this gate counts GPUs of the resource nvidia.com/gpu.", ""),
    "Selector": ("Give the --node-selector or --partition of the nodes that the job should get.", ""),
    "NoFreePods": ("Wait until pods end, or raise maxPods of its kubelet.", ""),
    "NotEverythingRead": ("Ask again.", ""),
}
_NO_REPORT = "Collect each node's summary.json into the directory, under the node's name."
_NO_NODES = "See that hostagent runs on the nodes with GPUs, and that --node-selector, --partition and --prefix are the right ones."
_OF_REPORTS: tuple[Code, ...] = ("Product", "ComputeCapability", "GpuMemory", "Driver", "Cuda", "Toolkit")
_OF_VERDICT: tuple[Code, ...] = ("NotReady", "Unknown", "MultiNodeNotReady")
#: Advice in its place, where a cluster was read.
IN_CLUSTER: Mapping[Backend, Mapping[Code, tuple[str, str]]] = {
    "kubernetes": {
        **dict.fromkeys(_OF_VERDICT, ("This says what the agent of such a node reports.", "hostagent kubernetes why NODE")),
        "Stale": ("See whether the agent of such a node runs, and whether its clock is right.", "kubectl -n hostagent get pods -o wide"),
        "OtherBoot": ("The node has booted since its last summary: wait for the first one of this boot.", "hostagent kubernetes why NODE"),
    },
    "slurm": {
        **dict.fromkeys(_OF_REPORTS, ("Slurm does not say it: add --reports DIR with the nodes' summaries.", "")),
        **dict.fromkeys(_OF_VERDICT, ("On such a node this says why.", "sudo hostagent check")),
        "NoSummary": ("'hostagent slurm health' writes what the gate reads, or add --reports DIR.", "scontrol show node NODE"),
    },
}


#: Inputs of the class that no setting changes.
_BUILT_IN = ("gpu_product", "gpu_memory", "gpu_count", "gpus_per_numa", "link_layer", "hcas", "hca_names")


def render_answer(answer: Answer, form: Format, *, colour: bool = False, width: int = 100) -> str:
    """Text or JSON. `colour` and `width` are for the text."""
    if form == "json":
        from hostagent.outputs.json import render_json

        return render_json(answer)
    page = Page(colour, width)
    _add_verdict(page, answer)
    _add_refused(page, answer)
    _add_advice(page, answer)
    _add_warnings(page, answer.warnings)
    return "\n".join(page.lines) + "\n"


def render_field(answer: Answer, name: Field) -> str:
    """That field of the answer as JSON, which YAML reads too."""
    from hostagent.outputs.json import render_json

    return render_json(getattr(answer, name))


def _add_verdict(page: Page, answer: Answer) -> None:
    request, examined = answer.request, answer.examined
    wanted = f"{counted(request.nodes, 'node')} with {counted(request.gpus_per_node, 'GPU')}{' each' if request.nodes > 1 else ''}"
    if not answer.placeable:
        page.add(f"NOT PLACEABLE  wanted {wanted}: {answer.reasons[0].message}", then=_INDENT, style="not_ready")
        for one in answer.reasons[1:]:
            page.add(f"{one.code}: {one.message}", _INDENT, _DEEPER)
        return
    page.add(f"PLACEABLE  {wanted}: {names_of(answer.nodes, _NODES)}", then=_INDENT, style="ready")
    if answer.fabric_class or answer.domain:
        parts = [f"{name} {shown(text)}" for name, text in (("fabric class", answer.fabric_class), ("domain", answer.domain)) if text]
        page.add(", ".join(parts), _INDENT)
    page.add(
        f"{examined.eligible} of {counted(examined.nodes, 'node')} {are(examined.eligible)} eligible{_not_examined(examined)}", _INDENT
    )
    if answer.valid_until is not None:
        page.add(_validity(answer, answer.valid_until), _INDENT, _DEEPER)
    _add_settings(page, answer)


def _not_examined(examined: Examined) -> str:
    return f"; {counted(examined.not_examined, 'more node')} of the cluster not examined" if examined.not_examined else ""


def _validity(answer: Answer, until: float) -> str:
    """Until when the answer holds, and what was not checked."""
    names = " and ".join(answer.not_asked)
    limits = f"limits of {names}" if answer.backend == "slurm" else f"{names} of the namespace"
    return f"holds until {instant(until)}{f'; {limits} were not asked' if names else ''}"


def _add_settings(page: Page, answer: Answer) -> None:
    """Settings of the job in short: --emit prints each whole."""
    if answer.selector:
        page.add(f"selector: {', '.join(f'{name}={value}' for name, value in answer.selector.items())}", _INDENT, _DEEPER)
    if answer.env:
        page.add(f"env: {names_of(list(answer.env), 20)}; --emit env prints the values", _INDENT, _DEEPER)
    if answer.env_by_node:
        names = dict.fromkeys(name for env in answer.env_by_node.values() for name in env)
        page.add(f"env, different from node to node: {names_of(list(names), 20)}; --format json has the values", _INDENT, _DEEPER)


def _add_refused(page: Page, answer: Answer) -> None:
    if not answer.refused:
        return
    page.heading(f"REFUSED: {len(answer.refused)} of {counted(answer.examined.nodes, 'node')}", "TO LOOK AT")
    by_code = _by_code(answer)
    for code in (one for one in _by_frequency(answer) if one in by_code):
        messages = by_code[code]
        head = f"{code}, {counted(sum(map(len, messages.values())), 'node')}"
        if len(messages) == 1:
            message, names = next(iter(messages.items()))
            page.add(f"{head}: {names_of(names)}: {message}", _INDENT, _DEEPER)
            continue
        page.add(f"{head}:", _INDENT)
        left, hidden = _NAMES, 0
        for message, names in messages.items():
            if left > 0:
                page.add(f"{names_of(names, left)}: {message}", _DEEPER, _DEEPEST)
            else:
                hidden += len(names)
            left -= len(names)
        if hidden:
            page.add(f"and {counted(hidden, 'node')} with other values", _DEEPER)


def _by_code(answer: Answer) -> Mapping[Code, dict[str, list[str]]]:
    """By code and message the nodes; a verdict for jobs on several nodes only where it says more than the one for a single node."""
    found = defaultdict[Code, dict[str, list[str]]](dict)
    for one in answer.refused:
        messages = {reason.message for reason in one.reasons if reason.code in ("NotReady", "Unknown")}
        for reason in one.reasons:
            if reason.code == "MultiNodeNotReady" and reason.message in messages:
                continue
            names = found[reason.code].setdefault(reason.message, [])
            if one.node not in names[-1:]:
                names.append(one.node)
    return found


def _by_frequency(answer: Answer) -> list[Code]:
    counts = Counter(code for one in answer.refused for code in {reason.code for reason in one.reasons})
    return sorted(counts, key=lambda code: (-counts[code], CODES.index(code)))


def _add_advice(page: Page, answer: Answer) -> None:
    if not answer.examined.nodes:
        page.heading("WHAT TO DO")
        page.add(_NO_REPORT if answer.backend == "reports" else _NO_NODES, _INDENT)
        return
    frequent = _in_the_way(answer)
    if frequent is None:
        return
    if frequent == "NotInClass":
        text, command = _of_class(answer)
    else:
        text, command = IN_CLUSTER.get(answer.backend, {}).get(frequent) or ADVICE.get(frequent, ("", ""))
    if text:
        page.heading(f"WHAT TO DO about {frequent}", "WHAT TO DO")
        page.add(text, _INDENT)
    if command:
        page.lines.append(f"{_DEEPEST}{_with_node(command, answer, frequent)}")


def _with_node(command: str, answer: Answer, code: Code) -> str:
    """For the first node that the advice is about, in the place of NODE."""
    first = next((one.node for one in answer.refused if any(reason.code == code for reason in one.reasons)), "NODE")
    return re.sub(r"\bNODE\b", lambda _: shown(first), command)


def _in_the_way(answer: Answer) -> Code | None:
    """The most frequent reason. Where enough nodes are eligible it is what sets them apart; what the request itself excludes comes last."""
    codes = _by_frequency(answer)
    if any(reason.code == "NoCommonClass" for reason in answer.reasons):
        codes.sort(key=lambda code: code not in ("NotInClass", "NotInDomain"))
    return next((code for code in codes if code != "Excluded"), codes[0] if codes and not answer.placeable else None)


def _of_class(answer: Answer) -> tuple[str, str]:
    """Names the most frequent input and the nodes that are odd by it."""
    odd = defaultdict[tuple[str, str], list[str]](list)
    for one in answer.refused:
        for reason in one.reasons:
            if reason.code == "NotInClass":
                odd[_input_of(reason), reason.wanted].append(one.node)
    (name, wanted), nodes = max(odd.items(), key=lambda item: len(item[1]))
    if name in _BUILT_IN:
        return f"The GPUs or rails of {names_of(nodes)} are others. Ask for fewer nodes, or leave these out with --exclude.", ""
    if name in (*CLASS_INPUTS, *HOST_INPUTS):
        return f"Make {name} {wanted} on {names_of(nodes)}, or ask with --may-differ {name} where the job can bear the difference.", ""
    if name == DIFFERS_IN_CUT:
        return "Compare full reports:", "hostagent nccl env --reports"
    if name:
        return "Use one release of hostagent on all nodes.", ""
    return _UNREAD, "hostagent check"


def _input_of(reason: Reason) -> str:
    """The beginning of a message: the input, or what differs instead; "" where the class itself was not read."""
    for hidden in (DIFFERS_IN_CUT, OTHER_RELEASE):
        if reason.message.startswith(hidden):
            return hidden
    name, comma, _ = reason.message.partition(f" {reason.found}, ")
    return name if comma else ""


def _add_warnings(page: Page, warnings: tuple[str, ...]) -> None:
    if not warnings:
        return
    page.heading("WARNINGS")
    for text in warnings[:_WARNINGS]:
        page.add(text, _INDENT, _DEEPER)
    if len(warnings) > _WARNINGS:
        page.add(f"and {len(warnings) - _WARNINGS} more: --format json has them", _INDENT)
