"""What anybody can leave behind, a directory or a mark without a word, changes what a reader is told to do and never helps a verdict."""

import posixpath
from pathlib import PurePosixPath

import pytest

from hostagent.core.retention import Filtered
from hostagent.core.tables.platforms import CONTAINER_FILE, IN_CONTAINERS, OPERATOR_DRIVER, OPERATOR_TOOLKIT, OPERATORS_MARK, ROWS
from hostagent.core.unread import Unread
from hostagent.engine.catalogue import load
from hostagent.engine.collect import READERS
from hostagent.engine.evaluate import evaluate, proved
from hostagent.facts.hostfacts import HostFacts
from hostagent.host.recording import ReplayBackend
from tests.recorded import NAMES, profile_of, tape_of
from tests.test_hosts import _placeable, read_fact

#: Of every platform the thing in its place, and what else stands for somebody: the driver container, its toolkit, Google's, specifications.
MARKS = sorted(
    {
        *(path for row in ROWS for path in (*row.paths, *row.directories, *row.firmware) if not path.startswith("/dev/")),
        *(
            OPERATOR_DRIVER,
            f"{OPERATOR_DRIVER}/usr",
            OPERATOR_TOOLKIT,
            CONTAINER_FILE,
            "/run/nvidia/validations/.driver-ctr-ready",
            OPERATORS_MARK,
            *IN_CONTAINERS,
        ),
        *("/home/kubernetes/bin/nvidia", "/usr/local/nvidia", "/var/lib/nvidia", "/opt/nvidia", "/var/run/cdi", "/etc/cdi"),
        *("/var/lib/kubelet/plugins/gpu.nvidia.com", "/var/lib/kubelet/device-plugins/nvidia.sock", "/var/lib/dkms-archive/nvidia"),
    }
)
_STAT = {"mode": 0o755, "uid": 0, "gid": 0, "size": 0, "mtime": 1.0, "major": 0, "minor": 0}
_PATHS = ("elf", "list", "modinfo", "read", "readlink", "realpath", "stat", "text")


class Marked(ReplayBackend):
    """A replay with one thing more: a directory, or a file without a byte. What the tape does not know is not there."""

    def __init__(self, recorded, mark="", kind="dir"):
        super().__init__(recorded)
        self.questions, self._mark, self._kind = [], mark, kind

    def ask(self, method, *arguments):
        answer = super().ask(method, *arguments)
        self.questions.append((method, *arguments))
        if method not in _PATHS or not arguments:
            return answer
        path, is_gone = arguments[0], isinstance(answer, Unread) and answer.why in ("absent", "not-recorded")
        above = self._mark == path or self._mark.startswith(f"{path}/")
        if not above or not is_gone:
            return self._with_child(path, answer) if method == "list" else Unread("absent", path) if is_gone else answer
        is_dir = path != self._mark or self._kind == "dir"
        match method:
            case "stat":
                return {**_STAT, "kind": "dir" if is_dir else "file"}
            case "list":
                return self._with_child(path, []) if is_dir else answer
            case "realpath":
                return path
            case "read" if not is_dir:
                return b""
        return Unread("error" if is_dir else "absent", "a directory")

    def _with_child(self, path, answer):
        names = answer.answer if isinstance(answer, Filtered) else answer
        rest = posixpath.relpath(self._mark, path) if self._mark.startswith(f"{path.rstrip('/')}/") else ""
        return sorted({*names, rest.split("/")[0]}) if rest and isinstance(names, list) else answer


class Host:
    """The facts of a tape, what each was asked and made of, and the verdict."""

    def __init__(self, name):
        self.recorded, self._profile = tape_of(name), profile_of(name).profile
        self._checks = {one.id: one for one in load(self._profile.catalogues)}
        self._kinds = {one.id: {kind.__name__ for kind in one.inputs.kinds} | {"Platform"} for one in self._checks.values()}
        self._values, self._questions, self._made_of = {}, {}, {}
        for kind in READERS:
            self._known(kind)
        self._before = self._judge(self._values, self._checks)

    def _known(self, kind):
        if kind not in self._values:
            self._values[kind] = Unread("error", "read from itself")
            backend = Marked(self.recorded)
            self._values[kind], self._made_of[kind] = read_fact(kind, backend, self._known)
            self._questions[kind] = {question for question in backend.questions if question[0] in _PATHS}
        return self._values[kind]

    def _judge(self, facts, ids):
        host = HostFacts(facts)
        return {key: evaluate([self._checks[key]], host, self._profile) for key in ids}

    def helped(self, mark, kind):
        """The checks that are less bad with this thing more, and whether the host is more placeable."""
        changed, seen = {}, set()
        above = {mark, *(str(one) for one in PurePosixPath(mark).parents)}
        before, after = Marked(self.recorded), Marked(self.recorded, mark, kind)

        def answered_otherwise(name):
            asked = (question for question in self._questions[name] if question[1] in above)
            return any(repr(before.ask(*question)) != repr(after.ask(*question)) for question in asked)

        def known(name):
            if name not in seen:
                seen.add(name)
                parts_changed = [part for part in self._made_of[name] if known(part) is not self._values[part]]
                if parts_changed or answered_otherwise(name):
                    value, _ = read_fact(name, Marked(self.recorded, mark, kind), known)
                    changed.update({} if repr(value) == repr(self._values[name]) else {name: value})
            return changed.get(name, self._values[name])

        for name in READERS:
            known(name)
        judged = self._judge({**self._values, **changed}, [key for key in self._checks if self._kinds[key] & set(changed)])
        if judged:
            yield from (key for key in judged if _worst(judged[key]) < _worst(self._before[key]))
            was, now = (_placeable(proved(self._checks.values(), one)) for one in (self._before, {**self._before, **judged}))
            yield from (scope for scope in was if now[scope] > was[scope])


def _worst(judged):
    """0 where nothing counts, 1 for what warns, 2 for what fails or is not known."""
    weights = {"fail": 2, "unknown": 2, "warn": 1}
    return max((weights.get(one.outcome, 0) for one in judged if one.severity != "info"), default=0)


@pytest.mark.parametrize("name", NAMES)
def test_what_anybody_can_leave_behind_helps_no_check_and_no_host(name):
    host = Host(name)
    assert [f"{kind} {mark}: {what}" for mark in MARKS for kind in ("dir", "file") for what in host.helped(mark, kind)] == []
