"""The schema that a profile says, and keys that are newer than it or have another name today."""

import contextlib
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent import __version__
from hostagent.core.errors import HostagentError
from hostagent.facts.version import compare_deb
from hostagent.profiles.format import RENAMES, SCHEMA_MINOR, Rename, keys
from hostagent.profiles.profile import load

NO_SITE = "/nonexistent/profile.yaml"


@pytest.fixture
def write(tmp_path):
    def write(content, name="mine.yaml"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("version", ["1", "'1.0'", "'1.7'", '"1.1234567"'])
def test_a_profile_says_its_schema_as_a_whole_number_or_as_major_and_minor_in_quotes(write, version):
    path = write(f"schema_version: {version}\ngpus: {{count: 8}}\n")
    loaded = load(path, site_file=NO_SITE)
    assert (loaded.profile.schema_version, loaded.profile.gpus.count, loaded.warnings) == (1, 8, ())
    assert loaded.origin("schema_version") == path
    assert loaded.digest == load(write("gpus: {count: 8}\nname: " + path, "same.yaml"), site_file=NO_SITE).digest


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("1.3", r'schema_version is 1\.3, wanted 1 or a text such as "1\.6" in quotes: the number 1\.10 is 1\.1'),
        ("1.10", r"schema_version is 1\.1, wanted .* in quotes: the number 1\.10 is 1\.1"),
        ("1.0", r"schema_version is 1\.0, wanted 1 or a text .* in quotes"),
        ("'2.0'", "schema_version is '2.0', wanted 1 or"),
        ("'0.9'", "schema_version is '0.9'"),
        ("'1.'", "schema_version"),
        ("'1.03'", "schema_version"),
        ("'01.3'", "schema_version"),
        ("'1.3.0'", "schema_version"),
        ("'1.-3'", "schema_version"),
        ('"1.3\\n"', "schema_version"),
        ("'1.\u0663'", "schema_version"),
        ("'1." + "9" * 10_000 + "'", "schema_version is .{1,80}, wanted"),
        ("[1]", "schema_version"),
        ("null", "schema_version is None"),
    ],
)
def test_a_schema_that_is_not_ours_is_a_mistake_with_the_right_spelling_beside_it(write, version, message):
    with pytest.raises(HostagentError, match=message):
        load(write(f"schema_version: {version}\n"), site_file=NO_SITE)


NEWER = f"schema_version: '1.{SCHEMA_MINOR + 1}'\n"


def test_keys_that_only_a_newer_schema_has_are_ignored_with_a_warning_each(write):
    text = "later: {a: {b: 1}}\ngpus: {count: 8, sparkle: yes}\nchecks: {gpu.xid: {severity: info, until: 2027, params.x: 1, params: {x: 2}}}\n"
    path = write(NEWER + text)
    loaded = load(path, site_file=NO_SITE)
    assert loaded.profile.gpus.count == 8
    assert (loaded.profile.checks["gpu.xid"].severity, loaded.profile.checks["gpu.xid"].params) == ("info", {"x": 2})
    assert [sentence.split(" is ignored: ")[0] for sentence in loaded.warnings] == [
        f"profile {path}: {key}" for key in ("later", "gpus.sparkle", "checks.gpu.xid.until", "checks.gpu.xid.params.x")
    ]
    assert not {"later.a.b", "gpus.sparkle", "checks.gpu.xid.until"} & set(loaded.origins)
    with pytest.raises(HostagentError, match="later: unknown key"):
        load(write(text), site_file=NO_SITE)
    with pytest.raises(HostagentError, match="later: unknown key"):
        load(write(f"schema_version: '1.{SCHEMA_MINOR}'\n" + text), site_file=NO_SITE)


def test_a_key_that_two_layers_have_is_told_once_with_both(write):
    parent = write(NEWER + "gpus: {sparkle: 1}\n", "parent.yaml")
    site = write(NEWER + f"extends: {parent}\ngpus: {{sparkle: 2}}\n", "site.yaml")
    (sentence,) = load(site_file=site).warnings
    assert sentence.startswith(f"profile {parent} and {site}: gpus.sparkle is ignored")


@pytest.mark.parametrize(
    "text", ["gpus: {count: many}", "gpus: {ecc: perhaps}", "driver: 5", "driver: {version: newest}", "extends: nowhere"]
)
def test_a_newer_schema_excuses_no_wrong_value(write, text):
    with pytest.raises(HostagentError):
        load(write(NEWER + text + "\n"), site_file=NO_SITE)


def test_a_layer_of_our_schema_is_strict_beside_one_of_a_newer(write):
    parent = write(NEWER + "gpus: {sparkle: 1}\n", "parent.yaml")
    with pytest.raises(HostagentError, match=r"site\.yaml:2: gpus\.sparkle: unknown key"):
        load(site_file=write(f"extends: {parent}\ngpus: {{sparkle: 2}}\n", "site.yaml"))


known_parts = st.fixed_dictionaries(
    {},
    optional={
        "runtime": st.fixed_dictionaries({}, optional={"kind": st.sampled_from(["docker", "crio"])}),
        "nvml": st.sampled_from(["required", "optional"]),
        "verbs": st.sampled_from(["required", "optional"]),
        "pci_configuration": st.sampled_from(["required", "optional"]),
    },
)


@given(known_parts, st.dictionaries(st.sampled_from(["later", "sooner", "gpu"]), st.none() | st.integers() | st.lists(st.integers())))
@settings(deadline=None)
def test_what_is_ignored_changes_no_value(tmp_path_factory, fragment, unknown):
    site = tmp_path_factory.mktemp("site") / "profile.yaml"
    site.write_text(json.dumps({**fragment, **unknown, "runtime": {**fragment.get("runtime", {}), **unknown}, "schema_version": "1.99"}))
    loaded = load("default", site_file=str(site))
    assert loaded.digest == load("default", site_file=NO_SITE, overlay=fragment).digest
    assert len(loaded.warnings) == 2 * len(unknown)


#: Old names of every kind, for the keys of today: of a value, of a part, across parts, of a check, of a parameter.
TABLE = (
    Rename("gpu_count", "gpus.count", "0.3"),
    Rename("gpus.model", "gpus.product", "0.3"),
    Rename("containers", "runtime", "0.3"),
    Rename("checks.gpu.xids", "checks.gpu.xid", "0.4"),
    Rename("checks.gpu.temperature.params.margin", "checks.gpu.temperature.params.min_margin_celsius", "0.4"),
)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("gpu_count: 8", "gpus: {count: 8}", "gpus.count"),
        ("gpus: {model: H100, ecc: any}", "gpus: {product: H100, ecc: any}", "gpus.product"),
        ("containers: {kind: crio}", "runtime: {kind: crio}", "runtime.kind"),
        ("checks: {gpu.xids: {off: x}}", "checks: {gpu.xid: {off: x}}", "checks.gpu.xid.off"),
        (
            "checks: {gpu.temperature: {params: {margin: 5}}}",
            "checks: {gpu.temperature: {params: {min_margin_celsius: 5}}}",
            "checks.gpu.temperature.params.min_margin_celsius",
        ),
    ],
)
def test_a_key_works_under_its_old_name_with_a_warning(write, old, new, path):
    loaded = load("default", site_file=write(old + "\n"), renames=TABLE)
    today = load("default", site_file=write(new + "\n"), renames=TABLE)
    assert (loaded.profile, loaded.origins, loaded.digest) == (today.profile, today.origins, today.digest)
    assert loaded.origin(path).endswith("mine.yaml")
    (sentence,) = loaded.warnings
    assert sentence.startswith(f"profile {loaded.origin(path)}: ")
    assert re.search(r" is called .* today: the old name works until hostagent 0\.[34]$", sentence)
    assert today.warnings == ()
    with pytest.raises(HostagentError, match="unknown key") if "checks" not in old else contextlib.nullcontext():
        load("default", site_file=write(old + "\n"))


def test_both_names_in_one_layer_are_a_mistake_and_in_two_the_later_layer_wins(write):
    both = write("gpu_count: 8\ngpus: {count: 8}\n", "both.yaml")
    with pytest.raises(HostagentError, match=r"both\.yaml:1: gpu_count: found both gpu_count and gpus\.count") as caught:
        load(both, site_file=NO_SITE, renames=TABLE)
    assert caught.value.next_step
    below = write("gpu_count: 8\n", "below.yaml")
    above = write(f"extends: {below}\ngpus: {{count: 4}}\n", "above.yaml")
    loaded = load(above, site_file=NO_SITE, renames=TABLE)
    assert (loaded.profile.gpus.count, loaded.origin("gpus.count")) == (4, above)
    assert len(loaded.warnings) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "gpu_count: many\n",
            r"mine\.yaml:1: gpu_count: found the text 'many', wanted a whole number \(gpu_count is called gpus\.count today",
        ),
        ("gpu_count: 8\ngpus: 5\n", r"mine\.yaml:2: gpus: found the number 5, wanted a mapping"),
        ("containers: 5\n", r"mine\.yaml:1: containers: found the number 5, wanted a mapping \(containers is called runtime today"),
    ],
)
def test_a_wrong_value_under_an_old_name_is_told_with_both(write, text, message):
    with pytest.raises(HostagentError, match=message):
        load(write(text), site_file=NO_SITE, renames=TABLE)


def test_an_old_name_leaves_the_callers_data_as_it_was():
    overlay = {"gpu_count": 8, "gpus": {"ecc": "any"}}
    loaded = load(site_file=NO_SITE, overlay=overlay, renames=TABLE)
    assert (loaded.profile.gpus.count, loaded.profile.gpus.ecc) == (8, "any")
    assert overlay == {"gpu_count": 8, "gpus": {"ecc": "any"}}


def test_names_that_changed_twice_are_followed(write):
    twice = (Rename("a", "nvml_use", "0.3"), Rename("nvml_use", "nvml", "0.4"))
    loaded = load(write("a: optional\n"), site_file=NO_SITE, renames=twice)
    assert (loaded.profile.nvml, len(loaded.warnings)) == ("optional", 2)


def test_no_old_name_works_longer_than_it_was_promised():
    assert [one for one in RENAMES if compare_deb(__version__, one.until) >= 0] == []
    assert all(keys(one.old) != keys(one.new) for one in RENAMES)
