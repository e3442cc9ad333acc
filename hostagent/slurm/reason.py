"""The texts that hostagent writes to a node of Slurm, and which of a node's texts are its own."""

import json
import re
from collections.abc import Mapping
from typing import Any

from hostagent.core.escape import visible

PREFIX, QUARANTINE = "hostagent:", "quarantine:"
#: Characters of a reason.
LONGEST = 200
_CUT = "..."
#: Keys of Extra. An older hostagent writes no ``hostagent_multi``.
_EXTRA = {"hostagent": int, "hostagent_multi": int, "hostagent_class": str, "hostagent_coverage": str}
_COMMENT = re.compile(rf"{QUARANTINE} [A-Z][A-Za-z0-9]*")
#: Quotes end a value for many readers; a reason ends with brackets, in which Slurm writes who set it and when.
_UNSAFE = str.maketrans({'"': "", "'": "", "`": "", "[": "(", "]": ")", "\\": "/"})
#: What an Extra of a healthy node may not hold: readers look for words such as "unhealthy" from Comment= to the end of the line.
_CLASS = re.compile(r"[0-9A-Za-z._-]{1,64}")


def reason_text(code: str, headline: str, step: str) -> str:
    """One line of at most 200 characters without quotes.

    >>> reason_text("GpuOnBus", "GPU 4 has fallen off the PCIe bus", "Drain the node.")
    'hostagent: GpuOnBus: GPU 4 has fallen off the PCIe bus. Drain the node.'
    """
    found = headline.strip().rstrip(".")
    parts = (f"{code}:" if found else code, f"{found}." if found else "", step)
    text = " ".join(" ".join((PREFIX, *filter(None, parts))).split())
    line = visible(text.translate(_UNSAFE)).translate(_UNSAFE)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - len(_CUT)].rstrip()}{_CUT}"


def is_ours(reason: str) -> bool:
    """Whether a reason is hostagent's, also where a person has edited it behind the prefix.

    >>> is_ours("hostagent: GpuXid: ..., ticket 5"), is_ours("bob: hostagent: GpuXid"), is_ours("")
    (True, False, False)
    """
    return reason.startswith(PREFIX)


def comment_text(code: str) -> str:
    """Of a check's reason; "" where no check of the quarantine fails."""
    return f"{QUARANTINE} {code}" if code else ""


def is_our_comment(comment: str) -> bool:
    """People write that word, too, for readers that look for it.

    >>> is_our_comment("quarantine: GpuXid"), is_our_comment("quarantine: by bob since May")
    (True, False)
    """
    return _COMMENT.fullmatch(comment) is not None


def extra_text(*, is_placeable: bool, is_multi: bool, fabric_class: str, coverage: str) -> str:
    """Flat keys: a job's ``--extra`` compares top-level values. `is_multi`: whether jobs on several nodes may be placed there.

    >>> extra_text(is_placeable=True, is_multi=False, fabric_class="1-c0ffee", coverage="full")
    '{"hostagent":1,"hostagent_multi":0,"hostagent_class":"1-c0ffee","hostagent_coverage":"full"}'
    """
    words = {"hostagent_class": fabric_class, "hostagent_coverage": coverage}
    found = {
        "hostagent": int(is_placeable),
        "hostagent_multi": int(is_multi),
        **{key: word for key, word in words.items() if _CLASS.fullmatch(word)},
    }
    return json.dumps(found, separators=(",", ":"))


def our_extra(extra: str) -> Mapping[str, Any] | None:
    """The text of hostagent in Extra; None where it holds anything else, also next to that.

    >>> our_extra('{"hostagent":1}'), our_extra('{"hostagent":1,"rack":7}'), our_extra("rack 7"), our_extra("")
    ({'hostagent': 1}, None, None, None)
    """
    try:
        found = json.loads(extra)
    except (ValueError, RecursionError):
        return None
    is_own = isinstance(found, dict) and "hostagent" in found and all(isinstance(found[key], _EXTRA.get(key, ())) for key in found)
    return found if is_own else None
