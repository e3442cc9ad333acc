"""The text of slurm.conf: lines, comments, continuations, host lists, and what of it a snapshot keeps."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostagent.domains.slurm.conf import Conf, hosts, in_hostlist, only_controls, parse_conf
from hostagent.snapshot.redact import Redactor
from hostagent.snapshot.slurmconf import slurm_conf, with_nodes

KEYS = ("healthcheckinterval", "healthcheckprogram", "include", "nodename", "file")
WORDS = st.sampled_from(
    [
        "HealthCheckInterval", "healthCheckProgram=", "Include ", "NodeName=n[1-4]", "File", "=", "+=", '"', '""', "#", "\\", "\\\n", "\n", " ", "\t",
        "a", "x=y", "\\#", "include=", "AuthInfo=hunter2", "\r", "\x0b", "é",
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("HealthCheckInterval=30", [{"healthcheckinterval": "30"}]),
        ("  healthcheckinterval = 30  # every half minute", [{"healthcheckinterval": "30"}]),
        ("SlurmctldPort=6817 SlurmdPort=6818", [{"slurmctldport": "6817", "slurmdport": "6818"}]),
        ('NodeName=n1 Reason="no cable # 3" State=DOWN', [{"nodename": "n1", "reason": "no"}]),
        ('NodeName=n1 Reason="no cable" State=DOWN', [{"nodename": "n1", "reason": "no cable", "state": "DOWN"}]),
        (
            "NodeName=n[1-2] \\\n  Gres=gpu:8 \\\n  CPUs=2\nName=gpu",
            [{"nodename": "n[1-2]", "gres": "gpu:8", "cpus": "2"}, {"name": "gpu"}],
        ),
        ("A=1\\\\\nB=2", [{"a": "1\\"}, {"b": "2"}]),
        ("A=1 \\   \nB=2", [{"a": "1", "b": "2"}]),
        ("# A=1\n\n   \n#\n", []),
        ("A=\\#1 # two", [{"a": "#1"}]),
        ("include  nodes.conf # here", [{"include": "nodes.conf"}]),
        ("INCLUDE /etc/slurm/nodes.conf", [{"include": "/etc/slurm/nodes.conf"}]),
        ("A=1\\", [{"a": "1"}]),
        ("DebugFlags+=Gres", [{"debugflags": "Gres"}]),
        ("word another", []),
    ],
)
def test_a_text_is_taken_apart_as_slurm_does(text, lines):
    assert [dict(line) for line in parse_conf(text).lines] == lines


def test_the_last_line_that_sets_a_key_counts_whatever_its_capitals():
    conf = parse_conf("HealthCheckInterval=30\nHEALTHCHECKINTERVAL=60\n")
    assert conf.value("healthCheckInterval") == "60"
    assert (conf.value("HealthCheckProgram"), conf.value("HealthCheckProgram", "none")) == ("", "none")


@pytest.mark.parametrize(
    ("name", "text", "is_in"),
    [
        ("n1", "n[1-4,7]", True),
        ("n7", "n[1-4,7]", True),
        ("n5", "n[1-4,7]", False),
        ("n01", "n[1-4]", False),
        ("n1", "n[01-04]", False),
        ("n10", "n[8-12]", True),
        ("n010", "n[008-012]", True),
        ("b", "a,b[],c", False),
        ("c", "a,b[],c", True),
        ("r1n12", "r[1-2]n[10-12],x", True),
        ("n1-ib", "n[1-4]-ib", True),
        ("n11", "n[1-2][1-2]", True),
        ("n3", "n[4-1]", False),
        ("", "n[1-4]", False),
        ("", "", False),
        ("n999999999", "n[1-999999999]", True),
    ],
)
def test_a_host_list_has_its_names_and_no_other(name, text, is_in):
    assert in_hostlist(name, text) is is_in


@given(st.lists(st.sampled_from(["n", "[", "]", "-", ",", "0", "1", "9", "12", "03", " "]), max_size=14).map("".join))
@example("n[1-3,07]x[2-3],n")
def test_each_name_that_is_made_of_a_host_list_is_in_it(text):
    try:
        names = list(hosts(text))
    except ValueError:
        return
    assert [name for name in names[:50] if not in_hostlist(name, text)] == []


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("SlurmctldHost=head(10.0.0.2)\nNodeName=n[1-4]", True),
        ("SlurmctldHost=first\nslurmctldhost=head.example.com\nNodeName=DEFAULT CPUs=2\nNodeName=n[1-4] State=CLOUD", True),
        ("ControlMachine=first BackupController=head\nNodeName=n1", True),
        ("SlurmctldHost=other\nNodeName=n[1-4]", False),
        ("SlurmctldHost=head\nNodeName=n[1-4],head", False),
        ("SlurmctldHost=head\nNodeName=n[1-2] NodeHostname=gpu1,head.example.com", False),
        ("SlurmctldHost=head\nNodeName=n1 NodeHostname=localhost", False),
        ("SlurmctldHost=localhost\nNodeName=n[1-4]", False),
        ("SlurmctldHost=head\nNodeName=DEFAULT CPUs=2", False),
        ("SlurmctldHost=head", False),
        ("SlurmctldHost=head\nNodeName=n[1-4]\nMaxNodeCount=64", False),
    ],
)
def test_a_host_only_controls_where_it_is_a_controller_and_no_node(text, is_so):
    assert only_controls(parse_conf(text), ("head.example.com", "head")) is is_so


def test_a_host_list_of_more_than_65536_names_is_refused_and_not_made():
    with pytest.raises(ValueError, match="more than 65536 hosts"):
        list(hosts("n[1-999999999]"))
    assert list(hosts("n[4-1][1-999999999]")) == []


def of_keys(conf: Conf) -> "list[tuple[tuple[str, str], ...]]":
    kept = (tuple(pair for pair in line if pair[0] in KEYS) for line in conf.lines)
    return [line for line in kept if line]


@given(st.lists(WORDS, max_size=20).map("".join))
@example('File="a b" File=c"d\nx=1 include=y')
def test_what_a_snapshot_keeps_reads_as_the_file_does(text):
    kept = slurm_conf(text.encode(), KEYS, str).decode()
    assert of_keys(parse_conf(kept)) == of_keys(parse_conf(text))
    assert slurm_conf(kept.encode(), KEYS, str).decode() == kept


def test_a_snapshot_keeps_no_password_whichever_line_it_stands_in():
    text = (
        b"AccountingStoragePass=hunter2\nJobCompPass=hunter2\nAuthInfo=hunter2 HealthCheckInterval=60\nHealthCheckInterval=5 AuthInfo=hunter2\n"
        b'NodeName=n1 \\\n Reason="hunter2"\n# hunter2\n'
    )
    assert slurm_conf(text, KEYS, str) == b"healthcheckinterval=60\nhealthcheckinterval=5\nnodename=n1\n"


def test_a_snapshot_names_no_node_but_its_own_and_still_tells_which_lines_are_its_own():
    redactor = Redactor(b"key", ("tern-gpu-07.example.com", "tern-gpu-07"))
    own, other = parse_conf(with_nodes("nodename=tern-gpu-[01-16] file=/dev/nvidia0\nnodename=tern-big-[1-4]\n", redactor.nodes)).lines
    assert dict(own)["nodename"] == redactor.name("tern-gpu-07.example.com")
    assert "tern" not in dict(other)["nodename"]
    assert dict(own)["file"] == "/dev/nvidia0"


@pytest.mark.parametrize("host", ["tern-gpu-07.example.com", "tern-head", "tern-login"])
@pytest.mark.parametrize("last", ["", "NodeName=DEFAULT", "NodeName=head NodeHostname=tern-head", "NodeName=a NodeHostname=localhost"])
def test_a_snapshot_without_names_says_the_same_of_a_controller(host, last):
    text = f"slurmctldhost=tern-spare\nSlurmctldHost=tern-head(10.20.0.2)\nnodename=tern-gpu-[01-16]\n{last}\n"
    redactor = Redactor(b"key", (host, host.partition(".")[0]))
    redacted = with_nodes(text, redactor.nodes)
    assert only_controls(parse_conf(redacted), (redactor.name(host),)) is only_controls(parse_conf(text), (host, host.partition(".")[0]))
    assert "tern" not in redacted


@pytest.mark.parametrize("line", ["NodeName=DEFAULT CPUs=2", "NodeName=localhost"])
def test_a_snapshot_keeps_the_words_that_name_no_host_of_their_own(line):
    assert parse_conf(with_nodes(line, lambda _: "other")).lines == parse_conf(line).lines
