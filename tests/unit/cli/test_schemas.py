"""The published schemas: valid themselves, and true of what is written and read."""

import contextlib
import json
from dataclasses import fields, is_dataclass
from typing import Literal, get_args, get_origin, get_type_hints

import jsonschema
import pytest
import yaml

from hostagent.cli.schemas import names, profile_body, published
from hostagent.core.errors import HostagentError
from hostagent.core.frozen import subject_kind
from hostagent.core.unread import Unread
from hostagent.engine.catalogue import OURS
from hostagent.engine.catalogue import load as load_checks
from hostagent.engine.report.facts import facts_schema, report_facts
from hostagent.engine.report.facts_described import FACTS as TEXTS
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts, subject_key
from hostagent.facts.kernel import Kernel
from hostagent.facts.network import Network
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Part, Platform
from hostagent.facts.rdma import Rdma, RdmaPort
from hostagent.facts.runtime import Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.topology import Nic
from hostagent.host.recording import SCHEMA_VERSION, ReplayBackend, Tape, dumps
from hostagent.outputs import render
from hostagent.profiles import files as built_in
from hostagent.profiles import profile
from hostagent.profiles.format import Rename
from tests.judged import judged
from tests.over import over
from tests.recorded import NAMES, PAIRED, each_host, report_of, tape_of
from tests.unit.reports import judgement, report

KINDS = (Gpu, Driver, Packages, Kernel, Os, Platform, Toolkit, Runtime, Nic, Network, Rdma, RdmaPort)
#: What checks run once for each of, a port that a check of the whole host finds something about, "" for the whole host, and a device that no
#: fact stands for.
SUBJECTS = {
    "",
    "device",
    subject_kind(RdmaPort),
    *(subject_kind(one.inputs.subject[1]) for one in load_checks([OURS]) if one.inputs.subject),
}
REPORT = jsonschema.Draft202012Validator(published("report"))
FACTS = jsonschema.Draft202012Validator(facts_schema())


def sample(kind):
    """Any value of a type: the first alternative, one element of each collection."""
    if kind in (str, int, bool, float):
        return {str: "text", int: 1, bool: True, float: 1.0}[kind]
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{field.name: sample(hints[field.name]) for field in fields(kind)})
    arguments = [one for one in get_args(kind) if one is not Unread]
    if Unread in get_args(kind):
        return sample(arguments[0])
    return (sample(arguments[0]),) if arguments[-1] is Ellipsis else tuple(map(sample, arguments))


def unread_fields(kind):
    hints = get_type_hints(kind)
    return [field.name for field in fields(kind) if Unread in get_args(hints[field.name])]


def whole_host(**unread):
    values = {kind: sample(kind) for kind in KINDS}
    for name, field in unread.items():
        kind = next(kind for kind in KINDS if kind.__name__ == name)
        object.__setattr__(values[kind], field, Unread("denied", "no"))
    return HostFacts({kind: (value,) if subject_key(kind) else value for kind, value in values.items()})


@pytest.mark.parametrize("name", names())
def test_a_schema_is_valid_and_says_what_it_is(name):
    schema = published(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["$id"] == f"urn:hostagent:schema:{name}:{2 if name == 'report' else 1}"
    assert schema["title"]
    assert schema["description"]
    json.dumps(schema)


def _paths(shape, path=""):
    """Each property below, with the paths of its names."""
    if isinstance(shape, dict):
        for name, below in shape.get("properties", {}).items():
            place = f"{path}.{name}".lstrip(".")
            yield place, below
            yield from _paths(below, place)
        for key in ("items", "additionalProperties"):
            yield from _paths(shape.get(key), path)
        for one in shape.get("anyOf", ()):
            yield from _paths(one, path)


@pytest.mark.parametrize("name", ["report", "topology", "nccl", "nccl-env", "gate", "fleet"])
def test_each_field_is_described(name):
    assert [place for place, shape in _paths(published(name)) if not shape.get("description")] == []


def test_of_facts_nothing_else_is_described():
    assert set(TEXTS) <= {place for place, _ in _paths(published("report"))}


def test_a_schema_that_is_none_is_refused_with_the_names_there_are():
    with pytest.raises(HostagentError, match="report, profile, snapshot"):
        published("none")


def test_the_facts_of_a_whole_host_follow_the_schema():
    told = report_facts(whole_host())
    FACTS.validate(told)
    assert told["runtimes"][0]["handlers"] == {"text": {"runtime_type": "text", "binary": "text", "systemd_cgroup": True}}
    assert told["gpus"][0]["pci"] == "text"
    assert (told["fabric"]["rdma"][0]["name"], told["fabric"]["nics"][0]["addresses"]) == ("text", ["text/1"])


def test_facts_that_nobody_collected_say_so():
    told = report_facts(HostFacts({}))
    FACTS.validate(told)
    topology = told.pop("topology")
    fabric = told.pop("fabric")
    inner = (*topology.pop("distances").values(), *fabric.pop("gdr").values())
    assert {part["unread"] for part in (*told.values(), *topology.values(), *fabric.values(), *inner)} == {"not-recorded"}


@over(("kind", "field"), [(kind.__name__, field) for kind in KINDS for field in unread_fields(kind)])
def test_any_unread_field_is_told_and_never_null(kind, field):
    told = report_facts(whole_host(**{kind: field}))
    FACTS.validate(told)
    assert "null" not in json.dumps(told)


@pytest.mark.parametrize(
    ("changes", "origin"),
    [
        ({"container_driver": True}, "container"),
        ({"container_driver": False}, "runfile"),
        ({"container_driver": False, "runfile_traces": ()}, "packages"),
    ],
)
def test_the_origin_of_the_driver_is_the_first_that_can_be_shown(changes, origin):
    host = whole_host()
    for name, value in changes.items():
        object.__setattr__(host.of(Driver), name, value)
    object.__setattr__(host.of(Platform), "driver", Part("", "host"))
    object.__setattr__(host.of(Packages).installed[0], "name", "nvidia-driver")
    assert report_facts(host)["driver"]["origin"] == origin


def test_an_origin_that_cannot_be_read_is_not_guessed():
    host = whole_host()
    for kind, name, value in (
        (Driver, "runfile_traces", Unread("denied")),
        (Driver, "container_driver", False),
        (Platform, "driver", Part("", "host")),
        (Packages, "installed", ()),
    ):
        object.__setattr__(host.of(kind), name, value)
    assert report_facts(host)["driver"]["origin"] == {"unread": "denied", "detail": ""}


def test_a_report_with_facts_validates_and_one_without_a_verdict_does_not():
    schema = jsonschema.Draft202012Validator(published("report"))
    document = json.loads(render(report(judgement(), facts=report_facts(whole_host())), "json"))
    schema.validate(document)
    assert schema.is_valid({**document, "a_name_added_later": 1})
    del document["verdict"]
    assert not schema.is_valid(document)


def test_a_report_says_what_a_subject_is_and_in_which_order_to_read():
    shape = published("report")["properties"]
    assert (shape["reading_order"]["type"], shape["reading_order"]["items"]) == ("array", {"type": "string"})
    assert shape["findings"]["items"]["properties"]["subject_kind"]["type"] == "string"
    assert "subject_kind" in shape["findings"]["items"]["required"]


def test_a_snapshot_validates_and_a_changed_one_does_not():
    schema = jsonschema.Draft202012Validator(published("snapshot"))
    document = json.loads(dumps(Tape(SCHEMA_VERSION, "hostagent 0.1", 1.0, "live", redacted=True, answers={"read /x": {"text": "y"}})))
    schema.validate(document)
    assert not schema.is_valid({**document, "kind": "other"})
    assert not schema.is_valid({**document, "answers": []})


@pytest.mark.parametrize("name", built_in.names())
def test_a_built_in_profile_follows_the_profile_schema(name):
    with open(f"{built_in.BUILT_IN}/{name}.yaml", encoding="utf-8") as stream:
        jsonschema.Draft202012Validator(published("profile")).validate(yaml.safe_load(stream))


@pytest.mark.parametrize(
    ("version", "follows"),
    [(1, True), ("1.0", True), ("1.25", True), (2, False), ("1", False), ("2.0", False), (1.3, False), ("1.03", False), (True, False), (None, False)],
)  # fmt: skip
def test_the_profile_schema_and_the_loader_accept_the_same_versions(version, follows, tmp_path):
    assert jsonschema.Draft202012Validator(published("profile")).is_valid({"schema_version": version}) == follows
    path = tmp_path / "profile.yaml"
    path.write_text(json.dumps({"schema_version": version}))
    with contextlib.nullcontext() if follows else pytest.raises(HostagentError):
        profile.load(str(path), site_file="")


def test_the_profile_schema_knows_the_subjects_a_check_is_off_for_and_says_what_becomes_of_unknown_keys():
    schema = published("profile")
    assert jsonschema.Draft202012Validator(schema).is_valid({"checks": {"gpu.xid": {"except": ["0000:9d:00.0"]}}})
    assert not jsonschema.Draft202012Validator(schema).is_valid({"checks": {"gpu.xid": {"excepted": []}}})
    assert "newer minor" in schema["description"]


def test_the_profile_schema_has_an_old_key_as_deprecated_beside_the_new_one():
    renames = (
        Rename("gpu_count", "gpus.count", "0.3"),
        Rename("gpus.model", "gpus.product", "0.3"),
        Rename("checks.gpu.x.params.a", "checks.gpu.x.params.b", "0.3"),
    )
    body = profile_body(renames)
    jsonschema.Draft202012Validator.check_schema(body)
    assert (body["properties"]["gpu_count"]["type"], body["properties"]["gpu_count"]["deprecated"]) == ("integer", True)
    assert "gpus.product" in body["properties"]["gpus"]["properties"]["model"]["description"]
    for document, follows in (({"gpu_count": 8, "gpus": {"model": "H100"}}, True), ({"gpu_count": "8"}, False)):
        assert jsonschema.Draft202012Validator(body).is_valid(document) == follows
        assert jsonschema.Draft202012Validator(profile_body(())).is_valid(document) is False


@each_host
def test_the_report_of_a_recorded_host_follows_the_published_schema(name):
    assert_follows(json.loads(render(report_of(name), "json")))


@pytest.mark.parametrize("hosts", [PAIRED[: len(built_in.names())], pytest.param(NAMES, marks=pytest.mark.full)], ids=["some", "all"])
def test_the_reports_by_a_built_in_profile_follow_the_published_schema(hosts):
    """Each host with one of the profiles, in turn."""
    for number, name in enumerate(hosts):
        other = built_in.names()[number % len(built_in.names())]
        made = judged(ReplayBackend(tape_of(name)), profile.load(other, site_file=""), replayed=True)
        assert_follows(json.loads(render(made, "json")))


def assert_follows(document):
    assert {(one["subject"] == "") == (one["subject_kind"] == "") for one in document["findings"]} == {True}
    assert {one["subject_kind"] for one in document["findings"]} <= SUBJECTS
    assert sorted(document["reading_order"]) == sorted({one["id"] for one in document["findings"]})
    REPORT.validate(document)


def test_recorded_hosts_follow_the_published_schema():
    validator = jsonschema.Draft202012Validator(published("snapshot"))
    for name in NAMES:
        validator.validate(json.loads(dumps(tape_of(name))))
