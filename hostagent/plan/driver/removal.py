"""Installed packages to remove: those of other branches and of the other flavour, and no others."""

# 595 down to 580 on Ubuntu: installed names that the target version does not have go too, as do NVIDIA's pinning packages of
# another branch.

from hostagent.domains.driver.tables.packages import branch_in, flavour_in
from hostagent.plan.driver.installed import DriverPackage, pinning_of
from hostagent.plan.driver.situation import Situation
from hostagent.plan.driver.versions import Offered


def removed(state: Situation, version: str, kept: "tuple[str, ...]", known: "Offered | None") -> tuple[str, ...]:
    """Names, with the architecture of foreign ones. `known`: the offers of the origin, None before they were asked."""
    branch = version.partition(".")[0]
    driver = {(one.name, one.arch) for one in state.driver}
    modules = [one for one in state.packages if one.name.startswith(("linux-modules-nvidia-", "linux-objects-nvidia-"))]
    going = [one for one in (*state.driver, *modules) if one.name not in kept and _goes(state, one, branch, version, known)]
    going += [one for one in pinning_of(state.packages) if branch_in(one.name) not in ("", branch)]
    native = _native(state)
    return tuple(
        dict.fromkeys(one.name if one.arch in native or (one.name, one.arch) not in driver else f"{one.name}:{one.arch}" for one in going)
    )


def companions(state: Situation, version: str, gone: tuple[str, ...], known: Offered) -> tuple[str, ...]:
    """Installed packages of the driver that stay, and so must move to this version."""
    native = _native(state)
    staying = [one for one in state.driver if one.name not in gone and known.has(one.name, version)]
    return tuple(dict.fromkeys(one.name if one.arch in native else f"{one.name}:{one.arch}" for one in staying))


def _goes(state: Situation, one: DriverPackage, branch: str, version: str, known: "Offered | None") -> bool:
    is_ubuntu = state.host.id == "ubuntu"
    flavour = flavour_in(one.name, is_ubuntu=is_ubuntu)
    if flavour and flavour != state.flavour:
        return True
    named = branch_in(one.name)
    if named:
        return named != branch
    is_module = one.name.startswith("linux-")
    is_other = not is_module and one.upstream.partition(".")[0] != branch
    return is_other and known is not None and not known.has(one.name, version)


def _native(state: Situation) -> tuple[str, ...]:
    words = {"x86_64": ("amd64", "x86_64"), "aarch64": ("arm64", "aarch64")}
    return (*words.get(state.host.arch, ()), "all", "noarch")
