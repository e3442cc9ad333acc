"""By which ways network cards reach GPU memory: one that is known to be missing is missing, whatever else nobody knows."""

from dataclasses import fields

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.network.gpudirect import gdr
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.rdma import Rdma

DENIED, ABSENT = Unread("denied", "x"), Unread("absent", "x")


def made(kind, **given):
    return kind(**{field.name: DENIED for field in fields(kind)} | given)


def found(release="6.8.0-87-generic", flavour="open", **rdma):
    given = {"library": "/usr/lib64/libibverbs.so.1", "registers_dmabuf": True, "peer_memory": "", **rdma}
    return gdr(made(Kernel, release=release), made(Driver, flavour=flavour), made(Rdma, **given))


@pytest.mark.parametrize(
    ("given", "dmabuf", "lacks"),
    [
        ({}, True, ()),
        ({"release": "5.4.0-216-generic"}, False, ("kernel",)),
        ({"flavour": "proprietary"}, False, ("module",)),
        ({"registers_dmabuf": False}, False, ("library",)),
        ({"registers_dmabuf": False, "library": ""}, True, ()),
        ({"registers_dmabuf": ABSENT, "library": ABSENT}, True, ()),
        ({"release": "5.4.0", "flavour": "proprietary", "registers_dmabuf": DENIED}, False, ("kernel", "module")),
        ({"flavour": DENIED}, "denied", ()),
        ({"flavour": ABSENT}, "absent", ()),
        ({"registers_dmabuf": DENIED}, "denied", ()),
        ({"release": "4.18.0-553.el8_10.x86_64"}, "error", ()),
        ({"release": "4.18.0-553.el8_10.x86_64", "flavour": "proprietary"}, False, ("module",)),
    ],
)
def test_dma_buf_wants_kernel_module_and_library(given, dmabuf, lacks):
    one = found(**given)
    assert (one.dmabuf.why if isinstance(one.dmabuf, Unread) else one.dmabuf) == dmabuf
    assert one.lacks == lacks


def test_what_is_not_read_at_all_is_a_gap():
    one = gdr(DENIED, DENIED, DENIED)
    assert one.peermem is DENIED
    assert one.dmabuf is DENIED
