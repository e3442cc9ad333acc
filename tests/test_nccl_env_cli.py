"""``hostagent nccl env`` as its users call it: reports of a set, exit codes, formats, a file for each node, what it does not read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from hostagent.cli.schemas import published
from tests.nccl_nodes import fleet, port, report, setting, summarized, whole

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))


def env(*arguments, **options):
    done = subprocess.run(
        [HOSTAGENT, "nccl", "env", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60, **options
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def written(folder, reports):
    folder.mkdir(exist_ok=True)
    for number, one in enumerate(reports):
        (folder / f"{number}.json").write_text(json.dumps(one))
    return folder


@pytest.fixture
def alike(tmp_path):
    return written(tmp_path / "alike", fleet(3))


@pytest.fixture
def apart(tmp_path):
    reports = fleet(2)
    reports[1]["facts"]["fabric"]["rdma"] = [port(number, f"ibp{number}s0") for number in range(8)]
    return written(tmp_path / "apart", reports)


def test_a_shell_evaluates_it(alike):
    done = env("--reports", alike)
    assert (done.returncode, done.stderr) == (0, "")
    script = f"{done.stdout}\nenv"
    shown = subprocess.run(["/bin/sh", "-eu"], input=script, capture_output=True, text=True, check=True, env={}, timeout=30).stdout
    assert {line for line in shown.splitlines() if line.startswith("NCCL_")} == {
        "NCCL_SOCKET_IFNAME==eth0", "NCCL_IB_HCA==" + ",".join(f"mlx5_{one}:1" for one in range(8)), "NCCL_NET=IB", "NCCL_IB_TC=104",
    }  # fmt: skip


def test_files_directories_and_standard_input_are_one_set(alike):
    files = sorted(alike.iterdir())
    whole = env("--reports", alike).stdout
    assert env("--reports", *files).stdout == whole
    assert env("--reports", files[0], "--reports", files[1], files[2]).stdout == whole
    assert env("--reports", "-", input="\n".join(file.read_text() for file in files)).stdout == whole


def test_yaml_is_a_list_for_a_container(alike):
    found = yaml.safe_load(env("--reports", alike, "--format", "yaml").stdout)
    assert {one["name"] for one in found["env"]} == {"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_NET", "NCCL_IB_TC"}
    assert all(isinstance(one["value"], str) for one in found["env"])


def test_json_has_the_reasons_and_follows_its_schema(alike, apart, tmp_path):
    unlike = written(tmp_path / "unlike", [*fleet(2), report("node9", rails=4, number=9)])
    for folder, code in ((alike, 0), (apart, 0), (unlike, 1)):
        done = env("--reports", folder, "--json")
        found = json.loads(done.stdout)
        jsonschema.validate(found, published("nccl-env"))
        assert (done.returncode, found["emitted"]) == (code, code == 0)


def test_hosts_that_disagree_get_nothing_and_are_named(tmp_path):
    reports = fleet(32)
    for one in reports[16]["facts"]["fabric"]["nics"]:
        one["mtu"] = 1500
    folder = written(tmp_path / "set", reports)
    for form in ("shell", "yaml", "conf"):
        done = env("--reports", folder, "--format", form, "-o", tmp_path / "answer")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "Refused: MTU of the RoCE rails' interfaces: 31 of 32 nodes have 9000; node17 has 1500.\n"
        assert not (tmp_path / "answer").exists()


def test_what_differs_by_node_is_in_that_nodes_conf_file(apart):
    done = env("--reports", apart)
    assert "NCCL_IB_HCA=" not in done.stdout
    assert "NCCL_IB_HCA differs by node" in done.stderr
    done = env("--reports", apart, "--format", "conf", "--node", "node2")
    assert "NCCL_IB_HCA==ibp0s0:1," in done.stdout
    assert env("--reports", apart, "--format", "conf").returncode == 2
    assert "did you mean node2?" in env("--reports", apart, "--node", "node22").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nccl", "2.27"], ["--nccl", "latest"], ["--reports", "/nonexistent"], ["--reports", "/etc/hostname"], ["--reports", "-", "-"], ["file.json"],
        ["--reports", "/dev/null"], ["--reports", "x", "--from", "/dev/null"], ["--reports", "x", "--profile", "any"], ["--format", "xml"],
        ["--format", "yaml", "--json"], ["--node", "nobody", "--from", "tests/hosts/p5-efa"], ["--reports", "x", "--env-file", "/dev/null"],
        ["--nccl", "2.17.1", "--from", "tests/hosts/hgx-h100-roce"],
    ],
)  # fmt: skip
def test_a_mistake_is_two_lines_and_exit_2(arguments):
    done = env(*arguments, cwd=Path(__file__).parent.parent)
    assert done.returncode == 2
    assert done.stdout == ""


def test_a_report_of_an_older_release_is_refused(tmp_path):
    made = report()
    del made["facts"]["nccl"]
    done = env("--reports", written(tmp_path / "old", [made]))
    assert done.returncode == 2
    assert "without facts.nccl" in done.stderr


def test_old_reports_are_refused(tmp_path):
    made = {**report(), "valid_until": 1.0}
    done = env("--reports", written(tmp_path / "old", [made]))
    assert done.returncode == 1
    assert "that of node1 has expired" in done.stderr


def test_summaries_give_what_full_reports_give(alike, tmp_path):
    reports = [whole(one) for one in fleet(3)]
    documents = [summarized(one) for one in reports]
    exports = [line for line in env("--reports", alike).stdout.splitlines() if line.startswith("export")]
    for folder in (written(tmp_path / "summaries", documents), written(tmp_path / "mixed", [*documents[:2], reports[2]])):
        done = env("--reports", folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert [line for line in done.stdout.splitlines() if line.startswith("export")] == exports
        done = env("--reports", folder, "--format", "conf", "--node", "node2")
        assert "NCCL_IB_HCA==mlx5_0:1," in done.stdout
        jsonschema.validate(json.loads(env("--reports", folder, "--json").stdout), published("nccl-env"))
    assert "did you mean node2?" in env("--reports", folder, "--node", "node22").stderr


def test_summaries_that_do_not_suffice_name_the_nodes_and_the_next_step(apart, tmp_path):
    documents = [summarized(json.loads(file.read_text())) for file in sorted(apart.iterdir())]
    done = env("--reports", written(tmp_path / "summaries", documents))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Refused: NCCL_IB_HCA differs by node, and each summary has what is right for its own node alone. "
        "Full reports are needed of node1, node2: run 'hostagent check --format json -o FILE' there.\n"
    )


def test_a_full_report_of_another_shape_beside_a_summary_is_exit_2(tmp_path):
    mixed = [summarized(report()), {**whole(report("node2")), "observed_at": "yesterday", "findings": [{"outcome": []}]}]
    assert env("--reports", written(tmp_path / "mixed", mixed)).returncode == 2
    mixed[1]["findings"] = []
    done = env("--reports", written(tmp_path / "mixed", mixed))
    assert done.returncode == 2
    assert "1.json: found a report of another shape" in done.stderr


def test_a_recorded_host_is_a_set_of_one():
    done = env("--from", "hgx-h100-roce", "--nccl", "2.18.3", "--json", cwd=Path(__file__).parent / "hosts")
    found = {one["name"]: one["value"] for one in json.loads(done.stdout)["variables"]}
    assert done.returncode == 0
    assert set(found) == {"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_NET", "NCCL_IB_GID_INDEX", "NCCL_IB_TC"}


def test_the_environment_of_a_job_counts_and_ours_does_not(tmp_path):
    (tmp_path / "job").write_text("NCCL_IB_DISABLE=1\nNCCL_X_TOKEN=hunter2\n")
    hosts = Path(__file__).parent / "hosts"
    ours = {**os.environ, "NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": "^docker0"}
    assert env("--from", "hgx-h100-ubuntu2404", cwd=hosts, env=ours).stdout == env("--from", "hgx-h100-ubuntu2404", cwd=hosts).stdout
    done = env("--from", "hgx-h100-ubuntu2404", "--env-file", tmp_path / "job", "--nccl", "2.27.3", cwd=hosts)
    assert (done.returncode, done.stdout) == (1, "")
    assert "NCCL_IB_DISABLE=1 in environment" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_hostile_name_moves_no_cursor(tmp_path):
    made = report("\x1b[2Jnode\n", settings=[setting("NCCL_IB_DISABLE", "1\x1b[31m", "/etc/\x1b[0m")])
    done = env("--reports", written(tmp_path / "bad", [made]))
    assert done.returncode == 1
    assert "\x1b" not in done.stderr + done.stdout
