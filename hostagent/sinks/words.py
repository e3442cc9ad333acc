"""How a verdict is printed."""

from collections.abc import Mapping

from hostagent.vocabulary import Verdict

WORDS: Mapping[Verdict, str] = {"not_ready": "NOT READY", "ready": "READY", "degraded": "DEGRADED", "unknown": "UNKNOWN"}
