"""Whether each step of the driver has been done: pure functions of the facts."""

from collections.abc import Callable

from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.domains.packages.tables.names import DRIVER_MODULE, driver_part
from hostagent.facts.host import Unit
from hostagent.facts.version import upstream
from hostagent.plan.driver.installed import driver_of, packages_of
from hostagent.plan.driver.kernels import has_headers, has_module, installed_kernel
from hostagent.plan.driver.loaded import has_uvm, is_loaded, is_other_build
from hostagent.plan.model import DriverChoice
from hostagent.plan.view import View

#: Packages that are not in dnf's module of the driver.
OUTSIDE_THE_MODULE = ("fabric manager", "IMEX", "NSCQ", "NVSDM")
_SONAMES = ("libnvidia-ml.so.1", "libcuda.so.1")
#: Answers of ``systemctl is-enabled`` for a unit that needs no enabling.
_STARTED_OTHERWISE = ("static", "alias", "indirect", "generated", "linked", "linked-runtime")


def headers_there(view: View, choice: DriverChoice) -> bool:
    """DKMS has the headers that it needs, or has built already. Raises ``UnreadError``."""
    built = [has_module(view, one, choice.version, choice.flavour) for one in choice.kernels if choice.version]
    if built and all(built):
        return True
    kernel = need(view.kernel)
    names = {one.name for one in packages_of(view) if one.state == "installed"}
    return all(has_headers(kernel, one) for one in choice.kernels) and all(name in names for name, _ in choice.before)


def packages_there(view: View, choice: DriverChoice) -> bool:
    """Each package at its version and configured, and none to remove. Raises ``UnreadError``."""
    have = packages_of(view)
    whole = {(one.name, one.version) for one in have if one.state == "installed"}
    whole |= {(f"{one.name}:{one.arch}", one.version) for one in have if one.state == "installed"}
    names = {one.name for one in have} | {f"{one.name}:{one.arch}" for one in have}
    return bool(choice.version) and all(one in whole for one in choice.packages) and not names & set(choice.removed)


def set_there(view: View, choice: DriverChoice) -> bool:
    """The packages, and their libraries on the disk, which no package database shows. Raises ``UnreadError``."""
    return packages_there(view, choice) and libraries_there(view, choice.version)


def libraries_there(view: View, version: str) -> bool:
    """The loader finds the libraries of that version. Raises ``UnreadError``."""
    driver = need(view.driver)
    for soname in _SONAMES:
        library = driver.library(soname)
        if _is_gone(library):
            return False
        found = upstream(need(library).version)
        if not isinstance(found, Unread) and found != version:
            return False
    return True


def modules_there(view: View, choice: DriverChoice) -> bool:
    """Each kernel has the module, and an initramfs that is no older. Raises ``UnreadError``."""
    is_there = bool(choice.version) and all(has_module(view, one, choice.version, choice.flavour) for one in choice.kernels)
    return is_there and all(initramfs_fresh(view, one) for one in choice.kernels)


def initramfs_fresh(view: View, release: str) -> bool:
    """Whether it is no older than the kernel's modules and the blacklist of nouveau; True where there is none.

    Raises ``UnreadError``.
    """
    one = installed_kernel(view, release)
    if one is None or not has_initramfs(view, release):
        return True
    written = need(view.kernel).nouveau_blacklist_mtime
    changed = [need(one.indexed_at), *([] if _is_gone(written) else [need(written)])]
    return need(one.initramfs_mtime) >= max(changed)


def has_initramfs(view: View, release: str) -> bool:
    """Raises ``UnreadError``."""
    one = installed_kernel(view, release)
    return one is not None and not _is_gone(one.initramfs) and bool(need(one.initramfs))


def nouveau_kept_off(view: View, kernels: tuple[str, ...]) -> bool:
    """Raises ``UnreadError``."""
    found = [installed_kernel(view, release) for release in kernels]
    return not any(one is not None and need(one.nouveau) for one in found) or need(need(view.kernel).nouveau_blacklisted)


def all_held(view: View, names: "frozenset[str]", version: str) -> bool:
    """Every package of the driver at its version, and those of `names`. Raises ``UnreadError``."""
    have = packages_of(view)
    ours = {*(one for one in driver_of(have) if one.upstream == version), *(one for one in have if one.name in names)}
    return names <= {one.name for one in have} and all(one.held or held_by_stream(view, one.name) for one in ours)


def held_by_stream(view: View, name: str) -> bool:
    """Dnf's stream of one branch holds the packages that are in it. Raises ``UnreadError``."""
    streams = need(view.packages).module_streams
    stream = "" if _is_gone(streams) else dict(need(streams)).get(DRIVER_MODULE, "")
    return stream[:1].isdigit() and driver_part(name) not in OUTSIDE_THE_MODULE


def unit_enabled(view: View, name: str) -> bool:
    """Whether the unit is enabled, or does not exist. Raises ``UnreadError``."""
    unit = need(need(view.services).unit(name))
    return not unit.exists or need(unit.enabled) or need(unit.state) in _STARTED_OTHERWISE


def unit_of(view: View, name: str) -> "Unit | None":
    unit = view.services if isinstance(view.services, Unread) else view.services.unit(name)
    return None if isinstance(unit, Unread) else unit


def option_set(view: View, name: str, value: str) -> bool:
    """An option of the nvidia module, in modprobe.d. Raises ``UnreadError``."""
    return any(key == name and found.strip('"') == value for key, found in need(need(view.driver).module_options))


def loads_uvm(view: View, path: str) -> bool:
    """Loaded now, or at each boot by this file. Raises ``UnreadError``."""
    if not isinstance(view.kernel, Unread) and has_uvm(view):
        return True
    return has_file(view, path)


def module_in_force(view: View, choice: DriverChoice) -> bool:
    """Raises ``UnreadError``."""
    if not is_loaded(view):
        return False
    driver = need(view.driver)
    version = need(upstream(need(driver.loaded_version)))
    is_other = not isinstance(driver.flavour, Unread) and driver.flavour != choice.flavour  # before its packages go, the disk has it, too
    return bool(choice.version) and version == choice.version and not is_other and has_uvm(view) and not is_other_build(view)


def _is_gone(value: object) -> bool:
    return isinstance(value, Unread) and value.why in NOT_APPLICABLE


def these_held(view: View, names: "frozenset[str]") -> bool:
    """Whether all of them that are installed are held. Raises ``UnreadError``."""
    return all(one.held for one in packages_of(view) if one.name in names)


def has_file(view: View, path: str) -> bool:
    """Raises ``UnreadError``."""
    file = need(view.installation).file(path)
    return not isinstance(file, Unread) and not _is_gone(file.text)


def is_built(view: View, choice: DriverChoice) -> bool:
    """Whether DKMS has this version, and can build it for a kernel that has no module yet."""
    builds = () if isinstance(view.driver, Unread) or isinstance(view.driver.dkms, Unread) else view.driver.dkms
    lacking = [one for one in choice.kernels if not is_done(_has_module, view, choice, one)]
    return not lacking or any(one.version == choice.version for one in builds)


def _has_module(view: View, choice: DriverChoice, release: str) -> bool:
    return has_module(view, release, choice.version, choice.flavour)


def is_done(holds: Callable[..., bool], *facts: object) -> bool:
    """Whether the step is done; False where a fact could not be read."""
    try:
        return holds(*facts)
    except UnreadError:
        return False


def keeps_gpus_up(view: View) -> bool:
    """Whether every GPU is in persistence mode, by whatever means."""
    gpus = () if isinstance(view.gpus, Unread) else view.gpus
    return bool(gpus) and all(one.persistence is True for one in gpus)
