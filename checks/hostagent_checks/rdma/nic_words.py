"""A network card of jobs takes no commands, or its PCIe link failed, by the kernel's log: jobs over it hang, though sysfs calls it ACTIVE.

Counted are the rows of docs/kernel-words.md about drivers of network cards (mlx5_core, bnxt_en, efa, ionic, ice, hfi1, mlx4_core, mana) and
about PCI, for the cards of rails and the ports above them. A card without an RDMA device counts where the rails have cards of its kind:
its firmware did not start. Other cards are worth knowing.

Silent are errors that tools provoke (ACCESS_REG with a bad parameter), events of cables and modules, and lost interrupts that the driver
recovered from. What the driver recovered, or an administrator has cleared (`hostagent events clear`), is over.
"""

from hostagent.check import Finding, Findings, Step, Unread, check, fail, need, warn
from hostagent.domains.gpu.kernel_events import Trouble, pci_troubles, trouble, troubles
from hostagent.domains.network.rails import Rails
from hostagent.domains.topology.below import behind
from hostagent.facts.history import History
from hostagent.facts.kernel_words import KernelEvent, KernelWords
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology

from ._rails import ports_of, whoever_owns


@check(
    title="The network cards of jobs take commands",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma", "link", "memory-access"),
    because=("rdma.present",),
    headline="A network card of jobs takes no commands",
    remedy="Power the chassis off and on; if it comes back, have the card replaced.",
    action="power_cycle",
    references=("NVIDIA/aicr issue 2616", "Linux kernel, Documentation/networking/devlink/mlx5"),
    confirm=("journalctl -k -g mlx5_core",),
)
def nic_words(
    words: KernelWords,
    rails: Rails,
    nics: tuple[Nic, ...],
    topology: Topology | Unread,
    platform: Platform | Unread,
    history: History | Unread,
) -> Findings:
    ours = ports_of(rails)
    found = (*troubles("nic", need(words.nic), history), *pci_troubles(words, history, topology))
    places = {address: (number, port) for number, port in enumerate(ours) for address in _addresses(port)} if found else {}
    by_rail: dict[tuple[str, ...], list[KernelEvent]] = {}
    for one in found:
        if at := behind(one.subject, places, topology):
            by_rail.setdefault(at, []).extend(one.events)
        elif nic := next((nic for nic in nics if nic.pci == one.subject), None):
            yield _of_other(one, nic, _is_like_a_rail(nic, nics, ours))
    for at, events in by_rail.items():
        yield _of_rail(trouble(at[0], events), [places[address] for address in at], platform)


def _addresses(port: RdmaPort) -> tuple[str, ...]:
    """The port's function; of a bond in the card the other function, too."""
    pci = need(port.pci)
    if not pci:
        return ()
    return tuple(dict.fromkeys((pci, f"{pci[:-1]}1"))) if "bond" in port.device else (pci,)


def _of_rail(one: Trouble, at: "list[tuple[int, RdmaPort]]", platform: Platform | Unread) -> Finding:
    number, port = at[0]
    device = f"{port.device} (the NIC of rail {number})" if len(at) == 1 else f"{len(at)} NICs of rails"
    report = fail if one.row.weight == "critical" else warn
    return report(
        one.text,
        code=one.row.id,
        found=one.row.id,
        wanted="none",
        evidence=one.lines,
        remedy=whoever_owns(one.steps(port.device if len(at) == 1 else device), platform),
        headline=one.headline(device),
        about=port.name if len(at) == 1 else "",
        at_most="info" if one.row.weight == "info" else None,
    )


def _of_other(one: Trouble, nic: Nic, is_like_a_rail: bool) -> Finding:
    is_heavy = is_like_a_rail and one.row.weight == "critical"
    look = Step("contact_owner", f"Have the card {nic.pci} looked at; the rails do not use it.")
    return warn(
        one.text,
        code=one.row.id,
        found=one.row.id,
        wanted="none",
        evidence=one.lines,
        remedy=one.steps(f"the card {nic.pci}") if is_heavy else (look,),
        headline=one.headline(f"the network card {nic.pci}"),
        about=nic.pci,
        at_most=None if is_heavy else "info",
    )


def _is_like_a_rail(nic: Nic, nics: tuple[Nic, ...], ports: tuple[RdmaPort, ...]) -> bool:
    """It has no RDMA device, and is of the kind of the rails' cards."""
    if isinstance(nic.rdma, Unread) or nic.rdma or isinstance(nic.device_id, Unread):
        return False
    of_rails = {port.pci for port in ports if not isinstance(port.pci, Unread)}
    return any(one.pci in of_rails and one.device_id == nic.device_id for one in nics if not isinstance(one.device_id, Unread))
