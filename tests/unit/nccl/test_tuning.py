"""NCCL_ALGO and NCCL_PROTO, as NCCL's parseList reads them (NVIDIA/nccl, src/graph/tuning.cc). No library here can be asked without a GPU."""

import pytest

from hostagent.domains.nccl.tuning import read

NEW, OLD = (2, 28, 9), (2, 21, 5)


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("NCCL_ALGO", "Ring", ""),
        ("NCCL_ALGO", "^tree,nvlstree", ""),
        ("NCCL_ALGO", "ring;allreduce:tree,nvls;reduce:^ring", ""),
        ("NCCL_ALGO", "allreduce:tree", ""),
        ("NCCL_ALGO", "allreduce:tree;ring", "ring"),  # it would undo what stands before it
        ("NCCL_ALGO", "CollNet", "CollNet"),
        ("NCCL_ALGO", "every:ring", "every"),
        ("NCCL_ALGO", "Ring, Tree", " Tree"),
        ("NCCL_PROTO", "LL,LL128,Simple", ""),
        ("NCCL_PROTO", "ll256", "ll256"),
        ("NCCL_PROTO", "^", ""),
        ("NCCL_PROTO", ";;", ""),
    ],
)
def test_the_first_part_that_is_not_known(name, value, wrong):
    assert read(name, value, NEW).wrong == wrong


def test_an_algorithm_of_a_later_version():
    assert (read("NCCL_ALGO", "PAT,ring", OLD).wrong, read("NCCL_ALGO", "PAT,ring", NEW).wrong) == ("PAT", "")


def test_functions_are_of_the_new_form():
    assert read("NCCL_ALGO", "allreduce:tree", OLD).wrong == "allreduce:tree"


@pytest.mark.parametrize(
    ("value", "lacking"),
    [
        ("Tree", ("broadcast", "reduce")),
        ("^Ring", ("broadcast", "reduce")),
        ("Ring,Tree", ()),
        ("^Tree", ()),
        ("broadcast:^ring", ("broadcast",)),
        ("Tree;broadcast:ring", ("reduce",)),
        ("allreduce:nvls", ()),
    ],
)
def test_functions_that_have_the_ring_alone(value, lacking):
    """Before 2.24 the list was about allreduce alone."""
    assert (read("NCCL_ALGO", value, NEW).without_ring, read("NCCL_ALGO", value, OLD).without_ring) == (lacking, ())


def test_ll128_is_forced_only_where_it_is_named():
    told = [read("NCCL_PROTO", value, NEW).forces_ll128 for value in ("LL128", "^LL128", "Simple", "allreduce:ll128", "^LL")]
    assert told == [True, False, False, True, False]
