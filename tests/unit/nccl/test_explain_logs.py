"""What a job's log is said to prove: a corpus of generated logs, and what must hold for any of them."""

import gzip
import json
from collections import Counter

import jsonschema
import pytest

from hostagent.nccl.chunks import blocks, unpacked
from hostagent.nccl.explanation import Job as Reading
from hostagent.schemas import published
from hostagent.sinks.nccl import render_explanation
from hostagent.vocabulary import NCCL_VERDICTS
from tests.nccl_logs import CASES

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
