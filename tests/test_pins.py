"""What root installs is pinned, with hashes and licences; the tests have the same versions."""

import importlib
import re
import sys

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.licences import INSTALL, PAGE, ROOT, RUN, TESTS, page, pins, shown

_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PROJECT = _TOML.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WANTED = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
EXTRA = PROJECT["project"]["optional-dependencies"]["install"]


@pytest.mark.parametrize(("path", "wanted"), [(RUN, WANTED), (INSTALL, [*WANTED, *EXTRA])], ids=lambda one: getattr(one, "name", ""))
def test_each_dependency_is_pinned_in_a_version_that_the_project_takes(path, wanted):
    found = pins(path)
    for one in map(Requirement, wanted):
        versions = found[canonicalize_name(one.name)]
        assert all(one.specifier.contains(version) for version in versions), one


@pytest.mark.parametrize("path", [RUN, INSTALL, TESTS], ids=lambda path: path.name)
def test_nothing_is_pinned_without_a_hash_and_no_index_is_named(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    kinds = {
        "only-binary": r"--only-binary :all:",
        "pin": r"[a-z0-9-]+==[^ ]+( ; .+)? \\",
        "hash": r"    --hash=sha256:[0-9a-f]{64}( \\)?",
        "": "",
    }
    found = [next(kind for kind, pattern in kinds.items() if re.fullmatch(pattern, line)) for line in lines]
    after = {kind for before, kind in zip(found, [*found[1:], ""], strict=True) if before == "pin"}
    assert after == {"hash"}
    assert ("only-binary" in found) == (path is not TESTS), "sources would be built by packages without a hash"


def test_root_gets_what_the_tests_had():
    run, install, tests = map(pins, (RUN, INSTALL, TESTS))
    assert run.items() <= install.items()
    assert {name: [*versions] for name, versions in install.items()} == {name: [*tests[name]] for name in install}


def test_the_page_has_each_licence():
    assert PAGE.read_text(encoding="utf-8") == page(shown), "run 'make lock' and commit the result"
    assert not re.search(r"\|  \|", PAGE.read_text(encoding="utf-8"))
