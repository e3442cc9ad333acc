"""docs/submit.md: its commands as they stand. On Kubernetes in the demo cluster, on Slurm with four nodes that are recorded hosts.

The submitter of Kubernetes has the rights of the overlay alone: a token of its account. No container runs there: what the pod of the page would run
is run here, with the same token.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.real import slurmrun
from tests.real.daemonrun import eventually
from tests.real.demorun import ROOT, START, cloned

PAGE = (ROOT / "docs/submit.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- run: (\S+) -->\n```sh\n(.*?)```", PAGE, re.DOTALL))
KUBERNETES = ("k8s-rights", "k8s-ask", "k8s-submit", "k8s-own-job", "k8s-wait", "k8s-pod")
SLURM = ("slurm-ask", "slurm-submit")
DEMO_NODES = {"gpu-1", "gpu-2", "gpu-3", "gpu-4"}
#: What the page's job runs: it says which node it has.
_PROGRAM = """import os
print(os.environ["SLURMD_NODENAME"])
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="slurmd runs as root: run 'sudo make test'")


def test_each_block_of_commands_is_run():
    assert PAGE.count("```sh\n") == len(BLOCKS)
    assert {*BLOCKS} == {*KUBERNETES, *SLURM}


class Submitter:
    """In the clone's shell, with a kubeconfig of the overlay's account."""

    def __init__(self, clone):
        self._clone = clone
        clone.run(START, code=0)

    def admin(self, command):
        return self._clone.run(f"set -e\n{command}", code=0)

    def become(self):
        """The account's token, in a kubeconfig that has nothing else."""
        made = json.loads((self._clone.folder / "kubeconfig").read_text())
        made["users"][0]["user"] = {"token": self.admin("kubectl create token hostagent-gate").strip()}
        (self._clone.place / "submitter.kubeconfig").write_text(json.dumps(made))

    def run(self, name, code=0):
        return self.typed(BLOCKS[name], code)

    def typed(self, script, code=0):
        return self._clone.run(f'set -e -o pipefail\nexport KUBECONFIG="$PWD/submitter.kubeconfig"\n{script}', code)

    def nodes_of(self, job):
        """Of its pods, one for each that is bound."""
        found = json.loads(self.admin(f"kubectl get pods -l batch.kubernetes.io/job-name={job} -o json"))["items"]
        return sorted(one["spec"]["nodeName"] for one in found if one["spec"].get("nodeName"))

    def end(self, *jobs):
        """With their pods, at once."""
        for one in jobs:
            self.admin(f"kubectl delete job/{one} service/{one} --cascade=orphan --ignore-not-found")
            self.admin(f"kubectl delete pods -l batch.kubernetes.io/job-name={one} --force --grace-period=0")

    def file(self, name):
        return self._clone.place / name


@pytest.fixture(scope="module")
def submitter(tmp_path_factory):
    with cloned(tmp_path_factory.mktemp("submit")) as clone:
        made = Submitter(clone)
        made.admin(BLOCKS["k8s-rights"])
        made.become()
        yield made


def test_the_rights_are_those_of_the_page_and_no_more(submitter):
    said = submitter.admin(
        "for one in 'list nodes' 'list pods -A' 'get secrets' 'patch nodes'; do kubectl auth can-i $one --as jane --as-group team || true; done"
    )
    assert re.findall(r"^(?:yes|no)$", said, re.MULTILINE) == ["yes", "yes", "no", "no"]


def test_what_is_asked_and_submitted_runs_on_four_nodes(submitter):
    assert submitter.run("k8s-ask").startswith("PLACEABLE  4 nodes with 8 GPUs each: gpu-1, gpu-2, gpu-3, gpu-4\n")
    submitter.run("k8s-submit")
    eventually(lambda: submitter.nodes_of("train") == sorted(DEMO_NODES), 20)
    submitter.file("train.yaml").unlink()
    refused = submitter.run("k8s-submit")
    assert "NoFreeGpus, 4 nodes" in refused
    assert "AlreadyExists" not in refused  # nothing was submitted
    assert not submitter.file("train.yaml").exists()
    submitter.end("train")


def test_a_job_of_ones_own_gets_the_affinity_and_one_address(submitter):
    submitter.run("k8s-own-job")
    eventually(lambda: len(set(submitter.nodes_of("own"))) == 2, 20)
    service = json.loads(submitter.admin("kubectl get service own -o json"))["spec"]
    assert (service["clusterIP"], service["selector"]) == ("None", {"batch.kubernetes.io/job-name": "own"})
    submitter.run("k8s-wait")
    eventually(lambda: len(set(submitter.nodes_of("next"))) == 2, 20)
    assert not set(submitter.nodes_of("own")) & set(submitter.nodes_of("next"))
    submitter.end("own", "next")


def test_the_pod_of_the_page_is_admitted_and_what_it_runs_submits_the_job(submitter):
    submitter.run("k8s-pod")
    eventually(lambda: len(submitter.nodes_of("submit-train")) == 1, 20)
    pod = yaml.safe_load(BLOCKS["k8s-pod"].split("'END'\n")[1].removesuffix("END\n"))["spec"]["template"]["spec"]
    gate, submit = pod["initContainers"][0]["args"], pod["containers"][0]["command"]
    here = " ".join(["hostagent", *gate, "&&", *submit]).replace("/out/", "")
    submitter.typed(here)
    eventually(lambda: submitter.nodes_of("train") == sorted(DEMO_NODES), 20)
    submitter.end("train", "submit-train")


@pytest.fixture
def login(tmp_path):
    """A login node: what a person types there, in a folder of theirs."""
    with slurmrun.started(tmp_path / "s") as cluster:  # sockets below it: their paths have 107 characters at most
        home = tmp_path / "home"
        home.mkdir()
        (home / "train.py").write_text(_PROGRAM)
        cluster.use(f"env PYTHONPATH={ROOT}:{ROOT}/checks {sys.executable} -P -m hostagent")
        path = f"{cluster.home}:{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
        environment = {"PATH": path, "HOME": str(home), "SLURM_CONF": f"{cluster.home}/slurm.conf"}

        def run(name):
            argv = ["bash", "-e", "-o", "pipefail", "-c", BLOCKS[name]]
            return subprocess.run(argv, cwd=home, env=environment, capture_output=True, text=True, timeout=60, check=False)

        yield cluster, home, run


@as_root
def test_on_slurm_the_job_runs_there(login):
    cluster, home, run = login
    eventually(lambda: run("slurm-ask").returncode == 0, 60)
    asked = run("slurm-ask").stdout
    assert asked.startswith("PLACEABLE  4 nodes with 8 GPUs each: n1, n2, n3, n4\n")
    done = run("slurm-submit")
    assert done.returncode == 0, done.stdout + done.stderr
    number = re.search(r"Submitted batch job (\d+)", done.stdout)[1]
    eventually(lambda: cluster.job(number)["JobState"] == "COMPLETED", 30)
    assert sorted((home / f"slurm-{number}.out").read_text().split()) == list(slurmrun.NODES)
    cluster.hosts["n2"].fault(3)
    eventually(lambda: cluster.node("n2").is_drained)
    refused = run("slurm-submit")
    assert refused.returncode == 1
    assert "Drained, 1 node: n2" in refused.stderr
