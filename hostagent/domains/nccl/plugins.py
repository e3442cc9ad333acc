"""The files that NCCL opens as network plug-ins, and the names of their networks.

Sources: NVIDIA/nccl, src/net.cc, src/plugin/{net,plugin_open}.cc; aws/aws-ofi-nccl, src/nccl_ofi_api.cpp; Mellanox/nccl-rdma-sharp-plugins,
src/ib_plugin.c; Google Cloud, GPUDirect-TCPXO and gIB. No library here can be asked: NCCL opens them where it has a GPU.
"""

# NCCL_NET_PLUGIN is a middle of a name before 2.21, a file since, a list since 2.27; 2.27.3 takes no paths (NVIDIA/nccl issue
# 1732). A plug-in with a missing library is passed over, as dlopen does. libnccl-net.so is often a link, and NCCL looks by name.

from hostagent.domains.nccl.tables.changes import PLUGIN_FILES, PLUGIN_LISTS, Version
from hostagent.domains.nccl.tables.vendors import EFA_STACK, GIB, TCPX, TCPXO, stack_of

_DEFAULT = "libnccl-net.so"
_MOST = 14  # NCCL_NET_MAX_PLUGINS, without its own two
#: NCCL's name for the network of a provider's plug-in.
_NETWORKS = {GIB.name: "gIB", TCPXO.name: "FasTrak", TCPX.name: "GPUDirectTCPX", EFA_STACK.name: "Libfabric"}
#: Networks of others, and what is in the path of their plug-ins, in small letters.
_MARKS = (("FastSocket", ("fastsocket", "fast-socket")), ("IBext", ("rdma_sharp", "rdma-sharp", "hpcx")))
_FABRIC = "libfabric.so"


def wanted(value: "str | None", version: Version) -> tuple[tuple[str, ...], ...]:
    """By plug-in, the files that NCCL tries one after the other, with NCCL_NET_PLUGIN's value (None: not set).

    >>> wanted(None, (2, 28, 9)), wanted("none", (2, 28, 9)), wanted("ofi", (2, 18, 3))
    ((('libnccl-net.so',),), (), (('libnccl-net-ofi.so',),))
    >>> wanted("ofi,/opt/x/libnccl-net.so", (2, 28, 9))
    (('ofi', 'libnccl-net-ofi.so'), ('/opt/x/libnccl-net.so', 'libnccl-net-/opt/x/libnccl-net.so.so'))
    """
    if value is None or (not value and version < PLUGIN_LISTS):
        return ((_DEFAULT,),)
    if version >= PLUGIN_LISTS:
        names = [] if value.lower() == "none" else [one for one in value.split(",") if one]
        return tuple((one, _long(one)) for one in names[:_MOST])
    return ((value, _long(value)),) if version >= PLUGIN_FILES else ((_long(value),),)


def _long(name: str) -> str:
    return f"libnccl-net-{name}.so"


def network_of(path: str, needed: tuple[str, ...]) -> str:
    """NCCL's name for the network of a plug-in, "" for an unknown one.

    >>> network_of("/usr/local/gib/lib64/libnccl-net.so", ()), network_of("/usr/lib/libnccl-net.so", ("libfabric.so.1",))
    ('gIB', 'Libfabric')
    >>> network_of("/opt/x/libnccl-net.so", ())
    ''
    """
    stack, small = stack_of(path), path.lower()
    if stack:
        return _NETWORKS[stack.name]
    found = next((name for name, marks in _MARKS if any(mark in small for mark in marks)), "")
    return found or ("Libfabric" if any(one.startswith(_FABRIC) for one in needed) else "")


def is_called(network: str, name: str) -> bool:
    """Whether NCCL_NET of this name asks for the network: some plug-ins have their version behind their name.

    >>> is_called("IB", "ib"), is_called("IBext", "IBext_v8"), is_called("IB", "IBext"), is_called("Libfabric", "AWS Libfabric")
    (True, True, False, True)
    """
    one, other = network.lower(), name.lower()
    return (
        one == other
        or (one, other) == ("libfabric", "aws libfabric")
        or (one in ("ibext", "gpudirecttcpx") and other.startswith(f"{one}_v"))
    )
