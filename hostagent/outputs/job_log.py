"""Output of ``hostagent nccl explain``: verdict, reasons, steps, evidence, connections."""

from dataclasses import replace
from typing import Literal, get_args

from hostagent.core.steps import Step
from hostagent.domains.nccl.logs.explanation import GOOD, ChannelEnd, Explanation, HostCause
from hostagent.domains.nccl.logs.findings import Finding
from hostagent.domains.nccl.tables.host_topics import EXPLAINING, REASONS
from hostagent.outputs.page import Page

Format = Literal["text", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
_STYLES = {"failed": "not_ready", "mixed": "not_ready", "tcp_fallback": "not_ready", "unknown": "unknown"}
_ROWS, _HOSTS = 40, 3


def render_explanation(explanation: Explanation, form: Format, *, colour: bool = False, width: int = 100) -> str:
    """Text or JSON. `colour` and `width` are for the text."""
    if form == "json":
        from hostagent.outputs.json import render_json

        return render_json(explanation)
    page = Page(colour, width)
    style = _STYLES.get(explanation.verdict, "ready" if explanation.verdict in GOOD else "degraded")
    page.add(f"{explanation.headline} ({explanation.verdict}).", style=style)
    own, *others = explanation.findings
    _add(page, own)
    _add_causes(page, explanation, own.code)
    _add_hosts(page, explanation)
    for one in others:
        page.lines.append("")
        page.add(f"{one.headline} ({one.code}).")
        _add(page, one)
        _add_causes(page, explanation, one.code)
    _add_table(page, explanation.channels)
    page.lines.append("")
    page.add(_extent(explanation), then="  ")
    return "\n".join(page.lines) + "\n"


def _add(page: Page, one: Finding) -> None:
    page.add(one.message, "  ")
    _add_steps(page, one.remedy)
    for line in one.lines:
        page.add(f"{line.file}:{line.line}: {line.text}", "    | ", "    |   ")


def _add_steps(page: Page, steps: tuple[Step, ...]) -> None:
    for step in steps:
        page.add(f"{'If it comes back: ' if step.if_back else ''}{step.text}", "  -> ", "     ")
        if step.command:
            page.lines.append(f"       {step.command}")


def _add_causes(page: Page, explanation: Explanation, code: str) -> None:
    """Causes of hosts, equal ones once; a cause of several findings is listed under the first."""
    alike: dict[HostCause, list[str]] = {}
    for host in explanation.host:
        for one in host.causes:
            if one.codes[0] == code:
                alike.setdefault(_merge_key(one), []).append(host.hostname)
    for one, hosts in alike.items():
        page.add(f"On {_names(hosts)}, {REASONS.get(code, 'this may explain it')}: {one.headline or one.message} ({one.id}).", "  ")
        _add_steps(page, one.remedy)


def _merge_key(one: HostCause) -> HostCause:
    """The cause reduced to the displayed parts: the headline for a device, the message for the host."""
    return replace(one, codes=(), message="") if one.devices else replace(one, codes=(), headline="")


def _add_hosts(page: Page, explanation: Explanation) -> None:
    """Hosts without an explanation, and hosts that the log does not name."""
    codes = {one.code for one in explanation.findings}
    silent = [one.hostname for one in explanation.host if not one.causes] if codes & EXPLAINING.keys() else []
    if silent:
        page.add(f"Nothing that was found on {_names(silent)} explains it.", "  ")
    for checks in sorted({one.unknown for one in explanation.host if one.unknown}):
        hosts = [one.hostname for one in explanation.host if one.unknown == checks]
        page.add(f"Unknown on {_names(hosts)}, and may explain it: {', '.join(checks)}.", "  ")
    away = [one.hostname for one in explanation.host if not one.in_log]
    if away:
        page.add(f"No record of the log is of {_names(away)}; containers and redacted snapshots have other names.", "  ")


def _names(hosts: list[str]) -> str:
    """
    Names for a sentence.

    >>> _names(["a"]), _names(["a", "", "c", "d", "e"])
    ('a', 'a, a host without a name, c and 2 more')
    """
    named = [name or "a host without a name" for name in hosts]
    return f"{', '.join(named[:_HOSTS])} and {len(named) - _HOSTS} more" if len(named) > _HOSTS else ", ".join(named)


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
    """The part of the job that the log covers."""
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
