"""Plain data to dataclasses: strict, with messages that say where, and in step with the JSON Schema of the same types."""

import contextlib
import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.typed import ShapeError, build, plain, schema
from hostagent.core.unread import Unread
from hostagent.profiles.files import BUILT_IN
from hostagent.profiles.profile import Profile


@dataclass(frozen=True)
class Leaf:
    """The smallest."""

    size: int
    word: Literal["a", "b"] = "a"
    classed: str = field(default="", metadata={"key": "class"})


@dataclass(frozen=True)
class Tree:
    """One of everything that the loader knows."""

    text: str
    ratio: float
    on: "bool | Unread"
    leaves: tuple[Leaf, ...] = ()
    pair: tuple[int, str] = (0, "")
    table: Mapping[str, Leaf] = field(default_factory=dict)
    either: "int | str" = 0
    anything: Any = None


WHOLE = {
    "text": "t",
    "ratio": 0.5,
    "on": True,
    "leaves": [{"size": 1, "word": "b", "class": "x"}, {"size": 2}],
    "pair": [1, "x"],
    "table": {"k": {"size": 3}},
    "either": "x",
    "anything": [1],
}
with open(f"{BUILT_IN}/default.yaml", encoding="utf-8") as stream:
    DEFAULT = yaml.safe_load(stream)
DEFAULT["checks"] = {"gpu.row_remap": {"off": "known", "severity": "info", "params": {"max": 3}, "except": ["0000:9d:00.0"]}}


def paths(data, here=()):
    """Every place in a document."""
    yield here
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in children:
        yield from paths(value, (*here, key))


# Numbers with a fraction of zero are left out: JSON Schema calls 1.0 an integer, YAML and this loader call it a float.
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from([0.5, -1.5]), st.sampled_from(["", "any", "a", "host", "none"])
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["size", "word", "unread", "detail", "owner", "off"]), inner, max_size=2),
    ),
    max_leaves=4,
)


@st.composite
def damaged(draw, document):
    """`document` after a few changes anywhere: a value replaced, a key removed, a key added."""
    data = copy.deepcopy(document)
    for _ in range(draw(st.integers(0, 3))):
        where = draw(st.sampled_from(sorted(paths(data), key=repr)))
        if not where:
            continue
        parent = data
        for key in where[:-1]:
            parent = parent[key]
        change = draw(st.sampled_from(["replace", "remove", "add"]))
        if change == "replace":
            parent[where[-1]] = draw(anything)
        elif change == "remove":
            del parent[where[-1]]
        elif isinstance(parent, dict):
            parent[draw(st.sampled_from(["extra", "unread", "size", "version"]))] = draw(anything)
    return data


def accepted(kind, data, missing=None):
    try:
        build(kind, data, "document", missing)
    except ShapeError:
        return False
    return True


@given(damaged(WHOLE))
@settings(deadline=None, max_examples=300)
def test_the_loader_and_the_schema_accept_the_same_documents(data):
    assert accepted(Tree, data) == jsonschema.Draft202012Validator(schema(Tree)).is_valid(data)


@given(damaged(DEFAULT))
@settings(deadline=None, max_examples=300)
def test_the_profile_loader_and_the_profile_schema_accept_the_same_layers(data):
    layer = jsonschema.Draft202012Validator(schema(Profile, partial=True))
    assert accepted(Profile, data, lambda _: None) == layer.is_valid(data)


@given(anything)
def test_any_data_is_built_or_refused(data):
    with contextlib.suppress(ShapeError):
        assert isinstance(build(Tree, data, "document"), Tree)


@given(damaged(WHOLE))
@settings(deadline=None)
def test_what_is_written_is_read_back_the_same(data):
    if accepted(Tree, data):
        tree = build(Tree, data, "document")
        assert build(Tree, json.loads(json.dumps(plain(tree))), "document") == tree


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leaves": [{"size": 1}, {"size": "x"}]}, r"tree\.leaves\[1\]\.size: found the text 'x', wanted a whole number"),
        (
            {"leaves": [{"sise": 1}]},
            r"tree\.leaves\[0\]\.sise: unknown key; did you mean size\?",
        ),
        ({"leaves": [{}]}, r"tree\.leaves\[0\]: the key 'size' is missing"),
        ({"leaves": "x"}, r"tree\.leaves: found the text 'x', wanted a list"),
        ({"pair": [1]}, r"tree\.pair: found the list \[1\], wanted a list of 2"),
        ({"table": []}, r"tree\.table: found the list \[\], wanted a mapping"),
        ({"table": {1: {"size": 1}}}, "wanted a text key"),
        ({"table": {"k": {"size": 1, "word": "c"}}}, r"tree\.table\.k\.word: found 'c', wanted one of a, b"),
        ({"ratio": True}, r"tree\.ratio: found true, wanted a number"),
        ({"on": 1}, r"tree\.on: found the number 1, wanted true or false"),
        ({"on": {"unread": "tired"}}, r"tree\.on\.unread: found 'tired', wanted one of absent"),
        ({"either": []}, r"tree\.either: found the list \[\], wanted a whole number or text"),
        ({"text": "x" * 10000, "extra": 1}, "tree.extra: unknown key"),
        ({"text": ["x" * 10000]}, r"x\.\.\., wanted text"),
    ],
)
def test_a_refusal_says_where_what_was_found_and_what_is_wanted(change, message):
    with pytest.raises(ShapeError, match=message):
        build(Tree, {**WHOLE, **change}, "tree")


def test_an_unread_value_is_data_and_never_null():
    tree = build(Tree, {**WHOLE, "on": {"unread": "denied", "detail": "no"}}, "tree")
    assert plain(tree)["on"] == {"unread": "denied", "detail": "no"}
    with pytest.raises(ShapeError):
        build(Tree, {**WHOLE, "on": None}, "tree")


def test_a_field_that_is_not_named_can_have_a_value_of_the_callers():
    leaf = build(Leaf, {}, "leaf", lambda name: Unread("not-recorded", name))
    assert isinstance(leaf.size, Unread)
    assert leaf.size.detail == "size"


def test_a_field_called_as_no_python_name_can_be_has_its_key_in_the_data_alone():
    assert build(Leaf, {"size": 1, "class": "x"}, "leaf").classed == "x"
    assert plain(Leaf(1, classed="x")) == {"size": 1, "word": "a", "class": "x"}
    assert set(schema(Leaf)["properties"]) == {"size", "word", "class"}
    with pytest.raises(ShapeError, match=r"leaf\.classed: unknown key; did you mean class\?"):
        build(Leaf, {"size": 1, "classed": "x"}, "leaf")


def test_unknown_keys_can_be_handed_to_the_caller_who_gets_all_the_rest():
    handed = []
    data = {**WHOLE, "extra": 1, "leaves": [{"size": 1, "extra": 2}], "table": {"k": {"size": 3, "extra": 3}}}
    tree = build(Tree, data, "tree", unknown=handed.append)
    assert tree == build(Tree, {**WHOLE, "leaves": [{"size": 1}], "table": {"k": {"size": 3}}}, "tree")
    assert handed == [("extra",), ("leaves", 0, "extra"), ("table", "k", "extra")]
    with pytest.raises(ShapeError, match="wanted a whole number"):
        build(Tree, {**data, "leaves": [{"size": "x"}]}, "tree", unknown=lambda *_: None)
