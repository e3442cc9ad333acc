"""Public help for people who write checks and readers: case files, and a host made of a dictionary.

A case is a YAML file below ``cases/<family>/<check>/``::

    given:
      Gpu: {pci: "0000:1b:00.0", row_remap: {correctable: 0, uncorrectable: 0, pending: false, failed: true}}
    expect: {outcome: fail, code: failed}

Any field not named is ``Unread("not-recorded")``, so a case states its check's true inputs. ``profile`` is an overlay
over the default profile, ``expect`` one mapping or the whole list of judgements, in order.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple, get_args, get_type_hints

from hostagent.core.answers import Answer
from hostagent.core.typed import ShapeError, build
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.core.yamlfile import load_yaml
from hostagent.engine.check import Check
from hostagent.engine.evaluate import evaluate
from hostagent.engine.report import Judgement
from hostagent.facts.hostfacts import HostFacts, subject_key
from hostagent.host.source import Source
from hostagent.profiles.profile import Profile, load

_CASE_BYTES = 256 * 1024
_PROFILES: dict[str, Profile] = {}
_EXPECTABLE = ("outcome", "code", "subject", "found", "wanted", "severity")


class Case(NamedTuple):
    """One case file, loaded."""

    path: str
    check_id: str
    facts: Mapping[type, Any]
    profile: Profile
    expect: tuple[Mapping[str, str], ...]


def cases(directory: str, checks: Mapping[str, Check]) -> Iterator[Case]:
    """Every case below ``directory/<family>/<check>/``; raises ``ShapeError`` for one that is not a case."""
    for folder, _, names in sorted(os.walk(directory)):
        for name in sorted(names):
            if name.endswith(".yaml"):
                yield load_case(os.path.join(folder, name), directory, checks)


def load_case(path: str, directory: str, checks: Mapping[str, Check]) -> Case:
    check_id = os.path.relpath(os.path.dirname(path), directory).replace(os.sep, ".")
    data = load_yaml(path, _CASE_BYTES)
    if check_id not in checks:
        raise ShapeError(f"{path}: there is no check {check_id!r}")
    if not isinstance(data, dict) or not {"given", "expect"} <= set(data) <= {"given", "expect", "profile", "why"}:
        raise ShapeError(f"{path}: wanted the keys given, expect, and perhaps profile and why")
    kinds = {kind.__name__: kind for kind in input_kinds(checks[check_id])}
    facts: dict[type, Any] = {}
    for name, value in data["given"].items():
        if name not in kinds:
            raise ShapeError(f"{path}: given names {name!r}, wanted one of {', '.join(kinds)}")
        facts[kinds[name]] = _fact(kinds[name], value, f"{path}: {name}")
    expect = data["expect"] if isinstance(data["expect"], list) else [data["expect"]]
    return Case(path, check_id, facts, _profile(data.get("profile")), tuple(expect))


def _profile(overlay: Any) -> Profile:
    """Cached, because most cases have no overlay over the default profile."""
    key = repr(overlay)
    if key not in _PROFILES:
        _PROFILES[key] = load("default", site_file="/nonexistent", overlay=overlay).profile
    return _PROFILES[key]


def input_kinds(one: Check) -> tuple[type, ...]:
    """The fact types a check takes, subjects and collections as their element type."""
    return one.inputs.kinds


def _fact(kind: type, value: Any, where: str) -> Any:
    if isinstance(value, dict) and "unread" in value:
        return build(kind | Unread, value, where)
    if not subject_key(kind):
        return build(kind, value, where, _unnamed)
    rows = value if isinstance(value, list) else [value]
    return tuple(build(kind, row, where, _unnamed) for row in rows)


def _unnamed(field: str) -> Unread:
    return Unread("not-recorded", f"the case does not name {field}")


def run_case(case: Case, checks: Mapping[str, Check]) -> tuple[Judgement, ...]:
    return evaluate([checks[case.check_id]], HostFacts(case.facts), case.profile)


def mismatch(case: Case, judgements: tuple[Judgement, ...]) -> str:
    """Empty when the judgements are those that the case expects, else the difference."""
    found = [{key: getattr(one, key) for key in _EXPECTABLE} for one in judgements]
    matches = len(found) == len(case.expect) and all(
        set(want) <= set(_EXPECTABLE) and all(got[key] == str(value) for key, value in want.items())
        for got, want in zip(found, case.expect, strict=True)
    )
    return "" if matches else f"{case.path}: found {found}, wanted {list(case.expect)}"


def without_one_field(value: Any) -> Iterator[tuple[str, Any]]:
    """`value` once for each field below it that was read, with that field turned into ``Unread``."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        for number, item in enumerate(value):
            for path, changed in without_one_field(item):
                yield f"[{number}]{path}", (*value[:number], changed, *value[number + 1 :])
    elif is_dataclass(value) and not isinstance(value, type):
        key = subject_key(type(value))
        hints = get_type_hints(type(value))
        for field in fields(value):
            inner = getattr(value, field.name)
            if field.name != key and not isinstance(inner, Unread):
                if Unread in get_args(hints[field.name]):
                    yield f".{field.name}", replace(value, **{field.name: Unread("not-recorded", "removed by the test")})
                for path, changed in without_one_field(inner):
                    yield f".{field.name}{path}", replace(value, **{field.name: changed})


class TreeBackend:
    """A host made of a dictionary: ``{"/proc/version": "Linux…", "/etc/x": b"…"}``; a value ``("link", target)`` is a
    symbolic link, an ``Unread`` is itself, and a key with a space is any other question: ``{"run uname -r": …}``.
    What is not named is absent.
    """

    def __init__(self, files: Mapping[str, Any], kind: Kind = "live") -> None:
        self._files = dict(files)
        self._kind = kind

    @property
    def kind(self) -> Kind:
        return self._kind

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        question = " ".join((method, *arguments))
        if question in self._files:
            return self._files[question]
        if method == "environment":  # of no job
            return {}
        answer = getattr(self, f"_{method}", None)
        return answer(arguments[0]) if answer and arguments else Unread("absent", question)

    def _resolve(self, path: str) -> str:
        done, links = "", 0
        parts = [part for part in path.split("/") if part]
        while parts:
            part = parts.pop(0)
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}"
            value = self._files.get(here)
            if isinstance(value, tuple) and value[0] == "link" and links < 40:
                links += 1
                target = str(value[1])
                done = "" if target.startswith("/") else done
                parts = [piece for piece in target.split("/") if piece and piece != "."] + parts
            else:
                done = here
        return done or "/"

    def _read(self, path: str) -> "bytes | Unread":
        value = self._files.get(self._resolve(path), Unread("absent", f"no {path}"))
        return value.encode() if isinstance(value, str) else value

    def _modinfo(self, path: str) -> "Answer | Unread":
        from hostagent.domains.driver.read_modinfo import parse_modinfo

        data = self._read(path)
        return data if isinstance(data, Unread) else parse_modinfo(data)

    def _elf(self, path: str) -> "Answer | Unread":
        from hostagent.host.elf import parse_elf

        data = self._read(path)
        return data if isinstance(data, Unread) else parse_elf(data)

    def _nccl_library(self, path: str) -> "Answer | Unread":
        from hostagent.domains.nccl.read_elf import parse_nccl_library

        data = self._read(path)
        return data if isinstance(data, Unread) else parse_nccl_library(data)

    def _state_file(self, path: str) -> "Answer | Unread":
        from hostagent.domains.kubelet.state_file import judged

        data = self._read(path)
        return data if isinstance(data, Unread) else judged(path, data)

    def _tail(self, path: str) -> "bytes | Unread":
        return self._read(path)

    def _list(self, path: str) -> "list[str] | Unread":
        prefix = self._resolve(path).rstrip("/") + "/"
        names = {key[len(prefix) :].split("/")[0] for key in self._files if key.startswith(prefix) and " " not in key}
        return sorted(names) if names else Unread("absent", f"no {path}")

    def _stat(self, path: str) -> "dict[str, Any] | Unread":
        real = self._resolve(path)
        is_file = real in self._files
        if not is_file and isinstance(self._list(real), Unread):
            return Unread("absent", f"no {path}")
        data = self._files.get(real, "")
        if isinstance(data, Unread):
            return data
        shape = {"kind": "file" if is_file else "dir", "mode": 0o755 if not is_file else 0o644, "uid": 0, "gid": 0}
        return {**shape, "size": len(data), "mtime": 0.0, "major": 0, "minor": 0}

    def _readlink(self, path: str) -> "str | Unread":
        parent, _, name = path.rpartition("/")
        value = self._files.get(f"{self._resolve(parent).rstrip('/')}/{name}")
        return str(value[1]) if isinstance(value, tuple) and value[0] == "link" else Unread("absent", f"{path} is no link")

    def _realpath(self, path: str) -> "str | Unread":
        real = self._resolve(path)
        exists = real in self._files or not isinstance(self._list(real), Unread)
        return real if exists else Unread("absent", f"no {path}")


def host(files: Mapping[str, Any], kind: Kind = "live") -> Source:
    """A source over a `TreeBackend`."""
    return Source(TreeBackend(files, kind))
