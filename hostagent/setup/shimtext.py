"""The bash file that replaces TAO's script: its text, and its recognition."""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from hostagent.core.hashes import hexdigest

#: Below the root of a skill bank, in the order in which callers look for it.
FOLDERS = (
    "skills/tao-setup-nvidia-gpu-host/scripts",
    "platform/tao-setup-nvidia-gpu-host/scripts",
    "skills/platform/tao-setup-nvidia-gpu-host/scripts",
)
NAME = "setup-nvidia-gpu-host.sh"
#: Name of the backup of a file that is not ours.
KEPT = f"{NAME}.orig"

_ABOUT = b"# hostagent in the place of TAO's setup-nvidia-gpu-host.sh; 'hostagent setup --remove-shim' takes it away.\n"
_HEAD = re.compile(
    rb"#!/usr/bin/env bash\n" + re.escape(_ABOUT) + rb"# Before it: (?:(another file)|nothing, (\d) new director(?:y|ies))\.\n"
    rb"# sha256 of all other lines: ([0-9a-f]{64})\n"
)
_BODY = """\
words=({words})
gone={gone}
if [ -f "${{words[0]}}" ] && [ -x "${{words[0]}}" ]; then
  shopt -s execfail
  exec "${{words[@]}}" setup{exact} "$@"
fi
printf '%s\\n' "$gone" >&2
exit 1
"""


class Before(NamedTuple):
    """State before the shim. `kept`: a backup of another file. `made`: number of directories created for it, from its own upwards."""

    kept: bool
    made: int = 0

    def __str__(self) -> str:
        if self.kept:
            return "another file"
        return f"nothing, {self.made} new director{'y' if self.made == 1 else 'ies'}"


def shim(words: Sequence[str], gone: str, before: Before, *, exact: bool) -> bytes:
    """`words` start hostagent, and the arguments follow them; `gone` is printed where the first is no program any more."""
    body = _BODY.format(words=" ".join(map(shlex.quote, words)), gone=shlex.quote(gone), exact=" --exact" if exact else "")
    parts = (b"#!/usr/bin/env bash\n", _ABOUT, f"# Before it: {before}.\n".encode(), body.encode("utf-8", "surrogateescape"))
    return b"".join((*parts[:3], f"# sha256 of all other lines: {_digest(*parts)}\n".encode(), parts[3]))


def recognised(data: bytes) -> Before | None:
    """The state before a shim, from its text; None for any other file, and for a shim that was changed.

    >>> recognised(shim(["/opt/python"], "It has gone.", Before(kept=False, made=2), exact=True))
    Before(kept=False, made=2)
    >>> recognised(shim(["/opt/python"], "It has gone.", Before(kept=True), exact=False) + b"# mine")
    """
    head = _HEAD.match(data)
    if head is None:
        return None
    lines = data.splitlines(keepends=True)
    if _digest(*lines[:3], *lines[4:]) != head[3].decode():
        return None
    return Before(kept=True) if head[1] else Before(kept=False, made=int(head[2]))


def _digest(*parts: bytes) -> str:
    return hexdigest("sha256", b"".join(parts))
