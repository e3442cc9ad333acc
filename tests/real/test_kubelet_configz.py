"""The real kubelet 1.35 judges our view of its configuration: accepted or refused, why, and every value that it serves by configz.

Other minor versions follow their sources: no program of theirs is asked.
"""

import concurrent.futures
import re
import sys

import pytest

from hostagent.domains.kubelet.config.canonical import canonical
from hostagent.domains.kubelet.config.effective import KubeletInputs, effective
from hostagent.domains.kubelet.config.flags import paths_of
from hostagent.domains.kubelet.config.schema import decode, schema_of
from hostagent.domains.kubelet.read_allocations import read_state_file
from hostagent.domains.kubelet.read_files import Files
from hostagent.domains.kubelet.tables.defaults import MEASURED
from hostagent.facts.kubelet import KubeletConfig
from hostagent.testing import host
from tests.real.kubelet_configs import CASES, HOME, INLINE, KIND, random_cases, told
from tests.real.kubeletrun import Made, need_kubelet, run_kubelet

MINOR = MEASURED
FIELDS = sorted(KubeletConfig.__dataclass_fields__)
#: Of so many configurations at once the kubelets run; each is a second of one CPU.
AT_ONCE = 2
RANDOM, SEED = 24, 35


def ours(flags, files, machine):
    """What the reader reads of these files, and what the engine makes of it."""
    paths = paths_of(flags)
    read = Files(host(files)).all(paths.config, paths.config_dir)
    return effective(KubeletInputs(f"1.{MINOR}.4", flags, read), machine)


def served(configz):
    """The answer of configz as the facts have it."""
    decoded = decode(schema_of(MINOR), configz, {}, folded=False)
    assert decoded.error == ""
    return canonical(decoded.fields)


def differences(view, answer, *, words):
    if answer.configz is None:
        if view.state != "rejected":
            return [f"refused, we accept: {answer.log.strip().splitlines()[-1][:400]}"]
        return (
            []
            if not words or essence(view.error) in plain(answer.log)
            else [f"says {plain(answer.log)[-400:]!r}, we say {essence(view.error)!r}"]
        )
    if view.state != "accepted":
        return [f"accepted, we refuse: {view.error}"]
    theirs = served(answer.configz)
    return [
        f"{field}: {getattr(theirs, field)!r}, we say {getattr(view.config, field)!r}"
        for field in FIELDS
        if getattr(theirs, field) != getattr(view.config, field)
    ]


def essence(error):
    """What a refusal comes down to."""
    return plain(re.split(r"error: |error |invalid configuration: ", error)[-1]).rstrip("]")


def plain(text):
    return re.sub(r"\s+", " ", text.replace("\\n", " ").replace("\\", "")).strip()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    need_kubelet()
    return Made().write(tmp_path_factory.mktemp("machine"))


def asked(cases, machine, folder):
    """Answers to all of them, by name; `cases` are the arguments of `run_kubelet`."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {name: pool.submit(run_kubelet, folder / name, machine, *case) for name, case in cases.items()}
        return {name: one.result() for name, one in running.items()}


def test_the_kubelet_makes_of_it_what_we_make_of_it(machine, tmp_path, capsys):
    cases = {**CASES, **random_cases(RANDOM, SEED)}
    answers = asked({name: told(case) for name, case in cases.items()}, machine, tmp_path)
    found = {name: differences(ours(*told(case), Made().facts()), answers[name], words=case.words) for name, case in cases.items()}
    found = {name: wrong for name, wrong in found.items() if wrong}
    refused = sum(answer.configz is None for answer in answers.values())
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(cases)} configurations asked of the kubelet 1.{MINOR}, {RANDOM} random ones of seed {SEED}, {refused} refused: {len(found)} differences\n"
        )
    assert found == {}
    assert len(cases) - refused >= 40


MANAGED = """kubeReserved: {cpu: "1", memory: 1Gi}
evictionHard: {memory.available: 1Gi}
topologyManagerPolicy: restricted
cpuManagerPolicy: static
reservedSystemCPUs: "0"
memoryManagerPolicy: Static
"""
ROWS = "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 1Gi}}]\n"
OTHER_ROWS = "reservedMemory: [{numaNode: 0, limits: {memory: 2Gi}}]\n"
STRICT = 'cpuManagerPolicyOptions: {strict-cpu-reservation: "true"}\n'
CPU, MEMORY = (f"/var/lib/kubelet/{name}_manager_state" for name in ("cpu", "memory"))


def test_the_kubelet_refuses_the_state_files_that_we_refuse(machine, tmp_path):
    """First it writes them itself; then it starts with another configuration, or with what somebody changed."""
    flags, config = (f"--config={HOME}/config.yaml",), KIND + MANAGED + ROWS + INLINE
    states = run_kubelet(tmp_path / "first", machine, flags, {f"{HOME}/config.yaml": config}).written
    cpu, memory = states["cpu_manager_state"], states["memory_manager_state"]

    def with_(before="", after="", cpu=cpu, memory=memory):
        return flags, {f"{HOME}/config.yaml": config.replace(before, after), CPU: cpu, MEMORY: memory}

    def static(cpus, more=""):
        return with_(cpu=f'{{"policyName":"static","defaultCpuSet":"{cpus}"{more}}}')

    entries = ',"entries":{"u":{"c":"4-5"}}'
    cases = {
        "as-they-were": with_(),
        "other-cpu-policy": with_("cpuManagerPolicy: static", "cpuManagerPolicy: none"),
        "other-memory-policy": with_("memoryManagerPolicy: Static", "memoryManagerPolicy: None"),
        "other-reserved-cpus": with_('"0"', '"1"'),
        "strict-reservation": with_(ROWS, ROWS + STRICT),
        "other-reserved-memory": with_(ROWS, OTHER_ROWS),
        "checksum": with_(cpu=cpu.replace('"0-7"', '"0-6"')),
        "cpus-are-gone": static("0-11"),
        "cpus-have-come": static("0-5"),
        "no-reserved-cpu": static("1-7"),
        "cpus-twice": static("0-7", entries),
        "cpus-of-a-container": static("0-3,6-7", entries),
        "unreadable-cpus": static("0-x"),
        "no-cpus": static(""),
        "empty-file": with_(cpu=""),
        "broken-memory": with_(memory="{"),
        "memory-without-checksum": with_(memory='{"policyName":"Static","machineState":{}}'),
    }
    answers = asked(cases, machine, tmp_path)
    found = {}
    for name, (words, tree) in cases.items():
        view = ours(words, tree, Made().facts(state_of(CPU, tree[CPU]), state_of(MEMORY, tree[MEMORY])))
        found[name] = differences(view, answers[name], words=False)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def state_of(path, text):
    return read_state_file(host({path: text}), path)


def test_the_kubelet_counts_numa_nodes_as_we_do(tmp_path):
    need_kubelet()
    made = Made(nodes=9, cpus=2)
    machine = made.write(tmp_path / "machine")
    nine = 'topologyManagerPolicyOptions: {max-allowable-numa-nodes: "9"}\n'
    bodies = {"none": "", "restricted": "topologyManagerPolicy: restricted\n", "nine": f"topologyManagerPolicy: restricted\n{nine}"}
    cases = {name: ((f"--config={HOME}/c",), {f"{HOME}/c": KIND + body + INLINE}) for name, body in bodies.items()}
    answers = asked(cases, machine, tmp_path)
    views = {name: ours(*case, made.facts()) for name, case in cases.items()}
    assert [differences(views[name], answers[name], words=True) for name in cases] == [[], [], []]
    assert [view.state for view in views.values()] == ["accepted", "rejected", "accepted"]
