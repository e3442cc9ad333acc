"""Which settings count: each place sets only what is not set, and what a version reads is what its files say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.domains.nccl.settings import ENVIRONMENT, SYSTEM_FILE, conf_files, parse_conf, settings, winning

VERSIONS = ((2, 18, 3), (2, 23, 4), (2, 28, 9), (2, 30, 7))
NAME = st.sampled_from(["NCCL_DEBUG", "NCCL_NET", "A", " A", "#A"])
TEXT = st.text(alphabet="ab =#\r\n\0,", max_size=12)
FILE = st.lists(st.tuples(NAME, TEXT).map("=".join), max_size=5).map("\n".join)
FILES = st.fixed_dictionaries({"/home/u/.nccl.conf": FILE, "/root/.nccl.conf": FILE, "/job.conf": FILE, SYSTEM_FILE: FILE})
ENVIRONMENTS = st.fixed_dictionaries(
    {}, optional={"HOME": st.just("/home/u"), "NCCL_CONF_FILE": st.sampled_from(["", "/job.conf", "/none"]), "A": TEXT}
)


@given(ENVIRONMENTS, FILES, st.sampled_from(VERSIONS))
def test_each_name_has_one_winner_and_it_is_the_first(environment, files, version):
    found = settings(environment, files, "/root", version)
    for name in {one.name for one in found}:
        own = [one for one in found if one.name == name]
        assert [one.wins for one in own] == [True] + [False] * (len(own) - 1)
    assert {name: winning(found)[name] for name in environment} == environment


@given(ENVIRONMENTS, FILES, st.sampled_from(VERSIONS), FILE)
def test_a_file_that_a_version_does_not_read_changes_nothing(environment, files, version, other):
    unread = files.keys() - set(conf_files(environment, "/root", version))
    changed = {path: other if path in unread else text for path, text in files.items()}
    assert settings(environment, files, "/root", version) == settings(environment, changed, "/root", version)


@given(ENVIRONMENTS, FILES, st.sampled_from(VERSIONS))
def test_a_setting_says_where_it_stands(environment, files, version):
    for one in settings(environment, files, "/root", version):
        if one.origin != ENVIRONMENT:
            line = files[one.origin].split("\n")[one.line - 1]
            assert line.startswith(f"{one.name}={one.value}")


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("NCCL_NET=IB\r", "IB\r", "IB"),  # a name that no network has, in silence
        ("NCCL_NET=IB ", "IB ", "IB "),
        ("NCCL_NET= IB", " IB", " IB"),
        ('NCCL_NET="IB"', '"IB"', '"IB"'),
        ("NCCL_NET=" + "x" * 2000, "x" * 1023, "x" * 1023),
        ("export NCCL_NET=IB", None, None),
        (" NCCL_NET=IB", None, None),
        ("NCCL_NET =IB", None, None),
        ("#NCCL_NET=IB", None, None),
        ("NCCL_NET", None, None),
    ],
)
def test_a_line_means_what_nccl_made_of_it(line, old, new):
    read = [{name: value for name, value, _ in parse_conf(line, version)}.get("NCCL_NET") for version in ((2, 28, 9), (2, 30, 7))]
    assert read == [old, new]
