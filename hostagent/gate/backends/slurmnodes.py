"""The nodes of a Slurm cluster as its own programs list them: JSON where the release has it, else text. A document with errors, without
nodes, or of another shape is a failure.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Protocol

from hostagent.core.escape import visible
from hostagent.slurm.client import Answer, SlurmError, last_line
from hostagent.slurm.node import Node, parse_nodes, states_of, unused

#: Seconds of a call that lists the cluster. Clients give up by themselves 10 s after slurmctld's last word (MessageTimeout); ten thousand
#: nodes take sinfo a second.
LISTING_S = 30.0
#: The first release in which `scontrol show nodes` writes JSON: before, only sinfo does.
_SCONTROL_WRITES_JSON = (23, 2)
#: The newest data_parser of each release that offers a choice (slurm's src/plugins/data_parser), which its two successors have, too. Of a
#: later release the last one here is asked. `--json=list` would say it, after a wait for slurmctld.
_PARSERS = {(23, 11): 40, (24, 5): 41, (24, 11): 42, (25, 5): 43, (25, 11): 44, (26, 5): 45}
_RELEASE = re.compile(r"\b([0-9]{2})\.([0-9]{1,2})\b")
_TEXT = ("show", "nodes", "-o", "-d", "-a")
#: A client's message when slurmctld does not answer: the same question in another form would wait as long again.
_SILENT = re.compile(r"timed out|unable to contact|connect failure|connection refused|slurm_load_|authentication|munge", re.IGNORECASE)
_MOST = 1 << 53


class Asking(Protocol):
    """The methods of ``hostagent.slurm.client.Client`` in use. Raises ``SlurmError``."""

    def ask(self, name: str, *arguments: str, seconds: float = 0.0) -> Answer: ...


def read_nodes(client: Asking) -> tuple[Node, ...]:
    """All nodes. Raises ``SlurmError``."""
    name, arguments = _in_json(client)
    answer = client.ask(name, *arguments, seconds=LISTING_S)
    try:
        document = json.loads(answer.out)
    except (ValueError, RecursionError):
        if _SILENT.search(answer.err):
            raise SlurmError(f"{name} failed: {last_line(answer)}") from None
        return _in_text(client)  # the plug-in for JSON is a package of its own
    return parse_document(document, name)


def _in_json(client: Asking) -> tuple[str, tuple[str, ...]]:
    answer = client.ask("scontrol", "--version")
    found = _RELEASE.search(answer.out)
    if answer.status:
        raise SlurmError(f"scontrol --version failed: {last_line(answer)}")
    if not found:
        raise SlurmError(f"scontrol --version said {last_line(answer)}, wanted a version of Slurm")
    release = int(found[1]), int(found[2])
    if release < _SCONTROL_WRITES_JSON:
        return "sinfo", ("--all", "--json")
    known = [number for since, number in _PARSERS.items() if since <= release]
    pin = f"=v0.0.{max(known)}" if known else ""
    return "scontrol", ("show", "nodes", "-a", f"--json{pin}")


def _in_text(client: Asking) -> tuple[Node, ...]:
    answer = client.ask("scontrol", *_TEXT, seconds=LISTING_S)
    if answer.status:
        raise SlurmError(f"scontrol show nodes failed: {last_line(answer)}")
    found = parse_nodes(answer.out)
    if not found:
        raise SlurmError(f"scontrol show nodes shows no node: {last_line(answer)}")
    return found


def parse_document(document: Any, name: str) -> tuple[Node, ...]:
    """The nodes of a document of any release. Raises ``SlurmError`` where it has errors, no nodes, or another shape."""
    if type(document) is not dict:
        raise SlurmError(f"{name} --json printed JSON of another kind, wanted nodes")
    if errors := document.get("errors"):
        raise SlurmError(f"{name} --json has errors: {_words(errors)}")
    rows = document.get("nodes")
    if type(rows) is not list or not rows:
        raise SlurmError(f"{name} --json shows no node")
    return tuple(_node(row, name) for row in rows)


def _words(errors: Any) -> str:
    first = errors[0] if type(errors) is list else errors
    values = [first.get(key) for key in ("description", "error", "source")] if type(first) is dict else [first]
    return visible(", ".join(dict.fromkeys(one for one in values if type(one) is str and one)))[:300] or "without a text"


def _node(row: Any, program: str) -> Node:
    if type(row) is not dict or not _text(row.get("name")):
        raise SlurmError(f"{program} --json shows a node without a name")
    get = row.get
    memory, used = _whole(get("real_memory")), _whole(get("alloc_memory"))
    free = [
        unused(_whole(get("effective_cpus", get("cpus"))), _whole(get("alloc_cpus"))),
        _whole(get("idle_cpus", get("alloc_idle_cpus"))),
    ]
    known = [one for one in free if one is not None]
    return Node(
        name=row["name"],
        states=_states(get("state"), get("state_flags")),
        gres=_text(get("gres")),
        reason=_text(get("reason")),
        reason_by=_text(get("reason_set_by_user")),
        reason_at=float(_whole(get("reason_changed_at")) or 0),
        comment=_text(get("comment")),
        extra=_text(get("extra")),
        host=_text(get("hostname")),
        partitions=tuple(one for one in get("partitions") or () if type(one) is str) if type(get("partitions")) is list else (),
        gres_used=get("gres_used") if type(get("gres_used")) is str else None,
        booted_at=float(_whole(get("boot_time")) or 0),
        free_cpus=min(known, default=None),
        free_memory=unused(unused(memory, used), _whole(get("specialized_memory", 0))),
        used_memory=used,
        owner=str(get("owner")) if type(get("owner")) in (str, int) else "",
    )


def _states(state: Any, flags: Any) -> frozenset[str]:
    """A word and a list of flags (22.05), or a list; with any other shape the node does not serve."""
    words = [state] if type(state) is str else state if type(state) is list else []
    more = flags if type(flags) is list else [] if flags is None else ["UNKNOWN"]
    found = [one if type(one) is str and one else "UNKNOWN" for one in (*words, *more)]
    return states_of("+".join(found)) if words else frozenset({"UNKNOWN"})


def _text(found: Any) -> str:
    return found if type(found) is str else ""


def _whole(found: Any) -> int | None:
    """A number of Slurm: plain, or an object of the later data_parsers. None for one that is not set, infinite, or of another type."""
    if isinstance(found, Mapping):
        found = found.get("number") if found.get("set") is True and found.get("infinite") is not True else None
    return found if type(found) is int and 0 <= found < _MOST else None
