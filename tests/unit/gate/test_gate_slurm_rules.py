"""Which nodes Slurm would start the job on at once, and what its words about them become. The programs are stand-ins with real answers."""

import json

import pytest

from hostagent.core.errors import HostagentError
from hostagent.core.unread import Unread
from hostagent.gate.search import SearchOptions, search
from hostagent.slurm.client import Answer, SlurmError
from tests.gate_summaries import summary
from tests.unit.gate.slurmstub import EXTRA, NOW, RELEASES, Programs, backend, candidates, healthy, own

NOW_S = NOW["24.11"]


def answered(programs, *more, **asked):
    made = backend(programs, *more, **asked)
    return search(made.request, made, SearchOptions("slurm"))


def about_slurm(answer):
    """Its warnings, but that Extra has no settings of NCCL."""
    return [one for one in answer.warnings if "nccl.env was not read" not in one]


def codes(answer, node):
    return [reason.code for one in answer.refused if one.node == node for reason in one.reasons]


@pytest.mark.parametrize("release", RELEASES)
def test_a_healthy_cluster_places_a_job_of_several_nodes(release):
    programs = healthy(release)
    if release == "22.05":
        for row in programs.document["nodes"]:
            row.update(state="idle", state_flags=[])
    answer = answered(programs, 4, 8)
    assert (answer.placeable, len(answer.nodes), answer.fabric_class, about_slurm(answer)) == (True, 4, "1-c0ffee", [])


@pytest.mark.parametrize("release", RELEASES)
def test_each_state_has_its_code_and_its_word(release):
    found = {name: own(Programs(release), name) for name in ("n1", "n2", "n3", "n4", "x1", "d1")}
    firsts = {name: next(one for one in each if one[0] != "NoSummary") for name, each in found.items()}
    assert firsts == {
        "n1": ("Drained", "Slurm's state is IDLE+DRAIN: ticket 17"),
        "n2": ("Drained", "Slurm's state is MIXED+DRAIN: bob [x@y] State=IDLE"),
        "n3": ("Down", "Slurm's state is DOWN: down it is"),
        "n4": ("Down", "Slurm's state is IDLE+MAINT+RESERVED"),
        "x1": ("Drained", "Slurm's state is MIXED+DRAIN+REBOOT_REQUESTED+RESERVED: Reboot ASAP"),
        "d1": ("Down", "Slurm's state is DOWN+NOT_RESPONDING: broken"),
    }


BAD_STATES = {
    "IDLE+INVALID_REG": "Down",
    "IDLE+DRAIN+INVALID_REG": "Drained",
    "IDLE+PLANNED": "Down",
    "IDLE+CLOUD+POWERED_DOWN": "Down",
    "MIXED+COMPLETING": "Down",
    "IDLE+NOT_RESPONDING": "Down",
    "IDLE+FAIL": "Down",
    "MIXED+BLOCKED": "Down",
    "IDLE+A_FLAG_OF_LATER": "Down",
    "IDLE+RESERVED": "Down",
    "IDLE+MAINT": "Down",
    "DOWN+DRAIN": "Down",
    "ALLOCATED+DRAIN": "Drained",
    "UNKNOWN": "Down",
    "FUTURE": "Down",
    "CLOUD": "Down",
}


@pytest.mark.parametrize("state", BAD_STATES)
def test_a_flag_that_keeps_jobs_away_refuses(state):
    programs = healthy()
    programs.node("n1")["state"] = state.split("+")
    ((code, message),) = own(programs, "n1")
    assert code == BAD_STATES[state]
    assert all(word in message for word in state.split("+"))


@pytest.mark.parametrize("state", ["IDLE", "MIXED", "IDLE+CLOUD", "MIXED+CLOUD", "IDLE+DYNAMIC_NORM"])
def test_a_node_in_service_is_not_refused(state):
    programs = healthy()
    programs.node("n1")["state"] = state.split("+")
    assert own(programs, "n1") == []


def test_a_mixed_node_serves_a_job_of_as_many_gpus_as_are_free():
    programs = healthy()
    programs.node("n1").update(state=["MIXED"], gres_used="gpu:h100:3(IDX:0-2)")
    assert answered(programs, 1, 5, only=("n1",)).placeable
    answer = answered(programs, 1, 6, only=("n1",))
    assert (answer.placeable, codes(answer, "n1")) == (False, ["NoFreeGpus"])


def test_free_gpus_do_not_help_where_jobs_have_all_cpus():
    programs = healthy()
    programs.node("n1").update(state=["ALLOCATED"], gres_used="gpu:h100:1(IDX:0)")
    assert own(programs, "n1", 1, 7) == [("NoFreeGpus", "7 GPUs of it are free, but jobs use all its CPUs")]
    assert codes(answered(programs, 1, 8, only=("n1",)), "n1") == ["NoFreeGpus"]


def test_what_jobs_use_has_to_be_known():
    programs = healthy()
    programs.node("n1").update(gres_used=None)
    assert own(programs, "n1") == [("NoFreeGpus", "how many of its GPUs jobs use could not be read")]


def test_a_gres_that_cannot_be_read_refuses():
    programs = healthy()
    programs.node("n1").update(gres="gpu:((")
    answer = answered(programs, 1, 1, only=("n1",))
    assert not answer.placeable
    assert "TooFewGpus" in codes(answer, "n1")


def test_mig_is_refused_but_where_it_is_allowed():
    programs = healthy()
    programs.node("n1").update(gres="gpu:1g.10gb:7", gres_used="gpu:1g.10gb:0")
    assert codes(answered(programs, 1, 2, only=("n1",)), "n1") == ["Mig"]
    assert answered(programs, 1, 2, only=("n1",), allow_mig=True).placeable


PARTITION = (
    "PartitionName={name} AllowGroups=ALL Default={default} DefaultTime={time} MaxTime={most} MaxNodes={nodes} MinNodes=0 ReqResv={reserved} "
    "OverSubscribe={over} State={state} SelectTypeParameters={select} JobDefaults={jobs} DefMemPer{kind}={memory}"
)
_PLAIN = {
    "name": "gpu",
    "default": "YES",
    "time": "00:10:00",
    "most": "01:00:00",
    "nodes": "UNLIMITED",
    "reserved": "NO",
    "over": "NO",
    "state": "UP",
    "select": "NONE",
    "jobs": "(null)",
    "kind": "Node",
    "memory": "UNLIMITED",
}


def with_partition(programs, *partitions):
    programs.recorded["partition"] = "\n".join(PARTITION.format(**{**_PLAIN, **one}) for one in partitions)
    return programs


def test_the_partition_is_slurms_default_or_the_named_one():
    programs = healthy()
    for row in programs.document["nodes"]:
        row["partitions"] = ["small"] if row["name"] == "n1" else ["gpu"]
    assert own(programs, "n1") == [("Selector", "it is not in partition gpu")]
    assert own(programs, "n1", partition="small") == []
    assert own(programs, "n2", partition="small") == [("Selector", "it is not in partition small")]


@pytest.mark.parametrize(("named", "message"), [("none", "found --partition none, wanted one of gpu"), ("a,b", "wanted one of gpu")])
def test_a_partition_that_is_not_there_is_a_mistake(named, message):
    with pytest.raises(HostagentError, match=message):
        candidates(with_partition(healthy(), {}), partition=named)


def test_without_a_default_partition_one_has_to_be_named():
    with pytest.raises(HostagentError, match="found no default partition"):
        candidates(with_partition(healthy(), {"default": "NO"}))


LIMITS = {
    "DOWN": ({"state": "DOWN"}, "Down", "partition gpu is DOWN"),
    "DRAIN": ({"state": "DRAIN"}, "Down", "partition gpu is DRAIN"),
    "INACTIVE": ({"state": "INACTIVE"}, "Down", "partition gpu is INACTIVE"),
    "MaxNodes": ({"nodes": "1"}, "Selector", "partition gpu takes jobs of at most 1 nodes"),
    "ReqResv": ({"reserved": "YES"}, "Selector", "partition gpu takes jobs with a reservation alone"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_partition_that_would_not_start_the_job_refuses(name):
    fields, *wanted = LIMITS[name]
    assert own(with_partition(healthy(), fields), "n1", 2, 8) == [tuple(wanted)]


MIXED = {"state": ["MIXED"], "gres_used": "gpu:h100:1(IDX:0)", "alloc_cpus": 5, "alloc_memory": 500}
NEEDS = {
    "whole nodes": ({"over": "EXCLUSIVE"}, 1, "partition gpu gives out whole nodes"),
    "whole nodes in 26.05": ({"over": "NO Exclusive=NODE"}, 1, "partition gpu gives out whole nodes"),
    "a segment in 26.05": ({"over": "NO Exclusive=TOPO"}, 1, "partition gpu gives out whole nodes"),
    "a segment in 24.11": ({"over": "NO ExclusiveTopo=YES"}, 1, "partition gpu gives out whole nodes"),
    "nodes of one user": ({"over": "NO ExclusiveUser=YES"}, 1, "partition gpu gives a node to one user"),
    "nodes of one user in 26.05": ({"over": "NO Exclusive=USER"}, 1, "partition gpu gives a node to one user"),
    "CPUs for each GPU": ({"jobs": "DefCpuPerGPU=2"}, 2, "jobs leave 3 of its CPUs, and the job gets 4 by default"),
    "enough CPUs for each GPU": ({"jobs": "DefCpuPerGPU=2"}, 1, ""),
    "all memory": ({"select": "CR_CORE_MEMORY"}, 1, "jobs use 500 MiB of its memory, and the job gets all memory by default"),
    "memory for each CPU": ({"select": "CR_CORE_MEMORY", "kind": "CPU", "memory": "600"}, 1, "jobs leave 500 MiB of its memory"),
    "enough memory for each CPU": ({"select": "CR_CORE_MEMORY", "kind": "CPU", "memory": "400"}, 1, ""),
    "memory for each of several CPUs": (
        {"select": "CR_CORE_MEMORY", "jobs": "DefCpuPerGPU=2", "kind": "CPU", "memory": "300"},
        1,
        "the job gets 600 MiB by default",
    ),
    "memory for each GPU": ({"select": "CR_CORE_MEMORY", "jobs": "DefMemPerGPU=300"}, 2, "the job gets 600 MiB by default"),
    "memory of a node": ({"select": "CR_CORE_MEMORY", "memory": "501"}, 1, "the job gets 501 MiB by default"),
    "memory is not counted": ({"select": "NONE", "memory": "600"}, 1, ""),
}


@pytest.mark.parametrize("name", NEEDS)
def test_what_a_job_gets_by_default_has_to_be_free(name):
    fields, gpus, message = NEEDS[name]
    programs = with_partition(healthy(), fields)
    programs.node("n1").update(MIXED)
    found = own(programs, "n1", 1, gpus)
    assert [code for code, _ in found] == (["NoFreeGpus"] if message else [])
    assert message in "".join(text for _, text in found)


def test_the_defaults_of_the_cluster_count_where_the_partition_has_none():
    programs = with_partition(healthy(), {})
    programs.recorded["config"] += "JobDefaults = DefCpuPerGPU=2\n"
    programs.node("n1").update(MIXED)
    assert [code for code, _ in own(programs, "n1", 1, 2)] == ["NoFreeGpus"]
    assert own(with_partition(programs, {"jobs": "DefCpuPerGPU=1"}), "n1", 1, 2) == []


OWNERS = {"root(0)": 0, "root": 0, 0: 0, "4242": 4242, "alice(4242)": 4242}


@pytest.mark.parametrize("owner", OWNERS)
def test_a_node_that_is_given_to_one_user_serves_that_user_alone(monkeypatch, owner):
    programs = with_partition(healthy(), {"over": "NO ExclusiveUser=YES"})
    programs.node("n1").update(MIXED, owner=owner)
    monkeypatch.setattr("os.getuid", lambda: OWNERS[owner])
    assert own(programs, "n1", 1, 1) == []
    monkeypatch.setattr("os.getuid", lambda: 17)
    assert own(programs, "n1", 1, 1) == [("NoFreeGpus", f"7 GPUs of it are free, but it is given to jobs of {owner} alone")]


RESERVATION = "ReservationName={0} StartTime={1} EndTime={2} Duration=01:00:00 Nodes={3} NodeCnt=1 Flags={4} Users=root State={5}\n"
PAST, SOON, LATER = "2026-11-30T10:00:00", "2026-11-30T10:15:00", "2026-11-30T12:00:00"  # now is 10:10


@pytest.fixture
def reserved():
    programs = with_partition(healthy(), {})

    def made(*rows):
        programs.recorded["reservation"] = "".join(RESERVATION.format(*row) for row in rows)
        return programs

    return made


def test_a_reservation_refuses_its_nodes_also_before_the_node_says_so(reserved):
    programs = reserved(("r1", PAST, LATER, "n1,n2", "MAINT,SPEC_NODES", "ACTIVE"))
    assert own(programs, "n1") == [("Down", "it is RESERVED: reservation r1")]
    assert own(programs, "n3") == []


def test_a_reservation_that_begins_before_the_job_ends_refuses(reserved):
    assert own(reserved(("r1", SOON, LATER, "n1", "", "INACTIVE")), "n1")[0][0] == "Down"
    assert own(reserved(("r1", "2026-11-30T10:25:00", LATER, "n1", "", "INACTIVE")), "n1") == []


def test_with_its_reservation_the_job_has_its_nodes_alone(reserved):
    programs = reserved(("r1", PAST, LATER, "n1", "MAINT", "ACTIVE"))
    programs.node("n1")["state"] = ["IDLE", "MAINT", "RESERVED"]
    assert own(programs, "n1", reservation="r1") == []
    assert own(programs, "n2", reservation="r1") == [("Selector", "it is not in reservation r1")]


def test_a_reservation_that_does_not_hold_yet_refuses(reserved):
    assert own(reserved(("r1", SOON, LATER, "n1", "", "INACTIVE")), "n1", reservation="r1") == [
        ("Down", "reservation r1 does not hold now")
    ]


def test_another_reservation_of_the_node_refuses_all_the_same(reserved):
    programs = reserved(("r1", PAST, LATER, "n1", "", "ACTIVE"), ("r2", PAST, LATER, "n1", "MAINT", "ACTIVE"))
    assert own(programs, "n1", reservation="r1") == [("Down", "it is RESERVED: reservation r2")]


def test_a_reservation_that_is_not_there_is_a_mistake(reserved):
    with pytest.raises(HostagentError, match="found --reservation r9, wanted one of r1"):
        candidates(reserved(("r1", PAST, LATER, "n1", "", "ACTIVE")), reservation="r9")
    with pytest.raises(HostagentError, match="Slurm has no reservation"):
        candidates(healthy(), reservation="r9")


def test_a_node_without_gpus_is_no_candidate():
    assert "x5" not in candidates(Programs())


def test_a_node_of_which_nothing_is_known_has_no_summary():
    programs = healthy()
    programs.node("n1")["extra"] = ""
    programs.node("n2")["extra"] = '{"hostagent":1,"rack":7}'
    assert own(programs, "n1") == [("NoSummary", "its Extra holds none of hostagent's words")]
    assert own(programs, "n2") == [("NoSummary", "its Extra holds another text than hostagent's")]


WORDS = {
    "both": ('{"hostagent":1,"hostagent_multi":1,"hostagent_class":"1-c"}', [], []),
    "not ready": ('{"hostagent":0,"hostagent_multi":0,"hostagent_class":"1-c"}', ["NotReady"], ["NotReady", "MultiNodeNotReady"]),
    "alone": ('{"hostagent":1,"hostagent_multi":0,"hostagent_class":"1-c"}', [], ["MultiNodeNotReady"]),
    "of an older release": ('{"hostagent":1,"hostagent_class":"1-c"}', [], ["MultiNodeNotReady"]),
    "without a class": ('{"hostagent":1,"hostagent_multi":1}', [], ["NotInClass"]),
    "another number": ('{"hostagent":2,"hostagent_multi":2,"hostagent_class":"1-c"}', ["NotReady"], ["NotReady", "MultiNodeNotReady"]),
}


@pytest.mark.parametrize("name", WORDS)
def test_extra_says_whether_jobs_of_one_and_of_several_nodes_may_be_placed(name):
    extra, single, several = WORDS[name]
    programs = healthy()
    programs.node("n1")["extra"] = extra
    assert codes(answered(programs, 1, 8, only=("n1",)), "n1") == single
    assert codes(answered(programs, 2, 8, only=("n1",)), "n1") == several


def test_our_reason_is_the_message_of_the_verdict():
    programs = healthy()
    reason = "hostagent: GpuOnBus: GPU 4 has fallen off the PCIe bus."
    programs.node("n1").update(state=["IDLE", "DRAIN"], reason=reason, extra=EXTRA.replace('t":1', 't":0', 1))
    assert candidates(programs)["n1"].single_why == reason


def reports(*nodes, **changes):
    return {one: summary(one, {"observed_at": NOW_S - 60, "valid_until": NOW_S + 600, **changes}) for one in nodes}


def test_a_report_serves_where_extra_is_empty_and_says_what_slurm_cannot():
    programs = healthy()
    for row in programs.document["nodes"]:
        row["extra"] = ""
    answer = answered(programs, 2, 8, summaries=reports("n1", "n2"), product="NVIDIA H100 80GB HBM3")
    assert (answer.placeable, answer.nodes, answer.warnings) == (True, ("n1", "n2"), ())


def test_slurms_reasons_stay_with_a_report():
    programs = healthy()
    programs.node("n1")["state"] = ["IDLE", "DRAIN"]
    assert codes(answered(programs, 1, 8, summaries=reports("n1"), only=("n1",)), "n1") == ["Drained"]


def test_a_report_of_an_earlier_boot_is_of_another_boot():
    programs = healthy()
    boots = {"n1": NOW_S - 30, "n2": NOW_S - 90, "n3": 0}
    for name, at in boots.items():
        programs.node(name)["boot_time"] = {"set": True, "infinite": False, "number": int(at)}
    answer = answered(programs, 1, 8, summaries=reports("n1", "n2", "n3"), only=("n1", "n2", "n3"))
    assert "Slurm does not know when it booted" in [reason.message for one in answer.refused for reason in one.reasons]
    assert {name: codes(answer, name) for name in boots} == {"n1": ["OtherBoot"], "n2": [], "n3": ["OtherBoot"]}


def test_the_worse_of_report_and_extra_counts():
    programs = healthy()
    programs.node("n1")["extra"] = EXTRA.replace('_multi":1', '_multi":0')
    found = candidates(programs, summaries=reports("n1", "n2"))["n1"]
    assert (found.single_node, found.multi_node) == ("ready", "not_ready")


def test_of_a_report_and_extra_with_different_classes_neither_counts():
    found = candidates(healthy(), summaries=reports("n1"))["n1"]
    assert isinstance(found.fabric_class, Unread)


def test_reports_of_hosts_are_found_by_the_hosts_name_and_those_of_no_node_are_named():
    programs = healthy()
    for row in programs.document["nodes"]:
        row.update(extra="", hostname=f"gpu-{row['name']}.example.com")
    made = backend(programs, summaries=reports("gpu-n1", "gpu-n2.example.com", "gone"))
    (page,) = made.pages()
    assert {one.node for one in page if one.has_summary} == {"n1", "n2"}
    assert made.warnings == ["gone: Slurm has no node of this name"]


def test_no_pod_shape_is_judged():
    programs = healthy()
    kubelet = {"kubelet": {"policy": "single-numa-node", "devices": "numa", "numa": [{"gpus": 4}, {"gpus": 4}]}}
    assert answered(programs, 1, 8, summaries={"n1": {**reports("n1")["n1"], **kubelet}}, only=("n1",)).placeable


HEALTH = {
    "ours": ("/etc/slurm/hostagent-health.sh", "60 sec", ""),
    "another's": ("/usr/sbin/nhc", "60 sec", "is /usr/sbin/nhc"),
    "none": ("(null)", "60 sec", "does not run"),
    "ours, off": ("/etc/slurm/hostagent-health.sh", "0 sec", "does not run"),
}


@pytest.mark.parametrize("name", HEALTH)
def test_a_health_check_that_is_not_ours_is_a_warning(name):
    program, interval, message = HEALTH[name]
    programs = healthy()
    programs.recorded["config"] = f"HealthCheckInterval     = {interval}\nHealthCheckProgram      = {program}\n"
    warnings = about_slurm(answered(programs))
    assert bool(warnings) == bool(message)
    assert message in "".join(warnings)


def test_a_script_that_calls_hostagent_is_ours(tmp_path):
    script = tmp_path / "health.sh"
    script.write_text("#!/bin/sh\n/usr/sbin/nhc\nexec /usr/bin/hostagent slurm health\n")
    programs = healthy()
    programs.recorded["config"] = f"HealthCheckInterval = 60 sec\nHealthCheckProgram = {script}\n"
    assert about_slurm(answered(programs)) == []


def test_what_slurm_does_not_say_names_the_reports():
    warnings = about_slurm(answered(healthy(), driver="580", gpu_memory_gib=79.0))
    assert warnings == ["Slurm does not say what --driver, --gpu-memory asks: --reports DIR of the nodes' summaries does"]


@pytest.mark.parametrize("call", ["scontrol show nodes -a", "scontrol show config", "scontrol show partition", "scontrol show reservation"])
def test_each_question_without_an_answer_is_a_failure(call):
    programs = healthy()
    programs.answers[call] = Answer(1, "", "slurm_load error: Unable to contact slurm controller (connect failure)")
    with pytest.raises(HostagentError, match=r"cannot read the cluster of Slurm: .*Unable to contact"):
        candidates(programs)


def test_a_program_that_does_not_end_is_a_failure(monkeypatch):
    programs = healthy()

    def ask(*_, **__):
        raise SlurmError("scontrol show did not end in 30.0 s")

    monkeypatch.setattr(programs, "ask", ask)
    with pytest.raises(HostagentError, match="did not end in"):
        candidates(programs)


def test_hostile_words_are_printed_as_they_are_spelled():
    programs = healthy()
    programs.node("n1").update(state=["IDLE", "DRAIN"], reason="\x1b[2J\u202eabc\n" + "x" * 5000, partitions=["gpu", "\x1b"])
    for code, message in own(programs, "n1"):
        assert (code, message.isprintable(), len(message) < 300) == ("Drained", True, True)


def test_the_times_are_now_and_the_next_health_check():
    one = candidates(healthy())["n1"]
    assert (one.observed_at, one.valid_until) == (NOW_S, NOW_S + 3600)
    assert json.loads(EXTRA)["hostagent_class"] == one.fabric_class
