"""Flags with which a unit would start a daemon that does not run."""

import re

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_APPLICABLE, Unread, need, then
from hostagent.domains.system.retention import FLAGS
from hostagent.facts.host import Unit
from hostagent.host.source import Source

_FLAG = rf"(?<![\w-])({'|'.join(sorted(map(re.escape, FLAGS), key=len, reverse=True))})(?:=|\s)\s*([^\s\"']+)"
#: In a file of shell variables, quoted or not.
_IN_ENVIRONMENT = Keep("matches", (_FLAG,))


@stops_at_unread
def unit_flags(source: Source, unit: "Unit | Unread") -> "tuple[str, ...]":
    """Command-line arguments from ExecStart, Environment and the files of EnvironmentFile; none without a unit."""
    text = then(unit, lambda one: one.text)
    if isinstance(text, Unread) and text.why in NOT_APPLICABLE:
        return ()
    lines = [line.strip() for line in re.sub(r"\\\n\s*", " ", need(text)).splitlines()]
    started: list[str] = []
    for line in lines:
        key, _, value = line.partition("=")
        if key == "ExecStart" and not value.strip():
            started.clear()
        elif key in ("ExecStart", "Environment"):
            started.append(value)
        elif key == "EnvironmentFile" and value.strip().lstrip("-").startswith("/"):
            started.append(need(source.text(value.strip().lstrip("-"), keep=_IN_ENVIRONMENT, absent="")))
    return tuple(word for found in re.findall(_FLAG, " ".join(started)) for word in found)
