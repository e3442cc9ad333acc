"""The plan for a person at a terminal: what happens, what it costs, what cannot be undone; diffs last."""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from hostagent.core.escape import visible
from hostagent.core.text import counted, size
from hostagent.outputs import digest
from hostagent.outputs.page import Page
from hostagent.plan.document import Document, PackageDocument, version_of
from hostagent.plan.model import FileDiff, Refusal

Format = Literal["text", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: Lines of one diff, packages and names of a list that a page shows: JSON has them all.
_LINES, _PACKAGES, _NAMES = 120, 40, 24


def render_plan(document: Document, form: Format, *, colour: bool = False, width: int = 100, advise: bool = True) -> str:
    """Text or JSON. `colour`, `width` and `advise` (how to apply it) are for text: sentences are wrapped, commands and diffs are not."""
    if form == "json":
        from hostagent.outputs.json import render_json

        return render_json(document)
    page = Page(colour, width)
    _add_head(page, document)
    _add_result(page, document)
    for number, refusal in enumerate(document.refusals, 1):
        _add_refusal(page, refusal, number)
    _add_steps(page, document)
    _add_packages(page, document.packages)
    _add_list(page, "WHAT IT COSTS", costs(document))
    _add_list(page, "CANNOT BE UNDONE", document.irreversible)
    _add_next(page, document, advise=advise)
    _add_files(page, document.files)
    return "\n".join(page.lines) + "\n"


def _add_head(page: Page, document: Document) -> None:
    page.add(headline(document), style=_style(document))
    host, kernels = document.host, ", ".join(document.kernels)
    parts = (host.platform, host.os, f"kernel {host.kernel}" if host.kernel else "", host.arch, f"profile {document.profile.name}")
    said = ", ".join(digest.short(part) for part in parts if part)
    page.add(f"{digest.short_name(host.hostname)}: {said}" if host.hostname else said)
    remarks = [digest.read_line(document)]
    if kernels and document.todo:
        remarks.append(f"module for {digest.short(kernels)}")
    if document.security.advisories:
        remarks.append(f"{counted(document.security.advisories, 'security advisory')} today")
    page.add("; ".join(remarks))


def headline(document: Document) -> str:
    """The result of the plan, on one line."""
    number = counted(len(document.todo), "step")
    if document.refusals:
        more = len(document.refusals) - 1
        others = f", and {counted(more, 'more reason')}" if more else ""
        return f"REFUSED  {digest.short(document.refusals[0].headline).rstrip('.')}{others}. Nothing is changed."
    if not document.todo:
        due = " A reboot is due." if document.reboot.needed else ""
        return f"NOTHING TO DO  install would change nothing of {_parts(document)}.{due}"
    end = ", then a reboot" if document.reboot.needed else ""
    return f"TO DO  {number}{_versions(document) or _first(document)}{end}."


def _style(document: Document) -> str:
    if document.refusals:
        return "not_ready"
    return "degraded" if document.todo or document.reboot.needed else "ready"


def _parts(document: Document) -> str:
    found = document.only or ("driver", "toolkit", *_beside(document), "runtime")
    *first, last = (str(one) for one in found)
    return f"{', '.join(first)} and {last}" if first else last


def _beside(document: Document) -> tuple[str, ...]:
    """Optional parts that the plan has steps of."""
    parts = {step.part for step in document.steps}
    return tuple(one for one in ("cuda", "docker") if one in parts)


def _versions(document: Document) -> str:
    """``: driver to 580.178.04, toolkit to 1.19.0``."""
    rows = {part: [(one.name, one.after) for one in document.packages if one.part == part] for part in ("driver", "toolkit")}
    said = [f"{part} to {digest.short_name(version)}" for part, several in rows.items() if (version := version_of(part, several))]
    return f": {', '.join(said)}" if said else ""


def _first(document: Document) -> str:
    first, *more = document.todo
    return f": {digest.short_name(first.title)}{f', and {len(more)} more' if more else ''}"


def _add_result(page: Page, document: Document) -> None:
    result = document.result
    if result is None or document.refusals:
        return
    page.heading("HOW IT ENDED", "BLOCKS JOBS" if result.outcome == "failed" else "TO LOOK AT")
    parts = (result.outcome.upper(), f"run {result.run}" if result.run else "", f"exit {result.exit}")
    page.add(", ".join(filter(None, parts)), "  ")
    for text in filter(None, (result.message, *result.notes)):
        page.add(digest.sentence(digest.short(text)), "  ", "    ")
    for step in result.steps:
        page.add(f"{step.id}: {f'failed: {digest.short(step.problem)}' if step.problem else f'{step.seconds:.1f} s'}", "  ", "    ")


def _add_refusal(page: Page, refusal: Refusal, number: int) -> None:
    if number == 1:
        page.heading("WHY NOTHING IS CHANGED", "BLOCKS JOBS")
    page.add(f"{number}. {digest.short(refusal.headline)} ({refusal.id})", "  ", "     ")
    page.add(digest.sentence(digest.short(refusal.message)), "     ")
    for step in refusal.remedy:
        page.add(f"- {'If it comes back: ' if step.if_back else ''}{digest.short(step.text)}", "     ", "       ")
        page.lines += [f"       {visible(step.command)}"] if step.command else []


def _add_steps(page: Page, document: Document) -> None:
    todo, done = document.todo, [step for step in document.steps if step.state == "done"]
    if todo:
        page.heading("WHAT WOULD HAPPEN" if document.refusals else "WHAT HAPPENS", "TO LOOK AT")
    for number, step in enumerate(todo, 1):
        page.add(f"{number:>2}. {digest.short(step.title)}", "  ", "      ")
        page.add(_sentence(step.why), "      ")
    if done and todo:
        page.add(f"Done already: {_some([step.id for step in done])}.", "  ", "    ")


def _sentence(text: str) -> str:
    said = digest.sentence(digest.short(text))
    return said[:1].upper() + said[1:]


def _add_packages(page: Page, packages: Sequence[PackageDocument]) -> None:
    if not packages:
        return
    page.heading("PACKAGES")
    shown = ((one.name, one.before or "not installed", one.after or "removed", one.origin) for one in packages[:_PACKAGES])
    rows = [[digest.short_name(cell) for cell in row] for row in shown]
    name, before, after = (max(len(row[at]) for row in rows) for at in range(3))
    for row in rows:
        page.lines.append(f"  {row[0]:<{name}}  {row[1]:<{before}} -> {row[2]:<{after}}  {row[3]}".rstrip())
    if len(packages) > _PACKAGES:
        page.add(f"and {len(packages) - _PACKAGES} more: --format json lists all", "  ")


def costs(document: Document) -> tuple[str, ...]:
    """Sentences: download, space, services, restarts, the reboot."""
    if not document.todo and not document.reboot.needed:
        return ()
    downloads = [one.download_bytes for one in document.packages if one.after]
    known = [one for one in downloads if one is not None]
    download = f"Download: {size(sum(known))}{'' if len(known) == len(downloads) else ' and more'}." if known else ""
    space = [f"{size(one.needed_bytes)} at {one.path}" for one in document.space if one.needed_bytes > 0]
    units: dict[str, list[str]] = {}
    for one in document.services:
        units.setdefault(one.change, []).append(one.unit)
    why = [digest.sentence(one) for one in document.reboot.why]
    return (
        *([download] if download else []),
        *([f"Space: {', '.join(space)}."] if space else []),
        *(f"{change.capitalize()}: {_some(names)}." for change, names in units.items()),
        *([f"Restarted: {_some(document.restarts)}."] if document.restarts else []),
        " ".join(("Reboot: needed.", *why)) if document.reboot.needed else "Reboot: not needed.",
    )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(digest.short_name, names[:_NAMES]))
    return shown if len(names) <= _NAMES else f"{shown} and {len(names) - _NAMES} more"


def _add_list(page: Page, title: str, sentences: Iterable[str]) -> None:
    lines = tuple(sentences)
    if lines:
        page.heading(title)
    for one in lines:
        page.add(digest.sentence(digest.short(one)), "  ", "    ")


def _add_next(page: Page, document: Document, *, advise: bool) -> None:
    if document.refusals or not document.todo or document.result is not None or (document.resolved and not advise):
        return
    page.lines.append("")
    if document.replayed or document.simulated:
        page.add("A snapshot was read: versions are those of the profile, and which packages come along is not known.")
    elif not document.resolved:
        page.add("The repositories were not asked: versions are those of the profile.")
    else:
        page.add("Do it: 'hostagent install' with the same options.")


def _add_files(page: Page, files: Sequence[FileDiff]) -> None:
    if files:
        page.heading("FILES")
    for one in files:
        if not one.diff:
            page.add(f"{digest.short_name(one.path)}: {digest.short(', '.join(one.keys))}", "  ", "    ")
            continue
        lines = one.diff.splitlines()
        page.lines += [f"  {visible(line)}".rstrip() for line in lines[:_LINES]]
        if len(lines) > _LINES:
            page.lines.append(f"  and {len(lines) - _LINES} more lines: --format json has them")
