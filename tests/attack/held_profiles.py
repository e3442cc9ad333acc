"""Profiles of a stranger. Each function below writes one, or what stands in its place, and returns its path."""

import os
from functools import partial

_TERMINAL = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202e\u2066"
_QUOTED = "\\e]0;pwned\\a\\e[2J\\x9b31m\\u202e\\u2066"  # the same in a double-quoted text of YAML


def text(place, content):
    (place / "x.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    return place / "x.yaml"


def says(content):
    return partial(text, content=f"schema_version: 1\nname: x\nextends: default\n{content}\n")


def parents(place, count):
    for number in range(count):
        (place / f"{number}.yaml").write_text(f"schema_version: 1\nextends: ./{number + 1}.yaml\n")
    (place / f"{count}.yaml").write_text("schema_version: 1\n")
    return place / "0.yaml"


def circle(place):
    (place / "other.yaml").write_text("schema_version: 1\nextends: ./x.yaml\n")
    return text(place, "schema_version: 1\nextends: ./other.yaml\n")


def fifo(place):
    os.mkfifo(place / "x.yaml")
    return place / "x.yaml"


def directory(place):
    (place / "x.yaml").mkdir()
    return place / "x.yaml"


def link(place, target):
    (place / "x.yaml").symlink_to(target)
    return place / "x.yaml"


def sparse(place, size):
    with open(place / "x.yaml", "wb") as stream:
        stream.truncate(size)
    return place / "x.yaml"


_LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)

#: A mistake, whoever reads it.
REFUSED = {
    "a tag that runs": says("description: !!python/object/apply:os.system [touch pwned]"),
    "a tag that imports": says("description: !!python/name:os.system"),
    "a tag nobody knows": says("description: !x y"),
    "an alias": says("description: &x y\ndriver: {version: *x}"),
    "a billion laughs": partial(text, content=_LAUGHS),
    "a merge key": says("driver: {<<: {version: '580.*'}}"),
    "60 levels": says("checks: " + "{a: " * 60 + "1" + "}" * 60),
    "100,000 brackets": partial(text, content="[" * 100_000),
    "100,000 dashes": partial(text, content="- " * 100_000 + "x"),
    "a key twice": says("description: a\ndescription: b"),
    "a key that is a list": says("? [a, b]\n: c"),
    "two documents": partial(text, content="schema_version: 1\n---\nschema_version: 1\n"),
    "a list": partial(text, content="[1, 2]"),
    "a word": partial(text, content="hello"),
    "zero bytes": partial(text, content=b"\0" * 100),
    "Latin-1": partial(text, content=b"schema_version: 1\nname: \xff\n"),
    "a circle": circle,
    "1,200 parents": partial(parents, count=1200),
    "a parent that is not there": partial(text, content="schema_version: 1\nextends: ./none.yaml\n"),
    "a parent with a zero byte": partial(text, content='schema_version: 1\nextends: "./a\\0.yaml"\n'),
    "FIFO": fifo,
    "directory": directory,
    "loop of links": partial(link, target="x.yaml"),
    "/proc/self/environ": partial(link, target="/proc/self/environ"),
    "/proc/self/mem": partial(link, target="/proc/self/mem"),
    "/dev/zero": partial(link, target="/dev/zero"),
    "/dev/tty": partial(link, target="/dev/tty"),
    "1 TiB of nothing": partial(sparse, size=1 << 40),
    "257 KiB": partial(text, content="# " + "x" * (257 << 10)),
    "an unknown key": says(f'"{_QUOTED}": 1'),
    "an unknown word": says(f'nvml: "{_QUOTED}"'),
    "valid_for_s of 400 digits": says("report: {valid_for_s: " + "9" * 400 + "}"),
    "valid_for_s infinite": says("report: {valid_for_s: .inf}"),
    "valid_for_s no number": says("report: {valid_for_s: .nan}"),
    "a version of 5,000 digits": says("gpus: {count: " + "9" * 5000 + "}"),
    "a tag over nothing": says('gpus: {count: !!int ""}'),
    "schema_version of the future": partial(text, content="schema_version: 99\nname: x\n"),
}

#: What only whoever loads the catalogue can refuse: `profile show` need not.
IDS = {
    "a check nobody has": says("checks: {gpu.nothing: {off: no reason}}"),
    "a parameter nobody has": says("checks: {gpu.present: {params: {x: 1}}}"),
    "a catalogue nobody has": says("catalogues: [hostagent_checks, no_such_thing]"),
    "a catalogue with a path": says("catalogues: [hostagent_checks, ../../x]"),
    "the catalogue os": says("catalogues: [hostagent_checks, os]"),
    "a catalogue that ends the terminal": says(f'catalogues: [hostagent_checks, "{_QUOTED}"]'),
}

#: Nothing wrong with them but what they say.
LAWFUL = {
    "a name for the terminal": partial(text, content=f'schema_version: 1\nname: "{_QUOTED}"\n'),
    "a description for the terminal": says(f'description: "{_QUOTED}"'),
    "reasons for the terminal": says(f'checks: {{os.supported: {{off: "{_QUOTED}", except: ["{_QUOTED}"]}}}}'),
    "a product for the terminal": says(f'gpus: {{product: "{_QUOTED}</h1><script>"}}'),
    "half a surrogate": says('description: "\\ud800"'),
}
