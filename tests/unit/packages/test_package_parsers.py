"""Every parser of package state, fed with text that no package manager writes."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.domains.packages.deb822 import parse_stanzas
from hostagent.domains.packages.openpgp import parse_key_ids
from hostagent.domains.packages.read_apt import parse_sources_deb822, parse_sources_list
from hostagent.domains.packages.read_apt_conf import parse_apt_conf
from hostagent.domains.packages.read_dnf import parse_ini
from hostagent.domains.packages.read_dpkg import parse_status
from hostagent.domains.packages.read_rpm import parse_rpm_list
from hostagent.domains.packages.read_version_locks import (
    parse_preferences,
    parse_versionlock,
    parse_versionlock_toml,
    parse_zypp_locks,
    regex_glob,
)
from hostagent.domains.runtime.read_toolkit import parse_config, parse_ctk_version, parse_operator_files


def stanza(name, version, depends=""):
    return f"Package: {name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: {version}\nDepends: {depends}\nDescription: x\n y\n\n"


def test_a_status_of_five_megabytes_is_parsed_in_less_than_a_heartbeat():
    filler = stanza("libreoffice-core", "7.4", ", ".join(f"libdep{n} (>= 1.{n})" for n in range(60)))
    text = filler * (5_000_000 // len(filler)) + stanza("nvidia-utils-580", "580.95.05-1ubuntu1")
    best = min(_seconds(lambda: parse_status(text)) for _ in range(5))
    assert len(parse_status(text)) == 1
    assert best < 0.1, f"{best:.3f} s"


def _seconds(call) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


PARSERS = {
    "status": parse_status,
    "rpm": parse_rpm_list,
    "preferences": lambda text: parse_preferences(text, "f"),
    "versionlock": lambda text: parse_versionlock(text, "f"),
    "versionlock-toml": lambda text: parse_versionlock_toml(text, "f"),
    "zypp": lambda text: parse_zypp_locks(text, "f"),
    "sources": lambda text: parse_sources_list(text, "f"),
    "sources-deb822": lambda text: parse_sources_deb822(text, "f"),
    "apt-conf": parse_apt_conf,
    "stanzas": lambda text: list(parse_stanzas(text)),
    "ini": lambda text: list(parse_ini(text)),
    "ctk-version": parse_ctk_version,
    "operator": lambda text: parse_operator_files(tuple(text.split("\n"))),
    "regex": regex_glob,
    "keys": lambda text: parse_key_ids(text.encode("utf-8", "replace")),
    "toolkit": lambda text: parse_config(text.encode("utf-8", "replace")),
}
WORDS = (
    *"\n\t :;{}[]\"'/*#=!.~^-0",
    "\n\n",
    "Package: nvidia",
    "Status: ",
    "Version: 1",
    "Pin: version ",
    "Pin-Priority: 999999999999",
    "deb ",
)
WORDS += (
    "URIs: http://nvidia/",
    "Suites: ",
    "#clear",
    "-----BEGIN PGP X-----\n",
    "-----END",
    "::",
    "[[packages]]\nname=",
    "solvable_name: ",
)


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
@given(words=st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=5)), max_size=30))
def test_any_text_is_parsed_or_refused_by_a_value_error(parse, words):
    with contextlib.suppress(ValueError):
        parse("".join(words))


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
@pytest.mark.parametrize("word", [*WORDS, "a b", "/*", "{a", " \n", "a-1", "*580", "\\."])
def test_a_long_repetition_takes_no_square_of_its_time(parse, word):
    started = time.perf_counter()
    with contextlib.suppress(ValueError):
        parse(word * (200_000 // len(word)))
    assert time.perf_counter() - started < 2


@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_keyring_or_refused(data):
    with contextlib.suppress(ValueError):
        parse_key_ids(data)
