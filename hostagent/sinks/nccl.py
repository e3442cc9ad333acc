"""What ``hostagent nccl explain`` prints: the verdict, why, what to do, the lines that prove it, then the connections."""

from typing import Literal, get_args

from hostagent.nccl.explanation import GOOD, ChannelEnd, Explanation
from hostagent.nccl.findings import Finding
from hostagent.sinks.page import Page

Format = Literal["text", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
_STYLES = {"failed": "not_ready", "mixed": "not_ready", "tcp_fallback": "not_ready", "unknown": "unknown"}
_ROWS = 40


def render_explanation(explanation: Explanation, form: Format, *, colour: bool = False, width: int = 100) -> str:
    """Text or JSON. `colour` and `width` are for the text."""
    if form == "json":
        from hostagent.sinks.json import render_json

        return render_json(explanation)
    page = Page(colour, width)
    style = _STYLES.get(explanation.verdict, "ready" if explanation.verdict in GOOD else "degraded")
    page.add(f"{explanation.headline} ({explanation.verdict}).", style=style)
    own, *others = explanation.findings
    _add(page, own)
    for one in others:
        page.lines.append("")
        page.add(f"{one.headline} ({one.code}).")
        _add(page, one)
    _add_table(page, explanation.channels)
    page.lines.append("")
    page.add(_extent(explanation), then="  ")
    return "\n".join(page.lines) + "\n"


def _add(page: Page, one: Finding) -> None:
    page.add(one.message, "  ")
    for step in one.remedy:
        page.add(f"{'If it comes back: ' if step.if_back else ''}{step.text}", "  -> ", "     ")
        if step.command:
            page.lines.append(f"       {step.command}")
    for line in one.lines:
        page.add(f"{line.file}:{line.line}: {line.text}", "    | ", "    |   ")


def _add_table(page: Page, channels: tuple[ChannelEnd, ...]) -> None:
    if not channels:
        return
    page.heading("CONNECTIONS OVER THE NETWORK")
    rows = [("rank", "host", "GPU", "NIC", "GPUDirect")]
    rows += [(str(one.rank), one.host or "?", one.gpu or "?", one.nic, "yes" if one.gdr else "no") for one in channels[:_ROWS]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    page.lines += ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if len(channels) > _ROWS:
        page.add(f"and {len(channels) - _ROWS} more: --format json has them", "  ")


def _extent(explanation: Explanation) -> str:
    """How much of the job the log shows."""
    parts = [
        f"NCCL {explanation.nccl_version}",
        f"network {explanation.network}",
        f"GPUDirect {explanation.gdr}",
        f"nodes {explanation.nodes}",
        f"lines of {explanation.ranks_seen} of {explanation.ranks} ranks" if explanation.ranks != "unknown" else "ranks unknown",
    ]
    if explanation.hcas:
        parts.append(f"HCAs {', '.join(explanation.hcas)}")
    if explanation.socket_ifname:
        parts.append(f"interfaces {', '.join(explanation.socket_ifname)}")
    return "; ".join(parts) + "."
