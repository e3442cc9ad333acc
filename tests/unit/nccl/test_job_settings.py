"""NCCL's settings as a job of a host finds them: by the version found, from the environment that was given and from the host's files."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.nccl.conf_text import conf_text
from hostagent.domains.nccl.env_file import parse_environment
from hostagent.domains.nccl.read_settings import files_there, has_environment, read_settings
from hostagent.domains.nccl.settings import parse_conf
from hostagent.engine.collect import collect
from hostagent.facts.nccl import Nccl, NcclLibrary
from hostagent.host.recording import ReplayBackend, Tape, encode, question
from hostagent.host.source import Source
from hostagent.snapshot.keeping import kept
from hostagent.snapshot.people import without_job_people
from hostagent.snapshot.redact import redacted

ETC = ("read", "/etc/nccl.conf")
HOME = ("read", "/home/alice/.nccl.conf")
LISTED = ("stat", "list", "readlink", "realpath", "read", "nccl_library")
FILE = {"kind": "file", "mode": 420, "uid": 0, "gid": 0, "size": 1, "mtime": 0.0, "major": 0, "minor": 0}
DENIED = Unread("denied", "permission denied")


class Host:
    """A backend that has these files and no others."""

    kind = "live"

    def __init__(self, files, job=b""):
        self.answers = {("environment",): parse_environment(job) if job else {}, **files}

    def ask(self, *asked):
        return self.answers.get(asked, Unread("absent", "not there") if asked[0] in LISTED else Unread("error", f"asked {asked}"))


def library(version):
    return NcclLibrary("/usr/lib/libnccl.so.2", "linker", version, "12.9")


def told(files, job=b"", version="2.28.9"):
    """(name, value, origin, line, wins)."""
    libraries = (library(version),) if version else ()
    found = read_settings(Source(Host(files, job)), libraries)
    return found if isinstance(found, Unread) else [(one.name, one.value, one.origin, one.line, one.wins) for one in found]


def test_a_host_without_any():
    source = Source(Host({}))
    assert read_settings(source, ()) == ()
    assert files_there(source, ()) == ()
    assert has_environment(source) is False


def test_without_an_environment_no_home_is_asked_for():
    asked = []
    host = Host({ETC: b"NCCL_DEBUG=INFO\n"})
    source = Source(host, on_answer=lambda question, _: asked.append(question))
    assert [one.name for one in read_settings(source, (library("2.21.5"),))] == ["NCCL_DEBUG"]
    assert asked == [("environment",), ETC]


FILES = {ETC: b"NCCL_DEBUG=WARN\nNCCL_NET=IB\n", HOME: b"\nNCCL_DEBUG=TRACE\n", ("read", "/job.conf"): b"NCCL_DEBUG=VERSION\n"}
JOB = b"HOME=/home/alice\nNCCL_IB_HCA=mlx5\n"


@pytest.mark.parametrize("version", ["2.18.3", "2.21.5", "2.23.4", "2.30.7", "2.32.3", ""])
def test_the_environment_comes_first_then_the_home_then_the_host(version):
    assert told(FILES, JOB, version) == [
        ("NCCL_IB_HCA", "mlx5", "environment", 0, True),
        ("NCCL_DEBUG", "TRACE", "~/.nccl.conf", 2, True),
        ("NCCL_DEBUG", "WARN", "/etc/nccl.conf", 1, False),
        ("NCCL_NET", "IB", "/etc/nccl.conf", 2, True),
    ]


@pytest.mark.parametrize(("version", "wins"), [("2.21.5", "~/.nccl.conf"), ("2.23.4", "/job.conf"), ("2.32.3", "/job.conf")])
def test_which_file_is_read_is_said_by_the_version(version, wins):
    found = told(FILES, JOB + b"NCCL_CONF_FILE=/job.conf\n", version)
    assert [origin for name, _, origin, _, is_used in found if name == "NCCL_DEBUG" and is_used] == [wins]


@pytest.mark.parametrize("libraries", [Unread("denied", "no"), (library(Unread("error", "no text")),), (library("newest"),)])
def test_where_nobody_says_the_version_it_has_to_be_all_the_same(libraries):
    assert len(read_settings(Source(Host(FILES, JOB)), libraries)) == 4
    found = read_settings(Source(Host(FILES, JOB + b"NCCL_CONF_FILE=/job.conf\n")), libraries)
    assert isinstance(found, Unread)
    assert "version" in found.detail


@pytest.mark.parametrize("asked", [ETC, HOME, ("read", "/job.conf")])
@pytest.mark.parametrize("why", ["denied", "error", "timeout", "not-recorded"])
def test_a_file_that_cannot_be_read_is_unknown_and_never_fine(asked, why):
    job = JOB + (b"NCCL_CONF_FILE=/job.conf\n" if asked[1] == "/job.conf" else b"")
    found = told({**FILES, asked: Unread(why, "it said")}, job)
    assert isinstance(found, Unread)
    assert found.why == why


@pytest.mark.parametrize(
    "job", [b"HOME=there\n", b"HOME=~\n", b"NCCL_CONF_FILE=nccl.conf\n", b"NCCL_CONF_FILE=/x/ghp_0123456789abcdef/nccl.conf\n"]
)
def test_a_file_that_nobody_can_find_is_unknown(job):
    found = told(FILES, job + b"X=1\n")
    assert isinstance(found, Unread)
    assert found.why == "error"


def test_an_environment_that_could_not_be_read_is_unknown():
    source = Source(Host({("environment",): DENIED}))
    assert read_settings(source, ()).why == files_there(source, ()).why == has_environment(source).why == "denied"


@pytest.mark.parametrize(
    "answer",
    [
        {"variables": 1},
        {"variables": {"A": 1}, "home": "", "people": []},
        {"home": ""},
        {"variables": {}, "home": 1, "people": []},
        {"variables": {}, "home": "", "people": [1]},
        {"variables": {}, "home": "", "people": ["a"] * 4},
    ],
)
def test_an_answer_of_another_form_is_an_error(answer):
    assert has_environment(Source(Host({("environment",): answer}))).why == "error"


def test_names_are_kept_and_values_of_unknown_ones_are_not():
    conf = b"NCCL_X_TOKEN=s3cret\nPASSWORD=s3cret\nexport NCCL_NET=s3cret\n NCCL_NET =s3cret\n#NCCL_NET=s3cret\nNCCL_HOSTID=s3cret\nOFI_NCCL_PROTOCOL=RDMA\n"
    assert told({ETC: conf}, b"NCCL_Y=s3cret\nAWS_KEY=s3cret\nHOSTNAME=s3cret\n", "2.18.3") == [
        ("NCCL_Y", "", "environment", 0, True),
        ("NCCL_X_TOKEN", "", "/etc/nccl.conf", 1, True),
        ("export NCCL_NET", "", "/etc/nccl.conf", 3, True),
        (" NCCL_NET ", "", "/etc/nccl.conf", 4, True),
        ("NCCL_HOSTID", "<removed>", "/etc/nccl.conf", 6, True),
        ("OFI_NCCL_PROTOCOL", "RDMA", "/etc/nccl.conf", 7, True),
    ]
    found = read_settings(Source(Host({ETC: conf})), ())
    assert {one.name for one in found if one.is_known} == {"NCCL_HOSTID", "OFI_NCCL_PROTOCOL"}


def test_paths_are_told_without_people():
    job = b"HOME=/data/alice\nUSER=alice\nNCCL_TOPO_FILE=/scratch/alice/a.xml\nNCCL_GRAPH_FILE=/home/bob/b.xml\nNCCL_CONF_FILE=/data/alice/job.conf\n"
    files = {("read", "/data/alice/job.conf"): b"NCCL_DEBUG_FILE=/run/user/1000/%h\n", ("stat", "/scratch/alice/a.xml"): FILE}
    assert [(value, origin) for _, value, origin, _, _ in told(files, job)] == [
        ("/data/USER/job.conf", "environment"),
        ("/home/USER/b.xml", "environment"),
        ("/scratch/USER/a.xml", "environment"),
        ("/run/user/USER/%h", "/data/USER/job.conf"),
    ]
    assert files_there(Source(Host(files, job)), ()) == ("/scratch/USER/a.xml",)


def test_which_of_the_named_files_are_there():
    conf = b"NCCL_TOPO_FILE=/opt/topo.xml\nNCCL_GRAPH_FILE=graph.xml\nNCCL_NET_PLUGIN=/opt/a.so,b,/opt/c.so\nNCCL_DEBUG_FILE=/var/log/x\n"
    host = Host({ETC: conf, ("stat", "/opt/topo.xml"): FILE, ("stat", "/opt/c.so"): FILE})
    assert files_there(Source(host), ()) == ("/opt/topo.xml", "/opt/c.so")
    assert files_there(Source(Host({ETC: b"NCCL_TOPO_FILE=/proc/self/fd/9\n"})), ()) == ("/proc/self/fd/9",)
    assert files_there(Source(Host({ETC: conf, ("stat", "/opt/topo.xml"): DENIED})), ()).why == "denied"


def test_whether_a_file_is_there_whose_path_is_not_kept_is_unknown():
    job = b"NCCL_TOPO_FILE=/x/ghp_0123456789abcdef0123456789abcdef0123\n"
    assert files_there(Source(Host({}, job)), ()).why == "error"


def test_thousands_of_settings_are_none():
    found = told({ETC: b"".join(b"NCCL_X%d=1\n" % number for number in range(2001))})
    assert found.why == "error"


# What a tape keeps.

LINES = st.sampled_from(
    ["NCCL_DEBUG=INFO", "NCCL_DEBUG=INFO\r", "NCCL_DEBUG", "# NCCL_DEBUG=a", " NCCL_NET=IB", "export NCCL_NET=IB", "NCCL_SOCKET_IFNAME==eth0", "NCCL_X_TOKEN=s3cret", "X=s3cret", "=s3cret", "s3cret", "",
     "NCCL_IB_HCA=" + "mlx5_0," * 200, "NCCL_IB_PKEY=3", "FI_PROVIDER=efa\0s3cret", "NCCL_NET=IB\r\0s3cret", "NCCL_COMM_ID=10.1.2.3:4", "NCCL_TOPO_FILE=/home/bob/x.xml", "NCCL_TOPO_FILE=/x/ghp_0123456789abcdef"]
)  # fmt: skip


@given(st.lists(LINES, max_size=8).map("\n".join), st.sampled_from([(2, 18, 1), (2, 28, 9), (2, 32, 3)]))
def test_what_is_kept_of_a_file_gives_the_same_settings(text, version):
    filtered = conf_text(text.encode(), (), str)
    assert b"s3cret" not in filtered
    assert [one.detail if isinstance(one, Unread) else one for one in (settings_of(text.encode(), version),)] == [
        settings_of(filtered, version)
    ]
    assert conf_text(filtered, (), str) == filtered
    assert len(list(parse_conf(filtered.decode(), version))) <= len(list(parse_conf(text, version)))


def settings_of(conf, version):
    return told({ETC: conf}, version=".".join(map(str, version)))


VALUES = {
    "NCCL_DEBUG": st.sampled_from(["INFO", "warn", ""]),
    "NCCL_IB_HCA": st.sampled_from(["=mlx5_0:1,mlx5_1:1", "^mlx5_3", "mlx5_1 "]),
    "NCCL_IB_PKEY": st.sampled_from(["0", "3"]),
    "NCCL_IB_GID_INDEX": st.sampled_from(["3", "-1"]),
    "NCCL_IB_TC": st.just("106"),
    "NCCL_NET_GDR_LEVEL": st.sampled_from(["PHB", "2"]),
    "NCCL_SOCKET_IFNAME": st.sampled_from(["^docker0,lo", "=eth0", "eth"]),
    "NCCL_TOPO_FILE": st.sampled_from(["/home/bob/t.xml", "/data/alice/t.xml", "/opt/alice/t.xml", "/opt/t.xml"]),
    "NCCL_NET_PLUGIN": st.sampled_from(["ofi", "/home/bob/p.so,none", "/scratch/alice/p.so"]),
    "NCCL_X_TOKEN": st.just("s3cret"),
    "FI_PROVIDER": st.just("efa"),
    "MY_PASSWORD": st.just("s3cret"),
    "USER": st.sampled_from(["alice", "s3cret", "root"]),
    "HOME": st.sampled_from(["/home/s3cret", "/data/alice", "/root", "/s3cret"]),
    "NCCL_CONF_FILE": st.sampled_from(["/data/alice/job.conf", "/etc/job.conf"]),
}
CONF = st.fixed_dictionaries({}, optional={name: value for name, value in VALUES.items() if name not in ("USER", "HOME", "NCCL_CONF_FILE")})
JOBS = st.fixed_dictionaries({"X": st.just("1")}, optional=VALUES)


def lines(values):
    return "".join(f"{name}={value}\n" for name, value in values.items()).encode()


@given(
    job=JOBS,
    conf=CONF,
    home=CONF,
    there=st.sets(st.sampled_from(["/home/bob/t.xml", "/data/alice/t.xml", "/opt/alice/t.xml", "/home/bob/p.so"])),
)
def test_raw_filtered_and_redacted_give_one_fact(job, conf, home, there):
    files = {
        ETC: lines(conf),
        ("read", f"{job.get('HOME', '/none')}/.nccl.conf"): lines(home),
        ("read", "/data/alice/job.conf"): lines(home),
    }
    host = Host({**files, **{("stat", path): FILE for path in there}}, lines(job))
    heard = {}
    source = Source(host, on_answer=heard.__setitem__)
    raw = fact(source)
    used = without_job_people(
        {question(*asked): encode(answer) for asked, answer in kept(heard, "live", lambda text: text).items()}, b"key"
    )
    for answers in (used, redacted(used, b"other")):
        assert "s3cret" not in str(answers)
        assert fact(Source(ReplayBackend(Tape(1, "hostagent", 0, "live", False, answers)))) == raw
    assert "alice" not in str(redacted(used, b"other")) or job.get("USER") != "alice"
    assert "bob" not in str(used)
    assert "s3cret" not in str(raw)


def fact(source):
    found = collect(source, ("Nccl",))[0].of(Nccl)
    return replace(found, libraries=(), plugins=())


def test_addresses_and_hosts_are_mapped_as_everywhere():
    job = b"NCCL_COMM_ID=10.20.30.40:29500\nNCCL_IB_ADDR_RANGE=10.20.0.0/16\nNCCL_RAS_ADDR=head-node.example.com:28028\n"
    answers = {"environment": encode(parse_environment(job)), "network addresses": {"json": [["eth0", "10.20.30.40", 24]]}}
    found = redacted(answers, b"key")
    variables = found["environment"]["json"]["variables"]
    host, _, port = variables["NCCL_COMM_ID"].partition(":")
    assert (host, port) == (found["network addresses"]["json"][0][1], "29500")
    network, _, bits = variables["NCCL_IB_ADDR_RANGE"].partition("/")
    assert (network.split(".")[:2], bits) == (host.split(".")[:2], "16")
    assert variables["NCCL_RAS_ADDR"].startswith("host-")
    assert variables["NCCL_RAS_ADDR"].endswith(":28028")
