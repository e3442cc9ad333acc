"""Profiles: layers and the origin of each value, and files that are not profiles."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from glob import glob
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.errors import HostagentError
from hostagent.core.typed import plain
from hostagent.core.yamlfile import YamlError, load_yaml, parse_yaml
from hostagent.domains.kubelet.placement import parse_shape
from hostagent.profiles.files import BUILT_IN, MAX_BYTES, names
from hostagent.profiles.profile import PodPolicy, load, validate
from tests.profiles import rendered

NO_SITE = "/nonexistent/profile.yaml"


@pytest.fixture
def write(tmp_path):
    def write(content, name="mine.yaml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.mark.parametrize("name", names())
def test_a_built_in_profile_loads_under_its_own_name(name):
    loaded = load(name, site_file=NO_SITE)
    assert loaded.profile.name == name
    assert loaded.origin("name") == name


def test_what_a_profile_does_not_name_comes_from_what_it_extends():
    loaded = load("tao-7.0", site_file=NO_SITE)
    assert (loaded.profile.gpus.ecc, loaded.origin("gpus.ecc")) == ("enabled", "default")
    assert loaded.origin("toolkit.version") == "tao-7.0"
    assert loaded.origin("toolkit.install") == "default"


@pytest.mark.parametrize("content", ["", "\n", "# gpus: {count: 8}\n\n  # none\n"])
def test_a_file_of_comments_overrides_nothing_and_costs_no_yaml(write, content):
    program = "import sys; from hostagent.profiles.profile import load; print(load('', site_file=sys.argv[1]).profile.gpus.count, 'yaml' in sys.modules)"
    asked = [[sys.executable, "-c", program, path] for path in (write(content), NO_SITE)]
    of_comments, of_none = (subprocess.run(argv, capture_output=True, text=True, check=True).stdout for argv in asked)
    assert of_comments == of_none
    assert of_comments.endswith(" False\n")


def test_the_site_file_lies_over_the_profile_and_the_overlay_over_both(write):
    site = write("driver: {version: '1.2', install: '', flavour: open}\n")
    loaded = load("tao-7.0", site_file=site, overlay={"driver": {"flavour": "proprietary"}})
    assert (loaded.profile.driver.version, loaded.origin("driver.version")) == ("1.2", site)
    assert (loaded.profile.driver.flavour, loaded.origin("driver.flavour")) == ("proprietary", "overlay")
    assert loaded.profile.name == "tao-7.0", "a site file renames nothing"


def test_a_site_file_may_choose_the_profile_and_a_named_one_wins(write):
    site = write("extends: tao-7.1\ngpus: {count: 8}\n")
    assert load(site_file=site).profile.name == "tao-7.1"
    chosen = load("default", site_file=site)
    assert (chosen.profile.name, chosen.profile.gpus.count) == ("default", 8)


def test_a_file_extends_the_default_unless_it_says_otherwise(write):
    path = write("name: mine\nruntime: {kind: crio}\n")
    loaded = load(path, site_file=NO_SITE)
    assert (loaded.profile.runtime.kind, loaded.origin("runtime.kind")) == ("crio", path)
    assert loaded.origin("runtime.access") == "default"
    assert validate(path).profile == loaded.profile


fragments = st.fixed_dictionaries(
    {},
    optional={
        "gpus": st.fixed_dictionaries({}, optional={"count": st.integers(0, 16), "mig": st.sampled_from(["any", "enabled"])}),
        "runtime": st.fixed_dictionaries(
            {}, optional={"kind": st.sampled_from(["docker", "crio"]), "default_runtime": st.text("ab", max_size=2)}
        ),
        "nvml": st.sampled_from(["required", "optional"]),
        "verbs": st.sampled_from(["required", "optional"]),
        "pci_configuration": st.sampled_from(["required", "optional"]),
    },
)


def leaves(data, prefix=""):
    for key, value in data.items():
        yield from leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]


@given(fragments, fragments)
@settings(deadline=None)
def test_every_value_is_that_of_its_last_layer_which_its_origin_names(tmp_path_factory, first, second):
    site = tmp_path_factory.mktemp("site") / "profile.yaml"
    site.write_text(json.dumps(first))
    loaded = load("default", site_file=str(site), overlay=second)
    below, above = dict(leaves(first)), dict(leaves(second))
    for path, value in {**below, **above}.items():
        found = loaded.profile
        for part in path.split("."):
            found = getattr(found, part)
        assert found == value
        assert loaded.origin(path) == ("overlay" if path in above else str(site))
    assert loaded.origin("driver.version") == "default"


def test_the_digest_follows_the_values_and_not_the_layers(write):
    plain = load("default", site_file=NO_SITE)
    assert load("default", site_file=write("gpus: {count: 0}\n")).digest == plain.digest
    assert load("default", site_file=write("gpus: {count: 8}\n")).digest != plain.digest


def test_a_circle_of_profiles_is_named(tmp_path, write):
    one, two = str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml")
    write(f"extends: {two}\n", "one.yaml")
    write(f"extends: {one}\n", "two.yaml")
    with pytest.raises(HostagentError, match="extends itself through"):
        load(one, site_file=NO_SITE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("driver: &a {version: '==1'}\ntoolkit: *a\n", "alias"),
        ("name: x\nname: y\n", "twice"),
        ("driver: {version: '==1', version: '==2'}\n", "twice"),
        ("? [a]\n: b\n", "no scalar"),
        ("name: [\n", r"mine\.yaml:2: cannot read this YAML: "),
        ("a: 1\n---\nb: 2\n", "document"),
        (b"\x00\x01\x02", "control characters are not allowed"),
        (b"\xff\xfe\xfd\x80", "profile .*mine.yaml"),
        (bytes(range(256)), "profile .*mine.yaml"),
        ("!!python/object/apply:os.system [id]\n", "python/object"),
        ("- 1\n", "found a list, wanted keys and values"),
        ("text\n", "found a single value, wanted keys and values"),
        ("schema_version: 2\n", "schema_version is 2, wanted 1"),
        ("schema_version: true\n", "schema_version is True"),
        ("schema_version: '1'\n", "schema_version is '1'"),
        ("drivers: {}\n", r"mine\.yaml:1: drivers: unknown key; did you mean driver\?"),
        ("driver: {version: 580}\n", r'mine\.yaml:1: driver\.version: found the number 580; quote it: version: "580\.\*"'),
        ("driver: {version: '580'}\n", "found '580', which is a branch and no version"),
        ("driver: null\n", "driver: found nothing, wanted a mapping"),
        ("gpus: {count: 1.5}\n", "wanted a whole number"),
        ("extends: nothing\n", "found no profile 'nothing', wanted a file or one of any, default"),
        ("extends: 5\n", "wanted text"),
        ("1: x\n", r"mine\.yaml:1: \[1\]: unknown key"),
        ("name: " + "[" * 50000, r"mine\.yaml:1: .*levels"),
        ("{" * 50000, r"mine\.yaml:1: .*levels"),
        ("name: " + "1" * 10000 + "\n", r"mine\.yaml:1: .*number of more than 2048 characters"),
        ("x" * 300_000, "more than 262144 bytes"),
    ],
)
def test_a_file_that_is_no_profile_is_one_sentence_and_a_next_step(write, content, message):
    with pytest.raises(HostagentError, match=message) as caught:
        load(write(content), site_file=NO_SITE)
    assert caught.value.next_step
    assert "\n" not in caught.value.message
    with pytest.raises(HostagentError):
        load(site_file=write(content))


@pytest.mark.parametrize(
    "tag", ["int", "float", "bool", "timestamp", "binary", "null", "omap", "pairs", "set", "seq", "map", "str", "merge", "value"]
)
@pytest.mark.parametrize("value", ["''", "x", "[]", "{}", "[x]", "{a: b}", "'+'", "0x", "é"])
def test_a_tag_that_does_not_fit_its_value_is_refused_or_read(tag, value):
    with contextlib.suppress(YamlError):
        parse_yaml(f"name: !!{tag} {value}\n".encode())


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_yaml_or_refused(data):
    with contextlib.suppress(YamlError):
        parse_yaml(data)


yaml_pieces = st.lists(
    st.sampled_from(["a", ": ", "\n", "- ", "  ", "[", "]", "{", "}", ", ", "!!int ", "!!set ", "&x ", "*x", "<<", "? ", "|\n", ">\n", "'", '"', "---\n", "0x", "1", ".", "_", "#", "%", "2001-99-99", "~", "=", "!", "é", "\t", ":"]),
    max_size=30,
).map("".join)  # fmt: skip


@given(yaml_pieces)
@settings(deadline=None, max_examples=500)
def test_anything_that_looks_like_yaml_is_read_or_refused(text):
    with contextlib.suppress(YamlError):
        parse_yaml(text.encode())


def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path):
    pipe, link = tmp_path / "pipe.yaml", tmp_path / "loop.yaml"
    os.mkfifo(pipe)
    link.symlink_to(link)
    for path in (str(pipe), str(link), str(tmp_path / "none.yaml"), "/dev/zero/x.yaml", f"{tmp_path}/"):
        with pytest.raises(HostagentError):
            load(path, site_file=NO_SITE)
    directory = tmp_path / "directory.yaml"
    directory.mkdir()
    with pytest.raises(HostagentError):
        load(str(directory), site_file=NO_SITE)
    with pytest.raises(HostagentError):
        load(site_file=str(pipe))


def test_a_missing_site_file_is_no_mistake_and_a_dangling_one_is(tmp_path):
    assert load(site_file=str(tmp_path / "none")).profile.name == "default"
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(HostagentError):
        load(site_file=str(tmp_path / "dangling"))


def test_a_built_in_profile_is_what_its_yaml_says():
    """The JSON is what is loaded; types count, so it is compared as text."""
    made = {path.removesuffix(".json"): Path(path).read_text(encoding="utf-8") for path in glob(f"{BUILT_IN}/*.json")}
    assert made == {path.removesuffix(".json"): text for path, text in rendered().items()}, "run 'make docs' and commit the result"
    assert {os.path.basename(path) for path in made} == set(names())
    for path, text in made.items():
        assert repr(load_yaml(f"{path}.yaml", MAX_BYTES)) == repr(json.loads(text))


def test_words_that_only_yaml_1_1_turns_into_something_else_stay_text(write):
    path = write("name: 2026-01-01\ndescription: 0000:10:00.0\nchecks: {gpu.row_remap: {off: yes}}\n")
    profile = load(path, site_file=NO_SITE).profile
    assert (profile.name, profile.description, profile.checks["gpu.row_remap"].off) == ("2026-01-01", "0000:10:00.0", "yes")


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("False", False), ("~", None), ("12", 12), ("-3", -3), ("0x1f", 31), ("1.5", 1.5), ("1e3", 1000.0), ("010", "010"), ("on", "on"), ("1:30", "1:30"), ("1_000", "1_000"), ("<<", "<<"), ("=", "=")],
)  # fmt: skip
def test_a_plain_word_is_what_yaml_1_2_says(text, value):
    found = parse_yaml(f"key: {text}\n".encode())["key"]
    assert found == value
    assert type(found) is type(value)


def test_a_parent_is_found_from_the_file_that_names_it(tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/base.yaml").write_text("gpus: {count: 4}\n")
    (tmp_path / "site/mine.yaml").write_text("extends: base.yaml\n")
    monkeypatch.chdir(tmp_path)
    assert load("site/mine.yaml", site_file="").profile.gpus.count == 4
    assert load("", site_file=str(tmp_path / "site/mine.yaml")).profile.gpus.count == 4


def test_a_profile_file_may_be_called_as_a_built_in_one(tmp_path, monkeypatch):
    (tmp_path / "default").write_text("driver: 5\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HostagentError, match="driver"):
        validate("default")


def test_layers_of_different_shape_merge_into_the_later_one(tmp_path):
    (tmp_path / "base.yaml").write_text("checks: {gpu.temperature: {params: {min_margin_celsius: 5}}}\n")
    (tmp_path / "mine.yaml").write_text("extends: base.yaml\nchecks: {gpu.temperature: {params: {min_margin_celsius: {a: 1}}}}\n")
    assert load(str(tmp_path / "mine.yaml"), site_file="").profile.checks["gpu.temperature"].params == {"min_margin_celsius": {"a": 1}}


@pytest.mark.parametrize(
    "text",
    [
        "gpus: {count: -1}",
        "report: {valid_for_s: 0}",
        "report: {valid_for_s: -5}",
        "driver: {version: newest}",
        "gpus: {passthrough: [1b:00.0]}",
    ],
)
def test_a_value_that_can_never_be_right_names_its_file_and_key(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(HostagentError, match=rf"mine\.yaml:1: {text.partition(':')[0]}\."):
        load(str(path), site_file="")


def test_a_site_file_is_named_beside_the_profile_it_changes(tmp_path):
    (tmp_path / "site.yaml").write_text("gpus: {count: 8}\n")
    assert load("tao-7.0", site_file=str(tmp_path / "site.yaml")).title == f"tao-7.0 + {tmp_path}/site.yaml"
    (tmp_path / "site.yaml").write_text("# nothing is changed yet\n")
    assert load("tao-7.0", site_file=str(tmp_path / "site.yaml")).profile.gpus.count == 0


def test_a_check_may_be_turned_off_for_some_subjects(write):
    path = write("checks: {gpu.temperature: {except: ['0000:9d:00.0', mlx5_4]}}\n")
    site = write("checks: {gpu.temperature: {params: {min_margin_celsius: 5}}}\n", "site.yaml")
    loaded = load(path, site_file=site)
    assert loaded.profile.checks["gpu.temperature"].excepted == ("0000:9d:00.0", "mlx5_4")
    assert loaded.origin("checks.gpu.temperature.except") == path
    assert plain(loaded.profile)["checks"]["gpu.temperature"]["except"] == ["0000:9d:00.0", "mlx5_4"]
    above = load(path, site_file=NO_SITE, overlay={"checks": {"gpu.temperature": {"except": []}}})
    assert (above.profile.checks["gpu.temperature"].excepted, above.origin("checks.gpu.temperature.except")) == ((), "overlay")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{except: mlx5_4}", r"except: found the text 'mlx5_4', wanted a list of texts"),
        ("{except: [5]}", r"except\[0\]: found the number 5, wanted text"),
        ("{except: ['']}", r"mine\.yaml:1: checks\.gpu\.temperature\.except: found an empty text"),
        ("{excepted: [a]}", r"checks\.gpu\.temperature\.excepted: unknown key; did you mean except\?"),
    ],
)
def test_exceptions_that_are_none_are_named(write, value, message):
    with pytest.raises(HostagentError, match=message):
        load(write(f"checks: {{gpu.temperature: {value}}}\n"), site_file=NO_SITE)


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_the_files_that_were_read_are_listed_with_their_digests(write, tmp_path, monkeypatch):
    parent = write("extends: tao-7.0\n", "parent.yaml")
    mine = write("extends: parent.yaml\n")
    site = write("gpus: {count: 8}\n", "site.yaml")
    monkeypatch.chdir(tmp_path)
    assert load("./mine.yaml", site_file=site).files == (
        ("built-in:default", digest(f"{BUILT_IN}/default.json")),
        ("built-in:tao-7.0", digest(f"{BUILT_IN}/tao-7.0.json")),
        (parent, digest(parent)),
        (mine, digest(mine)),
        (site, digest(site)),
    )
    assert load(mine, site_file="").files[-1] == (mine, digest(mine))
    assert load(mine, site_file=mine).files.count((mine, digest(mine))) == 1


def test_a_site_file_that_is_not_there_is_listed_for_it_may_appear(write):
    assert load(site_file=NO_SITE).files == (("built-in:default", digest(f"{BUILT_IN}/default.json")), (NO_SITE, ""))
    empty = write("")
    assert load(site_file=empty).files[-1] == (empty, digest(empty))


def test_a_site_file_that_cannot_be_looked_for_is_not_taken_for_absent(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(HostagentError, match="too many levels of symbolic links"):
        load(site_file=str(loop / "profile.yaml"))


def test_a_parent_whose_name_no_file_can_have_is_a_mistake(write):
    with pytest.raises(HostagentError, match=r"profile /x.*: found a zero byte in the name"):
        load(write('extends: "/x\\0.yaml"\n'), site_file=NO_SITE)


def test_a_row_of_parents_has_an_end(write):
    for number in range(2000):
        path = write(f"extends: {number - 1}.yaml\n" if number else "", f"{number}.yaml")
    with pytest.raises(HostagentError, match="extends more than 16 others in a row"):
        load(path, site_file=NO_SITE)
    enough = os.path.join(os.path.dirname(path), "14.yaml")
    assert load(enough, site_file=NO_SITE).profile.name == enough


def test_who_turned_off_a_check_that_nobody_has_is_named(write):
    path = write("checks: {gpu.row_rempa: {off: x}, gpu.none: {}, gpu.less: {params: {}}}\n")
    loaded = load(path, site_file=NO_SITE)
    for check_id in ("gpu.row_rempa", "gpu.none", "gpu.less"):
        assert loaded.origin(f"checks.{check_id}") == path
    assert loaded.origin("checks.gpu.other.severity") == "default"


def test_shapes_of_pods_merge_key_by_key_and_the_default_asks_for_all_gpus(write):
    assert plain(load("default", site_file=NO_SITE).profile)["pods"] == {"full_node": {"gpus": 0, "cpus": 0, "memory": 0, "nics": 0}}
    path = write("pods: {full_node: {cpus: 96, memory: 1.5Ti}, sub_node: {gpus: 4, cpus: 7500m, nics: 2}}\n")
    site = write("pods: {sub_node: {memory: 1073741824}}\n", "site.yaml")
    loaded = load(path, site_file=site)
    assert plain(loaded.profile)["pods"] == {
        "full_node": {"gpus": 0, "cpus": 96, "memory": "1.5Ti", "nics": 0},
        "sub_node": {"gpus": 4, "cpus": "7500m", "memory": 1073741824, "nics": 2},
    }
    assert [one.text for one in loaded.profile.pods.values()] == [
        "gpus=0,cpus=96,memory=1.5Ti",
        "gpus=4,cpus=7500m,memory=1073741824,nics=2",
    ]
    assert (loaded.origin("pods.sub_node.cpus"), loaded.origin("pods.sub_node.memory")) == (path, site)


def test_configz_is_asked_nowhere_unless_a_profile_names_it(write):
    assert not load("default", site_file=NO_SITE).profile.kubelet.configz.address
    for address in ("127.0.0.1:10250", "[::1]:10250", "gpu-17.example.com:443"):
        named = f"kubelet: {{configz: {{address: '{address}', ca: /etc/kubernetes/pki/ca.crt, token_file: /run/token}}}}\n"
        assert load(write(named), site_file=NO_SITE).profile.kubelet.configz.address == address


@pytest.mark.parametrize(
    "address", ["127.0.0.1", ":10250", "[::1]", "::1:10250", "127.0.0.1:0", "127.0.0.1:65536", "a b:1", "a:1/configz", "a:1\n"]
)
def test_an_address_is_a_host_and_a_port(write, address):
    path = write(json.dumps({"kubelet": {"configz": {"address": address, "ca": "/ca", "token_file": "/token"}}}))
    with pytest.raises(HostagentError, match=r"mine\.yaml:1: kubelet\.configz\.address: found "):
        load(path, site_file=NO_SITE)


quantities = st.one_of(
    st.integers(0, 10**9 - 1),
    st.from_regex(r"[0-9]{1,9}m|[0-9]{1,9}(\.[0-9]{1,3})?", fullmatch=True),
)
sizes = st.one_of(st.integers(0, 10**15), st.from_regex(r"[0-9]{1,6}(\.[0-9]{1,9})?([kMGT]|[KMGT]i)", fullmatch=True))


@given(st.builds(PodPolicy, st.integers(0, 4096), quantities, sizes, st.integers(0, 4096)))
@settings(deadline=None)
def test_a_shape_that_a_profile_may_declare_is_one_that_the_model_reads(shape):
    loaded = load("default", site_file=NO_SITE, overlay={"pods": {"some": plain(shape)}})
    (container,) = parse_shape(loaded.profile.pods["some"].text).containers
    assert container.kind == "app"


def test_an_empty_extends_is_the_default_as_no_word_is(tmp_path):
    for number, text in enumerate(("extends: ''\n", "")):
        path = tmp_path / f"{number}.yaml"
        path.write_text(f"schema_version: 1\n{text}gpus: {{count: 8}}\n")
        assert load(str(path), site_file="").profile.driver == load("default", site_file="").profile.driver
