"""Bytes of a log as blocks of whole lines, in bounded memory: compressed or not, in UTF-16, with lines of any length."""

# A .gz that unpacks to more than 256 MiB at more than 300 times its size is refused. Patterns run over blocks of a megabyte,
# never over lines. Figures: tests/bench/RESULTS.md.

import codecs
import zlib
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

#: A line that has more bytes comes in pieces.
MAX_LINE = 1024 * 1024
_GZIP = b"\x1f\x8b"
_PIECE = 1024 * 1024
#: What unpacks to more than so many bytes, at more than so many times its size, is no log.
_BOMB_BYTES, _BOMB_TIMES = 256 * 1024 * 1024, 300
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class BombError(ValueError):
    """A compressed file that expands beyond the limits."""


#: Bytes between two places of a block at which its lines are counted.
_STEP = 64 * 1024


class Block(NamedTuple):
    """Some lines of a log."""

    data: bytes
    line: int  # the number of the first
    is_whole: bool  # whether the last one ends here
    lines: tuple[int, ...]  # by how many lines end before each step, and in all of it

    @classmethod
    def of(cls, data: bytes, line: int, *, is_whole: bool) -> "Block":
        counts = (data.count(b"\n", at, at + _STEP) for at in range(0, len(data), _STEP))
        return cls(data, line, is_whole, tuple(accumulate(counts, initial=0)))

    def number(self, position: int) -> int:
        r"""The number of the line at this place; each line is counted only once.

        >>> Block.of(b"a\nb\n", 7, is_whole=True).number(2)
        8
        """
        at = position // _STEP
        return self.line + self.lines[at] + self.data.count(b"\n", at * _STEP, position)


def blocks(chunks: Iterable[bytes]) -> Iterator[Block]:
    r"""Blocks of whole lines.

    >>> [block[:3] for block in blocks([b"a\nb", b"c\nd"])]
    [(b'a\n', 1, True), (b'bc\n', 2, True), (b'd', 3, False)]
    """
    rest, line = b"", 1
    for chunk in _decoded(chunks):
        data = rest + chunk if rest else chunk
        cut = data.rfind(b"\n") + 1
        rest = data[cut:]
        if cut:
            block = Block.of(data[:cut], line, is_whole=True)
            yield block
            line += block.lines[-1]
        if len(rest) > MAX_LINE:  # the end of a record is unknown here: those at the cut are lost
            yield Block.of(rest, line, is_whole=False)
            rest = b""
    if rest:
        yield Block.of(rest, line, is_whole=False)


def _decoded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """As UTF-8, where it is UTF-16; everything else as it is."""
    decoder = None
    for number, chunk in enumerate(chunks):
        if number == 0 and (name := _encoding(chunk)):
            decoder = codecs.getincrementaldecoder(name)("replace")
        yield decoder.decode(chunk).encode("utf-8", "replace") if decoder else chunk


def _encoding(head: bytes) -> str:
    r"""By its byte order mark, or by the text that each log has.

    >>> _encoding(b"\xff\xfeN\0"), _encoding("x NCCL".encode("utf-16-be")), _encoding(b"NCCL")
    ('utf-16-le', 'utf-16-be', '')
    """
    if head[:2] in _UTF16:
        return _UTF16[head[:2]]
    at = head[:65536].find(b"N\0C\0C\0L")
    return "" if at < 0 else "utf-16-be" if at % 2 else "utf-16-le"


def unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decompresses gzip; passes anything else. A damaged or cut file gives the data before the damage; raises ``BombError``."""
    source = iter(chunks)
    head = next(source, b"")
    while 0 < len(head) < 2:
        more = next(source, b"")
        if not more:
            break
        head += more
    if not head.startswith(_GZIP):
        if head:
            yield head
        yield from source
        return
    packed = unpacked_bytes = 0
    inflater, data = zlib.decompressobj(wbits=31), head
    while data:
        packed += len(data)
        while data:
            try:
                piece = inflater.decompress(data, _PIECE)
            except zlib.error:
                return
            unpacked_bytes += len(piece)
            if unpacked_bytes > _BOMB_BYTES and unpacked_bytes > _BOMB_TIMES * packed:
                raise BombError(f"found {packed} bytes that unpack to more than {unpacked_bytes}, wanted a log")
            if piece:
                yield piece
            data = inflater.unconsumed_tail
            if inflater.eof:  # another member may follow, of logs that were rotated into one file
                data = inflater.unused_data.lstrip(b"\0")
                inflater = zlib.decompressobj(wbits=31)
        data = next(source, b"")
