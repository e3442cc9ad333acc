"""One pass of ``hostagent setup`` over a host, and the lines that are printed of it."""

import os
from typing import TYPE_CHECKING, NamedTuple

from hostagent.cli.options import prepared_for
from hostagent.cli.streams import put, say
from hostagent.engine.target import Evidence, open_host
from hostagent.setup import KINDS

if TYPE_CHECKING:
    from hostagent.engine.collection import Reading
    from hostagent.engine.pipeline import Prepared
    from hostagent.engine.report import Report
    from hostagent.facts.hostfacts import HostFacts
    from hostagent.setup.request import Request
    from hostagent.setup.tool_output import Tools
    from hostagent.setup.verdict import Verdict


class Seen(NamedTuple):
    """What the lines are made of, beside what is asked."""

    facts: "HostFacts"
    report: "Report"
    tools: "Tools"
    prepared: "Prepared"  # what the report is judged by


def looked(request: "Request", place: Evidence, profile_name: str, *, asking: bool = True) -> Seen:
    """One pass over the host, as ``check`` makes it, and meanwhile the tools: of this machine alone, and where they are asked."""
    from hostagent.engine.collect import READERS
    from hostagent.host.caller_tools import ToolRun, running_tools
    from hostagent.setup.tools import asks

    wanted = {name: ToolRun(*one) for name, one in asks(request).items()} if asking and place.is_this_machine else {}
    kinds = (*READERS, *KINDS)
    with running_tools(wanted, os.environ) as pending:
        with open_host(place, kinds) as reading:
            prepared = prepared_for(place, profile_name)
            facts, report = _judged(reading, prepared._replace(kinds=kinds))
        heard = pending.answers()
    from hostagent.setup.tools import Said, answered

    return Seen(facts, report, answered({name: Said(*one) for name, one in heard.items()}, _names(facts)), prepared)


def _judged(reading: "Reading", prepared: "Prepared") -> "tuple[HostFacts, Report]":
    """The report of ``check``: by the whole of the profile."""
    from hostagent.engine import pipeline

    collected = reading.collect(pipeline.policy_of(prepared))
    return collected.facts, pipeline.judge(collected, reading, prepared)


def _names(facts: "HostFacts") -> tuple[str, ...]:
    """What this machine may be called as a node: a kubelet takes the host's name in small letters."""
    from hostagent.core.unread import Unread
    from hostagent.facts.host import Identity

    found = facts.of(Identity)
    name = "" if isinstance(found, Unread) or isinstance(found.hostname, Unread) else found.hostname
    return tuple(filter(None, (os.environ.get("NODE_NAME", ""), name, name.lower())))


def told(request: "Request", seen: Seen, *, as_json: bool = False) -> int:
    """The lines, or the report with them; the exit code that they mean."""
    from hostagent.setup.verdict import verdict

    return shown(request, verdict(request, seen.facts, seen.tools, seen.report), seen.report, as_json=as_json)


def shown(request: "Request", found: "Verdict", report: "Report", *, as_json: bool) -> int:
    if as_json:
        from hostagent.outputs.json import render_json
        from hostagent.setup.document import document

        put(render_json(document(request, found, report)))
    else:
        say(*map(str, found.lines))
    return found.exit
