"""The host has cards for RDMA and no RDMA device of them, or lacks some: jobs use TCP there, or have fewer ways out than their GPUs need.

The module of the card's driver makes the devices (mlx5_ib, efa). It is not loaded where its package is missing, where the kernel was
updated without it, or where the card's driver failed. With the profile's rdma.required "yes" a host without any device is not ready,
whatever cards it has; with "no" none is asked for. Cards that are bound to vfio-pci are for virtual machines. Ethernet cards whose
links run below 100 Gb/s are what every server has, and some of their kinds can RDMA: by themselves they ask for nothing.
"""

from hostagent.check import Finding, Findings, Severity, Step, Unread, check, fail, need, shell, skip
from hostagent.domains.network.tables.nics import Card, card
from hostagent.domains.network.tables.rdma_devices import is_rail_speed
from hostagent.facts.network import Network
from hostagent.facts.rdma import Rdma
from hostagent.facts.topology import Nic
from hostagent.profile import Profile

_VFIO = "vfio-pci"
_EXCLUSIVE = "exclusive"


@check(
    title="The cards for RDMA have their RDMA devices",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma",),
    part="rdma",
    headline="{device} has no RDMA device",
    remedy=(
        Step("configure", "Load the module that makes the card's RDMA devices (mlx5_ib, efa)."),
        Step("install", "Install the RDMA modules for this kernel: the distribution's extra modules, or DOCA-OFED.", if_back=True),
    ),
    references=("Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband", "AWS, Elastic Fabric Adapter"),
    confirm=("ls /sys/class/infiniband", "lspci -d 15b3: -k"),
)
def present(rdma: Rdma, nics: tuple[Nic, ...], network: Network | Unread, profile: Profile) -> Findings:
    required = profile.rdma.required
    if required == "no":
        skip("the profile says that jobs need no RDMA")
    names = set(need(rdma.devices))
    devices = names - set(need(rdma.managers)) if names else names
    found = [(nic, kind) for nic, kind in ((nic, _kind(nic)) for nic in nics) if kind]
    if devices:
        yield from _lost(found, rdma)
    elif cards := _fast(found, network):
        text = f"none of {len(cards)} cards for RDMA has an RDMA device"
        headline = "The host has cards for RDMA and no RDMA device"
        evidence = tuple(f"{nic.pci}: driver {need(nic.bound_to) or 'none'}" for nic, _ in cards)
        yield fail(text, code="none", found="none", wanted=len(cards), evidence=evidence, headline=headline, remedy=_steps(*cards[0]))
    elif required == "yes":
        headline = "The host has no RDMA device, and the profile requires one"
        yield fail("the host has no RDMA device", code="required", found="none", wanted="RDMA devices", headline=headline)
    else:
        skip("the host's cards are slower than 100 Gb/s" if found else "the host has no card that is made for RDMA")


def _kind(nic: Nic) -> "Card | None":
    """Of a card that is the host's own to use."""
    kind = card(need(nic.vendor_id), need(nic.device_id))
    return None if kind is None or need(nic.virtual_of) or need(nic.bound_to) == _VFIO else kind


def _fast(cards: list[tuple[Nic, Card]], network: Network | Unread) -> list[tuple[Nic, Card]]:
    """Without those whose interfaces are known to be slow. A port without a cable has no speed: its card's others tell."""
    speeds: dict[str, list[int]] = {}
    for nic, _ in cards:
        names = () if isinstance(nic.netdevs, Unread) else nic.netdevs
        found = [network if isinstance(network, Unread) else network.netdev(name) for name in names]
        known = [one.speed_mbps for one in found if not isinstance(one, Unread)]
        speeds.setdefault(_slot(nic), []).extend(speed for speed in known if not isinstance(speed, Unread) and speed > 0)
    return [(nic, kind) for nic, kind in cards if not (known_speeds := speeds[_slot(nic)]) or is_rail_speed(max(known_speeds) / 1000)]


def _lost(cards: list[tuple[Nic, Card]], rdma: Rdma) -> Findings:
    """A card without a device next to one of its kind that has one. One whose driver works may have RDMA turned off.

    Of the ports of a bond the first function has the device of both.
    """
    own = [nic for nic, _ in cards if need(nic.rdma)]
    kinds, slots = {(need(nic.vendor_id), need(nic.device_id)) for nic in own}, {_slot(nic) for nic in own}
    for nic, kind in cards:
        is_served = bool(need(nic.rdma)) or (bool(need(nic.bound_to)) and _slot(nic) in slots)
        if not is_served and (nic.vendor_id, nic.device_id) in kinds and need(rdma.netns_mode) != _EXCLUSIVE:
            yield _without(nic, kind)


def _slot(nic: Nic) -> str:
    """Of the card: 0000:1a:00 of both 0000:1a:00.0 and 0000:1a:00.1."""
    return nic.pci.rpartition(".")[0]


def _without(nic: Nic, kind: Card) -> Finding:
    bound = need(nic.bound_to)
    text = f"the card has no RDMA device, its like have (driver {bound or 'none'})"
    weight: Severity | None = None if not bound else "warning"
    return fail(text, code="lost", found="none", wanted="one", about=nic.pci, remedy=_steps(nic, kind), at_most=weight)


def _steps(nic: Nic, kind: Card) -> tuple[Step, ...]:
    if not need(nic.bound_to):
        return (
            Step("configure", f"Load the card's driver {kind.driver}.", shell("modprobe {}", kind.driver)),
            Step("drain_and_inspect", f"Look why {kind.driver} does not take the card.", "journalctl -k -g 'mlx5|efa'", if_back=True),
        )
    return (
        Step("configure", f"Load the module {kind.rdma_module}.", shell("modprobe {}", kind.rdma_module)),
        Step("install", "Install the RDMA modules for this kernel: the distribution's extra modules, or DOCA-OFED.", if_back=True),
    )
