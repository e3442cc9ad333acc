"""Names of the driver's packages that the caller gives in the place of the table's."""

import re

from hostagent.core.steps import Step
from hostagent.core.tables.pci import Flavour
from hostagent.domains.driver.tables.packages import Host, PackageSet, flavour_in
from hostagent.plan.model import Given, Refusal
from hostagent.plan.model import Renamed as Said
from hostagent.plan.refusals.words import refusal

_SUSE = ("sles", "opensuse-leap")
_OPEN = re.compile(r"-open(?=-|$)")
_SERVERS = "-server"


def required(row: PackageSet, flavour: Flavour, host: Host, said: Said) -> tuple[str, ...]:
    """What has to be there of a row. apt's package of the driver brings its module, too; SUSE's is the module; elsewhere it is one of each.

    >>> from hostagent.domains.driver.tables.packages import package_sets
    >>> host = Host("debian", "12", "x86_64")
    >>> row = package_sets(host, "cuda", "dkms", "580")[0]
    >>> required(row, "open", host, Said()), required(row, "open", host, Said("nvidia-open-580"))
    (('nvidia-driver-cuda', 'nvidia-kernel-open-dkms'), ('nvidia-open-580',))
    """
    common, module = row.common, row.module[flavour]
    if host.is_apt:
        return (said.driver,) if said.driver else (*common, *module)
    if host.id in _SUSE:
        return (*common, said.driver) if said.driver else (*common, *module)
    return (*((said.driver,) if said.driver else common), *((said.module,) if said.module else module))


def flavour(host: Host, said: Said) -> "Flavour | None":
    """That of the kernel module that the names stand for; None where they say none.

    >>> host = Host("ubuntu", "24.04", "x86_64")
    >>> flavour(host, Said("cuda-drivers-580")), flavour(host, Said("nvidia-driver-580-open"))
    ('proprietary', 'open')
    """
    names = [name for name in (said.module, said.driver) if name]
    if any(_OPEN.search(name) for name in names):
        return "open"
    return "proprietary" if any(flavour_in(name, is_ubuntu=host.id == "ubuntu") for name in names) else None


def origin(said: Said) -> str:
    """``distribution`` where only Ubuntu's own archive has such a name, else "".

    >>> origin(Said("nvidia-driver-580-server-open")), origin(Said("nvidia-open"))
    ('distribution', '')
    """
    return "distribution" if _SERVERS in said.driver else ""


def missing(given: Given) -> tuple[str, ...]:
    """Those that no repository has, once that was asked."""
    said, offers = given.asked.renamed, given.offers.candidates
    return tuple(name for name in (said.driver, said.module) if name and name in offers and not offers[name])


def not_offered(names: tuple[str, ...]) -> Refusal:
    return refusal(
        "name-missing",
        "The repositories have no package of the driver by the name that is asked for",
        f"no {' and no '.join(names)}",
        " and ".join(names),
        Step("configure", f"Name a package that they have in the place of {names[0]}, or none."[:90]),
    )
