"""A published fingerprint belongs to a key that this release pins, and is written as gpg does."""

import re

from hostagent.domains.packages.tables.repositories import FINGERPRINTS, TOOLKIT_KEY, cuda_key

_HOSTS = (("ubuntu", ("22.04", "24.04", "26.04")), ("debian", ("12", "13")))


def test_a_fingerprint_is_of_a_pinned_key_and_has_forty_digits():
    found = [cuda_key(id_, version, arch) for id_, versions in _HOSTS for version in versions for arch in ("x86_64", "aarch64")]
    pinned = {TOOLKIT_KEY.sha256, *(one.sha256 for one in found if one is not None)}
    assert set(FINGERPRINTS) <= pinned
    assert TOOLKIT_KEY.sha256 in FINGERPRINTS
    assert all(re.fullmatch(r"[0-9A-F]{40}", one) for one in FINGERPRINTS.values())
