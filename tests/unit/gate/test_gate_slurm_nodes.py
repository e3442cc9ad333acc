"""Nodes as Slurm's programs list them: three real releases, JSON and text, and documents that are none."""

import json
from dataclasses import replace

import pytest

from hostagent.gate.backends.slurmgres import GresError, gpus_of
from hostagent.gate.backends.slurmnodes import parse_document, read_nodes
from hostagent.slurm.client import Answer, SlurmError
from tests.unit.gate.slurmstub import RELEASES, Programs

WANTED = {
    "busy": {
        "n1": ("MIXED", 5),
        "n2": ("ALLOCATED", 0),
        "n3": ("ALLOCATED", 8),
        "x1": ("MIXED", 5),
        "x2": ("MIXED", 1),
        "x3": ("MIXED", 5),
    },
    "odd": {
        "n1": ("DRAIN IDLE", 8),
        "n2": ("DRAIN MIXED", 6),
        "n3": ("DOWN", 8),
        "n4": ("IDLE MAINT RESERVED", 8),
        "x1": ("DRAIN MIXED REBOOT_REQUESTED RESERVED", 4),
        "d1": ("DOWN NOT_RESPONDING", 8),
    },
}


def nodes(*arguments, **named):
    return {one.name: one for one in read_nodes(Programs(*arguments, **named))}


@pytest.mark.parametrize("is_text", [False, True], ids=["JSON", "text"])
@pytest.mark.parametrize("state", WANTED)
@pytest.mark.parametrize("release", RELEASES)
def test_states_and_free_gpus_of_every_release(release, state, is_text):
    found = nodes(release, state, is_text=is_text)
    seen = {name: (" ".join(sorted(found[name].states)), gpus_of(found[name].gres, found[name].gres_used).free) for name in WANTED[state]}
    assert seen == WANTED[state]


@pytest.mark.parametrize("release", RELEASES)
def test_text_says_what_json_says(release):
    for state in WANTED:
        for name, one in nodes(release, state).items():
            text = nodes(release, state, is_text=True)[name]
            if name == "d1":  # a reason of slurm.conf has no end in the text
                text = replace(text, comment="", extra="")
            nothing = {"gres": "(null)", "gres_used": None} if not one.gres else {}
            assert replace(text, reason_by="", reason_at=0.0, **nothing) == replace(one, reason_by="", reason_at=0.0, **nothing)


@pytest.mark.parametrize("release", RELEASES)
def test_extra_and_the_time_of_the_boot_are_read(release):
    one = nodes(release, "busy")["n1"]
    assert json.loads(one.extra)["hostagent_class"] == "1-c0ffee"
    assert one.booted_at == pytest.approx(1796000341, abs=1)
    assert (one.partitions, one.free_cpus, nodes(release, "odd")["d1"].booted_at) == (("small", "gpu"), 7, 0.0)


CALLS = {
    "slurm-wlm 22.05.8": "sinfo --all --json",
    "slurm 23.02.1": "scontrol show nodes -a --json",
    "slurm 24.05.0-0rc1": "scontrol show nodes -a --json=v0.0.41",
    "slurm-wlm 26.05.5": "scontrol show nodes -a --json=v0.0.45",
    "slurm 28.11.0": "scontrol show nodes -a --json=v0.0.45",
}


@pytest.mark.parametrize("version", CALLS)
def test_json_is_asked_of_the_program_that_writes_it_by_a_known_parser(version):
    programs = Programs("26.05")
    programs.answers["scontrol --version"] = f"{version}\n"
    read_nodes(programs)
    assert programs.calls == ["scontrol --version", CALLS[version]]


DOWN_22 = json.dumps({"meta": {}, "errors": [{"error": "Unspecified error", "errno": -1}], "nodes": []})
FAILURES = {
    "22.05 without slurmctld": ("22.05", Answer(0, DOWN_22, ""), "has errors: Unspecified error"),
    "errors and nodes": ("24.11", Answer(0, '{"errors": ["x\\u001b"], "nodes": [{"name": "n1"}]}', ""), r"has errors: x\\x1b"),
    "an empty list": ("22.05", Answer(0, '{"errors": [], "nodes": []}', ""), "shows no node"),
    "no nodes": ("24.11", Answer(0, '{"sinfo": []}', ""), "shows no node"),
    "a list": ("24.11", Answer(0, "[]", ""), "another kind"),
    "nodes of another type": ("24.11", Answer(0, '{"nodes": {"name": "n1"}}', ""), "shows no node"),
    "a node of another type": ("24.11", Answer(0, '{"nodes": ["n1"]}', ""), "without a name"),
    "a node without a name": ("24.11", Answer(0, '{"nodes": [{"state": ["IDLE"]}]}', ""), "without a name"),
    "no answer": ("26.05", Answer(1, "", "slurm_load_node error: Socket timed out on send/recv operation"), "Socket timed out"),
    "no controller": ("26.05", Answer(1, "", "slurm_load_node error: Unable to contact slurm controller"), "Unable to contact"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_lists_no_nodes_is_a_failure_and_is_not_asked_again(name):
    release, answer, message = FAILURES[name]
    programs = Programs(release)
    for begin in ("sinfo", "scontrol show nodes -a --json"):
        programs.answers[begin] = answer
    with pytest.raises(SlurmError, match=message):
        read_nodes(programs)
    assert sum("show nodes -o" in call for call in programs.calls) == 0


@pytest.mark.parametrize("out", ["", "sinfo: fatal", "{", "[" * 100_000, '{"nodes": ' + "9" * 5000 + "}"])
def test_text_is_read_where_there_is_no_json(out):
    programs = Programs("24.11")
    programs.answers["scontrol show nodes -a --json"] = Answer(1, out, "error: unable to load the plug-in")
    assert len(read_nodes(programs)) == len(programs.document["nodes"])


@pytest.mark.parametrize("answer", [Answer(1, "NodeName=n1 State=IDLE\n", "error: x"), Answer(0, "No nodes in the system\n", "")])
def test_text_of_a_failure_and_text_without_nodes_are_failures(answer):
    programs = Programs("24.11", is_text=True)
    programs.answers["scontrol show nodes -o"] = answer
    with pytest.raises(SlurmError, match=r"error: x|No nodes in the system"):
        read_nodes(programs)


@pytest.mark.parametrize("said", [Answer(1, "", "x"), Answer(0, "nothing", "")])
def test_a_program_without_a_version_is_a_failure(said):
    programs = Programs()
    programs.answers["scontrol --version"] = said
    with pytest.raises(SlurmError, match="scontrol --version"):
        read_nodes(programs)


STATES = {
    "a word": ("idle", "IDLE"),
    "a list": (["MIXED", "CLOUD"], "CLOUD MIXED"),
    "an older name": (["IDLE", "MAINTENANCE"], "IDLE MAINT"),
    "none": (None, "UNKNOWN"),
    "an empty list": ([], "UNKNOWN"),
    "a number": (1, "UNKNOWN"),
    "a list of others": (["IDLE", 7], "IDLE UNKNOWN"),
    "an object": ({"current": ["IDLE"]}, "UNKNOWN"),
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_of_another_shape_is_none_that_serves(name):
    state, wanted = STATES[name]
    (one,) = parse_document({"nodes": [{"name": "n1", "state": state}]}, "sinfo")
    assert " ".join(sorted(one.states)) == wanted


def test_flags_of_another_shape_are_no_flags_that_serve():
    (one,) = parse_document({"nodes": [{"name": "n1", "state": "idle", "state_flags": "DRAIN"}]}, "sinfo")
    assert "UNKNOWN" in one.states


TIMES = {
    "a number": (5, 5.0),
    "set": ({"set": True, "infinite": False, "number": 5}, 5.0),
    "not set": ({"set": False, "infinite": False, "number": 5}, 0.0),
    "infinite": ({"set": True, "infinite": True, "number": 5}, 0.0),
    "a text": ("5", 0.0),
    "true": (True, 0.0),
    "negative": (-5, 0.0),
    "huge": (1 << 70, 0.0),
    "another object": ({"number": {}}, 0.0),
}


@pytest.mark.parametrize("name", TIMES)
def test_a_time_is_a_number_or_an_object(name):
    found, wanted = TIMES[name]
    assert parse_document({"nodes": [{"name": "n1", "boot_time": found}]}, "sinfo")[0].booted_at == wanted


GPUS = {
    "one type": ("gpu:h100:8", "gpu:h100:4(IDX:0-3)", 8, 4, False),
    "sockets": ("gpu:h100:8(S:0-1)", "gpu:h100:8(IDX:0-7)", 8, 0, False),
    "no type": ("gpu:2", "gpu:1", 2, 1, False),
    "several types": ("gpu:h100:4,gpu:a100:4", "gpu:h100:1(IDX:0),gpu:a100:2(IDX:4,6)", 8, 5, False),
    "no count": ("gpu:h100", "gpu:h100:0", 1, 1, False),
    "a thousand": ("gpu:1K", "gpu:0", 1024, 1024, False),
    "with others": ("gpu:2,license:x:4,craynetwork:4", "gpu:0,craynetwork:2", 2, 2, False),
    "shards of 22.05": ("gpu:h100:2,shard:h100:8", "gpu:h100:0(IDX:N/A),shard:h100:1(IDX:0)", 2, 1, False),
    "shards of 24.11": ("gpu:h100:2,shard:h100:8", "gpu:h100:0(IDX:N/A),shard:h100:5(4/4,1/4)", 2, 0, False),
    "shards of 26.05": ("gpu:h100:2,shard:h100:8", "gpu:h100:1(IDX:0),shard:h100:0(-/4,-/4)", 2, 1, False),
    "shards on unknown GPUs": ("gpu:4,shard:8", "gpu:0,shard:3", 4, 1, False),
    "MPS": ("gpu:4,mps:400", "gpu:0,mps:50(IDX:2)", 4, 3, False),
    "MIG": ("gpu:1g.10gb:7,gpu:3g.40gb:1", "gpu:1g.10gb:3(IDX:0-2),gpu:3g.40gb:0(IDX:N/A)", 8, 5, True),
    "MIG of a product": ("gpu:nvidia_a100_3g.20gb:2", "gpu:nvidia_a100_3g.20gb:0", 2, 2, True),
    "MIG with media": ("gpu:1g.10gb+me:1", "gpu:1g.10gb+me:0", 1, 1, True),
    "no MIG": ("gpu:gb200:4", "gpu:gb200:0", 4, 4, False),
    "more than there are": ("gpu:2", "gpu:4", 2, 0, False),
    "no GPU": ("(null)", "", 0, 0, False),
    "used is missing": ("gpu:2", None, 2, None, False),
    "used is empty": ("gpu:2", "", 2, None, False),
    "used is another text": ("gpu:2", "gpu:1((", 2, None, False),
    "used of others alone": ("gpu:2", "shard:0", 2, None, False),
}


@pytest.mark.parametrize("name", GPUS)
def test_gpus_by_gres_and_what_jobs_use(name):
    gres, used, *wanted = GPUS[name]
    assert list(gpus_of(gres, used)) == wanted


@pytest.mark.parametrize("text", ["gpu:((", "gpu:1)", ",,", "gpu:h100:8(S:0"])
def test_a_gres_of_another_shape_is_not_read(text):
    with pytest.raises(GresError):
        gpus_of(text, "gpu:0")
