"""``--env-file``: what a job's environment is read from, what is no environment, and what of one is kept."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostagent
from hostagent.domains.nccl.env_file import parse_environment, shell_word

NAMES = st.sampled_from(["NCCL_DEBUG", "NCCL_IB_HCA", "NCCL_X_TOKEN", "FI_PROVIDER", "OFI_NCCL_PROTOCOL", "HOME", "PATH", "PS1"])
#: What a value may be: anything but a zero byte, and what UTF-8 cannot say.
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
#: What shows a secret by its form is removed: these do not.
PLAIN = st.text("abcDE019 \t\"'$`\\^=,:;#%&()[]{}<>|~*?!-+._/\né", max_size=20)


def variables(data):
    return parse_environment(data)["variables"]


def test_entries_are_what_the_kernel_says_of_a_process():
    values = ['NCCL_IB_HCA= =a\n"b" ', "X=1\nNCCL_NET=Socket", "NCCL_X_TOKEN=abc"]
    written = subprocess.run(["env", "-i", *values, shutil.which("cat"), "/proc/self/environ"], capture_output=True, check=True).stdout
    assert variables(written) == {"NCCL_IB_HCA": ' =a\n"b" ', "NCCL_X_TOKEN": None}
    assert variables(
        subprocess.run(["env", "-i", *values, shutil.which("env"), "-0"], capture_output=True, check=True).stdout
    ) == variables(written)


def test_lines_are_what_env_writes():
    values = ['NCCL_IB_HCA="=mlx5_0"', "NCCL_DEBUG=INFO ", "F=() {\n  NCCL_NET=Socket\n}", "NCCL_ALGO=#Ring"]
    written = subprocess.run(["env", "-i", *values, shutil.which("env")], capture_output=True, check=True).stdout
    assert variables(written) == {"NCCL_IB_HCA": '"=mlx5_0"', "NCCL_DEBUG": "INFO ", "NCCL_ALGO": "#Ring"}


@pytest.mark.parametrize("command", ["export -p", "declare -px"])
@given(value=PLAIN)
def test_what_bash_exports_is_read_as_bash_reads_it(command, value):
    script = f'export NCCL_IB_HCA="$1" HOME=/root; {command}'
    written = subprocess.run(["/bin/bash", "-c", script, "bash", value], capture_output=True, check=True, env={}).stdout
    if "\n" not in value:  # which bash writes on several lines
        assert variables(written)["NCCL_IB_HCA"] == value


@given(value=PLAIN)
def test_a_word_of_a_shell(value):
    """Where this reads a word, bash reads the same one; what bash would compute is none. A restricted bash writes no file and finds no program."""
    found = shell_word(value)
    if found is not None and "\n" not in value:
        argv = ["/bin/bash", "--restricted", "-c", f'export NCCL_X={value}\nprintf %s "$NCCL_X"']
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env={"PATH": "/nonexistent"}, cwd="/proc")
        if done.returncode == 0 and not done.stderr:
            assert done.stdout == found


@given(st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=8))
def test_of_two_entries_the_first_counts_and_of_two_lines_the_last(pairs):
    entries = variables("".join(f"{name}={value}\0" for name, value in pairs).encode())
    first = dict(reversed(pairs))
    assert set(entries) == {name for name in first if name.startswith(("NCCL_", "FI_", "OFI_"))}
    assert [name for name, value in entries.items() if value is None] == ["NCCL_X_TOKEN"] * ("NCCL_X_TOKEN" in first)
    assert variables(b"NCCL_DEBUG=WARN\nNCCL_DEBUG=INFO\n") == {"NCCL_DEBUG": "INFO"}
    assert variables(b"NCCL_DEBUG=WARN\0NCCL_DEBUG=INFO\0") == {"NCCL_DEBUG": "WARN"}


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"NCCL_DEBUG=INFO\r\nNCCL_NET=IB\r\n", {"NCCL_DEBUG": "INFO", "NCCL_NET": "IB"}),
        (b"NCCL_DEBUG=INFO\r\nNCCL_NET=IB\n", {"NCCL_DEBUG": "INFO\r", "NCCL_NET": "IB"}),
        (b"\xef\xbb\xbfNCCL_DEBUG=INFO\n", {"NCCL_DEBUG": "INFO"}),
        (b"# NCCL_NET=IB\nNCCL_NET =IB\n NCCL_NET=IB\nNCCL_NET\nX=1\n", {}),
        (b"export NCCL_NET='IB' # for all\nexport X=$(date)\n", {"NCCL_NET": "IB"}),
        (b"NCCL_NET=\nLD_LIBRARY_PATH=/a:/b\n", {"NCCL_NET": "", "LD_LIBRARY_PATH": "/a:/b"}),
        (b"NCCL_DEBUG_FILE=/x/ghp_0123456789abcdef\n", {"NCCL_DEBUG_FILE": "/x/<removed>"}),
        (b"garbage\0NCCL_NET=IB\0", {"NCCL_NET": "IB"}),
        (b"NCCL_NET=\xff\n", {"NCCL_NET": "\ufffd"}),
        (b"NCCL_HOSTID=node-17\nNCCL_SOCKET_MAGIC=5\n", {"NCCL_HOSTID": None, "NCCL_SOCKET_MAGIC": None}),
    ],
)
def test_an_environment(data, found):
    assert variables(data) == found


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "found nothing"),
        (b"\0\0", "no NAME=VALUE"),
        (b"\n \n", "found nothing"),
        (b"hello\n", "no NAME=VALUE"),
        (b'{"NCCL_DEBUG": "INFO"}', "no NAME=VALUE"),
        (b"env:\n- name: NCCL_DEBUG\n  value: INFO\n", "no NAME=VALUE"),
        (b"#!/bin/sh\nexport NCCL_NET=IB\n", "a script"),
        (b"\x7fELF\x02\x01\0\0A=1\0", "a program"),
        ("NCCL_NET=IB\n".encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08\0A=1\0", "compressed"),
        (b"\x00\x01\x02abc\0def\0A=1\0", "binary"),
        (b"A=1\nexport NCCL_IB_HCA=$(hcas)\n", "line 2: found a value of NCCL_IB_HCA that only a shell"),
        (b'export LD_LIBRARY_PATH="$HOME/lib"\n', "LD_LIBRARY_PATH that only a shell"),
        (b"NCCL_TOPO_FILE=" + b"x" * 40_000, "a value of 40000"),
        (b"NCCL_" + b"X" * 200 + b"=1", "a name of 205"),
        (b"".join(b"NCCL_X%d=1\n" % number for number in range(2001)), "found 2001 variables"),
    ],
)
def test_what_is_no_environment(data, told):
    with pytest.raises(ValueError, match=told) as error:
        parse_environment(data)
    assert "hcas" not in str(error.value)


def test_the_answer_holds_nothing_else():
    data = b"\0".join(
        b"%s=tZq%d" % (name, number)
        for number, name in enumerate([b"WANDB_API_KEY", b"NCCL_X_TOKEN", b"NCCLX", b"MY_NCCL_DEBUG", b"PATH", b"PWD", b"FI", b"OFI_X"])
    )
    assert parse_environment(data) == {"variables": {"NCCL_X_TOKEN": None, "OFI_X": None}, "home": None, "people": []}


@pytest.mark.parametrize(
    ("data", "home", "people"),
    [
        (b"HOME=/home/alice/\nUSER=alice\n", "/home/alice", ["alice"]),
        (b"HOME=/root\nUSER=root\nLOGNAME=bob\n", "/root", ["bob"]),
        (b"HOME=/\n", "", []),
        (b"HOME=\n", "", []),
        (b"HOME=/data/a b\nUSER=a b\n", "/data/a b", []),
        (b"USER=ubuntu\n", None, []),
    ],
)
def test_whose_it_is(data, home, people):
    found = parse_environment(data)
    assert (found["home"], found["people"]) == (home, people)


def test_this_programs_own_environment_is_read_only_where_it_is_named():
    """Where facts and checks are made the only ones that touch it are the workers, which empty it before they load a library."""
    parts = ("facts", "host", "sandbox", "domains", "engine/report", "snapshot")
    places = [path for part in parts for path in (Path(hostagent.__file__).parent / part).rglob("*.py")]
    assert {path.name for path in places if re.search(r"os\.(?:environ|getenv)", path.read_text())} == {
        "read_nvml_library.py",
        "read_rdma_library.py",
    }
