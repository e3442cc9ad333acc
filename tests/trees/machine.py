"""The machine that this runs on, shortened to a tape that may be shown: ``python -m tests.trees.machine NAME``.

What is left out is said in the README.md beside the tape. Redaction takes ids, addresses and the host's name; this takes
names of mirrors, the vendor's part of the kernel's name, and what no collector looks at in the three largest answers.
"""

import re
import sys
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hostagent import snapshot
from hostagent.domains.packages.tables.names import FAMILIES
from hostagent.engine.collect import ALL_READERS
from hostagent.engine.target import Evidence, open_host
from hostagent.host.recording import Tape
from tests.trees import formats
from tests.trees.record import KEY, adopt

_DRIVER_NAMES = re.compile("nvidia|cuda")
_HOST_IN_URI = re.compile(r"(?<=://)[^/\s]+|(?<=Pin: origin )\S+")
_KEPT_WORDS = frozenset({"ro", "quiet", "nomodule", "console=ttyS0"})


def _text(change: Callable[[str], str]) -> Callable[[Any], Any]:
    return lambda answer: {"text": change(answer["text"])} if "text" in answer else answer


def _names(keep: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda answer: {"json": [name for name in answer["json"] if keep(name)]} if "json" in answer else answer


def _status(text: str) -> str:
    kept = (stanza for stanza in text.split("\n\n") if stanza.startswith(tuple(f"Package: {family}" for family in FAMILIES)))
    wanted = ("Package", "Status", "Architecture", "Version", "Source", "Maintainer")
    short = ("\n".join(line for line in stanza.split("\n") if line.startswith(wanted)) for stanza in kept)
    return re.sub(r"<[^>\n]*>", "<maintainer@example.invalid>", "\n\n".join(short) + "\n")


_SHORTER = (
    (re.compile(r"read /var/lib/dpkg/status "), _text(_status)),
    (re.compile(r"list /usr/lib/[^/]+-linux-gnu$"), _names(_DRIVER_NAMES.search)),
    (re.compile(r"read /etc/ld\.so\.cache "), lambda _: {"base64": b64encode(formats.linker_cache(())).decode()}),
    (re.compile(r"list /sys/module$"), _names(lambda name: "proxy" not in name)),
    (re.compile(r"list /etc/apt/sources\.list\.d$"), _names(lambda name: name.endswith((".list", ".sources")))),
    (re.compile(r"read /etc/apt/"), _text(lambda text: _HOST_IN_URI.sub("mirror.example.invalid", text))),
    (re.compile(r"read /proc/cmdline$"), _text(lambda text: " ".join(word for word in text.split() if word in _KEPT_WORDS) + "\n")),
    (re.compile(r"read /proc/stat$"), _text(lambda text: "".join(re.findall(r"^(?:cpu |btime |processes ).*\n", text, re.MULTILINE)))),
)


def record_machine() -> Tape:
    with open_host(Evidence(), ALL_READERS) as reading:
        recorded = snapshot.record(reading, KEY)
    answers = {}
    release = str(recorded.answers["host"]["json"]["release"])
    plain = re.match(r"[\d.]*\d", release)[0]  # type: ignore[index]  # every release begins with a number
    for question, answer in recorded.answers.items():
        for pattern, shorten in _SHORTER:
            if pattern.match(question):
                answer = shorten(answer)  # noqa: PLW2901
        answers[question.replace(release, plain)] = _renamed(answer, release, plain)
    return replace(recorded, answers=answers)


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {key: _renamed(item, old, new) for key, item in value.items()}
    return [_renamed(item, old, new) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    adopt(sys.argv[1], record_machine(), "default")
