"""The network that NCCL takes: a plug-in's before its own IB, that before sockets; the first with a device that is not ruled out.

Sources: NVIDIA/nccl, src/net.cc and src/plugin/net.cc (ncclNetInit), src/transport/net_ib (ncclIbInit). Tested by cases alone.
"""

# NCCL_IBEXT_DISABLE=1 alone lets the plug-in's init fail, and NCCL's own IB takes over; NCCL_IB_DISABLE=1 has no effect next to
# such a plug-in. NCCL_NET keeps one network, and NCCL stops where that one finds nothing. PyTorch finds its own libnccl by
# RUNPATH, which comes after LD_LIBRARY_PATH. NCCL's packages ask for no libibverbs: a host without it runs over sockets,
# silently.

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.domains.nccl.devices import hcas
from hostagent.domains.nccl.gpudirect import number
from hostagent.domains.nccl.numbers import parse_number
from hostagent.domains.nccl.plugins import is_called, network_of, wanted
from hostagent.domains.nccl.tables.changes import Version
from hostagent.domains.nccl.tables.logs import TCP_PROVIDERS, kind_of
from hostagent.domains.network.roles import natural
from hostagent.domains.network.tables.rdma_devices import EFA
from hostagent.facts.nccl import Nccl, NcclPlugin
from hostagent.facts.rdma import RdmaPort

IB, SOCKET = "IB", "Socket"
_NET, _PLUGIN, _HCAS = "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_IB_HCA"
_IB_DISABLE, _IBEXT_DISABLE, _PCI_ORDER = "NCCL_IB_DISABLE", "NCCL_IBEXT_DISABLE", "NCCL_IB_DEVICE_PCI_ORDER"
_PROVIDER = "FI_PROVIDER"
_LOADERS = ("LD_LIBRARY_PATH", "linker")
#: Characters of a value in a message.
_SHOWN = 80
_LIBFABRIC, _IBEXT = "Libfabric", "IBext"


class ChosenNetwork(NamedTuple):
    """The network that NCCL takes, its ports, and the reason."""

    network: str
    ports: "tuple[RdmaPort, ...] | Unread"
    is_rdma: "bool | Unread"
    why: str


class Asked(NamedTuple):
    """The inputs of the choice."""

    nccl: Nccl
    ports: "tuple[RdmaPort, ...] | Unread"
    settings: Mapping[str, str]
    version: Version


def network(asked: Asked) -> ChosenNetwork:
    """`network` is "" where none can be taken: NCCL stops then. Raises ``UnreadError``."""
    name = asked.settings.get(_NET)
    passed: list[str] = []
    own = name is not None and (is_called(IB, name) or is_called(SOCKET, name))
    for found in () if own else _external(asked, name, passed):
        return found
    if name is None or is_called(IB, name):
        listed, lacking = _opened(asked)
        if listed:
            return ChosenNetwork(IB, listed, True, _reason(name, passed, f"NCCL's own IB opens {_count(listed)}"))
        passed.append(lacking)
    if name is None or is_called(SOCKET, name):
        return ChosenNetwork(SOCKET, (), False, _reason(name, passed, "sockets are what is left"))
    return ChosenNetwork(
        "",
        (),
        False,
        f"NCCL_NET asks for {name[:_SHOWN]}, and NCCL stops without it: {'; '.join(passed) or 'no plug-in of that name is found'}",
    )


def _reason(name: "str | None", passed: "list[str]", text: str) -> str:
    asks = [f"NCCL_NET asks for {name[:_SHOWN]}"] if name is not None else passed
    return "; ".join((*asks, text))


def _count(ports: tuple[RdmaPort, ...]) -> str:
    return f"{len(ports)} {'port' if len(ports) == 1 else 'ports'}"


def _opened(asked: Asked, disable: str = _IB_DISABLE) -> "tuple[tuple[RdmaPort, ...], str]":
    """The ports that NCCL's own IB opens, or why it opens none."""
    if (parse_number(asked.settings.get(disable, "")) or 0) != 0:
        return (), f"{disable} is set"
    if isinstance(asked.ports, Unread) and asked.ports.why == "absent":
        return (), "the host has no RDMA port"
    ports, value = need(asked.ports), asked.settings.get(_HCAS, "")
    by_pci = number(asked.settings, _PCI_ORDER, asked.version) != 0
    found = hcas(ports, value, asked.version, by_pci=by_pci)
    if found:
        return found, ""
    if value and hcas(ports, "", asked.version):
        return (), f"no active port is among those of NCCL_IB_HCA={value[:_SHOWN]}"
    return (), "the host has no active port of InfiniBand or RoCE" if ports else "the host has no RDMA port"


def _external(asked: Asked, name: "str | None", passed: "list[str]") -> Iterator[ChosenNetwork]:
    """Networks of plug-ins, in the order in which NCCL tries them."""
    for files in wanted(asked.settings.get(_PLUGIN), asked.version):
        plugin = _first_plugin(need(asked.nccl.plugins), files)
        if plugin is None:
            continue
        lacks = _lacks(plugin)
        if lacks:
            passed.append(lacks)
            continue
        yield from _of_plugin(asked, plugin, name, passed)


def _first_plugin(plugins: tuple[NcclPlugin, ...], files: tuple[str, ...]) -> "NcclPlugin | None":
    """The first that the loader finds by one of these names, or that is the file of that path."""
    return next((plugin for file in files for plugin in plugins if _is_at(plugin, file)), None)


def _is_at(plugin: NcclPlugin, file: str) -> bool:
    folder, slash, name = file.rpartition("/")
    if slash:
        return folder == plugin.path.rpartition("/")[0] and name in plugin.names
    return name in plugin.names and plugin.place in _LOADERS


def _lacks(plugin: NcclPlugin) -> str:
    """Why NCCL does not take this plug-in, "" where it does."""
    if "net" not in need(plugin.kinds):
        return f"{plugin.path} is no plug-in of the network"
    missing = need(plugin.missing)
    return f"{plugin.path} does not load without {missing[0]}" if missing else ""


def _of_plugin(asked: Asked, plugin: NcclPlugin, name: "str | None", passed: "list[str]") -> Iterator[ChosenNetwork]:
    own = network_of(plugin.path, ()) or network_of(plugin.path, need(plugin.needed))
    if name is not None:
        if not own:
            need(Unread("not-supported", f"nobody knows whether the network of {plugin.path} is called {name[:_SHOWN]}"))
        if not is_called(own, name):
            return
    if own == _LIBFABRIC:
        found = _libfabric(asked, plugin)
    elif own in (_IBEXT, "gIB"):
        listed, lacking = _opened(asked, _IBEXT_DISABLE if own == _IBEXT else "")
        found = (
            ChosenNetwork(own, listed, True, f"{plugin.path} opens {_count(listed)}")
            if listed
            else ChosenNetwork("", (), False, f"{plugin.path}: {lacking}")
        )
    elif own and kind_of(own) == "tcp_plugin":
        found = ChosenNetwork(own, (), False, f"{plugin.path} is found, which sends over TCP")
    else:
        unknown = Unread("not-supported", f"{plugin.path} does not say what it finds before it runs")
        found = ChosenNetwork(
            plugin.names[0], unknown, unknown, f"{plugin.path} is found, and NCCL takes a plug-in before its own networks"
        )
    if found.network:
        yield found._replace(why=_reason(name, passed, found.why))
    else:
        passed.append(found.why)


def _libfabric(asked: Asked, plugin: NcclPlugin) -> ChosenNetwork:
    """The plug-in for Libfabric: EFA, where the host has it. Another provider is unknown."""
    provider = asked.settings.get(_PROVIDER, "")
    if provider.partition(";")[0] in TCP_PROVIDERS:
        return ChosenNetwork(_LIBFABRIC, (), False, f"{plugin.path} is found, and FI_PROVIDER={provider[:_SHOWN]} lets it send over TCP")
    ports = () if isinstance(asked.ports, Unread) and asked.ports.why in NOT_APPLICABLE else need(asked.ports)
    efa = tuple(
        port for port in sorted(ports, key=lambda one: natural(one.name)) if need(port.driver) == EFA and need(port.state) == "ACTIVE"
    )
    if efa and provider.partition(";")[0] in ("", EFA):
        return ChosenNetwork(_LIBFABRIC, efa, True, f"{plugin.path} is found, and the host has {_count(efa)} of EFA")
    return need(Unread("not-supported", f"nobody knows which provider {plugin.path} finds on a host without EFA"))
