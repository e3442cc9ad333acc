"""Renders docs/kernel-words.md from the table `hostagent.core.tables.kernel_words`."""

from collections.abc import Iterator

from hostagent.core.tables.kernel_words import ENDS, PARTS, ROWS, TITLES
from hostagent.core.tables.kernel_words.row import Row

PAGE = "docs/kernel-words.md"
_CHECKS = {
    "gpu": ("gpu.driver_words",),
    "module": ("driver.module_words",),
    "pci": ("gpu.pci_words", "rdma.nic_words"),
    "nic": ("rdma.nic_words",),
    "memory": ("host.memory_words",),
    "volume": ("host.volumes",),
}
_WEIGHTS = {
    "critical": "critical: jobs cannot run, or their results cannot be trusted",
    "warning": "warning: it works today and will hurt",
    "info": "info: worth knowing",
}
_ENDS = {
    "load": "the driver's module was loaded again",
    "uvm": "nvidia_uvm was loaded again",
    "reset": 'the driver says that the GPU needs no reset any more (an Xid 154 to "None")',
    "recovered": "the kernel says that the device works again",
    "mounted": "the filesystem was mounted or unmounted since",
    "cleared": "`hostagent events clear`",
}
_INTRODUCTION = """\
# Words of the kernel log

Made by `make docs` from `hostagent/core/tables/kernel_words/`; edit that, not this page. It lists what the kernel and NVIDIA's driver write
to the kernel log about a fault, other than Xids and SXids. A finding of the checks below names its row: `docs/kernel-words.md#reset-required`.

- **Only records of the kernel count**, matched at their start. What a process writes to `/dev/kmsg`, what a record quotes, and the name of a
  process count for nothing: each pattern is longer than a name can be.
- **Several records count by one that names a function of the driver**, logged by the same task or CPU within {join:g} seconds.
- **Every fault ends with the boot.** What else ends it is named with each row. `hostagent events clear` acknowledges what was logged so far.
- **One fault is one finding**, however often it is logged. The daemon starts a pass on such a record, and remembers it when the log has lost it.
- The log is that of this boot: `/dev/kmsg`, else syslog(2), and the journal where these have lost the beginning.

See it yourself: `journalctl -k -b -g WORDS`. Each row names where its words come from; checked in November 2026 against
sources and public logs; rows marked "not confirmed" were not.
"""


def page() -> str:
    """docs/kernel-words.md as it should be today."""
    from hostagent.core.tables.kernel_words.row import JOIN_S

    return "\n".join([_INTRODUCTION.format(join=JOIN_S), *_contents(), *(line for part in PARTS for line in _part(part))])


def _contents() -> Iterator[str]:
    yield "| words | weight | what they say |"
    yield "|---|---|---|"
    for row in ROWS:
        yield f"| [{row.id}](#{row.id}) | {row.weight} | {_sentence(row)} |"
    yield ""


def _sentence(row: Row) -> str:
    text = row.headline.replace("{device}", {"memory": "the module", "volume": "the disk"}.get(row.part, "the device"))
    return text[:1].upper() + text[1:] if row.headline.startswith("{device}") else text


def _part(part: str) -> Iterator[str]:
    checks = ", ".join(f"[{one}](../checks/docs/{one}.md)" for one in _CHECKS[part])
    yield f"## {TITLES[part]}"
    yield ""
    yield f"Checks: {checks}."
    yield ""
    for row in ROWS:
        if row.part == part:
            yield from _row(row)
    ends = [end for end in ENDS[part] if any(end.by in row.ends for row in ROWS if row.part == part)]
    if ends:
        yield "Records that end faults of this part:"
        yield ""
        yield from (f"- {_ENDS[end.by]}: {_code(end.words)}" for end in ends)
        yield ""


def _row(row: Row) -> Iterator[str]:
    yield f'<a id="{row.id}"></a>'
    yield ""
    yield f"### {row.id}"
    yield ""
    yield f"{_sentence(row)}. {row.meaning}"
    yield ""
    yield "```text"
    yield from row.examples
    yield "```"
    yield ""
    yield f"- Weight: {_WEIGHTS[row.weight]}."
    yield f"- Pattern: {_code(row.words)}"
    if row.then:
        yield f"- Counts with a later record: {_code(row.then)}"
    yield f"- Ends with: {', '.join([*(_ENDS[one] for one in row.ends), 'the boot'])}."
    yield f"- What to do: {' '.join(_step(row))}"
    yield f"- Source: {row.source}."
    if row.noise:
        yield "- Looks like it, and counts for nothing:"
        yield from (f"  - {_code(one)}" for one in row.noise)
    yield ""


def _step(row: Row) -> Iterator[str]:
    for step in row.steps:
        text = step.text.replace("{device}", "the device")
        command = step.command.replace("{pci}", "ADDRESS")
        yield f"{'If it comes back: ' if step.if_back else ''}{text}{f' {_code(command)}.' if command else ''}"


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.replace(chr(10), ' ')}{fence}"
