"""Snapshots of a stranger. Each function below writes one, or what stands in its place, and returns its path."""

import base64
import json
import os
from functools import partial

from tests.attack.held_run import HOSTS

#: Of a host on which one GPU fell off the bus: whatever is done to its tape, it is not ready.
SICK = json.loads((HOSTS / "hgx-h100-gpu-off-the-bus/tape.json").read_text())
PLAIN = json.loads((HOSTS / "no-gpu-vm/tape.json").read_text())
#: Ends titles, attributes, elements, sections, labels and lines; turns text around; clears a terminal and names its window.
EVIL = (
    "\x1b]0;pwned\x07\x1b[2J\x1b[31m\x9b31m\u202e\u2066\u200b\u2028\x85\x00\x0b\r\n"
    "</title></style></script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>]]>&amp;&#x1b;<!--\\\n"
    'hostagent_ready{scope="single_node"} 1\n# TYPE x counter\nREADY for single-node jobs: all is well\n'
)


def text(place, content):
    (place / "tape.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    return place / "tape.json"


def tape(place, base=PLAIN, *, replace=(), answers=None, **head):
    """`base` with other heads and answers; `replace` are pairs of words, for what JSON of Python's own would not write."""
    data = {**base, "answers": {**base["answers"], **(answers or {})}, **head}
    made = json.dumps({key: value for key, value in data.items() if value is not ...})
    for old, new in replace:
        assert old in made
        made = made.replace(old, new)
    return text(place, made)


def everywhere(change, base=SICK):
    """Every text in every answer changed."""

    def walk(value):
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        if isinstance(value, list):
            return [walk(item) for item in value]
        return change(value) if isinstance(value, str) else value

    def encoded(answer):
        kind = next(iter(answer))
        if kind == "unread":
            return {**answer, "detail": change(answer["detail"])}
        return answer if kind == "base64" else {kind: walk(answer[kind])}

    return {key: encoded(answer) for key, answer in base["answers"].items()}


def numbers(value):
    def walk(old):
        if isinstance(old, dict):
            return {key: walk(item) for key, item in old.items()}
        if isinstance(old, list):
            return [walk(item) for item in old]
        return value if isinstance(old, int | float) and not isinstance(old, bool) else old

    return {key: {"json": walk(one["json"])} if "json" in one else one for key, one in SICK["answers"].items()}


def same(answer, base=SICK):
    return dict.fromkeys(base["answers"], answer)


def fifo(place):
    os.mkfifo(place / "tape.json")
    return place / "tape.json"


def directory(place):
    (place / "tape.json").mkdir()
    return place


def loop(place):
    (place / "tape.json").symlink_to("tape.json")
    return place / "tape.json"


def link(place, target):
    (place / "tape.json").symlink_to(target)
    return place / "tape.json"


def sparse(place, size):
    with open(place / "tape.json", "wb") as stream:
        stream.truncate(size)
    return place / "tape.json"


def _host(**keys):
    return {"host": {"json": {**PLAIN["answers"]["host"]["json"], **keys}}}


_EVIL_NAMES = {
    f"read /etc/{EVIL}": {"text": EVIL},
    EVIL: {"json": EVIL},
    "list /etc/../../../../tmp": {"json": ["../../x", "/etc/shadow", EVIL]},
}
_BOMB = 126 << 20

#: What is no snapshot: a usage error in every command.
REFUSED = {
    "empty": partial(text, content=""),
    "no JSON": partial(text, content="hello"),
    "a list": partial(text, content="[]"),
    "a number": partial(text, content="7"),
    "null": partial(text, content="null"),
    "100,000 brackets": partial(text, content="[" * 100_000),
    "100,000 braces": partial(text, content='{"a":' * 100_000),
    "truncated": lambda place: text(place, json.dumps(PLAIN)[:20_000]),
    "zero bytes": partial(text, content=b"\0" * 4096),
    "UTF-16": lambda place: text(place, json.dumps(PLAIN).encode("utf-16")),
    "Latin-1": partial(text, content=b'{"schema_version": 1, "x": "\xff"}'),
    "two documents": lambda place: text(place, json.dumps(PLAIN) * 2),
    "schema_version 2": partial(tape, schema_version=2),
    "schema_version text": partial(tape, schema_version="1"),
    "schema_version list": partial(tape, schema_version=[1]),
    "no schema_version": partial(tape, schema_version=...),
    "no answers": lambda place: text(place, json.dumps({**PLAIN, "answers": [1]})),
    "answers null": lambda place: text(place, json.dumps({**PLAIN, "answers": None})),
    "kind unknown": partial(tape, kind="cloud"),
    "kind list": partial(tape, kind=["live"]),
    "recorded_at text": partial(tape, recorded_at="now"),
    "recorded_at true": partial(tape, recorded_at=True),
    "recorded_at of 400 digits": partial(tape, recorded_at=7070707, replace=[("7070707", "1" + "0" * 400)]),
    "recorded_at of 5,000 digits": partial(tape, recorded_at=7070707, replace=[("7070707", "9" * 5000)]),
    "recorded_by number": partial(tape, recorded_by=5),
    "redacted text": partial(tape, redacted="yes"),
    "unknown key": partial(tape, more=EVIL),
    "FIFO": fifo,
    "directory": directory,
    "loop of links": loop,
    "/dev/zero": partial(link, target="/dev/zero"),
    "/proc/self/mem": partial(link, target="/proc/self/mem"),
    "/dev/tty": partial(link, target="/dev/tty"),
    "127 MiB of nothing": partial(sparse, size=127 << 20),
    "1 TiB of nothing": partial(sparse, size=1 << 40),
    "126 MiB of empty lists": lambda place: text(place, "[" + "[]," * (_BOMB // 3) + "[]]"),
}

#: With numbers or texts out of range: whether they are refused or judged is a matter of taste.
EITHER = {
    "half a surrogate everywhere": lambda place: tape(place, SICK, answers=everywhere(lambda old: old + "\ud800")),
    "half a surrogate in a question": partial(tape, answers={"read \udcff": {"text": "\udcff"}}),
    "numbers of 400 digits": lambda place: tape(place, SICK, answers=numbers(10**400)),
    "NaN everywhere": lambda place: tape(place, SICK, answers=numbers(float("nan"))),
    "now of 400 digits": partial(tape, answers=_host(now=10**400)),
    "now infinite": partial(tape, answers=_host(now=float("inf"))),
    "deep answer": partial(tape, answers={"os_release": {"json": 7070707}}, replace=[("7070707", "[" * 900 + "]" * 900)]),
    "recorded in year 3000": partial(tape, recorded_at=32503680000),
    "recorded before all time": partial(tape, recorded_at=-1e300),
    "recorded at NaN": partial(tape, recorded_at=float("nan")),
}

#: Lawful ones with unlawful answers: judged, never well of.
JUDGED = {
    "evil in every text": lambda place: tape(place, SICK, answers=everywhere(lambda old: old + EVIL)),
    "evil instead of every text": lambda place: tape(place, SICK, answers=everywhere(lambda _: EVIL)),
    "evil questions": partial(tape, answers=_EVIL_NAMES),
    "evil recorder": partial(tape, recorded_by=EVIL),
    "no answers at all": lambda place: text(place, json.dumps({**PLAIN, "answers": {}})),
    "everything null": lambda place: tape(place, SICK, answers=same({"json": None})),
    "everything true": lambda place: tape(place, SICK, answers=same({"json": True})),
    "everything a mapping": lambda place: tape(place, SICK, answers=same({"json": {}})),
    "everything junk": lambda place: tape(place, SICK, answers=same({"base64": "!!!", "more": 1})),
    "everything binary": lambda place: tape(place, SICK, answers=same({"base64": base64.b64encode(os.urandom(99)).decode()})),
    "everything absent": lambda place: tape(place, SICK, answers=same({"unread": "absent", "detail": EVIL})),
    "made-up reasons": lambda place: tape(place, SICK, answers=same({"unread": "fine", "detail": "x"})),
    "negative numbers": lambda place: tape(place, SICK, answers=numbers(-1)),
    "zero everywhere": lambda place: tape(place, SICK, answers=numbers(0)),
    "1e308 everywhere": lambda place: tape(place, SICK, answers=numbers(1e308)),
    "evil host name": partial(tape, answers=_host(hostname=EVIL * 40)),
    "the same question twice": lambda place: text(place, json.dumps(PLAIN)[:-1] + ', "kind": "image"}'),
}
