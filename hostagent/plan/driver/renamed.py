"""Names of the driver's packages that the caller sets instead of the table's."""

import re

from hostagent.core.steps import Step
from hostagent.core.tables.pci import Flavour
from hostagent.domains.driver.tables.packages import Host, PackageSet, flavour_in
from hostagent.plan.model import Given, Refusal, Renamed
from hostagent.plan.refusals.words import refusal

_SUSE = ("sles", "opensuse-leap")
_OPEN = re.compile(r"-open(?=-|$)")
_SERVERS = "-server"


def required(row: PackageSet, flavour: Flavour, host: Host, renamed: Renamed) -> tuple[str, ...]:
    """Required packages of a row. apt's package of the driver brings its module, too; SUSE's is the module; elsewhere it is one of each.

    >>> from hostagent.domains.driver.tables.packages import package_sets
    >>> host = Host("debian", "12", "x86_64")
    >>> row = package_sets(host, "cuda", "dkms", "580")[0]
    >>> required(row, "open", host, Renamed()), required(row, "open", host, Renamed("nvidia-open-580"))
    (('nvidia-driver-cuda', 'nvidia-kernel-open-dkms'), ('nvidia-open-580',))
    """
    common, module = row.common, row.module[flavour]
    if host.is_apt:
        return (renamed.driver,) if renamed.driver else (*common, *module)
    if host.id in _SUSE:
        return (*common, renamed.driver) if renamed.driver else (*common, *module)
    return (*((renamed.driver,) if renamed.driver else common), *((renamed.module,) if renamed.module else module))


def flavour(host: Host, renamed: Renamed) -> "Flavour | None":
    """The flavour of the kernel module by these names; None where they imply none.

    >>> host = Host("ubuntu", "24.04", "x86_64")
    >>> flavour(host, Renamed("cuda-drivers-580")), flavour(host, Renamed("nvidia-driver-580-open"))
    ('proprietary', 'open')
    """
    names = [name for name in (renamed.module, renamed.driver) if name]
    if any(_OPEN.search(name) for name in names):
        return "open"
    return "proprietary" if any(flavour_in(name, is_ubuntu=host.id == "ubuntu") for name in names) else None


def origin(renamed: Renamed) -> str:
    """``distribution`` where only Ubuntu's own archive has such a name, else "".

    >>> origin(Renamed("nvidia-driver-580-server-open")), origin(Renamed("nvidia-open"))
    ('distribution', '')
    """
    return "distribution" if _SERVERS in renamed.driver else ""


def missing(given: Given) -> tuple[str, ...]:
    """Names that no repository has, once they were asked."""
    names, offers = given.asked.renamed, given.offers.candidates
    return tuple(name for name in (names.driver, names.module) if name and name in offers and not offers[name])


def not_offered(names: tuple[str, ...]) -> Refusal:
    return refusal(
        "name-missing",
        "The repositories have no package of the driver by the name that is asked for",
        f"no {' and no '.join(names)}",
        " and ".join(names),
        Step("configure", f"Name a package that they have in the place of {names[0]}, or none."[:90]),
    )
