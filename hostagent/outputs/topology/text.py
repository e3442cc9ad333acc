"""The map for a person at a terminal: a matrix as ``nvidia-smi topo -m`` prints it, the NUMA nodes, and an answer for each pod."""

# No NIC rows (the same cells again; NIC-NIC distances are not in the data). GPU columns that all say the same (NV18) are one
# column, so 16 GPUs and 16 NICs take three blocks at 80 columns. NUMA nodes without CPUs that are alike take one line (GB200:
# "2-17"). Virtual functions are counted.

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hostagent.core.escape import visible
from hostagent.outputs import digest
from hostagent.outputs.page import Page
from hostagent.outputs.topology import parts, ports
from hostagent.outputs.topology.document import Document, Placeable
from hostagent.outputs.topology.parts import Device
from hostagent.outputs.topology.ports import Port
from hostagent.outputs.topology.remedy import lines_below

#: As `hostagent.outputs.page` colours verdicts.
_STYLES = {"ADMITTED": "ready", "REJECTED": "not_ready", "NOT KNOWN": "unknown"}
_HEADINGS = {"critical": "BLOCKS JOBS", "warning": "TO LOOK AT", "info": "WORTH KNOWING"}
#: More NUMA nodes than these have their distances in the other forms alone.
_DISTANCES = 8
_FINDINGS = 12


class _Column(NamedTuple):
    head: str
    cells: Sequence[str]

    @property
    def width(self) -> int:
        return max(map(len, (self.head, *self.cells)), default=0)


def render_text(document: Document, *, colour: bool = False, width: int = 100) -> str:
    """Tables are cut into blocks of at most `width` columns, sentences are wrapped, commands are not; the answer on the MTU is the last
    line.
    """
    page = Page(colour, width)
    page.add(f"{digest.short_name(document.host.hostname)}: {parts.size_line(document) or 'nothing of it was read'}", style="host")
    page.add("; ".join(line for line in (digest.read_line(document), parts.capacity_line(document)) if line))
    gpus, nics = parts.devices(document.gpus), parts.nics(document)
    _add_matrix(page, document, gpus, nics)
    _add_devices(page, "GPUS", gpus, len(parts.rows(document.gpus)) - len(gpus))
    _add_devices(page, "NICS", nics, len(parts.rows(document.nics)) - len(nics))
    _add_ports(page, document)
    _add_nodes(page, document)
    gaps = parts.gaps(document)
    if gaps:
        page.heading("NOT KNOWN", "NOT CHECKED")
    for text in gaps:
        page.add(text, "  ", "      ")
    _add_findings(page, document)
    for one in document.placeable:
        page.lines.append("")
        _add_answer(page, one)
    text, style = ports.mtu_answer(document)
    page.lines.append("")
    page.add_line(text, style)
    return "\n".join(page.lines) + "\n"


def _add_matrix(page: Page, document: Document, gpus: Sequence[Device], nics: Sequence[Device]) -> None:
    if not gpus:
        return
    between, away = (parts.distances(document, kind) for kind in ("gpu_gpu", "gpu_nic"))
    columns = [_Column(other.name, [parts.cell(between, one.pci, other.pci) for one in gpus]) for other in gpus]
    to_nics = [_Column(nic.name, [parts.cell(away, one.pci, nic.pci) for one in gpus]) for nic in nics]
    shown = {word for column in (*columns, *to_nics) for word in column.cells}
    labels, last = _Column("", [one.name for one in gpus]), _affinities(document, gpus, nics)
    blocks = [*_blocks(labels, [*columns, *to_nics], last, page.width)]
    alike = {word for column in columns for word in column.cells} - {"X"}
    if len(blocks) > 1 and len(gpus) > 1 and len(alike) == 1:  # a column a GPU says no more than this one
        blocks = [*_blocks(labels, [_Column("GPUs", [*alike] * len(gpus)), *to_nics], last, page.width)]
        shown -= {"X"}
    for block in blocks:
        page.lines.append("")
        _add_table(page, block)
    page.lines.append("")
    for word, text in parts.legend(shown):
        page.add(f"{word:<4}  {text}", "  ", "        ")


def _affinities(document: Document, gpus: Sequence[Device], nics: Sequence[Device]) -> list[_Column]:
    rails = _rails(document, nics)
    made = (
        _Column("CPUs", [one.cpus for one in gpus]),
        _Column("NUMA", [one.node for one in gpus]),
        _Column("Rail", [rails.get(one.pci, "") for one in gpus]),
    )
    return [column for column in made if any(column.cells)]


def _rails(document: Document, nics: Sequence[Device]) -> dict[str, str]:
    """By GPU, the names of the NICs nearest to it."""
    names = {one.pci: one.name for one in nics}
    found = {}
    for one in parts.rows(document.rails):
        near = [parts.text_of(pci) for pci in one["nics"]] if isinstance(one.get("nics"), list) else []
        found[parts.text_of(one.get("gpu"))] = ", ".join(names.get(pci, pci) for pci in near)
    return found


def _blocks(labels: _Column, columns: Sequence[_Column], last: Sequence[_Column], width: int) -> Iterator[list[_Column]]:
    """Blocks that begin with the labels and have as many columns as fit, one at least; the last columns stay together."""
    block, used = [labels], labels.width
    for group in (*([column] for column in columns), last):
        wide = sum(2 + column.width for column in group)
        if len(block) > 1 and used + wide > width:
            yield block
            block, used = [labels], labels.width
        block += group
        used += wide
    yield block


def _add_table(page: Page, columns: Sequence[_Column], indent: str = "") -> None:
    if any(column.head for column in columns):
        page.lines.append((indent + "  ".join(f"{column.head:<{column.width}}" for column in columns)).rstrip())
    for cells in zip(*(column.cells for column in columns), strict=True):
        padded = (f"{cell:<{column.width}}" for cell, column in zip(cells, columns, strict=True))
        page.lines.append((indent + "  ".join(padded)).rstrip())


def _add_devices(page: Page, title: str, found: Sequence[Device], others: int) -> None:
    """`others`: number of devices in no table, mostly virtual functions of NICs."""
    if not found:
        return
    page.heading(title)
    columns = [_Column("", [getattr(one, name) for one in found]) for name in ("name", "pci", "link", "known_as")]
    columns.insert(2, _Column("", [_node(one.node) for one in found]))
    _add_table(page, [column for column in columns if any(column.cells)], "  ")
    if others:
        page.add(f"and {others} more: --json lists all", "  ")


def _add_ports(page: Page, document: Document) -> None:
    """State, role and MTU of each port, in blocks that fit the page."""
    found, left = ports.ports(document), ports.others(document)
    if not found:
        return
    page.heading("PORTS")
    names = _Column("", [one.name for one in found])
    columns = [_Column("", cells) for cells in zip(*map(_port, found), strict=True) if any(cells)]
    for block in _blocks(names, columns, (), page.width - 2):
        _add_table(page, block, "  ")
    if left:
        page.add(f"and {left} more: --json lists all", "  ")


def _port(one: Port) -> tuple[str, ...]:
    rate = " ".join(filter(None, (one.rate, one.link_layer)))
    mtu, active = f"MTU {one.mtu}" if one.mtu else "", f"active {ports.active(one)}" if one.active else ""
    return one.role, one.state, rate, one.netdev, mtu, active


def _node(text: str) -> str:
    return {"-1": "no NUMA node", parts.UNREAD: "NUMA ?"}.get(text, f"NUMA {text}")


def _add_nodes(page: Page, document: Document) -> None:
    found = parts.nodes(document)
    if found:
        page.heading("NUMA NODES")
    columns = [_Column("", [getattr(one, name) for one in found]) for name in ("ids", "cpus", "memory")]
    if len(parts.rows(document.numa_nodes)) <= _DISTANCES and any(one.distances for one in found):
        columns.append(_Column("", [f"distances {' '.join(one.distances)}" for one in found]))
    _add_table(page, columns, "  ")
    packages = parts.rows(document.packages)
    if packages:
        page.heading("PACKAGES")
        ids = _Column("", [parts.text_of(one.get("id")) for one in packages])
        _add_table(page, [ids, _Column("", [f"CPUs {parts.text_of(one.get('cpus'), 200)}" for one in packages])], "  ")


def _add_findings(page: Page, document: Document) -> None:
    for severity, title in _HEADINGS.items():
        lines = dict.fromkeys(
            f"{digest.short_name(one.id)}  {parts.finding_line(one)}" for one in document.findings if one.severity == severity
        )
        if lines:
            page.heading(title)
        for line in [*lines][:_FINDINGS]:
            page.add(line, "  ", "      ")
        if len(lines) > _FINDINGS:
            page.add(f"and {len(lines) - _FINDINGS} more: hostagent check --only topology,kubelet,rdma,network", "  ")


def _add_answer(page: Page, one: Placeable) -> None:
    word, text = parts.answer(one)
    page.add(f"{word}  {parts.pod_name(one)}: {text}", then="  ", style=_STYLES[word])
    if one.admitted is False and not one.fix.steps:
        page.add(parts.without_fix(one), "  ")
    for number, step in enumerate(one.fix.steps, 1):
        page.add(f"{number}. {digest.short(step.text)}", "  ", "     ")
        page.lines += [f"       {visible(line)}" for line in lines_below(step, one.fix.configuration)]
        page.lines += [f"       {visible(step.command)}"] if step.command else []
