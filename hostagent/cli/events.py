"""``hostagent events``: an administrator acknowledges faults in the kernel log."""

import re
from typing import TYPE_CHECKING

import click

from hostagent.cli import SETTINGS, Group, examples
from hostagent.cli.options import DEADLINE, evidence
from hostagent.cli.streams import say
from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.engine.target import Evidence, open_host

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hostagent.core.unread import Unread
    from hostagent.facts.gpu import Clearing, GpuEvents
    from hostagent.facts.host import Identity
    from hostagent.facts.kernel_words import KernelEvent, KernelWords

_REASON_CHARACTERS = 200
#: As sysfs and as nvidia-smi write it.
_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", re.IGNORECASE)
_MOST = 20


@click.group("events", cls=Group, context_settings=SETTINGS, epilog=examples("hostagent events clear --help"))
def command() -> None:
    """Acknowledge faults in the kernel log."""


@command.command(
    "clear",
    epilog=examples(
        "hostagent events clear --dry-run --reason 'dcgmi diag -r 3 passed'",
        "hostagent events clear --dry-run --subject 0000:1b:00.0 --reason 'dcgmi diag -r 3 passed'",
    ),
)
@click.option(
    "--subject",
    default=None,
    callback=lambda _, __, value: _address(value),
    help="The GPU, NVSwitch, network card or port. Default: all.",
    metavar="PCI",
)
@click.option("--reason", required=True, callback=lambda _, __, value: _reason(value), help="Why; shown in the report.", metavar="TEXT")
@click.option("--dry-run", is_flag=True, help="Print what would be cleared, and change nothing.")
@click.option("--host-root", type=click.Path(), help="A live host whose / is mounted at DIR.", metavar="DIR")
@DEADLINE
def clear(subject: str, reason: str, dry_run: bool, host_root: str | None, deadline_s: float) -> int:
    """Acknowledge the Xids, SXids and other kernel words up to now: they no longer count until the next boot. Later ones do.

    Every report shows what was cleared, when and why. Faults that need a new board or a reboot cannot be cleared. Exit 0: cleared, or
    nothing to clear.
    2: usage, or hostagent could not run.
    """
    from hostagent.cli.changing import refuse_ordinary_user
    from hostagent.core.deadline import within
    from hostagent.install.clearing import add
    from hostagent.install.target import Target

    if not dry_run:
        refuse_ordinary_user()
    place, deadline = evidence(host_root, None, "", None, deadline_s), within(deadline_s)
    identity, events, words = _read(place)
    boot_id = identity.boot_id
    if not isinstance(boot_id, str):
        raise HostagentError(f"found no boot id ({boot_id.detail}), wanted one: a word counts for one boot", "Nothing is cleared")
    word = _acknowledgement(events, words, subject, reason)
    ours, others = _split(events, words, word)
    if not ours and events.log_complete is True:
        say(
            f"The kernel log has nothing to clear{f' of {subject}' if subject else ''}.",
            *_lines_of_others(others),
            *_elsewhere(events, words, subject),
        )
        return 0
    if not dry_run:
        add(Target(place), boot_id, word, deadline.ends)
    say(*_lines(ours, subject, dry_run=dry_run), *_lines_of_others(others))
    if not dry_run:
        say("This holds until the next boot, and each report shows it with its reason. What is logged from now on counts again.")
    return 0


def _address(value: "str | None") -> str:
    """As our addresses are; "" for all. Raises ``click.BadParameter``."""
    if value is None:
        return ""
    match = _ADDRESS.fullmatch(value)
    if not match:
        raise click.BadParameter(f"found {value!r:.60}, wanted a PCI address such as 0000:1b:00.0")
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function or '0'}".lower()


def _reason(value: str) -> str:
    text = visible(" ".join(value.split()))
    if not text or len(text) > _REASON_CHARACTERS:
        found = f"{len(text)} characters" if text else "no text"
        raise click.BadParameter(f"found {found}, wanted 1 to {_REASON_CHARACTERS} characters")
    return text


def _read(place: Evidence) -> "tuple[Identity, GpuEvents, tuple[KernelEvent, ...]]":
    from hostagent.core.unread import Unread
    from hostagent.facts.gpu import GpuEvents
    from hostagent.facts.host import Identity
    from hostagent.facts.kernel_words import KernelWords

    with open_host(place, ("Identity", "GpuEvents", "KernelWords")) as reading:
        facts = reading.collect().facts
    identity, events = facts.of(Identity), facts.of(GpuEvents)
    gap = identity if isinstance(identity, Unread) else events if isinstance(events, Unread) else events.xids
    if isinstance(gap, Unread):
        raise HostagentError(f"cannot read the kernel log: {gap.detail}", "Nothing is cleared: nobody knows what")
    return identity, events, _words(facts.of(KernelWords))


def _words(words: "KernelWords | Unread") -> "tuple[KernelEvent, ...]":
    """Events of all parts; a part that could not be read has none."""
    from hostagent.core.unread import Unread

    if isinstance(words, Unread):
        return ()
    parts = (words.gpu, words.module, words.pci, words.nic, words.memory, words.volume)
    return tuple(event for part in parts if not isinstance(part, Unread) for event in part)


def _acknowledgement(events: "GpuEvents", words: "tuple[KernelEvent, ...]", subject: str, reason: str) -> "Clearing":
    """The acknowledgement covers the records that exist, whatever the clock says: a new one counts."""
    from hostagent.core.unread import Unread, need
    from hostagent.facts.gpu import Clearing

    faults = (*need(events.xids), *need(events.sxids))
    times = (*(one.seconds for one in faults), *(one.seconds for one in words), *(one.at for one in need(events.ends)), events.log_oldest)
    upto = max((one for one in times if not isinstance(one, Unread)), default=0.0)
    return Clearing(subject, upto, upto if isinstance(events.uptime, Unread) else max(events.uptime, upto), reason)


def _split(events: "GpuEvents", words: "tuple[KernelEvent, ...]", word: "Clearing") -> "tuple[list[str], list[str]]":
    """Faults that the acknowledgement clears, and those that need a new board or a reboot."""
    from hostagent.core.unread import need
    from hostagent.domains.gpu import kernel_events
    from hostagent.domains.gpu.faults import covers, is_cleared, may_be_cleared

    faults = [("xid", "Xid", one) for one in need(events.xids)] + [("sxid", "SXid", one) for one in need(events.sxids)]
    ours, others = list[str](), list[str]()
    for kind, name, one in faults:
        if covers(word, one) and not is_cleared(one, events, kind):
            mine = ours if may_be_cleared(one.code, kind) else others
            mine.append(f"{name} {one.code} of {one.pci or 'a device without an address'}")
    for event in words:
        if kernel_events.covers(word, event) and not event.ended_by:
            mine = ours if kernel_events.may_be_cleared(event) else others
            mine.append(f"{event.row} of {event.subject or 'the host'}")
    return list(dict.fromkeys(ours)), list(dict.fromkeys(others))


def _lines(ours: "list[str]", subject: str, *, dry_run: bool) -> "Iterable[str]":
    verb = "Would clear" if dry_run else "Cleared"
    if not ours:
        device = f" of {subject}" if subject else ""
        yield f"{verb} the faults{device} that the kernel log has lost: it begins after the boot, and shows none."
        return
    yield f"{verb}:"
    yield from (f"  {one}" for one in ours[:_MOST])
    if len(ours) > _MOST:
        yield f"  and {len(ours) - _MOST} more"


def _lines_of_others(others: "list[str]") -> "Iterable[str]":
    if others:
        yield "Not cleared, because only a new board or a reboot ends it:"
        yield from (f"  {one}" for one in others[:_MOST])


def _elsewhere(events: "GpuEvents", words: "tuple[KernelEvent, ...]", subject: str) -> "Iterable[str]":
    """The devices that do have faults, as help for a mistyped address."""
    from hostagent.core.unread import need

    addresses = [*(one.pci for one in (*need(events.xids), *need(events.sxids))), *(one.subject for one in words)]
    found = sorted({one for one in addresses if one} - {subject})
    if subject and found:
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        yield f"The log has faults of {', '.join(found[:_MOST])}{more}."
