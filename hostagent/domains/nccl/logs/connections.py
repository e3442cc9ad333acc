"""Finds connections over the network in a log: most of the log of a large job, repeated for each channel and peer.

A rank that writes alone has runs of such lines, and a run costs one match. Where ranks write at the same time, all lines of a block are
matched at once. Each part of a pattern is bounded: no line takes longer than others.
"""

import re
from collections.abc import Iterator
from typing import Any

_NET = b" via NET/"
#: Of ``A[x] -> B[y] [send] via NET/…`` what its writer is and uses: A and the network; B where it receives. What lies within a host is left
#: out at once. ``[^ ]`` for ``\S`` saves a seventh; what is read wrongly with it has no record's head before it.
_ENDS = re.compile(
    rb" : (?=[^ ]{1,99} -> [^ ]{1,99} \[)"
    rb"(?:([^ ]+ -)> [^ ]+ \[send\] (via NET/[^\n]{0,180})|[^ ]+ -> ([^ ]+ \[receive\] via NET/[^\n]{0,180}))\n"
)
#: A whole such line, and all that follow it with the same head and connection, whether they send or receive.
_RUN = re.compile(
    rb"\n([^\n]{0,150}NCCL INFO (?:Channel|Ring) )[^ ]{1,20} : (?:[^ ]{1,99} -> (?=[^ ]{1,99} \[r))?([^ ]{1,99}) (?:-> [^ ]{1,99} )?"
    rb"\[(send|receive)\]( via NET/[^\n]{0,180})\n(?:\1[^ ]{1,20} : (?:\2 -> [^ ]{1,99} \[send\]|[^ ]{1,99} -> \2 \[receive\])\4\n)*"
)
#: Bytes before what is looked for in which a line begins that may be of a run.
_BEFORE = 450
#: So many runs of a single line in a block, and its ranks write at the same time.
_MOST_SINGLE = 20
#: More of them are not remembered.
_MOST = 200_000


class Ends:
    """Finds new ends of connections, each once."""

    def __init__(self) -> None:
        self._known: set[tuple[bytes | Any, ...]] = set()

    def new(self, data: bytes) -> Iterator[int]:
        """Places of ends that are not known yet, in their order, and of records in another form or on a line with others."""
        at = singles = 0
        while singles < _MOST_SINGLE and (at := data.find(_NET, at)) >= 0:
            line = data.rfind(b"\n", max(0, at - _BEFORE), at)
            run = _RUN.match(data, line) if line >= 0 else None
            if run is None or run.start(4) != at:
                yield at
                singles, at = singles + 1, at + len(_NET)
                continue
            if (key := run.group(1, 2, 3, 4)) not in self._known:
                if len(self._known) < _MOST:
                    self._known.add(key)
                yield at
            singles += run.end() == run.end(4) + 1
            at = run.end() - 1
        if at >= 0:
            yield from self._each(data, at)

    def _each(self, data: bytes, at: int) -> Iterator[int]:
        """The same from there on, all lines at once. Its keys differ from those of runs: an end may be found once more."""
        ends = list(_ENDS.finditer(data, at))
        firsts = {one.groups(): one for one in reversed(ends)}
        new = {key: one for key, one in firsts.items() if key not in self._known}
        if len(ends) == data.count(_NET, at) and all(_is_one_record(data, one) for one in new.values()):
            if len(self._known) < _MOST:
                self._known.update(new)
            yield from sorted(map(re.Match.start, new.values()))
            return
        while (at := data.find(_NET, at)) >= 0:  # with or without text before and after
            yield at
            at += len(_NET)


def _is_one_record(data: bytes, one: "re.Match[bytes]") -> bool:
    """Whether its line is one record and nothing else."""
    begin = data.rfind(b"\n", 0, one.start()) + 1
    return data.count(b"NCCL INFO ", begin, one.start()) == data.count(b"NCCL ", begin, one.end()) == 1
