"""Real NCCL judges what we say of values: how it reads a number, and which words of NCCL_DEBUG it ignores. Without a GPU."""

import random
import re
import sys

import pytest

from hostagent.domains.nccl.numbers import parse_number
from hostagent.domains.nccl.tables.changes import ignores_words, parse_nccl_version
from hostagent.domains.nccl.tables.variables import variables
from hostagent.domains.nccl.values import fault
from tests.real.nccl import LIBRARIES, asked

SEED = 20261123
#: A number that ncclGetUniqueId reads on every host.
NUMBER = "NCCL_GDRCOPY_ENABLE"
TEXTS = ("1", "0", "-2", "+3", " 4", "5 ", "\t6", "0x10", "0Xff", "010", "089", "1M", "4 #x", "true", "on", "yes", '"1"', "'1'", "-", "+", "0x", "x1",
         "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1e3", "1.5", "--1", "- 1", "\u00a01")  # fmt: skip
LEVELS = (
    "VERSION",
    "version",
    "WARN",
    "warn",
    "INFO",
    "Info",
    "TRACE",
    "trace",
    "ABORT",
    "DEBUG",
    "ERROR",
    "2",
    "INFO ",
    " INFO",
    '"INFO"',
    "INFO,",
    "INFOS",
)
_SET, _INVALID = re.compile(rf"{NUMBER} set by environment to (-?\d+)"), re.compile(rf"Invalid value .* for {NUMBER}, using default")
LOUD = ("INFO", "TRACE", "ABORT")


def texts():
    chance = random.Random(SEED)
    made = ("".join(chance.choices(" +-0123456789xXabfM.#\"'", k=chance.randint(1, 6))) for _ in range(120))
    return [text.encode().decode("latin-1") for text in (*TEXTS, *made)]


def case(**env):
    return {"env": {"NCCL_DEBUG_SUBSYS": "ALL", "NCCL_SOCKET_IFNAME": "lo", **env}, "files": {}}


@pytest.fixture(scope="module")
def told():
    cases = [*(case(NCCL_DEBUG="INFO", **{NUMBER: text}) for text in texts()), *(case(NCCL_DEBUG=text) for text in LEVELS)]
    return asked([{"commands": ["link set lo up"], "running": ["lo"], "cases": cases}])[0]["answers"]


def read(log):
    """The number that the library says it has read; None for the default."""
    found = _SET.search(log)
    assert found or _INVALID.search(log), log
    return int(found[1]) if found else None


def test_nccl_reads_numbers_as_we_say(told, capsys):
    wrong, count = [], 0
    for version, answers in told.items():
        for text, answer in zip(texts(), answers, strict=False):
            count += 1
            ours = parse_number(text)
            is_word = (said := fault(variables()[NUMBER], text, parse_nccl_version(version))) is not None and said.code == "word"
            wanted = None if is_word and ignores_words(parse_nccl_version(version)) else ours
            if read(answer["log"]) != wanted:
                wrong.append((version, text, read(answer["log"]), wanted))
    with capsys.disabled():
        sys.stdout.write(f"\nnccl numbers: {len(LIBRARIES)} versions, {count} cases, seed {SEED}, {len(wrong)} differences\n")
    assert not wrong, (len(wrong), wrong[:10])
    assert count >= 150 * len(LIBRARIES)


def test_nccl_ignores_the_words_of_debug_that_we_say(told):
    wrong = []
    for version, answers in told.items():
        for text, answer in zip(LEVELS, answers[-len(LEVELS) :], strict=True):
            is_known = fault(variables()["NCCL_DEBUG"], text, parse_nccl_version(version)) is None
            is_loud = "NCCL INFO" in answer["log"]
            if is_loud != (is_known and text.strip().upper() in LOUD):
                wrong.append((version, text, is_known, answer["log"][:200]))
    assert not wrong, wrong
