"""What a tape keeps of NCCL's libraries: their own words alone, and raw, filtered and redacted tapes give one fact."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostagent.domains.nccl.env_file import parse_environment
from hostagent.engine.collect import collect
from hostagent.facts.nccl import Nccl
from hostagent.host.recording import ReplayBackend, Tape, encode, question
from hostagent.host.source import Source
from hostagent.snapshot.keeping import kept
from hostagent.snapshot.people import without_job_people
from hostagent.snapshot.redact import redacted
from hostagent.testing import TreeBackend
from tests.trees.formats import linker_cache, nccl_library

LIB = "/usr/lib/x86_64-linux-gnu"
NET = ("ncclNetPlugin_v10",)
LIBRARY = st.sampled_from(["2.18.3", "2.28.9"]).map(nccl_library)
PLUGIN = st.builds(
    lambda runpath: nccl_library(symbols=NET, needed=("libc.so.6", "libfabric.so.1"), runpath=runpath),
    st.sampled_from(["", "/home/bob/deps", "/data/alice/deps:$ORIGIN", "$ORIGIN/../deps"]),
)
FILES = st.fixed_dictionaries(
    {f"{LIB}/libc.so.6": st.just(b"")},
    optional={
        f"{LIB}/libnccl.so.2": LIBRARY,
        "/home/bob/lib/libnccl.so.2": LIBRARY,
        "/data/alice/lib/libnccl.so.2": LIBRARY,
        "/data/alice/lib/libnccl-net.so": PLUGIN,
        "/home/bob/own.so": PLUGIN,
        "/home/bob/deps/libfabric.so.1": st.just(b""),
        "/data/alice/deps/libfabric.so.1": st.just(b""),
        "/data/alice/lib/libfabric.so.1": st.just(b""),
        f"{LIB}/libnccl-net.so": PLUGIN,
        "/etc/nccl.conf": st.sampled_from([b"NCCL_NET_PLUGIN=/home/bob/own.so\n", b"NCCL_NET_PLUGIN=ofi\n"]),
    },
)
JOBS = st.none() | st.fixed_dictionaries(
    {"USER": st.sampled_from(["alice", "root"])},
    optional={
        "LD_LIBRARY_PATH": st.sampled_from(["/home/bob/lib", "/data/alice/lib:/usr/lib", "/data/alice/lib:/home/bob/lib"]),
        "NCCL_NET_PLUGIN": st.just("/home/bob/own.so"),
    },
)
CACHE = linker_cache((("libnccl.so.2", f"{LIB}/libnccl.so.2"), ("libsecret.so.1", "/home/carol/s3cret/libsecret.so.1")))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(FILES, JOBS)
def test_raw_filtered_and_redacted_give_one_fact(files, job):
    environment = {} if job is None else parse_environment("".join(f"{name}={value}\n" for name, value in job.items()).encode())
    heard = {}
    backend = TreeBackend({**files, "/etc/ld.so.cache": CACHE, "environment": environment})
    raw = fact(Source(backend, on_answer=heard.__setitem__))
    found = {question(*asked): encode(answer) for asked, answer in kept(heard, "live", lambda text: text).items()}
    used = without_job_people(found, b"key")
    for answers in (used, redacted(used, b"other")):
        assert "s3cret" not in str(answers)
        assert fact(Source(ReplayBackend(Tape(1, "hostagent", 0, "live", False, answers)))) == raw
    assert "bob" not in str(raw)
    assert "alice" not in str(raw) or job is None or job["USER"] != "alice"


def fact(source):
    return collect(source, ("Nccl",))[0].of(Nccl)


def test_a_tape_has_a_librarys_words_and_no_byte_of_it():
    library = nccl_library("2.28.9", needed=("libc.so.6",)) + b"\x90s3cret code" * 1000
    heard = {}
    backend = TreeBackend({f"{LIB}/libnccl.so.2": library, "environment": {}})
    (one,) = fact(Source(backend, on_answer=heard.__setitem__)).libraries
    asked = ("nccl_library", f"{LIB}/libnccl.so.2")
    assert heard[asked] == {
        "version": "2.28.9", "cuda": "12.9", "needed": ["libc.so.6"], "paths": [], "symbols": ["ncclCommInitRank", "ncclGetVersion"],
    }  # fmt: skip
    assert kept(heard, "live", str)[asked] == heard[asked]
    assert one.version == "2.28.9"
    assert "s3cret" not in str(heard)
