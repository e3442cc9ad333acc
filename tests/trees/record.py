"""Rebuild trees and write what they answer to ``tests/hosts``: ``python -m tests.trees.record [NAME…]``. Needs root and gcc.

A host that has no tree is the recording of a real machine: its tape stays as it is and is judged again. Read the difference of
every ``expect.yaml`` before you commit it: this writes down today's verdict, right or wrong.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import yaml

from hostagent import profile, snapshot
from hostagent.reading import InProcess
from hostagent.source import tape
from hostagent.source.tape import ReplayBackend, Tape
from tests.judged import judged
from tests.trees import hosts, others, serving
from tests.trees.staged import stage
from tests.trees.tree import NOW, Tree

HOSTS = Path(__file__).parent.parent / "hosts"
#: One key for all, so that a recording changes only with its host.
KEY = b"the recorded hosts are made up: nothing of theirs is secret"


class Recipe(NamedTuple):
    build: Callable[[Path], Tree]
    profile: str = "default"


RECIPES: Mapping[str, Recipe] = {
    "hgx-h100-ubuntu2404": Recipe(hosts.hgx_h100),
    "hgx-h100-userland-upgraded": Recipe(hosts.hgx_h100_userland_upgraded),
    "hgx-h100-next-kernel-without-module": Recipe(hosts.hgx_h100_next_kernel_without_module),
    "hgx-h100-gpu-off-the-bus": Recipe(hosts.hgx_h100_gpu_off_the_bus),
    "hgx-h100-fabricmanager-mismatch": Recipe(hosts.hgx_h100_fabricmanager_mismatch),
    "gpu-operator-driver-container": Recipe(others.gpu_operator_driver_container, "gpu-operator-26.3"),
    "rhel9-module-streams": Recipe(others.rhel9_module_streams),
    "debian12-runfile": Recipe(others.debian12_runfile),
    "k3s-worker": Recipe(others.k3s_worker),
    "t4-workstation-docker": Recipe(others.t4_workstation_docker),
    "gb200-nvl": Recipe(others.gb200_nvl),
    **{name: Recipe(build) for name, build in serving.RECIPES.items()},
}


def record(name: str, root: Path, *, redact: bool = True) -> Tape:
    """The tape of a host, built below `root`."""
    with stage(RECIPES[name].build(root)) as backend:
        return replace(snapshot.record(InProcess(backend), KEY, redact=redact), recorded_at=float(NOW))


def adopt(name: str, recorded: Tape, profile_name: str) -> dict[str, object]:
    """Replace the tape and the expectation of ``tests/hosts/<name>``; returns the expectation."""
    directory = HOSTS / name
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "adopted")
        expected = snapshot.adopt(recorded, tape.dumps(recorded), str(made), profile.load(profile_name, site_file=""))
        directory.mkdir(parents=True, exist_ok=True)
        for file in made.iterdir():
            shutil.copyfile(file, directory / file.name)
    return expected


def judge(name: str) -> dict[str, object]:
    """Replace the expectation of a kept tape: what it cannot answer comes under ``not_recorded``; returns the expectation."""
    file = HOSTS / name / "expect.yaml"
    loaded = profile.load(yaml.safe_load(file.read_text())["profile"], site_file="")
    expected = snapshot.expectation(judged(ReplayBackend(tape.load(str(HOSTS / name))), loaded))
    file.write_text(yaml.safe_dump(expected, sort_keys=False))
    return expected


def main(names: list[str]) -> None:
    for name in names or (*RECIPES, *sorted({path.parent.name for path in HOSTS.glob("*/tape.json")} - set(RECIPES))):
        with tempfile.TemporaryDirectory() as place:
            expected = adopt(name, record(name, Path(place, "root")), RECIPES[name].profile) if name in RECIPES else judge(name)
        size = (HOSTS / name / "tape.json").stat().st_size // 1024
        print(f"{name}: {size} KiB, single-node {expected['single_node']}, multi-node {expected['multi_node']}")  # noqa: T201
        for outcome in ("fail", "warn", "unknown", "not_recorded"):
            print(*(f"  {outcome:<7} {check_id}" for check_id in expected[outcome]), sep="\n") if expected.get(outcome) else None  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
