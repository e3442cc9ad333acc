"""The ports that carry jobs between hosts, what is wrong with each of them, and what is wrong with all alike."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from hostagent.check import NOT_APPLICABLE, Step, Unread, UnreadError, need, skip
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.rdma_devices import EFA
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort

T = TypeVar("T")
#: Node GUID of a virtual function that nobody has set up.
NO_GUID = "0000:0000:0000:0000"
_ASK_PROVIDER = (Step("contact_owner", "Ask the virtual machine's provider: the network below it is theirs."),)


def ports_of(rails: Rails) -> tuple[RdmaPort, ...]:
    """In the order of their names. A host without any is skipped, and one whose jobs need none."""
    if rails.are_unused:
        skip("the profile says that jobs need no RDMA")
    return rails.ports or skip("no RDMA port carries traffic of jobs")


def each(rails: tuple[RdmaPort, ...], value: Callable[[RdmaPort], T]) -> tuple[dict[str, T], list[Unread]]:
    """`value` by name of the port, and what was unread on the way: one port that hangs does not hide what is wrong with the others."""
    found: dict[str, T] = {}
    gaps: list[Unread] = []
    for port in rails:
        try:
            found[port.name] = value(port)
        except UnreadError as error:
            gaps.append(error.unread)
    return found, gaps


def need_no(gaps: list[Unread], found: Mapping[str, object]) -> None:
    """What could not be read leaves the check unknown; what does not apply to any port ends it."""
    open_ones = [gap for gap in gaps if gap.why not in NOT_APPLICABLE]
    if open_ones:
        need(open_ones[0])
    if gaps and not found:
        need(gaps[0])


def is_shared(wrong: Mapping[str, object], rails: tuple[RdmaPort, ...]) -> bool:
    """All rails of several have it: one fault of the host or of the network behind it."""
    return len(wrong) == len(rails) > 1


def lines(wrong: Mapping[str, str]) -> tuple[str, ...]:
    """One line a port, as evidence."""
    return tuple(f"{name}: {text}" for name, text in wrong.items())


def is_efa(port: RdmaPort) -> bool:
    return need(port.driver) == EFA


def in_container(platform: Platform | Unread) -> bool:
    return not isinstance(platform, Unread) and platform.in_container


def whoever_owns(steps: tuple[Step, ...], platform: Platform | Unread) -> tuple[Step, ...]:
    """Steps on cables and switches, as their reader can do them: a virtual machine's are its provider's."""
    is_machine = not isinstance(platform, Unread) and not isinstance(platform.virtual, Unread) and platform.virtual == "vm"
    return _ASK_PROVIDER if is_machine else steps
