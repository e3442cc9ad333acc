"""``hostagent gate`` as its users call it: exit codes, what stands on which stream, bad input, formats."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from hostagent.cli.schemas import published
from hostagent.gate import Request, place
from hostagent.gate.answer import CODES
from hostagent.gate.candidate import parse_candidate
from hostagent.gate.described import CODES as DESCRIBED
from hostagent.gate.text import ADVICE, render_answer
from tests.gate_summaries import NOW, summary

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
#: Whatever day it is, they are fresh.
TIMES = {"observed_at": 1e9, "valid_until": 4_102_444_800.0}


def gate(*arguments, **options):
    environment = {**os.environ, "COLUMNS": "110"}
    done = subprocess.run(
        [HOSTAGENT, "gate", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60, env=environment, **options
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert all(line.isprintable() for line in (done.stdout + done.stderr).splitlines())
    return done


def written(folder, documents):
    folder.mkdir(exist_ok=True)
    for number, one in enumerate(documents):
        (folder / f"{number}.json").write_text(json.dumps({**one, **TIMES}))
    return folder


@pytest.fixture
def fleet(tmp_path):
    return written(tmp_path / "fleet", [summary("n1"), summary("n2"), summary("n3"), summary("n7", inputs={"mtu": "1500"})])


def asked(folder, nodes=2, gpus=8, *more):
    return gate("--reports", folder, "--nodes", nodes, "--gpus-per-node", gpus, *more)


def test_a_job_that_may_be_placed(fleet):
    done = asked(fleet)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "PLACEABLE  2 nodes with 8 GPUs each: n1, n2"
    assert "hostagent.dev/fabric-class=1-" in done.stdout


def test_a_job_that_may_not(fleet):
    done = asked(fleet, 4)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "NOT PLACEABLE  wanted 4 nodes with 8 GPUs each: 4 of 4 nodes are eligible, and at most 3 of one class",
        "",
        "REFUSED: 1 of 4 nodes",
        "  NotInClass, 1 node: n7: mtu 1500, 3 others 9000",
        "",
        "WHAT TO DO about NotInClass",
        "  Make mtu 9000 on n7, or ask with --may-differ mtu where the job can bear the difference.",
    ]


def test_its_json_follows_the_published_schema(fleet, tmp_path):
    (fleet / "bad.json").write_text("{")
    validator = jsonschema.Draft202012Validator(published("gate"))
    for nodes, more in ((2, ()), (4, ()), (2, ("--host-nccl",)), (1, ("--driver", "==1", "--max-age", "5", "--gpu-memory", "80.5"))):
        document = json.loads(asked(fleet, nodes, 8, "--json", *more).stdout)
        validator.validate(document)
        assert document["warnings"] == ["bad.json: found no JSON"]
        assert list(document)[:3] == ["schema_version", "backend", "placeable"]
    assert document["request"]["driver"] == "==1"


def test_the_schema_explains_each_code():
    assert set(DESCRIBED) == set(CODES)
    codes = published("gate")["properties"]["refused"]["items"]["properties"]["reasons"]["items"]["properties"]["code"]
    assert [one["const"] for one in codes["oneOf"]] == list(CODES)
    assert len({one["description"] for one in codes["oneOf"]}) == len(CODES)


@pytest.mark.parametrize("name", ["selector", "affinity", "env"])
def test_what_is_emitted_is_one_document_that_yaml_reads(fleet, name):
    done = asked(fleet, 2, 8, "--emit", name)
    whole = json.loads(asked(fleet, 2, 8, "--json").stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert yaml.safe_load(done.stdout) == whole[name] != {}


def test_nothing_is_emitted_where_nothing_may_be_placed(fleet, tmp_path):
    done = asked(fleet, 4, 8, "--emit", "selector", "-o", tmp_path / "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("NOT PLACEABLE")
    assert not (tmp_path / "out").exists()


def test_what_is_emitted_has_its_warnings_on_standard_error(tmp_path):
    folder = written(tmp_path / "r", [summary("n1"), summary("n2", {"nccl.env": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=b"}})])
    (folder / "bad.json").write_text("[]")
    done = asked(folder, 2, 8, "--emit", "env")
    assert json.loads(done.stdout) == {"NCCL_NET": "IB"}
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["Warning", "Warning"]
    assert "n1, n2" in done.stderr


def test_it_is_written_to_a_file(fleet, tmp_path):
    done = asked(fleet, 2, 8, "--format", "json", "-o", tmp_path / "answer.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((tmp_path / "answer.json").read_text())["nodes"] == ["n1", "n2"]


def test_an_empty_directory_is_no_fleet(tmp_path):
    done = asked(tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "no node has a report" in done.stdout
    assert json.loads(asked(tmp_path, 2, 8, "--json").stdout)["reasons"][0]["code"] == "TooFewNodes"


def test_full_reports_will_do(tmp_path):
    report = gate_report()
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps(report))
    answer = json.loads(asked(folder, 1, 8, "--json").stdout)
    assert answer["warnings"] == []
    assert answer["examined"]["nodes"] == 1


def gate_report():
    from hostagent.core.typed import plain
    from tests.recorded import report_of

    return plain(report_of("hgx-h100-roce"))


USAGE = [
    (("--nodes", "0"), "--nodes"),
    (("--nodes", "x"), "--nodes"),
    (("--nodes", "9" * 5000), "--nodes"),
    (("--gpus-per-node", "-1"), "--gpus-per-node"),
    (("--gpus-per-node", "1000001"), "--gpus-per-node"),
    (("--gpu-memory", "nan"), "found --gpu-memory nan"),
    (("--gpu-memory", "inf"), "found --gpu-memory inf"),
    (("--gpu-memory", "0"), "--gpu-memory"),
    (("--max-age", "nan"), "--max-age"),
    (("--max-age", "0"), "--max-age"),
    (("--max-age", "inf"), "found --max-age inf"),
    (("--driver", "five"), "found --driver 'five'"),
    (("--driver", ""), "--driver"),
    (("--cuda", "<13"), "cuda"),
    (("--toolkit", "1.x"), "toolkit"),
    (("--compute-capability", "sm_90"), "found --compute-capability 'sm_90'"),
    (("--product", ""), "--product"),
    (("--product", "-"), "product"),
    (("--exclude", ""), "--exclude"),
    (("--only", ""), "--only"),
    (("--may-differ", "mtuu"), "found --may-differ 'mtuu'"),
    (("--may-differ", "mtuu"), "did you mean mtu"),
    (("--may-differ", ""), "--may-differ"),
    (("--require-coverage", "most"), "--require-coverage"),
    (("--backend", "kubernetes"), "--backend"),
    (("--requirements", ""), "--requirements"),
    (("--requirements", "/nowhere/\x1b"), "cannot read"),
    (("--requirements", "/dev/zero"), "cannot read"),
    (("--requirements", "bad.yaml"), "runtime_requirements"),
    (("--requirements", "wrong.yaml"), "min_driver_version"),
    (("--emit", "env", "--json"), "--emit"),
    (("--emit", "nodes"), "--emit"),
    (("--emit", "selector", "--host-nccl"), "--host-nccl"),
    (("--format", "json", "--format", "text", "--json"), "wanted one of them"),
    (("--reports", ""), "--reports"),
    (("--reports", "nowhere"), "--reports"),
    (("--reports", "bad.yaml"), "--reports"),
    (("--reports", "fifo"), "neither a directory nor a file"),
    (("--reports", "a\x1bb"), "--reports"),
]


@pytest.mark.parametrize(("words", "text"), USAGE, ids=[" ".join(words)[:40].encode("unicode_escape").decode() for words, _ in USAGE])
def test_a_mistake_ends_with_2_and_says_what_it_is(fleet, tmp_path, words, text):
    (tmp_path / "bad.yaml").write_text("a: 1\n")
    (tmp_path / "wrong.yaml").write_text('runtime_requirements: {gpu_host: {min_driver_version: ">=580"}}\n')
    os.mkfifo(tmp_path / "fifo")
    done = gate("--reports", fleet, "--nodes", "2", "--gpus-per-node", "8", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr


def test_the_requirements_of_a_model_count(fleet, tmp_path):
    def of(**minimums):
        (tmp_path / "skill.yaml").write_text(json.dumps({"runtime_requirements": {"gpu_host": minimums}}))
        return asked(fleet, 2, 8, "--requirements", tmp_path / "skill.yaml", "--driver", "570")

    assert of(min_driver_version="580").returncode == 0
    assert of(min_container_toolkit_version="1.19").returncode == 0
    refused = of(min_driver_version="590", min_cuda_version="13.10")
    assert refused.returncode == 1
    assert "the driver is 580.178.04, wanted >=570, >=590" in refused.stdout
    assert "Cuda, 4 nodes:" in refused.stdout


def test_hostile_files_change_nothing_and_print_nothing_odd(tmp_path):
    folder = written(tmp_path / "r", [summary("n1"), summary("n2")])
    for number, text in enumerate(("[" * 100_000, '{"a":NaN}', "\xff", '{"schema_version": 1, "node": "\\u001b[2J"}')):
        (folder / f"bad{number}.json").write_text(text, encoding="latin-1")
    os.mkfifo(folder / "fifo.json")
    (folder / "dir.json").mkdir()
    (folder / "link.json").symlink_to("nowhere")
    with open(os.path.join(os.fsencode(folder), b"\xff\x1b.json"), "wb") as stream:
        stream.write(b"{}")
    odd = summary("n3", {"driver": "\x1b[31m", "fabric.domain": "\u202e", "gpus.product": "\n\n", "verdict.single_node": "\x07"})
    (folder / "odd.json").write_text(json.dumps({**odd, **TIMES}))
    for form in ("text", "json"):
        done = asked(folder, 2, 8, "--driver", "580", "--product", "NVIDIA H100 80GB HBM3", "--format", form)
        assert done.returncode == 0
        assert "n1" in done.stdout


def test_the_text_is_short_however_many_nodes_there_are():
    candidates = [parse_candidate(summary(f"n{number}", {"driver": f"570.{number}"})) for number in range(500)]
    answer = place(Request(4, 8, driver="580"), candidates, NOW)
    text = render_answer(answer, "text")
    assert len(re.findall(r"\bn\d+\b", text)) == 10
    assert "Driver, 500 nodes:" in text
    assert "and 490 nodes with other values" in text
    assert "hostagent plan" in text


def test_warnings_come_last_and_ten_are_enough(tmp_path):
    folder = written(tmp_path / "r", [summary("n1")])
    for number in range(15):
        (folder / f"bad{number:02}.json").write_text("x")
    lines = asked(folder, 1).stdout.splitlines()
    assert lines[lines.index("WARNINGS") + 11 :] == ["  and 5 more: --format json has them"]


def test_colour_is_asked_for_or_left_out(fleet):
    assert "\x1b" not in render_answer(answer_of("n1"), "text")
    assert render_answer(answer_of("n1"), "text", colour=True).startswith("\x1b[1;32mPLACEABLE")


def answer_of(*names):
    return place(Request(1, 8), [parse_candidate(summary(name)) for name in names], NOW)


def test_each_code_that_the_gate_gives_has_advice():
    assert set(ADVICE) == set(CODES)


@pytest.mark.parametrize(
    ("odd", "advice"),
    [
        ({"hidden": "more"}, "  Compare full reports:\n      hostagent nccl env --reports\n"),
        ({"version": "2"}, "  Use one release of hostagent on all nodes.\n"),
        ({"inputs": {"mtu": {"unread": "denied"}}}, "  Run this as root on such a node: it says what could not be read.\n      hostagent check\n"),
    ],
)  # fmt: skip
def test_what_to_do_about_a_class_depends_on_what_differs(odd, advice):
    made = [summary("n1"), summary("n2"), summary("n3", **odd)]
    text = render_answer(place(Request(3, 8), map(parse_candidate, made), NOW), "text")
    assert text.endswith(f"WHAT TO DO about NotInClass\n{advice}")
