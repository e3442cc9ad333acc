"""docs/controller.md shows what the commands print on a real cluster. ``python -m tests.real.test_controller_page`` writes it anew."""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from tests.real.cluster import MERGE, SERVER, apply_base, program, started
from tests.real.controllerrun import Agents, Controller, config
from tests.real.daemonrun import eventually
from tests.real.readinessrules import NOT_READY, RULES, ReadinessController, apply_crd

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/controller.md"
NODES = [f"gpu-{number:02}" for number in range(1, 11)]
_BLOCK = re.compile(r"(<!-- output: (\S+) -->\n```\n)(.*?)(```\n)", re.DOTALL)
_RULE = re.compile(r"```yaml\n(apiVersion: readiness.node.*?)```\n", re.DOTALL)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def printed(folder, *words):
    """The command as it is typed, and what it prints."""
    argv = [sys.executable, "-m", "hostagent", *words, "--kubeconfig", "controller.conf"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert not done.stderr, done.stderr
    return f"$ hostagent {' '.join(argv[3:])}\n{done.stdout}"


def log(controller, *events):
    """Its lines of these events; the page has one time for all."""
    lines = [line for line in controller.said().splitlines() if any(f" event={name} " in line for name in events)]
    return "".join(f"{line}\n" for line in lines)


def metric(controller):
    return "".join(f"{line}\n" for line in controller.get("/metrics").text.splitlines() if line.startswith("hostagent_controller_stopped"))


def events(cluster, reason):
    """As `kubectl get events` has them."""
    found = cluster.admin("GET", "/api/v1/namespaces/default/events")["items"]
    return "".join(
        f"{one['type']}  {one['reason']}  node/{one['involvedObject']['name']}  {one['message']}\n"
        for one in found
        if one["reason"] == reason
    )


def outputs(cluster, folder):
    """What each block of the page shows, by its name."""
    apply_base(cluster)
    cluster.nodes(NODES)
    agents = Agents(cluster, NODES)
    agents.ready()
    agents.not_ready("gpu-03")
    agents.verdict("gpu-05", single="ready", multi="not_ready")
    config(cluster, folder).rename(folder / "controller.conf")
    own = ("--kubeconfig", folder / "controller.conf")
    found = {}
    with Controller(folder / "dry", *own, "--dry-run") as controller:
        eventually(lambda: log(controller, "would_add").count("\n") == 3)
        found["dry"] = "$ hostagent controller --kubeconfig controller.conf --dry-run\n" + log(controller, "lead", "would_add")
        assert not any(cluster.taints(name) for name in NODES)
    with Controller(folder / "on", *own, "--stale-after", 20) as controller, agents.beating(3):
        eventually(lambda: log(controller, "add").count("\n") == 3)
        found["on"] = "$ hostagent controller --kubeconfig controller.conf --stale-after 20\n" + log(controller, "warning", "lead", "add")
        found["why"] = printed(folder, "kubernetes", "why", "gpu-03")
        for name in ("gpu-07", "gpu-08", "gpu-09"):
            agents.stop(name)
            time.sleep(4)  # the next one writes once more: the first one is silent first
        eventually(lambda: events(cluster, "SilentLimit") and len(cluster.taints("gpu-08")) == 2, 60)
        found["silent"] = log(controller, "close", "limit")
        found["limit"] = metric(controller) + events(cluster, "SilentLimit")
        agents.start("gpu-07")
        agents.ready("gpu-07")
        eventually(lambda: log(controller, "remove").count("\n") == 2 and len(cluster.taints("gpu-09")) == 2)
        found["back"] = log(controller, "remove") + log(controller, "close").splitlines(keepends=True)[-1]
        found |= hand_over(cluster, folder, controller)
        assert controller.end() == 0
    found["would-clean"] = printed(folder, "kubernetes", "clean", "--all", "--taints", "--dry-run")
    found["clean"] = printed(folder, "kubernetes", "clean", "--all", "--taints")
    return {name: _TIME.sub("2026-12-01T09:00:00Z", text) for name, text in found.items()}


def written(page, found):
    """The page, with these outputs."""
    return _BLOCK.sub(lambda block: f"{block[1]}{found[block[2]]}{block[4]}", page)


def test_the_page_shows_what_is_printed(tmp_path):
    """Each output of the page is the one of a cluster in that state, and each is on the page."""
    program(SERVER)
    with started(tmp_path / "cluster") as cluster:
        found = outputs(cluster, tmp_path)
        assert written(PAGE.read_text(), found) == PAGE.read_text()
        assert set(found) == {block[2] for block in _BLOCK.finditer(PAGE.read_text())}


def hand_over(cluster, folder, controller):
    """To the rule of the page and back by the page's three commands: gpu-03 has its taint all the time."""
    before = cluster.taints("gpu-03")

    def marks():
        node = cluster.get("gpu-03")
        assert sorted(node["spec"]["taints"], key=str) == sorted(before, key=str)
        return node["metadata"]["annotations"].get("hostagent.dev/tainted", "").split(",")

    apply_crd(cluster)
    cluster.admin("POST", RULES, yaml.safe_load(_RULE.search(PAGE.read_text())[1]))
    with ReadinessController(cluster):
        eventually(lambda: NOT_READY not in marks(), 45)  # half a minute until the kind is known
        to_rule = printed(folder, "kubernetes", "why", "gpu-03")
    cluster.admin("DELETE", f"{RULES}/hostagent")
    cluster.admin("PATCH", f"{RULES}/hostagent", {"metadata": {"finalizers": None}}, kind=MERGE)
    eventually(lambda: NOT_READY in marks(), 5)
    eventually(lambda: log(controller, "adopt").count("\n") == 3)
    return {"to-rule": to_rule, "from-rule": "".join(sorted(log(controller, "adopt").splitlines(keepends=True)))}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place, started(Path(place) / "cluster") as made:
        PAGE.write_text(written(PAGE.read_text(), outputs(made, Path(place))))
