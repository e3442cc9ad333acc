"""What holds of every check on NCCL: on hosts without any, in images, and whatever their settings say."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.nccl.tables.variables import variables
from hostagent.engine.evaluate import evaluate
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.nccl import Nccl, NcclLibrary, NcclSetting
from hostagent.profiles.profile import load as profile
from hostagent.testing import input_kinds
from tests.checkcases import CASES as ALL_CASES
from tests.checkcases import CHECKS
from tests.over import over

OURS_HERE = [name for name in CHECKS if name.startswith("nccl.")]
CASES = [case for case in ALL_CASES if case.check_id in OURS_HERE]
NAMES = sorted(variables())
VALUES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ("0", "1", "-1", "2", "3", "99", "LOC", "PIX", "sys", "IB", "Socket", "=mlx5_0", "^mlx5", "^docker0", "lo", "/etc/x", "efa", "none")
    ),
)
NOTHING = Nccl(libraries=(), plugins=(), settings=(), has_environment=False, files=())


def of_image(kind):
    return Unread("not-running", f"{kind.__name__} of an image")


def made(pairs, version="2.28.9"):
    rows = tuple(
        NcclSetting(name, value, name in variables(), "/etc/nccl.conf", line, wins=True) for line, (name, value) in enumerate(pairs, 1)
    )
    return replace(NOTHING, libraries=(NcclLibrary("/usr/lib/libnccl.so.2", "linker", version, "12.9"),), settings=rows)


@over("case", CASES, ids=lambda case: "/".join(case.path.split("/")[-2:]))
def test_a_host_without_nccl_skips_it(case):
    found = evaluate([CHECKS[case.check_id]], HostFacts({**case.facts, Nccl: NOTHING}), case.profile)
    assert {one.outcome for one in found} == {"skip"}


@pytest.mark.parametrize("check", OURS_HERE)
def test_an_image_is_never_unknown(check):
    """Whatever is set in it: what needs a host does not apply."""
    kinds = input_kinds(CHECKS[check])
    pairs = [(name, value) for name in NAMES for value in ("0",)]
    facts = {**{kind: of_image(kind) for kind in kinds}, Nccl: made(pairs)}
    found = evaluate([CHECKS[check]], HostFacts(facts), profile("default", site_file="").profile)
    assert "unknown" not in {one.outcome for one in found}, [one.message for one in found]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=6, unique_by=lambda pair: pair[0]),
    st.sampled_from(("2.18.3", "2.21.5", "2.28.9", "2.32.3")),
)
def test_no_setting_makes_a_check_crash(pairs, version):
    """On a host of which nothing else is known, and on one with each case's facts."""
    nccl = made(pairs, version)
    for case in CASES[::9]:
        found = evaluate([CHECKS[case.check_id]], HostFacts({**case.facts, Nccl: nccl}), case.profile)
        assert "crashed" not in {one.code for one in found}, [one.message for one in found]
