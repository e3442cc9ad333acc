"""Whether the installed driver meets the profile as a whole, by the files on the disk and not only by package names."""

# Fit is one version in the same-version set, every part installed and configured, a module of that version for each kernel, both
# libraries, the needed add-ons, the profile's constraint met. A database that says installed proves no file: where libraries are
# gone the packages come once more (--reinstall).

from hostagent.core.tables.pci import Flavour
from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.domains.driver.tables.packages import PINNED, addons
from hostagent.domains.packages.tables.names import driver_part
from hostagent.plan.driver.flavours import can_stay
from hostagent.plan.driver.installed import DriverPackage, versions_of
from hostagent.plan.driver.kernels import has_module, installed_kernel, is_damaged
from hostagent.plan.driver.named import fitting_rows
from hostagent.plan.driver.probes import libraries_there
from hostagent.plan.driver.situation import Situation
from hostagent.plan.model import DriverChoice

_MODULES = ("linux-modules-nvidia-", "kmod-nvidia-")


def keep_installed(state: Situation) -> "DriverChoice | None":
    """The choice to keep it; None where a part has to be installed, changed or built. Raises ``UnreadError``."""
    versions = versions_of(state.driver, state.origin, state.unused)
    if len(versions) != 1 or not state.meets(versions[0]):
        return None
    version = versions[0]
    flavours = {_flavour(state, release) for release in state.kernels} - {""}
    is_whole = (
        all(one.state == "installed" for one in state.driver if driver_part(one.name) not in state.unused)
        and all(has_module(state.given.view, release, version, "") for release in state.kernels)
        and len(flavours) <= 1
        and can_stay(state.given, version.partition(".")[0], next(iter(flavours), ""))
        and libraries_there(state.given.view, version)
        and _has_addons(state, version)
        and _has_desktop(state)
    )
    return _choice(state, version, next(iter(flavours), "")) if is_whole else None


def _choice(state: Situation, version: str, flavour: str) -> DriverChoice:
    modules = [one for one in state.packages if one.name.startswith(_MODULES) and one not in state.driver]
    is_signed = any(one.name.endswith(release) for one in modules for release in state.kernels)
    known: Flavour = "proprietary" if flavour == "proprietary" else "open"
    ours = [one for one in _native(state) if driver_part(one.name) not in state.unused or one.upstream == version]
    return DriverChoice(
        wanted=False,
        origin="distribution" if state.origin == "distribution" else "cuda",
        flavour=known,
        delivery="precompiled" if is_signed else "dkms",
        branch=version.partition(".")[0],
        version=version,
        kernels=state.kernels,
        packages=tuple((one.name, one.version) for one in (*ours, *modules)),
        pinned=PINNED,
    )


def _native(state: Situation) -> list[DriverPackage]:
    """One package per name: of two architectures the host's own."""
    found: dict[str, DriverPackage] = {}
    for one in state.driver:
        if one.name not in found or one.arch in ("amd64", "arm64", state.host.arch):
            found[one.name] = one
    return list(found.values())


def _flavour(state: Situation, release: str) -> str:
    one = installed_kernel(state.given.view, release)
    if one is None or is_damaged(one) or (isinstance(one.nvidia_flavour, Unread) and one.nvidia_flavour.why in NOT_APPLICABLE):
        return ""
    return need(one.nvidia_flavour)


def _has_addons(state: Situation, version: str) -> bool:
    extra = addons(state.host, state.origin, version.partition(".")[0])
    have = {one.name: one.upstream for one in state.driver}
    asked = [extra[one] for one, is_asked in (("nvswitch", state.nvswitch), ("imex", state.imex)) if is_asked]
    return all(have.get(name) == version for must, _ in asked for name in must)


def _has_desktop(state: Situation) -> bool:
    """Whether the desktop libraries are there, or the profile does not ask for them."""
    policy = state.given.profile.install
    if policy.packages != "full":
        return True
    branch = state.driver[0].upstream.partition(".")[0] if state.driver else state.branch
    ways = [row.full.get(state.flavour, ()) for row in fitting_rows(state, policy, branch)]
    return not ways or any(all(name.format(b=branch) in state.names for name in names) for names in ways)
