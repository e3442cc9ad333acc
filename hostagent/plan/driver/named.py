"""Package names of one version of the driver, by one row of the table."""

from typing import NamedTuple

from hostagent.core.tables.pci import Flavour
from hostagent.domains.driver.tables.packages import NVLINK5_PACKAGES, PackageSet, addons, meta_flavour, package_sets
from hostagent.plan.driver.renamed import required
from hostagent.plan.driver.situation import Situation
from hostagent.plan.model import Given
from hostagent.profiles.install import InstallPolicy


class Named(NamedTuple):
    """``required`` and ``beside`` have the driver's version, ``modules`` and ``metas`` their kernel's, ``others`` one of their own.

    ``later`` are others for an image, which shows no switches: they are installed where repositories have them.
    """

    row: PackageSet
    required: tuple[str, ...]
    beside: tuple[str, ...]
    modules: tuple[str, ...]
    metas: tuple[str, ...]
    others: tuple[str, ...]
    later: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.required, *self.beside, *self.modules, *self.metas, *self.others, *self.later)


def fitting_rows(state: Situation, policy: InstallPolicy, branch: str) -> tuple[PackageSet, ...]:
    """Rows of a branch that the profile allows, the installed one first. () where this release knows none."""
    found = [one for one in package_sets(state.host, state.origin, policy.delivery, branch) if state.flavour in one.module]
    return tuple(sorted(found, key=lambda row: -_installed(state, row)))


def named(state: Situation, row: PackageSet, version: str) -> Named:
    """`version` as NVIDIA writes it; its branch is enough for most names."""
    branch = version.partition(".")[0]
    policy = state.given.profile.install
    extra = addons(state.host, state.origin, branch)
    asked = [extra[one] for one, is_asked in (("nvswitch", state.nvswitch), ("imex", state.imex)) if is_asked]
    full = row.full.get(state.flavour, ()) if policy.packages == "full" else ()
    wanted = required(row, state.flavour, state.host, state.given.asked.renamed)
    return Named(
        row,
        required=(*(one.format(b=branch) for one in (*wanted, *full)), *(name for must, _ in asked for name in must)),
        beside=(*(one.format(b=branch) for one in row.optional), *(name for _, may in asked for name in may)),
        modules=tuple(_of_kernel(row, state, release, version) for release in state.kernels if state.flavour in row.per_kernel),
        metas=tuple(dict.fromkeys(_meta(row, state, release, branch) for release in state.kernels if state.flavour in row.meta)),
        others=NVLINK5_PACKAGES if state.nvlink5 else (),
        later=NVLINK5_PACKAGES if state.nvswitch and not state.nvlink5 and state.given.view.kind == "image" else (),
    )


def is_named_by_version(row: PackageSet, flavour: Flavour) -> bool:
    """Whether the packages of kernels' modules have the driver's version in their names."""
    return "{v}" in row.per_kernel.get(flavour, "")


def mirrors(given: Given) -> tuple[str, ...]:
    """Addresses of the profile that replace NVIDIA's repository with the driver."""
    return (given.profile.install.repositories.cuda.url,)


def _of_kernel(row: PackageSet, state: Situation, release: str, version: str) -> str:
    """In rpm's names a kernel has neither its architecture nor its distribution."""
    return row.per_kernel[state.flavour].format(b=version.partition(".")[0], v=version, k=release, r=release.partition(".el")[0])


def _meta(row: PackageSet, state: Situation, release: str, branch: str) -> str:
    return row.meta[state.flavour].format(b=branch, f=meta_flavour(release, state.names))


def _installed(state: Situation, row: PackageSet) -> int:
    """Number of the row's names that are installed, in any flavour and branch."""
    from hostagent.domains.packages.tables.names import driver_stem

    wanted = {one.format(b="000", k="", f="") for one in (*row.common, *(name for names in row.module.values() for name in names))}
    series = "-server" in "".join(wanted)
    have = [one.name for one in state.driver]
    stems = {driver_stem(one) for one in wanted}
    return sum(driver_stem(name) in stems and ("-server" in name) == series for name in have)
