"""Nothing that was planted on a host leaves it: not in a snapshot, redacted or not, nor in a report of it, live or replayed."""

import base64
import copy
import os
import shutil

import pytest

from hostagent import snapshot
from hostagent.domains.nccl.env_file import parse_environment
from hostagent.engine.collection import InProcess
from hostagent.host import recording
from hostagent.host.recording import ReplayBackend
from hostagent.outputs import render
from hostagent.profiles import profile
from tests.attack.planted import DAMAGE, damage, plant
from tests.judged import judged
from tests.trees.hosts import hgx_h100
from tests.trees.staged import stage

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gcc"), reason="device nodes need root, the stub of NVML gcc"),
    pytest.mark.alone,
]
LOADED = profile.load("default", site_file="")


def reports(backend):
    report = judged(backend, LOADED)
    return report, "\n".join(render(report, form, verbose=True) for form in ("text", "json", "html", "junit", "prometheus"))


def whole(recorded):
    """The text of a tape, and what stands in it as base64."""
    binary = (value["base64"] for value in recorded.answers.values() if "base64" in value)
    return recording.dumps(recorded) + "".join(base64.b64decode(one).decode("latin-1") for one in binary)


def found(planted, text, *, secrets_alone=False):
    low = text.lower()
    return [f"{where}: {mark}" for mark, where in planted.marks if mark.lower() in low and not (secrets_alone and "tZq" not in mark)]


def test_nothing_that_was_planted_leaves_a_host(tmp_path):
    tree = hgx_h100(tmp_path / "root")
    planted = plant(tree)
    assert len({mark for mark, _ in planted.marks}) == len(planted.marks) >= 250
    leaves_nothing(tree, planted)


@pytest.mark.parametrize("kind", DAMAGE)
def test_nothing_leaves_a_host_whose_configuration_is_wrong(tmp_path, kind):
    """What is wrong is told, and not what stands there; live and from a snapshot alike."""
    tree = hgx_h100(tmp_path / "root")
    leaves_nothing(tree, damage(tree, kind))


class ForJob:
    """A backend that has been given the environment of a job, as the command line gives it."""

    def __init__(self, backend, job):
        self._backend = backend
        self._job = parse_environment(job) if job else {}

    @property
    def kind(self):
        return self._backend.kind

    def ask(self, *asked):
        return copy.deepcopy(self._job) if asked == ("environment",) else self._backend.ask(*asked)


def leaves_nothing(tree, planted):
    with stage(tree) as backend:
        live, live_text = reports(ForJob(backend, planted.job))
    with stage(tree) as backend:
        recorded = snapshot.record(InProcess(ForJob(backend, planted.job)), b"k" * 32)
    with stage(tree) as backend:
        unredacted = snapshot.record(InProcess(ForJob(backend, planted.job)), b"k" * 32, redact=False)
    replayed, replayed_text = reports(ReplayBackend(recorded))
    assert found(planted, whole(recorded)) == []
    assert found(planted, whole(unredacted), secrets_alone=True) == []
    assert found(planted, replayed_text) == []
    assert found(planted, live_text, secrets_alone=True) == []
    assert live.verdict == replayed.verdict
    assert [one[:4] for one in told(live)] == [one[:4] for one in told(replayed)]
    assert told(live) == told(reports(ReplayBackend(unredacted))[0])


def told(report):
    return [(one.id, one.subject, one.outcome, one.code, one.found, one.wanted, one.evidence) for one in report.findings]
