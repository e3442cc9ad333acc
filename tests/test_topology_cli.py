"""``hostagent topology`` as its users meet it: exit codes, formats, mistakes; and its pictures of hosts that nobody has."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import pytest

from hostagent.cli.schemas import published
from hostagent.cli.topology import FAMILIES, mapped, with_map
from hostagent.core.typed import plain
from hostagent.domains.kubelet.placement import parse_shape
from hostagent.engine.collection import InProcess
from hostagent.engine.pipeline import prepare
from hostagent.host.recording import ReplayBackend, load
from hostagent.outputs.markup import escaped
from hostagent.outputs.topology import FORMATS, render_topology
from hostagent.outputs.topology.document import PARTS, Fix, MapFinding, Placeable
from hostagent.profiles import profile
from tests.maps import MADE, NO_RDMA, NONE, asked, device, hgx, mtu, nic, port
from tests.trees import kubelethost

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
HOSTS = Path(__file__).parent / "hosts"
NO_KUBELET = str(HOSTS / "epyc-nps4")
NO_GPU = str(HOSTS / "no-gpu-vm")
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script>", "\"'&<>]]>", "\x1b[31m\x00\n\r", "\u202egpu", "a" * 100_000, "", "../../etc", "{{0}}", "%s", "</svg></title></style>",
    "--&gt;", "\ud800", "X", "?", "NV18",
)  # fmt: skip


def run(*arguments, **options):
    completed = subprocess.run([HOSTAGENT, "topology", *arguments], capture_output=True, text=True, check=False, timeout=60, **options)
    assert "Traceback" not in completed.stderr, completed.stderr
    return completed


class TestForms:
    @pytest.mark.parametrize("width", [80, 100, 120])
    @pytest.mark.parametrize("name", sorted(MADE))
    def test_no_line_of_text_is_wider_than_the_terminal(self, name, width):
        text = render_topology(MADE[name](), "text", width=width)
        commands = ("kubectl", "systemctl")
        assert [line for line in text.splitlines() if len(line) > width and not line.strip().startswith(commands)] == []

    @pytest.mark.parametrize("name", sorted(MADE))
    def test_every_class_that_is_shown_is_in_the_legend_and_no_other(self, name):
        text = render_topology(MADE[name](), "text", width=1000)
        matrix = [line.split() for line in text.splitlines() if re.match(r"GPU\d+ ", line)]
        shown = {
            re.sub(r"^NV\d+$", "NV#", word)
            for row in matrix
            for word in row[1:]
            if re.fullmatch(r"X|LOC|NV\d+|P[IX][XB]|P2C|PHB|NODE|SYS", word)
        }
        legend = set(re.findall(r"^  (X|LOC|NV#|PIX|PXB|P2C|PHB|NODE|SYS)  ", text, re.MULTILINE))
        assert legend == shown

    def test_a_distance_that_is_not_known_is_no_class(self):
        text = render_topology(MADE["flat"](), "text")
        assert "SYS" not in text
        assert "Distances are not known: a virtual machine shows no switches" in text

    def test_what_was_not_read_says_why(self):
        text = render_topology(MADE["unread"](), "text")
        assert text.count("EACCES") == 6
        assert "Ports were not read: EACCES" in text
        assert "no memory" not in text

    def test_alike_columns_give_way_to_one_where_there_is_no_room(self):
        assert "GPU15" in render_topology(MADE["wide"](), "text", width=400).splitlines()[3]
        assert "GPUs  mlx5_0" in render_topology(MADE["wide"](), "text", width=80).splitlines()[4]

    def test_colour_only_when_asked_for(self):
        made = asked(hgx())
        assert "\x1b" not in render_topology(made, "text")
        assert "\x1b[1;31mREJECTED" in render_topology(made, "text", colour=True)

    def test_a_port_has_role_state_rate_and_mtu(self):
        text = render_topology(MADE["odd"](), "text")
        assert "\n  mlx5_0:1  rail   ACTIVE          400 Gb/s Ethernet    ens1f0np0  MTU 9000  active 4096\n" in text
        assert "\n  mlx5_3:1  rail   ACTIVE          400 Gb/s Ethernet    ens4f0np0  MTU 1500  active 1024 (derived)\n" in text
        assert "\n  mlx5_5:1  rail   DOWN (Polling)  10 Gb/s Ethernet     ens6f0np0  MTU 9000  active ?\n" in text
        assert re.search(r"^  mlx5_8:2  other  ACTIVE +200 Gb/s InfiniBand +active 4096$", text, re.MULTILINE)
        assert re.search(r"^  eth0 +down +MTU 1500$", text, re.MULTILINE)

    @pytest.mark.parametrize("name", sorted(MADE))
    @pytest.mark.parametrize("width", [20, 80, 100])
    def test_the_last_line_is_the_answer_on_the_mtu(self, name, width):
        made = MADE[name]()
        told = made.fabric.get("mtu", {}).get("text", "MTU not known: EACCES")
        assert render_topology(made, "text", width=width).splitlines()[-2:] == ["", told]
        assert escaped(told) in render_topology(made, "svg")
        assert escaped(told) in render_topology(made, "html")

    @pytest.mark.parametrize(
        ("agree", "code"), [(True, "\x1b[1;32m"), (False, "\x1b[1;31m"), ({"unread": "timeout", "detail": ""}, "\x1b[1;35m"), (NONE, "")]
    )
    def test_the_answer_has_the_colour_of_a_verdict(self, agree, code):
        made = replace(hgx(), fabric={**NO_RDMA, "mtu": mtu("the answer", agree=agree)})
        shown = f"{code}the answer\x1b[0m" if code else "the answer"
        assert render_topology(made, "text", colour=True).splitlines()[-1] == shown

    def test_a_rail_is_listed_even_where_its_nic_is_not(self):
        """A virtual function has no distance, and carries the traffic of a pod."""
        made = hgx()
        virtual = port(nic("mlx5_9", 0xA0, 0, bridges=[])) | {"role": "other"}
        for role, shown, line in (("rail", 9, None), ("other", 8, "  and 1 more: --json lists all\n")):
            fabric = {**made.fabric, "rdma": [*made.fabric["rdma"], {**virtual, "role": role}]}
            text = render_topology(replace(made, fabric=fabric), "text")
            assert len(re.findall(r"^  mlx5_\d:1 ", text, re.MULTILINE)) == shown
            assert (line is None) == ("more: --json" not in text)

    def test_rails_come_first_and_a_port_of_efa_is_called_that(self):
        made = hgx()
        first, *rest = made.fabric["rdma"]
        ports = [{**first, "role": "other"}, {**rest[0], "link_layer": "Unknown", "driver": "efa"}]
        text = render_topology(replace(made, fabric={**made.fabric, "rdma": ports}), "text")
        assert re.findall(r"^  (mlx5_\d:1) +(\w+) +ACTIVE +400 Gb/s (\w+)", text, re.MULTILINE) == [
            ("mlx5_1:1", "rail", "efa"),
            ("mlx5_0:1", "other", "Ethernet"),
        ]

    def test_a_finding_about_a_port_colours_its_nic_and_no_other(self):
        root = ET.fromstring(render_topology(MADE["odd"](), "svg"))
        marked = {}
        for group in root.iter(f"{SVG}g"):
            box = group.find(f"{SVG}rect").get("class")
            if severity := re.search(r"t-nic t-(critical|warning|info)", box):
                marked[group.find(f"{SVG}text").text] = severity[1]
        assert marked == {"mlx5_5": "critical", "mlx5_3": "warning"}

    def test_a_box_tells_of_each_port(self):
        texts = [one.text for one in ET.fromstring(render_topology(MADE["odd"](), "svg")).iter(f"{SVG}text")]
        assert texts.count("rail ACTIVE 400 Gb/s") == 7
        assert "MTU 1500/1024" in texts
        assert "rail DOWN 10 Gb/s" in texts
        at = texts.index("mlx5_8:1")
        assert texts[at : at + 6] == ["mlx5_8:1", "other ACTIVE 200 Gb/s", "MTU 4096", "mlx5_8:2", "other ACTIVE 200 Gb/s", "MTU 4096"]

    def test_a_rejected_pod_has_its_change_and_the_steps(self):
        text = render_topology(asked(hgx()), "text")
        assert "       topologyManagerPolicy: best-effort\n  2. Drain the node.\n" in text
        assert "No change of the kubelet's policies" in text

    @pytest.mark.parametrize("name", sorted(MADE))
    def test_the_picture_is_xml_that_fetches_nothing(self, name):
        text = render_topology(MADE[name](), "svg")
        root = ET.fromstring(text)
        assert root.tag == f"{SVG}svg"
        assert {one.tag.removeprefix(SVG) for one in root.iter()} <= {"svg", "title", "style", "rect", "text", "g"}
        assert not re.search(r"href|url\(|@import|<script|\bon\w+=", text)

    @pytest.mark.parametrize("name", sorted(MADE))
    def test_no_box_leaves_the_picture_or_the_box_around_it(self, name):
        root = ET.fromstring(render_topology(MADE[name](), "svg"))
        width, height = float(root.get("width")), float(root.get("height"))
        boxes = [tuple(float(one.get(key)) for key in ("x", "y", "width", "height")) for one in root.iter(f"{SVG}rect") if one.get("x")]
        assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in boxes)
        for group in root.iter(f"{SVG}g"):
            outer, *inner = [[float(one.get(key)) for key in ("x", "y", "width", "height")] for one in group.iter(f"{SVG}rect")]
            for x, y, w, h in inner:
                assert outer[0] < x, (outer, x)
                assert outer[1] < y
                assert x + w <= outer[0] + outer[2]
                assert y + h <= outer[1] + outer[3]

    def test_colour_is_the_severity_of_findings_and_nothing_else(self):
        severities = re.compile(r'class="t-\w+ t-(critical|warning|info)"')
        assert severities.findall(render_topology(hgx(), "svg")) == []
        assert sorted(severities.findall(render_topology(asked(hgx()), "svg"))) == ["critical", "warning"]

    @pytest.mark.parametrize("name", sorted(MADE))
    def test_the_page_runs_and_fetches_nothing(self, name):
        text = render_topology(MADE[name](), "html")
        assert "default-src 'none'" in text
        assert not re.search(r"<script|<link|<img|@import|url\(|\bon\w+=|href=\"(?!#)|src=", text)

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    def test_a_hostile_text_breaks_no_form(self, form, text):
        made = hostile(text)
        shown = render_topology(made, form)
        assert form in ("text", "json") or "<script>" not in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        if form == "svg":
            ET.fromstring(shown.encode("utf-8", "backslashreplace"))
        if form == "html":
            assert "</svg></title>" not in shown
        if form != "json":
            assert len(shown) < 400_000

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize(
        "value", [None, [], {}, "x", 7, -1, True, [None], [[]], [{}], {"a": 1}, [{"pci": None, "bridges": "x", "link": 3}]]
    )
    def test_a_part_of_another_shape_breaks_no_form(self, form, value):
        for part in (*PARTS, "fabric"):
            render_topology(replace(hgx(), **{part: value}), form)
        render_topology(replace(hgx(), **dict.fromkeys((*PARTS, "fabric"), value)), form)
        made = hgx()
        for part in made.fabric:
            render_topology(replace(made, fabric={**made.fabric, part: value}), form)
        for part in ("nics", "rdma"):
            changed = [dict.fromkeys(one, value) for one in made.fabric[part]]
            render_topology(replace(made, fabric={**made.fabric, part: changed}), form)

    def test_a_host_with_thousands_of_devices_is_drawn_in_time(self):
        many = [device(f"GPU{at}", at, at % 64, bridges=[f"{at}:{level}" for level in range(40)]) for at in range(2000)]
        text = render_topology(replace(hgx(), gpus=many, distances={"gpu_nic": {}, "gpu_gpu": {}}), "svg")
        assert text.count("<rect") < 10_000


def hostile(text):
    made = asked(hgx(2, 1))
    change = {
        "name": text,
        "pci": text,
        "numa_node": text,
        "local_cpus": text,
        "root": text,
        "bridges": [text] * 5,
        "netdevs": [text],
        "rdma": [text],
    }
    gpus, nics = ([{**one, **change, "link": dict.fromkeys(one["link"], text)} for one in part] for part in (made.gpus, made.nics))
    pairs = {"gpu_nic": {text: {text: text}}, "gpu_gpu": {text: {text: text}}}
    nodes = [{"id": text, "cpus": text, "memory_bytes": text, "distances": [text]}]
    fabric = {
        "nics": [dict.fromkeys(one, text) for one in made.fabric["nics"]],
        "rdma": [{**dict.fromkeys(one, text), "gid": dict.fromkeys(one["gid"], text)} for one in made.fabric["rdma"]],
        "gdr": {"peermem": text, "dmabuf": text},
        "mtu": mtu(text, odd=[text]),
    }
    pods = [
        replace(
            one, shape=text, policy=text, reason=text, message=text, fix=Fix({"topologyManagerPolicy": text}, {"cpu": text}, one.fix.steps)
        )
        for one in made.placeable
    ]
    found = [MapFinding(text, "fail", "critical", text, text, text)]
    host = replace(made.host, **{field.name: text for field in fields(made.host)})
    parts = {
        "fabric": fabric,
        "numa_nodes": nodes,
        "packages": [{"id": text, "cpus": text}],
        "rails": [{"gpu": text, "nics": [text], "class": text}],
    }
    return replace(made, host=host, gpus=gpus, nics=nics, distances=pairs, placeable=tuple(pods), findings=tuple(found), **parts)


@pytest.fixture(scope="module")
def schema():
    return published("topology")


class TestJson:
    @pytest.mark.parametrize("name", sorted(MADE))
    def test_a_map_validates_against_its_schema(self, schema, name):
        jsonschema.validate(json.loads(render_topology(MADE[name](), "json")), schema)

    def test_the_schema_is_one_and_describes_each_field(self, schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert set(PARTS) | {"schema_version", "fabric", "placeable"} <= set(schema["properties"])
        assert [name for name, one in schema["properties"].items() if "description" not in one] == []

    def test_an_answer_has_the_promised_keys(self):
        keys = {"shape", "policy", "scope", "admitted", "aligned", "numa_nodes", "reason", "message", "fix"}
        assert set(plain(asked(hgx()).placeable[0])) == keys == {field.name for field in fields(Placeable)}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--pod", "gpus=many"], "gpus"),
        (["--pod", "gpus=1,gpus=2"], "gpus"),
        (["--pod", "gpu=1"], "gpu"),
        (["--pod", "gpus=-1"], "gpus"),
        (["--pod", "memory=1Zi"], "memory"),
        (["--pod", "="], "--pod"),
        (["--pod", ""], "found --pod ''"),
        (["--pod", "/nonexistent.yaml"], "no such file or directory"),
        (["--pod", "/proc"], "--pod /proc"),
        (["--pod", "-", "--from", "-"], "found --from - and --pod -, wanted at most one"),
        (["--pod", "-", "--pod", "-"], "found --pod - and --pod -, wanted at most one"),
        (["--format", "yaml"], "yaml"),
        (["--json", "--format", "svg"], "wanted one of them"),
        (["--also", "junit=x"], "wanted FORMAT=FILE with one of the formats text, json, svg, html"),
        (["--also", "svg=x", "-o", "x"], "wanted one per file"),
        (["--host-root", "/etc"], "found no /sys below /etc"),
        (["--profile", "nonsense"], "nonsense"),
        (["--deadline", "0"], "deadline"),
        (["--fail-on", "degraded"], "--fail-on"),
        (["somewhere"], "somewhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_a_short_message_and_exit_2(arguments, told):
    answer = run(*(() if "--from" in arguments or "--host-root" in arguments else ("--from", NO_GPU)), *arguments, input="")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert told in answer.stderr
    assert len(answer.stderr.splitlines()) <= 5


GARBLED = {
    "binary": b"\xff\xfe\x00\x01",
    "empty": b"",
    "markers": b"---\n---\n",
    "list": b"[1, 2]",
    "text": b"pod",
    "number": b"7",
    "deep": b"[" * 20_000,
    "braces": b"{" * 20_000,
    "unclosed": b"spec: {containers: [",
    "service": b"kind: Service\nspec: {ports: []}\n",
    "no containers": b"kind: Pod\nspec: {}\n",
    "containers": b"kind: Pod\nspec: {containers: 7}\n",
    "requests": b"kind: Pod\nspec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: many}}}]}\n",
    "huge": b"a: b\n" * 300_000,
    "circle": b"a: &a [*a]\nspec: *a\nkind: Pod\n",
    "bomb": b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nkind: Pod\nspec: {containers: *c}\n",
    "many": b"---\nkind: Pod\nspec: {containers: [{name: a}]}\n" * 300,
}


@pytest.mark.parametrize("name", sorted(GARBLED))
def test_a_garbled_manifest_is_a_sentence_and_exit_2(tmp_path, name):
    (tmp_path / "pod.yaml").write_bytes(GARBLED[name])
    answer = run("--from", NO_GPU, "--pod", str(tmp_path / "pod.yaml"))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "pod.yaml: " in answer.stderr or "wanted at most 100" in answer.stderr
    assert len(answer.stderr) < 1000


def test_a_pipe_is_no_manifest(tmp_path):
    subprocess.run(["mkfifo", str(tmp_path / "pipe")], check=True)
    answer = run("--from", NO_GPU, "--pod", str(tmp_path / "pipe"))
    assert answer.returncode == 2
    assert "found something that is not a file" in answer.stderr


def test_a_shell_completes_shapes_formats_and_files(tmp_path):
    def completed(*words):
        environment = {
            **os.environ,
            "_HOSTAGENT_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("hostagent", *words)),
            "COMP_CWORD": str(len(words)),
        }
        answer = subprocess.run([HOSTAGENT], env=environment, capture_output=True, text=True, check=True, timeout=60)
        return [line.partition(",")[2] for line in answer.stdout.split()]

    assert "topology" in completed("topo")
    assert completed("topology", "--also", "s") == ["svg="]
    assert completed("check", "--also", "j") == ["json=", "junit="]
    assert completed("topology", "--pod", "gpus=4,c") == ["gpus=4,cpus="]
    assert completed("topology", "--pod", "gpus=4,g") == []
    assert completed("topology", "--pod", "pod.y") == ["pod.y"]


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """Two NUMA nodes with four GPUs and 32 CPUs each, and a kubelet that wants one node for a pod."""
    return str(kubelethost.build(tmp_path_factory.mktemp("strict") / "root", "topologyManagerPolicy: single-numa-node").root)


@pytest.mark.parametrize(
    ("pods", "code", "words"),
    [
        ((), 0, ["REJECTED"]),  # the profile's pod: nobody asked
        (("gpus=4",), 0, ["ADMITTED"]),
        (("gpus=4", "gpus=4"), 0, ["ADMITTED", "ADMITTED"]),
        (("gpus=4", "gpus=4", "gpus=1"), 1, ["ADMITTED", "ADMITTED", "REJECTED"]),
        (("gpus=6",), 1, ["REJECTED"]),
        (("gpus=3", "gpus=3", "gpus=2"), 1, ["ADMITTED", "ADMITTED", "REJECTED"]),
    ],
)
def test_the_exit_code_is_the_answer(strict, pods, code, words):
    answer = run("--host-root", strict, *(part for pod in pods for part in ("--pod", pod)))
    assert answer.returncode == code, answer
    assert re.findall(r"^(ADMITTED|REJECTED|NOT KNOWN)  ", answer.stdout, re.MULTILINE) == words


def test_what_cannot_be_told_is_1_where_it_was_asked(strict):
    answer = run("--from", NO_KUBELET, "--pod", "gpus=1")
    assert answer.returncode == 1
    assert "NOT KNOWN  gpus=1: " in answer.stdout
    assert run("--from", NO_KUBELET).returncode == 0


def test_a_manifest_is_asked_about_from_a_file_and_from_standard_input(strict, tmp_path):
    container = {"name": "train", "resources": {"limits": {"nvidia.com/gpu": "6"}}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "train"}, "spec": {"ports": []}}
    text = f"# a comment\n---\n{json.dumps(service)}\n---\n{json.dumps(job)}\n"
    (tmp_path / "job.yaml").write_text(text)
    for answer in (run("--host-root", strict, "--pod", str(tmp_path / "job.yaml")), run("--host-root", strict, "--pod", "-", input=text)):
        assert answer.returncode == 1
        assert answer.stdout.count("REJECTED") == 1


def test_json_has_one_answer_a_pod_in_their_order(strict, schema):
    document = json.loads(run("--host-root", strict, "--pod", "gpus=6", "--pod", "gpus=1", "--json").stdout)
    jsonschema.validate(document, schema)
    assert [(one["shape"], one["admitted"], one["reason"]) for one in document["placeable"]] == [
        ("gpus=6", False, "TopologyAffinityError"),
        ("gpus=1", True, ""),
    ]
    assert document["simulated"] is True
    assert document["capacity"]["gpus_per_numa"] == {"0": 4, "1": 4}


def test_the_report_has_the_same_map_and_no_answers(strict):
    answer = subprocess.run(
        [HOSTAGENT, "check", "--only", "topology,kubelet", "--json", "--host-root", strict], capture_output=True, text=True, check=False
    )
    facts = json.loads(answer.stdout)["facts"]["topology"]
    document = json.loads(run("--host-root", strict, "--json").stdout)
    assert {name: document[name] for name in facts} == facts
    assert "placeable" not in facts


def test_a_sys_alone_is_enough_for_the_map(strict, tmp_path):
    shutil.copytree(Path(strict) / "sys", tmp_path / "sys", symlinks=True)
    answer = run("--host-root", str(tmp_path), "--json")
    document = json.loads(answer.stdout)
    assert answer.returncode == 0
    assert document["simulated"] is True
    assert len(document["gpus"]) == 8
    assert [one["id"] for one in document["numa_nodes"]] == [0, 1]
    assert run("--host-root", str(tmp_path), "--pod", "gpus=1").returncode == 1


def test_several_formats_come_from_one_run(strict, tmp_path):
    answer = run(
        "--host-root", strict, "--also", f"svg={tmp_path}/map.svg", "--also", f"html={tmp_path}/map.html", "-o", str(tmp_path / "map.txt")
    )
    assert (answer.returncode, answer.stdout) == (0, "")
    ET.parse(tmp_path / "map.svg")
    assert {path.name for path in tmp_path.iterdir()} == {"map.svg", "map.html", "map.txt"}
    assert "\x1b" not in (tmp_path / "map.txt").read_text()


def test_colour_is_as_check_has_it(strict):
    assert "\x1b" not in run("--host-root", strict).stdout
    assert "\x1b[1;31mREJECTED" in run("--host-root", strict, "--color", "always").stdout
    assert "\x1b" in run("--host-root", strict, env={**os.environ, "FORCE_COLOR": "1"}).stdout


def test_every_recorded_host_has_a_map(tmp_path):
    """Also those that were recorded before there was one."""
    for host in ("hgx-h100-ubuntu2404", "no-gpu-vm", "wsl2", "debian12-image-without-kernel"):
        for form in FORMATS:
            answer = run("--from", str(HOSTS / host), "--format", form)
            assert (answer.returncode, answer.stderr) == (0, ""), (host, form, answer)


def test_it_ends_with_its_deadline(tmp_path, strict):
    answer = run("--host-root", strict, "--deadline", "0.1")
    assert answer.returncode in (0, 1)
    assert answer.stdout


@pytest.fixture(scope="module")
def tape(strict, tmp_path_factory):
    file = str(tmp_path_factory.mktemp("tape") / "host.json")
    subprocess.run([HOSTAGENT, "snapshot", "save", file, "--host-root", strict], capture_output=True, check=True, timeout=60)
    return load(file)


def shown_of(answers, kept):
    """Every form of what a tape with these answers says, asked about two pods."""
    changed = replace(kept, answers=answers)
    prepared = with_map(prepare(profile.load("", site_file=""), FAMILIES))
    reading = InProcess(ReplayBackend(changed), prepared.kinds, replayed=True, recorded_at=kept.recorded_at)
    found = mapped(reading, prepared, (parse_shape("gpus=4,cpus=8,memory=8Gi"), parse_shape("gpus=5")))
    return {form: render_topology(found, form) for form in FORMATS}


GARBAGE = (
    "",
    "\x00",
    "-1",
    "0-",
    "99999999999999999999",
    "0-65535",
    "1,1,1",
    "<script>",
    "{",
    "[]",
    "null",
    "\ud800",
    "9" * 5000,
    "\n" * 1000,
    "0 10 x",
)


@pytest.mark.parametrize("place", ["/sys/devices/system/node", "/sys/devices/system/cpu", "/sys/bus/pci", "/var/lib/kubelet", "/proc"])
@pytest.mark.parametrize("text", GARBAGE, ids=range(len(GARBAGE)))
def test_no_answer_of_a_host_breaks_a_form(tape, schema, place, text):
    changed = {key: {**value, "text": text} if "text" in value and f" {place}" in key else value for key, value in tape.answers.items()}
    assert changed != tape.answers
    shown = shown_of(changed, tape)
    ET.fromstring(shown["svg"].encode("utf-8", "backslashreplace"))
    assert "<script>" not in shown["html"]
    jsonschema.validate(json.loads(shown["json"]), schema)


def test_a_whole_tape_is_drawn_and_an_empty_one_is_not_known(tape):
    assert "ADMITTED  gpus=4" in shown_of(tape.answers, tape)["text"]
    text = shown_of({}, tape)["text"]
    assert text.count("NOT KNOWN  ") == 2
    assert "GPU0" not in text


def test_the_report_has_the_same_fabric_and_the_same_answer():
    host = str(HOSTS / "hgx-h100-roce-one-rail-1500")
    shown = {form: run("--from", host, "--format", form).stdout for form in FORMATS}
    checked = subprocess.run([HOSTAGENT, "check", "--json", "--from", host], capture_output=True, text=True, check=False, timeout=60)
    told = json.loads(shown["json"])["fabric"]
    assert told == json.loads(checked.stdout)["facts"]["fabric"]
    assert (told["mtu"]["agree"], told["mtu"]["odd"]) == (False, ["mlx5_3:1"])
    assert shown["text"].splitlines()[-1] == told["mtu"]["text"]
    marked = [
        box.find(f"{SVG}text").text
        for box in ET.fromstring(shown["svg"]).iter(f"{SVG}g")
        if "t-nic t-critical" in box.find(f"{SVG}rect").get("class")
    ]
    assert marked == ["mlx5_3"]
