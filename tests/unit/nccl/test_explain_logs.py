"""What a job's log is said to prove: a corpus of generated logs, and what must hold for any of them."""

import gzip
import json
import resource
import time
import zlib
from collections import Counter

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.cli.schemas import published
from hostagent.core.vocabulary import NCCL_VERDICTS
from hostagent.domains.nccl.logs.chunks import BombError, blocks, unpacked
from hostagent.domains.nccl.logs.explanation import Job as Reading
from hostagent.outputs.job_log import render_explanation
from tests.nccl_logs import CASES, V227, Job

SCHEMA = jsonschema.Draft202012Validator(published("nccl"))


def explained(*texts, piece=0):
    """One job out of several logs; each in pieces of `piece` bytes."""
    job = Reading()
    for number, text in enumerate(texts):
        data = text if isinstance(text, bytes) else text.encode()
        size = piece or len(data) or 1
        for block in blocks(unpacked(data[at : at + size] for at in range(0, len(data), size))):
            job.read(f"log{number}", block)
    return job.explain()


@pytest.mark.parametrize("name", CASES)
def test_a_log_is_judged_right(name):
    verdict, text = CASES[name]
    found = explained(text)
    assert found.verdict == verdict, found
    assert found.findings[0].code == verdict
    assert found.findings[0].lines or verdict == "unknown"
    SCHEMA.validate(json.loads(render_explanation(found, "json")))
    assert render_explanation(found, "text").isascii()


def test_the_corpus_is_large_and_has_each_verdict():
    counts = Counter(verdict for verdict, _ in CASES.values())
    assert sum(counts.values()) >= 80
    assert {verdict: counts[verdict] for verdict in NCCL_VERDICTS if counts[verdict] < 4} == {}


GDR = CASES["gdr-27"][1]
#: Logs whose verdict no lost record may better or worsen, in one line each.
SAID = sorted(CASES)
JUNK = st.text(st.characters(exclude_characters="\n"), max_size=40)


@pytest.mark.parametrize(
    "name", [name for name, (verdict, _) in CASES.items() if verdict == "rdma_gdr" and name not in ("gdr-one-line", "gdr-glued")]
)
def test_a_record_that_is_cut_anywhere_is_lost_alone(name):
    """The last record of the log, cut at each of its characters: the log ends there, or the next line follows, or the next record."""
    verdict, text = CASES[name]
    lines = text.splitlines()
    at = max(number for number, line in enumerate(lines) if "via NET" in line)
    for end in range(0, len(lines[at]), 1 if name == "gdr-21" else 5):
        cut = "\n".join([*lines[:at], lines[at][:end]])
        assert explained(cut).verdict == verdict, cut[-200:]
        assert {one.gdr for one in explained(cut).channels} == {True}, cut[-200:]


@settings(max_examples=150)
@given(name=st.sampled_from(SAID), data=st.data())
def test_a_log_that_ends_anywhere_proves_no_more_than_the_whole(name, data):
    """Nor less: neither GPUDirect nor its absence comes from a line that is not there."""
    verdict, text = CASES[name]
    end = data.draw(st.integers(0, len(text)))
    found = explained(text[:end])
    if found.verdict == "rdma_gdr":
        assert verdict in ("rdma_gdr", "mixed", "failed", "rdma_no_gdr", "unknown")
    if found.verdict in ("failed", "mixed"):
        assert verdict in ("failed", "mixed") or name in ("benign-ras", "benign-ofi")
    if found.verdict == "rdma_no_gdr":
        assert verdict in ("rdma_no_gdr", "mixed", "failed", "unknown")


@settings(max_examples=150)
@given(
    name=st.sampled_from([name for name in SAID if name not in ("gdr-one-line", "gdr-glued", "benign-ofi", "failed-ofi", "no-end")]),
    data=st.data(),
)
def test_what_stands_before_a_record_changes_no_verdict(name, data):
    verdict, text = CASES[name]
    prefixes = data.draw(
        st.lists(
            st.sampled_from(
                [
                    "",
                    "[1,3]<stderr>:",
                    "12: ",
                    "(Worker pid=7, ip=10.9.9.9) ",
                    "2026-01-02 03:04:05,678 INFO ",
                    "\x1b[36mx\x1b[0m | ",
                    "> ",
                    '"',
                    "rank3: \t",
                ]
            ),
            min_size=1,
            max_size=7,
        )
    )
    lines = [f"{prefixes[number % len(prefixes)]}{line}" if line else line for number, line in enumerate(text.splitlines())]
    assert explained("\n".join(lines) + "\n").verdict == verdict


@settings(max_examples=150)
@given(name=st.sampled_from([name for name in SAID if not name.startswith(("benign-", "failed-ofi"))]), data=st.data())
def test_the_order_of_records_changes_no_verdict(name, data):
    verdict, text = CASES[name]
    lines = text.splitlines()
    assert explained("\n".join([*data.draw(st.permutations(lines)), ""])).verdict == verdict or name == "no-end"


@pytest.mark.parametrize("name", SAID)
def test_pieces_of_any_size_and_several_files_change_no_verdict(name):
    verdict, text = CASES[name]
    for piece in (7, 4096):
        assert explained(text, piece=piece).verdict == verdict
    lines = text.splitlines(keepends=True)
    assert explained("".join(lines[: len(lines) // 2]), "".join(lines[len(lines) // 2 :])).verdict == verdict


@pytest.mark.parametrize("name", SAID)
def test_other_encodings_and_gzip_change_no_verdict(name):
    verdict, text = CASES[name]
    for encoding in ("utf-16", "utf-16-be"):
        assert explained(text.encode(encoding)).verdict == verdict, encoding
    assert explained(gzip.compress(text.encode())).verdict == verdict
    half = len(text) // 2
    assert explained(gzip.compress(text[:half].encode()) + gzip.compress(text[half:].encode())).verdict == verdict


@settings(max_examples=150)
@given(
    name=st.sampled_from([name for name, (verdict, _) in CASES.items() if verdict == "rdma_gdr" and name.startswith("gdr-2")]),
    data=st.data(),
)
def test_records_that_are_glued_change_no_verdict(name, data):
    verdict, text = CASES[name]
    lines = text.splitlines()
    gaps = data.draw(st.lists(st.sampled_from(["\n", "", " ", "          "]), min_size=len(lines), max_size=len(lines)))
    gaps = [gap if "NCCL INFO" in line else "\n" for line, gap in zip(lines, gaps, strict=True)]
    glued = "".join(line + gap for line, gap in zip(lines, gaps, strict=True)) + "\n"
    assert explained(glued).verdict in (verdict, "rdma_gdr_unknown")


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from([*{line for _, text in CASES.values() for line in text.splitlines()}]) | JUNK, max_size=30),
    st.binary(max_size=200),
)
def test_no_mixture_of_lines_crashes_the_reader_or_shows_what_moves_a_cursor(lines, noise):
    data = noise.join(line.encode("utf-8", "surrogatepass") for line in lines)
    found = explained(data)
    assert render_explanation(found, "text").replace("\n", "").isprintable()
    shows_none = [line for line in lines if "via NET/IB/" in line and "GDR" not in line]
    assert found.verdict != "rdma_gdr" or all(one.gdr for one in found.channels) or not shows_none


def test_what_no_person_may_see_is_spelled_out():
    found = explained(f"{GDR}node1:7:7 [0] NCCL WARN a\x1b]0;x\x07\u202eb\x00c\n")
    assert found.verdict == "failed"
    shown = render_explanation(found, "text", width=500)
    assert "\\x1b]0;x\\x07\\u202eb\\x00c" in shown
    assert shown.replace("\n", "").isprintable()


def test_a_line_without_end_and_a_flood_of_records_take_bounded_memory():
    started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    job, endless = Reading(), b"x" * (1 << 20)
    for block in blocks(endless for _ in range(256)):
        job.read("log", block)
    for number in range(40):
        lines = "".join(f"n{number}x{one}:{one}:1 [0] NCCL WARN {number} {one} {'y' * 60}\n" for one in range(2000))
        job.read("log", next(iter(blocks([lines.encode()]))))
    found = job.explain()
    assert found.verdict == "failed"
    assert len(found.findings[0].lines) == 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - started < 120 * 1024


def test_what_unpacks_to_very_much_is_refused():
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packed.compress(bytes(1 << 24)) for _ in range(24)) + packed.flush()
    with pytest.raises(BombError):
        explained(bomb)


def test_a_damaged_gzip_is_read_as_far_as_it_goes():
    packed = gzip.compress((GDR * 50).encode())
    assert explained(packed[: len(packed) // 2]).verdict == "rdma_gdr"
    assert explained(packed[:60]).verdict == "unknown"
    assert explained(b"\x1f\x8b" + bytes(range(256))).verdict == "unknown"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("failed-no-interface", "interface_absent"), ("failed-status-12", "retry_exceeded"), ("failed-status-12-old", "retry_exceeded"),
        ("failed-status-4", "completion_error"), ("failed-modify-qp", "gid"), ("failed-shm", "shared_memory"), ("failed-memlock", "memory_lock"),
        ("failed-duplicate", "duplicate_gpu"), ("failed-cuda", "fabric_manager"), ("failed-c10d-timeout", "collective_timeout"), ("failed-nvls", "nvls"), ("failed-versions", "version_mismatch"),
        ("failed-async-old", "link_down"), ("mixed-type", "wrong_type"), ("mixed-version", "version_skew"), ("benign-ofi", "plugin_failed"),
        ("rank-0-tcp-two-nodes", "few_ranks"), ("chosen-ib-30", "no_channels"),
        ("forced-disable", "forced"), ("no-gdr-24", "gdr_off"), ("tcp-24", "no_hca"), ("failed-redacted", "peer_gone"), ("benign-gid", "gid"),
    ],
)  # fmt: skip
def test_a_finding_names_the_cause(name, code):
    found = explained(CASES[name][1])
    one = next((one for one in found.findings if one.code == code), None)
    assert one, [one.code for one in found.findings]
    assert one.remedy
    assert one.lines or code == "no_channels"
    assert one.action == one.remedy[0].action


def test_interfaces_that_lead_nowhere_are_told():
    assert "loopback" in {one.code for one in explained(Job(interface="lo", net="Socket", gdr=False).text()).findings}
    assert "virtual_interface" in {one.code for one in explained(Job(interface="cali12", net="Socket", gdr=False).text()).findings}
    assert "plugin_absent" in {
        one.code for one in explained(Job(hosts=("ip-10-0-0-1", "ip-10-0-0-2"), net="Socket", gdr=False).text()).findings
    }


def test_different_path_mtus_are_told():
    extra = [f"NET/IB: Dev 0 Port 1 qpn 55 mtu {mtu} GID 3 (0/FFFF)" for mtu in (3, 5)]
    text = Job(logged=(0, 1), extra=(extra[0],)).text() + Job(logged=(2, 3), extra=(extra[1],)).text()
    (one,) = (one for one in explained(text).findings if one.code == "path_mtu")
    assert "1024, 4096 bytes" in one.message


def test_a_proof_from_some_ranks_says_of_how_many():
    found = explained(Job(V227, logged=(1,)).text())
    assert "lines of 1 of 4 ranks" in found.findings[0].message
    assert "lines of 1 of 4 ranks" in render_explanation(found, "text")
    assert (found.ranks, found.nodes, found.ranks_seen) == (4, 2, 1)


def test_the_table_has_what_channels_name():
    found = explained(Job(V227).text())
    assert [(one.rank, one.host, one.gpu, one.nic, one.gdr) for one in found.channels] == [
        (0, "node1", "0", "IB/0", True),
        (1, "node1", "1", "IB/1", True),
        (2, "node2", "0", "IB/0", True),
        (3, "node2", "1", "IB/1", True),
    ]
    assert (found.hcas, found.socket_ifname, found.nccl_version, found.network, found.gdr) == (
        ("mlx5_0:1", "mlx5_1:1"),
        ("eth0",),
        "2.27.3",
        "IB",
        "yes",
    )


@pytest.mark.parametrize(
    "part",
    [
        "NCCL INFO via NET/IB ",
        " via NET/ ",
        "x NCCL INFO NET/IB : a via P2P/ ",
        "NCCL INFO Channel 0 : 1 -> 2 [send] via NET/",
        "\n" + "NCCL INFO Ring " * 9 + f"0 : {'1' * 99} -> {'2' * 99} [send] via NET/",
        "x NCCL INFO Ring 0 : 1 -> 2 [send] via NET/\n" * 2 + "x NCCL INFO Ring " + "3" * 3000,
    ],
)
def test_a_line_of_megabytes_full_of_what_is_looked_for_takes_no_longer_than_others(part):
    """Each part of it is looked at once: 1.5 s here, where looking back to the line's beginning took minutes."""
    started = time.process_time()
    assert explained(part * (3_000_000 // len(part)), piece=1 << 20).verdict == "unknown"
    assert time.process_time() - started < 10
