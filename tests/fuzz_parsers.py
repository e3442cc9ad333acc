"""Every parser, and the loader of snapshots, on bytes that atheris finds by looking which lines they reach.

``python -m tests.fuzz_parsers SECONDS`` looks until one fails: by an exception that is no ``ValueError``, by taking time that is out of
proportion to its input, or more than 512 MiB, or ten seconds. ``python -m tests.fuzz_parsers FILE`` tries what it found again.
"""

import contextlib
import gc
import inspect
import os
import random
import sys
import time
import zlib
from pathlib import Path

PLACE = Path(__file__).parent.parent / ".hypothesis/atheris"
_MOST_BYTES, _MOST_MIB, _MOST_S = 4096, 512, 10
#: Whether time grows with the input is looked at where one takes so many seconds of the processor, and for one of so many inputs.
_SLOW_S, _ONE_OF = 0.05, 500
#: Bytes of what is repeated for that.
_SHORT, _LONG = 8 * 1024, 32 * 1024


def load_tape(data: bytes) -> None:
    """All that reads a snapshot from a file says what is wrong with it in a sentence."""
    from hostagent.core.errors import HostagentError
    from hostagent.host import recording

    path = f"/proc/self/fd/{_FILE}"
    os.ftruncate(_FILE, 0)
    os.pwrite(_FILE, data, 0)
    with contextlib.suppress(HostagentError):
        loaded = recording.load(path)
        backend = recording.ReplayBackend(loaded)
        for asked in loaded.answers:
            backend.ask(*asked.split(" "))


def call(function, given) -> float:
    """Seconds of the processor."""
    from hostagent.core.unread import UnreadError

    started = time.process_time()
    with contextlib.suppress(ValueError, UnreadError):
        found = function(**given)
        if inspect.isgenerator(found):
            for _ in found:
                pass
    return time.process_time() - started


def attempt(data: bytes, *, look: bool = False) -> None:
    """The first byte chooses who reads the rest. `look`: whether its time grows with it, too."""
    if len(data) > 1:
        name, text = NAMES[data[0] % len(NAMES)], data[1:].decode("utf-8", "surrogateescape")
        took = [call(TARGETS[name], given) for given in arguments(TARGETS[name], text, "\n")]
        if (look or max(took) > _SLOW_S or zlib.crc32(data) % _ONE_OF == 0) and not is_linear(name, text):
            raise OutOfProportionError(name)


class OutOfProportionError(Exception):
    """Four times of something took much more than four times as long."""


def is_linear(name: str, text: str) -> bool:
    gc.disable()
    try:
        short, long = (arguments(TARGETS[name], text * (size // len(text) + 1), "\n") for size in (_SHORT, _LONG))
        return all(_grows(TARGETS[name], *pair) for pair in zip(short, long, strict=True))
    finally:
        gc.enable()


def _grows(function, once, doubled) -> bool:
    """As `tests.test_linear` has it, under a parser that is watched."""
    long = call(function, doubled)
    short = call(function, once) if long > _SLOW_S / 5 else long
    for _ in range(12):
        if long < 8 * short:
            return True
        short, long = min(short, call(function, once)), min(long, call(function, doubled))
    return False


def seeds() -> None:
    """Something of everything for each, so that the first seconds are not spent on finding words; and the words."""
    corpus = PLACE / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    for at, name in enumerate(NAMES):
        for number in range(20):
            words = draw.sample([*PIECES, *UNITS], k=12)
            (corpus / f"{name}-{number}").write_bytes(bytes([at]) + "".join(words).encode("utf-8", "surrogateescape"))
        for number, (start, unit, end) in enumerate(UNENDED):
            (corpus / f"{name}-unended-{number}").write_bytes(bytes([at]) + f"{start}{unit * 3}{end}".encode())
    words = {word[:60] for word in (*PIECES, *UNITS)}
    escaped = ("".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogateescape")) for word in sorted(words))
    (PLACE / "words").write_text("".join(f'"{word}"\n' for word in escaped), encoding="ascii")


def main(argument: str) -> None:
    if os.path.exists(argument):
        data = Path(argument).read_bytes()
        print(f"{NAMES[data[0] % len(NAMES)]} reads {data[1:]!r}")  # noqa: T201  a program
        attempt(data, look=True)
        print("nothing is wrong with it")  # noqa: T201  a program
        return
    seeds()
    options = (
        *(f"-max_total_time={float(argument):.0f}", f"-rss_limit_mb={_MOST_MIB}", f"-timeout={_MOST_S}", f"-max_len={_MOST_BYTES}"),
        *(f"-artifact_prefix={PLACE}/found-", f"-dict={PLACE}/words", "-print_final_stats=1", "-verbosity=0"),
    )
    atheris.Setup([sys.argv[0], *options, str(PLACE / "corpus")], attempt)
    atheris.Fuzz()


watched = contextlib.nullcontext()
if __name__ == "__main__" and not os.path.exists(sys.argv[-1]):  # to try one again needs none
    import atheris

    watched = atheris.instrument_imports(include=["hostagent"])
with watched:
    from tests.parsers import PARSERS, PIECES, UNENDED, UNITS, arguments

_FILE = os.memfd_create("tape")
TARGETS = {**{name: parse for name, parse in PARSERS.items() if arguments(parse, "", "\n")}, "tape.load": load_tape}
NAMES = sorted(TARGETS)

if __name__ == "__main__":
    main(sys.argv[1])
