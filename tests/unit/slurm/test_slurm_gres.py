"""What is read of Slurm's files on a node: which of them, for which node, and nothing where slurmd is not in use."""

import json

import pytest

from hostagent import snapshot
from hostagent.core.answers import Stat
from hostagent.core.unread import Unread
from hostagent.engine.collect import collect
from hostagent.engine.collection import InProcess
from hostagent.facts.slurm import Gres, SlurmNode
from hostagent.host.recording import ReplayBackend
from hostagent.testing import TreeBackend, host
from tests.trees.record import KEY, RECIPES
from tests.trees.staged import stage

RUNS = {"processes": [{"pid": 7, "name": "slurmd", "argv": ["/usr/sbin/slurmd"], "started_at": 1.0, "unit": "slurmd.service"}]}
NAMED = {"host": {"hostname": "n2.example.com", "release": "6.8.0", "machine": "x86_64", "boot_id": "b", "now": 5.0, "uid": 0}}
CONF = {"/etc/slurm/slurm.conf": b"ClusterName=a\n"}
DEVICE = Stat("char", 0o666, 0, 0, 0, 0.0, 195, 0)._asdict()


def devices(*paths):
    return {f"stat {path}": DEVICE for path in paths}


def read(files):
    return collect(host({**RUNS, **NAMED, **files}), ["SlurmNode"])[0].of(SlurmNode)


def lines_of(gres, **more):
    return read({**CONF, "/etc/slurm/gres.conf": gres.encode(), **more}).gres


def why(value):
    return value.why if isinstance(value, Unread) else value


class Counting(TreeBackend):
    """Remembers what it was asked."""

    def ask(self, method, *arguments):
        self.asked = [*getattr(self, "asked", []), " ".join((method, *arguments))]
        return super().ask(method, *arguments)


def test_nothing_is_asked_of_slurm_where_slurmd_is_not_in_use():
    backend = Counting({**NAMED, **CONF, "processes": []})
    found = InProcess(backend, ("SlurmNode",)).collect().facts.of(SlurmNode)
    assert {why(getattr(found, name)) for name in ("conf", "gres", "health_program", "missing_files")} == {"absent"}
    ours = ("slurm.conf", "gres.conf", "default/slurmd", "sysconfig/slurmd")
    assert [asked for asked in backend.asked if asked.endswith(ours)] == []


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"/etc/slurm/slurm.conf": b""}, "/etc/slurm/slurm.conf"),
        ({"/etc/slurm-llnl/slurm.conf": b""}, "/etc/slurm-llnl/slurm.conf"),
        ({"/etc/slurm/slurm.conf": b"", "/run/slurm/conf/slurm.conf": b""}, "/run/slurm/conf/slurm.conf"),
        ({"/etc/slurm/slurm.conf": b"", "/etc/default/slurmd": b"SLURM_CONF=/srv/slurm.conf\n", "/srv/slurm.conf": b""}, "/srv/slurm.conf"),
        ({"/etc/sysconfig/slurmd": b"# x\nexport SLURM_CONF='/srv/slurm.conf'\n", "/srv/slurm.conf": b""}, "/srv/slurm.conf"),
    ],
)
def test_the_file_that_slurmd_reads_is_found(files, path):
    assert read(files).conf == path


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        (b'SLURMD_OPTIONS="--conf-server tern-head:6817"\n', True),
        (b"export SLURMD_OPTIONS='-D --conf-server=a,b'\n", True),
        (b'#SLURMD_OPTIONS="--conf-server a"\n', False),
        (b'SLURMD_OPTIONS="-N n2"\n', False),
    ],
)
def test_a_node_is_configless_where_slurmd_s_options_name_a_server(text, is_so):
    assert read({"/etc/sysconfig/slurmd": text}).configless is is_so


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"/etc/slurm/slurm.conf": b"SlurmctldHost=n2\nInclude nodes.conf\n", "/etc/slurm/nodes.conf": b"NodeName=n[3-4]\n"}, True),
        ({"/etc/slurm/slurm.conf": b"SlurmctldHost=n2\nInclude nodes.conf\n", "/etc/slurm/nodes.conf": b"NodeName=n[1-4]\n"}, False),
        ({"/etc/slurm/slurm.conf": b"SlurmctldHost=n2\nInclude nodes.conf\nNodeName=n3\n"}, "absent"),
        ({"/etc/slurm/slurm.conf": b"SlurmctldHost=n2\nInclude %c.conf\nNodeName=n3\n"}, "error"),
        ({}, "absent"),
    ],
)
def test_whether_a_host_only_controls_is_known_where_all_its_files_are_read(files, word):
    assert why(read(files).only_controls) == word


@pytest.mark.parametrize(
    ("options", "is_so"),
    [(b'"-D"', True), (b'"-N n3"', False), (b"-Nn3", False), (b"'-D -Z --conf=\"Gres=gpu:8\"'", False), (b"-vN-1", True)],
)
def test_a_slurmd_that_gets_its_name_by_an_option_may_be_any_node(options, is_so):
    files = {"/etc/slurm/slurm.conf": b"SlurmctldHost=n2\nNodeName=n3\n", "/etc/default/slurmd": b"SLURMD_OPTIONS=" + options + b"\n"}
    assert read(files).only_controls is is_so


def test_without_a_slurm_conf_all_of_it_is_absent():
    found = read({})
    assert {why(getattr(found, name)) for name in ("conf", "gres", "autodetect", "health_program", "health_interval_s")} == {"absent"}


def test_a_file_that_may_not_be_read_is_unread_and_not_absent():
    found = read({"stat /etc/slurm/slurm.conf": Unread("denied", "/etc/slurm/slurm.conf")})
    assert (why(found.conf), why(found.gres)) == ("denied", "denied")


def test_an_included_file_stands_in_the_place_of_its_line_and_its_path_begins_at_the_file_that_names_it():
    files = {
        "/etc/slurm/slurm.conf": b"HealthCheckInterval=10\nInclude more/health.conf\n",
        "/etc/slurm/more/health.conf": b"healthcheckinterval=20\nInclude last.conf\n",
        "/etc/slurm/more/last.conf": b"HealthCheckProgram=/usr/sbin/nhc\n",
    }
    found = read(files)
    assert (found.health_interval_s, found.health_program, why(found.health_is_ours)) == (20, "/usr/sbin/nhc", "absent")


@pytest.mark.parametrize("line", [b"Include slurm.conf\n", b"Include %c.conf\n"])
def test_a_file_that_includes_itself_and_a_name_that_is_not_known_end_as_unread(line):
    assert why(read({"/etc/slurm/slurm.conf": line}).health_program) == "error"


@pytest.mark.parametrize(
    ("program", "is_ours"),
    [
        (b"#!/bin/sh\nexec /usr/bin/hostagent slurm health\n", True),
        (b'#!/bin/sh\nline=$(/usr/local/bin/hostagent slurm health "$@" 2>&1) || logger "$line"\n', True),
        (b'#!/bin/sh\n"$HOSTAGENT" --debug slurm  health\n', True),
        (b"#!/bin/sh\n/usr/sbin/nhc\n/etc/slurm/hostagent-health.sh\n", True),
        (b"#!/bin/sh\n# /usr/bin/hostagent slurm health\nexec /usr/sbin/nhc\n", False),
        (b"#!/bin/sh\n/usr/bin/hostagent check\n", False),
        (b"#!/bin/sh\n/opt/agent slurm health\n", False),
        (b"\x7fELF\x00\xff", False),
    ],
)
def test_a_program_is_ours_where_a_line_of_it_runs_hostagent_slurm_health(program, is_ours):
    conf = b"HealthCheckProgram=/etc/slurm/check.sh\n"
    assert read({"/etc/slurm/slurm.conf": conf, "/etc/slurm/check.sh": program}).health_is_ours is is_ours


def test_lines_that_name_this_node_or_none_are_its_own():
    text = (
        "NodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[0-1]\nnodename=n5 name=gpu file=/dev/nvidia[0-7]\nName=shard Count=2K File=/dev/nvidia0\n"
        "NodeName=n2 AutoDetect=off\n"
    )
    assert lines_of(text) == (
        Gres("gpu", "h100", 0, ("/dev/nvidia0", "/dev/nvidia1"), in_parts=False),
        Gres("shard", "", 2048, ("/dev/nvidia0",), in_parts=False),
    )


def test_lines_of_other_nodes_alone_are_none():
    assert lines_of("NodeName=big[1-4] Name=gpu File=/dev/nvidia[0-7]\n") == ()


def test_a_slice_of_a_gpu_is_one_line_of_several_files():
    text = "Name=gpu Type=1g.5gb MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap[21-22]\n"
    files = ("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap21", "/dev/nvidia-caps/nvidia-cap22")
    assert lines_of(text) == (Gres("gpu", "1g.5gb", 0, files, in_parts=True),)


@pytest.mark.parametrize("text", ["Name=gpu Count=many\n", "Name=gpu File=/dev/nvidia[0-99999999]\n", "Name=gpu\n" * 600])
def test_what_has_no_meaning_or_no_end_is_an_error(text):
    assert why(lines_of(text)) == "error"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("AutoDetect=NVML\n", "nvml"),
        ("AutoDetect=nvml\nNodeName=n2 AutoDetect=off\n", "off"),
        ("NodeName=n2 AutoDetect=off\nAutoDetect=nvml\n", "off"),
        ("AutoDetect=nvidia Name=gpu Type=gold\n", "nvidia"),
        ("NodeName=n9 AutoDetect=nvml\n", ""),
    ],
)
def test_what_is_said_of_this_node_wins_over_what_is_said_of_all(text, word):
    assert read({**CONF, "/etc/slurm/gres.conf": text.encode()}).autodetect == word


def test_a_file_of_a_gpu_that_is_not_there_or_no_device_is_missing_and_those_of_other_resources_are_not_looked_for():
    text = "Name=gpu File=/dev/nvidia[0-2]\nName=bandwidth File=/dev/none\n"
    files = {**CONF, "/etc/slurm/gres.conf": text.encode(), "/dev/nvidia1": b"", **devices("/dev/nvidia0")}
    assert read(files).missing_files == ("/dev/nvidia1", "/dev/nvidia2")


def test_whether_a_device_is_there_is_unread_where_that_could_not_be_seen():
    files = {**CONF, "/etc/slurm/gres.conf": b"Name=gpu File=/dev/nvidia0\n", "stat /dev/nvidia0": Unread("denied", "/dev/nvidia0")}
    assert why(read(files).missing_files) == "denied"


@pytest.mark.alone
@pytest.mark.parametrize("name", ["slurm-gres", "slurm-gres-five"])
def test_raw_filtered_and_redacted_give_one_node_and_no_password_of_it(name, tmp_path):
    with stage(RECIPES[name].build(tmp_path / "host"), RECIPES[name].kind) as backend:
        raw = InProcess(backend, ("SlurmNode",)).collect().facts.of(SlurmNode)
        for redact in (False, True):
            tape = snapshot.record(InProcess(backend, ("SlurmNode",)), KEY, redact=redact)
            assert InProcess(ReplayBackend(tape), ("SlurmNode",)).collect().facts.of(SlurmNode) == raw
            assert "hunter2" not in json.dumps(tape.answers)
            assert [name in json.dumps(tape.answers) for name in ("tern-gpu", "tern-head")] == [not redact] * 2
