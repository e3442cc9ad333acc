"""``python -m tests.democluster up`` and ``down``: what `make demo-cluster` and `make demo-cluster-down` run."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.democluster.lock import AT_WORK, RUNS, Lock
from tests.democluster.supervisor import KWOK, NODES, ROOT, STALE_AFTER, say, supervise
from tests.real.cluster import program
from tests.real.conftest import CACHE

FOLDER = ROOT / ".demo-cluster"
LOCK = ROOT / ".demo-cluster.lock"
#: What builds the programs, and does nothing where they are there.
SCRIPTS = (("install_kubernetes.sh",), ("install_cluster_tools.sh", "kwok"))
#: And the packages that have them.
_NEEDED = {"bash": "bash", "flock": "util-linux", "setpriv": "util-linux", "openssl": "openssl"}
READY = f"""
The cluster is ready: nodes {", ".join(NODES)}, an agent on each, and the controller. In this shell:

  export KUBECONFIG={shlex.quote(f"{FOLDER}/kubeconfig")} PATH={shlex.quote(f"{FOLDER}/bin")}:$PATH

Seven things to try; docs/demo-cluster.md shows what each prints, and 'hostagent kubernetes why NODE' says why a node is closed.

  1. A look:
       kubectl get nodes -L hostagent.dev/ready,hostagent.dev/gpu-product
  2. May a job on four nodes with 8 GPUs each run? Yes, and it does:
       hostagent gate --nodes 4 --gpus-per-node 8
       hostagent gate --nodes 4 --gpus-per-node 8 --emit indexed-job --name big --image train -- python train.py | kubectl create -f -
       kubectl delete job/big service/big --cascade=foreground
  3. A job of 4 GPUs gets gpu-1, and the gate refuses the other:
       kubectl apply -f tests/democluster/job.yaml
       hostagent gate --nodes 4 --gpus-per-node 8
  4. A GPU of gpu-1 falls off the bus. Within seconds gpu-1 is closed: the job's pod stays, and a second one goes to gpu-2:
       cp tests/hosts/hgx-h100-gpu-off-the-bus/tape.json .demo-cluster/gpu-1/host.json
       kubectl wait node/gpu-1 --for=jsonpath='{{.spec.taints}}' && kubectl scale deployment train --replicas 2
  5. The host is repaired. gpu-1 opens after two passes, 5 s apart:
       cp .demo-cluster/gpu-2/host.json .demo-cluster/gpu-1/host.json
  6. The agent of gpu-2 is killed. {STALE_AFTER} s after its last heartbeat gpu-2 is closed: AgentSilent. Another pod brings another agent:
       kill $(cat .demo-cluster/gpu-2/agent.pid)
       kubectl -n hostagent delete pod --field-selector spec.nodeName=gpu-2 -l app.kubernetes.io/name=hostagent
  7. Removal. The nodes are as they were before:
       kubectl -n hostagent delete deployment/hostagent-controller daemonset/hostagent --cascade=foreground
       hostagent kubernetes clean --all --taints

'make demo-cluster-down' ends it and removes {FOLDER}."""


def up() -> int:
    """Build what is missing, start, and return when all is ready."""
    lock = Lock(LOCK)
    if not lock.take(AT_WORK):
        return _busy(lock)
    if lock.holder(RUNS) is not None:
        return _problem(f"found a demo cluster that runs, in {FOLDER}: end it first, with 'make demo-cluster-down'")
    for name, package in _NEEDED.items():
        if not shutil.which(name):
            return _problem(f"found no {name}, wanted it on PATH: it is in the package {package}")
    if not KWOK.exists() or not Path(CACHE, "kubernetes-1.35/kubectl").exists():
        say(f"The first time Kubernetes and kwok are built, into {CACHE}: 9 minutes on two idle cores, most of them for kube-apiserver.")
    for name, *words in SCRIPTS:
        if subprocess.run(["bash", ROOT / "tests/real" / name, *words], check=False).returncode:
            return _problem(f"tests/real/{name} failed: what it said stands above")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(mode=0o700)
    (FOLDER / "bin").mkdir()
    (FOLDER / "bin/kubectl").symlink_to(program("kubectl"))
    (FOLDER / "bin/hostagent").symlink_to(Path(sys.executable).parent / "hostagent")
    return _begun()


def _begun() -> int:
    """By a supervisor, which has a lock of its own before this process gives up the other."""
    began, log = time.monotonic(), FOLDER / "supervisor.log"
    argv = [sys.executable, "-m", "tests.democluster", "supervise"]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": log.open("ab")}
    process = subprocess.Popen(argv, cwd=ROOT, start_new_session=True, text=True, **streams)
    try:
        for line in process.stdout:
            if line == "\n":
                say(READY)
                return 0
            say(f"[{time.monotonic() - began:4.0f} s] {line.rstrip()}")
    except KeyboardInterrupt:
        process.terminate()
    process.wait()
    return _problem(f"the cluster did not start; its logs are in {FOLDER}\n{log.read_text(errors='replace')[-3000:]}")


def down() -> int:
    """End it, whatever is left of it."""
    lock = Lock(LOCK)
    if not lock.take(AT_WORK):
        return _busy(lock)
    for number in (signal.SIGTERM, signal.SIGKILL):
        pid, ends = lock.holder(RUNS), time.monotonic() + 20
        if pid is None:
            break
        if pid < 1:
            return _problem("the demo cluster of this folder runs in another container or on another machine: end it there")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        while lock.holder(RUNS) is not None and time.monotonic() < ends:
            time.sleep(0.1)
    if lock.holder(RUNS) is not None:
        return _problem(f"the supervisor does not end: pid {lock.holder(RUNS)}")
    say("The demo cluster is gone." if FOLDER.exists() else "There is no demo cluster.")
    shutil.rmtree(FOLDER, ignore_errors=True)
    return 0


def _busy(lock: Lock) -> int:
    pid = lock.holder(AT_WORK)
    return _problem(f"the demo cluster is being built, started or ended by pid {pid}: wait until that is done, or press Ctrl-C there")


def _problem(text: str) -> int:
    sys.stderr.write(f"Error: {text}\n")
    return 1


if __name__ == "__main__":
    word = sys.argv[1] if len(sys.argv) == 2 else ""
    if word == "supervise":
        lock = Lock(LOCK)
        if not lock.take(RUNS):
            sys.exit(f"another supervisor runs: pid {lock.holder(RUNS)}")
        supervise(FOLDER)
    elif word in {"up", "down"}:
        try:
            sys.exit(up() if word == "up" else down())
        except KeyboardInterrupt:
            sys.exit(_problem("interrupted"))
    else:
        sys.exit("usage: python -m tests.democluster up|down")
