"""A node as ``scontrol show node -o`` prints it."""

# 22.05 prints a node as JSON by sinfo alone, which asks for all nodes, and shapes differ between releases, so the text is read.
# Free texts come last, and each may hold what looks like the next field: a reason ends at its [user@time], a comment at the last
# ` Extra=`. 24.11 leaves a reason on a node in service after RESUME, and slurmctld's next drain has the old text and time.

import re
from collections.abc import Iterator

from hostagent.core.frozen import frozen

_START = "NodeName="
_STATE = re.compile(r" State=(\S+)")
#: Each field of one word that is read; those of free text come after them.
_FIELD = re.compile(
    r" (Gres|GresUsed|NodeHostName|Partitions|BootTime|CPUAlloc|CPUEfctv|CPUTot|RealMemory|AllocMem|MemSpecLimit|Owner)=(\S*)"
)
#: The fields after the last one that has no free text. Each is printed only where it is set.
_TAIL = re.compile(r" (?:Reason|Comment|Extra)=")
#: Fields of one word that newer releases print after them.
_LATER_NAMES = "InstanceId|InstanceType|ReservationName|TLSCertTokenSet|TLSCertLastRenewal"
_LATER = re.compile(rf"(?: (?:{_LATER_NAMES})=\S*)+\Z")
_STAMP = re.compile(r" \[([^\s\[\]]{1,128})@([^\s@\[\]]{1,40})\]")
#: What may follow the stamp that ends a reason.
_NEXT = re.compile(rf"(?: (?:Comment|Extra|{_LATER_NAMES})=|\s*\Z)")
_MOST_DIGITS = 15
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)")
#: Short forms: symbols behind the base state, and older names of flags.
_SYMBOLS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINT",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
_NAMES = {
    "DRAINED": "DRAIN",
    "DRAINING": "DRAIN",
    "FAILING": "FAIL",
    "INVAL": "INVALID_REG",
    "INVALID": "INVALID_REG",
    "MAINTENANCE": "MAINT",
}

#: A node in one of these is not registered, off, starting or about to reboot: nothing at all is written.
_NOT_WRITTEN = ("UNKNOWN", "FUTURE", "DYNAMIC_FUTURE")
_NOT_WRITTEN_STARTS = ("POWER", "REBOOT")
_DOWN = frozenset({"DOWN", "FAIL", "ERROR", "INVALID_REG"})
_OUT = _DOWN | {"DRAIN"}
_KEEPS_DRAIN = _DOWN | {"MAINT"}


@frozen
class Node:
    """``states``: the base state and all flags, in capitals, one name each. ``gres``: what Slurm gives out there, "(null)" for nothing.
    ``gres_used``: None if it was not asked (scontrol -d). Times are in seconds since the epoch, 0 if unknown. Free processors and MiB: what
    running jobs leave, None if unknown. ``owner``: the one user that may run jobs on it, "" for any.
    """

    name: str
    states: frozenset[str]
    gres: str
    reason: str
    reason_by: str
    reason_at: float
    comment: str
    extra: str
    host: str = ""
    partitions: tuple[str, ...] = ()
    gres_used: str | None = None
    booted_at: float = 0.0
    free_cpus: int | None = None
    free_memory: int | None = None
    used_memory: int | None = None
    owner: str = ""


def parse_nodes(text: str) -> tuple[Node, ...]:
    """All nodes in the output; times in it are UTC. A free text with a line break goes on in the next line."""
    return tuple(_node(line) for line in _records(text))


def must_not_be_written(states: frozenset[str]) -> bool:
    """Whether nothing may be written to a node in these states."""
    return not states.isdisjoint(_NOT_WRITTEN) or any(one.startswith(_NOT_WRITTEN_STARTS) for one in states)


def is_out(node: Node) -> bool:
    """Whether it takes no jobs by its state. Slurm keeps a reason of a node in service at times."""
    return not node.states.isdisjoint(_OUT)


def may_resume(node: Node) -> bool:
    """Whether RESUME does no more than end a drain."""
    return "DRAIN" in node.states and node.states.isdisjoint(_KEEPS_DRAIN) and not must_not_be_written(node.states)


def _records(text: str) -> Iterator[str]:
    record = ""
    for line in text.split("\n"):
        if line.startswith(_START) and _STATE.search(line):
            if record:
                yield record
            record = line
        elif record:
            record += f"\n{line}"
    if record:
        yield record


def _node(record: str) -> Node:
    state = _STATE.search(record)
    assert state is not None  # `_records` has looked
    first = _TAIL.search(record, state.end())
    tail = _LATER.sub("", record[first.start() :].rstrip()) if first else ""
    reason, by, at, rest = _reason(tail)
    comment, extra = _texts(rest)
    get = dict(_FIELD.findall(record, 0, first.start() if first else len(record))).get
    memory, used = _number(get("RealMemory")), _number(get("AllocMem"))
    return Node(
        name=record[len(_START) :].split(" ", 1)[0],
        states=states_of(state[1]),
        gres=get("Gres", ""),
        reason=reason,
        reason_by=by,
        reason_at=at,
        comment=comment,
        extra=extra,
        host=get("NodeHostName", ""),
        partitions=tuple(get("Partitions", "").split(",")) if get("Partitions") else (),
        gres_used=get("GresUsed"),
        booted_at=seconds_of(get("BootTime", "")),
        free_cpus=unused(_number(get("CPUEfctv", get("CPUTot"))), _number(get("CPUAlloc"))),
        free_memory=unused(unused(memory, used), _number(get("MemSpecLimit", "0"))),
        used_memory=used,
        owner="" if get("Owner", "N/A") == "N/A" else get("Owner", ""),
    )


def unused(whole: int | None, used: int | None) -> int | None:
    """The unused part; None where one of both is not known."""
    return None if whole is None or used is None else whole - used


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def states_of(text: str) -> frozenset[str]:
    """Base state and flags.

    >>> sorted(states_of("IDLE+DRAIN+REBOOT_REQUESTED")), sorted(states_of("DOWN*+DRAIN"))
    (['DRAIN', 'IDLE', 'REBOOT_REQUESTED'], ['DOWN', 'DRAIN', 'NOT_RESPONDING'])
    """
    found = set[str]()
    for word in text.upper().split("+"):
        bare = word.rstrip("".join(_SYMBOLS))
        found |= {_SYMBOLS[letter] for letter in word[len(bare) :]}
        found.add(_NAMES.get(bare, bare))
    return frozenset(found - {""})


def _reason(tail: str) -> tuple[str, str, float, str]:
    """Text, author, time, and what follows. The stamp is the first one that a field or the end follows: were it a later one, a comment
    with brackets would count as part of the reason, and as no comment. A reason of slurm.conf has no stamp, and nothing shows where it
    ends: all of it counts as the comment and as Extra, too.
    """
    head = " Reason="
    if not tail.startswith(head):
        return "", "", 0.0, tail
    stamps = list(_STAMP.finditer(tail))
    stamp = next((one for one in stamps if _NEXT.match(tail, one.end())), None)
    if stamp is None:
        text = tail[len(head) :]
        return text, "", 0.0, f" Comment={text} Extra={text}"
    return tail[len(head) : stamp.start()], stamp[1], seconds_of(stamp[2]), tail[stamp.end() :]


def seconds_of(text: str) -> float:
    """Since the epoch, of a time in UTC as scontrol prints it; 0 for any other text.

    >>> seconds_of("2026-11-30T00:00:01"), seconds_of("None")
    (1795996801.0, 0.0)
    """
    found = _TIME.fullmatch(text)
    if not found:
        return 0.0
    from datetime import datetime, timezone

    try:
        return datetime(*map(int, found.groups()), tzinfo=timezone.utc).timestamp()  # type: ignore[arg-type,misc]
    except ValueError:
        return 0.0


def _texts(rest: str) -> tuple[str, str]:
    """Comment and Extra. A comment that holds ``Extra=`` itself ends at the last one: Extra is the field that is printed after it."""
    comment_at, extra_at = rest.find(" Comment="), rest.rfind(" Extra=")
    if comment_at < 0:
        return "", rest[extra_at + len(" Extra=") :].strip() if extra_at >= 0 else ""
    end = extra_at if extra_at > comment_at else len(rest)
    comment = rest[comment_at + len(" Comment=") : end].strip()
    return comment, rest[end + len(" Extra=") :].strip() if end < len(rest) else ""
