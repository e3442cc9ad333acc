"""What ``@frozen`` makes of a class, beside what its doctest shows."""

import pickle
from dataclasses import fields, replace
from typing import ClassVar

import pytest

from hostagent.core.frozen import called_of, frozen, subject_kind
from hostagent.core.unread import Unread
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts, parent_of, subject_key
from hostagent.facts.runtime import Runtime


@frozen(subject="name", called="RDMA port")
class RdmaPort:
    """One of several, with a class variable before its fields."""

    SPEEDS: ClassVar[tuple[int, ...]] = (100, 200)
    name: str
    lid: int = 0


@frozen(subject="name", called="port", parent="card")
class CardPort:
    """One of several, each a part of a card."""

    name: str
    card: "str | Unread" = ""


@frozen
class Link:
    """One on a host."""

    WIDTHS: ClassVar[tuple[int, ...]] = (4,)
    up: bool


def test_class_variables_are_no_fields_and_shift_no_value():
    assert (RdmaPort("mlx5_0:1", 3).name, RdmaPort("mlx5_0:1", 3).lid) == ("mlx5_0:1", 3)
    assert (Link(True).up, Link.WIDTHS) == (True, (4,))
    with pytest.raises(TypeError, match="takes 2 values, found 3"):
        RdmaPort("mlx5_0:1", 3, 4)
    with pytest.raises(TypeError, match="unknown field 'SPEEDS'"):
        RdmaPort("mlx5_0:1", SPEEDS=())


def test_the_first_value_of_a_gpu_is_its_first_field():
    rest = {field.name: 0 for field in fields(Gpu)[1:]}
    assert Gpu("0000:1b:00.0", **rest).pci == "0000:1b:00.0"


def test_a_subject_names_its_key_its_kind_and_what_a_reader_calls_it():
    assert [(subject_key(kind), subject_kind(kind), called_of(kind)) for kind in (Gpu, Runtime, RdmaPort)] == [
        ("pci", "gpu", "GPU"),
        ("key", "runtime", "container runtime"),
        ("name", "rdma_port", "RDMA port"),
    ]
    assert subject_key(Link) == ""


def test_a_subject_names_what_it_is_a_part_of():
    ports = CardPort("a:1"), CardPort("b:1", "0000:1a:00.0"), CardPort("c:1", Unread("denied"))
    assert [parent_of(one) for one in (*ports, Link(up=True))] == ["", "0000:1a:00.0", "", ""], "what is unread names nothing"
    assert HostFacts({CardPort: ports, Link: Link(up=True), Gpu: Unread("timeout")}).parents() == {"b:1": "0000:1a:00.0"}


@pytest.mark.parametrize("parent", ["crad", "name"])
def test_a_parent_that_is_no_other_field_is_refused_where_it_is_declared(parent):
    class Port:
        name: str
        card: str

    with pytest.raises(TypeError, match=r"Port: found parent=.* wanted a field that names another subject"):
        frozen(subject="name", called="port", parent=parent)(Port)


@pytest.mark.parametrize(
    "words", [{"subject": "nmae", "called": "port"}, {"subject": "name"}, {"called": "port"}, {"subject": "LIMIT", "called": "port"}]
)
def test_a_subject_that_is_no_field_and_one_without_a_word_are_refused_where_they_are_declared(words):
    class Port:
        LIMIT: ClassVar[int] = 1
        name: str

    with pytest.raises(TypeError, match=r"Port: found subject=.* wanted a field and a word for one of them"):
        frozen(**words)(Port)


def test_what_a_dataclass_can_do_it_can_do_too():
    port = RdmaPort("mlx5_0:1")
    assert replace(port, lid=7) == RdmaPort("mlx5_0:1", 7)
    assert pickle.loads(pickle.dumps(port)) == port
    assert hash(port) == hash(RdmaPort("mlx5_0:1"))
    with pytest.raises(AttributeError, match="cannot change 'lid'"):
        port.lid = 1
