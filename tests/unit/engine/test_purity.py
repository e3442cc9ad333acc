"""What evaluates, plans, places, renders or checks never reaches the host: an import that does is planted in each, and refused."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hostagent.engine.lint import lint

ROOT = Path(__file__).parents[3]
#: Modules of which each is one that must be pure, and what it says where a reader is planted in it.
PURE = {
    "checks/hostagent_checks/gpu/row_remap.py": "hostagent_checks.gpu.row_remap",
    "hostagent/engine/evaluate.py": "hostagent.engine.evaluate",
    "hostagent/plan/build.py": "hostagent.plan.build",
    "hostagent/gate/placing.py": "hostagent.gate.placing",
    "hostagent/outputs/text.py": "hostagent.outputs.text",
    "hostagent/domains/nccl/devices.py": "hostagent.domains.nccl.devices",
}
REACHES = ("hostagent.domains.kubelet.read_kubelet", "hostagent.host.files", "hostagent.sandbox.worker")


def linted(root: Path) -> "subprocess.CompletedProcess[str]":
    program = Path(sys.executable).with_name("lint-imports")
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'checks'}", "COLUMNS": "500"}
    return subprocess.run([str(program), "--no-cache"], cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("planted")
    for name in ("hostagent", "checks/hostagent_checks"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "docs", "*.json", "*.yaml"))
    (root / "tests").mkdir()
    for name in ("pyproject.toml", "tests/contracts.py"):
        shutil.copy(ROOT / name, root / name)
    return root


def test_an_import_that_reaches_the_host_is_refused_wherever_it_is_planted(copy):
    assert linted(copy).returncode == 0, "before"
    for path in PURE:
        with open(copy / path, "a", encoding="utf-8") as stream:
            stream.writelines(f"\nimport {name}  # noqa\n" for name in REACHES)
    done = linted(copy)
    said = done.stdout.splitlines()
    missed = [(source, name) for source in PURE.values() for name in REACHES if f"{source} -> {name}" not in said]
    assert done.returncode == 1
    assert missed == []


@pytest.mark.parametrize(
    "line",
    [
        "from hostagent.domains.nccl.read_nccl import read_nccl",
        "from hostagent.domains.nccl import read_nccl",
        "from hostagent.host.files import Files",
        "from hostagent.sandbox.worker import Worker",
        "from hostagent.engine.check import check",
        "from hostagent.core.smallfile import read_small",
        "import hostagent.domains.nccl.read_nccl",
        "from hostagent.domains.report_json import picked",
        "from hostagent.domains.nccl.report import write",
        "from hostagent.domains.gpu import read_gpus",
        "from hostagent.domains import gpu",
    ],
)
def test_the_lint_of_checks_refuses_it_too(line):
    assert lint(line) != ()


def test_the_lint_of_checks_allows_what_is_pure_of_a_domain():
    assert lint("from hostagent.domains.gpu.tables.xids import meaning\n") == ()
