"""Display names of verdicts."""

from collections.abc import Mapping

from hostagent.core.vocabulary import Verdict

WORDS: Mapping[Verdict, str] = {"not_ready": "NOT READY", "ready": "READY", "degraded": "DEGRADED", "unknown": "UNKNOWN"}

#: Found values that need no subject, because the message has it.
_ONE_WORD = ("", "none", "0", "missing", "stopped", "off", "disabled", "excluded", "unreadable")
SAID = frozenset((*_ONE_WORD, "not loaded", "not running", "not installed", "not said", "none held"))
