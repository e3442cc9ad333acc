"""The real kubelet 1.35 judges our view of its configuration: accepted or refused, why, and every value that it serves by configz.

Other minor versions follow their sources: no program of theirs is asked.
"""

import concurrent.futures
import re

import pytest

from hostagent.collect.kubelet.canonical import canonical
from hostagent.collect.kubelet.effective import Told, effective
from hostagent.collect.kubelet.files import Files
from hostagent.collect.kubelet.flags import paths_of
from hostagent.collect.kubelet.schema import decode, schema_of
from hostagent.facts.kubelet import KubeletConfig
from hostagent.testing import host
from tests.real.kubelet_configs import CASES, told
from tests.real.kubeletrun import Made, need_kubelet, run_kubelet

MINOR = 35
FIELDS = sorted(KubeletConfig.__dataclass_fields__)
#: Of so many configurations at once the kubelets run; each is a second of one CPU.
AT_ONCE = 2


def ours(flags, files, machine):
    """What the reader reads of these files, and what the engine makes of it."""
    paths = paths_of(flags)
    read = Files(host(files)).all(paths.config, paths.config_dir)
    return effective(Told(f"1.{MINOR}.4", flags, read), machine)


def served(configz):
    """The answer of configz as the facts have it."""
    decoded = decode(schema_of(MINOR), configz, {}, folded=False)
    assert decoded.error == ""
    assert decoded.unknown == ()
    return canonical(decoded.fields)


def differences(view, answer, *, words):
    if answer.configz is None:
        if view.state != "rejected":
            return [f"refused, we accept: {answer.log.strip().splitlines()[-1][:400]}"]
        return [] if not words or essence(view.error) in plain(answer.log) else [f"says {plain(answer.log)[-400:]!r}, we say {essence(view.error)!r}"]
    if view.state != "accepted":
        return [f"accepted, we refuse: {view.error}"]
    theirs = served(answer.configz)
    return [f"{field}: {getattr(theirs, field)!r}, we say {getattr(view.config, field)!r}" for field in FIELDS if getattr(theirs, field) != getattr(view.config, field)]


def essence(error):
    """What a refusal comes down to."""
    return plain(re.split(r"error: |error |invalid configuration: ", error)[-1]).rstrip("]")


def plain(text):
    return re.sub(r"\s+", " ", text.replace("\\n", " ").replace("\\", "")).strip()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    need_kubelet()
    return Made().write(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def answers(machine, tmp_path_factory):
    """Of all configurations, asked together."""
    folder = tmp_path_factory.mktemp("kubelets")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {name: pool.submit(run_kubelet, folder / name, machine, *told(case)) for name, case in CASES.items()}
        return {name: one.result() for name, one in running.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_kubelet_makes_of_it_what_we_make_of_it(name, answers):
    assert differences(ours(*told(CASES[name]), Made().facts()), answers[name], words=CASES[name].words) == []
